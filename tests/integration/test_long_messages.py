"""A long message is cleaned beside the event loop; what comes after it still comes after it."""

import asyncio
from pathlib import Path

from inside import journal_rows

from gateway_memory import OWNER, GatewayMemory, load_config

LONG = "The log says that the pump stopped at noon and started again at one.\n" * 5000


async def test_a_short_turn_does_not_overtake_a_long_one(tmp_path: Path) -> None:
    async with GatewayMemory(load_config(), tmp_path) as memory:
        session = await memory.start_session("one", user=OWNER)
        turns = await asyncio.gather(
            memory.after_reply(session, user=LONG, reply="OK"),
            memory.after_reply(session, user="Remember that the pump is new", reply="OK"),
        )
        assert list(turns) == sorted(turns)


async def test_an_end_waits_for_a_turn_that_is_being_kept(tmp_path: Path) -> None:
    async with GatewayMemory(load_config(), tmp_path) as memory:
        session = await memory.start_session("one", user=OWNER)
        first = session.session_id
        keeping = asyncio.create_task(memory.after_reply(session, user=LONG + "密码是 hunter2-Xy9", reply="OK"))
        await asyncio.sleep(0)
        await memory.end_session(session, reason="user_close")
        assert keeping.done()
        rows = await journal_rows(memory, "SELECT session_id FROM replies")
        assert [row[0] for row in rows] == [first]

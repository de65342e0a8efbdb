"""Many sessions speak at once over one memory: no exception, no lost turn, and the loop stays responsive."""

import asyncio
from pathlib import Path

import pytest
from inside import parts
from thorough import amount

from gateway_memory import OWNER, GatewayMemory, load_config

pytestmark = pytest.mark.slow

SESSIONS, ROUNDS = amount(50, 200), 5


async def test_many_sessions_at_once(tmp_path: Path) -> None:
    async with GatewayMemory(load_config(), tmp_path) as memory:
        turned = 0
        done = asyncio.Event()

        async def tick() -> None:
            nonlocal turned
            while not done.is_set():
                await asyncio.sleep(0)
                turned += 1

        async def speak(number: int) -> None:
            session = await memory.start_session(f"agent:main:telegram:direct:{number}", user=OWNER)
            for turn in range(ROUNDS):
                await memory.before_reply(session, f"what opens locker {number}?")
                said = f"Remember that locker {number} opens with {turn}." if turn == 0 else f"hm, {turn}"
                await memory.after_reply(session, user=said, reply="OK")
                if turn == 2:
                    await memory.command(session, "/memory status")
                    await memory.search(session, f"locker {number}")
            await memory.end_session(session, reason="user_close")

        ticking = asyncio.create_task(tick())
        await asyncio.gather(*(speak(number) for number in range(SESSIONS)))
        await memory.flush()
        done.set()
        await ticking
        assert turned > SESSIONS * ROUNDS, "other tasks had their turns all along"
        assert memory.metrics.counts["turns.accepted"] == SESSIONS * ROUNDS
        assert not [name for name in memory.metrics.counts if name.startswith("failures.")]
        receipts = await memory.receipts(limit=100_000)
        seen = sorted(done.turn for receipt in receipts if receipt.stage == "batch" for done in receipt.outcomes)
        assert seen == list(range(1, SESSIONS * ROUNDS + 1)), "each turn went through its last stage once"
        text = (tmp_path / "MEMORY.md").read_text("utf-8")
        texts = text + "".join(file.read_text("utf-8") for file in (tmp_path / "memory").glob("*.md"))
        assert [number for number in range(SESSIONS) if texts.count(f"locker {number} opens") != 1] == []


async def test_one_session_may_be_used_from_many_tasks(tmp_path: Path) -> None:
    async with GatewayMemory(load_config(), tmp_path) as memory:
        sessions = await asyncio.gather(*(memory.start_session("same", user=OWNER) for _ in range(20)))
        assert len({session.session_id for session in sessions}) == 1
        session = sessions[0]
        await asyncio.gather(
            *(
                memory.after_reply(session, user=f"Remember that box {number} is blue.", reply="OK")
                for number in range(20)
            ),
            *(memory.before_reply(session, f"box {number}") for number in range(20)),
        )
        await asyncio.gather(*(memory.end_session(session, reason="user_close") for _ in range(3)))
        await memory.flush()
        again = await memory.start_session("same", user=OWNER)
        assert again.session_id != session.session_id
        assert await parts(memory).storage.recaller.count("owner") == 20

"""After a host's compaction, what a session held comes back; what it was told stays no news."""

from pathlib import Path

import pytest

from gateway_memory import OWNER, GatewayMemory, load_config

pytestmark = pytest.mark.over_postgres

ASKED = "where are the keys of the shed?"


@pytest.mark.files
@pytest.mark.parametrize("how", ["compacted", "before_compaction"])
async def test_what_a_session_held_comes_back(how: str, tmp_path: Path) -> None:
    (tmp_path / "MEMORY.md").write_text("- The keys of the shed are in the blue box\n- Likes tea\n")
    async with GatewayMemory(load_config(), tmp_path) as memory:
        session = await memory.start_session("one", user=OWNER)
        other = await memory.start_session("two", user=OWNER)
        await memory.flush()
        for each in (session, other):
            held = await memory.before_reply(each, ASKED)
            assert [hit.text for hit in held.recalled][:1] == ["The keys of the shed are in the blue box"]
            assert held.text == "", "it stands in the opening"
        if how == "compacted":
            session.compacted()
        else:
            await memory.before_compaction(session, usage=90, messages=40)
        back = await memory.before_reply(session, ASKED)
        assert "[Relevant Memory]" in back.text
        assert "blue box" in back.text
        assert (await memory.before_reply(session, ASKED)).text == "", "once again is enough"
        assert (await memory.before_reply(other, ASKED)).text == "", "another session was not compacted"


async def test_a_compaction_is_no_news(tmp_path: Path) -> None:
    async with GatewayMemory(load_config(), tmp_path) as memory:
        session = await memory.start_session("one", user=OWNER)
        other = await memory.start_session("two", user=OWNER)
        await memory.after_reply(session, user="Remember that the boat leaves from pier nine.", reply="OK")
        await memory.flush()
        (told,) = (await memory.before_reply(other, "hello")).updates
        session.compacted()
        other.compacted()
        for each in (session, other):
            context = await memory.before_reply(each, "good morning")
            assert (context.changes, context.updates) == ((), ())
        await memory.command(session, f"/memory forget {told.id}")
        (withdrawn,) = (await memory.before_reply(other, "hm")).updates
        assert (withdrawn.action, withdrawn.id) == ("removed", told.id), "the host's summary may still hold it"

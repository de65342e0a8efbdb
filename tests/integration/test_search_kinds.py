"""Session records and observations are found on request alone, within the session's scope, and never injected."""

from pathlib import Path

import pytest
from ending import Clock, opened

from gateway_memory import OWNER, GatewayMemory, Session, UsageError

pytestmark = pytest.mark.over_postgres

QUERY = "what did the deployment of the Zephyr gateway say"


async def worked(memory: GatewayMemory, key: str = "work", **whose: object) -> Session:
    session = await memory.start_session(key, **(whose or {"user": OWNER}))  # type: ignore[arg-type]
    await memory.observe(session, kind="tool", tool="bash", content="$ deploy zephyr-gateway\nexit 0\ngateway up")
    await memory.observe(session, kind="tool", tool="bash", content="zephyr gateway secret 4711", private=True)
    await memory.save_summary(session, topic="Deployment of the Zephyr gateway", summary="It said: gateway up")
    await memory.end_session(session, reason="completed")
    return session


async def test_records_and_observations_are_found_on_request_alone(tmp_path: Path) -> None:
    async with opened(tmp_path, Clock()) as memory:
        await worked(memory)
        other = await memory.start_session("other", user=OWNER)
        assert not (await memory.before_reply(other, QUERY)).text.count("exit 0")
        assert await memory.search(other, QUERY) == ()
        found = await memory.search(other, QUERY, kinds=["record", "observation"], limit=9)
        assert sorted(hit.kind for hit in found) == ["observation", "record"]
        assert {hit.session for hit in found} == {"work"}
        for hit in found:
            assert "4711" not in hit.text
            (whole,) = await memory.get(other, hit.id)
            assert hit.text in whole.text
            assert "gateway up" in whole.text
        assert [hit.kind for hit in await memory.search(other, QUERY, kinds={"record"})] == ["record"]
        assert [hit.kind for hit in await memory.search(other, "", kinds={"observation"})] == ["observation"]
        assert await memory.search(other, QUERY, kinds={"record"}, session_key="elsewhere") == ()
        assert await memory.search(other, QUERY, kinds={"record"}, type="O") == ()
        assert await memory.search(other, QUERY, kinds={"observation"}, until="2020-01-01") == ()


async def test_nobody_finds_another_scopes_records(tmp_path: Path) -> None:
    async with opened(tmp_path, Clock()) as memory:
        await worked(memory)
        mine = await memory.start_session("mine", user=OWNER)
        zoe = await memory.start_session("guest", user="zoe")
        room = await memory.start_session("room", room="r1")
        for hit in await memory.search(mine, QUERY, kinds=["record", "observation"]):
            for each in (zoe, room):
                assert await memory.get(each, hit.id) == ()
        for each in (zoe, room):
            assert await memory.search(each, QUERY, kinds=["record", "observation"]) == ()
        await memory.command(mine, "/memory off")
        assert await memory.search(mine, QUERY, kinds=["record"]) == ()


async def test_what_was_forgotten_is_found_in_none_of_them_until_it_is_back(tmp_path: Path) -> None:
    kinds = ["record", "observation"]
    async with opened(tmp_path, Clock()) as memory:
        session = await memory.start_session("work", user=OWNER)
        await memory.after_reply(
            session, user="Remember that my gym locker is number 8341.", reply="OK, 8341 is noted."
        )
        await memory.flush()
        await memory.save_summary(
            session, topic="Locker", summary="The gym locker is number 8341. The pool opens at 7."
        )
        await memory.end_session(session, reason="completed")
        later = await memory.start_session("later", user=OWNER)
        assert await memory.search(later, "gym locker 8341", kinds=kinds)
        assert "8341" in (await memory.command(later, "/memory forget my gym locker is number 8341") or "")
        for query in ("gym locker 8341", "8341", ""):
            hits = await memory.search(later, query, kinds=kinds, limit=20)
            assert not any("8341" in hit.text for hit in hits)
            for hit in hits:
                assert not any("8341" in each.text for each in await memory.get(later, hit.id))
        assert await memory.search(later, "pool opens", kinds=kinds)
        await memory.command(later, "/memory undo")
        assert any("8341" in hit.text for hit in await memory.search(later, "8341", kinds=kinds))


@pytest.mark.files
async def test_kinds_narrow_memories_notes_and_episodes_too(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "harbour.md").write_text("The harbour office opens at nine.\n", "utf-8")
    async with opened(tmp_path, Clock()) as memory:
        session = await memory.start_session("work", user=OWNER)
        await memory.after_reply(session, user="Remember that the harbour office is on pier 7.", reply="Noted.")
        await memory.after_reply(session, user="How far is the harbour office from here?", reply="Two miles.")
        await memory.flush()
        for kind in ("memory", "note", "episode"):
            hits = await memory.search(session, "harbour office", kinds=[kind])
            assert {hit.kind for hit in hits} == {kind}
        everything = ["memory", "note", "episode", "record", "observation"]
        assert {hit.kind for hit in await memory.search(session, "harbour office", kinds=everything, limit=20)} == {
            "memory", "note", "episode", "observation",
        }  # fmt: skip
        for wrong in ("record", ["records"], []):
            with pytest.raises(UsageError):
                await memory.search(session, "harbour", kinds=wrong)


async def test_the_chat_searches_kinds_too(tmp_path: Path) -> None:
    async with opened(tmp_path, Clock()) as memory:
        await worked(memory)
        session = await memory.start_session("chat", user=OWNER)
        answer = await memory.command(session, "/memory search --kind record,observation Zephyr gateway") or ""
        assert answer.count("\n- ") == 2
        assert "Deployment of the Zephyr gateway" in answer
        rows = (await memory.record(session, "search", "--kind=record Zephyr"))["results"]
        assert [row["kind"] for row in rows] == ["record"]
        assert "--kind" in (await memory.command(session, "/memory search --kind cheese Zephyr") or "")


SAID = "Remember that locker 7 is for the green team, which trains on the roof and drinks cold tea from blue cups"


@pytest.mark.parametrize("said", [SAID, "Remember that locker 7 is for the 7. team of the club by the river"])
async def test_a_kind_alone_is_found_where_another_one_would_stand_for_it(said: str, tmp_path: Path) -> None:
    async with opened(tmp_path, Clock()) as memory:
        session = await memory.start_session("talk", user=OWNER)
        await memory.after_reply(session, user=said, reply="OK")
        await memory.flush()
        for kind in ("memory", "episode"):
            [hit] = await memory.search(session, "locker", kinds=[kind])
            assert hit.kind == kind
        assert len(await memory.search(session, "locker")) == 1, "they are one hit"


async def test_the_days_that_a_line_notes_do_not_hide_the_richer_turn(tmp_path: Path) -> None:
    async with opened(tmp_path, Clock()) as memory:
        session = await memory.start_session("talk", user=OWNER)
        said = (
            "I've been busy with the harbour all week, and the ferries were late. "
            "Remember that I have a visit to the lock keeper tomorrow at three. "
            "The gulls were loud, the office smelt of tar, and nobody had brought any rope or paint for the boats."
        )
        await memory.after_reply(session, user=said, reply="OK")
        await memory.flush()
        [noted] = await memory.search(session, "lock keeper", kinds=["memory"])
        assert noted.text.endswith(")"), "it has its day"
        [hit] = await memory.search(session, "lock keeper")
        assert hit.kind == "episode"

"""Whatever a chat user types, `command` answers or says that it is no command: it never raises."""

import json
import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from editor import WORTH, hook, records, transcript
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from inside import parts
from scripted_provider import Say, entry, serving
from thorough import sample

from extractor import ExtractorSettings
from gateway_memory import OWNER, Config, GatewayMemory, Session, UsageError
from gateway_memory.config.keys import expected, known_paths
from gateway_memory.config.load import check_config
from gateway_memory.config.settings import MemorySync
from recall import EmbedderSettings, RecallSettings

ZONES = ("Pacific/Kiritimati", "Etc/GMT+12", "Asia/Shanghai", "local")
NAMES = "status list search forget why history undo on off help dance 状态".split()
HARD = (
    "0001-01-01", "9999-12-31", "0000-00-00", "2026-02-30", "--since", "--until=9999-12-31", "--since=0001-01-01",
    "--until 0001-01-01", "--since 9999-12-31", "--limit", "--limit=0", f"--limit={'9' * 5000}", "--limit=-1",
    "--limit=²", "--limit=１", "--type", "--type=W", "--type=\0", "--category=\udfff", "--session=\ud800", "--explain",
    "--", "—since", "９９９９-12-31", "\ud800", "\udfff\ud83d", "\0", "\x1b[2J", "'", '"', "“", "`", "{}", "%s",
    "{name}", "\\",
    "\u2028", "\u202e", "<private>", "</private>", "<!-- gm:abcdefgh -->", "密码", "9" * 5000, "-" * 5000,
    "(" * 5000, " " * 5000, "in 9999", "year 9999", "9999年12月31日", "12月31日", "last week", "999999999999 days ago",
    "99999999天前", "上个月", "abcdefgh", "(abcdefgh)", "NaN", "1e400", "OR 1=1; --", "*", "a*", "NEAR(", "茶", "tea",
    "autoRecall", "全部",
)  # fmt: skip

typed = st.text(st.characters(exclude_categories=()), max_size=60)
texts = st.builds(
    lambda head, name, words: " ".join([head, name, *words]),
    st.sampled_from(["/memory", "/MEMORY", " /memory\t", "forget that", "忘掉", ""]),
    st.sampled_from(NAMES) | typed,
    st.lists(st.sampled_from(HARD) | typed, max_size=5),
)


@pytest.fixture(params=ZONES)
async def memory(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[GatewayMemory]:
    words_alone = RecallSettings(embedder=EmbedderSettings(provider="none"))
    config = Config(defaults=MemorySync(time_zone=request.param, auto_recall=words_alone))
    (tmp_path / "memory").mkdir()
    for day in ("0001-01-01", "9999-12-31", "2026-02-30", "0000-00-00"):
        (tmp_path / "memory" / f"{day}.md").write_text("- a line about tea\n", "utf-8")
    async with GatewayMemory(config, tmp_path) as opened:
        yield opened


@pytest.fixture
async def session(memory: GatewayMemory) -> Session:
    session = await memory.start_session("one", user=OWNER)
    await memory.after_reply(session, user="我喜欢喝茶", reply="好")
    await memory.flush()
    return session


async def command(memory: GatewayMemory, session: Session, text: Any) -> str | None:
    return await memory.command(session, text)


async def test_whatever_is_typed_is_answered(memory: GatewayMemory, session: Session) -> None:
    for name in NAMES:
        for hard in HARD:
            answer = await command(memory, session, f"/memory {name} {hard}")
            assert answer is not None
            answer.encode()
            assert len(answer) < 20_000
    for hard in HARD:
        await command(memory, session, f"forget that {hard}")
        await command(memory, session, f"忘掉{hard}")


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.data())
async def test_whatever_else_is_typed_is_answered(memory: GatewayMemory, session: Session, data: st.DataObject) -> None:
    answer = await command(memory, session, data.draw(texts))
    if answer is not None:
        answer.encode()


@pytest.mark.parametrize("filler", [" ", "\n", "x", "a ", "茶", "--a=b ", "-", "\0", "<", "是", "9", "\ud800"])
async def test_a_huge_text_is_answered_soon(tmp_path: Path, filler: str) -> None:
    words_alone = RecallSettings(embedder=EmbedderSettings(provider="none"))
    async with GatewayMemory(Config(defaults=MemorySync(auto_recall=words_alone)), tmp_path) as memory:
        session = await memory.start_session("one", user=OWNER)
        for name in ("search", "forget", "history", "undo", "on", "dance", ""):
            answer = await memory.command(session, f"/memory {name}" + filler * (1_000_000 // len(filler)) + ".")
            assert len(answer or "") < 20_000
        await memory.command(session, filler * 1_000_000)


async def test_the_calendars_ends_bound_a_search_by_nothing(memory: GatewayMemory, session: Session) -> None:
    for words in ("--since 0001-01-01 茶", "--until 9999-12-31 茶", "--since=0001-01-01 --until=9999-12-31 茶"):
        assert "我喜欢喝茶" in str(await command(memory, session, f"/memory search {words}"))
    for words in ("--until 0001-01-01 茶", "--since 9999-12-31 茶"):
        assert "我喜欢喝茶" not in str(await command(memory, session, f"/memory search {words}"))


@pytest.mark.parametrize("name", ["status", "list", "search", "history", "receipts", "why", "dance", "\ud800"])
async def test_any_record_that_is_asked_for_is_given_or_refused(
    memory: GatewayMemory, session: Session, name: str
) -> None:
    for rest in HARD:
        await memory.answer(session, f"/memory {name} {rest}")
        try:
            found = await memory.record(session, name, rest)
        except UsageError:
            continue
        json.dumps(found, ensure_ascii=False).encode()
        assert name in ("status", "list", "search", "history", "receipts")


async def test_calls_take_content_parts_and_refuse_what_is_no_text(tmp_path: Path) -> None:
    parts = [{"type": "text", "text": "记住：我的工位在三楼"}, {"type": "image", "source": {}}]
    async with GatewayMemory(Config(), tmp_path) as memory:
        session = await memory.start_session("one", user=OWNER)
        other = await memory.start_session("two", user=OWNER)
        assert (await memory.before_reply(session, None)).outcome in ("empty", "partial")
        assert await memory.after_reply(session, user=parts, reply=[{"type": "output_text", "text": "OK"}])
        assert await memory.after_reply(session, user=None, reply=None)
        await memory.observe(session, kind="tool", content=[{"type": "tool_result", "content": "ls"}], tool="bash")
        await memory.observe(session, kind="error", content=None, tool=None)
        await memory.flush()
        found = await memory.search(other, [{"type": "input_text", "text": "我的工位在哪里"}])
        assert [hit.text for hit in found] == ["我的工位在三楼"]
        context = await memory.before_reply(other, [{"type": "input_text", "text": "我的工位在哪里？"}])
        assert "三楼" in context.text
        assert "三楼" in str(await memory.command(other, [{"type": "text", "text": "/memory list"}]))
        assert await memory.command(other, None) is None
        assert await memory.save_fact(session, content=[{"type": "text", "text": "The printer is on floor 2."}])
        assert await memory.save_fact(session, content=None) == ""
        assert await memory.save_summary(session, topic="one", summary="two", todos="call Zoe", decisions=None)
        assert '"todos": ["call Zoe"]' in (tmp_path / "sessions.jsonl").read_text("utf-8")
        wrong: Any
        for wrong in (5, b"bytes", object(), {"a": 1}):
            for call in (
                memory.before_reply(session, wrong),
                memory.after_reply(session, user=wrong, reply="OK"),
                memory.after_reply(session, user="hello", reply=wrong),
                memory.search(session, wrong),
                memory.command(session, wrong),
                memory.observe(session, kind="tool", content=wrong),
                memory.observe(session, kind=wrong, content="x"),
                memory.save_fact(session, content=wrong),
                memory.save_fact(session, content="x", type=wrong),
                memory.save_fact(session, content="x", entities=wrong),
                memory.save_fact(session, content="x", confidence=wrong if wrong != 5 else float("nan")),
                memory.save_summary(session, topic=wrong, summary="x"),
                memory.save_summary(session, topic="x", summary="x", todos=wrong),
                memory.search(session, "x", limit=wrong if wrong != 5 else 0),
                memory.search(session, "x", since=wrong),
                memory.search(session, "x", category=wrong),
                memory.before_reply(session, "x", at=wrong),
                memory.after_reply(session, user="x", reply="x", at=wrong),
                memory.file_written(session, wrong if wrong != 5 else "\0"),
            ):
                with pytest.raises(UsageError):
                    await call


@pytest.mark.parametrize("wrong", [None, "one", 5, object()])
async def test_what_is_no_session_is_refused_in_our_words(tmp_path: Path, wrong: Any) -> None:
    async with GatewayMemory(Config(), tmp_path) as memory:
        for call in (
            memory.before_reply(wrong, "x"),
            memory.after_reply(wrong, user="x", reply="x"),
            memory.search(wrong, "x"),
            memory.command(wrong, "/memory list"),
            memory.stop(wrong, "completed"),
            memory.end_session(wrong, reason="completed"),
        ):
            with pytest.raises(UsageError, match=r"^session is of type"):
                await call


async def test_a_models_halves_of_characters_break_no_storage(tmp_path: Path) -> None:
    said = "我打算每周三晚上去游泳馆学蝶泳，教练是个四川人，已经交了半年的学费。"
    wrong = entry(f"{said}\ud800", f"{said}\ud800")
    async with serving() as provider:
        provider.script += [Say(text=json.dumps({"entries": [wrong]}))]
        extraction = ExtractorSettings(base_url=f"{provider.url}/v1", prompt="full", min_conversation_length=0)
        words_alone = RecallSettings(embedder=EmbedderSettings(provider="none"))
        config = Config(defaults=MemorySync(auto_extract=extraction, auto_recall=words_alone))
        async with GatewayMemory(config, tmp_path) as memory:
            session = await memory.start_session("one", user=OWNER)
            await memory.after_reply(session, user=said, reply="好的，听起来不错。")
            await memory.flush()
            assert provider.asked
            failed = {name: number for name, number in memory.metrics.counts.items() if name.startswith("failures.")}
            assert failed == {}
            assert memory.metrics.counts["extraction.batch.left_out.unclean"] == 1


def test_an_editors_halves_of_characters_break_no_storage(tmp_path: Path) -> None:
    half = "\ud800"
    call = {"type": "tool_use", "id": "1", "name": f"bash{half}", "input": {"command": f"ls {half}"}}
    path = transcript(
        tmp_path / "t.jsonl", ("user", f"{WORTH}{half}"), ("assistant", [call, {"type": "text", "text": half}])
    )
    hook("stop", tmp_path / "m", transcript_path=path, status="completed")
    hook("sessionEnd", tmp_path / "m", transcript_path=path, reason=half)
    assert len(records(tmp_path / "m")) == 1
    assert not list((tmp_path / "m").glob("logs/hooks-*.jsonl")), "no hook failed"
    hook("sessionEnd", tmp_path / "m", conversation_id=f"conv-{half}", transcript_path=path, reason=half)
    assert len(records(tmp_path / "m")) == 1, "an id that can't be stored is none"


async def test_halves_of_characters_break_no_storage(tmp_path: Path) -> None:
    half = "\ud800"
    async with GatewayMemory(Config(), tmp_path) as memory:
        session = await memory.start_session("one", user=OWNER)
        await memory.before_reply(session, f"hello {half}")
        assert await memory.after_reply(session, user=f"Remember that the door {half} is red.", reply=half)
        await memory.observe(session, kind=half, content=f'{{"a": "{half}"}}', tool=half)
        assert await memory.save_fact(session, content=f"The gate {half} is blue.", entities=[half])
        assert await memory.save_summary(session, topic=half, summary=f"a {half}", decisions=[half], todos=[half])
        await memory.flush()
        assert await memory.search(session, f"door {half}", session_key=half, category=half) == ()
        assert await memory.search(session, f"door {half}")
        await memory.end_session(session, reason=f"user_close {half}")
        await memory.receipts(limit=10**30)
    for file in tmp_path.rglob("*.md"):
        file.read_bytes().decode("utf-8")


@pytest.mark.parametrize("hard", HARD)
async def test_a_reply_is_prepared_for_whatever_is_typed(tmp_path: Path, hard: str) -> None:
    """Dates at the calendar's ends are read from messages too, at any time that the clock may show."""
    clocks = [
        datetime(1970, 1, 1, 12, tzinfo=UTC),
        datetime(2026, 11, 22, tzinfo=UTC),
        datetime(8999, 12, 31, tzinfo=UTC),
    ]
    for now in sample(clocks, 1, hard.encode("utf-8", "backslashreplace").decode()):
        words_alone = RecallSettings(embedder=EmbedderSettings(provider="none"))
        config = Config(defaults=MemorySync(time_zone="Pacific/Kiritimati", auto_recall=words_alone))
        clock = lambda at=now: at + timedelta(seconds=1)  # noqa: E731 - the clock of one test
        async with GatewayMemory(config, tmp_path / str(now.year), clock=clock) as memory:
            session = await memory.start_session("one", user=OWNER)
            await memory.before_reply(session, hard)
            await memory.after_reply(session, user=f"记住：明天 {hard} 我去喝茶", reply=hard)
            await memory.after_reply(session, user=f"Remember that until {hard} the door is red.", reply=hard)
            await memory.flush()
            await memory.search(session, hard)
            await memory.end_session(session, reason="completed")
            failed = {name: number for name, number in memory.metrics.counts.items() if name.startswith("failures.")}
            assert failed == {}


@pytest.mark.parametrize("end", ["lowest", "highest"])
async def test_every_number_at_the_end_of_its_range_can_be_used(tmp_path: Path, end: str) -> None:
    document: dict[str, Any] = {}
    for path in known_paths():
        found = re.fullmatch(
            r"(?s)a (whole )?number (from|above|of at least) (\S+)(?: to| and of at most) (\d+)", expected(path)
        )
        if found:
            above = 0 if found[2] != "above" else 1 if found[1] else 1e-9
            place = document
            for key in path[:-1]:
                place = place.setdefault(str(key), {})
            place[str(path[-1])] = float(found[4]) if end == "highest" else float(found[3]) + above
            if found[1]:
                place[str(path[-1])] = int(place[str(path[-1])])
    document["agents"]["defaults"]["memorySync"]["autoRecall"]["embedder"]["provider"] = "none"
    async with GatewayMemory(check_config(json.dumps(document), "x"), tmp_path) as memory:
        for key in ("one", "two"):
            session = await memory.start_session(key, user=OWNER)
            await memory.before_reply(session, "我的工位在哪里？")
            await memory.after_reply(session, user="记住：我的工位在三楼", reply="好")
            await memory.observe(session, kind="tool", content="ls", tool="bash")
            await memory.flush()
            await memory.before_compaction(session, usage=90, messages=3)
            assert "三楼" in str(await memory.command(session, "/memory list"))
            assert await memory.command(session, "/memory status")
            assert await memory.stop(session, "completed") == ""
            await memory.end_session(session, reason="completed")
        await parts(memory).lifecycle.close_abandoned(starting=False)
        failed = {name: number for name, number in memory.metrics.counts.items() if name.startswith("failures.")}
        assert failed == {}

"""What was forgotten is said by no record, no opening, no summary and no request to a model; an undo brings it back."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from inside import journal_rows, parts
from scripted_provider import Say, serving

from gateway_memory import OWNER, Config, GatewayMemory, Session
from gateway_memory.hooks.start import opening as hook_opening
from gateway_memory.store.summaries import SESSIONS_FILE, SessionRecord
from gateway_memory.transfer.items import SummaryItem
from recall import EmbedderSettings

SETTINGS = [
    ("I'm allergic to numbats.", "numbat", "forget that I'm allergic to numbats"),
    ("我对袋食蚁兽过敏", "袋食蚁兽", "忘掉我对袋食蚁兽过敏"),
]
KEPT = "We have decided to use PostgreSQL for the orders"


def words_alone(url: str = "") -> Config:
    defaults = Config().defaults
    recall = replace(defaults.auto_recall, embedder=EmbedderSettings(provider="none"))
    extract = replace(defaults.auto_extract, base_url=f"{url}/v1") if url else defaults.auto_extract
    return Config(defaults=replace(defaults, auto_recall=recall, auto_extract=extract))


def said_on_disk(workspace: Path, word: str) -> list[str]:
    """The files that a person reads in which a word stands."""
    files = [*workspace.rglob("*.md"), *workspace.rglob("*.jsonl")]
    escaped = json.dumps(word)[1:-1]
    return [file.name for file in files if word in (text := file.read_text("utf-8")) or escaped in text]


async def record(memory: GatewayMemory, word: str, said: str) -> None:
    """A session that has said it in each field of its record, beside what is to stay."""
    session = await memory.start_session("before", user=OWNER)
    await memory.after_reply(session, user=said, reply=f"OK, {word} noted.")
    await memory.after_reply(session, user=KEPT, reply="OK")
    await memory.flush()
    await memory.save_fact(session, content=f"{said} PostgreSQL is decided. ", type="S")
    await memory.save_summary(
        session,
        topic=said,
        summary=f"{said}\n- The database is PostgreSQL. {said}",
        decisions=[said, "PostgreSQL"],
        todos=[f"{said} Tell the cook.", "Write the schema"],
    )
    await memory.end_session(session, reason="completed")


async def identity_of(memory: GatewayMemory, session: Session, word: str) -> str:
    hits = await memory.search(session, word)
    return next(hit.id for hit in hits if word in hit.text)


async def forget(memory: GatewayMemory, asking: Session, way: str, said: str, word: str, request: str) -> None:
    if way == "id":
        await memory.command(asking, f"/memory forget {await identity_of(memory, asking, word)}")
    elif way == "words":
        await memory.command(asking, f"/memory forget {said.rstrip('.')}")
    elif way == "chat":
        await memory.command(asking, request)
    elif way == "turn":
        await memory.after_reply(asking, user=request, reply=f"I have forgotten {word}.")
        await memory.flush()
    elif way == "undo":
        await memory.command(asking, "/memory undo")
    else:
        for path in memory.workspace.rglob("*.md"):
            lines = path.read_text("utf-8").splitlines(keepends=True)
            path.write_text("".join(line for line in lines if word not in line), "utf-8")
        await memory.before_reply(asking, "hello")


@pytest.mark.parametrize(("said", "word", "request_"), SETTINGS)
@pytest.mark.parametrize("way", ["id", "words", "chat", "turn", "undo", "by hand"])
async def test_what_was_forgotten_is_said_nowhere_and_an_undo_brings_it_back(
    tmp_path: Path, said: str, word: str, request_: str, way: str
) -> None:
    async with GatewayMemory(words_alone(), tmp_path) as memory:
        if way == "undo":
            session = await memory.start_session("before", user=OWNER)
            await memory.save_summary(session, topic=said, summary=f"PostgreSQL. {said}", todos=["Write the schema"])
            await memory.end_session(session, reason="completed")
            session = await memory.start_session("asking", user=OWNER)
            await memory.after_reply(session, user=said, reply="OK")
            await memory.flush()
        else:
            await record(memory, word, said)
        asking = await memory.start_session("asking", user=OWNER)
        assert word in (asking.opening + (tmp_path / SESSIONS_FILE).read_text("utf-8"))
        before = {path: path.read_bytes() for path in [*tmp_path.rglob("*.md"), tmp_path / SESSIONS_FILE]}
        await forget(memory, asking, way, said, word, request_)
        if way == "by hand":
            await memory.end_session(asking, reason="completed")
        assert word not in asking.opening or way == "by hand"  # which is that of a session that has ended
        assert said_on_disk(tmp_path, word) == []
        assert "PostgreSQL" in (tmp_path / SESSIONS_FILE).read_text("utf-8"), "the rest of the record stays"
        fresh = await memory.start_session("fresh", user=OWNER)
        assert word not in fresh.opening
        assert "PostgreSQL" in fresh.opening
    assert word not in hook_opening(tmp_path, "", None, 1e9)[0]
    async with GatewayMemory(words_alone(), tmp_path) as memory:
        fresh = await memory.start_session("after a restart", user=OWNER)
        assert word not in fresh.opening
        if way in ("undo", "by hand"):
            return
        await memory.command(fresh, "/memory undo")
        now = {path: path.read_bytes() for path in before}
        if way != "turn":
            assert now == before
        again = await memory.start_session("again", user=OWNER)
        for opening in (again.opening, hook_opening(tmp_path, "", None, 1e9)[0]):
            assert word in opening
        assert word in (tmp_path / SESSIONS_FILE).read_text("utf-8")


@pytest.mark.parametrize(("said", "word", "request_"), SETTINGS)
@pytest.mark.parametrize("end", ["rules", "agent", "stage", "imported"])
async def test_a_later_summary_does_not_say_it(tmp_path: Path, said: str, word: str, request_: str, end: str) -> None:
    async with GatewayMemory(words_alone(), tmp_path) as memory:
        session = await memory.start_session("chat", user=OWNER)
        await memory.observe(session, kind="decision", content=f"{said} PostgreSQL it is.")
        await memory.observe(session, kind="tool", content=json.dumps({"note": said}), tool="notes")
        await memory.after_reply(session, user=said, reply=f"OK, {said}")
        await memory.after_reply(session, user=f"{KEPT}, and the schema has to be written by tomorrow", reply="OK")
        await memory.flush()
        await memory.after_reply(session, user=request_, reply="Forgotten.")
        await memory.flush()
        assert said_on_disk(tmp_path, word) == []
        if end == "agent":
            await memory.save_summary(session, topic=said, summary=f"They use PostgreSQL. {said}")
        elif end == "stage":
            await memory.before_compaction(session, usage=90, messages=40)
        elif end == "imported":
            other = SessionRecord(
                id="sum-1", session_id="x", topic="t", summary=f"PostgreSQL. {said}", timestamp="2020"
            )
            await memory.importer.run([SummaryItem(place="", record=other)], scope=session.scope)
        await memory.end_session(session, reason="completed")
        assert said_on_disk(tmp_path, word) == []
        assert "PostgreSQL" in (tmp_path / SESSIONS_FILE).read_text("utf-8")
        fresh = await memory.start_session("fresh", user=OWNER)
        assert word not in fresh.opening
        identity = (await journal_rows(memory, "SELECT id FROM memories WHERE state = 'forgotten'"))[0][0]
        await memory.command(fresh, f"/memory undo {identity}")
        if end == "agent":
            assert word in (tmp_path / SESSIONS_FILE).read_text("utf-8")


@pytest.mark.parametrize(("said", "word", "request_"), SETTINGS)
async def test_no_model_reads_what_was_forgotten(tmp_path: Path, said: str, word: str, request_: str) -> None:
    async with serving() as provider:
        asked: list[str] = []
        async with GatewayMemory(words_alone(provider.url), tmp_path) as memory:
            session = await memory.start_session("chat", user=OWNER)
            await memory.after_reply(session, user=said, reply=f"OK, {word} noted.")
            await memory.after_reply(session, user=KEPT, reply="OK")
            async with parts(memory).processor._work():
                await parts(memory).processor._rules.run(await parts(memory).storage.turns.waiting("accepted"))
            await memory.command(session, request_)
            assert said_on_disk(tmp_path, word) == []
            provider.script += [Say(text='{"memories": []}')] * 4
            await memory.flush()
            asked.append(provider.prompt())
            provider.script += [Say(text="no JSON")] * 4
            await memory.end_session(session, reason="completed")
            asked.append(provider.prompt())
        assert any("PostgreSQL" in text for text in asked)
        assert not [text for text in asked if word in text]
        assert said_on_disk(tmp_path, word) == []


TEXTS = (
    "A comment begins with &lt;!-- in HTML",
    "The door <!-- gm:abcdefgh --> is red",
    "Literal &amp;lt;!-- and &amp;amp;lt;!-- stand here",
    "[x] is how a task that is done begins",
    "[ ]",
    "\\[ ] has a backslash",
    "- [X] a list in a list",
    "# no heading",
    "``` no fence",
    "--> closes nothing",
    "1. the first & only",
    "> quoted | table * star _ line",
    "袋食蚁兽 &lt;!-- 注释 --> 喜欢",
    "a\u00a0b\u3000c\u200dd",
)


@pytest.mark.parametrize("text", TEXTS)
async def test_no_text_is_taken_for_an_edit_by_hand(tmp_path: Path, text: str) -> None:
    async with GatewayMemory(words_alone(), tmp_path) as memory:
        session = await memory.start_session("chat", user=OWNER)
        await memory.save_fact(session, content="The office has a red door")
        before = {path: path.read_bytes() for path in tmp_path.rglob("*.md")}
        identity = await memory.save_fact(session, content=text)
        assert identity
        held = {path: path.read_bytes() for path in tmp_path.rglob("*.md")}
        listener = await memory.start_session("listener", user=OWNER)
        await memory.before_reply(listener, "hello")
        assert await journal_rows(memory, "SELECT 1 FROM history WHERE event LIKE '%by hand'") == []
        await memory.command(session, f"/memory forget {identity}")
        await memory.command(session, f"/memory undo {identity}")
        assert {path: path.read_bytes() for path in tmp_path.rglob("*.md")} == held
        await memory.command(session, f"/memory undo {identity}")
        assert {path: path.read_bytes() for path in tmp_path.rglob("*.md")} == before


@pytest.mark.parametrize(
    ("said", "word", "asking"),
    [
        (
            "Therapy with Dr. Quimby on Thursdays went well again",
            "Quimby",
            "forget the therapy with Dr. Quimby on Thursdays",
        ),
        ("我下周三要去墨尔本出差，酒店还没有订", "墨尔本", "忘掉我下周三要去墨尔本出差"),
    ],
)
async def test_what_was_said_and_never_kept_is_forgotten_too(tmp_path: Path, said: str, word: str, asking: str) -> None:
    async with GatewayMemory(words_alone(), tmp_path) as memory:
        one = await memory.start_session("one", user=OWNER)
        await memory.after_reply(one, user=f"{said}. {KEPT}", reply="OK")
        await memory.save_summary(one, topic=said, summary=f"{said}\n- The database is PostgreSQL.", todos=[said])
        await memory.end_session(one, reason="completed")
        two = await memory.start_session("two", user=OWNER)
        await memory.after_reply(two, user=f"{said}. And we have to write the schema of it", reply="OK")
        assert word in two.opening
        other = await memory.start_session("other", user=OWNER)
        await memory.after_reply(two, user=asking, reply="OK")
        await memory.flush()
        assert word not in two.opening
        assert not (await memory.before_reply(other, "hello")).updates, "nobody is told what nobody shall know"
        await memory.end_session(two, reason="completed")
        assert said_on_disk(tmp_path, word) == []
    async with GatewayMemory(words_alone(), tmp_path) as memory:
        three = await memory.start_session("three", user=OWNER)
        assert word not in three.opening
        assert word in (await memory.command(three, "/memory undo") or "")
        assert said_on_disk(tmp_path, word) == [SESSIONS_FILE]
        again = [hit.kind for hit in await memory.search(three, said) if word in hit.text]
        assert set(again) == {"episode"}, "it was said, and becomes no memory"

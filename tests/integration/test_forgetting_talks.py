"""Exchanges and whole sessions are forgotten as memories are: nothing says them, nothing learns them again."""

import asyncio
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from inside import parts
from surfaces import calls_of, files_of, served_of

from gateway_memory import OWNER, Config, GatewayMemory, Session
from gateway_memory.cli.main import main
from gateway_memory.hooks.start import opening as hook_opening
from gateway_memory.scope import OWNER_SCOPE
from gateway_memory.store.summaries import SESSIONS_FILE
from gateway_memory.transfer.exporter import to_line
from gateway_memory.transfer.layouts import read_layout
from recall import EmbedderSettings, RecallSettings

pytestmark = pytest.mark.over_postgres

SAID = (
    ("I'm allergic to numbats.", "numbat", "What am I allergic to?"),  # the rules keep it
    ("The clinic called because of the numbat rash on my knee again", "numbat", "Who called about my knee?"),
    ("我对袋食蚁兽过敏", "袋食蚁兽", "我对什么过敏？"),
    ("诊所打电话来说袋食蚁兽疹子又长在膝盖上了", "袋食蚁兽", "诊所打电话说了什么？"),
)
KEPT = "We have decided to use PostgreSQL for the orders"
WEB = {"key": "agent:main:served", "channel": "web", "chat_type": "direct"}


def config(**values: object) -> Config:
    defaults = Config().defaults
    identity = replace(defaults.identity, channels={"web": "owner"})
    recall = RecallSettings(embedder=EmbedderSettings(provider="none"))
    return Config(defaults=replace(defaults, auto_recall=recall, identity=identity, **values))  # type: ignore[arg-type]


async def say(memory: GatewayMemory, key: str, *said: str, reply: str = "OK") -> Session:
    session = await memory.start_session(key, user=OWNER)
    for text in said:
        await memory.after_reply(session, user=text, reply=reply)
    await memory.flush()
    return session


async def exchange_of(memory: GatewayMemory, word: str) -> str:
    """Return the id of the passage of an exchange that has a word."""
    session = await memory.start_session("looking", user=OWNER)
    hits = await memory.search(session, word, kinds=["episode"], limit=20)
    return next(hit.id for hit in hits if word in hit.text)


async def everything(memory: GatewayMemory, workspace: Path, questions: Sequence[str], ids: Sequence[str]) -> str:
    """Return all that can be read, served or in files."""

    async def start(key: str) -> Session:
        return await memory.start_session(key, user=OWNER)

    texts = await calls_of(memory, start, questions, ids)
    texts |= files_of(workspace)
    texts |= await served_of(memory, workspace, OWNER_SCOPE, WEB, questions)
    texts["hook"] = hook_opening(workspace, "", None, memory.now().timestamp())[0]
    return "\n".join(f"{name}: {text}" for name, text in texts.items())


@pytest.mark.files
@pytest.mark.parametrize("way", ["exchange", "session"])
@pytest.mark.parametrize(("said", "word", "question"), SAID)
async def test_what_was_forgotten_with_its_exchange_or_session_is_said_nowhere_until_an_undo(
    tmp_path: Path, said: str, word: str, question: str, way: str
) -> None:
    async with GatewayMemory(config(), tmp_path) as memory:
        if way == "exchange":
            await say(memory, "before", KEPT)
        session = await say(memory, "talk", said, reply=f"I see, the {word}.")
        await memory.observe(session, kind="decision", content=f"Noted: {said}")
        await memory.save_fact(session, content=f"Stage: {said}", type="S")
        topic = f"{said}\n- The database is PostgreSQL." if way == "exchange" else said
        await memory.save_summary(session, topic=said, summary=topic, todos=[said])
        await memory.end_session(session, reason="completed")
        if way == "session":
            await say(memory, "after", KEPT)
        asking = await say(
            memory, "asking", f"So we had {said[0].lower()}{said[1:]}" if way == "exchange" else "Hi there"
        )
        assert word in asking.opening
        before = {path: path.read_bytes() for path in [*tmp_path.rglob("*.md"), tmp_path / SESSIONS_FILE]}
        identity = await exchange_of(memory, word) if way == "exchange" else session.session_id
        named = identity if way == "exchange" else f"session {identity}"
        hits = await memory.search(asking, word, limit=20)
        answer = str(await memory.command(asking, f"/memory forget {named}"))
        assert answer.startswith(("Forgotten", "已忘掉")), answer
        assert word not in asking.opening
        ids = [hit.id for hit in hits]
        text = await everything(memory, tmp_path, [question, "What did we decide about the orders?"], ids)
        assert word not in text
        assert "PostgreSQL" in text, "the rest stays"
    async with GatewayMemory(config(), tmp_path) as memory:
        assert word not in await everything(memory, tmp_path, [question], ids), "after a restart"
        session = await memory.start_session("undoing", user=OWNER)
        answer = str(await memory.command(session, f"/memory undo {identity}"))
        assert answer.startswith(("Undone", "已撤销")), answer
        now = {path: path.read_bytes() for path in before}
        assert now[tmp_path / SESSIONS_FILE].startswith(before[tmp_path / SESSIONS_FILE])
        assert word in await everything(memory, tmp_path, [question], ids)


@pytest.mark.files
async def test_a_session_is_named_as_this_one_the_last_one_by_its_id_its_key_or_its_record(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("quokka", "numbat", "bilby", "dunnart", "potoroo", "wombat")
    ids: dict[str, Session] = {}
    async with GatewayMemory(config(), tmp_path) as memory:
        for word in words:
            ids[word] = await say(memory, f"agent:main:{word}", f"I'm allergic to {word}s, as everybody knows.")
            if word != "wombat":
                await memory.save_summary(ids[word], topic=f"Allergy to {word}s", summary=f"It is {word}s.")
                await memory.end_session(ids[word], reason="completed")
        record = next(
            json.loads(line)["id"]
            for line in (tmp_path / SESSIONS_FILE).read_text("utf-8").splitlines()
            if "bilby" in line
        )
        session = ids["wombat"]
        ways = {"wombat": "", "potoroo": "last", "numbat": ids["numbat"].session_id, "bilby": record}
        ways["dunnart"] = "agent:main:dunnart"
        for word, name in ways.items():
            assert "1 exchanges" in str(await memory.command(session, f"/memory forget session {name}".rstrip())), word
        assert "Nothing is left" in str(await memory.command(session, "/memory forget session nosuch"))
        assert "已忘掉会话" not in str(await memory.command(session, "/memory 忘掉 会话 nosuch"))
        await say(memory, "agent:main:wombat", "The kettle is new.")
        text = await everything(memory, tmp_path, ["What am I allergic to?", "kettle"], [])
        assert [word for word in words if f"{word}s" in text] == ["quokka"]
        assert "The kettle is new" in text, "what is said after it is not forgotten"
    forgets = ["forget", "--workspace", str(tmp_path), "session", ids["quokka"].session_id]
    assert await asyncio.to_thread(main, forgets) == 0
    assert "Forgotten: session" in capsys.readouterr().out
    async with GatewayMemory(config(), tmp_path) as memory:
        assert "quokkas" not in await everything(memory, tmp_path, ["What am I allergic to?"], [])


async def test_a_repeated_import_does_not_learn_a_forgotten_session_again(tmp_path: Path) -> None:
    said = "I prefer window seats because of the numbats"
    file = tmp_path / "talk.jsonl"
    row = {"kind": "episode", "scope": "owner", "user": said, "reply": "OK", "session": "old", "session_id": "old-1"}
    more = {"user": "I prefer aisle seats for the numbat nights", "at": "2026-01-05T10:05:00+00:00"}
    first = {**row, "at": "2026-01-05T10:00:00+00:00", "unread": "rules"}
    file.write_text(to_line(first), "utf-8")
    settings = config(review=replace(Config().defaults.review, mode="off"))
    async with GatewayMemory(settings, tmp_path / "w") as memory:

        async def take() -> None:
            await memory.importer.run(list(read_layout("jsonl", file)), scope=OWNER_SCOPE)
            await memory.backlog.read(scope=OWNER_SCOPE)

        await take()
        session = await memory.start_session("asking", user=OWNER)
        assert "numbats" in str(await memory.command(session, "/memory list"))
        exported = [to_line(each) async for each in memory.exporter.rows()]
        assert "Forgotten" in str(await memory.command(session, "/memory forget session old-1"))
        file.write_text(to_line(first) + to_line({**first, **more}) + "".join(exported), "utf-8")
        await take()
        assert "numbat" not in await everything(memory, tmp_path / "w", ["Which seats do I prefer?"], [])
        await memory.command(session, "/memory undo")
        assert "numbats" in str(await memory.command(session, "/memory list"))


@pytest.mark.files
async def test_twins_are_one_for_an_import_and_for_forgetting(tmp_path: Path) -> None:
    text = "The office plant is a numbat fern"
    file = tmp_path / "facts.jsonl"
    async with GatewayMemory(config(), tmp_path / "w") as memory:
        session = await memory.start_session("one", user=OWNER)
        await memory.save_fact(session, content=text)

        async def take(*texts: str) -> dict[str, int]:
            file.write_text("".join(to_line({"kind": "memory", "text": each}) for each in texts), "utf-8")
            return (await memory.importer.run(list(read_layout("jsonl", file)), scope=OWNER_SCOPE)).counts

        counts = await take(f"{text}.", f"{text.upper()}!", f"“{text}”")
        assert counts["memories.known"] == 3
        day = next((tmp_path / "w").glob("memory/*.md"))
        day.write_text(f"{day.read_text('utf-8')}- {text}.\n", "utf-8")  # a twin that a person has written
        assert str(await memory.command(session, "/memory list")).count("numbat") == 2
        answer = str(await memory.command(session, f"/memory forget {text}"))
        assert answer.count("Forgotten") == 2, "named by words, they are one; both are gone"
        assert "numbat" not in str(await memory.command(session, "/memory list"))
        assert (await take(f"{text}."))["memories.forgotten"] == 1
        await memory.command(session, "/memory undo")
        assert str(await memory.command(session, "/memory list")).count("numbat") == 2


async def test_a_word_that_a_memory_and_an_exchange_hold_names_both(tmp_path: Path) -> None:
    async with GatewayMemory(config(), tmp_path) as memory:
        session = await say(memory, "one", "Remember that the numbat fern is in the hall.")
        assert str(await memory.command(session, "/memory forget numbat")).startswith("Forgotten"), "one: no question"
        await memory.command(session, "/memory undo")
        await say(memory, "two", "Did you see the numbat mural on our garden wall?")
        which = str(await memory.command(session, "/memory forget numbat"))
        assert which.startswith("Which one?")
        assert "fern" in which
        assert "mural" in which
        memory_id, exchange = re.findall(r"^- (\w+) · ", which, re.MULTILINE)
        await memory.command(session, f"/memory forget {memory_id}")
        assert str(await memory.command(session, "/memory forget numbat")).startswith("Forgotten"), "one is left"
        text = await everything(memory, tmp_path, ["fern", "garden wall"], [exchange])
        assert "numbat" not in text


async def test_what_is_named_by_words_for_no_certain_memory_is_asked_for_in_the_singular(tmp_path: Path) -> None:
    async with GatewayMemory(config(), tmp_path) as memory:
        session = await say(memory, "one", "Remember that the fern by the numbat house needs rain water each week.")
        answer = str(await memory.command(session, "/memory forget the numbat story with rain"))
        assert "Which" not in answer
        assert "Forgotten" not in answer, "it is not certain"
        assert "forget " in answer


async def test_why_receipts_and_histories_name_a_forgotten_thing_by_its_id_alone(tmp_path: Path) -> None:
    async with GatewayMemory(config(), tmp_path) as memory:
        session = await say(memory, "one", "Remember that the fern is called Numbatina.")
        (hit,) = await memory.search(session, "fern", kinds=["memory"])
        later = await memory.start_session("two", user=OWNER)
        later.compacted()
        await memory.before_reply(later, "What is the fern called?")
        await memory.after_reply(later, user="What is the fern called?", reply="It has a name.")
        await memory.flush()
        for command in ("why", "receipts", f"history {hit.id}"):
            assert hit.id in str(await memory.command(later, f"/memory {command}"))
            assert "Numbatina" in str(await memory.command(later, f"/memory {command}"))
        await memory.command(later, f"/memory forget {hit.id}")
        for command in ("why", "receipts", f"history {hit.id}"):
            text = str(await memory.command(later, f"/memory {command}"))
            assert hit.id in text
            assert "Numbatina" not in text
        past = await memory.record(later, "history", hit.id)
        assert past["text"] == ""
        assert [event["event"] for event in past["events"]] == ["added", "forgotten"]
        await memory.command(later, f"/memory undo {hit.id}")
        assert "Numbatina" in str(await memory.command(later, "/memory receipts"))


async def test_an_older_change_that_is_undone_brings_nothing_forgotten_back(tmp_path: Path) -> None:
    async with GatewayMemory(config(), tmp_path) as memory:
        session = await say(memory, "one", "I live in Numbatville.")
        exchange = await exchange_of(memory, "Numbatville")
        await say(memory, "two", "I live in Porto now.")
        (porto,) = [
            hit for hit in await memory.search(session, "where do I live?", kinds=["memory"]) if "Porto" in hit.text
        ]
        await memory.command(session, f"/memory forget {exchange}")
        await memory.command(session, f"/memory undo {porto.id}")
        assert "Numbatville" not in await everything(memory, tmp_path, ["where do I live?"], [porto.id])


@pytest.mark.files
async def test_what_keep_days_deletes_is_withheld_for_good(tmp_path: Path) -> None:
    now = datetime(2026, 3, 2, 9, tzinfo=UTC)
    said = "The numbat rash on my knee itches again today"
    settings = config(episodes=replace(Config().defaults.episodes, keep_days=5))
    async with GatewayMemory(settings, tmp_path, clock=lambda: now) as memory:
        session = await say(memory, "one", said)
        await memory.observe(session, kind="decision", content=f"Noted: {said}")
        await memory.save_summary(session, topic="Health", summary=f"{said}.\n- The database is PostgreSQL.")
        exchange = await exchange_of(memory, "numbat")
        await memory.command(session, f"/memory forget {exchange}")
        now += timedelta(days=6)
        await parts(memory).storage.episodes.delete_before(now.timestamp() - 5 * 86400)
        await memory.command(session, f"/memory undo {exchange}")
        text = await everything(memory, tmp_path, ["Which rash?"], [])
        assert "numbat" not in text, "its words are gone: nothing could be compared with them"
        assert "PostgreSQL" in text


async def test_a_reply_report_says_that_an_exchange_was_withheld(tmp_path: Path) -> None:
    async with GatewayMemory(config(), tmp_path) as memory:
        await say(memory, "one", SAID[0][0])
        session = await memory.start_session("two", user=OWNER)
        assert await memory.command(session, "/memory forget numbats")
        report = (await memory.before_reply(session, SAID[0][2])).report
        assert report is not None
        fates = {row.fate for row in report.rows if row.id.startswith("e")}
        assert "withheld" in fates
        assert fates <= {"withheld", "weak", "far"}

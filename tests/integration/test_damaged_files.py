"""A file that breaks by itself is no wish to forget: the memory goes on from its journal, and asks."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from damages import OF_TEXT, Damage, empty, ends_in_nuls, garbage, gone, half, last_line_cut, nuls, older, two_copies
from inside import journal_rows, parts
from patience import seconds

from gateway_memory import OWNER, Config, GatewayMemory, Session
from gateway_memory.config.settings import MemorySync
from gateway_memory.scope import Scope
from gateway_memory.store.markdown import parse
from gateway_memory.store.patches import digest_of
from gateway_memory.store.summaries import read_records
from recall import EmbedderSettings, RecallSettings

pytestmark = pytest.mark.files
WORDS = Config(defaults=MemorySync(auto_recall=RecallSettings(embedder=EmbedderSettings(provider="none"))))
LINES = 20


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway_memory.sync.vanishing.SETTLES_SECONDS", 0.3)


@pytest.fixture
def long_ago(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files have been as they are for long enough when a memory is opened."""
    monkeypatch.setattr("gateway_memory.sync.vanishing.SETTLES_SECONDS", 0.0)


def words(number: int) -> str:
    return f"locker {number} opens with {number * 7919 % 10007}"


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(seconds(20)):
        while not holds():
            await asyncio.sleep(0.02)


async def filled(memory: GatewayMemory, session: Session, file: Path) -> bytes:
    """Say the lines, and return the content of the file before the last three."""
    before = b""
    for number in range(LINES):
        if number == LINES - 3:
            await memory.flush()
            before = file.read_bytes()
        await memory.after_reply(session, user=f"Remember that {words(number)}.", reply="OK")
    await memory.flush()
    return before


def lines(file: Path) -> list[str]:
    if not file.exists():
        return []
    text = file.read_bytes().decode("utf-8", "replace")
    return [block.text for block in parse(text, file=file.name) if block.kind == "item"]


async def command(memory: GatewayMemory, session: Session, text: str) -> str:
    return await memory.command(session, text) or ""


async def asks(memory: GatewayMemory, session: Session) -> str:
    """Return the line of the status that asks about a damaged file; "" if there is none."""
    status = await command(memory, session, "/memory status")
    return next((line for line in status.splitlines() if "/memory restore" in line), "")


async def is_whole(memory: GatewayMemory, session: Session, file: Path) -> None:
    assert sorted(lines(file)) == sorted(map(words, range(LINES)))
    for number in (0, LINES // 2, LINES - 1):
        hits = await memory.search(session, f"locker {number}", kinds=["memory"])
        assert words(number) in [hit.text for hit in hits]
    states = await journal_rows(memory, "SELECT state, count(*) FROM memories GROUP BY state")
    assert states == [("active", LINES)]
    assert await journal_rows(memory, "SELECT 1 FROM history WHERE event LIKE '%by hand'") == []
    assert await parts(memory).storage.recaller.count(session.scope.key) == LINES, "a half line is no memory"


@pytest.mark.parametrize("cut", ["<", " <!", " <!-", " <!-- gm"])
async def test_the_first_look_asks_and_half_a_line_is_no_memory(tmp_path: Path, cut: str) -> None:
    file = tmp_path / "MEMORY.md"
    async with GatewayMemory(WORDS, tmp_path) as memory:
        session = await memory.start_session("before", user=OWNER)
        await filled(memory, session, file)
    text = file.read_text("utf-8")
    file.write_text(text[: text.index(cut, text.index(words(LINES // 2))) + len(cut)], "utf-8")
    async with GatewayMemory(WORDS, tmp_path) as memory:
        session = await memory.start_session("after", user=OWNER)
        assert "lines of MEMORY.md" in await asks(memory, session)
        await command(memory, session, "/memory restore")
        await is_whole(memory, session, file)


@pytest.mark.usefixtures("long_ago")
@pytest.mark.parametrize("damage", OF_TEXT)
@pytest.mark.parametrize("answer", ["restore", "restore no"])
async def test_a_file_that_broke_while_nothing_ran(tmp_path: Path, damage: Damage, answer: str) -> None:
    file = tmp_path / "MEMORY.md"
    async with GatewayMemory(WORDS, tmp_path) as memory:
        session = await memory.start_session("before", user=OWNER)
        before = await filled(memory, session, file)
    damage(file, before)
    stood = set(lines(file)) & {words(number) for number in range(LINES)}
    async with GatewayMemory(WORDS, tmp_path) as memory:
        session = await memory.start_session("after", user=OWNER)
        assert words(0) in session.opening
        assert words(LINES - 1) in session.opening
        await is_whole(memory, session, file)
        question = await asks(memory, session)
        assert f"{LINES - len(stood)} of {LINES} lines of MEMORY.md" in question
        told = await command(memory, session, f"/memory {answer}")
        assert "MEMORY.md" in told
        assert await asks(memory, session) == ""
        if answer == "restore":
            await is_whole(memory, session, file)
        else:
            assert set(lines(file)) == stood
            assert "put back" in await command(memory, session, "/memory undo")
            assert len(lines(file)) == LINES
    async with GatewayMemory(WORDS, tmp_path) as memory:
        session = await memory.start_session("later", user=OWNER)
        assert await asks(memory, session) == ""
        assert len(lines(file)) == LINES


@pytest.mark.parametrize("damage", OF_TEXT)
async def test_a_file_that_breaks_while_others_talk(tmp_path: Path, damage: Damage) -> None:
    """Two memories have the workspace open, as two processes have."""
    file = tmp_path / "MEMORY.md"
    async with AsyncExitStack() as stack:
        here, there = [await stack.enter_async_context(GatewayMemory(WORDS, tmp_path)) for _ in range(2)]
        speaker = await here.start_session("speaker", user=OWNER)
        before = await filled(here, speaker, file)
        sessions = [
            (here, speaker),
            *[(each, await each.start_session("listener", user=OWNER)) for each in (here, there)],
        ]
        for memory, session in sessions:
            await memory.before_reply(session, "hello")
        damage(file, before)
        for memory, session in sessions:
            context = await memory.before_reply(session, "hm")
            assert [update for update in context.updates if update.action == "removed"] == []
        await until(lambda: sorted(lines(file)) == sorted(map(words, range(LINES))))
        for memory, session in sessions:
            context = await memory.before_reply(session, "and now?")
            assert [update for update in context.updates if update.action == "removed"] == []
            assert "no longer holds" not in context.text
            await is_whole(memory, session, file)
            assert await asks(memory, session)
        await command(there, sessions[-1][1], "/memory restore")
        for memory, session in sessions:
            assert await asks(memory, session) == ""


@pytest.mark.usefixtures("long_ago")
async def test_what_was_said_is_quoted_all_the_while(tmp_path: Path) -> None:
    async with GatewayMemory(WORDS, tmp_path) as memory:
        session = await memory.start_session("before", user=OWNER)
        await filled(memory, session, tmp_path / "MEMORY.md")
    (tmp_path / "MEMORY.md").write_bytes(b"")
    async with GatewayMemory(WORDS, tmp_path) as memory:
        session = await memory.start_session("after", user=OWNER)
        assert "opens" in str([hit.text for hit in await memory.search(session, "locker 7 opens", kinds=["episode"])])


async def test_an_editor_that_saves_slowly_removes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway_memory.sync.vanishing.SETTLES_SECONDS", seconds(3))  # longer than this save lasts
    file = tmp_path / "MEMORY.md"
    async with GatewayMemory(WORDS, tmp_path) as memory:
        session = await memory.start_session("one", user=OWNER)
        await filled(memory, session, file)
        content = file.read_bytes()
        with file.open("wb") as stream:
            for part in (b"", content[:-150], content[-150:-90]):
                stream.write(part)
                stream.flush()
                for _ in range(3):
                    context = await memory.before_reply(session, "hm")
                    assert not context.updates
                    assert "[Memory Changes]" not in context.text
                    await asyncio.sleep(0.05)
            stream.write(content[-90:])
        await memory.before_reply(session, "hm")
        assert file.read_bytes() == content
        await is_whole(memory, session, file)
        assert await asks(memory, session) == ""


async def test_a_few_lines_that_a_person_deletes_are_forgotten_and_an_undo_brings_them_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway_memory.store.journal.event_log._MOVED_SECONDS", 0.0)
    file = tmp_path / "MEMORY.md"
    async with GatewayMemory(WORDS, tmp_path) as memory:
        session = await memory.start_session("one", user=OWNER)
        await filled(memory, session, file)
        deleted = {words(3), words(9)}
        text = file.read_text("utf-8").splitlines(keepends=True)
        kept = [line for line in text if not any(each in line for each in deleted)]
        file.write_text("".join(kept), "utf-8")
        for _ in range(2):  # and again after the undo
            await command(memory, session, "/memory list")
            assert await asks(memory, session) == ""
            states = await journal_rows(memory, "SELECT text FROM memories WHERE state = 'deleted'")
            assert {text for (text,) in states} == deleted
            answer = await command(memory, session, "/memory undo")
            assert all(f"put back: {text}" in answer or text in answer for text in deleted)
            assert len(lines(file)) == LINES
            file.write_text("".join(kept), "utf-8")


@pytest.mark.usefixtures("long_ago")
@pytest.mark.parametrize("damage", [half, gone, nuls])
@pytest.mark.parametrize("person", ["", "zoe"])
async def test_a_days_file(tmp_path: Path, damage: Damage, person: str) -> None:
    user = person or OWNER
    async with GatewayMemory(WORDS, tmp_path) as memory:
        session = await memory.start_session("before", user=user)
        for number in range(6):
            await memory.save_fact(session, content=f"Shelf {number} carries the {number * 71} paint tins.")
        await memory.flush()
    folder = tmp_path / Scope.parse("user:zoe").folder if person else tmp_path
    (file,) = (folder / "memory").glob("*.md")
    whole = sorted(lines(file))
    damage(file, b"")
    async with GatewayMemory(WORDS, tmp_path) as memory:
        session = await memory.start_session("after", user=user)
        assert f"of 6 lines of memory/{file.name}" in await asks(memory, session)
        assert sorted(lines(file)) == whole


@pytest.mark.usefixtures("long_ago")
async def test_a_days_file_of_which_a_sync_client_makes_two_copies(tmp_path: Path) -> None:
    """The older one is in its place; whichever the client deletes later, nothing is lost, and nothing told twice."""
    async with GatewayMemory(WORDS, tmp_path) as memory:
        session = await memory.start_session("before", user=OWNER)
        before = b""
        for number in range(6):
            if number == 3:
                before = next((tmp_path / "memory").glob("*.md")).read_bytes()
            await memory.save_fact(session, content=f"Shelf {number} carries the {number * 71} paint tins.")
    (file,) = (tmp_path / "memory").glob("*.md")
    whole = lines(file)
    two_copies(file, before)
    (copy,) = set((tmp_path / "memory").glob("*.md")) - {file}
    async with GatewayMemory(WORDS, tmp_path) as memory:
        session = await memory.start_session("after", user=OWNER)
        assert f"3 of 6 lines of memory/{file.name}" in await asks(memory, session)
        assert sorted(lines(file)) == sorted(whole)
        for _ in range(2):
            hits = await memory.search(session, "which shelf carries paint tins", limit=20, kinds=["memory"])
            assert sorted(hit.text for hit in hits) == sorted(whole)
            copy.unlink(missing_ok=True)
            context = await memory.before_reply(session, "hm")
            assert [update for update in context.updates if update.action == "removed"] == []
        await command(memory, session, "/memory restore")
        assert await asks(memory, session) == ""


@pytest.mark.usefixtures("long_ago")
async def test_the_index_is_gone_too(tmp_path: Path) -> None:
    file = tmp_path / "MEMORY.md"
    async with GatewayMemory(WORDS, tmp_path) as memory:
        session = await memory.start_session("before", user=OWNER)
        await filled(memory, session, file)
    file.write_bytes(b"")
    for path in tmp_path.glob("index.sqlite*"):
        path.unlink()
    async with GatewayMemory(WORDS, tmp_path) as memory:
        session = await memory.start_session("after", user=OWNER)
        await is_whole(memory, session, file)
        assert await asks(memory, session)


async def test_a_line_moved_to_another_file_is_not_lost(tmp_path: Path) -> None:
    file, other = tmp_path / "MEMORY.md", tmp_path / "memory" / "2026-01-05.md"
    async with GatewayMemory(WORDS, tmp_path) as memory:
        session = await memory.start_session("one", user=OWNER)
        await filled(memory, session, file)
        other.parent.mkdir(exist_ok=True)
        other.write_text(file.read_text("utf-8"), "utf-8")
        file.write_text("# Memory\n", "utf-8")
        await command(memory, session, "/memory list")
        assert await asks(memory, session) == ""
        await is_whole(memory, session, other)
        assert lines(file) == []


@pytest.mark.usefixtures("long_ago")
async def test_what_a_person_clears_on_the_page_is_no_damage(tmp_path: Path) -> None:
    file = tmp_path / "MEMORY.md"
    async with GatewayMemory(WORDS, tmp_path) as memory:
        session = await memory.start_session("one", user=OWNER)
        await filled(memory, session, file)
        browsing = parts(memory).browsing
        assert await browsing.save_document(session, "", digest=digest_of(await browsing.document(session)))
        assert await asks(memory, session) == ""
        assert lines(file) == []
        assert await journal_rows(memory, "SELECT DISTINCT state FROM memories") == [("deleted",)]
        await command(memory, session, "/memory undo")
        assert len(lines(file)) == LINES


async def test_a_damaged_journal_is_named_while_it_lies_there(tmp_path: Path) -> None:
    async with GatewayMemory(WORDS, tmp_path) as memory:
        session = await memory.start_session("one", user=OWNER)
        (tmp_path / "journal.sqlite.damaged-20261128-101112").touch()
        (tmp_path / "journal.sqlite.damaged-20261128-101112-wal").touch()
        status = await command(memory, session, "/memory status")
        assert status.count("journal.sqlite.damaged-") == 1
        (tmp_path / "journal.sqlite.damaged-20261128-101112").unlink()
        assert "damaged" not in await command(memory, session, "/memory status")


@pytest.mark.usefixtures("long_ago")
async def test_what_stood_there_lies_beside_it(tmp_path: Path) -> None:
    file = tmp_path / "MEMORY.md"
    async with GatewayMemory(WORDS, tmp_path) as memory:
        session = await memory.start_session("before", user=OWNER)
        await filled(memory, session, file)
    garbage(file, b"")
    broken = file.read_bytes()
    async with GatewayMemory(WORDS, tmp_path) as memory:
        session = await memory.start_session("after", user=OWNER)
        (aside,) = tmp_path.glob("MEMORY.md.damaged-*")
        assert aside.read_bytes() == broken
        assert aside.name in await command(memory, session, "/memory restore")


def garbage_line(path: Path, _: bytes) -> None:
    """The size and the end of the file stay the same."""
    lines = path.read_bytes().splitlines(keepends=True)
    lines[2] = b"\xff" * (len(lines[2]) - 1) + b"\n"
    path.write_bytes(b"".join(lines))


RECORDS = 8


@pytest.mark.parametrize("damage", [half, empty, gone, nuls, ends_in_nuls, last_line_cut, garbage_line, older])
@pytest.mark.parametrize("answer", ["restore", "restore no"])
async def test_session_records_that_break_are_made_anew_if_a_person_says_so(
    tmp_path: Path, damage: Damage, answer: str
) -> None:
    file = tmp_path / "sessions.jsonl"
    async with GatewayMemory(WORDS, tmp_path) as memory:
        asking = await memory.start_session("asking", user=OWNER)
        before = b""
        for number in range(RECORDS):
            before = file.read_bytes() if number == RECORDS - 2 else before
            session = await memory.start_session(f"chat {number}", user=OWNER)
            await memory.after_reply(session, user=f"Remember that {words(number)}.", reply="OK")
            await memory.end_session(session, reason="completed")
        await memory.flush()
        assert await asks(memory, asking) == ""
    whole = [record["session_id"] for record in read_records(file)[0]]
    damage(file, before)
    stood = [record["session_id"] for record in read_records(file)[0]]
    lost = RECORDS - len(stood)
    for _ in range(2):
        async with GatewayMemory(WORDS, tmp_path) as memory:
            session = await memory.start_session("after", user=OWNER)
            assert f"{lost} of 8 session records of sessions.jsonl are gone" in await asks(memory, session)
    async with GatewayMemory(WORDS, tmp_path) as memory:
        session = await memory.start_session("after", user=OWNER)
        told = await command(memory, session, f"/memory {answer}")
        made = lost if answer == "restore" else 0
        assert f"of {lost} lost session records, {made} were made anew" in told
        assert await asks(memory, session) == ""
        records, damaged = read_records(file)
        assert damaged == []
        assert {record["session_id"] for record in records} == set(whole if made else stood)
        assert [record["timestamp"] for record in records] == sorted(record["timestamp"] for record in records)
        assert all(words(number) in str(records) for number in range(RECORDS) if made)
        await memory.after_reply(session, user=f"Remember that {words(RECORDS)}.", reply="OK")
        await memory.end_session(session, reason="completed")
        await memory.flush()
        session = await memory.start_session("later", user=OWNER)
        assert words(RECORDS) in session.opening
        assert await asks(memory, session) == ""
    ids = [record["session_id"] for record in read_records(file)[0]]
    assert len(ids) == len(set(ids)) == (RECORDS if made else len(stood)) + 1


async def test_a_record_that_a_person_deletes_is_not_asked_about(tmp_path: Path) -> None:
    file = tmp_path / "sessions.jsonl"
    async with GatewayMemory(WORDS, tmp_path) as memory:
        asking = await memory.start_session("asking", user=OWNER)
        for number in range(RECORDS):
            session = await memory.start_session(f"chat {number}", user=OWNER)
            await memory.after_reply(session, user=f"Remember that {words(number)}.", reply="OK")
            await memory.end_session(session, reason="completed")
        lines = file.read_bytes().splitlines(keepends=True)
        for kept in (lines[:3] + lines[4:], lines[:3] + lines[4:-1]):  # the last one too
            file.write_bytes(b"".join(kept))
            assert await asks(memory, asking) == ""


async def test_without_a_question_nothing_is_taken_back(tmp_path: Path) -> None:
    """Somebody who sees an emptied file before a process has noticed it types what the docs say."""
    async with GatewayMemory(Config(), tmp_path) as memory:
        session = await memory.start_session("one", user=OWNER)
        await memory.command(session, "/memory remember I like tea")
        answer = await memory.answer(session, "/memory restore")
        assert answer
        assert not answer.done
        assert "/memory undo" in answer.text
        assert "I like tea" in str(await memory.command(session, "/memory list"))

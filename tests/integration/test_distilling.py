"""Facts of the log that have earned it move up to MEMORY.md at a session's end: one way, once, with a reason."""

import asyncio
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from inside import connection, journal_rows, parts

from gateway_memory import OWNER, Config, GatewayMemory, Session, load_config
from gateway_memory.capture.distiller import earned
from gateway_memory.cli.main import main
from gateway_memory.config.settings import DistillSettings, MemorySync
from gateway_memory.store.disk import files, replacing
from gateway_memory.store.disk.files import MarkdownFiles
from gateway_memory.store.journal.turns import Turns
from gateway_memory.store.journal.uses import Uses
from gateway_memory.store.memory_record import MemoryRecord
from gateway_memory.testing import Clock
from recall import EmbedderSettings, RecallSettings

FACT = "登录接口用 JWT 认证，令牌有效期 24 小时"


def config(**values: object) -> Config:
    recall = RecallSettings(embedder=EmbedderSettings(provider="none"))
    return Config(defaults=replace(Config().defaults, auto_recall=recall, **values))  # type: ignore[arg-type]


async def said_on_days(memory: GatewayMemory, clock: Clock, text: str, days: int, *, times: int = 1) -> None:
    """Several sessions say the same, on as many days; the last one stays open."""
    for day in range(days):
        session = await memory.start_session(f"day-{day}", user=OWNER)
        for _ in range(times):
            await memory.save_fact(session, content=text)
        clock.now += timedelta(days=1)


async def end(memory: GatewayMemory) -> Session:
    session = await memory.start_session("ending", user=OWNER)
    await memory.end_session(session, reason="completed")
    return session


def read(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*.md")}


def rows(folder: Path) -> list[tuple[str, ...]]:
    index = sqlite3.connect(folder / "index.sqlite")
    try:
        return index.execute("SELECT id, text, file, type, importance, confidence FROM row ORDER BY id").fetchall()
    finally:
        index.close()


async def test_what_was_said_again_on_several_days_moves_up_and_undo_takes_it_back(tmp_path: Path) -> None:
    clock = Clock(datetime(2026, 3, 2, 9, 0, tzinfo=UTC))
    async with GatewayMemory(config(), tmp_path, clock=clock) as memory:
        (tmp_path / "MEMORY.md").write_text("# Notes\n\n- 我的工位在三楼\n", "utf-8")
        await said_on_days(memory, clock, FACT, 5)
        await memory.flush()
        before, indexed = read(tmp_path), rows(tmp_path)
        (told,) = await memory.distill(await memory.start_session("look", user=OWNER), dry_run=True)
        assert (told.outcome, told.reason, told.uses) == ("moved", "repeated", Uses(recalled=0, repeated=4, days=4))
        assert read(tmp_path) == before, "a dry run writes nothing"
        session = await end(memory)
        after = read(tmp_path)
        assert FACT in after["MEMORY.md"].decode()
        assert all(FACT not in text.decode() for name, text in after.items() if name != "MEMORY.md"), "one way"
        assert told.memory.id in after["MEMORY.md"].decode(), "it stays the memory that it is"
        (receipt,) = await memory.receipts(limit=1)
        assert [(each.action, each.reason, each.text) for each in receipt.outcomes] == [("moved", "repeated", FACT)]
        listener = await memory.start_session("listener", user=OWNER)
        assert FACT in listener.opening
        assert "distill" in str(await memory.command(listener, f"/memory history {told.memory.id}"))
        answer = await memory.command(session, "/memory undo")
        assert told.memory.id in str(answer)
        assert read(tmp_path) == before
        assert rows(tmp_path) == indexed
        await end(memory)
        assert read(tmp_path) == before, "what somebody took back stays where it is"


async def test_a_fact_keeps_its_id_when_undo_takes_the_memory_md_away_that_it_moved_to(tmp_path: Path) -> None:
    clock = Clock(datetime(2026, 3, 2, 9, 0, tzinfo=UTC))
    async with GatewayMemory(config(), tmp_path, clock=clock) as memory:
        await said_on_days(memory, clock, FACT, 5)
        await memory.flush()
        before, indexed = read(tmp_path), rows(tmp_path)
        assert "MEMORY.md" not in before
        session = await end(memory)
        assert "MEMORY.md" in read(tmp_path)
        await memory.command(session, "/memory undo")
        await memory.before_reply(session, "how long are tokens valid?")
        assert read(tmp_path) == before
        assert rows(tmp_path) == indexed


async def test_what_was_recalled_on_several_days_moves_up(tmp_path: Path) -> None:
    clock = Clock(datetime(2026, 3, 2, 9, 0, tzinfo=UTC))
    async with GatewayMemory(config(), tmp_path, clock=clock) as memory:
        session = await memory.start_session("one", user=OWNER)
        await memory.save_fact(session, content="The staging database runs on host pluto")
        await memory.flush()
        for day in range(4):
            asking = await memory.start_session(f"asks-{day}", user=OWNER)
            context = await memory.before_reply(asking, "which host does the staging database run on?")
            assert context.recalled
            await memory.after_reply(asking, user="which host does the staging database run on?", reply="pluto")
            clock.now += timedelta(days=1)
        await end(memory)
        assert "pluto" in (tmp_path / "MEMORY.md").read_text("utf-8")
        ((receipt,),) = [[each for each in await memory.receipts(limit=9) if each.stage == "distill"]]
        assert [each.reason for each in receipt.outcomes] == ["recalled"]


async def test_often_on_one_day_is_not_enough(tmp_path: Path) -> None:
    clock = Clock(datetime(2026, 3, 2, 9, 0, tzinfo=UTC))
    async with GatewayMemory(config(), tmp_path, clock=clock) as memory:
        await said_on_days(memory, clock, FACT, 2, times=9)
        await end(memory)
    assert not (tmp_path / "MEMORY.md").exists()


async def test_a_stage_summary_never_moves(tmp_path: Path) -> None:
    clock = Clock(datetime(2026, 3, 2, 9, 0, tzinfo=UTC))
    settings = DistillSettings(min_confidence=0, min_uses=1, min_days=1)
    async with GatewayMemory(config(distill=settings), tmp_path, clock=clock) as memory:
        session = await memory.start_session("one", user=OWNER)
        identity = await memory.save_fact(session, content="阶段摘要：第二步完成了", type="S")

        def often(database: sqlite3.Connection) -> None:
            database.execute("INSERT INTO uses VALUES ('owner', ?, '2026-03-02', 50, 50)", (identity,))

        await connection(memory).transact(often)
        await end(memory)
    assert not (tmp_path / "MEMORY.md").exists()


async def test_what_memory_md_says_already_stays_in_the_log(tmp_path: Path) -> None:
    clock = Clock(datetime(2026, 3, 2, 9, 0, tzinfo=UTC))
    async with GatewayMemory(config(), tmp_path, clock=clock) as memory:
        await said_on_days(memory, clock, FACT, 5)
        (tmp_path / "MEMORY.md").write_text(f"- {FACT}。\n", "utf-8")
        before = read(tmp_path)
        (told,) = await memory.distill(await memory.start_session("look", user=OWNER))
        assert told.outcome == "known"
        assert read(tmp_path) == before


async def test_a_line_that_a_newer_one_has_put_in_doubt_stays_in_the_log(tmp_path: Path) -> None:
    clock = Clock(datetime(2026, 3, 2, 9, 0, tzinfo=UTC))
    async with GatewayMemory(config(), tmp_path, clock=clock) as memory:
        await said_on_days(memory, clock, FACT, 5)
        session = await memory.start_session("look", user=OWNER)
        (told,) = await memory.distill(session, dry_run=True)
        await memory.save_fact(session, content="the shed key hangs behind the green door")
        await memory.flush()

        def doubt(database: sqlite3.Connection) -> None:
            database.execute("UPDATE memories SET outdates = ? WHERE id <> ?", (told.memory.id, told.memory.id))

        await connection(memory).transact(doubt)
        assert await memory.distill(session) == []
        await memory.command(session, "/memory forget the shed key hangs behind the green door")
        assert [each.outcome for each in await memory.distill(session)] == ["moved"], (
            "nothing speaks against it any more"
        )


async def test_memory_md_grows_no_further_than_its_limit(tmp_path: Path) -> None:
    clock = Clock(datetime(2026, 3, 2, 9, 0, tzinfo=UTC))
    store = replace(Config().defaults.store, max_memory_md_bytes=150)
    async with GatewayMemory(config(store=store), tmp_path, clock=clock) as memory:
        await said_on_days(memory, clock, "The invoices are sent on the third working day of each month", 5)
        await said_on_days(memory, clock, "The backup of the ledger is kept in the blue safe downstairs", 5)
        found = await memory.distill(await memory.start_session("look", user=OWNER))
    assert sorted(each.outcome for each in found) == ["full", "moved"]
    assert (tmp_path / "MEMORY.md").stat().st_size <= 150


async def test_undo_leaves_what_a_person_has_edited_since(tmp_path: Path) -> None:
    clock = Clock(datetime(2026, 3, 2, 9, 0, tzinfo=UTC))
    async with GatewayMemory(config(), tmp_path, clock=clock) as memory:
        await said_on_days(memory, clock, FACT, 5)
        session = await end(memory)
        path = tmp_path / "MEMORY.md"
        path.write_text(path.read_text("utf-8").replace("24 小时", "48 小时") + "- 手写的一行\n", "utf-8")
        await memory.command(session, "/memory undo")
        assert "手写的一行" in path.read_text("utf-8")
        assert "48 小时" in "".join(each.read_text("utf-8") for each in (tmp_path / "memory").glob("*.md"))


@pytest.mark.parametrize("written", [False, True])
async def test_a_crash_between_the_decision_and_its_record_is_carried_out_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, written: bool
) -> None:
    clock = Clock(datetime(2026, 3, 2, 9, 0, tzinfo=UTC))
    async with GatewayMemory(config(), tmp_path, clock=clock) as memory:
        await said_on_days(memory, clock, FACT, 5)

        async def broken(*_: object) -> None:
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(Turns if written else MarkdownFiles, "finish" if written else "edit", broken)
            await end(memory)
        await memory.flush()
        everything = "".join(path.read_text("utf-8") for path in tmp_path.rglob("*.md"))
        assert everything.count(FACT) == 1
        assert FACT in (tmp_path / "MEMORY.md").read_text("utf-8")


async def test_whoever_looks_between_the_two_files_hears_of_no_deletion(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, loop = Clock(datetime(2026, 3, 2, 9, 0, tzinfo=UTC)), asyncio.get_running_loop()
    async with GatewayMemory(config(), tmp_path, clock=clock) as memory:
        await said_on_days(memory, clock, FACT, 5)
        listener = await memory.start_session("listener", user=OWNER)
        looks, follower = 0, parts(memory).storage.follower

        def watched(path: Path, change: Callable[[bytes | None], bytes | None]) -> None:
            nonlocal looks
            replacing.rewrite(path, change)
            asyncio.run_coroutine_threadsafe(follower.refresh(listener.scope), loop).result(30)
            looks += 1

        with monkeypatch.context() as patch:
            patch.setattr(files, "replacing", SimpleNamespace(**{**vars(replacing), "rewrite": watched}))
            session = await end(memory)
            await memory.command(session, "/memory undo")
        assert looks == 4
        context = await memory.before_reply(listener, "hello")
        assert context.updates == ()
        assert "deleted" not in context.text
        events = [row[0] for row in await journal_rows(memory, "SELECT event FROM history ORDER BY id")]
        assert events == ["added", "distill", "restored"], "nothing of it was done by hand"


async def test_nobodys_facts_reach_anothers_memory_md(tmp_path: Path) -> None:
    clock = Clock(datetime(2026, 3, 2, 9, 0, tzinfo=UTC))
    async with GatewayMemory(config(), tmp_path, clock=clock) as memory:
        session = await memory.start_session("zoe", user="zoe")
        for _ in range(5):
            await memory.save_fact(session, content="Zoe's bicycle is kept in the cellar of number nine")
            clock.now += timedelta(days=1)
        await end(memory)
        assert not (tmp_path / "MEMORY.md").exists()
        await memory.end_session(session, reason="completed")
    (path,) = (tmp_path / "people").glob("zoe-*/MEMORY.md")
    assert "bicycle" in path.read_text("utf-8")


def test_the_command_shows_and_moves(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "2026-03-01.md").write_text(f"- {FACT} <!-- gm:aaaaaaa2 -->\n", "utf-8")
    assert main(["list", "--workspace", str(tmp_path)]) == 0  # which makes the journal
    database = sqlite3.connect(tmp_path / "journal.sqlite")
    for day in ("2026-03-01", "2026-03-02", "2026-03-03"):
        database.execute("INSERT INTO uses VALUES ('owner', 'aaaaaaa2', ?, 2, 0)", (day,))
    database.commit()
    database.close()
    capsys.readouterr()
    assert main(["distill", "--dry-run", "--workspace", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "would move  aaaaaaa2" in shown
    assert "recalled 6, said again 0, on 3 days" in shown
    assert not (tmp_path / "MEMORY.md").exists()
    assert main(["distill", "--workspace", str(tmp_path)]) == 0
    assert "1 facts moved" in capsys.readouterr().out
    assert FACT in (tmp_path / "MEMORY.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("change", "uses", "reason"),
    [
        ({}, Uses(recalled=4, repeated=0, days=3), "recalled"),
        ({}, Uses(recalled=1, repeated=3, days=3), "repeated"),
        ({}, Uses(recalled=3, repeated=0, days=3), None),
        ({}, Uses(recalled=9, repeated=9, days=2), None),
        ({"importance": "high"}, Uses(), "important"),
        ({"importance": "high", "confidence": 0.6}, Uses(), None),
        ({"confidence": 0.6}, Uses(recalled=9, repeated=9, days=9), None),
        ({"type": "S"}, Uses(recalled=9, repeated=9, days=9), None),
        ({"expires": "2026-04-01"}, Uses(recalled=9, repeated=9, days=9), None),
    ],
)
def test_what_earns_it(change: dict[str, str], uses: Uses, reason: str | None) -> None:
    memory = replace(MemoryRecord(id="a", text="t", file="memory/2026-01-01.md", at=0.0), **change)  # type: ignore[arg-type]
    assert earned(memory, uses, MemorySync().distill) == reason


@pytest.mark.parametrize(
    "least",
    [{"minUses": 9}, {"minDays": 4}, {"minConfidence": 0.95}, {"minUses": 4, "minDays": 3, "minConfidence": 0.9}],
)
def test_the_config_says_what_earns_it(least: dict[str, float]) -> None:
    config = load_config({"agents": {"defaults": {"memorySync": {"distill": least}}}})
    memory = MemoryRecord(id="a", text="t", file="memory/2026-01-01.md", at=0.0, confidence=0.9)
    reason = earned(memory, Uses(recalled=8, repeated=0, days=3), config.defaults.distill)
    assert reason == ("recalled" if len(least) > 1 else None)

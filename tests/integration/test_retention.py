"""What is kept for so long is kept no longer, also while one process runs for months."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from inside import parts
from patience import seconds

from gateway_memory import OWNER, Config, GatewayMemory, StoreError, load_config
from gateway_memory.store.journal import tidier
from gateway_memory.testing import Clock
from recall import EmbedderSettings, RecallSettings


def config(keep_days: int) -> Config:
    defaults = load_config().defaults
    return Config(
        defaults=replace(
            defaults,
            auto_recall=RecallSettings(embedder=EmbedderSettings(provider="none")),
            observations=replace(defaults.observations, keep_days=keep_days),
            notify=replace(defaults.notify, pending_max_age_seconds=3 * 86400),
        )
    )


@pytest.fixture
def clock() -> Clock:
    return Clock(datetime(2026, 1, 5, 12, 0, tzinfo=UTC))


@pytest.fixture
async def memory(tmp_path: Path, clock: Clock) -> AsyncIterator[GatewayMemory]:
    async with GatewayMemory(config(7), tmp_path, clock=clock) as memory:
        yield memory


def count(memory: GatewayMemory, table: str) -> int:
    connection = sqlite3.connect(memory.workspace / "journal.sqlite")
    try:
        return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
    finally:
        connection.close()


async def until(memory: GatewayMemory, table: str, number: int) -> None:
    async with asyncio.timeout(seconds(10)):
        while count(memory, table) != number:
            await asyncio.sleep(0.01)


async def test_observations_go_after_their_days_while_the_process_runs(memory: GatewayMemory, clock: Clock) -> None:
    session = await memory.start_session("one", user=OWNER)
    for _ in range(90):  # three months, a day at a time
        await memory.observe(session, kind="tool", content="it happened", tool="bash")
        clock.now += timedelta(days=1)
        await memory.flush()
        assert count(memory, "observations") <= 7
    assert count(memory, "observations") >= 6
    connection = sqlite3.connect(memory.workspace / "journal.sqlite")
    oldest = connection.execute("SELECT min(at) FROM observations").fetchone()[0]
    connection.close()
    assert oldest >= (clock.now - timedelta(days=7)).timestamp()


async def test_a_process_tidies_by_itself_whether_anybody_speaks_to_it_or_not(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway_memory.capture.retention._LOOKS_SECONDS", 0.01)
    async with GatewayMemory(config(7), tmp_path, clock=clock) as memory:
        session = await memory.start_session("one", user=OWNER)
        await memory.observe(session, kind="tool", content="it happened", tool="bash")
        clock.now += timedelta(days=8)
        await until(memory, "observations", 0)


async def test_receipts_events_and_replies_are_bounded_too(
    memory: GatewayMemory, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tidier, "_RECEIPTS_KEPT", 20)
    monkeypatch.setattr(tidier, "_CHANGES_KEPT", 5)
    session = await memory.start_session("one", user=OWNER)
    for number in range(60):
        await memory.after_reply(session, user=f"Remember that box {number} holds {number * 7} screws.", reply="OK")
        clock.now += timedelta(hours=12)
        await memory.flush()
    assert count(memory, "receipts") <= 21
    assert count(memory, "replies") <= 21
    assert count(memory, "changes") <= 6
    assert 0 < count(memory, "events") <= 3 * 2 + 1, "three days of them"
    clock.now += timedelta(days=4)
    await memory.flush()
    assert count(memory, "events") == 0


async def test_what_others_say_takes_nothing_from_a_quiet_person(
    memory: GatewayMemory, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tidier, "_RECEIPTS_KEPT", 5)
    monkeypatch.setattr(tidier, "_CHANGES_KEPT", 3)
    quiet = await memory.start_session("quiet", user="quiet")
    number = await memory.after_reply(quiet, user="Remember that my locker is blue.", reply="OK", turn_id="once")
    await memory.flush()
    loud = await memory.start_session("loud", user="loud")
    for day in range(6):
        for box in range(4):
            said = f"Remember that box {day}{box} holds {day * 70 + box * 7} screws."
            await memory.after_reply(loud, user=said, reply="OK", turn_id=f"{day}-{box}")
        clock.now += timedelta(days=1)
        await memory.flush()
    assert (
        await memory.after_reply(quiet, user="Remember that my locker is blue.", reply="OK", turn_id="once") == number
    )
    first = await memory.after_reply(loud, user="again", reply="OK", turn_id="0-0")
    assert first < await memory.after_reply(loud, user="new", reply="OK", turn_id="new"), "it is known for a week"
    assert first < number + 8, "it is the turn of six days ago"
    why = await memory.command(quiet, "/memory why")
    assert why
    assert "my locker is blue" in why, "what its last reply kept"
    assert await memory.command(quiet, "/memory undo")
    assert not await memory.search(quiet, "locker", kinds=["memory"])
    clock.now += timedelta(days=8)
    await memory.flush()
    assert count(memory, "replies") <= 1 + 5 + 1, "the quiet one's, and the newest of the loud one"


async def test_a_full_disk_is_noted_and_tried_again(
    memory: GatewayMemory, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await memory.start_session("one", user=OWNER)
    await memory.observe(session, kind="tool", content="it happened", tool="bash")
    clock.now += timedelta(days=8)
    tidy = parts(memory).storage.turns.tidy

    async def full(*, before: float, now: float) -> None:
        raise StoreError("database or disk is full")

    monkeypatch.setattr(parts(memory).storage.turns, "tidy", full)
    await memory.flush()
    assert count(memory, "observations") == 1
    assert (await memory.record(session, "status"))["last_failure"]["place"] == "retention"
    monkeypatch.setattr(parts(memory).storage.turns, "tidy", tidy)
    await memory.flush()
    assert count(memory, "observations") == 0


async def test_a_clock_that_is_set_back_stops_nothing(memory: GatewayMemory, clock: Clock) -> None:
    session = await memory.start_session("one", user=OWNER)
    clock.now += timedelta(days=400)
    await memory.flush()
    clock.now -= timedelta(days=400)
    await memory.observe(session, kind="tool", content="it happened", tool="bash")
    await memory.flush()
    clock.now += timedelta(days=8)
    await memory.flush()
    assert count(memory, "observations") == 0

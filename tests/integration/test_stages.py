"""The two stages after a reply: the rules at once, the batch after the debounce, and what each records."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from inside import parts
from patience import seconds

from extractor import Candidate, Turn
from gateway_memory import OWNER, Config, GatewayMemory, load_config
from gateway_memory.store.plan import ReceiptLine
from recall import Stored

pytestmark = pytest.mark.over_postgres


def debounced(seconds: float, **values: object) -> Config:
    defaults = load_config().defaults
    extraction = replace(defaults.auto_extract, debounce_seconds=seconds, max_wait_seconds=10 * seconds, **values)  # type: ignore[arg-type]
    return Config(defaults=replace(defaults, auto_extract=extraction))


async def until(stage: str, memory: GatewayMemory) -> tuple[ReceiptLine, ...]:
    """Wait, without flushing, until a batch has its receipt; return its outcomes."""
    async with asyncio.timeout(seconds(10)):
        while True:
            for receipt in await memory.receipts(limit=100):
                if receipt.stage == stage:
                    return receipt.outcomes
            await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    ("user", "reply", "reason"),
    [
        ("你好", "你好！有什么可以帮你？很高兴今天又见到你，希望你一切都好，我们开始吧。请告诉我你想做什么。", None),
        ("ok", "ok", None),
        ("what is the boiling point of water at sea level?", "It is one hundred degrees Celsius at sea level.", None),
    ],
)
async def test_each_turn_of_a_batch_has_its_reason(tmp_path: Path, user: str, reply: str, reason: str | None) -> None:
    async with GatewayMemory(debounced(0.05), tmp_path) as memory:
        session = await memory.start_session("one", user=OWNER)
        await memory.after_reply(session, user=user, reply=reply)
        (outcome,) = await until("batch", memory)
        assert outcome.action == "skipped"
        assert outcome.reason
        assert (await parts(memory).storage.turns.queue()).batch == 0


async def test_the_model_gets_one_batch_of_all_its_turns(tmp_path: Path) -> None:
    asked: list[Sequence[Turn]] = []

    async def extract(turns: Sequence[Turn], known: Sequence[Stored]) -> Sequence[Candidate]:
        asked.append(turns)
        return [
            Candidate(
                content="The user keeps bees on the roof.",
                category="fact",
                type="B",
                importance="normal",
                confidence=0.8,
            )
        ]

    async with GatewayMemory(debounced(0.2), tmp_path, extract=extract) as memory:
        session = await memory.start_session("one", user=OWNER)
        for said in (
            "My roof has been full of bees since last spring, three hives by now.",
            "They made nine kilos of honey in June.",
        ):
            await memory.after_reply(session, user=said, reply="How wonderful, tell me more about them.")
        outcomes = await until("batch", memory)
        assert [len(turns) for turns in asked] == [2]
        assert sorted(outcome.action for outcome in outcomes) == ["add", "skipped"]
        assert (await parts(memory).storage.ledger.spent(f"{memory.now().astimezone():%Y-%m-%d}")).calls == 1
        hits = await memory.search(session, "bees on the roof")
        assert any("keeps bees" in hit.text for hit in hits)


async def test_past_the_daily_limit_no_model_is_called(tmp_path: Path) -> None:
    async def extract(turns: Sequence[Turn], known: Sequence[Stored]) -> Sequence[Candidate]:
        raise AssertionError("it must not be called")

    async with GatewayMemory(debounced(0.05, max_daily_extractions=0), tmp_path, extract=extract) as memory:
        session = await memory.start_session("one", user=OWNER)
        await memory.after_reply(
            session, user="My roof has been full of bees since last spring, three hives by now.", reply="How wonderful!"
        )
        assert {outcome.reason for outcome in await until("batch", memory)} == {"daily_limit"}


async def test_a_model_that_breaks_holds_up_nobody(tmp_path: Path) -> None:
    async def extract(turns: Sequence[Turn], known: Sequence[Stored]) -> Sequence[Candidate]:
        raise ZeroDivisionError

    async with GatewayMemory(debounced(0.05), tmp_path, extract=extract) as memory:
        session = await memory.start_session("one", user=OWNER)
        await memory.after_reply(
            session, user="My roof has been full of bees since last spring, three hives by now.", reply="How wonderful!"
        )
        await memory.flush()
        await memory.after_reply(session, user="Remember that the staging port is 8443.", reply="OK")
        async with asyncio.timeout(seconds(5)):
            while not any("8443" in hit.text for hit in await memory.search(session, "staging port")):
                await asyncio.sleep(0.01)
        assert (await memory.record(session, "status"))["last_failure"] is not None
        assert (await parts(memory).storage.turns.queue()).parked >= 1, "the turn is kept, for the next start"


async def test_what_is_said_again_is_kept_once(tmp_path: Path) -> None:
    async with GatewayMemory(load_config(), tmp_path) as memory:
        session = await memory.start_session("one", user=OWNER)
        for said in ("我喜欢用 Python", "我喜欢用Python。", "我喜欢用 Python！", "我喜欢用 Python"):
            await memory.after_reply(session, user=said, reply="好")
            await memory.flush()
        assert await parts(memory).storage.recaller.count("owner") == 1


@pytest.mark.files
async def test_a_full_memory_md_takes_no_more_and_the_user_is_told_once(tmp_path: Path) -> None:
    defaults = load_config().defaults
    config = Config(defaults=replace(defaults, store=replace(defaults.store, max_memory_md_bytes=200)))
    async with GatewayMemory(config, tmp_path) as memory:
        session = await memory.start_session("one", user=OWNER)
        for number in range(6):
            await memory.after_reply(
                session, user=f"Remember that drawer number {number} holds the {number * 7} mm screws.", reply="OK"
            )
        await memory.flush()
        assert (tmp_path / "MEMORY.md").stat().st_size <= 200
        (log,) = (tmp_path / "memory").glob("*.md")
        assert "drawer number 5" in log.read_text()
        told = [
            "[Memory Notice]" in (await memory.before_reply(session, f"message {number}")).text for number in range(3)
        ]
        assert told == [True, False, False]

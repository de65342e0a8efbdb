"""Imported conversations become memories: by the same rules and model, once, within the budget, to be approved."""

import json
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import dying_reader
import pytest
from editor import WORDS_ALONE
from inside import parts
from patience import seconds
from scripted_provider import Fail, Say, entry, found, serving

from extractor import Candidate, Turn
from gateway_memory import OWNER, Config, GatewayMemory, UsageError
from gateway_memory.cli.main import main
from gateway_memory.config.settings import ReviewSettings
from gateway_memory.scope import OWNER_SCOPE, resolve_scope
from gateway_memory.store.journal.turns import Queue
from gateway_memory.transfer.exporter import to_line
from gateway_memory.transfer.layouts import read_layout
from recall import EmbedderSettings, RecallSettings

pytestmark = pytest.mark.over_postgres

WORDS = replace(Config().defaults, auto_recall=RecallSettings(embedder=EmbedderSettings(provider="none")))
SAID = datetime(2024, 5, 4, 12, tzinfo=UTC)
PREFERS = "I prefer organic fertiliser. What should I give my tomatoes now that they have their first flowers?"
LONG = "Water them in the morning, and give them some compost every other week until the fruit turns red."

LIKED = ["clay pots", "rain water", "cedar stakes", "late frost", "blue hens", "old radios", "salted butter"]


def export(folder: Path, *conversations: Sequence[tuple[str, str]]) -> Path:
    """Write an export of ChatGPT's: one conversation a day, the newest first."""
    made = []
    for day, turns in enumerate(conversations):
        nodes: dict[str, Any] = {"root": {"id": "root", "parent": None, "message": None}}
        last = "root"
        for number, side in enumerate(side for turn in turns for side in turn):
            name, role = f"n{number}", ("user", "assistant")[number % 2]
            message = {
                "author": {"role": role},
                "content": {"content_type": "text", "parts": [side]},
                "create_time": (SAID + timedelta(days=day, minutes=number)).timestamp(),
            }
            nodes[name] = {"id": name, "parent": last, "children": [], "message": message}
            last = name
        made.append({"title": "t", "conversation_id": f"g{day}", "current_node": last, "mapping": nodes})
    folder.mkdir(exist_ok=True)
    (folder / "conversations.json").write_text(json.dumps(made[::-1], ensure_ascii=False), "utf-8")
    return folder


def config(review: ReviewSettings | None = None, **extraction: Any) -> Config:
    extracting = replace(WORDS.auto_extract, **extraction)
    return Config(defaults=replace(WORDS, auto_extract=extracting, review=review or WORDS.review))


async def take_in(memory: GatewayMemory, path: Path, *, room: str | None = None) -> None:
    scope = resolve_scope(user=None if room else OWNER, room=room)
    await memory.importer.run(read_layout("chatgpt", path, UTC), scope=scope, forced=room is not None)


async def waiting(memory: GatewayMemory) -> list[str]:
    return sorted(review.memory.text for review in await parts(memory).storage.reviews.waiting("owner"))


async def outcomes(memory: GatewayMemory, stage: str) -> Counter[int]:
    """How often each turn has an outcome of a stage."""
    receipts = await memory.receipts(limit=1000)
    return Counter(outcome.turn for receipt in receipts if receipt.stage == stage for outcome in receipt.outcomes)


async def test_an_import_becomes_a_memory_of_its_own_day_once_it_is_approved(tmp_path: Path) -> None:
    source = export(tmp_path / "chatgpt", [(PREFERS, "Compost.")], [("How do tomatoes grow?", "In the sun.")])
    async with GatewayMemory(config(), tmp_path / "w") as memory:
        await take_in(memory, source)
        assert await memory.backlog.count() == 2
        caught = await memory.backlog.read()
        assert (caught.read, caught.kept, caught.waiting, caught.remaining) == (2, 0, 1, 0)
        (review,) = await parts(memory).storage.reviews.waiting("owner")
        assert review.reason == "imported"
        assert (review.memory.text, review.memory.at) == ("I prefer organic fertiliser", SAID.timestamp())
        session = await memory.start_session("now", user=OWNER)
        assert "fertiliser" not in session.opening
        await memory.command(session, f"/memory approve {review.memory.id}")
        (kept,) = await memory.search(session, "fertiliser", kinds=["memory"])
        assert (kept.text, kept.at) == ("I prefer organic fertiliser", SAID.timestamp())


async def test_nothing_is_read_twice(tmp_path: Path) -> None:
    source = export(tmp_path / "chatgpt", [(PREFERS, LONG)], [("Remember that the bell is broken.", LONG)])
    async with GatewayMemory(config(), tmp_path / "w") as memory:
        await take_in(memory, source)
        assert (await memory.backlog.read()).read == 2
        assert (await memory.backlog.read()).read == 0
        await take_in(memory, source)
        assert await memory.backlog.count() == 0
        for stage in ("rules", "batch"):
            assert sorted((await outcomes(memory, stage)).values()) == [1, 1]
        assert await waiting(memory) == ["I prefer organic fertiliser", "the bell is broken"]


async def test_an_export_tells_what_is_unread(tmp_path: Path) -> None:
    source = export(tmp_path / "chatgpt", [(PREFERS, "Compost.")], [("I like bees.", "OK")])
    async with GatewayMemory(config(), tmp_path / "w") as memory:
        await take_in(memory, source)
        await memory.backlog.read(since=(SAID + timedelta(days=1)).timestamp())
        rows = [to_line(row) async for row in memory.exporter.rows()]
    (tmp_path / "all.jsonl").write_text("".join(rows), "utf-8")
    async with GatewayMemory(config(), tmp_path / "x") as memory:
        await memory.importer.run(read_layout("jsonl", tmp_path / "all.jsonl", UTC), scope=OWNER_SCOPE)
        assert await memory.backlog.count() == 1
        assert await waiting(memory) == ["I like bees"]
        await memory.backlog.read()
        assert await waiting(memory) == ["I like bees", "I prefer organic fertiliser"]


class Host:
    """A host's own model, which remembers what it was given, on a day that the test sets."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.now = datetime(2026, 3, 1, 9, tzinfo=UTC)

    def opened(self, workspace: Path, **extraction: Any) -> GatewayMemory:
        return GatewayMemory(config(**extraction), workspace, extract=self._extract, clock=lambda: self.now)

    async def _extract(self, turns: Sequence[Turn], _: object) -> list[Candidate]:
        self.asked += [turn.user for turn in turns]
        return [
            Candidate(
                content=f"The user asked at {turn.at:%Y-%m-%d}", category="fact", type="B", importance="normal",
                confidence=0.9, turn=turn.id,
            )
            for turn in turns
        ]  # fmt: skip


async def test_the_model_reads_on_the_next_day_what_the_budget_left(tmp_path: Path) -> None:
    told = [f"My tomato number {number} stands on the balcony, where the sun is all day long." for number in range(3)]
    source = export(tmp_path / "chatgpt", *([(each, LONG)] for each in told))
    host = Host()
    async with host.opened(tmp_path / "w", max_daily_extractions=2) as memory:
        await take_in(memory, source)
        caught = await memory.backlog.read()
        assert (caught.read, caught.remaining, caught.over_budget) == (3, 1, True)
        assert host.asked == told[:2], "oldest first"
        again = await memory.backlog.read()
        assert (again.remaining, again.over_budget) == (1, True)
        host.now += timedelta(days=1)
    async with host.opened(tmp_path / "w", max_daily_extractions=2) as memory:
        caught = await memory.backlog.read()
        assert (caught.read, caught.remaining, caught.over_budget) == (1, 0, False)
        assert host.asked == told
        assert set((await outcomes(memory, "rules")).values()) == {1}, "the rules had read all of them"
        assert len(await waiting(memory)) == 3


async def test_what_the_model_could_not_read_waits_for_the_next_time(tmp_path: Path) -> None:
    source = export(tmp_path / "chatgpt", [("My sister Marta and I moved to Lisbon last spring, to a flat.", LONG)])
    moved = entry(
        "The user moved to Lisbon with their sister Marta", "My sister Marta and I moved to Lisbon last spring"
    )
    async with serving() as provider:
        extraction: dict[str, Any] = {
            "base_url": f"{provider.url}/v1",
            "prompt": "full",
            "min_conversation_length": 0,
        }
        async with GatewayMemory(config(**extraction), tmp_path / "w") as memory:
            await take_in(memory, source)
            provider.script.append(Fail(status=401, kind="authentication_error"))
            caught = await memory.backlog.read()
            assert (caught.read, caught.remaining, caught.over_budget) == (1, 1, False)
            assert await memory.retry() == (0, 0), "it is no turn that waits to be retried"
            provider.script.append(Say(text=found(moved)))
            caught = await memory.backlog.read()
            assert (caught.read, caught.remaining) == (1, 0)
            assert "The user moved to Lisbon with their sister Marta (spring 2023)" in await waiting(memory)
            assert set((await outcomes(memory, "rules")).values()) == {1}


@pytest.mark.files
@pytest.mark.slow
@pytest.mark.parametrize("step", dying_reader.STEPS)
async def test_a_killed_reader_goes_on_where_it_was(tmp_path: Path, step: str) -> None:
    told = [[(f"I prefer {each}. What do you say?", LONG)] for each in LIKED]
    source = export(tmp_path / "chatgpt", *told)
    async with GatewayMemory(config(), tmp_path / "w") as memory:
        await take_in(memory, source)
    command = [sys.executable, dying_reader.__file__, str(tmp_path / "w"), step]
    done = subprocess.run(command, check=False, capture_output=True, timeout=seconds(60))
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()[-2000:]
    async with GatewayMemory(config(), tmp_path / "w") as memory:
        assert await memory.backlog.count() == len(LIKED) - 1
        await memory.backlog.read()
        assert await memory.backlog.count() == 0
        assert await parts(memory).storage.turns.queue() == Queue()
        for stage in ("rules", "batch"):
            read = await outcomes(memory, stage)
            assert (len(read), set(read.values())) == (len(LIKED), {1}), stage
        assert await waiting(memory) == sorted(f"I prefer {each}" for each in LIKED)


async def test_what_was_forgotten_here_is_not_learnt_again(tmp_path: Path) -> None:
    source = export(tmp_path / "chatgpt", [(PREFERS, "Compost.")], [("I like tea.", "Noted."), ("I like bees.", "OK")])
    async with GatewayMemory(config(), tmp_path / "w") as memory:
        await take_in(memory, source)
        session = await memory.start_session("now", user=OWNER)
        await memory.after_reply(session, user="Forget that I like tea.", reply="I will.")
        await memory.flush()
        gone = (await memory.search(session, "bees", kinds=["episode"]))[0]
        assert "bees" in gone.text
        await memory.command(session, f"/memory forget {gone.id}")
        assert (await memory.backlog.read()).read == 3
        assert await waiting(memory) == ["I prefer organic fertiliser"]


async def test_what_another_program_was_asked_to_forget_stays_here(tmp_path: Path) -> None:
    source = export(tmp_path / "chatgpt", [("Forget that I like tea.", "I have forgotten it.")])
    async with GatewayMemory(config(), tmp_path / "w") as memory:
        session = await memory.start_session("now", user=OWNER)
        await memory.after_reply(session, user="I like tea.", reply="Noted.")
        await memory.flush()
        await take_in(memory, source)
        await memory.backlog.read()
        assert [hit.text for hit in await memory.search(session, "tea", kinds=["memory"])] == ["I like tea"]


async def test_an_older_statement_waits_for_nobody_where_a_newer_one_stands(tmp_path: Path) -> None:
    source = export(tmp_path / "chatgpt", [("I live in Porto.", "Nice.")])
    async with GatewayMemory(config(), tmp_path / "w") as memory:
        session = await memory.start_session("now", user=OWNER)
        await memory.after_reply(session, user="I live in Lisbon.", reply="Nice.")
        await memory.flush()
        await take_in(memory, source)
        await memory.backlog.read()
        assert await waiting(memory) == []
        (standing,) = [hit.text for hit in await memory.search(session, "Where do I live?", kinds=["memory"])]
        assert standing == "I live in Lisbon"


async def test_without_reviews_it_is_kept_and_announced_to_nobody(tmp_path: Path) -> None:
    source = export(tmp_path / "chatgpt", [(PREFERS, "Compost.")])
    async with GatewayMemory(config(ReviewSettings(mode="off")), tmp_path / "w") as memory:
        session = await memory.start_session("now", user=OWNER)
        await take_in(memory, source)
        caught = await memory.backlog.read()
        assert (caught.kept, caught.waiting) == (1, 0)
        assert "[Memory Update]" not in (await memory.before_reply(session, "What shall we cook tonight?")).text
        assert await memory.search(session, "fertiliser", kinds=["memory"])


async def test_a_person_says_what_is_read(tmp_path: Path) -> None:
    source = export(tmp_path / "chatgpt", [(PREFERS, "Compost.")], [("I like bees.", "OK")])
    async with GatewayMemory(config(), tmp_path / "w") as memory:
        await take_in(memory, source)
        await take_in(memory, source, room="garden")
        since = (SAID + timedelta(days=1)).timestamp()
        assert (await memory.backlog.read(scope=OWNER_SCOPE, since=since)).read == 1
        assert await waiting(memory) == ["I like bees"]
        caught = await memory.backlog.read()
        assert (caught.read, caught.excluded) == (1, 2), "no turn of a group is read by default"
    async with GatewayMemory(config(exclude_session_types=()), tmp_path / "w") as memory:
        assert (await memory.backlog.read()).read == 2


@pytest.mark.files
def test_the_command_says_what_came_of_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = export(tmp_path / "chatgpt", [(PREFERS, "Compost.")], [("How do tomatoes grow?", "In the sun.")])
    place = ["--workspace", str(tmp_path / "w"), "--config", WORDS_ALONE]
    assert main(["read", *place]) == 1
    assert "there is no such folder" in capsys.readouterr().err
    assert main(["import", "chatgpt", str(source), *place]) == 0
    assert "nothing was learnt from the episodes yet: gateway-memory read" in capsys.readouterr().out
    assert main(["read", "--since", "2024-05-05", *place]) == 0
    assert "1 exchanges read; 0 memories kept, 0 to be approved" in capsys.readouterr().out
    assert main(["read", *place]) == 0
    captured = capsys.readouterr()
    assert "1 exchanges read; 0 memories kept, 1 to be approved" in captured.out
    assert "read 1 of 1 exchanges" in captured.err, "no terminal: plain lines"
    with pytest.raises((SystemExit, UsageError)):
        main(["read", "--since", "yesterday", *place])
    assert main(["import", "chatgpt", str(source), "--read", "--workspace", str(tmp_path / "x"), *place[2:]]) == 0
    assert "2 exchanges read; 0 memories kept, 1 to be approved" in capsys.readouterr().out

"""Facts that many callers save at the same moment share a file write, and stay apart in everything else."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from inside import connection, journal_rows

from gateway_memory import OWNER, Config, GatewayMemory
from gateway_memory.capture.merger import Merger
from gateway_memory.errors import StoreError
from gateway_memory.scope import Scope
from gateway_memory.store.disk.files import MarkdownFiles
from gateway_memory.store.document_store import FileEdit
from recall import EmbedderSettings

THINGS = ("lamp", "kettle", "drill", "ladder", "tent", "printer", "bicycle", "projector", "toolbox", "freezer")


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[GatewayMemory]:
    defaults = Config().defaults
    recall = replace(defaults.auto_recall, embedder=EmbedderSettings(provider="none"))
    async with GatewayMemory(Config(defaults=replace(defaults, auto_recall=recall)), tmp_path) as memory:
        yield memory


def facts() -> list[str]:
    return [f"The {thing} is kept in cellar {number}" for number, thing in enumerate(THINGS)]


def lines(memory: GatewayMemory) -> list[str]:
    text = "".join(path.read_text("utf-8") for path in sorted((memory.workspace / "memory").glob("*.md")))
    return [line for line in text.splitlines() if line.startswith("- ")]


async def test_each_caller_has_its_own_result_receipt_and_undo_in_few_writes(
    memory: GatewayMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    writes = 0
    edit = MarkdownFiles.edit

    async def counted(self: MarkdownFiles, scope: Scope, edits: Sequence[FileEdit]) -> Any:
        nonlocal writes
        writes += 1
        return await edit(self, scope, edits)

    monkeypatch.setattr(MarkdownFiles, "edit", counted)
    session = await memory.start_session("chat", user=OWNER)
    ids = await asyncio.gather(*(memory.save_fact(session, content=text) for text in facts()))
    assert len(set(ids)) == len(THINGS)
    assert writes <= len(THINGS) / 2
    for identity, text in zip(ids, facts(), strict=True):
        assert any(f"gm:{identity}" in line and text in line for line in lines(memory))
    receipts = await memory.receipts(limit=len(THINGS))
    assert sorted(outcome.id for each in receipts for outcome in each.outcomes) == sorted(ids)
    assert all(len(each.outcomes) == 1 for each in receipts)
    await memory.command(session, f"/memory undo {ids[3]}")
    assert [identity for identity in ids if not any(f"gm:{identity}" in line for line in lines(memory))] == [ids[3]]


async def test_undoing_all_of_them_leaves_the_files_as_they_were(memory: GatewayMemory) -> None:
    session = await memory.start_session("chat", user=OWNER)
    await asyncio.gather(*(memory.save_fact(session, content=text) for text in facts()))
    for _ in THINGS:
        await memory.command(session, "/memory undo")
    assert not list((memory.workspace / "memory").glob("*.md"))


async def test_callers_that_say_the_same_have_one_memory(memory: GatewayMemory) -> None:
    session = await memory.start_session("chat", user=OWNER)
    said = ["The cat is called Miso", "The cat is called Miso", "The office is in Kiel", "The cat is called Miso"]
    first, again, other, last = await asyncio.gather(*(memory.save_fact(session, content=text) for text in said))
    assert first == again == last != other
    assert len(lines(memory)) == 2


async def test_what_a_later_caller_changes_is_replaced(memory: GatewayMemory) -> None:
    session = await memory.start_session("chat", user=OWNER)
    said = ["I live in Kiel", "I live in Bonn", "I live in Jena"]
    ids = await asyncio.gather(*(memory.save_fact(session, content=text, type="B") for text in said))
    assert len(set(ids)) == 3
    (line,) = lines(memory)
    assert "Jena" in line
    states = await journal_rows(memory, "SELECT text, state FROM memories")
    assert dict(states) == {"I live in Kiel": "superseded", "I live in Bonn": "superseded", "I live in Jena": "active"}


async def test_what_fails_for_one_caller_fails_for_no_other(
    memory: GatewayMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    apply = Merger.draft_decision

    async def failing(self: Merger, turn: Any, candidate: Any, *rest: Any) -> None:
        if "drill" in candidate.content:
            raise StoreError("not this one")
        await apply(self, turn, candidate, *rest)

    monkeypatch.setattr(Merger, "draft_decision", failing)
    session = await memory.start_session("chat", user=OWNER)
    results = await asyncio.gather(
        *(memory.save_fact(session, content=text) for text in facts()), return_exceptions=True
    )
    assert [isinstance(result, StoreError) for result in results] == ["drill" in text for text in facts()]
    assert len(lines(memory)) == len(THINGS) - 1


@pytest.mark.parametrize("waits", range(0, 60, 6))
async def test_a_caller_that_gives_up_takes_no_other_with_it(memory: GatewayMemory, waits: int) -> None:
    session = await memory.start_session("chat", user=OWNER)
    calls = [asyncio.create_task(memory.save_fact(session, content=text)) for text in facts()]
    for _ in range(waits):
        await asyncio.sleep(0)
    calls[0].cancel()
    calls[4].cancel()
    results = await asyncio.gather(*calls, return_exceptions=True)
    saved = [identity for number, identity in enumerate(results) if number not in {0, 4}]
    assert all(isinstance(identity, str) and identity for identity in saved)
    await memory.flush()
    assert len(THINGS) - 2 <= len(lines(memory)) <= len(THINGS)
    assert not await journal_rows(memory, "SELECT 1 FROM plans")


async def test_transactions_that_share_a_commit_stay_apart(memory: GatewayMemory) -> None:
    def adding(number: int) -> Any:
        def work(database: sqlite3.Connection) -> int:
            database.execute("INSERT INTO marks (scope, name) VALUES ('s', ?)", (f"m{number}",))
            if number % 3 == 1:
                raise ValueError(number)
            if number % 3 == 2:  # the mark stands already
                database.execute("INSERT INTO marks (scope, name) VALUES ('s', 'm0')")
            return number

        return work

    results = await asyncio.gather(
        *(connection(memory).transact(adding(number)) for number in range(12)), return_exceptions=True
    )
    kinds = [type(result) for result in results]
    assert kinds == [int, ValueError, StoreError] * 4
    marks = await journal_rows(memory, "SELECT name FROM marks WHERE scope = 's'")
    assert sorted(marks) == sorted((f"m{number}",) for number in range(0, 12, 3))

"""What the port of links keeps to, over each of the adapters."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from postgres import ON_POSTGRES, app_of, migrated

from gateway_memory.config.settings import StoreSettings
from gateway_memory.scope import resolve_scope
from gateway_memory.store.documents import MEMORY_FILE
from gateway_memory.store.journal.episodes import Episode
from gateway_memory.store.journal.links import Link, below, root_of
from gateway_memory.store.journal.store import Store
from gateway_memory.store.memory_record import MemoryRecord
from gateway_memory.store.plan import Plan, Retired
from gateway_memory.store.postgres.storage import open_shared
from gateway_memory.store.summaries import SessionRecord
from gateway_memory.sync.storage import open_store

ONE, TWO = "user:one", "user:two"
SCOPE_ONE, SCOPE_TWO = resolve_scope(user="one", room=None), resolve_scope(user="two", room=None)


@pytest.fixture(params=["files", "memory", *ON_POSTGRES])
async def store(
    request: pytest.FixtureRequest, tmp_path: Path, postgres_dsn: Callable[[str], str]
) -> AsyncIterator[Store]:
    async with AsyncExitStack() as stack:
        if request.param.startswith("postgres"):
            dsn = postgres_dsn(request.param.removeprefix("postgres "))
            yield (await open_shared(stack, app_of(dsn), StoreSettings(schema=stack.enter_context(migrated(dsn)))))[0]
            return
        yield await open_store(stack, tmp_path / "workspace" if request.param == "files" else None)


def test_a_chain_of_links_leads_to_its_root() -> None:
    links = {"d": Link(target="b", at=1), "b": Link(target="a", at=2)}
    assert [root_of(links, each) for each in "abdx"] == ["a", "a", "a", "x"]
    assert below(links, "a") == ["d", "b"]
    assert below(links, "b") == ["d"]
    round_about = {"a": Link(target="b", at=1), "b": Link(target="a", at=2)}
    assert root_of(round_about, "a") in ("a", "b"), "a damaged journal hangs nothing"


async def test_a_code_is_taken_once_and_in_time(store: Store) -> None:
    links = store.links
    await links.offer(ONE, "first", until=10)
    await links.offer(ONE, "second", until=20)
    assert await links.take("first", now=5, but=TWO) is None, "a new code takes the place of the earlier one"
    assert await links.take("second", now=5, but=ONE) == ONE
    assert await links.take("second", now=5, but=TWO) == ONE
    assert await links.take("second", now=5, but=TWO) is None
    await links.offer(ONE, "third", until=20)
    assert await links.take("third", now=20, but=TWO) is None


async def test_wrong_codes_are_counted_by_identity_and_for_a_time(store: Store) -> None:
    for at in (1.0, 2.0, 3.0):
        await store.links.wrong(ONE, at)
    assert [await store.links.wrongs(ONE, 2.0), await store.links.wrongs(TWO, 2.0)] == [2, 0]


async def test_what_is_held_first_stays(store: Store) -> None:
    await store.links.add_items(TWO, "memory", {"a": "1", "b": "2"})
    await store.links.add_items(TWO, "memory", {"b": "3", "c": "4"})
    assert await store.links.items(TWO, "memory") == {"a": "1", "b": "2", "c": "4"}
    assert await store.links.items(TWO, "record") == {} == await store.links.items(ONE, "memory")


async def test_turns_go_with_a_link_and_come_back(store: Store) -> None:
    links, episodes = store.links, store.episodes
    said = [
        Episode(turn=0, scope=scope, session_key="k", session_id="s", user=f"{scope} {n}", reply="OK", at=float(n))
        for scope in (ONE, TWO)
        for n in range(3)
    ]
    await episodes.add(said)
    await links.link(TWO, ONE, 7.0)
    assert await links.all() == {TWO: Link(target=ONE, at=7.0)}
    assert await links.has_own([TWO])
    assert not await links.has_own(["user:three"])
    pages = await episodes.pages(ONE)
    moved = await links.move_turns(TWO, ONE)
    assert len(moved) == 3
    assert await links.move_turns(TWO, ONE) == []
    assert not await links.has_own([TWO])
    assert [await episodes.count(ONE), await episodes.count(TWO)] == [6, 0]
    assert pages != await episodes.pages(ONE), "the index follows"
    assert list(await links.unlink(TWO, ONE)) == list(moved)
    assert [await episodes.count(ONE), await episodes.count(TWO)] == [3, 3]
    assert [each.user for each in await episodes.all_of(TWO, 0, 9)] == [f"{TWO} {n}" for n in range(3)]
    assert await links.all() == {}
    assert await links.items(TWO, "turn") == {}


async def test_what_was_forgotten_is_withheld_in_another_scope_too(store: Store) -> None:
    def memory(identity: str, text: str) -> MemoryRecord:
        return MemoryRecord(id=identity, text=text, file=MEMORY_FILE, at=1.0)

    async def carry_out(scope: str, at: float, *, added: MemoryRecord | None, gone: MemoryRecord | None) -> None:
        plan = Plan(
            scope=scope,
            folder=resolve_scope(user=scope.removeprefix("user:"), room=None).folder,
            stage="command",
            at=at,
            added=(added,) if added else (),
            retired=(Retired(memory=gone, state="forgotten"),) if gone else (),
        )
        number, _ = await store.turns.save_plan(plan)
        await store.turns.finish(plan, number)

    first, second = memory("aaaaaaaa", "the garden gnome sings"), memory("bbbbbbbb", "the attic ladder creaks")
    await carry_out(ONE, 2.0, added=None, gone=first)
    await carry_out(ONE, 4.0, added=None, gone=second)
    assert await store.ledger.forgotten(ONE) == {first.text: 2.0, second.text: 4.0}
    await store.links.share_forgotten(ONE, TWO, since=3.0)
    assert (await store.ledger.withheld(TWO)).says(second.text)
    assert not (await store.ledger.withheld(TWO)).says(first.text)
    again = replace(first, id="cccccccc")
    await carry_out(ONE, 5.0, added=again, gone=None)
    assert await store.ledger.forgotten(ONE) == {second.text: 4.0}, "said again, it is not forgotten"
    await carry_out(TWO, 6.0, added=first, gone=None)
    await store.links.share_forgotten(ONE, TWO, since=0.0)
    assert (await store.ledger.states(TWO, [first.id]))[first.id][0] == "active", "what stands there stays"


async def test_records_are_moved_with_what_is_withheld_from_them(store: Store) -> None:
    record = SessionRecord(
        id="sum-1",
        session_id="s1",
        topic="Two things",
        summary="The gnome sings.\nThe ladder creaks.",
        timestamp="2026",
    )
    async with store.documents.writing(SCOPE_TWO):
        assert await store.records.save(SCOPE_TWO, record, 1.0)
    (original,) = await store.records.originals(SCOPE_TWO)
    assert original == record
    async with store.documents.writing(SCOPE_ONE):
        assert await store.records.merge(SCOPE_ONE, [original], dry_run=False) == 1
    async with store.documents.writing(SCOPE_TWO):
        await store.records.remove(SCOPE_TWO, {"s1"})
        assert await store.records.originals(SCOPE_TWO) == []
        assert not await store.records.is_saved(SCOPE_TWO, "s1")
        assert await store.records.merge(SCOPE_TWO, [original], dry_run=False) == 1, "and may come back"
    async with store.documents.writing(SCOPE_ONE):
        await store.records.remove(SCOPE_ONE, {"another"})
    assert [each.session_id for each in await store.records.originals(SCOPE_ONE)] == ["s1"]

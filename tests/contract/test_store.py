"""What every store keeps to, whatever it is made of: the ports, over each of the adapters."""

import asyncio
import os
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, closing
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from postgres import ON_POSTGRES, app_of, migrated

from gateway_memory.config.settings import StoreSettings
from gateway_memory.errors import LeaseLostError, StoreError
from gateway_memory.ground.metrics import Failure
from gateway_memory.scope import OWNER_SCOPE, resolve_scope
from gateway_memory.store.disk.slots import Slot
from gateway_memory.store.document_store import FileEdit
from gateway_memory.store.documents import MEMORY_FILE
from gateway_memory.store.journal.arrivals import NewTurn
from gateway_memory.store.journal.episodes import Episode
from gateway_memory.store.journal.health import ProcessState
from gateway_memory.store.journal.ledger import MEMORY_FULL
from gateway_memory.store.journal.names import OF_SCOPE
from gateway_memory.store.journal.opened import Observation
from gateway_memory.store.journal.sessions import End
from gateway_memory.store.journal.sql import SQL
from gateway_memory.store.journal.store import Store
from gateway_memory.store.markdown import Addition, parse
from gateway_memory.store.memory_record import EXCHANGE, TALK, MemoryRecord
from gateway_memory.store.plan import Cause, Plan, ReceiptLine, Renamed, Retired
from gateway_memory.store.postgres.documents import DocumentRows
from gateway_memory.store.postgres.storage import open_shared
from gateway_memory.store.report import Considered, Rated, ReplyReport, Verdict
from gateway_memory.store.reviewed import Review, Settled
from gateway_memory.store.summaries import SessionRecord
from gateway_memory.store.validity import Today
from gateway_memory.sync.storage import open_store
from notifier import Event, MemoryChange, NotifierStatus

NUMBERS = count(1000)
TODAY = Today(datetime(2026, 3, 2, 9, tzinfo=UTC).timestamp(), UTC)
ZOE = resolve_scope(user="zoe", room=None)


@pytest.fixture(params=["files", "memory", *ON_POSTGRES])
async def store(
    request: pytest.FixtureRequest, tmp_path: Path, postgres_dsn: Callable[[str], str]
) -> AsyncIterator[Store]:
    async with AsyncExitStack() as stack:
        if request.param.startswith("postgres"):
            dsn = postgres_dsn(request.param.removeprefix("postgres "))
            schema = stack.enter_context(migrated(dsn))
            yield (await open_shared(stack, app_of(dsn), StoreSettings(schema=schema), sends=True))[0]
            return
        yield await open_store(stack, tmp_path / "workspace" if request.param == "files" else None, sends=True)
    if request.param == "memory":
        assert not any(tmp_path.iterdir())


def turn(number: int, *, scope: str = "owner", **values: object) -> NewTurn:
    new = NewTurn(
        turn_id=f"t{number}",
        scope=scope,
        session_key="chat",
        session_id="s1",
        user=f"said {number}",
        reply="OK",
        at=float(number),
        accepted_at=float(number),
    )
    return replace(new, **values)  # type: ignore[arg-type]


def record(identity: str, **values: object) -> MemoryRecord:
    made = MemoryRecord(id=identity, text=f"the text of {identity}", file=MEMORY_FILE, at=5.0)
    return replace(made, **values)  # type: ignore[arg-type]


def plan(*added: MemoryRecord, turns: tuple[int, ...] = (), stage: Cause = "rules", at: float = 9.0) -> Plan:
    outcomes = tuple(ReceiptLine(turn=0, action="add", reason="new", id=each.id) for each in added)
    return Plan(
        scope="owner",
        folder="",
        stage=stage,
        at=at,
        turns=turns,
        added=added,
        outcomes=outcomes,
    )


async def carried_out(store: Store, made: Plan) -> None:
    number, _ = await store.turns.save_plan(made)
    await store.turns.finish(made, number)


# Unread episodes


async def test_an_unread_episode_is_taken_up_once_and_waits_again_where_no_model_read_it(store: Store) -> None:
    def said(number: int, at: float) -> Episode:
        return Episode(
            turn=0, scope="owner", session_key="chatgpt:g", session_id="g", user=f"u{number}", reply="", at=at,
            unread="rules",
        )  # fmt: skip

    later, first, own = await store.episodes.add([said(1, 20.0), said(2, 10.0), replace(said(3, 5.0), unread="")])
    assert await store.episodes.count_unread(0.0) == {"owner": 2}
    assert await store.episodes.count_unread(20.0) == {"owner": 1}
    unread = await store.episodes.unread("owner", (0.0, 0), 10)
    assert [each.turn for each in unread] == [first, later], "oldest first"
    assert [each.turn for each in await store.episodes.unread("owner", (10.0, first), 10)] == [later]
    assert own not in (first, later)
    told = [replace(unread[0], user="what may be told"), replace(unread[1], user="", reply="")]
    assert await store.turns.take_up(told, 30.0) == 1, "one has no text that may be told"
    assert await store.turns.take_up(told, 30.0) == 0
    assert await store.episodes.count_unread(0.0) == {}
    (turn_,) = await store.turns.waiting("accepted")
    assert (turn_.id, turn_.user, turn_.at, turn_.accepted_at, turn_.imported) == (
        first, "what may be told", 10.0, 30.0, True,
    )  # fmt: skip
    await carried_out(store, replace(plan(turns=(first,)), imported=True))
    assert [each.id for each in await store.turns.waiting("ruled")] == [first]
    await carried_out(store, replace(plan(turns=(first,), stage="batch"), imported=True, failed=True))
    assert (await store.turns.queue()).failed == 0
    (again,) = await store.episodes.unread("owner", (0.0, 0), 10)
    assert (again.turn, again.user, again.unread) == (first, "u2", "model")
    assert await store.turns.take_up([again], 40.0) == 1
    assert [each.id for each in await store.turns.waiting("ruled")] == [first], "the rules have read it"
    await carried_out(store, replace(plan(turns=(first,), stage="batch"), imported=True))
    assert await store.episodes.count_unread(0.0) == {}
    assert await store.episodes.count("owner") == 3


# Documents


async def test_documents_are_read_as_they_were_written(store: Store) -> None:
    documents = store.documents
    assert await documents.read(OWNER_SCOPE, MEMORY_FILE) is None
    assert await documents.scan(OWNER_SCOPE) == {}
    line = Addition(id="abcdefgh", text="喜欢 tea ☕", type="O", confidence=0.9)
    async with documents.writing(OWNER_SCOPE):
        (patch,) = await documents.edit(OWNER_SCOPE, [FileEdit(file=MEMORY_FILE, add=(line,))])
    read = await documents.read(OWNER_SCOPE, MEMORY_FILE)
    assert read is not None
    (block,) = parse(read[0], file=MEMORY_FILE)
    assert (block.id, block.text, block.type, block.confidence) == ("abcdefgh", "喜欢 tea ☕", "O", 0.9)
    stamps = await documents.scan(OWNER_SCOPE)
    assert stamps == {MEMORY_FILE: (read[1].mtime_ns, read[1].size)}
    assert await documents.scan(ZOE) == {}, "each scope has its own"
    async with documents.writing(OWNER_SCOPE):
        await documents.edit(OWNER_SCOPE, [FileEdit(file=MEMORY_FILE, remove=("abcdefgh",), restore=patch)])
    assert await documents.read(OWNER_SCOPE, MEMORY_FILE) is None, "taken back, the document is gone again"


async def test_an_edit_done_twice_is_done_once(store: Store) -> None:
    edit = FileEdit(file="memory/2026-11-21.md", add=(Addition(id="abcdefgh", text="one"),))
    async with store.documents.writing(ZOE):
        await store.documents.edit(ZOE, [edit])
        before = await store.documents.read(ZOE, edit.file)
        await store.documents.edit(ZOE, [edit])
    assert await store.documents.read(ZOE, edit.file) == before
    assert await store.documents.folders() == [ZOE.folder]


async def test_a_persons_text_is_saved_only_over_what_it_was_made_from(store: Store) -> None:
    documents = store.documents
    async with documents.writing(ZOE):
        assert not await documents.save(ZOE, MEMORY_FILE, "- mine\n", was="- of another\n")
        assert await documents.read(ZOE, MEMORY_FILE) is None
        assert await documents.save(ZOE, MEMORY_FILE, "- mine, 我的\n", was="")
        assert not await documents.save(ZOE, MEMORY_FILE, "- late\n", was="")
        assert await documents.save(ZOE, MEMORY_FILE, "- \udcff\n", was="- mine, 我的\n")
    read = await documents.read(ZOE, MEMORY_FILE)
    assert read is not None
    assert read[0] == "- \udcff\n", "bytes that are no text stay"
    assert await documents.read(OWNER_SCOPE, MEMORY_FILE) is None


async def test_the_report_of_a_reply_and_what_a_person_says_of_it_are_kept(store: Store) -> None:
    row = Considered(id="a1", fate="told", score=0.91234, terms={"words": 1.0, "form": 0.0001})
    report = ReplyReport(outcome="full", milliseconds={"total": 4.25}, rows=[row] * 40)
    number = await store.turns.accept(turn(1, report=report))
    other = await store.turns.accept(turn(2))
    kept = {reply.turn: reply.report for reply in await store.turns.replies("owner", before=2**62, limit=9)}
    assert kept[other] is None
    found = kept[number]
    assert found
    assert (found.outcome, found.milliseconds, len(found.rows)) == ("full", {"total": 4.25}, 16)
    assert found.rows[0] == Considered(id="a1", fate="told", score=0.912, terms={"words": 1.0})
    verdicts: list[Verdict] = ["useful", "wrong"]
    for at, verdict in enumerate(verdicts, 1):
        rated = (Rated(turn=number, memory="a1", verdict=verdict),)
        await store.turns.finish(Plan(scope="owner", folder="", stage="feedback", at=float(at), rated=rated), None)
    assert await store.ledger.rated("owner") == [Rated(turn=number, memory="a1", verdict="wrong", at=2.0)]
    assert await store.ledger.rated("owner", turns=[other]) == []
    assert await store.ledger.rated("owner", since=3.0) == []
    assert await store.ledger.rated("user:zoe") == []


async def test_reviews_wait_until_a_plan_settles_them(store: Store) -> None:
    day = "memory/2026-01-01.md"
    waiting = [
        Review(scope="owner", memory=record(f"r{at}", turn=at, file=day), reason="unsure", at=float(at), against="m1")
        for at in (1, 2, 3)
    ]
    plan = Plan(scope="owner", folder="", stage="batch", at=5.0)
    for _ in range(2):
        await store.turns.finish(replace(plan, reviews=tuple(waiting)), None)
    assert await store.reviews.waiting("owner") == waiting, "each once"
    assert [review.memory.id for review in await store.reviews.waiting("owner", limit=2)] == ["r1", "r2"]
    assert [await store.reviews.count(scope) for scope in ("owner", "", "room:x")] == [3, 3, 0]
    settled = (Settled(id="r1", state="approved"), Settled(id="r2", state="never"), Settled(id="zz", state="never"))
    await store.turns.finish(replace(plan, stage="review", settled=settled), None)
    states = await store.reviews.states("owner", ["r1", "r2", "r3", "zz"])
    assert states == {"r1": "approved", "r2": "never", "r3": "waiting"}
    assert [review.memory.id for review in await store.reviews.declined("owner")] == ["r2"]
    assert await store.reviews.due("owner", before=3.0, day="2026-01-01") == []
    assert await store.reviews.due("owner", before=3.5, day="2026-01-01") == ["r3"]
    again = (Settled(id="r1", state="waiting", was="approved"),)
    await store.turns.finish(replace(plan, stage="undo", settled=again), None)
    assert [review.memory.id for review in await store.reviews.waiting("owner")] == ["r1", "r3"]
    assert await store.reviews.find("owner", "nobody") is None
    about = Review(scope="user:zoe", memory=record("z1", file=day), reason="about_owner", at=1.0)
    await store.turns.finish(replace(plan, scope="user:zoe", folder=ZOE.folder, reviews=(about,)), None)
    assert await store.reviews.of_owner() == [about]
    number, _ = await store.turns.save_plan(replace(plan, reviews=(about,), settled=settled))
    assert (await store.turns.plans())[0] == (number, replace(plan, reviews=(about,), settled=settled))


async def test_replies_and_times_are_listed_by_scope(store: Store) -> None:
    for number in range(5):
        await store.turns.accept(turn(number, recalled=(f"id{number}",), episode=True))
    await store.turns.accept(turn(9, scope=ZOE.key, episode=True))
    turns = await store.turns.waiting("accepted")
    for each in turns:
        await carried_out(store, replace(plan(turns=(each.id,)), scope=each.scope))
    listed = await store.turns.replies("owner", before=2**62, limit=3)
    assert [reply.recalled for reply in listed] == [("id4",), ("id3",), ("id2",)]
    older = await store.turns.replies("owner", before=listed[-1].turn, limit=9)
    assert [reply.recalled for reply in older] == [("id1",), ("id0",)]
    assert await store.episodes.times("owner") == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert await store.episodes.times(ZOE.key) == [9.0]


async def test_a_forgotten_exchange_and_a_forgotten_session_withhold_what_they_said(store: Store) -> None:
    said = ("The clinic called because of the numbat rash.", "Rain is coming.", "The fern needs the numbat lamp.")
    episodes = [
        Episode(
            turn=0, scope="owner", session_key="k", session_id=f"s{number}", user=text, reply="OK", at=float(number)
        )
        for number, text in enumerate(said)
    ]
    turns = await store.episodes.add(episodes)
    assert await store.episodes.of_session("owner", "s0") == turns[:1]
    assert [await store.episodes.session_of("owner", name) for name in ("s1", "k", "nosuch")] == ["s1", "s2", ""]
    for number in range(3):
        session_id, _ = await store.sessions.open(f"key {number}", "owner", f"s{number}", float(number))
        await store.sessions.observe("owner", session_id, Observation(kind="tool", content=f"ran {number}"), number)
        about = SessionRecord(
            id=f"sum-{number}", session_id=f"s{number}", topic="t", summary=said[number],
            timestamp=f"1970-01-01T00:00:0{number}Z",
        )  # fmt: skip
        async with store.documents.writing(OWNER_SCOPE):
            assert await store.records.save(OWNER_SCOPE, about, float(number))
    names = (
        record("x0", text=f"e{turns[0]} 1970-01-01", at=0.0, session_key="k", category=EXCHANGE, turn=turns[0]),
        record("x2", text="s2", at=9.0, category=TALK),
    )
    gone = plan(stage="command")
    gone = replace(gone, retired=tuple(Retired(memory=each, state="forgotten") for each in names))

    async def shown() -> tuple[str, str, str]:
        async with store.documents.writing(OWNER_SCOPE):
            await store.records.withhold(OWNER_SCOPE)
        records = [row["summary"] for row in await store.records.read(OWNER_SCOPE)]
        seen = [each.content for number in range(3) for each in (await store.sessions.read("owner", f"s{number}"))[0]]
        told = await store.episodes.quotable("owner", turns)
        sides = [(told.sides(turn) or ("", ""))[0] for turn in turns]
        return " | ".join(records), " | ".join(seen), " | ".join(sides)

    whole = await shown()
    assert whole == (" | ".join(said), "ran 0 | ran 1 | ran 2", " | ".join(said))
    await carried_out(store, gone)
    assert await shown() == (f" | {said[1]} | ", "ran 0 | ran 1 | ", f" | {said[1]} | {said[2]}")
    last = await store.records.last(OWNER_SCOPE, TODAY)
    assert last is not None
    assert last["session_id"] == "s1", "the record of a forgotten session is none"
    assert [each.summary for each in await store.records.originals(OWNER_SCOPE)] == list(said)
    assert set(await store.ledger.forgotten("owner")) == {said[0]}
    again = [replace(episodes[0], user="in other words"), replace(episodes[2], at=2.5), replace(episodes[2], at=99.0)]
    assert await store.episodes.known(again) == 2, "what is said in the session later is new"
    back = replace(gone, stage="undo", retired=tuple(replace(each, state="expired") for each in gone.retired))
    await carried_out(store, back)
    assert await shown() == whole
    await carried_out(store, gone)
    await store.episodes.delete_before(1.5)
    await carried_out(store, back)
    records, _, sides = await shown()
    assert records == f" | {said[1]} | {said[2]}", "what was deleted meanwhile can't be brought back"
    assert sides == f" |  | {said[2]}"


async def test_what_was_forgotten_is_told_by_its_id_alone(store: Store) -> None:
    await carried_out(store, plan(record("m1", text="I like numbats"), record("m2", text="Rain is coming")))
    forgotten = Retired(memory=record("m1", text="I like numbats"), state="forgotten")
    outcome = ReceiptLine(turn=0, action="forgotten", reason="command", id="m1")
    await carried_out(store, replace(plan(stage="command"), retired=(forgotten,), outcomes=(outcome,)))
    assert [each.text for each in (await store.ledger.without_forgotten("owner", ["m1", "m2"])).values()] == [
        "",
        "Rain is coming",
    ]
    (last, first) = await store.ledger.receipts(limit=5, scope="owner")
    assert [(each.id, each.text) for each in last.outcomes] == [("m1", "")]
    assert [each.text for each in first.outcomes] == ["", "Rain is coming"]


async def test_said_again_with_another_stop_or_case_it_is_not_withheld(store: Store) -> None:
    forgotten = Retired(memory=record("m1", text="The office is in Oslo"), state="forgotten")
    await carried_out(store, plan(record("m1", text="The office is in Oslo")))
    await carried_out(store, replace(plan(stage="command"), retired=(forgotten,)))
    assert (await store.ledger.withheld("owner")).says("office in Oslo")
    await carried_out(store, plan(record("m2", text="the office is in Oslo.")))
    assert not (await store.ledger.withheld("owner")).says("office in Oslo")


async def test_there_is_one_writer_of_a_scope(store: Store) -> None:
    inside = 0

    async def write(number: int) -> None:
        nonlocal inside
        async with store.documents.writing(OWNER_SCOPE):
            inside += 1
            assert inside == 1
            edit = FileEdit(file=MEMORY_FILE, add=(Addition(id=f"line{number:04d}", text=f"line {number}"),))
            await store.documents.edit(OWNER_SCOPE, [edit])
            inside -= 1

    tasks = [asyncio.create_task(write(number)) for number in range(20)]
    await asyncio.sleep(0)
    tasks[7].cancel()  # whoever waits may go: the next one gets its turn
    await asyncio.gather(*tasks, return_exceptions=True)
    written = sum(not task.cancelled() for task in tasks)
    read = await store.documents.read(OWNER_SCOPE, MEMORY_FILE)
    assert read is not None
    assert len(parse(read[0], file=MEMORY_FILE)) == written >= 19


# Turns


async def test_a_turn_waits_for_its_rules_then_for_its_batch_then_is_done(store: Store) -> None:
    first = await store.turns.accept(turn(1, recalled=("aa", "bb")))
    second = await store.turns.accept(turn(2, session_id="s2"))
    assert second > first
    assert [each.user for each in await store.turns.waiting("accepted")] == ["said 1", "said 2"]
    assert [each.id for each in await store.turns.waiting("accepted", session_id="s2")] == [second]
    reply = await store.turns.last_reply("owner", "s1")
    assert reply is not None
    assert (reply.turn, reply.recalled) == (first, ("aa", "bb"))
    await store.turns.finish(plan(turns=(first, second)), None)
    assert await store.turns.waiting("accepted") == []
    assert [each.id for each in await store.turns.waiting("ruled")] == [first, second]
    await store.turns.finish(plan(turns=(first,), stage="batch"), None)
    queue = await store.turns.queue()
    assert (queue.rules, queue.batch, queue.rules_at, queue.batch_at) == (0, 1, 0.0, 2.0)


async def test_what_somebody_said_has_their_new_name_once_the_plan_is_carried_out(store: Store) -> None:
    said = [("user:a", "Wang: "), ("user:b", "Wang: "), ("user:a", "Wang："), ("user:a", "Li: ")]
    turns = [
        await store.turns.accept(turn(number, scope="room:r", episode=True, speaker=speaker, speaker_prefix=prefix))
        for number, (speaker, prefix) in enumerate(said)
    ]
    await store.turns.finish(replace(plan(turns=tuple(turns)), scope="room:r", folder="rooms/r"), None)
    pages = await store.episodes.pages("room:r")
    renamed = Renamed(speaker="user:a", was="Wang", name="王五")
    made = replace(plan(stage="rename"), scope="room:r", folder="rooms/r", renamed=(renamed,))
    assert Plan.from_json(made.to_json()) == made
    await store.turns.finish(made, None)
    names = ["王五: ", "Wang: ", "王五：", "Li: "]
    waiting = await store.turns.waiting("ruled")
    assert [each.speaker_prefix for each in waiting] == names
    episodes = await store.episodes.all_of("room:r", 0, 10)
    assert [each.user for each in episodes] == [f"{name}said {number}" for number, name in enumerate(names)]
    assert await store.episodes.pages("room:r") != pages, "the index follows"
    assert await store.names.within("room:r", ["user:a", "user:b"]) == {"user:a": "王五"}


async def test_the_same_id_twice_is_one_turn(store: Store) -> None:
    first = await store.turns.accept(turn(1))
    assert await store.turns.accept(turn(1, user="said again")) == first
    await store.turns.finish(plan(turns=(first,)), None)
    await store.turns.finish(plan(turns=(first,), stage="batch"), None)
    assert await store.turns.accept(turn(1)) == first, "also after it is done"
    assert (await store.turns.queue()).rules == 0
    assert await store.turns.accept(turn(1, session_key="another chat")) != first
    assert await store.turns.accept(turn(1, scope="user:zoe")) != first


async def test_a_reply_that_was_made_again_takes_the_place_of_the_first(store: Store) -> None:
    first = await store.turns.accept(turn(1, speaker_prefix="Wang: ", episode=True))
    assert await store.turns.accept(turn(1, speaker_prefix="Wang: ", reply="Made again.")) == first
    assert [each.reply for each in await store.turns.waiting("accepted")] == ["Made again."]
    await store.turns.finish(plan(turns=(first,)), None)
    (page,) = (pages := await store.episodes.pages("owner"))
    for said, reply, kept in (
        ("said 1", "A third time.", "A third time."),
        ("said 1", "", "A third time."),  # it broke off
        ("said something else", "No.", "A third time."),
    ):
        before = pages[page]
        await store.turns.accept(turn(1, user=said, speaker_prefix="Wang: ", reply=reply))
        (waiting,) = await store.turns.waiting("ruled")
        episode = (await store.episodes.quotable("owner", [first])).episodes[first]
        assert (waiting.reply, episode.reply, episode.user) == (kept, kept, "Wang: said 1")
        pages = await store.episodes.pages("owner")
        assert (pages[page] != before) == (reply == kept), "the index follows"


async def test_a_reply_that_was_made_again_does_not_bring_back_a_forgotten_exchange(store: Store) -> None:
    first = await store.turns.accept(turn(1, reply="The vault opens at nine.", episode=True))
    await store.turns.finish(plan(turns=(first,)), None)
    gone = record("e1", category=EXCHANGE, turn=first, at=1.0)
    await carried_out(store, replace(plan(stage="command"), retired=(Retired(memory=gone, state="forgotten"),)))
    await store.turns.accept(turn(1, reply="Good morning."))
    assert (await store.episodes.quotable("owner", [first])).sides(first) is None
    assert "The vault opens at nine." in await store.ledger.forgotten("owner"), "nor what was said first"


async def test_many_at_once_are_each_accepted_once(store: Store) -> None:
    again = [turn(number % 50) for number in range(150)]
    numbers = await asyncio.gather(*(store.turns.accept(each) for each in again))
    assert len(set(numbers)) == 50
    assert len(await store.turns.waiting("accepted")) == 50


async def test_a_parked_turn_and_a_failed_one_wait_apart(store: Store) -> None:
    first, second = await store.turns.accept(turn(1)), await store.turns.accept(turn(2))
    await store.turns.park(first)
    assert [each.id for each in await store.turns.waiting("accepted")] == [second]
    await store.turns.unpark()
    assert len(await store.turns.waiting("accepted")) == 2
    await store.turns.finish(plan(turns=(second,)), None)
    await store.turns.finish(replace(plan(turns=(second,), stage="batch"), failed=True), None)
    assert await store.turns.failed() == 1
    assert await store.turns.retry() == ["s1"]
    assert [each.id for each in await store.turns.waiting("ruled")] == [second]


async def test_a_plan_is_known_until_it_is_carried_out(store: Store) -> None:
    made = plan(
        record("abcdefgh", entities=("Zoe", "Oslo"), expires="2027-01-01", quote="I said", turn=3, outdates="aaaaaaaa")
    )
    event = Event(scope="owner", at=9.0, changes=(MemoryChange(id="abcdefgh", text="t", at=9.0),))
    number, (numbered,) = await store.turns.save_plan(made, [event])
    assert await store.turns.plans() == [(number, made)]
    assert await store.event_log.planned(number) == [numbered]
    assert await store.event_log.ready(store.event_log.instance, 0, 10) == [], "not before it is carried out"
    await store.turns.finish(made, number)
    assert await store.turns.plans() == []
    assert await store.event_log.ready(store.event_log.instance, 0, 10) == [numbered]
    assert (await store.ledger.memories("owner", ["abcdefgh", "none"])) == {"abcdefgh": made.added[0]}


async def test_a_cancelled_call_has_happened_or_not(store: Store) -> None:
    for number in range(20):
        accepting = asyncio.create_task(store.turns.accept(turn(number)))
        await asyncio.sleep(0)
        accepting.cancel()
        await asyncio.gather(accepting, return_exceptions=True)
    kept = {each.user for each in await store.turns.waiting("accepted")}
    assert kept <= {f"said {number}" for number in range(20)}
    for number in range(20):
        await store.turns.accept(turn(number))
    assert len(await store.turns.waiting("accepted")) == 20, "and done again, each is there once"


async def test_a_process_whose_work_was_taken_over_changes_nothing(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        here = await open_store(stack, tmp_path)
        there = await open_store(stack, tmp_path)
        number = await here.turns.accept(turn(1))
        (made, _) = await here.turns.save_plan(plan(record("abcdefgh"), turns=(number,)))
        assert await there.turns.adopt() == 0, "it lives"
        slot = next(each for each in _slots(stack) if each.number == 0)
        slot.release()  # as a file system does that loses its locks
        assert await there.turns.adopt() == 1
        assert [each.id for each in await there.turns.waiting("accepted")] == [number]
        with pytest.raises(LeaseLostError):
            await here.turns.finish(plan(record("abcdefgh"), turns=(number,)), made)
        assert await there.ledger.receipts(limit=5) == []
        await there.turns.finish(plan(record("abcdefgh"), turns=(number,)), made)
        assert len(await there.ledger.receipts(limit=5)) == 1


async def test_whoever_takes_a_place_has_its_lease(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        here = await open_store(stack, tmp_path)
        number = await here.turns.accept(turn(1))
        _slots(stack)[0].release()
        there = await open_store(stack, tmp_path)  # under the same number
        assert [each.id for each in await there.turns.waiting("accepted")] == [number]
        with pytest.raises(LeaseLostError):
            await here.turns.finish(plan(turns=(number,)), None)


def _slots(stack: AsyncExitStack) -> list[Slot]:
    """Return the slots that stores hold, the first one first."""
    callbacks = [callback for _, callback in stack._exit_callbacks]  # type: ignore[attr-defined]
    bound = [getattr(each, "__wrapped__", None) for each in callbacks]
    return [owner for each in bound if isinstance(owner := getattr(each, "__self__", None), Slot)]


# Sessions


async def test_a_key_has_one_open_session(store: Store) -> None:
    assert await store.sessions.open("chat", "owner", "s1", 1.0) == ("s1", True)
    assert await store.sessions.open("chat", "owner", "s2", 2.0) == ("s1", False)
    assert await store.sessions.open("chat", "user:zoe", "s3", 2.0) == ("s3", True)
    assert await store.sessions.close("s1", End(reason="completed", error="e"), state="saved", at=5.0) == 4.0
    assert await store.sessions.close("s1", End(reason="again"), state="saved", at=9.0) is None
    assert await store.sessions.open("chat", "owner", "s4", 6.0) == ("s4", True)
    found = await store.sessions.find("s1")
    assert found is not None
    assert (found.key, found.scope, found.ended) == ("chat", "owner", True)
    assert await store.sessions.find("none") is None
    counts = await store.sessions.counts()
    assert (counts["ended"], counts["open"], counts["errors"], counts["state.saved"]) == (1, 2, 1, 1)
    assert set(await store.sessions.scopes()) == {"owner", "user:zoe"}


async def test_what_was_seen_and_left_is_read_back(store: Store) -> None:
    await store.sessions.open("chat", "owner", "s1", 1.0)
    await store.sessions.observe(
        "owner", "s1", Observation(kind="tool", content="build 42", tool="bash", tags="a b"), 2.0
    )
    await store.sessions.observe("owner", "s1", Observation(kind="user", content="hidden", private=True), 3.0)
    await carried_out(store, plan(record("abcdefgh", session_id="s1", category="decision")))
    seen, left = await store.sessions.read("owner", "s1")
    assert [(each.kind, each.content, each.private) for each in seen] == [
        ("tool", "build 42", False),
        ("user", "", True),
    ]
    assert left.facts == left.decisions == ("the text of abcdefgh",)
    assert await store.sessions.has_left_anything("owner", "s1")
    assert not await store.sessions.has_left_anything("owner", "s2")
    assert await store.sessions.observed_since_stage("owner", "s1") == 2


async def test_the_newest_observations_of_a_scope_are_found(store: Store) -> None:
    await store.sessions.open("chat", "owner", "s1", 1.0)
    for number in range(4):
        seen = Observation(kind="tool", content=f"build {number}", tool="bash", private=number == 3)
        await store.sessions.observe("owner", "s1", seen, float(number))
    await store.sessions.observe("user:zoe", "s2", Observation(kind="user", content="build 5"), 9.0)
    found = await store.sessions.observations("owner", 2)
    assert [(each.content, each.tool, each.session_key, each.at) for each in found] == [
        ("build 2", "bash", "chat", 2.0),
        ("build 1", "bash", "chat", 1.0),
    ]


async def test_one_follow_up_and_switches_that_last(store: Store) -> None:
    await store.sessions.open("chat", "owner", "s1", 1.0)
    taken = await asyncio.gather(*(store.sessions.take_followup("s1") for _ in range(5)))
    assert sorted(taken) == [False, False, False, False, True]
    assert await store.sessions.was_followed_up("s1")
    await store.sessions.switch("s1", {"notify": False})
    assert await store.sessions.switches("s1") == {"notify": False}
    (idle,) = await store.sessions.abandoned(idle_before=2.0, starting=False)
    assert idle.session_id == "s1"
    assert await store.sessions.abandoned(idle_before=0.5, starting=False) == []


async def test_an_end_without_its_record_is_known_until_it_is_made_up(store: Store) -> None:
    end = End(reason="completed", error="it rained", duration_ms=7000)
    for name, state in (("s1", "unsaved"), ("s2", "saved"), ("s3", "nothing")):
        await store.sessions.open(f"chat {name}", "owner", name, 1.0)
        assert await store.sessions.close(name, end, state=state, at=2.0) is not None  # type: ignore[arg-type]
    ((session, ended),) = await store.sessions.unsaved()
    assert (session.session_id, session.key, session.scope, ended) == ("s1", "chat s1", "owner", end)
    assert await store.sessions.close("s1", end, state="saved", at=3.0) is None
    assert await store.sessions.unsaved() == []


# Records


async def test_a_session_has_one_record(store: Store) -> None:
    made = SessionRecord(id="sum-1", session_id="s1", topic="t", summary="s", timestamp="2026-11-21T00:00:00Z")
    async with store.documents.writing(OWNER_SCOPE):
        assert await store.records.save(OWNER_SCOPE, made, 1.0)
        assert not await store.records.save(OWNER_SCOPE, replace(made, id="sum-2"), 2.0)
        older = replace(made, id="sum-0", session_id="s0", timestamp="2026-11-20T00:00:00Z")
        assert await store.records.merge(OWNER_SCOPE, [older, made], dry_run=True) == 1
        assert await store.records.merge(OWNER_SCOPE, [older, made], dry_run=False) == 1
    assert [each["id"] for each in await store.records.read(OWNER_SCOPE)] == ["sum-0", "sum-1"]
    last = await store.records.last(OWNER_SCOPE, TODAY)
    assert last is not None
    assert last["id"] == "sum-1"
    assert await store.records.is_saved(OWNER_SCOPE, "s0")
    assert not await store.records.is_saved(ZOE, "s1")
    assert await store.records.last(ZOE, TODAY) is None
    async with store.documents.writing(OWNER_SCOPE):
        await store.records.tidy(OWNER_SCOPE, keep=1)
    assert [each["id"] for each in await store.records.read(OWNER_SCOPE)] == ["sum-1"]
    assert await store.records.is_saved(OWNER_SCOPE, "s0"), "what was let go was saved"


async def test_a_record_is_revised_in_its_place_unless_others_changed_it(store: Store) -> None:
    records = [
        SessionRecord(id=f"sum-{n}", session_id=f"s{n}", topic="t", summary="by rules", timestamp=f"2026-01-0{n}")
        for n in (1, 2)
    ]
    first, second = records
    better = replace(first, summary="by a model")
    async with store.documents.writing(OWNER_SCOPE):
        for record in records:
            await store.records.save(OWNER_SCOPE, record, 1.0)
        assert await store.records.revise(OWNER_SCOPE, first, better)
        assert not await store.records.revise(OWNER_SCOPE, first, replace(first, summary="too late"))
        assert not await store.records.revise(ZOE, second, better)
        assert not await store.records.save(OWNER_SCOPE, better, 2.0), "it is the session's one record"
    assert [each["summary"] for each in await store.records.read(OWNER_SCOPE)] == ["by a model", "by rules"]


async def test_what_is_forgotten_is_left_out_of_a_revised_record_too(store: Store) -> None:
    secret = record("abcdefgh", text="the cat is called Tigger")
    await carried_out(store, plan(secret))
    told = SessionRecord(
        id="sum-1", session_id="s1", topic="pets", summary="The cat is called Tigger. They moved.", timestamp="2026"
    )
    async with store.documents.writing(OWNER_SCOPE):
        await store.records.save(OWNER_SCOPE, told, 1.0)
        forgetting = replace(plan(stage="command", at=20.0), retired=(Retired(memory=secret, state="forgotten"),))
        await carried_out(store, forgetting)
        await store.records.withhold(OWNER_SCOPE)
        better = replace(told, summary="They moved to Bern. The cat is called Tigger.")
        assert await store.records.revise(OWNER_SCOPE, told, better), "the record as it was saved, not as it is shown"
    lines = await store.records.lines(OWNER_SCOPE) or b""
    assert b"Tigger" not in lines
    assert b"Bern" in lines


async def test_what_was_forgotten_is_left_out_of_records_until_it_is_back(store: Store) -> None:
    secret = record("abcdefgh", text="the cat is called Tigger")
    await carried_out(store, plan(secret))
    told = SessionRecord(
        id="sum-1", session_id="s1", topic="pets", summary="The cat is called Tigger. They moved.", timestamp="2026"
    )
    async with store.documents.writing(OWNER_SCOPE):
        await store.records.save(OWNER_SCOPE, told, 1.0)
        forgetting = replace(plan(stage="command", at=20.0), retired=(Retired(memory=secret, state="forgotten"),))
        await carried_out(store, forgetting)
        hidden = await store.records.withhold(OWNER_SCOPE)
    assert hidden.says("the cat is called Tigger")
    assert b"Tigger" not in (await store.records.lines(OWNER_SCOPE) or b"")
    async with store.documents.writing(OWNER_SCOPE):
        await carried_out(store, replace(plan(secret, stage="undo", at=30.0)))
        await store.records.withhold(OWNER_SCOPE)
    (back,) = await store.records.read(OWNER_SCOPE)
    assert back["summary"] == told.summary


# Ledger


async def test_a_memory_may_be_outdated_while_what_says_so_stands(store: Store) -> None:
    old, new = record("aaaaaaaa"), record("bbbbbbbb", outdates="aaaaaaaa")

    async def state(scope: str) -> str:
        return (await store.ledger.validity(scope, TODAY)).state_of(old.id, old.text, old.at)

    await carried_out(store, plan(old, new))
    assert await state("owner") == "doubted"
    assert await state("user:zoe") == ""
    await carried_out(store, replace(plan(), retired=(Retired(memory=new, state="forgotten"),)))
    assert await state("owner") == ""


async def test_what_became_of_a_memory_is_known(store: Store) -> None:
    old, new = record("aaaaaaaa", turn=7), record("bbbbbbbb", expires="2026-01-01")
    await carried_out(store, plan(old))
    replaced = replace(
        plan(new, stage="batch", at=12.0), retired=(Retired(memory=old, state="superseded", replaced_by="bbbbbbbb"),)
    )
    await carried_out(store, replaced)
    ledger = store.ledger
    assert [line.event for line in await ledger.history("owner", "aaaaaaaa")] == ["added", "superseded"]
    each = {identity: await ledger.history("owner", identity) for identity in ("aaaaaaaa", "bbbbbbbb", "none")}
    assert await ledger.histories("owner", ["aaaaaaaa", "bbbbbbbb", "none"]) == each
    assert await ledger.states("owner", ["aaaaaaaa", "bbbbbbbb", "none"]) == {
        "aaaaaaaa": ("superseded", "bbbbbbbb"),
        "bbbbbbbb": ("active", ""),
    }
    assert await ledger.of_turns("owner", [7]) == []
    assert await ledger.expired("owner", "2026-06-01") == ["bbbbbbbb"]
    first, second = await ledger.undoable("owner", 5)
    assert (first.plan, second.plan.added) == (replaced, (old,))
    assert await ledger.reachable("owner", 5) == {first.receipt, second.receipt}
    assert await ledger.reachable("owner", 1) == {first.receipt}
    assert await ledger.reachable("user:zoe", 5) == frozenset()
    assert await ledger.replaced("owner", ["aaaaaaaa", "bbbbbbbb", "none"]) == {"bbbbbbbb": "aaaaaaaa"}
    assert await ledger.replaced("user:zoe", ["bbbbbbbb"]) == {}
    newest, oldest = await ledger.receipts(limit=5)
    assert newest.number > oldest.number
    assert await ledger.receipts(limit=5, after=oldest.number) == [newest]
    assert await ledger.receipts(limit=5, scope="user:zoe") == []
    assert await ledger.last_extraction() == 12.0


async def test_a_days_budget_holds_whoever_asks_at_once(store: Store) -> None:
    ledger, day = store.ledger, "2026-11-21"
    taken = await asyncio.gather(*(ledger.reserve(day, calls=3, tokens=1000, wanted=100) for _ in range(10)))
    assert sum(taken) == 3
    await ledger.settle(day, reserved=100, input_tokens=60, output_tokens=-5)
    spent = await ledger.spent(day)
    assert (spent.calls, spent.reserved, spent.input_tokens, spent.output_tokens) == (3, 200, 60, 0)
    assert not await ledger.reserve("2026-11-22", calls=3, tokens=99, wanted=100)
    assert (await ledger.spent("2026-11-23")).calls == 0
    await ledger.reserve("2026-11-20", calls=3, tokens=1000, wanted=100)
    assert await ledger.spent_since("2026-11-21") == {day: spent}
    assert list(await ledger.spent_since("2026-11-01")) == ["2026-11-20", day]


async def test_a_notice_is_taken_once(store: Store) -> None:
    await store.ledger.set_notice("owner", MEMORY_FULL)
    assert store.ledger.may_be_due("owner", MEMORY_FULL)
    taken = await asyncio.gather(*(store.ledger.take_notice("owner", MEMORY_FULL) for _ in range(4)))
    assert sorted(taken) == [False, False, False, True]
    await store.ledger.set_notice("owner", MEMORY_FULL)
    assert not await store.ledger.take_notice("owner", MEMORY_FULL), "it still holds, and was told"
    await store.ledger.clear_notice("owner", MEMORY_FULL)
    await store.ledger.set_notice("owner", MEMORY_FULL)
    assert await store.ledger.take_notice("owner", MEMORY_FULL)


# Notices


async def test_an_edit_by_hand_is_noticed_once(store: Store) -> None:
    change = MemoryChange(id="abcdefgh", text="by hand", at=1.0, by_hand=True)
    (event,) = await store.event_log.add_edits("owner", [change], 1.0)
    assert event.origin == store.event_log.instance
    assert await store.event_log.add_edits("owner", [change], 2.0) == []
    (again,) = await store.event_log.add_edits("owner", [replace(change, text="other words")], 3.0)
    assert again.number == event.number + 1
    assert await store.event_log.edited_since("owner", 2.0)
    assert not await store.event_log.edited_since("owner", 3.0)


async def test_a_session_is_delivered_what_it_was_not_shown(store: Store) -> None:
    await store.sessions.open("chat", "owner", "s1", 1.0)
    for number in range(3):
        await store.event_log.add_edits(
            "owner", [MemoryChange(id=f"line{number}", text="t", at=5.0, by_hand=True)], 5.0 + number
        )
    origin = store.event_log.instance
    first, second, third = [each.number for each in await store.event_log.undelivered("owner", "s1", since=0.0)]
    assert (second, third) == (first + 1, first + 2)
    await store.event_log.mark_delivered("owner", "s1", {origin: second})
    await store.event_log.mark_delivered("owner", "s1", {origin: first})
    assert [each.number for each in await store.event_log.undelivered("owner", "s1", since=0.0)] == [third]
    assert await store.event_log.undelivered("owner", "s1", since=9.0) == []


async def test_a_session_is_delivered_what_it_was_not_shown_of_a_scope_that_it_has_joined(store: Store) -> None:
    log, changes = store.event_log, (MemoryChange(id="abcdefgh", text="t", at=5.0),)

    async def add(scope: str, plan: int | None) -> None:
        event = Event(scope=scope, at=5.0, changes=changes)
        await store.turns._write(scope, lambda database: log.add(database, [event], plan=plan, now=5.0))

    await add("project:x y", 7)
    await store.sessions.open("chat", "owner", "s1", 1.0, joined="project:x y")
    await store.turns._write("project:x y", lambda database: log.mark_ready(database, 7))
    await add("project:x y", None)
    await add("project:z", None)
    first, second = await log.undelivered("project:x y", "s1", since=0.0)
    assert {first.scope, second.scope} == {"project:x y"}
    assert second.number == first.number + 1
    assert await log.undelivered("owner", "s1", since=0.0) == []


# Whatever is kept


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(st.characters(exclude_categories=["Cs"]), max_size=200))
async def test_any_text_comes_back_as_it_was(store: Store, text: str) -> None:
    number = next(NUMBERS)
    accepted = await store.turns.accept(turn(number, user=text, reply=text, session_id=f"s{number}"))
    (pending,) = await store.turns.waiting("accepted", session_id=f"s{number}")
    if isinstance(store.documents, DocumentRows):  # PostgreSQL's texts have no NUL
        text = text.replace("\0", "\N{REPLACEMENT CHARACTER}")
    assert (pending.id, pending.user, pending.reply) == (accepted, text, text)
    kept = record(f"m{number}", text=text, quote=text, entities=(text,), session_key=text)
    await carried_out(store, plan(kept))
    assert (await store.ledger.memories("owner", [kept.id]))[kept.id] == kept


async def test_a_damaged_row_is_set_aside_and_the_others_are_there(store: Store) -> None:
    await carried_out(store, plan(record("aaaaaaaa")))
    await carried_out(store, plan(record("bbbbbbbb"), at=10.0))
    connection = store.turns._connection
    query = "UPDATE receipts SET outcome = '{' WHERE id = 1"
    await connection.transact(lambda database: database.execute(query), scopes="owner")
    (standing,) = await store.ledger.receipts(limit=5)
    assert standing.outcomes[0].id == "bbbbbbbb"
    assert (await store.turns.queue()).quarantined == 1


async def test_a_workspace_that_cannot_be_written_is_an_error_of_ours(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    async with AsyncExitStack() as stack:
        with pytest.raises(StoreError, match="must be able to read and write"):
            await open_store(stack, tmp_path / "file" / "workspace")


async def test_a_lost_document_is_an_error_of_ours(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        store = await open_store(stack, tmp_path)
        os.mkfifo(tmp_path / "fifo")
        (tmp_path / "memory").write_text("a file where a folder should be")
        async with store.documents.writing(OWNER_SCOPE):
            edit = FileEdit(file="memory/2026-01-01.md", add=(Addition(id="abcdefgh", text="t"),))
            with pytest.raises(StoreError):
                await store.documents.edit(OWNER_SCOPE, [edit])


# Health


async def test_the_state_of_a_living_process_is_kept_until_it_leaves(store: Store) -> None:
    state = ProcessState(
        pid=17,
        since=5.0,
        model="m",
        problem="timeout",
        model_rests=True,
        alarm="stalled",
        replaced=1,
        updates=2,
        sessions_waiting=1,
        mqtt=NotifierStatus(state="waiting", since=4.0, reason="refused", sent=3, dropped={"late": 2}),
    )
    assert await store.health.processes() == {}
    await store.health.note(state)
    assert await store.health.processes() == {store.health.slot: state}
    mark = await store.health.mark()
    assert await store.health.mark() == mark
    await store.health.note(replace(state, alarm=None, mqtt=None))
    assert await store.health.mark() != mark
    assert await store.health.processes() == {store.health.slot: replace(state, alarm=None, mqtt=None)}
    await store.health.leave()
    assert await store.health.processes() == {}


async def test_failures_are_counted_by_kind_let_go_when_old_and_bounded(store: Store) -> None:
    mark = await store.health.mark()
    await store.health.note(None, [Failure(place="model.unreadable", error="ModelError", at=10.0)])
    assert await store.health.mark() != mark
    again = [Failure(place="model.unreadable", error="ModelError", at=30.0, count=2)]
    await store.health.note(None, [*again, Failure(place="journal", error="StoreError", at=20.0)])
    model, journal = await store.health.failures(since=0.0)
    assert (model.place, model.at, model.count) == ("model.unreadable", 30.0, 3)
    assert (journal.place, journal.count) == ("journal", 1)
    assert [each.place for each in await store.health.failures(since=25.0)] == ["model.unreadable"]
    await store.health.note(None, [Failure(place="batch", error="OSError", at=40.0)], since=25.0)
    assert [each.place for each in await store.health.failures(since=0.0)] == ["batch", "model.unreadable"]
    many = [Failure(place=f"place {number}" + "x" * 500, error="OSError", at=50.0 + number) for number in range(99)]
    await store.health.note(None, many)
    kept = await store.health.failures(since=0.0)
    assert (len(kept), kept[0].at) == (50, 148.0)
    assert max(len(each.place) for each in kept) < 200


@pytest.mark.parametrize("store", ["files"], indirect=True)
async def test_a_process_that_died_is_no_process(store: Store, tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        other = await open_store(stack, tmp_path / "workspace")
        await other.health.note(ProcessState(pid=18, since=1.0))
        await store.health.note(ProcessState(pid=17, since=1.0))
        assert {each.pid for each in (await store.health.processes()).values()} == {17, 18}
    assert [each.pid for each in (await store.health.processes()).values()] == [17], "its lease is free"


async def test_a_name_that_a_person_gives_counts_before_the_host_s(store: Store) -> None:
    names, zoe = store.names, ZOE.key
    await names.note([(zoe, OF_SCOPE, "xX_zoe_Xx"), (zoe, "chat", "阳台种菜"), ("owner", OF_SCOPE, "Peter")])
    assert await names.of_scopes([zoe, "owner", "user:nobody"]) == {zoe: "xX_zoe_Xx", "owner": "Peter"}
    assert await names.within(zoe, ["chat", "other"]) == {"chat": "阳台种菜"}
    await names.give(zoe, OF_SCOPE, "My sister")
    await names.note([(zoe, OF_SCOPE, "zoe2")])
    assert await names.of_scopes([zoe]) == {zoe: "My sister"}
    await names.give(zoe, OF_SCOPE, "")
    assert await names.of_scopes([zoe]) == {zoe: "zoe2"}, "the host's newest"


async def test_the_newest_turns_come_page_by_page(store: Store) -> None:
    said = [
        Episode(turn=0, scope=ZOE.key, session_key=key, session_id=key, user=f"{key} {at}", reply="", at=at)
        for at, key in ((10.0, "a"), (20.0, "a"), (20.0, "b"), (30.0, "b"))
    ]
    turns = await store.episodes.add(said)
    newest = await store.episodes.newest(ZOE.key, 10)
    assert [at for _, at in newest] == [30.0, 20.0, 20.0, 10.0]
    assert {turn for turn, _ in newest} == set(turns)
    last = newest[1]
    assert await store.episodes.newest(ZOE.key, 10, before=(last[1], last[0])) == newest[2:]
    assert [at for _, at in await store.episodes.newest(ZOE.key, 10, since=20.0, until=30.0)] == [20.0, 20.0]
    assert [at for _, at in await store.episodes.newest(ZOE.key, 10, session_key="a")] == [20.0, 10.0]
    assert await store.episodes.latest_times() == {ZOE.key: 30.0}


@pytest.mark.parametrize("store", ["files"], indirect=True)
async def test_what_holds_is_read_by_indexes(store: Store, tmp_path: Path) -> None:
    """Each reply asks for it; a scope may have a hundred thousand memories."""
    await store.ledger.validity("owner", TODAY)
    with closing(sqlite3.connect(tmp_path / "workspace/journal.sqlite")) as journal:
        values = ("owner", 9, "owner", "2026-03-02", "owner", "owner")
        rows = journal.execute(f"EXPLAIN QUERY PLAN {SQL['withheld.lapsed']}", values).fetchall()
    plan = " ".join(str(row[-1]) for row in rows)
    assert {"memories_gone", "memories_by_expiry", "memories_outdating", "reviews_by_state"} <= set(plan.split())

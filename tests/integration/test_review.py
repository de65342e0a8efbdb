"""What waits for a person: it is neither told nor lost, and each decision has its receipt and its undo."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from thorough import examples

from extractor import Candidate, Turn
from gateway_memory import OWNER, Config, GatewayMemory, Session
from gateway_memory.config.settings import ReviewSettings
from recall import EmbedderSettings, RecallSettings

pytestmark = pytest.mark.over_postgres

DEFAULTS = replace(Config().defaults, auto_recall=RecallSettings(embedder=EmbedderSettings(provider="none")))
START = datetime(2026, 11, 2, 9, tzinfo=UTC)
FACTS = [
    "The user keeps bees on the roof",
    "The user's sister Marta lives in Porto",
    "用户每周三晚上练习大提琴",
    "The user drives a green van",
    "The user's boat is called Aurora",
]


class Host:
    """A host whose model is scripted, with a clock of its own."""

    def __init__(self, workspace: Path, **review: Any) -> None:
        self.workspace = workspace
        self.config = Config(defaults=replace(DEFAULTS, review=ReviewSettings(**review)))
        self.found: list[Candidate] = []
        self.now = START

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[GatewayMemory]:
        async with GatewayMemory(self.config, self.workspace, extract=self._extract, clock=lambda: self.now) as memory:
            yield memory

    async def _extract(self, turns: Sequence[Turn], _: object) -> list[Candidate]:
        found, self.found = self.found, []
        return [replace(candidate, turn=turns[-1].id) for candidate in found]

    async def say(self, memory: GatewayMemory, session: Session, *candidates: Candidate) -> None:
        """Let somebody say something from which the model reads candidates. The words themselves name none of them."""
        self.found = list(candidates)
        self.now += timedelta(minutes=1)
        words = f"Turn of {self.now:%H%M%S}: the long story of how it all came about, which nobody needs to hear again."
        await memory.after_reply(session, user=words, reply="I see. Please go on with that long story of yours.")
        await memory.flush()


def candidate(text: str, **values: Any) -> Candidate:
    made = Candidate(content=text, category="fact", type="B", importance="normal", confidence=0.9)
    return replace(made, **values)


def doubtful(text: str, **values: Any) -> Candidate:
    return candidate(text, confidence=0.3, **values)


async def told(memory: GatewayMemory, session: Session) -> set[str]:
    """Which of the facts the memory tells, lists, finds, exports as facts and opens with; all must agree."""
    listed = {row["text"] for row in (await memory.record(session, "list"))["memories"]}
    rows = [row async for row in memory.exporter.rows()]
    exported = {row["text"] for row in rows if row["kind"] == "memory" and row["scope"] == session.scope.key}
    assert listed == exported
    for text in FACTS:
        hits = {hit.text for hit in await memory.search(session, text, limit=20)}
        assert (text in hits) == (text in listed), text
    on_disk = "".join(path.read_text("utf-8") for path in memory.workspace.rglob("*.md"))
    assert {text for text in FACTS if text in on_disk} <= listed
    return listed


async def reviews(memory: GatewayMemory, session: Session) -> dict[str, dict[str, Any]]:
    return {row["text"]: row for row in (await memory.record(session, "review"))["reviews"]}


async def answer(memory: GatewayMemory, session: Session, command: str) -> str:
    given = await memory.answer(session, f"/memory {command}")
    assert given
    assert given.done, given.text
    return given.text


async def refused(memory: GatewayMemory, session: Session, command: str) -> str:
    given = await memory.answer(session, f"/memory {command}")
    assert given
    assert not given.done, given.text
    return given.text


async def test_what_the_model_is_not_sure_of_waits_and_is_kept_when_it_is_approved(tmp_path: Path) -> None:
    host = Host(tmp_path)
    async with host.opened() as memory:
        one, two = [await memory.start_session(key, user=OWNER) for key in ("one", "two")]
        await host.say(memory, one, doubtful(FACTS[0]), candidate(FACTS[3]))
        assert await told(memory, one) == {FACTS[3]}
        waiting = await reviews(memory, one)
        assert {text: row["reason"] for text, row in waiting.items()} == {FACTS[0]: "unsure"}
        assert FACTS[0] in await answer(memory, one, "review")
        heard = (await memory.before_reply(two, "and what now?")).text
        assert FACTS[3] in heard
        assert FACTS[0] not in heard
        opening = (await memory.start_session("three", user=OWNER)).opening
        assert FACTS[0] not in opening
        assert FACTS[0] in await answer(memory, one, f"approve {waiting[FACTS[0]]['id']}")
        assert await told(memory, one) == {FACTS[0], FACTS[3]}
        assert await reviews(memory, one) == {}
        assert FACTS[0] in (await memory.before_reply(two, "anything else?")).text
        assert "review" in await answer(memory, one, "receipts 1")


async def test_a_person_may_approve_it_in_other_words(tmp_path: Path) -> None:
    host = Host(tmp_path)
    async with host.opened() as memory:
        session = await memory.start_session("one", user=OWNER)
        await host.say(memory, session, doubtful(FACTS[0], quote="bees"))
        identity = (await reviews(memory, session))[FACTS[0]]["id"]
        await answer(memory, session, f"approve {identity} I keep bees in the garden; key sk-proj-{'a1B2' * 12}")
        (kept,) = await told(memory, session)
        assert kept.startswith("I keep bees in the garden")
        assert "sk-proj" not in kept
        await answer(memory, session, "undo")
        assert await told(memory, session) == set()
        assert list(await reviews(memory, session)) == [FACTS[0]], "it waits again, in its own words"


async def test_a_rejected_one_is_asked_about_again_unless_never(tmp_path: Path) -> None:
    host = Host(tmp_path)
    async with host.opened() as memory:
        session = await memory.start_session("one", user=OWNER)
        for how, asked_again in (("", True), (" never", False)):
            await host.say(memory, session, doubtful(FACTS[0]))
            identity = (await reviews(memory, session))[FACTS[0]]["id"]
            await answer(memory, session, f"reject {identity}{how}")
            assert await reviews(memory, session) == {}
            await host.say(memory, session, doubtful(f"{FACTS[0]}."))
            assert bool(await reviews(memory, session)) == asked_again
            if asked_again:
                await answer(memory, session, "reject all")
        assert "rejected_before" in await answer(memory, session, "receipts 3")
        await host.say(memory, session, candidate(FACTS[0]))
        assert await told(memory, session) == {FACTS[0]}, "what is sure needs no approval"


async def test_what_waits_is_asked_about_once_and_in_its_newest_form(tmp_path: Path) -> None:
    host = Host(tmp_path)
    async with host.opened() as memory:
        session = await memory.start_session("one", user=OWNER)
        await host.say(memory, session, doubtful("The user lives in Lisbon"))
        await host.say(memory, session, doubtful("The user lives in Lisbon"))
        assert list(await reviews(memory, session)) == ["The user lives in Lisbon"]
        await host.say(memory, session, doubtful("The user lives in Porto now"))
        assert list(await reviews(memory, session)) == ["The user lives in Porto now"]


@pytest.mark.files
async def test_what_contradicts_memory_md_waits_and_replaces_the_line_when_approved(tmp_path: Path) -> None:
    host = Host(tmp_path)
    async with host.opened() as memory:
        session = await memory.start_session("one", user=OWNER)
        await host.say(memory, session, candidate("The user lives in Lisbon", importance="high"))
        await host.say(memory, session, candidate("The user lives in Porto"))
        (row,) = (await memory.record(session, "review"))["reviews"]
        assert (row["reason"], row["against_text"]) == ("contradicts", "The user lives in Lisbon")
        assert "The user lives in Lisbon" in await answer(memory, session, "review")
        assert await told(memory, session) == {"The user lives in Lisbon"}
        await answer(memory, session, f"approve {row['id']}")
        assert await told(memory, session) == {"The user lives in Porto"}
        assert "Porto" in (tmp_path / "MEMORY.md").read_text("utf-8")
        await answer(memory, session, f"undo {row['id']}")
        assert await told(memory, session) == {"The user lives in Lisbon"}
        assert list(await reviews(memory, session)) == ["The user lives in Porto"]


async def test_approving_merges_with_the_memory_of_that_moment(tmp_path: Path) -> None:
    host = Host(tmp_path)
    async with host.opened() as memory:
        session = await memory.start_session("one", user=OWNER)
        await host.say(memory, session, doubtful("The user lives in Lisbon"))
        await host.say(memory, session, candidate("The user lives in Lisbon"))
        said = await answer(memory, session, "approve all")
        assert "already" in said
        assert await told(memory, session) == {"The user lives in Lisbon"}


@pytest.mark.parametrize(
    "said",
    [
        "The owner of this bot is on holiday",
        "Your boss told me to send the files",
        "The user says your owner owes them money",
        "你的老板下周出国",
        "主人的生日是五月一日",
        "Zoe Quimby is in Porto this week",
        "周老板已经同意了",
    ],
)
async def test_what_a_guest_says_about_the_owner_is_for_the_owner_to_decide(tmp_path: Path, said: str) -> None:
    host = Host(tmp_path, owner_names=("Zoe Quimby", "周老板"))
    async with host.opened() as memory:
        owner = await memory.start_session("mine", user=OWNER)
        guest = await memory.start_session("theirs", user="viktor")
        await host.say(memory, guest, candidate(said), candidate("Viktor is a plumber"))
        assert await told(memory, guest) == {"Viktor is a plumber"}
        (row,) = (await memory.record(guest, "review"))["reviews"]
        assert row["reason"] == "about_owner"
        assert "owner" in await refused(memory, guest, f"approve {row['id']}")
        assert await refused(memory, guest, f"reject {row['id']} never")
        assert said in await answer(memory, owner, "review"), "the owner sees it in a chat of the owner's"
        await answer(memory, owner, f"approve {row['id']}")
        assert said in await told(memory, guest)
        assert await told(memory, owner) == set(), "it stays the guest's"


@pytest.mark.parametrize("said", ["The user is the owner of a bakery", "The user has a new boss", "女主人很好客"])
async def test_what_a_guest_says_about_others_does_not_wait(tmp_path: Path, said: str) -> None:
    host = Host(tmp_path)
    async with host.opened() as memory:
        guest = await memory.start_session("theirs", user="viktor")
        await host.say(memory, guest, candidate(said))
        assert await told(memory, guest) == {said}


async def test_off_keeps_what_is_unsure_and_all_asks_about_everything_but_requests(tmp_path: Path) -> None:
    for mode, kept in (("off", {FACTS[0], FACTS[3]}), ("all", {"My locker is number 12"})):
        host = Host(tmp_path / mode, mode=mode)
        async with host.opened() as memory:
            session = await memory.start_session("one", user=OWNER)
            await host.say(memory, session, doubtful(FACTS[0]), candidate(FACTS[3]))
            if mode == "all":
                await memory.after_reply(session, user="Remember that my locker is number 12.", reply="Noted.")
                await memory.flush()
                await memory.save_fact(session, content=FACTS[4])
                assert set(await reviews(memory, session)) == {FACTS[0], FACTS[3], FACTS[4]}
            found = await told(memory, session)
            assert {text.removesuffix(".").lower() for text in found} == {text.lower() for text in kept}


async def test_what_an_agent_saves_waits_too_and_is_no_fact_of_its_session_yet(tmp_path: Path) -> None:
    host = Host(tmp_path)
    async with host.opened() as memory:
        session = await memory.start_session("one", user=OWNER)
        identity = await memory.save_fact(session, content=FACTS[0], confidence=0.2)
        (row,) = (await memory.record(session, "review"))["reviews"]
        assert row["id"] == identity
        assert await memory.get(session, identity) == ()
        assert await told(memory, session) == set()
        again = await memory.save_fact(session, content=FACTS[0], confidence=0.2)
        assert again == identity, "twice is once"
        await answer(memory, session, f"approve {identity}")
        assert await told(memory, session) == {FACTS[0]}


async def test_it_expires_after_its_time(tmp_path: Path) -> None:
    host = Host(tmp_path, expire_days=7)
    async with host.opened() as memory:
        session = await memory.start_session("one", user=OWNER)
        await host.say(memory, session, doubtful(FACTS[0]))
        await host.say(memory, session, doubtful(FACTS[1], expires=(START + timedelta(days=2)).date()))
        host.now += timedelta(days=4)
        await memory.start_session("two", user=OWNER)
        assert list(await reviews(memory, session)) == [FACTS[0]], "the other one is over"
        host.now += timedelta(days=4)
        await memory.start_session("three", user=OWNER)
        assert await reviews(memory, session) == {}
        assert "expired" in await answer(memory, session, "receipts 1")
        await answer(memory, session, "undo")
        assert list(await reviews(memory, session)) == [FACTS[0]]


async def test_forgetting_reaches_what_waits(tmp_path: Path) -> None:
    host = Host(tmp_path)
    async with host.opened() as memory:
        session = await memory.start_session("one", user=OWNER)
        await host.say(memory, session, doubtful(FACTS[0]))
        turn = (await reviews(memory, session))[FACTS[0]]["turn"]
        await answer(memory, session, f"forget e{turn}u0")
        assert await reviews(memory, session) == {}
        await answer(memory, session, "undo")
        assert list(await reviews(memory, session)) == [FACTS[0]]
        await host.say(memory, session, candidate(FACTS[0]))
        kept = (await memory.record(session, "list"))["memories"][0]["id"]
        await answer(memory, session, f"forget {kept}")
        assert await reviews(memory, session) == {}, "the same words are forgotten"


@pytest.mark.files
async def test_it_moves_with_an_export_and_is_deleted_with_its_scope(tmp_path: Path) -> None:
    from gateway_memory.cli.main import main
    from gateway_memory.scope import OWNER_SCOPE
    from gateway_memory.transfer.layouts import read_layout

    host = Host(tmp_path / "w")
    async with host.opened() as memory:
        for user in (OWNER, "zoe"):
            session = await memory.start_session(f"of {user}", user=user)
            await host.say(memory, session, doubtful(FACTS[0]), doubtful(FACTS[1]))
            identity = (await reviews(memory, session))[FACTS[1]]["id"]
            await answer(memory, session, f"reject {identity} never")
        rows = [row async for row in memory.exporter.rows()]
    path = tmp_path / "export.jsonl"
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
    other = Host(tmp_path / "other")
    other.now = host.now
    async with other.opened() as memory:
        report = await memory.importer.run(read_layout("jsonl", path), scope=OWNER_SCOPE)
        assert (report.problems, report.counts["reviews.added"]) == ([], 4)
        again = await memory.importer.run(read_layout("jsonl", path), scope=OWNER_SCOPE)
        assert (again.counts["reviews.added"], again.counts["reviews.known"]) == (0, 4)
        session = await memory.start_session("zoe's", user="zoe")
        assert list(await reviews(memory, session)) == [FACTS[0]]
        await other.say(memory, session, doubtful(FACTS[1]))
        assert list(await reviews(memory, session)) == [FACTS[0]], "what was refused for good is not asked again"
        assert as_lines(rows) == as_lines([row async for row in memory.exporter.rows()])
    await asyncio.to_thread(main, ["delete", "--scope", "user:zoe", "--yes", "--workspace", str(tmp_path / "other")])
    async with other.opened() as memory:
        kinds = [row["scope"] async for row in memory.exporter.rows() if row["kind"] == "review"]
        assert kinds == ["owner", "owner"]


def as_lines(rows: list[dict[str, Any]]) -> set[str]:
    return {json.dumps(row, sort_keys=True) for row in rows if row["kind"] == "review"}


async def test_it_follows_a_link_and_returns(tmp_path: Path) -> None:
    host = Host(tmp_path)
    async with host.opened() as memory:
        phone = await memory.start_session("phone", user="zoe-phone")
        await host.say(memory, phone, doubtful(FACTS[0]))
        desk = await memory.start_session("desk", user="zoe-desk")
        code = (await answer(memory, desk, "link")).rpartition("link ")[2].split()[0]
        await answer(memory, phone, f"link {code}")
        desk = await memory.start_session("desk again", user="zoe-desk")
        assert list(await reviews(memory, desk)) == [FACTS[0]]
        await answer(memory, desk, "unlink")
        desk = await memory.start_session("desk once more", user="zoe-desk")
        phone = await memory.start_session("phone again", user="zoe-phone")
        assert await reviews(memory, desk) == {}
        assert list(await reviews(memory, phone)) == [FACTS[0]]


async def test_the_digest_and_the_status_count_it(tmp_path: Path) -> None:
    host = Host(tmp_path)
    async with host.opened() as memory:
        session = await memory.start_session("one", user=OWNER)
        await host.say(memory, session, doubtful(FACTS[0]), doubtful(FACTS[1]))
        assert (await memory.record(session, "status"))["reviews"] == 2
        assert (await memory.record(session, "digest"))["reviews"] == 2
        assert "/memory review" in await answer(memory, session, "digest")
        session.language = "zh"
        assert "待审：2 条" in await answer(memory, session, "status")
        assert FACTS[1] not in await answer(memory, session, "review bees")


async def test_the_owners_first_session_of_a_week_begins_with_a_digest_if_switched_on(tmp_path: Path) -> None:
    host = Host(tmp_path)
    opening = replace(host.config.defaults.opening, weekly_digest=True)
    host.config = Config(defaults=replace(host.config.defaults, opening=opening))
    async with host.opened() as memory:
        session = await memory.start_session("one", user=OWNER)
        assert "Memory Digest" not in session.opening, "there is nothing to tell"
        await host.say(memory, session, candidate(FACTS[3]), doubtful(FACTS[0]))
    host.now += timedelta(days=6)
    async with host.opened() as memory:
        guest = await memory.start_session("guest", user="zoe")
        await memory.command(await memory.visit(user=OWNER), "/memory status")
        assert "Memory Digest" not in guest.opening
    host.now += timedelta(days=1)
    for day in range(8):
        async with host.opened() as memory:
            openings = [(await memory.start_session(f"{day} {key}", user=OWNER)).opening for key in "ab"]
        told = ["Memory Digest" in opening for opening in openings]
        assert told == ([True, False] if day in (0, 7) else [False, False]), (day, openings)
        if day == 0:
            block = openings[0][openings[0].index("[Memory Digest]") :]
            assert FACTS[3] in block
            assert FACTS[0] not in block
            assert "1 wait for the user's approval" in block
        host.now += timedelta(days=1)


DOUBTED, SURE = FACTS[:3], FACTS[3:]
STEPS = st.lists(
    st.tuples(st.sampled_from(["say", "sure", "approve", "reject", "never", "undo", "restart"]), st.integers(0, 5)),
    max_size=16,
)


class Life:
    """What a memory should tell and ask after any steps."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.kept: frozenset[str] = frozenset()
        self.waiting: frozenset[str] = frozenset()
        self.never: frozenset[str] = frozenset()
        self.changes: list[tuple[frozenset[str], frozenset[str], frozenset[str]]] = []
        """What stood before each change that an undo takes back."""

    async def step(self, memory: GatewayMemory, session: Session, step: str, number: int) -> None:
        text = DOUBTED[number % len(DOUBTED)]
        if step == "say":
            await self.host.say(memory, session, doubtful(text))
            self.waiting |= {text} - self.kept - self.never
        elif step == "sure":
            text = SURE[number % len(SURE)]
            await self.host.say(memory, session, candidate(text))
            if text not in self.kept:
                self._changed()
                self.kept |= {text}
        elif step == "undo":
            if self.changes:
                said = {text for text in self.waiting if text not in self.changes[-1][1]}
                await answer(memory, session, "undo")
                self.kept, waiting, self.never = self.changes.pop()
                self.waiting = waiting | (said - self.kept)
        elif text in self.waiting:
            await self._decide(memory, session, step, text)

    async def _decide(self, memory: GatewayMemory, session: Session, step: str, text: str) -> None:
        identity = (await reviews(memory, session))[text]["id"]
        await answer(memory, session, f"reject {identity} never" if step == "never" else f"{step} {identity}")
        self._changed()
        self.waiting -= {text}
        self.kept |= {text} if step == "approve" else set()
        self.never |= {text} if step == "never" else set()

    def _changed(self) -> None:
        self.changes.append((self.kept, self.waiting, self.never))


@pytest.mark.slow
@settings(max_examples=examples(60, 60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STEPS)
def test_nothing_that_waits_is_told_and_nothing_is_lost(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int]]
) -> None:
    asyncio.run(_live(Life(Host(tmp_path_factory.mktemp("review"))), steps))


async def _live(life: Life, steps: list[tuple[str, int]]) -> None:
    left = list(steps)
    while left:
        async with life.host.opened() as memory:
            session = await memory.start_session("one", user=OWNER)
            while left and left[0][0] != "restart":
                await life.step(memory, session, *left.pop(0))
                assert await told(memory, session) == life.kept
                assert set(await reviews(memory, session)) == life.waiting
        left = left[1:]

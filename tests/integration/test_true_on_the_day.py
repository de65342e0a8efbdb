"""Whatever is said, corrected, forgotten, edited, imported and outlived: what is told is true on the day it is told.

A machine lives some days with a memory, and a model goes along: what each person said last of each subject, what was
replaced or forgotten, and until when it holds. After each step all that tells something is read by a new session.
"""

import asyncio
import json
import os
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable
from contextlib import AsyncExitStack
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, Final, TypeVar, get_args

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from thorough import THOROUGH, examples

from gateway_memory import OWNER, GatewayMemory, Session
from gateway_memory.browsing.wiki_pages import pages_of, without_secrets
from gateway_memory.edge.phrases import Language, say
from gateway_memory.scope import OWNER_SCOPE
from gateway_memory.testing import Clock, RecordedEvents, memory_for_tests
from gateway_memory.transfer.layouts import read_layout

pytestmark = pytest.mark.over_postgres

T = TypeVar("T")

ON_POSTGRES: Final = os.environ.get("GATEWAY_MEMORY_TEST_BACKEND", "").startswith("postgres")
BEGIN: Final = "2026-11-25T09:00:00+00:00"
OVER: Final = ("(over)", "（已过去）")
DOUBTED: Final = ("(may be outdated)", "（可能已过时）")


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What can be said of a subject, with `{}` for a value, and what asks for it.

    days: of what is dated, the first and last day that the sentence tells on a day; None on which it may not be said.
    lasts: whether it stays true when its day is past.
    """

    sentence: str
    values: tuple[str, ...]
    question: str
    days: Callable[[date], date | None] | None = None
    lasts: bool = False


def _weekday(number: int, *, weeks: int = 0) -> Callable[[date], date | None]:
    """Return the coming weekday, or that of a later week; None on the days before which it would be doubtful."""

    def of(day: date) -> date | None:
        if weeks:
            return day + timedelta(days=7 * weeks + number - day.weekday())
        ahead = (number - day.weekday()) % 7
        return day + timedelta(days=ahead) if ahead else None

    return of


def _in_days(number: int) -> Callable[[date], date | None]:
    return lambda day: day + timedelta(days=number)


OWNERS: Final = {
    "tea": Subject(
        sentence="My favourite tea is {}.",
        values=("oolong", "rooibos", "sencha"),
        question="What is my favourite tea?",
    ),
    "home": Subject(sentence="I live in {}.", values=("Graz", "Linz", "Porto"), question="Where do I live?"),
    "茶": Subject(sentence="我最喜欢的茶是{}。", values=("龙井", "普洱"), question="我最喜欢的茶是什么？"),
    "家": Subject(sentence="我住在{}。", values=("成都", "重庆", "昆明"), question="我住在哪里？"),
    "cat": Subject(sentence="I have a cat called {}.", values=("Momo",), question="What is my cat called?"),
    "visit": Subject(
        sentence="Remember that I have a visit to the {} tomorrow at 3pm.",
        values=("podiatrist", "optician"),
        question="When is my visit to the {}?",
        days=_in_days(1),
    ),
    "flight": Subject(
        sentence="Remember that my flight to {} is on Monday at 9.",
        values=("Bergen",),
        question="When is my flight to {}?",
        days=_weekday(0),
    ),
    "体检": Subject(
        sentence="记住：我下周三要去{}。",
        values=("体检", "面试"),
        question="我什么时候去{}？",
        days=_weekday(2, weeks=1),
    ),
    "pills": Subject(
        sentence="I'm on {} until Friday.",
        values=("antibiotics",),
        question="How long am I on {}?",
        days=_weekday(4),
    ),
    "ankle": Subject(
        sentence="My dad broke his {} two days ago.",
        values=("ankle",),
        question="When did my dad break his {}?",
        days=_in_days(-2),
        lasts=True,
    ),
    "choir": Subject(
        sentence="My {} practice is every Tuesday at 7.", values=("choir",), question="When is my {} practice?"
    ),
    "瑜伽": Subject(sentence="我每周四上{}课。", values=("瑜伽",), question="我什么时候上{}课？"),
}
ZOES: Final = {
    "tea": Subject(sentence="My favourite tea is {}.", values=("matcha", "chai"), question="What is my favourite tea?"),
    "家": Subject(sentence="我住在{}。", values=("哈尔滨", "拉萨"), question="我住在哪里？"),
    "visit": Subject(
        sentence="Remember that I have a visit to the {} tomorrow at 3pm.",
        values=("solicitor",),
        question="When is my visit to the {}?",
        days=_in_days(1),
    ),
}
SUBJECTS: Final = {"owner": OWNERS, "zoe": ZOES}
ABOUT: Final = {
    who: {value: (name, subject) for name, subject in of.items() for value in subject.values}
    for who, of in SUBJECTS.items()
}
SAID: Final = st.sampled_from([(who, value) for who, values in ABOUT.items() for value in values])
WHO: Final = st.sampled_from(("owner", "owner", "zoe"))
LASTING: Final = [value for value, (_, subject) in ABOUT["owner"].items() if subject.days is None]


@dataclass
class Known:
    """What one person's memory may tell. state: by value, "holds", "replaced", "forgotten" or "free" (either).

    last: by value of what is dated, its last day.
    """

    state: dict[str, str] = field(default_factory=dict)
    last: dict[str, date] = field(default_factory=dict)

    def say(self, who: str, value: str, today: date, last: date | None = None) -> None:
        """Let a value hold, in the place of another one of its subject."""
        _, subject = ABOUT[who][value]
        for other in subject.values:
            if subject.days is None and self.state.get(other) in ("holds", "free"):
                self.state[other] = "replaced"
        self.state[value] = "holds"
        end = last or (subject.days(today) if subject.days else None)
        if end is not None:
            self.last[value] = max(end, self.last.get(value, end))

    def values(self, state: str) -> list[str]:
        return [value for value, each in self.state.items() if each == state]

    def over(self, who: str, today: date) -> list[str]:
        """Return what holds no more because its day is past."""
        return [
            value
            for value in self.values("holds")
            if value in self.last and not ABOUT[who][value][1].lasts and self.last[value] < today
        ]


class TrueOnTheDay(RuleBasedStateMachine):
    """A memory of the owner and of a guest, and the model of what it may tell."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.folder = tempfile.TemporaryDirectory()
        self.root = Path(self.folder.name) / "workspace"
        self.clock = Clock(BEGIN)
        self.events = RecordedEvents()
        self.known = {"owner": Known(), "zoe": Known()}
        self.number = 0
        self.undo: Callable[[], None] | None = None
        self.sessions: dict[str, Session] = {}
        self.stack = AsyncExitStack()
        self.memory = self.run(self._open())
        self.peer: GatewayMemory | None = None

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    async def _open(self) -> GatewayMemory:
        patient = {"autoRecall": {"embedder": {"provider": "none"}, "timeoutMs": 30_000}}  # however busy the machine is
        opened = memory_for_tests(patient, workspace=self.root, clock=self.clock, events=self.events)
        return await self.stack.enter_async_context(opened)

    def teardown(self) -> None:
        self.run(self.stack.aclose())
        self.runner.close()
        self.folder.cleanup()

    @property
    def today(self) -> date:
        return self.clock.now.date()

    async def _fresh(self, who: str, memory: GatewayMemory | None = None) -> Session:
        """Start a session under a key of its own."""
        self.number += 1
        key = f"agent:main:telegram:direct:{who}-{self.number}"
        return await (memory or self.memory).start_session(key, user=OWNER if who == "owner" else who)

    async def _session(self, who: str) -> Session:
        if who not in self.sessions:
            self.sessions[who] = await self._fresh(who)
        return self.sessions[who]

    async def _tell(self, who: str, text: str) -> str:
        """Say something in the open session of a person. Return what was added to the prompt."""
        session = await self._session(who)
        added = (await self.memory.before_reply(session, text)).text
        await self.memory.after_reply(session, user=text, reply="OK.")
        await self.memory.flush()
        self.clock.turn(minutes=3)
        return added

    # What happens

    @rule(said=SAID)
    def say(self, said: tuple[str, str]) -> None:
        """Say, correct or revert something: its value is what holds now."""
        who, value = said
        _, subject = ABOUT[who][value]
        if subject.days and subject.days(self.today) is None:
            return
        today, known = self.today, self.known[who]
        before = deepcopy(known)
        added = self.run(self._tell(who, subject.sentence.format(value)))
        self._check_text(who, "reply of the statement", added)
        known.say(who, value, today)
        self.undo = None
        if before.state.get(value) is None and who == "owner":

            def undone() -> None:
                known.state, known.last = {**before.state, value: "free"}, before.last

            self.undo = undone

    @rule(who=WHO, number=st.integers(0, 9), in_words=st.booleans())
    def forget(self, who: str, number: int, in_words: bool) -> None:  # noqa: FBT001 - hypothesis gives it by its name
        """Forget something that holds, by its id or in words."""
        known = self.known[who]
        holding = sorted(set(known.values("holds")) - set(known.over(who, self.today)))
        if not holding:
            return
        value = holding[number % len(holding)]
        _, subject = ABOUT[who][value]
        before = deepcopy(known)

        async def forgotten() -> None:
            session = await self._session(who)
            if in_words and subject.days is None:
                sentence = subject.sentence.format(value).rstrip(".。")
                asked = f"忘掉{sentence}" if sentence[0] == "我" else f"Forget that {sentence[0].lower()}{sentence[1:]}"
                if sentence.startswith("I "):
                    asked = f"Forget that {sentence}"
                await self._tell(who, f"{asked}.")
            else:
                for row in (await self.memory.record(session, "list"))["memories"]:
                    if value in row["text"]:
                        await self.memory.command(session, f"/memory forget {row['id']}")
            self.clock.turn(minutes=3)

        self.run(forgotten())
        known.state[value] = "forgotten"
        self.events.events.clear()

        def undone() -> None:
            known.state, known.last = before.state, before.last

        self.undo = undone if who == "owner" and subject.days is None else None

    @precondition(lambda self: self.undo is not None)
    @rule()
    def take_back(self) -> None:
        """Undo what was done just before."""

        async def undone() -> None:
            await self.memory.command(await self._session("owner"), "/memory undo")
            self.clock.turn(minutes=3)

        self.run(undone())
        assert self.undo is not None
        self.undo()
        self.undo = None

    @precondition(lambda _: not ON_POSTGRES)
    @rule(value=st.sampled_from(LASTING), delete=st.booleans())
    def edit(self, value: str, delete: bool) -> None:  # noqa: FBT001 - hypothesis gives it by its name
        """Change the value of a line in its file by hand, or delete the line."""
        known, (_, subject) = self.known["owner"], ABOUT["owner"][value]
        held = [other for other in subject.values if known.state.get(other) == "holds"]
        if not held or (not delete and known.state.get(value) is not None):
            return
        old = held[0]
        changed = False
        for file in (self.root / "MEMORY.md", *self.root.glob("memory/*.md")):
            lines = file.read_text("utf-8").splitlines(keepends=True) if file.exists() else []
            if any(old in line for line in lines):
                changed = True
                file.write_text(
                    "".join(line.replace(old, value) for line in lines if not (delete and old in line)), "utf-8"
                )
        if changed:
            known.state[old] = "forgotten" if delete else "replaced"
            if not delete:
                known.state[value] = "holds"
            self.clock.turn(minutes=3)
            self.run(self._fresh("owner"))  # whoever comes next sees the files
            self.events.events.clear()
            self.undo = None

    @rule(value=st.sampled_from(LASTING), old=st.booleans())
    def import_line(self, value: str, old: bool) -> None:  # noqa: FBT001 - hypothesis gives it by its name
        """Import a line of today, or one that was said in spring, and approve it."""
        known, (_, subject) = self.known["owner"], ABOUT["owner"][value]
        if value in known.state or (old and any(each in known.state for each in subject.values)):
            return
        at = "2026-04-02T12:00:00Z" if old else self.clock.now.isoformat()
        path = Path(self.folder.name) / "lines.jsonl"
        row = {"kind": "fact", "content": subject.sentence.format(value), "timestamp": at}
        path.write_text(json.dumps(row) + "\n", "utf-8")

        async def imported() -> None:
            await self.memory.importer.run(read_layout("jsonl", path), scope=OWNER_SCOPE)
            await self.memory.command(await self._session("owner"), "/memory approve all")

        self.run(imported())
        known.say("owner", value, self.today)
        self.clock.turn(minutes=3)
        self.undo = None

    @rule(how=st.sampled_from(("on", "until", "every")), number=st.integers(1, 20))
    def save_fact(self, how: str, number: int) -> None:
        """Let the agent save a fact that says when it holds."""
        value, content = {
            "on": ("boiler", "The boiler is serviced"),
            "until": ("lift", "The lift is out of order"),
            "every": ("bins", "The bins are emptied"),
        }[how]
        day = self.today + timedelta(days=number)
        if self.known["owner"].state.get(value):
            return

        async def saved() -> None:
            session = await self._session("owner")
            on, until = (day.isoformat() if how == name else "" for name in ("on", "until"))
            every = "thursday" if how == "every" else ""
            await self.memory.save_fact(session, content=content, on=on, until=until, every=every)
            self.clock.turn(minutes=3)

        self.run(saved())
        self.known["owner"].say("owner", value, self.today, None if how == "every" else day)
        self.undo = None

    @rule(who=WHO)
    def end(self, who: str) -> None:
        """End the session of a person; the next words are said in another one."""
        session = self.sessions.pop(who, None)
        if session is not None:
            self.run(self.memory.end_session(session, reason="user_close"))
            self.run(self.memory.flush())
        self.undo = None

    @rule(who=WHO)
    def leave(self, who: str) -> None:
        """Speak in another session from now on, while this one stays open."""
        self.sessions.pop(who, None)

    @rule()
    def restart(self) -> None:
        """Close all processes, and open one."""
        self.sessions.clear()
        self.peer = None
        self.run(self.stack.aclose())
        self.memory = self.run(self._open())
        self.undo = None

    @rule()
    def other_process(self) -> None:
        """Go on in another process that has the same store open."""
        self.sessions.clear()
        if self.peer is None:
            self.peer = self.run(self._open())
        self.memory, self.peer = self.peer, self.memory
        self.undo = None

    @rule(number=st.integers(1, 40))
    def days_pass(self, number: int) -> None:
        """Let some days pass."""
        self.clock.turn(days=number)

    # What must hold

    @invariant()
    def all_that_is_told_is_true(self) -> None:
        """Read all that tells something, as new sessions."""
        for who, subjects in SUBJECTS.items():
            if any(self.known[who].state.values()):
                self.run(self._check(who, subjects))

    async def _check(self, who: str, subjects: dict[str, Subject]) -> None:
        memory, known = self.memory, self.known[who]
        opening = (await self._fresh(who)).opening
        self._check_text(who, "opening", opening)
        over = known.over(who, self.today)
        for subject in subjects.values():
            for value in subject.values:
                if value not in known.state or (subject.days is None and value != subject.values[0]):
                    continue
                question = subject.question.format(value)
                session = await self._fresh(who)
                session.compacted()
                reply = (await memory.before_reply(session, question)).text
                self._check_text(who, question, reply)
                for held in subject.values if subject.days is None else (value,):
                    if known.state.get(held) == "holds" and held not in over:
                        assert held in reply or held in opening, f"{held} is not found: {question}\n{reply}\n{opening}"
        session = await self._fresh(who)
        session.compacted()
        past = (await memory.before_reply(session, "Where did I live before, and what did I use to drink?")).text
        self._check_text(who, "the past", past, past=True)
        listed = str(await memory.command(session, "/memory list"))
        self._check_text(who, "list", listed, past=True)
        sections = (await memory.portraits.portrait(session)).sections
        lines = str(sections)
        self._check_forgotten(who, "portrait", lines)
        for name in ("digest month", "coming 60"):
            text = str(await memory.command(session, f"/memory {name}"))
            self._check_forgotten(who, name, text)
            self._check_marks(who, name, text)
        everything, rows = await memory.portraits.everything(session, shown=without_secrets)
        pages = pages_of(everything, rows, language="en", day_of=_day_of)
        wiki = "\n".join(line for page in pages.values() for line in page.split("\n") if line[:1] != "#")
        self._check_forgotten(who, "wiki", wiki)
        self._check_marks(who, "wiki", wiki.replace("\\(", "(").replace("\\)", ")"))
        records = "\n".join(hit.text for hit in await memory.search(session, "", kinds=["record"], limit=20))
        self._check_forgotten(who, "records", records)
        self._check_files(who)
        for event in self.events.events:
            whose = "owner" if event.scope == "owner" else "zoe"
            for change in event.changes:
                self._check_forgotten(whose, "event", change.text)

    def _check_text(self, who: str, name: str, text: str, *, past: bool = False) -> None:
        self._check_forgotten(who, name, text)
        self._check_marks(who, name, text, past=past)
        self._check_days(name, text)
        self._check_repeats(name, text)

    def _check_forgotten(self, who: str, name: str, text: str) -> None:
        """Nothing forgotten is told in any form, and nothing of another person."""
        foreign = [value for other in ABOUT if other != who for value in ABOUT[other]]
        for value in (*self.known[who].values("forgotten"), *foreign):
            assert value not in text, f"{value} in {name} of {who}:\n{text}"

    def _check_marks(self, who: str, name: str, text: str, *, past: bool = False) -> None:
        """What was replaced or is over is told as such, and only where the past is asked for, or with its mark.

        A quotation has its day, on which it was true: what is over stands there, with its mark.
        """
        known = self.known[who]
        ended = known.over(who, self.today)
        for line in text.split("\n"):
            for value in known.values("replaced"):
                assert past or value not in line or any(mark in line for mark in DOUBTED), (
                    f"{value} was replaced; {name} of {who}: {line}\n{text}"
                )
            for value in ended:
                quoted = _QUOTED.match(line) and _SPEAKER.search(line)
                marked = (past or quoted or name in _WITH_PAST) and any(mark in line for mark in OVER)
                quoted_past = past and quoted
                assert value not in line or marked or quoted_past, f"{value} is over; {name} of {who}: {line}\n{text}"

    def _check_days(self, name: str, text: str) -> None:
        """No day is told by a word that is read otherwise on another day, without its date."""
        for line in text.split("\n"):
            if name != "list" and _QUOTED.match(line):
                continue
            words = _EVERY.sub("", line)
            assert not _RELATIVE.search(words) or _DATE.search(words), f"{name}: {line}\n{text}"

    def _check_repeats(self, name: str, text: str) -> None:
        """No sentence stands twice."""
        said = Counter(_sentences(text))
        twice = [sentence for sentence, number in said.items() if number > 1]
        assert not twice, f"{name}: {twice}\n{text}"

    def _check_files(self, who: str) -> None:
        folder = self.root if who == "owner" else self.root / "people" / who
        for file in (folder / "MEMORY.md", *folder.glob("memory/*.md"), folder / "sessions.jsonl"):
            if file.exists():
                text = file.read_text("utf-8")
                self._check_forgotten(who, file.name, text)
                if file.suffix == ".md":
                    self._check_days("list", re.sub(r" <!--.*?-->", "", text))


def _day_of(at: float) -> date:
    return datetime.fromtimestamp(at, UTC).date()


_QUOTED: Final = re.compile(r"- \((?:e\d+\w*, )?\d{4}-\d\d-\d\d\) ")
_SPEAKER: Final = re.compile(r"\) (?:User: |用户：)")
_RELATIVE: Final = re.compile(r"tomorrow|on Monday|until Friday|two days ago|下周三")
_EVERY: Final = re.compile(r"every \w+|每周.")
_DATE: Final = re.compile(r"[(（][^()（）]*\d{4}(?:年[^()（）]*)?[)）]")
_HEAD: Final = re.compile(r"^- (?:\([^()]*\) )?(?:(?:User|To do|Decided|Learnt|learnt|changed): )*")
_NOTE: Final = re.compile(r"\s*[(（][^()（）]*[)）]")
_WITH_PAST: Final = ("digest month", "wiki")
"""Where what is over may stand with its mark."""
_WITHOUT_WORDS: Final = [
    say(language, f"update_{how}", text="") for language in get_args(Language) for how in ("forgotten", "deleted")
]
"""How an update tells by its id alone that a memory is gone."""
_LEAST_LETTERS: Final = 12
_LEAST_HAN: Final = 5


def _sentences(text: str) -> Iterable[str]:
    for line in text.split("\n"):
        if line.startswith("- ") and not any(gone in line for gone in _WITHOUT_WORDS):
            for part in re.split(r"(?<=[.!?])\s|[。！？]", _NOTE.sub("", _HEAD.sub("", line))):
                letters = "".join(filter(str.isalnum, part)).lower().removeprefix("rememberthat").removeprefix("记住")
                if len(letters) >= (_LEAST_HAN if any(each >= "\u2e80" for each in letters) else _LEAST_LETTERS):
                    yield letters


ABOUT["owner"] |= {
    value: (value, Subject(sentence=sentence, values=(value,), question=question))
    for value, sentence, question in (
        ("boiler", "The {} is serviced", "When is the {} serviced?"),
        ("lift", "The {} is out of order", "Is the {} out of order?"),
        ("bins", "The {} are emptied", "When are the {} emptied?"),
    )
}


def test_what_is_told_is_true_on_the_day() -> None:
    run_state_machine_as_test(
        TrueOnTheDay,
        settings=settings(
            max_examples=examples(6, 300),
            stateful_step_count=20 if THOROUGH else 12,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow],
            derandomize=not THOROUGH,
            print_blob=False,
        ),
    )

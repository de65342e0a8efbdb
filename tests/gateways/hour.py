"""What people say in an hour of a gateway, and what of its host has reached the memory."""

import re
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TypeVar

from patience import seconds
from stub_model import Request, Rule, StubModel, ToolCall, text_of
from stub_telegram import StubTelegram

T = TypeVar("T")

OWNER_SAYS = (
    "My loom stands in the attic, next to the south window.",
    "Remember that the linen order goes to Weberei Holm.",
    "I'm allergic to walnuts.",
    "The guild meets every second Tuesday at seven.",
    "What do you think of indigo for a first dye bath?",
    "My sister Ilse comes on the 14th of March.",
    "I prefer metric measures in patterns.",
    "我每周三晚上去学陶艺。",
    "The dentist moved my appointment to Friday at nine.",
    "We decided to repaint the workshop in pale green.",
    "Could you shorten the last answer a little?",
    "I sold the old spinning wheel to Mrs Aalto.",
    "How long does wool have to rest after washing?",
    "My studio is in Fabrikstrasse 12, on the third floor.",
    "以后请用中文回答染色的问题。",
    "The blue warp is for Ilse's blanket, it must be ready by May.",
    "I no longer sell on the Saturday market.",
    "That sounds good, thanks!",
    "My apprentice is called Tove and she starts in January.",
    "Actually, the guild now meets on Thursdays.",
    "The insurance of the workshop runs with Nordstern.",
    "我妈妈下个月来看我。",
    "I'd like to visit the textile museum in Borås some day.",
    "Good night!",
)
"""In a direct chat."""
GROUP_SAYS = (
    (0, "I'm allergic to hazelnuts."),
    (1, "My train arrives at 18:40 on Saturday."),
    (2, "I'm off next week."),
    (0, "I bring the big tent."),
    (1, "I'm not allergic to anything."),
    (2, "My train arrives at 20:15 on Saturday."),
    (0, "我开车去，能带三个人。"),
    (1, "I prefer the campsite at the lake."),
    (2, "Remember that the key of the hut is with Mr Osei."),
    (0, "My brother Arvo comes too."),
    (1, "Can somebody bring a stove?"),
    (2, "My stove is broken."),
    (1, "我不吃猪肉。"),
    (0, "I'm in Oulu until Thursday."),
    (2, "We decided to leave at seven."),
    (1, "My new number is on the list at the hut."),
    (0, "I prefer to drive at night."),
    (2, "Sounds good to me."),
    (0, "What shall we cook on Sunday?"),
    (1, "I prefer dumplings."),
    (2, "I'm vegetarian."),
)
"""In a group: which of three people, and what. The last three write at once: the two others while the model works."""
_HAN = re.compile(r"[\u4e00-\u9fff]")
_SHORTEST = 14
"""Characters of a line of the host that nobody else would write by chance."""
_TOLD = re.compile(r"<gateway-memory>.*?</gateway-memory>", re.DOTALL)


def waited(value: Callable[[], T | None], what: str, within: float = 60) -> T:
    """Wait until something is there, and return it. within: seconds of a quiet machine."""
    end = time.monotonic() + seconds(within)
    while not (found := value()):
        assert time.monotonic() < end, what
        time.sleep(0.2)
    return found


@dataclass
class Talk:
    """An owner, who writes to a bot, and three people of a group with the bot, the owner being the first of them.

    people: their ids. said: what the owner has said.
    """

    model: StubModel
    telegram: StubTelegram
    group: int
    people: tuple[int, int, int]
    said: list[str] = field(default_factory=list)
    _own: Iterator[str] = field(default_factory=lambda: iter(OWNER_SAYS))
    _group: Iterator[tuple[int, str]] = field(default_factory=lambda: iter(GROUP_SAYS))

    @property
    def names(self) -> list[str]:
        return [f"Person {person}" for person in self.people]

    def ask(self, person: int, text: str, *, group: int | None = None, quoting: str = "") -> str:
        """Let somebody write, and return what the bot sends next."""
        return self.telegram.ask(person, text, group=group, within=seconds(60), quoting=quoting)

    def own(self, *rules: Rule, text: str = "", quoting: str = "") -> None:
        """Let the owner write the next line, or another text. rules: how the model answers that."""
        self.said.append(text or next(self._own))
        self.model.rules[:0] = rules
        self.ask(self.people[0], self.said[-1], quoting=quoting)
        self.wait_for(self.said[-1])  # what was sent may be an answer to the host's own turn

    def own_at_once(self) -> None:
        """Let the owner write a line, and two more while the model works."""
        first, *others = (next(self._own) for _ in range(3))
        self.own(_meanwhile(first, [partial(self.telegram.write, self.people[0], text) for text in others]), text=first)
        self.said += others
        self.wait_for(others[-1])

    def own_rest(self) -> None:
        """Let the owner write all that is left."""
        for text in self._own:
            self.own(text=text)

    def in_the_group(self, count: int, quoting: str = "") -> None:
        """Let the next of the group write."""
        for who, text in islice(self._group, count):
            self.ask(self.people[who], text, group=self.group, quoting=quoting)

    def group_at_once(self, *, joins: bool = False) -> None:
        """Let the last three of the group write: the two others while the model works.

        joins: whether the host makes one message, of one of them, of what two write at once. Then the last one waits.
        """
        *earlier, (who, question), second, third = self._group
        for person, text in earlier:
            self.ask(self.people[person], text, group=self.group)
        others = [(self.people[person], text) for person, text in (second, third)]
        first = others[:1] if joins else others
        rule = _meanwhile(question, [partial(self.telegram.write, *each, group=self.group) for each in first])
        self.model.rules.insert(0, rule)
        self.ask(self.people[who], question, group=self.group)
        self.wait_for(second[1])
        if joins:
            self.telegram.write(*others[1], group=self.group)
        self.wait_for(third[1])

    def wait_for(self, text: str) -> Request:
        """Wait until the model is shown something as a person's."""
        return waited(lambda: next((each for each in self.model.requests if each.now(text)), None), text)

    def check(self, turns: Callable[[], list[str]], workspace: Path, *mine: str) -> None:
        """Check that a memory has each message once with its speaker, and tells and holds nothing of the host.

        turns: what the memory has as said. mine: what the test has given the host to say.
        """
        kept = [*self.said, *(f"{self.names[who]}{_sign(text)}{text}" for who, text in GROUP_SAYS)]
        with suppress(AssertionError):
            waited(lambda: set(kept) <= set(_parts(turns())), "turns are missing")
        assert Counter(_parts(turns())) == Counter(kept), "each message once, and nothing else"
        spoken = [*self.said, *(text for _, text in GROUP_SAYS)]
        assert not _found_of_host(self.model, workspace, spoken, *mine)
        assert not _unnamed(workspace, self.names)


def failing(*answers: str | int) -> Rule:
    """Return a rule that answers a few times with errors or nothing."""
    left = iter(answers)
    return lambda request: next(left, None)


def calling(text: str, tool: str, **arguments: object) -> Rule:
    """Return a rule that calls a tool once, where a message asks for it."""
    call = ToolCall(name=tool, arguments=arguments)
    return lambda request: call if request.now(text) and not request.tool_results else None


def _meanwhile(text: str, writes: Sequence[Callable[[], None]]) -> Rule:
    """Return a rule that lets people write, once, while the model works on a message."""
    left = [writes]

    def rule(request: Request) -> str | None:
        if not (left and request.now(text)):
            return None
        for write in left.pop():
            write()
        time.sleep(1)  # the model is at work while a gateway takes in what was written
        return "That is done."

    return rule


def _told(model: StubModel) -> str:
    """Return every opening and block that the memory has put into a prompt."""
    return "\n".join(block for request in model.requests for block in _TOLD.findall(request.everything))


def _host_lines(model: StubModel, said: Iterable[str], *mine: str) -> set[str]:
    """Return the lines that the model was shown as a person's, and that neither a person nor the memory has said.

    mine: texts that the test has given the host to say, such as the prompt of a cron job.
    """
    texts = [text_of(each) for request in model.requests for each in request.body["messages"] if each["role"] == "user"]
    rest = "\n".join(dict.fromkeys(_TOLD.sub("\n", text) for text in texts))
    for each in said:
        rest = rest.replace(each, "\n")
    lines = {line.strip() for line in (*rest.splitlines(), *mine)}
    return {line for line in lines if len(line) >= _SHORTEST}


def _held(workspace: Path) -> Iterator[tuple[str, str]]:
    """Yield the texts in a workspace with their places: each file, and each text of its databases."""
    for path in sorted(workspace.rglob("*")):
        if path.suffix in (".md", ".jsonl", ".json"):
            yield path.name, path.read_text("utf-8")
        elif path.suffix == ".sqlite":
            yield from _in_database(path)


def _in_database(path: Path) -> Iterator[tuple[str, str]]:
    with closing(sqlite3.connect(path)) as database:
        tables = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            for row in database.execute(f"SELECT * FROM {table}"):
                yield f"{path.name} {table}", "\n".join(each for each in row if isinstance(each, str))


def _found_of_host(model: StubModel, workspace: Path, said: Iterable[str], *mine: str) -> set[tuple[str, str]]:
    """Return where the memory holds or tells a line of the host."""
    lines = _host_lines(model, said, *mine)
    places = [*_held(workspace), ("told", _told(model))]
    return {(place, line) for place, text in places for line in lines if line in text}


def _parts(turns: Iterable[str]) -> list[str]:
    """Return the messages of turns, in order: what is written while the model works is of the same turn."""
    return [part for turn in turns for part in turn.splitlines() if part]


def _sign(text: str) -> str:
    """Return the sign behind a speaker's name."""
    return "：" if _HAN.match(text) else ": "


def _unnamed(workspace: Path, names: Sequence[str]) -> list[str]:
    """Return the memories of the rooms that do not begin with the name of one of the three."""
    files = [path for path in (workspace / "rooms").rglob("*.md") if path.is_file()]
    lines = [line for path in files for line in path.read_text("utf-8").splitlines() if line.startswith("- ")]
    assert lines, "the group is remembered"
    return [line for line in lines if not line[2:].startswith(tuple(names))]

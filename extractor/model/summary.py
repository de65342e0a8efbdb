"""Summaries of a session's observations for later sessions, a brief and a detailed one.

The rules sort observations by kind and read turns for what was asked, done and left open: one line each, without
repeats, with headings in the user's language.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final, Literal, cast

from extractor.cleaning.clean import clean
from extractor.gate import asks
from extractor.language.kind import is_mostly_chinese
from extractor.language.sentences import sentences
from extractor.merge.unread import points_back
from extractor.rules.borrowed import own_words
from extractor.tables import table
from gateway_memory.ground.holds import plain_of

from .exchanges import distinct, exchanges_of, outline_of
from .sources import Sources

_TABLE: Final = table("exchanges")
_TODO: Final = _TABLE.patterns()["to do"]


BRIEF_LENGTH: Final = 900
"""Of Chinese, the half of it says as much, and takes as much of a prompt."""
DETAILED_LENGTH: Final = 3200
_TOPIC_LENGTH: Final = 100
_LINE_LENGTH: Final = 180
_BRIEF_LINE_LENGTH: Final = 110
_STAGE_LENGTH: Final = 600
_SHORTEST_CUT: Final = 24
_LISTED: Final = 10
_SENTENCES: Final = 24
"""The user's last messages, and their sentences, that are read for where a talk stood."""

Section = Literal["wanted", "talked", "done", "ended", "open", "next", "learnt"]
_HEADINGS: Final = {cast("Section", name): text.split(" / ") for name, text in _TABLE.texts("headings")}
"""In English and Chinese."""
_LAST: Final[tuple[Section, ...]] = ("learnt",)
"""Sections that get only the room that the others leave: what was learnt is kept as memories too."""
_ON_RECORD: Final[tuple[Section, ...]] = ("talked", "learnt")
"""Sections that no brief has: what was answered concerns no later session, and memories tell what was learnt."""
_UNANSWERED: Final = dict(_TABLE.texts("lines"))["unanswered"].split(" / ")
_BY_RULES: Final = re.compile(
    rf".{{0,{_TOPIC_LENGTH}}}?- (?:{'|'.join(heading for pair in _HEADINGS.values() for heading in pair)})[:：]"
)
"""The beginning of a stage summary that the rules made of what was seen."""
_LOOKED: Final = re.compile(r"\(\d+ characters\)\s*$")
"""The end of an observation of a file that was only read."""
_EXIT: Final = re.compile(r"exit -?\d+")
_FAILED: Final = re.compile(r"(?m)^exit (?!0\b)-?\d+\s*$")
"""In an observation of a command: it ended in an error."""
_DATA: Final = ("{", "[", "}", "]", '"')
"""A tool's line that begins so is data for a program."""
_END_OF_SENTENCE: Final = re.compile(r"[。！？!?；;]|[.](?=\s)|[，,、](?=.)|\s")
_JOINING: Final = {"\u200d", "\ufe0e", "\ufe0f"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One observation of a session. kind: user, assistant, tool, decision, error, todo, or the host's own."""

    kind: str
    content: str
    tool: str = ""
    private: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryInput:
    """The input of a summary, each part oldest first.

    decisions: the decisions among the facts. known: memories whose names and dates are no invention. telling: those of
    the `sentences_of_user` that tell something.
    """

    seen: Sequence[Seen] = ()
    facts: Sequence[str] = ()
    stages: Sequence[str] = ()
    decisions: Sequence[str] = ()
    known: Sequence[str] = ()
    telling: Sequence[str] = ()

    def empty(self) -> bool:
        """Return whether there is nothing to summarize."""
        observed = any(not each.private and each.content.strip() for each in self.seen)
        return not (observed or self.facts or self.stages)


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """A session's summary. topic: one line of at most 100 characters. brief: at most 900. detailed: at most 3200.

    The brief is for later sessions; "" where nothing concerns them.
    """

    topic: str
    brief: str
    detailed: str
    decisions: tuple[str, ...] = ()
    todos: tuple[str, ...] = ()

    @property
    def whole(self) -> str:
        """The brief, or what is on record, below its topic, for where it stands alone."""
        text = self.brief or self.detailed
        return text if self.topic in text else f"{self.topic}\n{text}"


def sentences_of_user(given: SummaryInput) -> list[str]:
    """Return the user's last sentences, oldest first, of which some may tell something. Pure.

    What is public, the user's own, and doesn't begin with a word for what was said before it.
    """
    said = [own_words(clean(each.content).text) for each in _public(given.seen) if each.kind == "user"]
    read = [each for text in said[-_SENTENCES:] for each in sentences(text)][-_SENTENCES:]
    return [each.text for each in read if not (asks(each) or points_back(each.plain.lower()))]


def summarize(given: SummaryInput) -> Summary | None:
    """Return a summary by rules; None where there is nothing to say. Pure; it reads no private observation."""
    observations = [
        Seen(kind=each.kind, content=clean(each.content).text, tool=clean(each.tool).text)
        for each in _public(given.seen)
    ]
    wanted, answers = _of(observations, "user"), _of(observations, "assistant")
    facts = _cleaned(given.facts)
    turns = [
        (each.kind == "user", "" if _is_deed(each) else _TODO.sub(".", each.content))
        for each in observations
        if each.kind in ("user", "assistant") or _is_deed(each)
    ]
    outline = outline_of(exchanges_of(turns), given.telling)
    stages = [stage for stage in _cleaned(given.stages) if not (outline.topic and _BY_RULES.match(stage))]
    observed = _of(observations, "decision")
    decisions = distinct([*_cleaned(given.decisions), *observed])
    deeds = _deeds(observations)
    failed = [_result(deed) for deed in deeds if _FAILED.search(deed.content)]
    done = [_result(deed) for deed in deeds if not _FAILED.search(deed.content)]
    working = (*wanted, *stages, *(answers if deeds else ()))  # "next: fold in the eggs" is advice
    matches = (match for text in working for match in _TODO.finditer(text))
    written_todos = [(match[1] or match[2]).strip() for match in matches]
    todos = distinct([*_of(observations, "todo"), *written_todos, *outline.todos])
    chinese = is_mostly_chinese(" ".join([*wanted, *facts, *stages, *answers]))
    unanswered = [_UNANSWERED[chinese].format(text=text) for text in [outline.unanswered] if text]
    sections: dict[Section, Sequence[str]] = {
        "talked": outline.asked,
        "done": [cut(_one_line(stage), _STAGE_LENGTH) for stage in stages] + [*observed, *outline.done, *done],
        "ended": outline.told,
        "open": [*_of(observations, "error"), *failed, *unanswered],
        "next": todos,
        "learnt": facts,
    }
    if outline.topic and not any(any(items) for items in sections.values()):
        sections["talked"] = [outline.topic]  # it is all that there is to say
    topics = [*stages[-1:], outline.topic, *facts[:1], *(item for items in sections.values() for item in items)]
    topic = next((text for text in topics if text), "")
    return _summary(topic, sections, decisions, todos, chinese=chinese)


def _is_deed(observation: Seen) -> bool:
    """Return whether a tool did something. A file that was only read is no deed."""
    of_a_tool = observation.kind not in ("user", "assistant", "decision", "error", "todo")
    return of_a_tool and not _LOOKED.search(observation.content)


def _deeds(observations: Sequence[Seen]) -> list[Seen]:
    """Return what tools did: the last result of each command or edit."""
    deeds = [each for each in observations if _is_deed(each)]
    commands = [(each.tool, each.content.strip().split("\n")[0]) for each in deeds]
    last = dict(zip(commands, deeds, strict=True))
    return [each for command, each in zip(commands, deeds, strict=True) if last[command] is each]


def _result(deed: Seen) -> str:
    """Return what was called and what came of it: the exit code and the last line; or the file that was changed.

    "" where what came of it is data for a program.
    """
    given = [line for line in map(str.strip, deed.content.split("\n")) if line]
    lines = [line for line in given if not line.startswith(_DATA)]
    changed = [line for line in lines if line.startswith(("+", "-"))]
    if changed:
        lines = [line for line in lines if line not in changed][:1]
    elif len(lines) == 1 < len(given):
        return ""
    said = " ".join(dict.fromkeys([*lines[:1], *filter(_EXIT.fullmatch, lines), *lines[-1:]]))
    return f"{deed.tool}: {said}" if deed.tool and said else said


def summary_of(answer: Mapping[str, Any], given: SummaryInput) -> Summary | None:
    """Read a model's answer: topic, wanted, done, open and next as text, decisions and todos as lists.

    A line with a name, a number or a code that stands nowhere in what was given, or is known, is left out; None where
    nothing is left.

    Raises:
        ValueError: the answer has another format.
    """
    names: tuple[Section, ...] = ("wanted", "done", "open", "next")
    for name in ("topic", *names):
        if not isinstance(answer.get(name), str):
            raise ValueError(f"{name} must be a string")  # noqa: TRY004 - the caller repairs what ValueError says
    observations = [f"{each.tool} {each.content}" for each in _public(given.seen)]
    texts = _cleaned([*observations, *given.facts, *given.stages, *given.decisions, *given.known])
    sources = Sources((text, date.min) for text in texts)
    lists: dict[str, list[str]] = {}
    for name in ("decisions", "todos"):
        value = answer.get(name)
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise ValueError(f"{name} must be a list of strings")
        lists[name] = distinct(_supported(value, sources))
    sections: dict[Section, Sequence[str]] = {name: _supported(answer[name].split("\n"), sources) for name in names}
    topic = next(iter([*_supported([answer["topic"]], sources), *sections["wanted"]]), "")
    chinese = is_mostly_chinese(" ".join([topic, *(line for lines in sections.values() for line in lines)]))
    return _summary(topic, sections, lists["decisions"], lists["todos"], chinese=chinese)


def _supported(texts: Iterable[str], sources: Sources) -> list[str]:
    """Return the texts that say something, and of which every name, number and code stands in the sources."""
    return [text for text in _cleaned(texts) if not _NOTHING.fullmatch(text) and sources.has_what_is_named(text)]


_NOTHING: Final = re.compile(r"\W*(?:none|nothing|n/a|暂?无|没有)?\W*", re.IGNORECASE)
"""What a model writes into a section that it leaves empty."""


def written(topic: str, summary: str, decisions: Sequence[str], todos: Sequence[str]) -> Summary:
    """Return a summary in an agent's or a person's own words, cleaned and cut to the limits."""
    text = clean(summary).text
    return Summary(
        topic=cut(_one_line(clean(topic).text), _TOPIC_LENGTH),
        brief=cut(text, BRIEF_LENGTH),
        detailed=cut(text, DETAILED_LENGTH),
        decisions=_listed(distinct(_cleaned(decisions))),
        todos=_listed(distinct(_cleaned(todos))),
    )


def _listed(items: Sequence[str]) -> tuple[str, ...]:
    return tuple(cut(item, _LINE_LENGTH) for item in items[:_LISTED])


def cut(text: str, length: int) -> str:
    """Cut a text to `length` characters, with "…", after a sentence or a word where one ends late enough."""
    if len(text) <= length:
        return text
    if length < 1:
        return ""
    end = length - 1
    end = max((match.end() for match in _END_OF_SENTENCE.finditer(text, end * 3 // 5, end)), default=end)
    # Cut between graphemes: a letter keeps its marks, and an emoji its parts.
    while 0 < end < len(text) and (
        text[end] in _JOINING
        or unicodedata.combining(text[end])
        or "\U0001f3fb" <= text[end] <= "\U0001f3ff"
        or text[end - 1] == "\u200d"
    ):
        end -= 1
    return f"{text[:end].rstrip()}…"


def _summary(
    topic: str, sections: Mapping[Section, Sequence[str]], decisions: Sequence[str], todos: Sequence[str], *,
    chinese: bool,
) -> Summary | None:  # fmt: skip
    topic = cut(_one_line(topic), _TOPIC_LENGTH)
    detailed = _render(_lines(topic, sections), DETAILED_LENGTH, _LINE_LENGTH, chinese=chinese)
    if not detailed:
        return None
    later: dict[Section, Sequence[str]] = {name: items for name, items in sections.items() if name not in _ON_RECORD}
    return Summary(
        topic=topic,
        brief=_render(_lines(topic, later), BRIEF_LENGTH // (1 + chinese), _BRIEF_LINE_LENGTH, chinese=chinese),
        detailed=detailed,
        decisions=_listed(decisions),
        todos=_listed(todos),
    )


def _render(lines: Mapping[Section, Sequence[str]], length: int, line_length: int, *, chinese: bool) -> str:
    """Render headings with items while they fit: of each section the first, the last, and on to the middle."""
    chosen: dict[Section, dict[int, str]] = {name: {} for name in lines}
    room_left = length
    for name, number in _turns(lines):
        text = lines[name][number]
        heading = 0 if chosen[name] else len(_HEADINGS[name][chinese]) + len("- :\n")
        room = room_left - heading - len("  - \n")
        limit = _STAGE_LENGTH if name == "done" and length == DETAILED_LENGTH else line_length
        limit = _LINE_LENGTH if name == "ended" else limit  # a sentence that is cut isn't known where it stands whole
        item = _cut_before_note(text, min(limit, room))
        if len(item) < min(_SHORTEST_CUT, len(text)):
            continue
        chosen[name][number] = item
        room_left = room - len(item)
    colon = "：" if chinese else ":"
    parts = [
        "\n".join([f"- {_HEADINGS[name][chinese]}{colon}", *(f"  - {items[number]}" for number in sorted(items))])
        for name, items in chosen.items()
        if items
    ]
    return "\n".join(parts)


def _cut_before_note(text: str, length: int) -> str:
    """Cut a line, and keep the note of its days whole."""
    words = plain_of(text)
    note = text[len(words) :]
    if len(text) <= length:
        return text
    return cut(words, length - len(note)) + note if 3 * len(note) < 2 * length else cut(words, length)


def _turns(lines: Mapping[Section, Sequence[str]]) -> list[tuple[Section, int]]:
    """Return the items of all sections by name and number, in the order in which they may take room."""
    turns = [
        (name in _LAST, min(number, len(items) - 1 - number), place, number, name)
        for place, (name, items) in enumerate(lines.items())
        for number in range(len(items))
    ]
    return [(name, number) for _, _, _, number, name in sorted(turns)]


def _public(observations: Iterable[Seen]) -> list[Seen]:
    return [each for each in observations if not each.private and each.content.strip()]


def _of(observations: Sequence[Seen], kind: str) -> list[str]:
    return [each.content for each in observations if each.kind == kind]


def _cleaned(texts: Iterable[str]) -> list[str]:
    return [text for text in (clean(text).text for text in texts) if text]


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _lines(topic: str, sections: Mapping[Section, Sequence[str]]) -> dict[Section, list[str]]:
    """Return the lines of sections without repeats, nor what the topic contains unless that is all."""
    lines = _without_repeats(topic, sections)
    return lines if any(lines.values()) else _without_repeats("", sections)


def _without_repeats(topic: str, sections: Mapping[Section, Sequence[str]]) -> dict[Section, list[str]]:
    """Return the lines of sections without those that the topic or another line contains."""
    told = distinct([topic, *(item for items in sections.values() for item in items)])
    told = [line for line in told if line != topic]
    lines: dict[Section, list[str]] = {}
    for name, items in sections.items():
        own = set(map(_one_line, items))
        lines[name] = [line for line in told if line in own]
        told = [line for line in told if line not in own]
    return lines


# The prompt for a session's summary. Observations are data: JSON within a fence that no text can close.

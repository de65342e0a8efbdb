"""What a portrait consists of: sections, made of memories."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Final

from extractor import same_text, traits_of
from gateway_memory.browsing.names.name import NameKind
from gateway_memory.browsing.names.naming import Named, names_in, own_name
from gateway_memory.ground.calendar import Span, day_span
from gateway_memory.ground.holds import coming, is_history
from gateway_memory.store.memory_record import UNWRITTEN, MemoryRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A memory as a portrait shows it. text: without "The user". at: when it was said, in epoch seconds.

    days: of what is ahead.
    """

    id: str
    text: str
    at: float
    days: Span | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """Somebody or something that memories name. lines: those that do, the newest first.

    relation: what somebody is to the user, as the memories say it ("sister", 妹妹), or "".
    """

    name: str
    kind: NameKind
    relation: str
    lines: Sequence[Line]


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """A memory that took the place of another one, `old`. at: when, in epoch seconds."""

    line: Line
    old: Line
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Sections:
    """The memories of a scope, each in one place. name: the person's own, or "".

    about: of the person. likes: what they like and want. wishes: what the assistant shall always do, such as how to
    answer. ahead: what comes, the soonest first. people, projects, topics: those that memories name; people are pets,
    too, and topics are places, too. others: what is about something else.
    """

    name: str = ""
    about: Sequence[Line] = ()
    likes: Sequence[Line] = ()
    wishes: Sequence[Line] = ()
    ahead: Sequence[Line] = ()
    people: Sequence[Topic] = ()
    projects: Sequence[Topic] = ()
    topics: Sequence[Topic] = ()
    others: Sequence[Line] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Portrait:
    """What is known of a scope. since: when the first memory was said, in epoch seconds, 0 without one.

    reviews: how many candidates wait for a yes.
    """

    sections: Sections
    since: float
    memories: int
    exchanges: int
    reviews: int
    changed: Sequence[Changed] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What memories say of one name, and the other names that occur with it."""

    topic: Topic
    others: Sequence[Topic] = field(default=())


_THE_USER: Final = re.compile(r"(?:the user|user)(?=\s+\w)|用户(?=[\w《“])", re.IGNORECASE)
_OF_USER: Final = re.compile(r"(?:the )?user['’]s |用户的", re.IGNORECASE)
_OWN: Final = re.compile(
    r"\W*(?:(?:and|but|so|also|well|yes)\W+)*(?:i|i['’]\w+|my|we|we['’]\w+|our|mine)\b|(?:the )?user\b"
    r"|(?:[^，。,]{0,6})(?:我|咱|本人|用户)",
    re.IGNORECASE,
)
_OWN_VERB: Final = re.compile(
    r"(?:prefers?|likes?|loves?|hates?|dislikes?|wants?|uses?|lives?|works?|is|has|owns?|speaks?|allergic|vegetarian"
    r"|vegan|born|married|喜欢|讨厌|爱|住|在|不吃|不喝|对)\b|(?:喜欢|讨厌|爱|住在|不吃|不喝|对)",
    re.IGNORECASE,
)


_TASTE: Final = re.compile(
    r"\W*(?:i|the user|user)(?: really| just| absolutely)? (?:hates?|dislikes?|loathes?|detests?|can['’]t stand"
    r"|(?:do|does)n['’]t (?:like|enjoy)|loves?|likes?|enjoys?)\b"
    r"|(?:我|用户)(?:很|最|真的?|特别|非常)?(?:不(?:太|怎么)?(?:喜欢|爱|喜歡|愛)|讨厌|討厭|受不了|喜欢|喜歡|爱|愛)",
    re.IGNORECASE,
)
"""What tells of a taste, even with an order behind it."""
_ANSWERS: Final = re.compile(
    r"\b(?:answers?|repl(?:y|ies)|respon[ds]\w*|bullets?|tone|emojis?)\b|回答|回复|回覆|答复|語氣|语气|列表|废话|长篇|啰嗦",
    re.IGNORECASE,
)
"""What a wish about answers speaks of."""
_ASSISTANT: Final = re.compile(r"\b(?:you|your|lists?|sentences?|words?)\b|说话|表情|简短|简洁|你|助手", re.IGNORECASE)
"""What an order speaks of that is for the assistant, and no taste."""


def _is_wish(memory: MemoryRecord) -> bool:
    """Return whether a memory tells what the assistant shall do; "I hate coriander, leave it out" tells a taste."""
    traits, text = traits_of(memory.category), memory.text
    if _ANSWERS.search(text):
        return traits.standing
    return traits.directive and (not _TASTE.match(text) or bool(_ASSISTANT.search(text)))


def line_of(memory: MemoryRecord) -> Line:
    """Return a memory as a portrait shows it: "The user prefers tea" is read as "Prefers tea"."""
    text = " ".join(memory.text.split())
    if match := _OF_USER.match(text) or _THE_USER.match(text):
        text = text[match.end() :].lstrip()
    if text[1:2] == text[1:2].lower():  # "iPhone" stays
        text = text[:1].upper() + text[1:]
    return Line(id=memory.id, text=text or memory.text, at=memory.at)


def sections_of(
    memories: Sequence[MemoryRecord], *, today: date, day_of: Callable[[float], date], over: Collection[str] = ()
) -> Sections:
    """Return the sections of a portrait. memories: the newest first. day_of: epoch seconds → a day.

    over: the ids of those that are over. What says the same is told once. What has expired is left out, and what was
    on a day that is behind comes last.
    """
    known = _once(memories, today)
    names = names_in([memory.text for memory in known])
    days = {each.id: day for each in known if (day := _days_ahead(each, today, day_of))}
    topics = [_topic(name, known, days) for name in names]
    people = [topic for topic in topics if topic.kind in ("person", "pet")]
    projects = [topic for topic in topics if topic.kind == "project"]
    told = {line.id for topic in (*people, *projects) for line in topic.lines} | days.keys()
    rest = [memory for memory in known if memory.id not in told]
    wishes = [memory for memory in known if _is_wish(memory) and memory.id not in days]
    wished = {memory.id for memory in wishes}
    likes = [each for each in rest if traits_of(each.category).standing and each.id not in wished]
    liked = {each.id for each in likes}
    left = [memory for memory in rest if memory.id not in wished | liked]
    last = {*over, *(memory.id for memory in left if is_history(memory.text, day_of(memory.at), today))}
    name = own_name([memory.text for memory in known])
    about = [memory for memory in left if _is_own(memory, name)]
    own = {memory.id for memory in about}
    return Sections(
        name=name,
        about=_lines(about, last),
        likes=_lines(likes),
        wishes=_lines(wishes),
        ahead=sorted(
            (_date_line(each, days) for each in known if each.id in days), key=lambda line: line.days or day_span(today)
        ),
        people=people,
        projects=projects,
        topics=[topic for topic in topics if topic.kind in ("place", "topic")],
        others=_lines((memory for memory in left if memory.id not in own), last),
    )


def _once(memories: Sequence[MemoryRecord], today: date) -> list[MemoryRecord]:
    """Return what stands today, what says the same once: its newest words."""
    known: dict[str, MemoryRecord] = {}
    for memory in memories:
        stands = memory.type != "S" and memory.category not in UNWRITTEN and memory.text.strip()
        if stands and not (memory.expires and memory.expires < today.isoformat()):
            known.setdefault(same_text(line_of(memory).text), memory)
    return list(known.values())


def _days_ahead(memory: MemoryRecord, today: date, day_of: Callable[[float], date]) -> Span | None:
    """Return the days of which a memory tells as what is ahead."""
    if traits_of(memory.category).standing:
        return None
    days = coming(memory.text, day_of(memory.at), today)
    return days or (day_span(date.fromisoformat(memory.expires)) if memory.expires else None)


def _topic(name: Named, known: Sequence[MemoryRecord], days: Mapping[str, Span]) -> Topic:
    lines = [_date_line(known[index], days) for index in name.texts]
    lines.sort(key=lambda line: -line.at)
    return Topic(name=name.name, kind=name.kind, relation=name.relation, lines=lines)


def _date_line(memory: MemoryRecord, days: Mapping[str, Span]) -> Line:
    return replace(line_of(memory), days=days.get(memory.id))


def _lines(memories: Iterable[MemoryRecord], over: Collection[str] = ()) -> list[Line]:
    """Return the lines of memories, the important ones first, then the newest. over: ids of those that come last."""
    ordered = sorted(memories, key=lambda each: (each.id in over, each.importance != "high", -each.at))
    return [line_of(each) for each in ordered]


def _is_own(memory: MemoryRecord, name: str) -> bool:
    """Return whether a memory is about the person whose memory it is. name: the person's own, or ""."""
    rest = memory.text.removeprefix(name) if name else memory.text
    by_name = rest != memory.text and not (name.isascii() and rest[:1].isalnum())  # "Tomás" is no Tom
    return memory.type == "B" or by_name or bool(_OWN.match(memory.text) or _OWN_VERB.match(memory.text))

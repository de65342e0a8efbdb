"""Reads a statement: of whom it is, what about, which value it tells, and whether it gives a thing another value."""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, Literal

from extractor.language.values import numbers_of, numbers_stated
from extractor.language.vocabulary import left_behind, names_of_kind, statement_words, stem, without_kind

from .attributes import CUES, MARKS, PEOPLE, Mark

__all__ = [
    "Statement",
    "changed",
    "clauses",
    "exclude_each_other",
    "happened",
    "predicate",
    "quantities",
    "read",
    "same_text",
    "same_verb",
    "says_now",
    "still_told",
]


# Reads the days, hours, dates and counts of a statement, by unit: two values of one unit exclude each other.

_MONTHS: Final = "(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_WORDS: Final = (
    "two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen"
    "|nineteen|twenty|thirty|forty|fifty|sixty"
)
_HAN: Final = "[零〇一二两三四五六七八九十百千万\\d]+"
# Unit: how a value of it is written; a unit without a name is the word that follows. What one reads, a later one skips.
_UNITS: Final = tuple(
    (unit, re.compile(pattern, re.IGNORECASE))
    for unit, pattern in (
        ("day", r"\b(?:mon|tues?|wed|wednes|thurs?|fri|satur|sat|sun)(?:days?)?\b|(?:周|星期|礼拜)[一二三四五六日天]"),
        (
            "date",
            (
                rf"\b{_MONTHS} \d{{1,2}}(?:st|nd|rd|th)?\b|\b\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {_MONTHS}\b"
                rf"|\b\d{{1,2}}(?:st|nd|rd|th)\b(?! floor)|{_HAN}月{_HAN}[号日]"
            ),
        ),
        ("year", r"\b(?:19|20)\d\d\b|(?:19|20)\d\d(?=年)"),
        (
            "hour",
            (
                r"\b\d{1,2}[:.]\d\d\b|\b\d{1,2} ?(?:am|pm)\b"
                rf"|\b(?:at|by|before|after|until|till) (?:\d{{1,2}}|one|{_WORDS})\b(?! [a-z]+s\b)|{_HAN}[点时]半?"
            ),
        ),
        ("", r"\d[\d,.]*(?:k\b|万|千)? ?(?P<unit>[a-z]+\b|[\u4e00-\u9fff])?"),
        ("", rf"\b(?:{_WORDS})\b ?(?P<unit>[a-z]+)?"),
        ("share", rf"{_HAN}分之{_HAN}"),
        ("", r"[零〇一二两三四五六七八九十百千万]+(?P<unit>[\u4e00-\u9fff])"),
    )
)
_ALONE: Final = frozenset({"year"})
"""Units of which a statement may tell another value of another event."""
_NUMBERS_OF_THINGS: Final = frozenset("号路线栋室座起样直定些点切家")
"""Characters behind a number that belongs to a name, or that is none."""


@lru_cache(maxsize=512)  # a statement is compared with several others
def quantities(text: str) -> Mapping[str, frozenset[str]]:
    """Return what a statement tells of each unit: {"day": {"mon"}, "mg": {"5.0"}}."""
    found: dict[str, set[str]] = {}
    rest = text.lower()
    for unit, pattern in _UNITS:
        for match in pattern.finditer(rest):
            name = unit or stem(match["unit"] or "")
            if name not in _NUMBERS_OF_THINGS:
                value = match[0][-1] if match[0] > "\u3400" else match[0][:3]
                numbers = sorted(numbers_of(match[0]))
                found.setdefault(name, set()).add(value if name == "day" else str(numbers))
        rest = pattern.sub(" ", rest)
    return {unit: frozenset(values) for unit, values in found.items()}


def exclude_each_other(told: Mapping[str, frozenset[str]], before: Mapping[str, frozenset[str]]) -> bool:
    """Return whether two statements tell different values of one unit."""
    return any(told[unit].isdisjoint(before[unit]) for unit in told.keys() & before.keys() - _ALONE)


# Finds statements that give a thing another value: another day, count, state, or choice of its kind.
#
# The rules are strict because a wrong answer loses a memory: all other words and the kind of the value must be the
# same.

_HAPPENED_ONCE = re.compile(
    (
        r"\b(?:yesterday|last (?:night|week|month|year)|ago|went|met|saw|ran|bought|visited)\b|昨天|上周|上个月"
        r"|去年|刚才|见了|去了|买了"
    ),
    re.IGNORECASE,
)
_PREDICATE = re.compile(
    r"(?:(?<=[a-z\d])'(?:s|re|m)(?= (?:a|an|the|not|now|on|at|in|\d)\b)"
    r"|\b(?:is|are|was|were|am|be|has|have|had|will|would|can|must|should|costs?|takes?|needs?|wants?|likes?|loves?|hates?|prefers?|enjoys?|uses?|runs?|listens?|opens?|starts?"
    r"|ends?|closes?|weighs?|earns?|pays?|moved|goes|expires?|lives?|works?|drinks?|eats?|speaks?|plays?|means?|equals?"
    r"|holds?|contains?|belongs?|parks?|keeps?|gets?|decided|chose|agreed|doesn't|don't|isn't|never|always)\b)|[:：=]"
    r"|是|为|在|有|要|用|叫|喜欢|讨厌|爱|花|需|开|住|从|到|等于|定|改|换|吃|喝|想|会|能|不",
    re.IGNORECASE,
)
# Phrases that tell of a new value, and the verbs that a value follows.
_MOVED = re.compile(
    r"\b(?:(?:has|have|was|were|is|are|got|will be) )?(?:been |now )*(?:changed|moved|rescheduled|postponed|shifted"
    r"|pushed|brought) (?:back |forward )?(?:from .{1,40}? )?to\b|\b(?:is|are) now\b"
    r"|(?:从[^，。]{1,20})?(?:已经?|又|现在)*(?:(?:改|换|变|调|挪|移|推迟|提前|调整)[成为到在]|现在是)",
    re.IGNORECASE,
)
_IS = frozenset("is are was were will starts opens ends closes : ： = 是 为 在 到 定 等于 从".split())
_WHEN = re.compile(
    r"\d|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|\b(?:january|february|march|april|may|june|july|august"
    r"|september|october|november|december|morning|noon|afternoon|evening|midnight|tomorrow|daily|weekly|monthly)\b"
    r"|周[一二三四五六日天末]|星期|礼拜|[上下中]午|早上|晚上|[一二三四五六七八九十]点|[一二三四五六七八九十]月|月[初底末]|每[天周月年]",
    re.IGNORECASE,
)
# A value that is a time and nothing else: "on Tuesday at 10am", "每周二上午十点".
_ONLY_WHEN = re.compile(
    r"(?:\s|,|\b(?:on|at|in|the|every|each|from|to|until|and|mon|tues|wednes|thurs|fri|satur|sun)(?:days?)?\b"
    r"|\b(?:january|february|march|april|may|june|july|august|september|october|november|december|morning|noon"
    r"|afternoon|evening|midnight|daily|weekly|monthly)s?\b|\d{1,4}(?:[:./-]\d{1,4})*(?:st|nd|rd|th)?"
    r"|(?:am|pm|a\.m\.|p\.m\.|o'clock)|每|周[一二三四五六日天末]|(?:星期|礼拜)[一二三四五六日天]|[上下中]午|早上|晚上|凌晨"
    r"|[一二两三四五六七八九十\d]+[点月日号时分]|半|整|到|至|的|了)+",
    re.IGNORECASE,
)
_IS_AT = frozenset("is will starts opens ends closes : ： = 是 为 在 定".split())
_NOW = re.compile(
    r"\b(?:now|nowadays|these days|currently|any ?more|any longer|no longer)\b|现在|如今|目前|不再|了$", re.IGNORECASE
)
_COUNT = re.compile(
    r"\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\d{1,3})\b"
    r"|[一两二三四五六七八九十\d]+(?=[个只条位名台辆匹头])",
    re.IGNORECASE,
)
_COUNTED = re.compile(
    r"(?:i|we)(?:'ve| have)? (?:have|own|got|keep|#) .+|(?:我|我们|我家|我们家)(?:有|养了?|家有).+", re.IGNORECASE
)
_STATES = tuple(
    re.compile(rf"(?:{english})|(?:{chinese})了?(?:$|[，。,].*)", re.IGNORECASE)
    for english, chinese in (
        (
            (
                r"(?:i'm|i am|i(?: \w+ly)? got|i just got|we're|we are|we got)"
                rf"(?: (?:now|just|recently|finally|already))* {state}\b"
                r"(?![- ](?:minded|handed|threaded|to my (?:work|job)|out|in|with|by)\b)(?!.*\b(?:19|20)\d\d).*"
            ),
            rf"我(?:们|现在|目前|已经|刚|去年|今年|又|是|和[^，。,]{{1,8}}|跟[^，。,]{{1,8}})*(?:{han})",
        )
        for state, han in (
            ("married", "已婚|结婚"),
            ("divorced", "离异|离婚"),
            ("(?:a )?widow(?:ed|er)?", "丧偶"),
            ("single", "未婚|单身"),
            ("engaged", "订婚"),
        )
    )
)
_VERBS = tuple(
    re.compile(verb, re.IGNORECASE)
    for verb in (
        r"\b(?:live|lives|living|based|reside|moved to)\b|住|定居|搬",
        r"\b(?:have|has|own) (?!\w+(?:ed|en)\b|been\b|to\b)|养了?|有(?=[一两二三四五六七八九十\d])",
        r"\b(?:works?|working|joined|employed)\b|工作|上班|任职",
        (
            r"\b(?:likes?|loves?|enjoys?|prefers?|hates?|can't stand|us(?:e|es|ing)|drink(?:s|ing)?|eat(?:s|ing)?"
            r"|smok(?:e|es|ing)|switched)\b|喜欢|爱|讨厌|偏好|用|吃|喝|抽"
        ),
    )
)
# Kinds of which a person prefers one thing only; of other kinds one may like several.
_EITHER_OR = ("theme", "indentation", "length")
_PREFERS = re.compile(r"(?:i|we) (?:\w+ly )?prefer\b|我们?(?:更喜欢|偏好|偏爱|习惯用|喜欢用)", re.IGNORECASE)
_OVER = re.compile(r" (?:over|rather than|instead of)\b.*|，?(?:而不是|胜过|不用).*", re.IGNORECASE)
_ORDERS = re.compile(
    r"(?:please )?(?:always|never|from now on|write|use|answer|keep)\b|.*\b(?:from now on|by default)$|以后|今后|总是"
    r"|一律|请|[^，。,]{2,10}(?:都|一律|统一)用",
    re.IGNORECASE,
)
_ORDERED = ("spoken", "length", "theme", "indentation", "packages")
_DECIDES = re.compile(r"\b(?:decided|chose|agreed|picked|settled|going with|let's use|we'll use)\b|决定|选定|敲定|选用")


@lru_cache(maxsize=512)  # a statement is compared with several others
def predicate(text: str) -> re.Match[str] | None:
    """Return the predicate, which ends the subject: "box 3 is blue" and "box 4 is blue" have different subjects."""
    return _PREDICATE.search(text)


@lru_cache(maxsize=512)
def happened(text: str) -> bool:
    """Return whether a statement tells of something that has happened once."""
    return bool(_HAPPENED_ONCE.search(text))


def changed(new: str, old: str) -> tuple[Literal["supersede"], str] | None:
    """Return `("supersede", reason)` if the new statement gives the old one's subject another value. Pure."""
    if _moved(new, old) or _retimed(new, old):
        return "supersede", "newer_value"
    if _recounted(new, old):
        return "supersede", "newer_number"
    if _restated(new, old) or _rechosen(new, old):
        return "supersede", "changed_mind"
    return None


def says_now(text: str) -> bool:
    """Return whether a statement itself tells of a change: "now", "anymore", 现在, 了."""
    return bool(_NOW.search(text))


def same_verb(new: str, old: str) -> bool:
    """Return whether two statements may be about the same: not where one tells of a home and one of a taste."""
    told, told_before = ({number for number, verb in enumerate(_VERBS) if verb.search(text)} for text in (new, old))
    return not told or not told_before or bool(told & told_before)


def _moved(new: str, old: str) -> bool:
    """Return whether the same thing has moved to another time, or to another thing of its kind."""
    met, met_old = _MOVED.search(new), predicate(old)
    if not met or not met_old or met_old[0].lower() not in _IS:
        return False
    subject = statement_words(new[: met.start()])
    value, old_value = new[met.end() :], old[met_old.end() :]
    both_when = bool(_WHEN.search(value) and _WHEN.search(old_value))
    both_of_kind = bool(names_of_kind(value).keys() & names_of_kind(old_value).keys())
    return bool(subject) and subject == statement_words(old[: met_old.start()]) and (both_when or both_of_kind)


def _retimed(new: str, old: str) -> bool:
    """Return whether the same thing has another time and nothing else is said of it. Two past events do not count."""
    met, met_old = predicate(new), predicate(old)
    if not met or not met_old or happened(new) or happened(old):
        return False
    if met[0].lower() not in _IS_AT or met[0].lower() != met_old[0].lower():
        return False
    subject, value, old_value = _plain(new[: met.start()]), _plain(new[met.end() :]), _plain(old[met_old.end() :])
    return (
        bool(statement_words(subject))
        and subject == _plain(old[: met_old.start()])
        and value != old_value
        and all(_ONLY_WHEN.fullmatch(each) and _WHEN.search(each) for each in (value, old_value))
        and _days(value) == _days(old_value)
    )


def _days(value: str) -> bool:
    """Return whether a time names a day of the week: a day and an hour do not contradict each other."""
    return bool(re.search(r"day\b|days\b|周|星期|礼拜", value))


def _recounted(new: str, old: str) -> bool:
    """Return whether the number of the same things has changed: "I have three cats now" after "I have two cats"."""
    plain, plain_old = _plain(new), _plain(old)
    counts, old_counts = _COUNT.findall(plain), _COUNT.findall(plain_old)
    if len(counts) != 1 or len(old_counts) != 1 or counts == old_counts:
        return False
    frame, old_frame = (" ".join(map(_one, _COUNT.sub("#", each).split())) for each in (plain, plain_old))
    return frame == old_frame and bool(_COUNTED.fullmatch(frame))


def _one(word: str) -> str:
    return word.removesuffix("s")


def _restated(new: str, old: str) -> bool:
    """Return whether the marital status has changed: a person has only one."""
    state, old_state = _state(new), _state(old)
    return state is not None and old_state is not None and state != old_state


def _state(text: str) -> int | None:
    text = text.replace("’", "'").strip()
    return next((number for number, pattern in enumerate(_STATES) if pattern.fullmatch(text)), None)


def _rechosen(new: str, old: str) -> bool:
    """Return whether another thing of a kind was chosen or ordered for the same purpose, or is preferred instead."""
    new, old = _OVER.sub("", new), _OVER.sub("", old)
    names, old_names = names_of_kind(new), names_of_kind(old)
    orders = bool(_ORDERS.match(new) and _ORDERS.match(old))
    decides = bool(_DECIDES.search(new) and _DECIDES.search(old))
    prefers = bool(_PREFERS.match(new) and _PREFERS.match(old))
    for kind in names.keys() & old_names.keys():
        if len(names[kind]) != 1 or len(old_names[kind]) != 1 or names[kind] == old_names[kind]:
            continue
        frame, old_frame = (without_kind(_plain(each), kind) for each in (new, old))
        if frame == old_frame and (
            ((decides or (orders and kind in _ORDERED)) and statement_words(frame)) or (prefers and kind in _EITHER_OR)
        ):
            return True
    return False


@lru_cache(maxsize=512)  # a statement is compared with several others
def _plain(text: str) -> str:
    """Normalize: lower case, single spaces, none next to Han, without words for "now" and end marks."""
    text = _NOW.sub(" ", text.lower().replace("’", "'"))
    text = re.sub(r"\s+", " ", re.sub(r"[.!。！,，]+(?=\s|$)", " ", text)).strip()
    return re.sub(r"(?<=[\u3400-\u9fff]) | (?=[\u3400-\u9fff])|了", "", text)


_CLAUSE = re.compile(r"[,;:.!?，；：。！？]+(?!\d)\s*|\s[-–—]+\s|\b(?:and|but|so|because)\b", re.IGNORECASE)
_TOKEN = re.compile(r"[a-zÀ-ɏ0-9](?:(?![\u3400-\u9fff])[\w.+#'-])*|[\u3400-\u9fff]+")
_LEADING = re.compile(r"\A(?:(?:well|oh|also|now|then|by the way|btw|yes|no|ok|so|对了)[ ,，]*)+", re.IGNORECASE)
_SPEAKER = re.compile(r"(?:\w+,? ){0,2}?(?:i|we)(?:'\w+)?\b|[^，。]{0,4}[我咱]们?", re.IGNORECASE)
_NAME = re.compile(
    r"(?<![A-Za-z])(?!(?:I|(?:Jan|Febr)uary|March|April|May|June|July|August|(?:Septem|Octo|Novem|Decem)ber|Jan|Feb|Mar"
    r"|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec|[A-Z][a-z]+days?)\b)[A-Z][A-Za-z]*"
)
_WHOSE = re.compile(r"([A-Z][a-z]+)(?:'s)?(?= )")
_OTHERWISE = re.compile(  # words of a relation or a change that are none here
    r"\b(?:work(?:ing|ed|s)? (?:on|out)|living room|play(?:ing|s)? with|(?:be|am|'m|is|are|get) used to)\b"
    r"|改[进善造革]|修改|搬(?:东西|重|运)|换(?:句话|个角度)|提升|上升|交换|变化",
    re.IGNORECASE,
)
_OPENING = re.compile(r"(?:[A-Za-z'-]+ ?){1,3}|.{0,6}")
_YOU = re.compile(r"\b(?:you|your|you're)\b|[你您]", re.IGNORECASE)
_ASKS = re.compile(r"(?:[?？]|[吗呢么])\W*$|难道|什么|怎么")
_POINTS = re.compile(r"\b(?:it|them|that|this|ones?|she|he|her|him|they)\b|[它她他]|[这那]个", re.IGNORECASE)
_HAPPENED = re.compile(
    r"\b(?!need|speed|seed|bed|red|used|based|called|named|tired|married)[a-z]{2,}ed\b"
    r"|\b(?:have|has|'ve|had|'d) (?:been|gone)"
    r"|\b(?:went|left|took|gave|made|came|became|began|bought|sold|found|met|lost|broke|built|kept|ran|put|cut|quit|let"
    r"|won|fell|sent|told|said|caught|threw)\b|(?<![不得为除])了(?!解)|刚",
    re.IGNORECASE,
)
_KNOWN = CUES.keys() | PEOPLE
_LONGEST = max(len(word) for word in _KNOWN if word >= "\u3400")


@dataclass(slots=True, kw_only=True)
class Statement:
    """What a statement says.

    speaker: whether a clause is about the speaker. addresses: whether it
    speaks to somebody. whose: the name that it begins with. persons: the other people whom a clause is about, and
    people: all that are named. thing: the words of its first subject that is no person.

    relations: what it is about; told: those of them that a word names; values: the words by which others are known.
    words: its content words, and core: those that name no relation. names: capitalized words. numbers: what it counts,
    and quantities: the same, and days and hours, by unit.

    marks: its words of change. given_up: the words of a clause that takes something back. happened: whether something
    happened. points: whether a pronoun stands for what was named before. asks: whether it is a question.
    """

    text: str = ""
    speaker: bool = False
    whose: str = ""
    persons: set[str] = field(default_factory=set)
    people: set[str] = field(default_factory=set)
    thing: set[str] = field(default_factory=set)
    relations: set[str] = field(default_factory=set)
    told: set[str] = field(default_factory=set)
    values: dict[str, set[str]] = field(default_factory=dict)
    words: set[str] = field(default_factory=set)
    core: set[str] = field(default_factory=set)
    numbers: frozenset[float] = frozenset()
    marks: set[Mark] = field(default_factory=set)
    given_up: set[str] = field(default_factory=set)
    quantities: Mapping[str, frozenset[str]] = field(default_factory=dict)
    names: frozenset[str] = frozenset()
    happened: bool = False
    points: bool = False
    addresses: bool = False
    asks: bool = False


@lru_cache(maxsize=512)  # a statement is compared with several others
def read(text: str) -> Statement:
    """Read a statement. Pure; nobody changes the result."""
    text = _LEADING.sub("", text.replace("’", "'"))
    said = Statement(
        text=text,
        numbers=numbers_stated(text),
        quantities=quantities(text),
        whose=stem(met[1].lower()) if (met := _WHOSE.match(text)) and statement_words(met[1]) else "",
        names=frozenset(name.lower() for name in _NAME.findall(text[1:])),
        happened=bool(_HAPPENED.search(text)),
        points=bool(_POINTS.search(text)),
        addresses=bool(_YOU.search(text)),
        asks=bool(_ASKS.search(text)),
    )
    names: set[str] = set()
    for clause in clauses(text):
        names |= _read_clause(clause, said)
    said.core = {word for word in said.words if not _is_name(word, names)}
    return said


@lru_cache(maxsize=4096)  # whatever was replaced is looked through for each reply
@lru_cache(maxsize=4096)  # a statement is compared with several others
def same_text(text: str) -> str:
    """Return what is equal for texts that are the same: case, punctuation, width and spaces make no difference."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return "".join(character for character in plain if character.isalnum() or character in "+#%-") or plain.strip()


def still_told(text: str) -> str:
    """Return a statement without what it takes back: "the port is 9090, not 8080" tells of 9090 alone."""
    for gone in filter(None, left_behind(text).split(" ")):
        text = text.replace(gone, " ")
    return " ".join(clause for clause in clauses(text) if not MARKS["back"].search(clause))


def clauses(text: str) -> list[str]:
    """Return the clauses of a statement."""
    return [clause for clause in _CLAUSE.split(text) if clause.strip()]


def _read_clause(clause: str, said: Statement) -> set[str]:
    """Add what a clause says, and return the words in it that name a relation."""
    clause = _OTHERWISE.sub(" ", clause)
    plain, marks = clause, set[Mark]()
    for mark, pattern in MARKS.items():  # what adds something says so before it could say that it changes something
        if pattern.search(plain):
            marks.add(mark)
            plain = pattern.sub(" ", plain)
    content = statement_words(plain)
    said.marks |= marks
    said.words |= content
    if "back" in marks:
        said.given_up |= content
    names: set[str] = set()
    for word in _known(clause):
        said.people |= {word} & PEOPLE
        said.relations |= {cue.relation for cue in CUES.get(word, ())}
        for cue in CUES.get(word, ()):
            if cue.value:
                said.values.setdefault(cue.relation, set()).add(word)
            else:
                said.told.add(cue.relation)
                names.add(word)
    met = predicate(clause)
    subject = clause[: met.start()] if met else ""
    opening = subject if met else "".join(_OPENING.findall(clause)[:1])
    people = [word for word in _known(opening) if word in PEOPLE]
    said.persons.update(people[:1])
    said.speaker = said.speaker or (not people and bool(_SPEAKER.match(clause)))
    said.thing = said.thing or set(statement_words(subject) - PEOPLE)
    return names


def _is_name(word: str, names: set[str]) -> bool:
    """Return whether a content word names a relation; Han words are pairs of characters."""
    return word in names or (word[0] >= "\u3400" and any(word in name for name in names))


def _known(text: str) -> Iterator[str]:
    """Yield the words of a text that a table knows: English ones as stems, Chinese ones as the longest."""
    for token in _TOKEN.findall(text.lower()):
        if token[0] < "\u3400":
            if (word := stem(token.strip(".'-"))) in _KNOWN:
                yield word
            continue
        start = 0
        while start < len(token):
            sizes = range(min(_LONGEST, len(token) - start), 0, -1)
            longest = next((size for size in sizes if token[start : start + size] in _KNOWN), 0)
            if longest:
                yield token[start : start + longest]
            start += longest or 1

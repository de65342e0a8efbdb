"""Names in English sentences: they have capitals, and so has the first word of a sentence."""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from extractor import names_of_kind

from .name import KEPT, KIN, LONGEST, PETS, WORDS, Found, NameKind, quoted


class _Token(NamedTuple):
    text: str
    low: str
    start: int
    end: int
    owns: bool  # it ends in 's
    opens: bool  # it begins a sentence

    @property
    def is_capital(self) -> bool:
        return self.text[0].isupper()


_TOKEN: Final = re.compile(r"[^\W\d_][\w'’+#-]*|\d+|[^\w\s]")
_OPENING: Final = frozenset('.!?:;…“"(-•*')
_ABBREVIATED: Final = frozenset({"dr", "mr", "mrs", "ms", "prof", "st"})
_SKIPPED: Final = frozenset({"the", "a", "an", "his", "her", "my", "our", "their"})
_NEXT, _NEAR, _FAR = 3, 6, 10
_SIGNED: Final = frozenset({"signed", "contract"})
_TITLE_CASE: Final = 0.6
_LEAST_WORDS: Final = 4


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    opens = True
    for match in _TOKEN.finditer(text):
        word = match[0].rstrip("'’-")
        owns = word[-2:].lower() in ("'s", "’s") or word != match[0].rstrip("-")
        base = word[:-2] if word[-2:].lower() in ("'s", "’s") else word
        if not base:
            base = match[0]
        tokens.append(_Token(base, base.lower(), match.start(), match.start() + len(base), owns, opens))
        abbreviated = match[0] == "." and len(tokens) > 1 and tokens[-2].low in _ABBREVIATED
        opens = match[0] in _OPENING and not abbreviated
    return tokens


def singular(word: str) -> str:
    """Return a noun in lower case without its plural's ending."""
    return word if word in KIN or word in PETS else word.removesuffix("s")


def names_en(text: str) -> Iterator[Found]:
    """Yield what may be names in a text, each with what speaks for it."""
    tokens = _tokens(text)
    words = [token for token in tokens if len(token.low) >= _LEAST_WORDS and token.low.isalpha()]
    capital = len(words) >= _LEAST_WORDS and sum(each.is_capital for each in words) / len(words) > _TITLE_CASE
    before: tuple[int, Found] | None = None  # the name before, and where it ends
    for first, last in _runs(tokens):
        found = _scored(text, tokens, first, last)
        if capital:
            found.add("all capitalized")
        if before and before[0] == first - 2 and tokens[first - 1].low in ("and", ",", "&") and before[1].score >= KEPT:
            kinds = before[1].kinds
            kind = max(kinds, key=lambda each: kinds[each]) if kinds else "topic"
            if kind != "topic":
                found.add("chained", kind)
                found.relation = found.relation or before[1].relation
        before = last, found
        if len(found.name) <= LONGEST:
            yield found
    yield from quoted(text)


def _runs(tokens: Sequence[_Token]) -> Iterator[tuple[int, int]]:
    """Yield the first and the last token of each run of words with capitals, without those that are no names."""
    at = 0
    while at < len(tokens):
        if not tokens[at].is_capital:
            at += 1
            continue
        last = at
        while not tokens[last].owns and last + 1 < len(tokens):
            further = last + 1
            if tokens[further].low in WORDS["linking"] and further + 1 < len(tokens):
                further += 1
            if not tokens[further].is_capital or tokens[further].opens:
                break
            last = further
        end, first = last, at
        if " ".join(token.low for token in tokens[at : last + 1]) not in WORDS["places"]:
            while first <= last and _is_no_name(tokens[first]):
                first += 1
            while last >= first and _is_no_name(tokens[last]):
                last -= 1
        if first < last or (first == last and tokens[first].low not in WORDS["no name alone"]):
            yield first, last
        at = end + 1


def _is_no_name(token: _Token) -> bool:
    return (
        bool({token.low, token.low.removesuffix("s"), token.low.split("-")[0]} & WORDS["no name"])
        or len(token.low) == 1
    )


def _scored(text: str, tokens: Sequence[_Token], first: int, last: int) -> Found:
    """Return a run of words with what speaks for it."""
    start, end = tokens[first], tokens[last]
    found = Found(" ".join(text[start.start : end.end].split()))
    low, several = found.name.lower(), last > first
    before = [token.low for token in tokens[max(0, first - _FAR) : first]]
    after = [token.low for token in tokens[last + 1 : last + 1 + _FAR]]
    titled = before[-1:] == ["."] and before[-2:-1] and before[-2] in _ABBREVIATED
    if not start.opens or titled:
        found.add("inside")
    elif several:
        found.add("inside", share=0.75)
    if several:
        found.add("several words")
    if found.name.isupper() and len(found.name) > 1:
        found.add("capitals", share=1 if len(found.name) <= _NEAR else 0.5)
    elif any(character.isupper() for character in found.name.split(" ")[0][1:]):
        found.add("mixed case", "topic")
    if titled:
        found.name = f"{text[tokens[first - 2].start : tokens[first - 2].end]}. {found.name}"
        found.add("title", "person")
    elif several and start.low in WORDS["titles"]:
        found.add("title", "person")
    _of_person(found, before, after, end)
    _of_place(found, before, low)
    _of_thing(found, before, after, low, opens=start.opens and not several)
    return found


def _of_person(found: Found, before: list[str], after: list[str], end: _Token) -> None:
    """Add what says that it is somebody."""
    noun = _noun_before(before)
    if noun:
        kind: NameKind = "pet" if noun in PETS else "person"
        found.add("kin", kind)
        found.relation = noun
    elif before[-1:] and (before[-1] in ("called", "named", "nicknamed") or before[-2:] == ["name", "is"]):
        _of_called(found, [singular(word) for word in reversed(before)])
    if relation := _relation_after(after):
        found.add("kin", "pet" if relation in PETS else "person")
        found.relation = found.relation or relation
    if end.owns:
        found.add("owns", "person", 1 if after[:1] and after[0] in WORDS["owned"] else 0.3)
    elif after[:1] and after[0] in WORDS["lives"]:
        found.add("lives", "person")
    elif after[:1] and after[0] in WORDS["is"]:
        found.add("is", "person")
    if before[-2:] == ["me", "and"] or (before[-1:] and before[-1] in WORDS["with"] and not _SIGNED & set(before)):
        found.add("with", "person")


def _of_called(found: Found, nearest: Sequence[str]) -> None:
    """Add what says that it is called so. nearest: the words before it, the last one first."""
    if relation := next((word for word in nearest[:_NEXT] if word in KIN | PETS), ""):
        found.add("called", "pet" if relation in PETS else "person")
        found.relation = relation
    elif any(word in WORDS["projects"] for word in nearest[:_NEAR]):
        found.add("called", "project")
    elif nearest[0] != "is":  # "my name is" tells the user's own
        found.add("called", "topic", 0.3)


def _noun_before(before: list[str]) -> str:
    """Return the relation that stands right before a name: "my sister Ana", "our cats, Milo"."""
    words = before[:-1] if before[-1:] in ([","], [":"]) else before
    noun = singular(words[-1]) if words else ""
    if noun not in PETS and (noun not in KIN or before[-1] == ":"):
        return ""
    return noun if noun != "half" else "partner"


def _relation_after(after: list[str]) -> str:
    """Return the relation that stands behind a name: "Henrik has been the user's team lead", "Ana, my sister"."""
    if after[:1] and after[0] in ("is", "was", "has", ",", "became", "("):
        for at, word in enumerate(after[1:_NEAR], start=1):
            if word in ("my", "our") or (word == "user" and after[at - 1] == "the"):
                near = after[at + 1 : at + 4]
                return next((singular(each) for each in near if singular(each) in KIN | PETS), "")
            if word not in ("been", "the", "also", "now", "is", "was"):
                return ""
    return ""


def _of_place(found: Found, before: list[str], low: str) -> None:
    """Add what says that it is a place."""
    if low in WORDS["places"]:
        found.add("place known", "place")
    if set(low.split(" ")[1:]) & WORDS["place nouns"] or low.startswith(("mount ", "lake ", "st ")):
        found.add("place noun", "place")
    words = before[:-1] if before[-1:] == ["the"] else before
    if words and words[-1] in WORDS["place words"] and not re.search(r"\w[A-ZÀ-Þ]", found.name):
        goes = set(words[-_NEAR:-1]) & WORDS["going"] and (words[-1] != "at" or not _employs(words))
        found.add("place before", "place", 1 if goes else 0.3)


def _employs(before: list[str]) -> bool:
    return bool(set(before[-_NEAR:]) & WORDS["employing"])


def _of_thing(found: Found, before: list[str], after: list[str], low: str, *, opens: bool) -> None:
    """Add what says that it is a project, an employer, or another thing."""
    if names_of_kind(low).keys() & WORDS["topics"]:
        found.add("thing", "topic", 0.5 if opens else 1)
    if (before[-1:] and before[-1] in WORDS["projects"]) or (after[:1] and after[0] in WORDS["projects"]):
        found.add("project", "project")
    if (
        before[-1:]
        and before[-1] in ("at", "for", "by", "company", "join", "joins", "joined", "with")
        and _employs(before)
    ) and (before[-1] != "with" or _SIGNED & set(before)):
        found.add("employer", "topic")
    words = before[:-1] if before[-1:] and before[-1] in _SKIPPED else before
    if not words:
        return
    if words[-1] in WORDS["making"] or words[-2:] == ["working", "on"]:
        found.add("made", "project")
    elif words[-1] in WORDS["using"] or (words[-1] == "is" and {"favourite", "favorite"} & set(words)):
        found.add("used", "topic")


_RELATION: Final = re.compile(
    rf"\b(?:my|our|user['’]s)\s+(?:(?:{'|'.join(WORDS['kin before'])})\s+)*(?P<noun>[a-z-]+)\b"
    rf"(?!['’]s\s+(?:{'|'.join(sorted(KIN | PETS))}))",
    re.IGNORECASE,
)


def relations_en(text: str) -> Iterator[str]:
    """Yield the relations of people and pets of whom a text tells without a name, as "my wife"."""
    for match in _RELATION.finditer(text):
        noun = singular(match["noun"].lower())
        if noun in KIN | PETS:
            yield noun if noun != "half" else "partner"

"""Pairs the name of a secret with the value that stands behind or in front of it, by what both look like."""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from extractor.cleaning.columns import PATTERNS, TABLE
from extractor.tables import table

_WORDS: Final = TABLE.sets("words")
_GROUPS: Final = TABLE.sets("groups")
_KINDS: Final = dict(TABLE.texts("kinds"))
_FEWEST_DIGITS: Final = TABLE.numbers("fewest digits")
_SORTS: Final = {shape: sort[0] for sort, shapes in TABLE.rows("sorts") for shape in shapes}
"""The sort of a shape: word, han, digits, phrase or none; "mixed" for others."""
WEIGHTS: Final = table("secret_weights").numbers("weights")
_TRAILING: Final = ".,;:?)]}>\"'`，。；、\\*_"
AFTER, BEFORE, _MOST = 110, 70, 6
"""Characters that are searched behind and before a name, and candidates there."""


class Pair(NamedTuple):
    """A candidate beside a name. features: the names of its weights, each as often as it counts."""

    start: int
    end: int
    kind: str
    features: list[str]

    @property
    def score(self) -> float:
        """The log-odds that it is a secret; the threshold is 0."""
        return sum(map(WEIGHTS.get, self.features, [0.0] * len(self.features)), WEIGHTS["bias"])


def behind(
    text: str, lower: str, cue: re.Match[str], stop: int, taken: list[tuple[int, int]], masked: list[tuple[int, int]]
) -> Iterator[Pair]:
    """Yield the candidates behind a name, up to stop. taken: the spans of the next names."""
    origin, count, before, before_plain = cue.end(), 0, 0, False
    while origin < len(text) and text[origin] in "\"'”’`*_]})>":
        origin += 1
    for match in PATTERNS["value"].finditer(text, origin, min(len(text), stop + 300)):
        start, end = _span_of(match)
        if start >= stop or count == _MOST:
            break
        value, gap = text[start:end], lower[cue.end() : start]
        if (
            not value
            or lower[start:end] in _WORDS["no value"]
            or PATTERNS["key of an object"].match(text, end)
            or _overlap(start, end, masked)
        ):
            continue
        link = "and" if before and PATTERNS["and"].fullmatch(lower, before, start) else _link(gap)
        shape = _shape_of(match, value)
        if not _fits(str(cue.lastgroup), shape, value, link) or _counts(lower, shape, end):
            continue
        plain = _SORTS.get(shape) in ("word", "han")
        if shape in ("signs", "ident") and link == "beside" and gap.isascii() and not _free(lower, cue):
            continue
        if plain:
            other = (link == "and" and not before_plain) or _overlap(start, end, taken)
            end, shape = (end, "") if other else _whole(text, lower, start, end, shape, cue, link)
            if not shape:
                continue
        features = _features(lower, cue, shape, link, gap, start, end)
        passed = sum(begin < start for begin, _ in taken)
        pair = Pair(start, end, _KINDS[str(cue.lastgroup)], [*features, *["between"] * count, *["passed"] * passed])
        count += not plain
        before, before_plain = (end if pair.score > 0 else 0), plain
        yield pair


def in_front(text: str, lower: str, cue: re.Match[str], begin: int, masked: list[tuple[int, int]]) -> Iterator[Pair]:
    """Yield the last candidates before a name: "hunter2 is my password"."""
    begin = max(begin, lower.rfind("\n\n", begin, cue.start()) + 1)
    number = 0
    for match in reversed([*PATTERNS["value"].finditer(text, begin, cue.start())]):
        start, end = _span_of(match)
        value, gap = text[start:end], lower[end : cue.start()]
        if not value or number == _MOST // 2 or _overlap(start, end, masked):
            continue
        link = "is my" if PATTERNS["is my"].fullmatch(gap) else "words" if gap.strip() else "beside"
        shape = _shape_of(match, value)
        sort = _SORTS.get(shape, "mixed")
        if not _fits(str(cue.lastgroup), shape, value, link) or _counts(lower, shape, end):
            continue
        loose = link != "is my" and gap.strip() not in ("(", "（")
        if loose and not PATTERNS["verb"].search(lower, max(0, start - 16), start):
            continue
        if sort in ("word", "han") or shape == "signs":
            whole = cue.lastgroup in _GROUPS["plain"] and link == "is my" and PATTERNS["my"].search(gap)
            whole = whole and PATTERNS["clause end"].match(lower, cue.end())
            speaks = value.lower() in _WORDS["no value"] or PATTERNS["state"].fullmatch(value)
            if not whole or shape == "han" or speaks or len(value) < 4:  # noqa: PLR2004
                continue
        features = _features(lower, cue, shape, f"before {link}", gap, start, end)
        yield Pair(start, end, _KINDS[str(cue.lastgroup)], [*features, *["between"] * number])
        number += 1


def _overlap(start: int, end: int, spans: Sequence[tuple[int, int]]) -> bool:
    return any(start < stop and begin < end for begin, stop in spans)


def _span_of(match: re.Match[str]) -> tuple[int, int]:
    """Return the span of a candidate without quotes and the end of the sentence."""
    group = str(match.lastgroup)
    start, end = match.span(group)
    while group == "token" and end > start and match.string[end - 1] in _TRAILING:
        if match.string[end - 1] == ")" and "(" in match.string[start:end]:
            break
        end -= 1
    return start, end


def _shape_of(match: re.Match[str], value: str) -> str:
    """Return the name of a candidate's shape."""
    if match.lastgroup in ("spoken", "han"):
        return str(match.lastgroup)
    if match.lastgroup == "mix":
        return "mixed"
    if match.lastgroup in ("quoted", "single", "element", "aside") and " " in value.strip():
        return "quoted"
    shape = next((name for name, pattern in TABLE.compiled("shapes", flags=0) if pattern.fullmatch(value)), "")
    return shape or ("signs" if value.isprintable() else "word")


def _fits(group: str, shape: str, value: str, link: str) -> bool:
    """Return whether a value of this shape may be what the name stands for."""
    if group in _FEWEST_DIGITS:
        return sum(map(str.isdigit, value)) >= _FEWEST_DIGITS[group]
    if group == "cookie":
        return len(value) > 7 and not value.isalpha() and not PATTERNS["address"].fullmatch(value)  # noqa: PLR2004
    if (
        (group == "bare" and shape not in ("d4", "d8", "hash", "parts", "groups"))
        or (group == "access" and shape not in _GROUPS["strong"] and not (shape == "mixed" and len(value) > 7))  # noqa: PLR2004
        or (group in ("key", "token", "secret") and shape in _GROUPS["few digits"] and link not in ("sign", "attached"))
        or (shape == "signs" and link == "words")
        or (group == "phrase" and _SORTS.get(shape) == "digits" and shape != "spoken")
    ):
        return False
    links = {"name": ("sign",), "path": ("sign", "is my"), "ident": ("sign", "copula", "attached", "beside")}.get(
        shape, ("sign", "copula", "to", "attached", "beside", "and", "is my")
    )
    return _SORTS.get(shape) != "none" or (group != "access" and link in links)


def _counts(lower: str, shape: str, end: int) -> bool:
    """Return whether a number counts what follows: "8 characters", "6位"."""
    return _SORTS.get(shape) == "digits" and bool(PATTERNS["unit"].match(lower, end))


def _free(lower: str, cue: re.Match[str]) -> bool:
    """Return whether any word behind the name is its value: "--password swordfish", "user bob, password swordfish"."""
    return bool(PATTERNS["free"].search(lower, max(0, cue.start() - 100), cue.start()))


def _link(gap: str) -> str:
    """Return how a name and the value behind it are joined."""
    gap = PATTERNS["aside"].sub("", gap)
    if not gap.strip() and "\t" not in gap:
        return "below" if "\n" in gap else "beside" if gap else "attached"
    for name in ("sign", "copula", "to", "dash", "comma"):
        if PATTERNS[name].search(gap.rstrip(" \n\"'“‘「『【《`*") if name in ("copula", "to") else gap):
            return name
    return "words"


def _whole(text: str, lower: str, start: int, end: int, shape: str, cue: re.Match[str], link: str) -> tuple[int, str]:
    """Return the end and the shape of a value of plain words, or no shape if the words only speak of the secret."""
    value, group = lower[start:end], cue.lastgroup
    quoted = text[start - 1 : start] in "\"'“‘「『【《`("
    ends = PATTERNS["clause end"].match(lower, end)
    if shape == "han":
        strict = PATTERNS["no Chinese value"] if cue[0][0] == "密" else PATTERNS["no Chinese value here"]
        free = quoted or cue[0].isascii() or group == "answer" or not strict.match(value)
        fits = link in ("sign", "copula", "dash") and group in _GROUPS["plain Chinese"]
        return end, "han" if fits and ends and free and text[end : end + 1] not in ("？", "?") else ""
    free = lower[start - 1] == "=" or _free(lower, cue)
    if (
        text[start - 2 : start] == "</"
        or link == "words"
        or group in _GROUPS["never plain"]
        or (link != "sign" and (group not in _GROUPS["plain"] or group in ("key", "token")))
        or (link == "to" and not PATTERNS["change"].search(lower, max(0, cue.start() - 40), start))
        or value in _WORDS["no value"]
        or len(value) < 3  # noqa: PLR2004
        or (PATTERNS["state"].fullmatch(value) and not quoted)
        or PATTERNS["code"].match(lower, start)
    ):
        return end, ""
    if link == "beside" and lower[start - 2 : start].isascii():
        capital = shape in ("capital", "inner") and cue[0].startswith("passw")
        if not capital and not PATTERNS["using"].search(lower, max(0, cue.start() - 20), cue.start()):
            ends = PATTERNS["strict end"].match(lower, end)
        option = lower[cue.start() - 1 : cue.start()] in "-_"
        return end, shape if (free and (option or ends)) or (capital and ends) else ""
    loose = group in ("phrase", "passphrase", "answer")
    phrases = (loose or group in ("password", "secret")) and not quoted
    if phrases and (more := PATTERNS["more words"].match(lower, end)):
        words = more[0].split()
        speaks = any(word in _WORDS["no value"] or PATTERNS["state"].fullmatch(word) for word in words)
        if (len(words) > 1 or group == "answer") and (loose or not speaks):
            return more.end(), "phrase"
    return end, shape if quoted or free or ends else ""


def _features(lower: str, cue: re.Match[str], shape: str, link: str, gap: str, start: int, end: int) -> list[str]:
    """Return the names of the weights that count for a candidate with this gap to the name."""
    words, sort = PATTERNS["english"].findall(gap), _SORTS.get(shape, "mixed")
    behind, begin, group = lower[end : end + 14], cue.start(), cue.lastgroup
    counts = {
        "unknown": sum(word not in _WORDS["fillers"] for word in words),
        "han": len(PATTERNS["han"].findall(PATTERNS["filler"].sub("", gap))),
        "comma": len(PATTERNS["clause"].findall(gap)),
        "stop": len(PATTERNS["stop"].findall(gap)),
        "line": "\n" in gap,
        "bad": len(PATTERNS["bad"].findall(gap)),
        "bad next": bool(PATTERNS["bad"].match(behind.lstrip())),
        "unit": bool(PATTERNS["unit"].match(behind)),
        "owner": bool(PATTERNS["owner"].search(lower, max(0, start - 30), start)),
        f"at {sort}": bool(PATTERNS["at"].search(lower, max(0, start - 10), start)),
        "verb": bool(PATTERNS["verb"].search(lower, max(0, start - 16), start)),
        "code": shape != "doc" and bool(PATTERNS["code"].match(lower, start)),
        "owner of the name": bool(PATTERNS["owner"].search(lower, max(0, begin - 20), begin)),
        "question": bool(PATTERNS["question"].search(lower, max(0, begin - 40), begin)),
        "ends": bool(PATTERNS["clause end"].match(lower, end)),
    }
    known = [f"{group} {shape}", f"{sort} {link}", f"shape {shape}", f"link {link}", f"group {group}"]
    return known + [name for name, count in counts.items() for _ in range(min(int(count), 5))]

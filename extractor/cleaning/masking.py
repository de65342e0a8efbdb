"""Masks the secrets in a message by their kind: `[masked: openai key]`.

What looks like a secret (shape, character classes) is scored by the noun near it that names one, and by what stands
between, within about a sentence. One linear score with one threshold decides: the words are in `secret_words`, the
weights in `secret_weights`, which `benchmarks/masking.py` fits. What needs no name is found before: prefixes and places
are rows of `secret_words`, checksums and mnemonics in `secret_shapes`.

Why not a package: detect-secrets (the maintained in-process one) brings `requests`, works by line through global
settings, costs 0.7 ms for a line of chat and 2.3 s for 1 MB, and knows neither "密码是…" nor card or identity numbers.
"""

import re
from collections.abc import Generator, Iterator
from typing import Final, NamedTuple

from . import secret_shapes as shapes
from . import secret_words as said
from .layers import Traced
from .secret_shapes import checked
from .secret_weights import WEIGHTS
from .secret_words import PLACED, TOKENS

__all__ = ["Pair", "mask_secrets", "names", "pairs"]


# Passwords in a table: the header names a column, and each row has one in it.

_NAME = re.compile(
    r"(?i)[\"'*_` \t]*(?:[\w-]{1,20}[ _-])?(?:pass(?:word|wd|code|phrase)?|pwd|pw|secret|pin|(?:api|access"
    r"|secret)[ _-]?key"
    r"|\w{0,8}(?:密[码碼钥鑰]|口令))[\"'*_` \t]*"
)
_HEAD = re.compile(
    r"(?im)^(?=[^\n]{0,400}?(?:pass|pwd|pw|secret|pin|key|密|口令))[^\n]{0,400}?(?:[|｜│\t;,]|[ ]{2})[^\n]*$"
)
_RULE = re.compile(r"[-=:|+─━┼│ \t]*")
_PARTS = tuple(re.compile(pattern) for pattern in ("[|｜│]", "\t+", ";", ",", " {2,}"))
_NO_VALUE = re.compile(
    r"(?i)[-—–*•.]*|n/?a|none|null|yes|no|true|false|string|text|varchar.*|char\(.*|hidden|required|optional"
    r"|\[masked.*|无|無"
    r"|是|否|必填|可选|字符串|str|password|\W*\$\{?\w+\}?|.*\s.*\s.*"
)


def in_columns(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the spans of such columns' values, ascending. Linear in the length of the text."""
    position = 0
    while head := _HEAD.search(text, position):
        position = head.end() + 1
        for parting in _PARTS:
            cells = list(_cells(text, head.start(), head.end(), parting))
            columns = {at for at, (start, end) in enumerate(cells) if _NAME.fullmatch(text, start, end)}
            if columns and len(cells) > 1:
                position = yield from _rows(text, position, parting, len(cells), columns)
                break


def _rows(
    text: str, position: int, parting: re.Pattern[str], width: int, columns: set[int]
) -> Generator[tuple[int, int, str], None, int]:
    """Yield the spans of the values below a header; return the end of the table."""
    while position < len(text):
        end = text.find("\n", position)
        end = len(text) if end < 0 else end
        cells = list(_cells(text, position, end, parting))
        if not _RULE.fullmatch(text, position, end) or end == position:
            if len(cells) != width:
                break
            for start, stop in (cells[at] for at in sorted(columns)):
                if stop - start > 2 and not _NO_VALUE.fullmatch(text, start, stop):  # noqa: PLR2004 - no sign, no gap
                    yield start, stop, "[masked: password]"
        position = end + 1
    return position


def _cells(text: str, start: int, end: int, parting: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    """Yield the spans of a line's cells, without blanks around them; a line's outer bars are no cells."""
    begin = start
    spans: list[tuple[int, int]] = []
    for match in parting.finditer(text, start, end):
        spans.append((begin, match.start()))
        begin = match.end()
    spans.append((begin, end))
    for at, (left, right) in enumerate(spans):
        cell = text[left:right]
        bare = cell.strip(" \t\"'`*")
        if bare or 0 < at < len(spans) - 1:
            first = left + len(cell) - len(cell.lstrip(" \t\"'`*")) if bare else left
            yield first, first + len(bare)


_AFTER, _BEFORE, _MOST = 110, 70, 6
"""Characters that are searched behind and before a name, and candidates there."""
_AT_A_WORD: Final = re.compile(
    r"(?<![a-z])(?=[a-zпκكร비\u00e0-\u024f])(?:"
    + "|".join(f"(?P<{group}>{words})" for group, _, words, _ in said.CUES)
    + ")"
)
_ANYWHERE: Final = re.compile(
    r"(?=[p\u3000-\u9fff]|(?<=的)k)(?:"
    + "|".join(f"(?P<{group}>{others})" for group, _, _, others in said.CUES if others)
    + ")"
)
_KINDS: Final = {group: kind for group, kind, *_ in said.CUES}


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


def mask_secrets(told: Traced) -> None:
    """Replace every secret by its kind. Linear in the length of the text."""
    for kind, needle, pattern in TOKENS:
        if needle in told.text:
            told.cut([(*match.span(), f"[masked: {kind}]") for match in pattern.finditer(told.text)])
    lower = told.text.lower()
    for kind, needle, pattern in PLACED:
        if needle in lower:
            told.cut([span for match in pattern.finditer(told.text) if (span := _placed(match, kind))])
    told.cut(list(in_columns(told.text)))
    for spans in checked(told.text):
        told.cut(spans)
    told.cut(_joined([pair for pair in pairs(told.text) if pair.score > 0]))


def _placed(match: re.Match[str], kind: str) -> tuple[int, int, str] | None:
    name = "value" if match["value"] is not None else "other"
    start, end = match.span(name)
    if match[name][0] in "\"'" and match[name][0] == match[name][-1]:
        start, end = start + 1, end - 1
    return None if match[name].strip("\"'").startswith("[masked") else (start, end, f"[masked: {kind}]")


def _joined(found: list[Pair]) -> list[tuple[int, int, str]]:
    spans: list[tuple[int, int, str]] = []
    for pair in sorted(found):
        if spans and pair.start < spans[-1][1]:
            spans[-1] = (spans[-1][0], max(pair.end, spans[-1][1]), spans[-1][2])
        else:
            spans.append((pair.start, pair.end, f"[masked: {pair.kind}]"))
    return spans


def pairs(text: str) -> Iterator[Pair]:
    """Yield what may be a secret, with what speaks for and against it."""
    lower = text.lower()
    if len(lower) != len(text):
        lower = "".join(letter.lower() if len(letter.lower()) == 1 else letter for letter in text)
    masks = [mask.span() for mask in shapes.MASK.finditer(text)]
    inside = {at for start, end in masks for at in range(start, end)}
    cues = [
        cue
        for cue in names(lower)
        if cue.start() not in inside
        and not shapes.PATTERN["compound"].match(lower, cue.end())
        and (cue.lastgroup != "bare" or shapes.PATTERN["place"].search(lower, max(0, cue.start() - 50), cue.end() + 50))
        and not (
            cue.lastgroup in shapes.CODES
            and shapes.PATTERN["other code"].search(lower, max(0, cue.start() - 20), cue.start())
        )
    ]
    taken = [cue.span() if cue.lastgroup != "access" else (0, 0) for cue in cues]
    for at, cue in enumerate(cues):
        masked = [span for span in masks if span[1] > cue.start() - _BEFORE and span[0] < cue.end() + _AFTER]
        same = [other.start() for other in cues[at + 1 : at + 4] if other.lastgroup == cue.lastgroup]
        yield from _behind(text, lower, cue, min([cue.end() + _AFTER, *same]), taken[at + 1 : at + 3], masked)
        begin = max(
            [
                0,
                cue.start() - _BEFORE,
                *(other.end() for other in cues[max(0, at - 3) : at] if other.lastgroup == cue.lastgroup),
            ]
        )
        yield from _in_front(text, lower, cue, begin, masked)


def names(lower: str) -> Iterator[re.Match[str]]:
    """Yield the nouns that name a secret, ascending, each place once."""
    end = 0
    for name in sorted(
        (*_AT_A_WORD.finditer(lower), *_ANYWHERE.finditer(lower)), key=lambda name: (name.start(), -name.end())
    ):
        if name.start() >= end:
            end = name.end()
            yield name


def _behind(
    text: str, lower: str, cue: re.Match[str], stop: int, taken: list[tuple[int, int]], masked: list[tuple[int, int]]
) -> Iterator[Pair]:
    """Yield the candidates behind a name, up to stop. taken: the spans of the next names."""
    origin, count, before, before_plain = cue.end(), 0, 0, False
    while origin < len(text) and text[origin] in "\"'”’`*_]})>":
        origin += 1
    for match in shapes.VALUE.finditer(text, origin, min(len(text), stop + 300)):
        start, end = shapes.span_of(match)
        if start >= stop or count == _MOST:
            break
        value, gap = text[start:end], lower[cue.end() : start]
        if (
            not value
            or lower[start:end] in said.NO_WORD
            or shapes.KEY.match(text, end)
            or any(start < right and left < end for left, right in masked)
        ):
            continue
        link = "and" if before and shapes.PATTERN["and"].fullmatch(lower, before, start) else _link(gap)
        shape = shapes.shape_of(match, value)
        if not shapes.fits(str(cue.lastgroup), shape, value, link) or _counts(lower, shape, end):
            continue
        plain = shapes.SORTS.get(shape) in ("word", "han")
        if shape in ("signs", "ident") and link == "beside" and gap.isascii() and not _free(lower, cue):
            continue
        if plain:
            other = (link == "and" and not before_plain) or any(start < right and left < end for left, right in taken)
            end, shape = (end, "") if other else _whole(text, lower, start, end, shape, cue, link)
            if not shape:
                continue
        features = _features(lower, cue, shape, link, gap, start, end)
        passed = sum(left < start for left, _ in taken)
        pair = Pair(start, end, _kind(cue), [*features, *["between"] * count, *["passed"] * passed])
        count += not plain
        before, before_plain = (end if pair.score > 0 else 0), plain
        yield pair


def _in_front(text: str, lower: str, cue: re.Match[str], begin: int, masked: list[tuple[int, int]]) -> Iterator[Pair]:
    """Yield the last candidates before a name: "hunter2 is my password"."""
    begin = max(begin, lower.rfind("\n\n", begin, cue.start()) + 1)
    number = 0
    for match in reversed([*shapes.VALUE.finditer(text, begin, cue.start())]):
        start, end = shapes.span_of(match)
        value, gap = text[start:end], lower[end : cue.start()]
        if not value or number == _MOST // 2 or any(start < right and left < end for left, right in masked):
            continue
        link = "is my" if shapes.PATTERN["is my"].fullmatch(gap) else "words" if gap.strip() else "beside"
        shape = shapes.shape_of(match, value)
        sort = shapes.SORTS.get(shape, "mixed")
        if not shapes.fits(str(cue.lastgroup), shape, value, link) or _counts(lower, shape, end):
            continue
        if (
            link != "is my"
            and gap.strip() not in ("(", "（")
            and not shapes.PATTERN["verb"].search(lower, max(0, start - 16), start)
        ):
            continue
        if sort in ("word", "han") or shape == "signs":
            whole = (
                cue.lastgroup in shapes.PLAIN
                and link == "is my"
                and shapes.PATTERN["my"].search(gap)
                and shapes.CLAUSE_END.match(lower, cue.end())
            )
            speaks = value.lower() in said.NO_WORD or shapes.STATE.fullmatch(value)
            if not whole or shape == "han" or speaks or len(value) < 4:  # noqa: PLR2004
                continue
        features = _features(lower, cue, shape, f"before {link}", gap, start, end)
        yield Pair(start, end, _kind(cue), [*features, *["between"] * number])
        number += 1


def _counts(lower: str, shape: str, end: int) -> bool:
    """Whether a number counts what follows: "8 characters", "6位"."""
    return shapes.SORTS.get(shape) == "digits" and bool(shapes.PATTERN["unit"].match(lower, end))


def _free(lower: str, cue: re.Match[str]) -> bool:
    """Whether any word right behind the name is its value: "--password swordfish", "user bob, password swordfish"."""
    return bool(shapes.PATTERN["free"].search(lower, max(0, cue.start() - 100), cue.start()))


def _kind(cue: re.Match[str]) -> str:
    return _KINDS[str(cue.lastgroup)]


def _link(gap: str) -> str:
    """Return how a name and the value behind it are joined."""
    gap = shapes.PATTERN["aside"].sub("", gap)
    if not gap.strip() and "\t" not in gap:
        return "below" if "\n" in gap else "beside" if gap else "attached"
    for name in ("sign", "copula", "to", "dash", "comma"):
        if shapes.PATTERN[name].search(gap.rstrip(" \n\"'“‘「『【《`*") if name in ("copula", "to") else gap):
            return name
    return "words"


def _whole(text: str, lower: str, start: int, end: int, shape: str, cue: re.Match[str], link: str) -> tuple[int, str]:
    """Return the end and the shape of a value of plain words, or no shape if the words only speak of the secret."""
    value, group = lower[start:end], cue.lastgroup
    quoted = text[start - 1 : start] in "\"'“‘「『【《`("
    ends = shapes.CLAUSE_END.match(lower, end)
    if shape == "han":
        strict = shapes.NO_HAN if cue[0][0] == "密" else shapes.NO_HAN_HERE
        free = quoted or cue[0].isascii() or group == "answer" or not strict.match(value)
        fits = link in ("sign", "copula", "dash") and group in shapes.HAN_TOO and text[end : end + 1] not in ("？", "?")
        return end, "han" if fits and ends and free else ""
    free = lower[start - 1] == "=" or _free(lower, cue)
    if (
        text[start - 2 : start] == "</"
        or link == "words"
        or group in shapes.NO_PLAIN
        or (link != "sign" and (group not in shapes.PLAIN or group in ("key", "token")))
        or (link == "to" and not shapes.PATTERN["change"].search(lower, max(0, cue.start() - 40), start))
        or value in said.NO_WORD
        or len(value) < 3  # noqa: PLR2004
        or (shapes.STATE.fullmatch(value) and not quoted)
        or shapes.PATTERN["code"].match(lower, start)
    ):
        return end, ""
    if link == "beside" and lower[start - 2 : start].isascii():
        capital = shape in ("capital", "inner") and cue[0].startswith("passw")
        if not capital and not lower[: cue.start()].endswith(shapes.USING):
            ends = shapes.STRICT_END.match(lower, end)
        option = lower[cue.start() - 1 : cue.start()] in "-_"
        return end, shape if (free and (option or ends)) or (capital and ends) else ""
    loose = group in ("phrase", "passphrase", "answer")
    if (loose or group in ("password", "secret")) and not quoted and (more := shapes.WORDS_TOO.match(lower, end)):
        words = more[0].split()
        speaks = any(word in said.NO_WORD or shapes.STATE.fullmatch(word) for word in words)
        if (len(words) > 1 or group == "answer") and (loose or not speaks):
            return more.end(), "phrase"
    return end, shape if quoted or free or ends else ""


def _features(lower: str, cue: re.Match[str], shape: str, link: str, gap: str, start: int, end: int) -> list[str]:
    """Return the names of the weights that count for a candidate with this gap to the name."""
    words, sort = shapes.PATTERN["english"].findall(gap), shapes.SORTS.get(shape, "mixed")
    behind, begin, group = lower[end : end + 14], cue.start(), cue.lastgroup
    counts = {
        "unknown": sum(word not in said.FILLERS for word in words),
        "han": len(shapes.PATTERN["han"].findall(shapes.PATTERN["filler"].sub("", gap))),
        "comma": len(shapes.PATTERN["clause"].findall(gap)),
        "stop": len(shapes.PATTERN["stop"].findall(gap)),
        "line": "\n" in gap,
        "bad": len(shapes.PATTERN["bad"].findall(gap)),
        "bad next": bool(shapes.PATTERN["bad"].match(behind.lstrip())),
        "unit": bool(shapes.PATTERN["unit"].match(behind)),
        "owner": bool(shapes.PATTERN["owner"].search(lower, max(0, start - 30), start)),
        f"at {sort}": bool(shapes.PATTERN["at"].search(lower, max(0, start - 10), start)),
        "verb": bool(shapes.PATTERN["verb"].search(lower, max(0, start - 16), start)),
        "code": shape != "doc" and bool(shapes.PATTERN["code"].match(lower, start)),
        "owner of the name": bool(shapes.PATTERN["owner"].search(lower, max(0, begin - 20), begin)),
        "question": bool(shapes.PATTERN["question"].search(lower, max(0, begin - 40), begin)),
        "ends": bool(shapes.CLAUSE_END.match(lower, end)),
    }
    known = [f"{group} {shape}", f"{sort} {link}", f"shape {shape}", f"link {link}", f"group {group}"]
    return known + [name for name, count in counts.items() for _ in range(min(int(count), 5))]

"""The places in a JSON5 document: of each key with its comment, and of what is no JSON5."""

import json
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import pyjson5

# The JSON5 parser returns values without lines, and does not report a key that is given twice. The scanner reads a
# document that the parser has accepted, so it only needs to know tokens and nesting.

KeyPath = tuple[str | int, ...]
"""The keys (str) and list positions (int, from 0) that lead from the root to a value; the root's is ()."""
_TOKEN = re.compile(
    r"""
      (?P<space> [\s\ufeff]+ )
    | (?P<comment> //[^\n\r\u2028\u2029]* | /\*.*?\*/ )
    | (?P<bracket> [{}\[\]] )
    | (?P<separator> [:,] )
    | (?P<value> "(?:[^"\\]|\\.)*" | '(?:[^'\\]|\\.)*' | [^\s\ufeff{}\[\]:,"'/]+ )
    """,
    re.VERBOSE | re.DOTALL,
)
_LINE_END = re.compile(r"\r\n|\r|\n")  # as editors count lines; U+2028 and U+2029 end a comment, but not a line
_PLAIN_KEY = re.compile(r"[A-Za-z_$][\w$]*", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Duplicate:
    """A key given again on `line` within one object; it was given before on `first_line`."""

    path: KeyPath
    line: int
    first_line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """The line (from 1) of every key and list entry, the comment above each key, and the keys given more than once.

    spans: where the text of each value begins and ends, its brackets included. Where a key is given twice, its last
    line and its last value count.
    """

    lines: Mapping[KeyPath, int]
    spans: Mapping[KeyPath, tuple[int, int]]
    comments: Mapping[KeyPath, str]
    duplicates: tuple[Duplicate, ...]


@dataclass(slots=True, kw_only=True)
class _Open:
    """An object or list whose closing bracket has not been reached. step: to its next value; None: a key is next."""

    path: KeyPath
    step: str | int | None
    key_lines: dict[str, int] = field(default_factory=dict)
    start: int = 0


def scan(text: str) -> Scan:
    """Return the positions of a valid JSON5 document."""
    lines: dict[KeyPath, int] = {}
    comments: dict[KeyPath, str] = {}
    duplicates: list[Duplicate] = []
    spans: dict[KeyPath, tuple[int, int]] = {}
    nesting: list[_Open] = []
    for token, start, line, comment in _content(text):
        inner = nesting[-1] if nesting else None
        if token in "}]":
            closed = nesting.pop()
            spans[closed.path] = closed.start, start + 1
        elif inner is not None and inner.step is None:
            (key,) = pyjson5.decode(f"{{{token}:0}}")  # without its quotes and escapes
            path = (*inner.path, key)
            if key in inner.key_lines:
                duplicates.append(Duplicate(path=path, line=line, first_line=inner.key_lines[key]))
            inner.key_lines.setdefault(key, line)
            lines[path] = line
            comments[path] = comment
            inner.step = key
        else:
            path = ()
            if inner is not None and inner.step is not None:
                path = (*inner.path, inner.step)
                inner.step = inner.step + 1 if isinstance(inner.step, int) else None
            if not path or isinstance(path[-1], int):
                lines[path] = line
            if token in "{[":
                nesting.append(_Open(path=path, step=0 if token == "[" else None, start=start))
            else:
                spans[path] = start, start + len(token)
    return Scan(lines=lines, spans=spans, comments=comments, duplicates=tuple(duplicates))


def has_comma(text: str, start: int, end: int) -> bool:
    """Return whether a comma stands between two values, or behind the last one of an object, outside of comments."""
    return any(match[0] == "," for match in _TOKEN.finditer(text, start, end))


def position(text: str, offset: int) -> tuple[int, int]:
    """Return line and column, both from 1, of the character at `offset`."""
    line_starts = _line_starts(text)
    line = bisect_right(line_starts, offset)
    return line, offset - line_starts[line - 1] + 1


def dotted(path: KeyPath) -> str:
    """Write a path as messages show it: agents.list[0].memorySync, with keys that aren't plain words in quotes."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif _PLAIN_KEY.fullmatch(step):
            text += f".{step}" if text else step
        else:
            text += f"[{json.dumps(step, ensure_ascii=False)}]"
    return text


def _content(text: str) -> Iterator[tuple[str, int, int, str]]:
    """Yield brackets, keys and values, each with its offset, its line and the comment that stands above it."""
    line_starts = _line_starts(text)
    above: list[str] = []
    last_line = 0  # where the last token other than space or comment ended
    for match in _TOKEN.finditer(text):
        line = bisect_right(line_starts, match.start())
        if match.lastgroup == "comment" and line != last_line:  # one behind a value does not describe the next key
            body = match[0][2:-2] if match[0].startswith("/*") else match[0][2:]
            above.append("\n".join(text_line.strip().removeprefix("* ") for text_line in body.strip().splitlines()))
        if match.lastgroup in ("bracket", "value"):
            yield match[0], match.start(), line, "\n".join(above)
        if match.lastgroup in ("bracket", "value", "separator"):
            above.clear()
            last_line = bisect_right(line_starts, match.end() - 1)


def _line_starts(text: str) -> list[int]:
    return [0, *(match.end() for match in _LINE_END.finditer(text))]


NO_JSON5 = "no valid JSON5"


def syntax_mistake(text: str, message: str) -> tuple[int | None, str]:
    """Return the line of a mistake, if it has one, and what is wrong there.

    message: pyjson5's, which counts characters from 1 and names them by code point.
    """
    near = re.search(r" (?:starting )?near (\d+)", message)
    if near is None:
        return None, f"{NO_JSON5}: {message}"
    at = max(int(near[1]) - 1, 0)
    full_width = _full_width_at(text, at, marks="“”＂‘’" if message.startswith("Unclosed") else "“”＂")
    if full_width is not None:
        line, column = position(text, full_width)
        mistake = f"full-width punctuation {text[full_width]!r}; write it in half width（全角标点，请改成半角）"
    else:
        line, column = position(text, at)
        message = message.replace(near[0], "")
        message = re.sub(r"U\+([0-9a-fA-F]{4,6})", lambda match: repr(chr(int(match[1], 16))), message)
        message = re.sub(r"b'(\w+)'", lambda match: _TERMS.get(match[1], match[1]), message)
        mistake = f"{message[:1].lower()}{message[1:]}"
    return line, f"{NO_JSON5} at column {column}: {mistake}"


def _full_width_at(text: str, at: int, *, marks: str) -> int | None:
    """Return where the full-width punctuation stands that is the mistake at `at`, or None if there is none.

    It is the character itself, or one of the quotation marks on its line that belongs to no pair: it was to close a
    string.
    """
    if text[at : at + 1] and _is_full_width(text[at]):
        return at
    start = _line_starts(text)[position(text, at)[0] - 1]
    end = _LINE_END.search(text, at)
    alone: list[int] = []
    for offset in range(start, end.start() if end else len(text)):
        if alone and text[alone[-1]] + text[offset] in ("“”", "‘’"):
            alone.pop()
        elif text[offset] in marks:
            alone.append(offset)
    return alone[0] if alone else None


def _is_full_width(character: str) -> bool:
    wide = unicodedata.east_asian_width(character) in ("F", "W", "A") and not character.isascii()
    return wide and unicodedata.category(character)[0] in "PS"


_TERMS = {
    "colon": "':'",
    "comma": "','",
    "JSON5Value": "a value",
    "IdentifierStart": "a key",
    "NumericLiteral": "number",
}

"""The line of each key of a JSON5 document.

The JSON5 parser returns values without lines, and does not report a key that is given twice. The scanner reads a
document that the parser has accepted, so it only needs to know tokens and nesting.
"""

import json
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import pyjson5

__all__ = ["Duplicate", "KeyPath", "Scan", "dotted", "position", "scan"]

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

    Where a key is given twice its last line counts, as its last value does.
    """

    lines: Mapping[KeyPath, int]
    comments: Mapping[KeyPath, str]
    duplicates: tuple[Duplicate, ...]


@dataclass(slots=True, kw_only=True)
class _Open:
    """An object or list whose closing bracket has not been reached."""

    path: KeyPath
    is_list: bool
    length: int = 0
    key: str | None = None  # of an object: the key whose value comes next
    key_lines: dict[str, int] = field(default_factory=dict)


def scan(text: str) -> Scan:
    """Return the positions of a valid JSON5 document."""
    lines: dict[KeyPath, int] = {}
    comments: dict[KeyPath, str] = {}
    duplicates: list[Duplicate] = []
    nesting: list[_Open] = []
    for token, line, comment in _content(text):
        inner = nesting[-1] if nesting else None
        if token in "}]":
            nesting.pop()
        elif inner is not None and not inner.is_list and inner.key is None:
            inner.key = _key(token)
            path = (*inner.path, inner.key)
            if inner.key in inner.key_lines:
                duplicates.append(Duplicate(path=path, line=line, first_line=inner.key_lines[inner.key]))
            inner.key_lines.setdefault(inner.key, line)
            lines[path] = line
            comments[path] = comment
        else:
            path = _path_of_value(inner)
            if inner is None or inner.is_list:
                lines[path] = line
            if token in "{[":
                nesting.append(_Open(path=path, is_list=token == "["))
    return Scan(lines=lines, comments=comments, duplicates=tuple(duplicates))


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


def _content(text: str) -> Iterator[tuple[str, int, str]]:
    """Yield brackets, keys and values, each with its line and the comment that stands above it."""
    line_starts = _line_starts(text)
    above: list[str] = []
    last_line = 0  # where the last token other than space or comment ended
    for match in _TOKEN.finditer(text):
        line = bisect_right(line_starts, match.start())
        if (
            match.lastgroup == "comment" and line != last_line
        ):  # a comment behind a value does not describe the next key
            above.append(_comment_text(match[0]))
        if match.lastgroup in ("bracket", "value"):
            yield match[0], line, "\n".join(above)
        if match.lastgroup in ("bracket", "value", "separator"):
            above.clear()
            last_line = bisect_right(line_starts, match.end() - 1)


def _path_of_value(inner: _Open | None) -> KeyPath:
    if inner is None:
        return ()
    if inner.is_list:
        inner.length += 1
        return (*inner.path, inner.length - 1)
    key, inner.key = inner.key, None
    assert key is not None
    return (*inner.path, key)


def _key(token: str) -> str:
    """Decode the quotes and escapes of a key: the parser reads an object with this key only."""
    (key,) = pyjson5.decode(f"{{{token}:0}}")
    return str(key)


def _line_starts(text: str) -> list[int]:
    return [0, *(match.end() for match in _LINE_END.finditer(text))]


def _comment_text(token: str) -> str:
    body = token[2:-2] if token.startswith("/*") else token[2:]
    return "\n".join(line.strip().removeprefix("* ") for line in body.strip().splitlines())

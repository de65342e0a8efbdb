"""Passwords in a table: the header names a column, and each row has one in it."""

import re
from collections.abc import Generator, Iterator

__all__ = ["in_columns"]

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

"""Passwords in a table: the header names a column, and each row has one in it."""

import re
from collections.abc import Generator, Iterator
from typing import Final

from extractor.tables import table

TABLE: Final = table("secrets")
PATTERNS: Final = TABLE.patterns(flags=0)
COLUMNS: Final = TABLE.patterns("columns")


_PARTS: Final = tuple(re.compile(pattern) for pattern in ("[|｜│]", "\t+", ";", ",", " {2,}"))


def in_columns(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the spans of such columns' values, ascending. Linear in the length of the text."""
    position = 0
    while head := COLUMNS["head of a table"].search(text, position):
        position = head.end() + 1
        for parting in _PARTS:
            cells = list(_cells(text, head.start(), head.end(), parting))
            columns = {
                at for at, (start, end) in enumerate(cells) if COLUMNS["name of a column"].fullmatch(text, start, end)
            }
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
        if not COLUMNS["rule"].fullmatch(text, position, end) or end == position:
            if len(cells) != width:
                break
            for start, stop in (cells[at] for at in sorted(columns)):
                if stop - start > 2 and not COLUMNS["no value"].fullmatch(text, start, stop):  # noqa: PLR2004 - no sign, no gap
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
    for at, (begin, stop) in enumerate(spans):
        cell = text[begin:stop]
        bare = cell.strip(" \t\"'`*")
        if bare or 0 < at < len(spans) - 1:
            first = begin + len(cell) - len(cell.lstrip(" \t\"'`*")) if bare else begin
            yield first, first + len(bare)

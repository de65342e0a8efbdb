"""Reads JSON lines and large arrays of JSON without holding the file in memory."""

import json
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import IO, Any, Final

from gateway_memory.ground.texts import MARK, json_of, text_in
from gateway_memory.transfer.items import Problem

LONGEST_LINE: Final = 1 << 20
_LONGEST_HISTORY_LINE: Final = 1 << 26
"""An agent's transcript has outputs of tools and images in its lines."""
_PIECE: Final = 1 << 20
_LONGEST_OBJECT: Final = 1 << 28


def text_of_file(path: Path) -> str:
    """Return the text of a file in one of the encodings that are read; of another, what is UTF-8 in it.

    Raises:
        OSError: it can't be read.
    """
    content = path.read_bytes()
    text = text_in(content)
    return (content.decode("utf-8", "replace") if text is None else text).replace("\r\n", "\n").lstrip(MARK)


def numbered_lines(path: Path, longest: int = LONGEST_LINE) -> Iterator[tuple[int, bytes | None]]:
    """Yield a file's lines with their numbers from 1; None instead of a line that is too long."""
    with _as_utf8(path) as stream:
        number = 0
        while line := stream.readline(longest + 1):
            number += 1
            if len(line) > longest:
                while line and not line.endswith(b"\n"):
                    line = stream.readline(longest)
                yield number, None
            elif line.strip():
                yield number, line


def _as_utf8(path: Path) -> IO[bytes]:
    """Open a file, one in UTF-16 as if it were UTF-8: PowerShell writes such files."""
    stream = path.open("rb")
    if stream.read(2) in (BOM_UTF16_LE, BOM_UTF16_BE):
        stream.close()
        return BytesIO(text_of_file(path).encode("utf-8", "replace"))
    stream.seek(0)
    return stream


def objects_of_lines(path: Path) -> Iterator[dict[str, Any] | Problem]:
    """Yield the objects of a transcript's lines, and a problem for each line that is none."""
    for number, line in numbered_lines(path, _LONGEST_HISTORY_LINE):
        place = f"{path}:{number}"
        try:
            entry = None if line is None else json_of(line)
        except (ValueError, RecursionError):
            yield Problem(place=place, reason="no JSON")
            continue
        if isinstance(entry, dict):
            yield entry
        else:
            yield Problem(place=place, reason="expected an object")


def objects_of_array(stream: IO[str], place: str) -> Iterator[tuple[int, dict[str, Any]] | Problem]:
    """Yield the objects of an array with their numbers from 1, one at a time."""
    decoder, waiting, number, started = json.JSONDecoder(), "", 0, False
    size = _PIECE
    while piece := stream.read(size):
        waiting += piece if started else piece.lstrip(MARK)
        if not started:
            waiting = waiting.lstrip()
            if waiting and waiting[0] != "[":
                yield Problem(place=place, reason="expected an array of conversations")
                return
            started, waiting = bool(waiting), waiting[1:]
        while waiting := waiting.lstrip(" \t\r\n,"):
            if waiting[0] == "]":
                return
            try:
                element, end = decoder.raw_decode(waiting)
            except (ValueError, RecursionError):  # the rest of it is still to be read
                break
            number += 1
            waiting = waiting[end:]
            if isinstance(element, dict):
                yield number, element
            else:
                yield Problem(place=f"{place}: conversation {number}", reason="expected an object")
        size = max(_PIECE, len(waiting))  # an object of many pieces is not decoded again for each
        if len(waiting) > _LONGEST_OBJECT:
            break
    if waiting or not started:
        yield Problem(place=f"{place}: conversation {number + 1}", reason="no JSON, or cut off")

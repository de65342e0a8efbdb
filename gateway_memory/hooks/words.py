"""Lexical search for a short-lived process, over the rows of the index or over the files.

It loads no postings and no encoder. It searches each text for the query's words and character pairs.
"""

import contextlib
import math
import os
import re
from collections import Counter
from collections.abc import Iterable
from datetime import tzinfo
from itertools import groupby
from pathlib import Path
from typing import Final

from gateway_memory.runtime.ground import day_of, noon_of
from gateway_memory.scope import OWNER_SCOPE, Scope
from gateway_memory.store.disk.own import Owned, open_own
from gateway_memory.store.disk.workspace import EPISODE_PAGES, INDEX_FILE
from gateway_memory.store.markdown import parse
from recall import Line, RecallError, peek

_WORD: Final = re.compile(r"[^\W_]+")  # a class of ranges beyond these takes 20 ms to compile
_WIDE_FROM: Final = "\u2e80"
_LONGEST_WORD: Final = 40
_TERMS: Final = 40


def best(lines: Iterable[Line], query: str, *, limit: int, min_score: float) -> list[Line]:
    """Return the lines that contain most of a query's words, weighted by their rarity, best first."""
    terms = _terms(query)
    if not terms:
        return []
    number = 0
    matching: list[tuple[Line, list[str]]] = []
    for line in lines:
        number += 1
        text = line.text.lower()
        contained = [term for term in terms if term in text]
        if contained:
            matching.append((line, contained))
    frequency = Counter(term for _, contained in matching for term in contained)
    weight = {term: math.log(1 + number / (1 + frequency[term])) for term in terms}
    total = sum(weight.values()) or 1.0
    scored = [(sum(weight[term] for term in contained) / total, line) for line, contained in matching]
    scored = [pair for pair in scored if pair[0] >= min_score]
    scored.sort(key=lambda pair: (-pair[0], -pair[1].at))
    return [line._replace(score=round(score, 3)) for score, line in scored[:limit]]


def lines_of(workspace: Path, zone: tzinfo | None, now: float, scope: Scope = OWNER_SCOPE) -> list[Line]:
    """Return the memories of a scope, from the index if it is up to date, else from the files.

    zone: the zone in which days are counted. now: epoch seconds.
    """
    if _index_follows(workspace, scope):
        with contextlib.suppress(RecallError), peek(workspace / INDEX_FILE) as index:
            return index.lines(scope.key, day_of(now, zone))
    return list(_lines_of_files(workspace, zone, scope))


def _index_follows(workspace: Path, scope: Scope) -> bool:
    """Return whether the index matches the files of a scope by names, times and sizes."""
    folder = workspace / scope.folder
    try:
        with peek(workspace / INDEX_FILE) as index:
            indexed = index.stamps(scope.key).items()
            stamps = {name: stamp for name, stamp in indexed if not name.startswith(EPISODE_PAGES)}
    except RecallError:  # a missing index or another version; the files have everything
        return False
    files = {}
    with contextlib.suppress(OSError), os.scandir(folder / "memory") as entries:
        files = {
            f"memory/{entry.name}": entry.stat()
            for entry in entries
            if entry.name.endswith(".md") and not entry.name.startswith(".")
        }
    with contextlib.suppress(OSError):
        files["MEMORY.md"] = (folder / "MEMORY.md").stat()
    return stamps == {name: (state.st_mtime_ns, state.st_size) for name, state in files.items()}


def _lines_of_files(workspace: Path, zone: tzinfo | None, scope: Scope) -> Iterable[Line]:
    owned, folder = Owned(workspace), workspace / scope.folder
    for path in [folder / "MEMORY.md", *sorted((folder / "memory").glob("*.md"))]:
        try:
            with open_own(owned, path.relative_to(workspace).as_posix()) as stream:
                text, at = stream.read().decode("utf-8", "surrogateescape"), os.fstat(stream.fileno()).st_mtime
        except OSError:
            continue
        noon = noon_of(path.stem, zone)
        at = at if noon is None else noon  # a day's log has the time of its day, another note its modification time
        file = path.relative_to(folder).as_posix()
        for block in parse(text, file=file):
            if block.type != "S":
                yield Line(id=block.id, text=block.text, type=block.type, file=file, at=at)


def _terms(query: str) -> list[str]:
    words: list[str] = []
    pairs: list[str] = []
    for match in _WORD.finditer(query.lower()):
        for wide, letters in groupby(match[0], key=_is_wide):
            run = "".join(letters)
            if wide:
                pairs += [run[at : at + 2] for at in range(len(run) - 1)] or [run]
            elif 1 < len(run) <= _LONGEST_WORD:
                words.append(run)
    return list(dict.fromkeys([*words, *pairs]))[:_TERMS]


def _is_wide(letter: str) -> bool:
    return letter >= _WIDE_FROM

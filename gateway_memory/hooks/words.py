"""The memories that a short-lived process searches by words: from the index if it follows the files, else from them."""

import contextlib
import os
from collections.abc import Iterable, Sequence
from datetime import tzinfo
from pathlib import Path

from extractor import traits_of
from gateway_memory.ground.times import noon_of
from gateway_memory.scope import OWNER_SCOPE, Scope
from gateway_memory.store.disk.own import Owned, notes_in, open_own
from gateway_memory.store.disk.workspace import EPISODE_PAGES, INDEX_FILE
from gateway_memory.store.documents import MEMORY_FILE, is_writable, original_of, text_from
from gateway_memory.store.headings import day_of_file
from gateway_memory.store.markdown import parse
from gateway_memory.store.validity import State, Today, Validity, marked
from gateway_memory.store.withheld import Withheld
from recall import Line, RecallError, peek, related


def related_lines(
    lines: Sequence[Line], query: str, today: Today, *, limit: int, min_score: float, past: bool
) -> list[tuple[float, Line]]:
    """Return the best lines for a query as they are told today, each with its score from 0 to 1, the best first.

    past: also what is over.
    """
    validity = Validity(Withheld(()), today=today)
    found = related(lines, query, limit=2 * limit, min_score=min_score, now=today.at, zone=today.zone)
    return [(score, line) for score, hit in found for line in told_lines([hit], validity, past=past)][:limit]


def told_lines(lines: Iterable[Line], validity: Validity, *, past: bool = False) -> list[Line]:
    """Return lines as they are told today, with the mark of their state. past: also those that are over."""
    return [
        line._replace(text=marked(line.text, state))
        for line, state in ((line, _state_of(line, validity)) for line in lines)
        if past or state != "over"
    ]


def _state_of(line: Line, validity: Validity) -> State:
    at = None if line.file == MEMORY_FILE else line.at  # when the file was saved is not when a line was said
    return validity.state_of(line.id, line.text, at, standing=traits_of(line.category).standing)


def lines_of(workspace: Path, zone: tzinfo | None, scope: Scope = OWNER_SCOPE) -> list[Line]:
    """Return the memories of a scope, from the index if it is up to date, else from the files.

    zone: the zone in which days are counted.
    """
    if _index_follows(workspace, scope):
        with contextlib.suppress(RecallError), peek(workspace / INDEX_FILE) as index:
            return index.lines(scope.key)
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
    with contextlib.suppress(OSError):
        files = {name: (folder / name).stat() for name, *_ in notes_in(Owned(workspace), scope.folder)}
    with contextlib.suppress(OSError):
        files["MEMORY.md"] = (folder / "MEMORY.md").stat()
    return stamps == {name: (state.st_mtime_ns, state.st_size) for name, state in files.items()}


def _lines_of_files(workspace: Path, zone: tzinfo | None, scope: Scope) -> Iterable[Line]:
    owned, folder = Owned(workspace), workspace / scope.folder
    texts: dict[str, str] = {}
    notes = [folder / name for name, *_ in notes_in(owned, scope.folder)]
    notes.sort(key=lambda path: (original_of(path.name) or "", path.as_posix()))
    for path in [folder / "MEMORY.md", *notes]:  # a copy stands behind what it is a copy of
        try:
            with open_own(owned, path.relative_to(workspace).as_posix()) as stream:
                text, at = text_from(stream.read()), os.fstat(stream.fileno()).st_mtime
        except OSError:
            continue
        file = path.relative_to(folder).as_posix()
        noon = noon_of(day_of_file(file), zone)
        at = at if noon is None else noon  # a day's log has the time of its day, another note its modification time
        texts[file] = text
        original = original_of(file)
        told = (
            {each.text for each in parse(texts[original], file=original)} if original and original in texts else set()
        )
        for block in parse(text, file=file, memories=is_writable(file)):
            if block.type != "S" and block.text not in told:
                said = noon_of(block.day, zone)
                yield Line(
                    id=block.id, text=block.text, type=block.type, file=file, at=at if said is None else min(said, at)
                )

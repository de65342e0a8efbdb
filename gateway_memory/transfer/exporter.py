"""Everything that a workspace remembers, as JSON lines or as a copy of its Markdown."""

import json
import shutil
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from gateway_memory.compute import compute
from gateway_memory.errors import UsageError
from gateway_memory.scope import OWNER, Scope, resolve_scope
from gateway_memory.store.files import MarkdownFiles, is_writable
from gateway_memory.store.journal.journal import Journal
from gateway_memory.store.markdown import parse
from gateway_memory.store.summaries import SESSIONS_FILE, read_records
from gateway_memory.sync.follower import IMPORTANCE, Follower
from gateway_memory.transfer.layouts import note_file, prose_of
from recall import Recaller

__all__ = ["Exporter", "scopes_of", "to_line"]

_ALL: Final = 1 << 40
_FOLDERS: Final = {"people": "user", "rooms": "room"}


def scopes_of(workspace: Path, keys: Sequence[str]) -> tuple[list[Scope], list[str]]:
    """Return the scopes that a workspace holds, and the folders whose person or room nobody knows any more.

    keys: the scopes that the journal has met; a folder's name alone gives its scope only where nothing was replaced.
    """
    scopes = [resolve_scope(user=OWNER, room=None)]
    known: dict[str, Scope] = {}
    for key in keys:
        kind, _, name = key.partition(":")
        if kind in ("user", "room") and name:
            scope = resolve_scope(user=name if kind == "user" else None, room=name if kind == "room" else None)
            known[scope.folder] = scope
    lost: list[str] = []
    for parent, kind in _FOLDERS.items():
        for path in sorted((workspace / parent).glob("*/")):
            folder = f"{parent}/{path.name}"
            name = path.name.rpartition("-")[0]
            if folder not in known and name:
                guess = resolve_scope(user=name if kind == "user" else None, room=name if kind == "room" else None)
                if guess.folder == folder:
                    known[folder] = guess
            if folder in known:
                scopes.append(known[folder])
            else:
                lost.append(folder)
    return scopes, lost


class Exporter:
    """Reads one workspace."""

    def __init__(
        self, *, workspace: Path, files: MarkdownFiles, journal: Journal, recaller: Recaller, follower: Follower
    ) -> None:
        self._workspace = workspace
        self._files = files
        self._journal = journal
        self._recaller = recaller
        self._follower = follower

    async def scopes(self) -> tuple[list[Scope], list[str]]:
        """Return the scopes that there are, the owner's first, and the folders that belong to nobody known."""
        rows = await self._journal.rows("SELECT scope FROM sessions UNION SELECT scope FROM memories")
        return scopes_of(self._workspace, [str(row[0]) for row in rows])

    async def rows(self) -> AsyncIterator[dict[str, Any]]:
        """Yield everything that stands: memories (kind memory), summaries and notes, each with its scope."""
        for scope in (await self.scopes())[0]:
            await self._follower.refresh(scope)
            stored = await self._recaller.newest(scope.key, _ALL)
            journaled = await self._journal.memories(scope.key, [row.entry.id for row in stored])
            for row in sorted(stored, key=lambda row: (row.entry.at, row.entry.id)):
                entry, memory = row.entry, journaled.get(row.entry.id)
                if is_writable(row.file):
                    yield {
                        "kind": "memory",
                        "scope": scope.key,
                        "id": entry.id,
                        "text": entry.text,
                        "file": row.file,
                        "type": entry.type,
                        "category": entry.category,
                        "importance": memory.importance if memory else _importance(entry.importance),
                        "confidence": entry.confidence,
                        "entities": list(memory.entities) if memory else [],
                        "at": datetime.fromtimestamp(entry.at, UTC).isoformat(),
                        "session": entry.session,
                        "expires": memory.expires if memory else "",
                    }
            for file in sorted(await self._files.scan(scope.folder)):
                read = await self._files.read(scope.folder, file)
                text = read[0].encode("utf-8", "replace").decode() if read else ""
                prose = prose_of(parse(text, file=file)) if is_writable(file) else text
                if prose.strip():
                    name = note_file(f"{Path(file).stem}-notes") if is_writable(file) else note_file(Path(file).stem)
                    yield {"kind": "note", "scope": scope.key, "file": name, "text": prose}
            for record in read_records(self._workspace / scope.folder / SESSIONS_FILE)[0]:
                yield {**record, "kind": "summary", "scope": scope.key}

    async def copy(self, target: Path) -> int:
        """Copy the Markdown and sessions.jsonl of every scope as they stand; return how many files that were.

        Raises:
            UsageError: the folder is there and not empty, or can't be written.
        """
        async with self._files.writing():
            names = [
                f"{scope.folder}/{file}".lstrip("/")
                for scope in (await self.scopes())[0]
                for file in [*sorted(await self._files.scan(scope.folder)), SESSIONS_FILE]
            ]
            try:
                return await compute(_copy, self._workspace, target, names)
            except OSError as error:
                raise UsageError(f"{target}: {error.strerror or error}") from error


def _copy(workspace: Path, target: Path, names: Sequence[str]) -> int:
    target.mkdir(parents=True, exist_ok=True, mode=0o700)
    if next(target.iterdir(), None) is not None:
        raise UsageError(f"{target}: expected an empty folder, or none")
    found = [name for name in names if (workspace / name).is_file()]
    for name in found:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(workspace / name, target / name)
    return len(found)


def _importance(value: float) -> str:
    return "high" if value >= IMPORTANCE["high"] else "normal"


def to_line(row: dict[str, Any]) -> str:
    """Return a row as a line of JSON, its end included."""
    return json.dumps(row, ensure_ascii=False).encode("utf-8", "replace").decode() + "\n"

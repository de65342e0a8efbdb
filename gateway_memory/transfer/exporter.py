"""Export all memories of a workspace, as JSON lines or as a copy of its Markdown."""

import json
import os
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from gateway_memory.errors import UsageError
from gateway_memory.ground.threads import compute
from gateway_memory.scope import Scope, scopes_of
from gateway_memory.store.disk.workspace import private_folder, write_private
from gateway_memory.store.documents import is_writable
from gateway_memory.store.markdown import parse
from gateway_memory.store.reviewed import Review
from gateway_memory.store.summaries import SESSIONS_FILE
from gateway_memory.sync.entries import record_of
from gateway_memory.sync.storage import Storage
from gateway_memory.transfer.markdown_files import note_file, prose_of

_ALL: Final = 1 << 40
_EPISODES_AT_ONCE: Final = 500


class Exporter:
    """Exports one workspace."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    async def scopes(self) -> tuple[list[Scope], list[str]]:
        """Return the scopes, the owner's first, and the folders whose owner is unknown."""
        return scopes_of(await self._storage.documents.folders(), await self._storage.sessions.scopes())

    async def rows(self) -> AsyncIterator[dict[str, Any]]:
        """Yield all active memories (kind memory), summaries, notes, reviews and episodes, each with its scope.

        Kind past: what was superseded already where it was imported from, while what took its place stands.
        """
        for scope in (await self.scopes())[0]:
            await self._storage.follower.refresh(scope)
            stored = [row for row in await self._storage.recaller.newest(scope.key, _ALL) if is_writable(row.file)]
            known = await self._storage.ledger.memories(scope.key, [row.entry.id for row in stored])
            lines = await self._lines(scope)
            places = {identity: place for place, identity in enumerate(lines)}
            # As they stand in their files: whoever takes them in again gets them in that order.
            for row in sorted(stored, key=lambda row: (places.get(row.entry.id, len(places)), row.entry.at)):
                record = record_of(row, known.get(row.entry.id))
                record = replace(record, annotations=lines.get(record.id, ()))
                yield {"kind": "memory", "scope": scope.key, **record.exported()}
            withheld = await self._storage.ledger.withheld(scope.key)
            for past, by in await self._storage.ledger.imported_past(scope.key):
                if not withheld.says(past.text):
                    yield {"kind": "past", "scope": scope.key, **past.exported(), "by": by}
            for file in sorted(await self._storage.documents.scan(scope)):
                read = await self._storage.documents.read(scope, file)
                text = read[0].encode("utf-8", "replace").decode() if read else ""
                prose = prose_of(parse(text, file=file)) if is_writable(file) else text
                if prose.strip():
                    stem = file.removeprefix("memory/").removesuffix(".md")  # also what folders say, such as a day
                    name = note_file(f"{Path(file).stem}-notes" if is_writable(file) else stem)
                    yield {"kind": "note", "scope": scope.key, "file": name, "text": prose}
            for summary in await self._storage.records.read(scope):
                yield {**summary, "kind": "summary", "scope": scope.key}
            pending = await self._storage.reviews.waiting(scope.key, limit=_ALL)
            for review in [*pending, *await self._storage.reviews.declined(scope.key)]:
                yield {**_export_review(review), "scope": scope.key}
            async for episode in self._episodes(scope.key):
                yield episode

    async def _lines(self, scope: Scope) -> dict[str, tuple[str, ...]]:
        """Return the annotations of the memories, by their ids, in the order in which the documents hold them."""
        lines: dict[str, tuple[str, ...]] = {}
        for file in sorted(filter(is_writable, await self._storage.documents.scan(scope))):
            if read := await self._storage.documents.read(scope, file):
                for block in parse(read[0], file=file):
                    lines.setdefault(block.id, block.annotations)
        return lines

    async def _episodes(self, scope: str) -> AsyncIterator[dict[str, Any]]:
        """Yield what was said and not forgotten since, oldest first."""
        after = 0
        while episodes := await self._storage.episodes.all_of(scope, after, _EPISODES_AT_ONCE):
            after = episodes[-1].turn
            quotable = await self._storage.episodes.quotable(scope, [episode.turn for episode in episodes])
            for episode in episodes:
                sides = quotable.sides(episode.turn)
                if sides:
                    at = datetime.fromtimestamp(episode.at, UTC).isoformat()
                    row = {"at": at, "session": episode.session_key, "session_id": episode.session_id}
                    row |= {"unread": episode.unread} if episode.unread else {}
                    row |= {"speaker": episode.speaker} if episode.speaker else {}
                    yield {"kind": "episode", "scope": scope, **row, "user": sides[0], "reply": sides[1]}

    async def feedback(self) -> AsyncIterator[dict[str, Any]]:
        """Yield each verdict with the terms of the score that it is about, for tuning. No row holds a text."""
        for scope in (await self.scopes())[0]:
            for rated in await self._storage.ledger.rated(scope.key):
                replies = await self._storage.turns.replies(scope.key, before=rated.turn + 1, limit=1)
                report = replies[0].report if replies and replies[0].turn == rated.turn else None
                row = next((each for each in (report.rows if report else ()) if each.id == rated.memory), None)
                yield {
                    "verdict": rated.verdict,
                    "at": datetime.fromtimestamp(rated.at, UTC).isoformat(),
                    "turn": rated.turn,
                    "memory": rated.memory,
                    "outcome": report.outcome if report else None,
                    "fate": row.fate if row else None,
                    "score": row.score if row else None,
                    "terms": dict(row.terms) if row else {},
                }

    async def copy(self, target: Path) -> int:
        """Copy the Markdown and sessions.jsonl of every scope unchanged, and return the number of files.

        Raises:
            UsageError: the folder exists and is not empty, or can't be written.
        """
        try:
            return await compute(_write, target, [file async for file in self._files()])
        except OSError as error:
            raise UsageError(f"{target}: {error.strerror or error}") from error

    async def _files(self) -> AsyncIterator[tuple[str, bytes, int]]:
        """Yield the files to copy: name, content, and modification time in ns (0 if unknown)."""
        for scope in (await self.scopes())[0]:
            async with self._storage.documents.writing(scope):
                for file in sorted(await self._storage.documents.scan(scope)):
                    if read := await self._storage.documents.read(scope, file):
                        content = read[0].encode("utf-8", "surrogateescape")
                        yield f"{scope.folder}/{file}".lstrip("/"), content, read[1].mtime_ns
                if (lines := await self._storage.records.lines(scope)) is not None:
                    yield f"{scope.folder}/{SESSIONS_FILE}".lstrip("/"), lines, 0


def _export_review(review: Review) -> dict[str, Any]:
    since = datetime.fromtimestamp(review.at, UTC).isoformat()
    about = {"reason": review.reason, "state": review.state, "since": since, "against": review.against}
    return {**review.memory.exported(), **about, "kind": "review", "quote": review.memory.quote}


def _write(target: Path, files: Sequence[tuple[str, bytes, int]]) -> int:
    private_folder(target)
    if next(target.iterdir(), None) is not None:
        raise UsageError(f"{target}: expected an empty folder, or none")
    for name, content, saved in files:
        path = target / name
        private_folder(path.parent)
        write_private(path, content)
        if saved:
            os.utime(path, ns=(saved, saved))
    return len(files)


def to_line(row: dict[str, Any]) -> str:
    """Return a row as a line of JSON, including its line end."""
    return json.dumps(row, ensure_ascii=False).encode("utf-8", "replace").decode() + "\n"

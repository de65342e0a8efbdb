"""What a migration between files and PostgreSQL copies: the parts of a memory, their order, and their digest."""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from gateway_memory.errors import UsageError
from gateway_memory.scope import Scope, folders

Row = tuple[Any, ...]
Cursor = Sequence[Any] | None
"""The key of the last row that was copied, None before the first one, `DONE` after the last one."""
DONE: Final[Sequence[Any]] = ("done",) * 9
"""No key has as many columns."""

DOCUMENTS: Final = "documents"
RECORD_FILES: Final = "record_files"
PARTS: Final[Mapping[str, tuple[str, ...]]] = {
    "identity": (),
    DOCUMENTS: ("folder", "name"),
    RECORD_FILES: ("scope",),
    "sessions": ("session_id",),
    "turns": ("id",),
    "replies": ("turn",),
    "episodes": ("turn",),
    "episode_pages": ("scope", "page"),
    "plans": ("id",),
    "memories": ("scope", "id"),
    "receipts": ("id",),
    "history": ("id",),
    "changes": ("receipt",),
    "feedback": ("scope", "turn", "memory"),
    "reviews": ("rowid",),
    "marks": ("scope", "name"),
    "usage": ("day",),
    "uses": ("scope", "memory", "day"),
    "uses_read": ("scope",),
    "observations": ("id",),
    "session_memories": ("session_id", "scope", "memory"),
    "saved_sessions": ("scope", "session_id"),
    "session_logs": ("scope",),
    "session_counts": ("name",),
    "withheld_records": (),
    "unreadable": ("id",),
    "sources": ("origin",),
    "events": ("id",),
    "heard": ("slot", "origin"),
    "told": ("session_id", "origin"),
    "noticed": ("scope", "id"),
    "links": ("scope",),
    "link_items": ("scope", "kind", "item"),
    "link_codes": ("scope",),
    "link_tries": (),
    "names": ("scope", "session_key", "given"),
    "requests": ("call", "caller", "id"),
}
"""The tables, each with the columns of its key, in whose order it is copied.

Without a key that tells rows apart, a table is copied as a whole, in one transaction. In files, documents and records
are no tables; they have the same columns.
"""
PRESENT_WHEN_OPENED: Final = frozenset({"identity", "sources", "heard"})
"""What a memory has as soon as it was opened, before anything was said to it. A migration replaces it."""
NOT_MIGRATED: Final = frozenset(
    {"failures", "hosts", "leases", "locks", "migrations"}
    | {"session_totals"}
    | {"shown_memories", "transcript_messages"}
    | {"file", "meta", "removed", "row", "scope", "vector", "vector_2"}
    | {"large", "large_block", "large_word"}
)
"""Tables that are not migrated: of processes; what is counted anew; of the hooks of editors, which work on files; of
the index, made again.
"""
_RELEASED: Final = frozenset({"plans", "sessions", "turns"})
"""Tables whose rows a process has by its slot. After a migration none has, so the next one adopts them."""
_NOBODY: Final = -1

_NAME: Final = re.compile(r"MEMORY\.md|memory/(?:(?!\.)[^/\0]+/){0,8}(?!\.)[^/\0]+\.md")
"""More than `is_document` allows: a file of another program may have such a name already."""


def is_folder(folder: str) -> bool:
    """Return whether this can be the folder of a scope: "" for the owner, "people/…" or "rooms/…"."""
    parent, _, name = folder.partition("/")
    return folder == "" or (parent in folders() and name not in ("", ".", "..") and not {"/", "\0"} & {*name})


def folder_of(scope: str) -> str:
    """Return the folder of a scope's key; what is no key is the folder itself: see `key_of_folder`.

    Raises:
        UsageError: it is neither.
    """
    with suppress(UsageError):
        return Scope.parse(scope).folder
    if not is_folder(scope):
        raise UsageError("the session records of a scope have no place among files: its key is none of ours")
    return scope


def key_of_folder(folder: str, keys: Mapping[str, str]) -> str:
    """Return the key of the scope that has a folder; the folder itself if no scope is known to have it.

    keys: the known scopes, by their folders.
    """
    scope = Scope.of_folder(folder)
    return keys.get(folder) or (scope.key if scope else folder)


def check_names(row: Row, columns: Sequence[str]) -> tuple[str, str]:
    """Return the folder and the name of a row of `DOCUMENTS`.

    Raises:
        UsageError: they lead elsewhere than to a document of a scope.
    """
    folder, name = (str(row[columns.index(column)]) for column in ("folder", "name"))
    if not is_folder(folder) or not _NAME.fullmatch(name):
        raise UsageError(f"a document has a name that no file may have: {folder!r}, {name!r}")
    return folder, name


def as_migrated(part: str, columns: Sequence[str], rows: Iterable[Row], *, without_nul: bool) -> Iterator[Row]:
    """Yield rows as the target stores them: leased by no process, and without NUL where it can't be stored."""
    slot = columns.index("slot") if part in _RELEASED else None
    for row in rows:
        values = list(row)
        if slot is not None:
            values[slot] = _NOBODY
        for number, value in enumerate(values):
            if isinstance(value, bool):
                values[number] = int(value)
            elif without_nul and isinstance(value, str) and "\0" in value:
                values[number] = value.replace("\0", "\N{REPLACEMENT CHARACTER}")
        yield tuple(values)


def size_of(row: Row) -> int:
    """Return about how large a row is, in bytes."""
    return 8 + sum(len(value) for value in row if isinstance(value, str | bytes))


def batches(rows: Iterable[Row], *, most_rows: int, most_bytes: int) -> Iterator[list[Row]]:
    """Yield rows in batches; a batch ends with the row that makes it too large."""
    batch: list[Row] = []
    size = 0
    for row in rows:
        batch.append(row)
        size += size_of(row)
        if len(batch) >= most_rows or size >= most_bytes:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


@dataclass(frozen=True, slots=True)
class Tally:
    """How many rows a part has, and a digest of them that does not depend on their order."""

    count: int
    digest: str


def tally(part: str, columns: Sequence[str], rows: Iterable[Row]) -> Tally:
    """Count rows and add up their digests. The time of a document is not compared: file systems round it."""
    places = [number for number, name in enumerate(columns) if (part, name) != (DOCUMENTS, "saved")]
    count, total = 0, 0
    for row in rows:
        values = tuple(int(row[place]) if isinstance(row[place], bool) else row[place] for place in places)
        digest = hashlib.blake2b(repr(values).encode("utf-8", "surrogatepass"), digest_size=16)
        total += int.from_bytes(digest.digest())
        count += 1
    return Tally(count, f"{total % (1 << 128):032x}")

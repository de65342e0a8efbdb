"""Delete the memory of one person or group everywhere, and prove that it is gone. Linked scopes are one person's."""

import contextlib
import json
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from gateway_memory.config.settings import StoreSettings
from gateway_memory.edge.phrases import shown
from gateway_memory.errors import StoreError, UsageError
from gateway_memory.scope import OWNER_KEY, Scope
from gateway_memory.store.disk.slots import all_slots
from gateway_memory.store.disk.workspace import INDEX_FILE, STATE_FOLDER, files_of_former_journals, locked
from gateway_memory.store.journal.in_place import JournalInPlace
from gateway_memory.store.markdown import parse
from gateway_memory.store.summaries import DAMAGED_FILE, SESSIONS_FILE, read_records
from gateway_memory.sync.storage import dsn_of, shards_of
from recall import RecallError, erase_scope, peek

if TYPE_CHECKING:
    from gateway_memory.store.postgres.scopes import ScopeTables

# The proof that a scope's memory was deleted, and how it reads.


@dataclass(slots=True, kw_only=True)
class Proof:
    """The amounts before and after a deletion, and the search for remaining traces.

    before, after: the number of rows, lines or files, by place.
    traces: files that still contain a text or an id of the scope.
    links: links whose target is elsewhere. Only the link is deleted.
    limits: what no deletion reaches; the proof is then of tables, and no files were looked through.
    """

    before: dict[str, int] = field(default_factory=dict)
    after: dict[str, int] = field(default_factory=dict)
    files: int = 0
    bytes: int = 0
    needles: int = 0
    traces: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    limits: str = ""

    @property
    def holds(self) -> bool:
        """Whether nothing is left."""
        return not self.traces and not any(self.after.values())


def lines_of(proof: Proof) -> list[str]:
    """Return a proof as lines: each place with its numbers before and after, and what a search for traces found."""
    lines = places(proof.before, proof.after)
    if proof.limits:
        return [*lines, proof.limits]
    searched = f"looked through {proof.files} files ({proof.bytes} bytes) for {proof.needles} of its texts and ids"
    lines += [f"{searched}: found in {len(proof.traces)}", *(f"  {path}" for path in proof.traces)]
    return lines + [f"  a link was deleted, not what it names: {link}" for link in proof.links]


def places(before: Mapping[str, int], after: Mapping[str, int] | None = None) -> list[str]:
    """Return a line for each place that has, or had, something of the scope."""
    return [
        f"{shown(place):<26}{number:>8}" + ("" if after is None else f" → {after.get(place, 0)}")
        for place, number in before.items()
        if number or (after or {}).get(place)
    ]


# Delete the memory of one person or group everywhere, and prove that it is gone. Linked scopes are one person's.
#
# This works on a workspace that no process has open: without an event loop, table by table and file by file. It is
# idempotent, also after a crash.

_NEEDLES: Final = 300
_SHORTEST_NEEDLE: Final = 8


def _survey(workspace: Path, scopes: Sequence[Scope]) -> dict[str, int]:
    counts = Counter({"memory files": sum(len(_files(workspace, scope)) for scope in scopes)})
    counts["set aside"] = len(files_of_former_journals(workspace))
    with _journal(workspace) as journal:
        if journal:
            for scope in scopes:
                counts.update({f"journal {table}": number for table, number in journal.count(scope.key).items()})
            counts["log lines"] = sum(len(lines) for _, lines, _ in _logs(workspace, journal, scopes))
    counts["index"] = sum(_index_rows(workspace, scope) for scope in scopes)
    return dict(counts)


def _delete_files(workspace: Path, scope: Scope, proof: Proof) -> None:
    for path in _files(workspace, scope):
        if path.is_symlink():
            proof.links.append(f"{path} → {path.resolve()}")
        path.unlink()
    folder = workspace / scope.folder if scope.folder else workspace / "memory"
    if folder.is_dir():
        shutil.rmtree(folder)


@contextlib.contextmanager
def _lock_exclusively(workspace: Path) -> Iterator[None]:
    """Hold the workspace exclusively: no process has it open, and none can start."""
    with all_slots(workspace / STATE_FOLDER / "slots") as is_alone:
        if not is_alone:
            raise UsageError(f"{workspace}: another process has this memory open; end it first")
        yield


@contextlib.contextmanager
def _journal(workspace: Path) -> Iterator[JournalInPlace | None]:
    if not (workspace / "journal.sqlite").exists():
        yield None
        return
    with JournalInPlace.open(workspace) as journal:
        yield journal


# Files, index, logs


def _files(workspace: Path, scope: Scope) -> list[Path]:
    if scope.folder:
        paths = [*(workspace / scope.folder).rglob("*")]
    else:
        paths = [workspace / name for name in ("MEMORY.md", SESSIONS_FILE, DAMAGED_FILE)]
        for pattern in (".MEMORY.md.*", "MEMORY.md.damaged-*", f".{SESSIONS_FILE}.*", ".*-*.tmp", "memory/**/*"):
            paths += workspace.glob(pattern)
    return [path for path in paths if path.is_file() or path.is_symlink()]


def _index_rows(workspace: Path, scope: Scope) -> int:
    with contextlib.suppress(RecallError), peek(workspace / INDEX_FILE) as index:
        return index.count(scope.key)
    return 0


def _logs(
    workspace: Path, journal: JournalInPlace, scopes: Sequence[Scope]
) -> list[tuple[Path, list[bytes], list[bytes]]]:
    """Return the log files that name scopes or their sessions, with the lines that do and the lines that don't."""
    names = [name for scope in scopes for name in journal.sessions_of(scope.key)]
    for scope in scopes:
        names += [json.dumps(scope.key)[1:-1], scope.key, scope.folder] if scope.key != OWNER_KEY else []
    needles = [name.encode() for name in names]
    logs = []
    for path in sorted((workspace / "logs").glob("*.jsonl")):
        lines = path.read_bytes().splitlines(keepends=True)
        named = [line for line in lines if any(needle in line for needle in needles)]
        if named:
            logs.append((path, named, [line for line in lines if line not in set(named)]))
    return logs


# The proof


def _needles(workspace: Path, scopes: Sequence[Scope], journal: JournalInPlace | None) -> list[bytes]:
    """Return texts and ids that occur only in these scopes, in each form in which a file may contain them."""
    texts = journal.texts([scope.key for scope in scopes]) if journal else set()
    mine = {path for scope in scopes for path in _files(workspace, scope)}
    rest = b""
    for path in _regular(workspace, "*.md"):
        content = path.read_bytes()
        if path in mine:
            texts.update(block.text for block in parse(content.decode("utf-8", "replace"), file=path.name))
        else:
            rest += content
    theirs = {workspace / scope.folder / SESSIONS_FILE for scope in scopes}
    others: set[str] = set()
    for path in _regular(workspace, SESSIONS_FILE):
        for record in read_records(path)[0]:
            own = {str(record.get(key, "")) for key in ("topic", "summary", "session_id")}
            (texts if path in theirs else others).update(own)
    texts -= others
    if journal and scopes[0].kind.may_be_joined:  # it was said in conversations, which stay with those who said it
        texts -= journal.said_elsewhere([scope.key for scope in scopes], texts)
    unique = sorted(text for text in texts if len(text) >= _SHORTEST_NEEDLE and text.encode() not in rest)
    step = max(1, len(unique) // _NEEDLES)
    forms = {
        form.encode("utf-8", "replace")
        for text in unique[::step][:_NEEDLES]
        for form in (text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1])
    }
    return sorted(forms)


def _look_through(workspace: Path, needles: Sequence[bytes], proof: Proof) -> None:
    for path in _regular(workspace, "*"):
        content = path.read_bytes()
        proof.files += 1
        proof.bytes += len(content)
        if any(needle in content for needle in needles):
            proof.traces.append(str(path.relative_to(workspace)))


def _regular(workspace: Path, pattern: str) -> list[Path]:
    """Return the files below a workspace that match a pattern, without links, pipes and the like."""
    return sorted(path for path in workspace.rglob(pattern) if path.is_file() and not path.is_symlink())


_LIMITS = (
    "PostgreSQL keeps what was deleted in its write-ahead log until that is recycled, in its tables until the next "
    "VACUUM, and in backups as long as you keep them"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Deletion:
    """How scopes of one memory are counted and deleted."""

    workspace: Path
    store: StoreSettings = field(default_factory=StoreSettings)

    def linked_with(self, scope: Scope) -> list[Scope]:
        """Return the other scopes of the person to whom a scope belongs. Raises StoreError."""
        if self.store.is_shared:
            return [Scope.parse(key) for key in self._tables()[-1].linked_with(scope.key)]
        with _journal(self.workspace) as journal:
            return [Scope.parse(key) for key in journal.linked_with(scope.key)] if journal else []

    def survey(self, scope: Scope) -> dict[str, int]:
        """Return how much of a scope, and of those that are linked with it, is stored, by place. Raises StoreError."""
        if not self.store.is_shared:
            return _survey(self.workspace, self._all(scope))
        return _count(self._tables(), self._all(scope))

    def delete(self, scope: Scope) -> Proof:
        """Delete all of a scope, and of those that are linked with it, and return the proof.

        Journals that were set aside, damaged or old, are deleted completely: their rows can't be separated by scope.

        Raises:
            UsageError: another process has the workspace open.
            StoreError: something can't be read or deleted. The deletion is partial and can be repeated.
        """
        workspace = self.workspace
        if self.store.is_shared:
            tables, scopes = self._tables(), self._all(scope)
            proof = Proof(before=_count(tables, scopes), limits=_LIMITS)
            for server in tables:
                server.erase(scopes)
            proof.after = _count(tables, scopes)
            return proof
        proof = Proof()
        try:
            with _lock_exclusively(workspace), locked(workspace):
                scopes = self._all(scope)
                proof.before = _survey(workspace, scopes)
                with _journal(workspace) as journal:
                    needles = _needles(workspace, scopes, journal)
                    for path, _, others in _logs(workspace, journal, scopes) if journal else ():
                        path.write_bytes(b"".join(others))
                for each in scopes:
                    _delete_files(workspace, each, proof)
                    erase_scope(workspace / INDEX_FILE, each.key)
                vocabularies = (workspace / STATE_FOLDER).glob("encoder.tables*")  # of earlier versions
                for path in [*files_of_former_journals(workspace), *vocabularies]:
                    path.unlink()
                with _journal(workspace) as journal:  # last: it knows which scopes are linked, if this is done again
                    if journal:
                        journal.erase([each.key for each in scopes])
                proof.after = _survey(workspace, scopes)
                proof.needles = len(needles)
                _look_through(workspace, needles, proof)
        except (OSError, RecallError, StoreError) as error:
            raise StoreError(f"{workspace}: {error}; not everything could be deleted, do it again") from error
        return proof

    def _all(self, scope: Scope) -> Sequence[Scope]:
        return [scope, *self.linked_with(scope)]

    def _tables(self) -> "Sequence[ScopeTables]":
        """Return the tables on each server; last those that know which scopes are linked, if this is done again."""
        from gateway_memory.store.postgres.scopes import ScopeTables

        dsn = dsn_of(self.store)
        servers = [each for each in shards_of(self.store) if each != dsn]
        return [ScopeTables(each, self.store.schema) for each in (*servers, dsn)]


def _count(servers: "Sequence[ScopeTables]", scopes: Sequence[Scope]) -> dict[str, int]:
    """Return how many rows scopes have over all servers, by table."""
    counts: dict[str, int] = {}
    for tables in servers:
        for table, number in tables.count(scopes).items():
            counts[table] = counts.get(table, 0) + number
    return counts

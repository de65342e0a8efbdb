"""Delete the memory of one person or group everywhere, and prove that it is gone. Linked scopes are one person's.

This works on a workspace that no process has open: without an event loop, table by table and file by file. Each step is
idempotent, also after a crash.
"""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from gateway_memory.config.settings import StoreSettings
from gateway_memory.errors import StoreError, UsageError
from gateway_memory.scope import Scope
from gateway_memory.store.disk.aside import files_of_former_journals
from gateway_memory.store.disk.slots import all_slots
from gateway_memory.store.disk.workspace import INDEX_FILE, STATE_FOLDER, locked
from gateway_memory.sync.storage import dsn_of, shards_of
from recall import RecallError, erase_scope

if TYPE_CHECKING:
    from gateway_memory.store.postgres.scopes import ScopeTables
from gateway_memory.transfer.proof import Proof
from gateway_memory.transfer.traces import delete_files, journal_of, logs_of, look_through, needles_of, survey


@contextlib.contextmanager
def _lock_exclusively(workspace: Path) -> Iterator[None]:
    """Hold the workspace exclusively: no process has it open, and none can start."""
    with all_slots(workspace / STATE_FOLDER / "slots") as is_alone:
        if not is_alone:
            raise UsageError(f"{workspace}: another process has this memory open; end it first")
        yield


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
        with journal_of(self.workspace) as journal:
            return [Scope.parse(key) for key in journal.linked_with(scope.key)] if journal else []

    def survey(self, scope: Scope) -> dict[str, int]:
        """Return how much of a scope, and of those that are linked with it, is stored, by place. Raises StoreError."""
        if not self.store.is_shared:
            return survey(self.workspace, self._all(scope))
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
                proof.before = survey(workspace, scopes)
                with journal_of(workspace) as journal:
                    needles = needles_of(workspace, scopes, journal)
                    for path, _, others in logs_of(workspace, journal, scopes) if journal else ():
                        path.write_bytes(b"".join(others))
                for each in scopes:
                    delete_files(workspace, each, proof)
                    erase_scope(workspace / INDEX_FILE, each.key)
                vocabularies = (workspace / STATE_FOLDER).glob("encoder.tables*")  # of earlier versions
                for path in [*files_of_former_journals(workspace), *vocabularies]:
                    path.unlink()
                with journal_of(workspace) as journal:  # last: it knows which scopes are linked, if this is done again
                    if journal:
                        journal.erase([each.key for each in scopes])
                proof.after = survey(workspace, scopes)
                proof.needles = len(needles)
                look_through(workspace, needles, proof)
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

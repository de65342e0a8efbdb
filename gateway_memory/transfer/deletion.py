"""Delete a scope where the memory is: in the files of a workspace, or in the tables of PostgreSQL."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gateway_memory.config.settings import StoreSettings
from gateway_memory.scope import Scope
from gateway_memory.sync.opening import dsn_of
from gateway_memory.transfer import eraser
from gateway_memory.transfer.proof import Proof

if TYPE_CHECKING:
    from gateway_memory.store.postgres.erasing import ScopeTables

__all__ = ["Deletion"]

_LIMITS = (
    "PostgreSQL keeps what was deleted in its write-ahead log until that is recycled, in its tables until the next "
    "VACUUM, and in backups as long as you keep them"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Deletion:
    """How scopes of one memory are counted and deleted."""

    workspace: Path
    store: StoreSettings

    @property
    def is_shared(self) -> bool:
        """Whether other hosts have the memory open, and it is deleted while they run."""
        return self.store.backend == "postgres"

    def linked_with(self, scope: Scope) -> list[Scope]:
        """Return the other scopes of the person to whom a scope belongs. Raises StoreError."""
        if not self.is_shared:
            return eraser.linked_with(self.workspace, scope)
        return [Scope.parse(key) for key in self._tables().linked_with(scope.key)]

    def survey(self, scope: Scope) -> dict[str, int]:
        """Return how much of a scope, and of those that are linked with it, is stored, by place. Raises StoreError."""
        if not self.is_shared:
            return eraser.survey(self.workspace, scope)
        return self._tables().count(self._all(scope))

    def delete(self, scope: Scope) -> Proof:
        """Delete all of a scope, and of those that are linked with it, and return the proof.

        Raises:
            UsageError: another process has the workspace open.
            StoreError: something can't be deleted. The deletion can be repeated.
        """
        if not self.is_shared:
            return eraser.delete(self.workspace, scope)
        tables, scopes = self._tables(), self._all(scope)
        proof = Proof(before=tables.count(scopes), limits=_LIMITS)
        tables.erase(scopes)
        proof.after = tables.count(scopes)
        return proof

    def _all(self, scope: Scope) -> Sequence[Scope]:
        return [scope, *self.linked_with(scope)]

    def _tables(self) -> "ScopeTables":
        from gateway_memory.store.postgres.erasing import ScopeTables

        return ScopeTables(dsn_of(self.store), self.store.schema)

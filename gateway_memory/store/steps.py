"""The steps of a schema: files of SQL in a folder, each applied once, in the order of their names.

The first step makes the whole schema. Development versions made the same schema by many steps; their stores are taken
over where all of these were applied.
"""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gateway_memory.errors import StoreError

FIRST: Final = "0001_schema"
_LAST_DEVELOPMENT: Final = "1027870"
"""The commit that has all of the former steps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """The steps of one backend.

    folder: has a file NAME.sql for each step.
    former: the steps that development versions recorded in the place of the first one.
    """

    folder: Path
    former: frozenset[str]

    def read(self) -> dict[str, str]:
        """Return the SQL of each step by its name, in their order."""
        return {path.stem: path.read_text("utf-8") for path in sorted(self.folder.glob("*.sql"))}

    def check(self, applied: Collection[str], store: str) -> None:
        """Raise StoreError if a development version made the schema and some of its steps are missing.

        applied: the steps that the store records. store: what the message calls it, such as its path.
        """
        former = self.former.intersection(applied)
        if former and former != self.former:
            raise StoreError(
                f"{store}: made by a development version of gateway-memory, with {len(former)} of its "
                f"{len(self.former)} schema steps, the last of them {max(former)}. Nothing was changed. Open it once "
                f"with the last development version (commit {_LAST_DEVELOPMENT}), then with this one; docs/operate.md "
                "says how"
            )

    def takes_over(self, applied: Collection[str]) -> bool:
        """Return whether the schema is there already, so that the first step is only to be recorded."""
        return self.former.issubset(applied)

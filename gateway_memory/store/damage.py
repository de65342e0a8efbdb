"""What is asked about a damaged file, as the journal keeps it: in the name of a notice."""

import json
from dataclasses import asdict, dataclass
from typing import Final

from gateway_memory.ground.texts import decoded

_DAMAGED: Final = "damaged "
_FEWEST: Final = 4
"""Of so many lines and more, a loss of half of them is damage."""
FEWEST_OLDER: Final = 2
"""Of the last line alone, deleting it and putting back the version before it look the same."""


def most(lost: int, of: int) -> bool:
    """Return whether half of so many lines or more are lost."""
    return of >= _FEWEST and 2 * lost >= of


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """A file that was damaged. lost: the ids of the lines that were gone, of so many. aside: where the broken file is.

    ("" where nothing was left of it.)
    """

    file: str
    lost: tuple[str, ...]
    of: int
    aside: str = ""

    @property
    def name(self) -> str:
        """The name of its notice."""
        return _DAMAGED + json.dumps(asdict(self))

    @classmethod
    def of_notice(cls, name: str) -> "Damage | None":
        """Return the damage of a notice; None if the notice is about something else."""
        if not name.startswith(_DAMAGED):
            return None
        try:
            return decoded(cls, json.loads(name.removeprefix(_DAMAGED)))
        except (ValueError, TypeError):
            return None

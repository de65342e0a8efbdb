"""Whose vectors the rows have: those of two encoders at most, each in a table of its own.

While the vectors of another encoder are made, the old ones go on serving the processes that have the old encoder. So a
change begins with a few words in the table `meta`, however many rows there are, and two processes with two encoders
take nothing from each other. A row's `embedded` is the sum of the flags of the tables that have a vector of it: 0 to 3.
"""

from collections.abc import Mapping
from typing import NamedTuple, Self

from recall.rows.port import VectorSpace

__all__ = ["BOTH", "Slot", "Spaces"]

_TABLES = {1: "vector", 2: "vector_2"}
BOTH = 3

# A process says that it reads vectors so often, where there are those of two encoders.
_TOLD_SECONDS = 60.0
# And so long after the last one has said so, vectors that no row needs are removed.
_UNUSED_SECONDS = 600.0


class Slot(NamedTuple):
    """The vectors of an encoder. used: when a process last said that it reads them, epoch seconds.

    The name of the encoder is "" while they are removed.
    """

    flag: int
    space: VectorSpace
    used: float

    @property
    def table(self) -> str:
        return _TABLES[self.flag]

    @property
    def encoder(self) -> tuple[str, int]:
        return self.space.name, self.space.dimension

    @property
    def other(self) -> int:
        """The flag of the other encoder's vectors."""
        return BOTH - self.flag

    def key(self, name: str) -> str:
        """Return a key of `meta`; those of the first table are older than the second one."""
        return name if self.flag == 1 else f"{name} {self.flag}"

    def is_silent(self, now: float) -> bool:
        """Return whether it is to be said again that these vectors are read."""
        return now - self.used > _TOLD_SECONDS

    def is_unused(self, now: float) -> bool:
        return now - self.used > _UNUSED_SECONDS

    def stored(self) -> dict[str, str]:
        """Return what is kept of it in `meta`."""
        name, dimension, unrelated, related = self.space
        values = {"encoder": name, "dimension": dimension, "scale": f"{unrelated} {related}", "used": self.used}
        return {self.key(key): str(value) for key, value in values.items()}


class Spaces(NamedTuple):
    """All encoders that rows have vectors of. newest: the flag of the one that came last."""

    slots: tuple[Slot, ...] = ()
    newest: int = 1

    @classmethod
    def of(cls, meta: Mapping[str, str]) -> Self:
        """Read them from the table `meta`. Raises ValueError where it makes no sense."""
        slots = []
        for flag in _TABLES:
            blank = Slot(flag, VectorSpace("", 0, 0, 0), 0.0)
            if blank.key("encoder") not in meta:
                continue
            dimension, scale = int(meta[blank.key("dimension")]), meta[blank.key("scale")]
            unrelated, related = map(float, scale.split())
            space = VectorSpace(str(meta[blank.key("encoder")]), dimension, unrelated, related)
            slots.append(Slot(flag, space, float(meta.get(blank.key("used"), 0))))
        return cls(tuple(slots), int(meta.get("newest") or 1))

    def find(self, encoder: tuple[str, int] | None) -> Slot | None:
        """Return the vectors of an encoder, by its name and dimension."""
        return next((slot for slot in self.slots if slot.encoder == encoder), None)

    def read_by(self, encoder: tuple[str, int] | None) -> Slot | None:
        """Return the vectors that a process with this encoder reads: its own, else the newest, of which it can tell."""
        named = sorted((slot for slot in self.slots if slot.space.name), key=lambda slot: slot.flag != self.newest)
        return self.find(encoder) or next(iter(named), None)

    @property
    def leaving(self) -> Slot | None:
        """Vectors that are being removed."""
        return next((slot for slot in self.slots if not slot.space.name), None)

    def beside(self, slot: Slot) -> Slot | None:
        """Return the vectors of the other encoder, if there is one."""
        return next((each for each in self.slots if each.flag == slot.other), None)

    def added(self, space: VectorSpace, now: float) -> Slot | None:
        """Return where the vectors of one more encoder go; None where two have theirs already."""
        free = [flag for flag in _TABLES if all(slot.flag != flag for slot in self.slots)]
        return Slot(free[0], space, now) if free else None

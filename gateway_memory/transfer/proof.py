"""The proof that a scope's memory was deleted, and how it reads."""

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["Proof", "lines_of", "places"]


@dataclass(slots=True, kw_only=True)
class Proof:
    """The amounts before and after a deletion, and the search for remaining traces.

    before, after: the number of rows, lines or files, by place.
    found: files that still contain a text or an id of the scope.
    left: links whose target is elsewhere. Only the link is deleted.
    limits: what no deletion reaches; the proof is then of tables, and no files were looked through.
    """

    before: dict[str, int] = field(default_factory=dict)
    after: dict[str, int] = field(default_factory=dict)
    files: int = 0
    bytes: int = 0
    needles: int = 0
    found: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    limits: str = ""

    @property
    def holds(self) -> bool:
        """Whether nothing is left."""
        return not self.found and not any(self.after.values())


def lines_of(proof: Proof) -> list[str]:
    """Return a proof as lines: each place with its numbers before and after, and what a search for traces found."""
    if proof.limits:
        return [*places(proof.before, proof.after), proof.limits]
    looked = f"looked through {proof.files} files ({proof.bytes} bytes) for {proof.needles} of its texts and ids"
    found = [*proof.found, *(f"a link was deleted, not what it names: {link}" for link in proof.left)]
    return [
        *places(proof.before, proof.after),
        f"{looked}: found in {len(proof.found)}",
        *(f"  {line}" for line in found),
    ]


def places(before: Mapping[str, int], after: Mapping[str, int] | None = None) -> list[str]:
    """Return a line for each place that has, or had, something of the scope."""
    return [
        f"{place:<26}{number:>8}" + ("" if after is None else f" → {after.get(place, 0)}")
        for place, number in before.items()
        if number or (after or {}).get(place)
    ]

"""The proof that a scope's memory was deleted, and how it reads."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from gateway_memory.edge.phrases import SHELL_LANGUAGE, coded, shown


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


def _place(place: str) -> str:
    """Return the name of a place in the language of the shell. That of a table is "journal TABLE"."""
    where, _, table = place.partition(" ")
    return f"{where} {coded(SHELL_LANGUAGE.get(), table)}" if where == "journal" and table else shown(place)


def places(before: Mapping[str, int], after: Mapping[str, int] | None = None) -> list[str]:
    """Return a line for each place that has, or had, something of the scope."""
    return [
        f"{_place(place):<26}{number:>8}" + ("" if after is None else f" → {after.get(place, 0)}")
        for place, number in before.items()
        if number or (after or {}).get(place)
    ]

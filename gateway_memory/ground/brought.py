"""What other packages bring, by entry points. `gateway_memory/parts.py` says what kinds of parts there are."""

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from importlib.metadata import EntryPoint

GROUP: Final = "gateway_memory.parts"
"""The group of the entry points: `"kind.name" = "package:make"`."""
_BEFORE: Final = {"encoder": "gateway_memory.encoders", "layout": "gateway_memory.layouts"}
"""The groups of before, in which a name has no kind."""


def brought(kind: str) -> "Mapping[str, Sequence[EntryPoint]]":
    """Return what other packages bring of a kind, by name: one each, unless several packages use a name."""
    from importlib.metadata import entry_points  # most processes need none

    found: dict[str, list[EntryPoint]] = {}
    for entry in entry_points(group=GROUP):
        of_kind, _, name = entry.name.partition(".")
        if of_kind == kind and name:
            found.setdefault(name, []).append(entry)
    known = set(found)  # a package that serves both forms brings one part
    for entry in entry_points(group=_BEFORE[kind]) if kind in _BEFORE else ():
        if entry.name not in known:
            found.setdefault(entry.name, []).append(entry)
    return found


def part_of(kind: str, name: str) -> "EntryPoint":
    """Return the only part of a name.

    Raises:
        LookupError: no package brings it, or several do; the text says what to do.
    """
    found = brought(kind).get(name, ())
    if not found:
        raise LookupError(f"no installed package brings the {kind} {name!r}")
    if len(found) > 1:
        packages = ", ".join(each.dist.name if each.dist else each.value for each in found)
        raise LookupError(f"several packages bring the {kind} {name!r}: {packages}; uninstall all but one")
    return found[0]

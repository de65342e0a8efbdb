"""What is wrong in the arguments of a call, in words, over HTTP and MCP. No value of a text stands in it."""

from collections.abc import Collection, Mapping
from difflib import get_close_matches
from typing import Any, Final

from pydantic import ValidationError

from gateway_memory.edge.phrases import texts

_SHOWN: Final = 5
"""Mistakes that a response lists."""
_NEAR: Final = 0.75


def mistakes_of(error: ValidationError, known: Collection[str] = ()) -> tuple[str, str]:
    """Return what is wrong, and the dotted path of the first mistake. known: the names of the arguments."""
    mistakes = error.errors(include_url=False, include_input=False)
    lines = [_in_words(each, known) for each in mistakes]
    more = f"; and {len(lines) - _SHOWN} more" if len(lines) > _SHOWN else ""
    return "; ".join(lines[:_SHOWN]) + more, _path(mistakes[0]["loc"])


def unknown_names(names: Collection[str], known: Collection[str]) -> str:
    """Return that arguments are unknown, with those that were meant, or else those that there are."""
    near = {name: get_close_matches(name, known, n=1, cutoff=_NEAR) for name in names}
    meant = "; ".join(f'did you mean "{names_near[0]}"?' for names_near in near.values() if names_near)
    listed = ", ".join(known) or "none"
    return f"unknown: {', '.join(names)}; {meant or f'known: {listed}'}"


def _in_words(mistake: Mapping[str, Any], known: Collection[str]) -> str:
    path = _path(mistake["loc"])
    if mistake["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        return unknown_names([path], known if len(mistake["loc"]) == 1 else ())
    expected: str = texts("mistakes").get(mistake["type"], "it is not valid").format_map(mistake.get("ctx", {}))
    return f"{path}: {expected}" if path else expected


def _path(steps: Collection[object]) -> str:
    return ".".join(map(str, steps))

"""What is wrong in the arguments of a call, in words that say what to do, over HTTP and MCP. No value is quoted."""

from collections.abc import Collection, Mapping
from difflib import get_close_matches
from typing import Any, Final

from pydantic import ValidationError

__all__ = ["mistakes_of", "unknown_names"]

_SHOWN: Final = 5
"""Mistakes that an answer tells."""
_NEAR: Final = 0.75
_EXPECTED: Final = {
    "missing": "it is missing",
    "string_type": "expected text",
    "string_unicode": "expected text in valid Unicode",
    "string_too_short": "expected at least {min_length} characters",
    "string_too_long": "expected at most {max_length} characters",
    "string_pattern_mismatch": "expected text of the form {pattern}",
    "literal_error": "expected {expected}",
    "enum": "expected {expected}",
    "bool_type": "expected true or false",
    "bool_parsing": "expected true or false",
    "int_type": "expected a whole number",
    "int_parsing": "expected a whole number",
    "int_from_float": "expected a whole number",
    "float_type": "expected a number",
    "float_parsing": "expected a number",
    "finite_number": "expected a finite number",
    "greater_than": "expected more than {gt}",
    "greater_than_equal": "expected at least {ge}",
    "less_than": "expected less than {lt}",
    "less_than_equal": "expected at most {le}",
    "too_short": "expected at least {min_length} of them",
    "too_long": "expected at most {max_length} of them",
    "list_type": "expected a list",
    "dict_type": "expected an object",
    "model_type": "expected an object",
    "model_attributes_type": "expected an object",
    "datetime_type": "expected a time such as 2026-01-05T12:00:00Z",
    "datetime_parsing": "expected a time such as 2026-01-05T12:00:00Z",
    "datetime_from_date_parsing": "expected a time such as 2026-01-05T12:00:00Z",
    "timezone_aware": "expected a time with its zone, such as 2026-01-05T12:00:00Z",
    "json_invalid": "expected valid JSON",
    "value_error": "{error}",
}


def mistakes_of(error: ValidationError, known: Collection[str] = ()) -> tuple[str, str]:
    """Return what is wrong, and the dotted path of the first mistake. known: the names of the arguments."""
    found = error.errors(include_url=False, include_input=False)
    told = [_told(each, known) for each in found]
    more = f"; and {len(told) - _SHOWN} more" if len(told) > _SHOWN else ""
    return "; ".join(told[:_SHOWN]) + more, _place(found[0]["loc"])


def unknown_names(names: Collection[str], known: Collection[str]) -> str:
    """Return that arguments are unknown, with those that were meant, or else those that there are."""
    near = {name: get_close_matches(name, known, n=1, cutoff=_NEAR) for name in names}
    meant = "; ".join(f'did you mean "{found[0]}"?' for found in near.values() if found)
    listed = ", ".join(known) or "none"
    return f"unknown: {', '.join(names)}; {meant or f'known: {listed}'}"


def _told(mistake: Mapping[str, Any], known: Collection[str]) -> str:
    place = _place(mistake["loc"])
    if mistake["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        return unknown_names([place], known if len(mistake["loc"]) == 1 else ())
    expected = _EXPECTED.get(mistake["type"], "it is not valid").format_map(mistake.get("ctx", {}))
    return f"{place}: {expected}" if place else expected


def _place(steps: Collection[object]) -> str:
    return ".".join(map(str, steps))

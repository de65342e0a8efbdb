"""Reads the JSON object of an answer, in whatever a server or a model wraps it.

Thoughts, prose and code fences may stand around it, it may come as a list or within another object, and it may have
trailing commas or single quotes. The last object that has the wanted key counts.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

import pyjson5

_BEGINS: Final = re.compile(r"\{\s*[\"'}]|\[\s*[{\]]")
"""Where an object, or a list of objects, may begin."""
_MOST_BEGINNINGS: Final = 200
_DEEPEST: Final = 3
_TOKEN: Final = re.compile(r"\"(?:[^\"\\]|\\.)*\"|[{}\[\]]", re.DOTALL)
_STRICT: Final = json.JSONDecoder(strict=False)


def read_object(text: str, key: str) -> dict[str, Any]:
    """Return the object of an answer that has a key, the last one; a list of objects is what the key stands for.

    Raises:
        ValueError: it has none. The message quotes nothing of the text.
    """
    found = [value for each in _values(text) if (value := _with_key(each, key, _DEEPEST)) is not None]
    if not found:
        raise ValueError(f'no JSON object with "{key}"')
    return found[-1]


def field(row: dict[str, Any], name: str, kind: Any) -> Any:
    """Return a field of a row.

    Raises:
        ValueError: it is missing, or of another type.
    """
    value = row.get(name)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise ValueError(f"{name} is missing or of another type")
    return value


def choice(row: dict[str, Any], name: str, choices: Sequence[str], otherwise: str) -> str:
    """Return a field that is one of some words; else another word: a slip there is no reason to ask again."""
    value = row.get(name)
    return value if isinstance(value, str) and value in choices else otherwise


def _values(text: str) -> Iterator[Any]:
    """Return the JSON objects and lists in a text that stand in no other one."""
    end = 0
    for number, begin in enumerate(_BEGINS.finditer(text)):
        if number == _MOST_BEGINNINGS:
            return
        if begin.start() < end:
            continue
        try:
            value, end = _STRICT.raw_decode(text, begin.start())
        except (ValueError, RecursionError):
            end_of = _balanced(text, begin.start())
            if end_of is None:
                continue
            try:
                value = pyjson5.decode(text[begin.start() : end_of])
            except (pyjson5.Json5Exception, RecursionError):
                continue
            end = end_of
        yield value


def _balanced(text: str, start: int) -> int | None:
    """Return where the bracket at a place is closed; None where it is not."""
    open_ = 0
    for token in _TOKEN.finditer(text, start):
        open_ += (token[0] in "{[") - (token[0] in "}]")
        if open_ == 0:
            return token.end()
    return None


def _with_key(value: Any, key: str, depth: int) -> dict[str, Any] | None:
    if isinstance(value, list) and all(isinstance(each, dict) and key not in each for each in value):
        return {key: value}
    if not isinstance(value, dict):
        return None
    if key in value:
        return value
    inner = (_with_key(each, key, depth - 1) for each in value.values() if depth and isinstance(each, dict))
    return next((each for each in inner if each is not None), None)

"""What OpenClaw's files say of a line in comments: `- Keep it on loopback. <!-- trigger: gateway setup -->`.

trigger: phrases for which the line is wanted, split by commas or semicolons.
importance: from 1 to 10.
project: the address of the project in which it holds.
observed: "2026-07-27 | status: active", or superseded.

They are no part of the line's text, and stay with the line in its document, also where it is moved or rewritten.
Pure functions, light to import.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

_ANNOTATION: Final = re.compile(r"(?:trigger|importance|project|observed):[^<>\n]{1,500}")
_MOST_IMPORTANT: Final = 10


def is_annotation(text: str) -> bool:
    """Return whether a text can be an annotation of a line."""
    return bool(_ANNOTATION.fullmatch(text))


def split_annotations(line: str) -> tuple[str, list[str]]:
    """Return a line without the annotations at its end, and these, in order."""
    annotations: list[str] = []
    while (text := line.rstrip()).endswith("-->") and (start := text.rfind("<!--")) >= 0:
        annotation = text[start + 4 : -3].strip()
        if not is_annotation(annotation):
            break
        annotations.insert(0, annotation)
        line = text[:start]
    return line, annotations


def noted(annotations: Sequence[str]) -> Mapping[str, str]:
    """Return the annotations by their names."""
    return {name: value.strip() for name, value in (each.split(":", 1) for each in annotations)}


def project_of(annotations: Sequence[str]) -> str:
    """Return the name of the project in which a line holds, at the end of its address; "" if nothing is said of it."""
    address = noted(annotations).get("project", "").rstrip("/")
    return address.rpartition("/")[2].removesuffix(".git")


def importance_of(annotations: Sequence[str]) -> float | None:
    """Return the importance from 0 to 1, or None if nothing is said of it."""
    value = noted(annotations).get("importance", "")
    return min(_MOST_IMPORTANT, int(value)) / _MOST_IMPORTANT if value.isascii() and value.isdigit() else None

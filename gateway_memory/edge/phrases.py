"""The texts that people read, in English and Chinese: JSON files in `texts/`, which a translator can edit.

Each file holds its texts by name, as `{"en": …, "zh": …}`. A file is read when the first of its texts is needed.
"""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

from extractor import is_mostly_chinese

Language = Literal["zh", "en"]

CHAT: Final = "/memory"
SHELL: Final = "gateway-memory"
"""The prefix of a command's name: in the chat, and in a shell."""


@cache
def texts(name: str) -> Mapping[str, Any]:
    """Return the content of a file in `texts/`."""
    content: Mapping[str, Any] = json.loads((Path(__file__).parent / "texts" / f"{name}.json").read_bytes())
    return content


def fill(file: str, name: str, /, **values: object) -> str:
    """Return a text of a file that has it in one language, with its values filled in."""
    return str(texts(file)[name]).format(**values)


class _Called:
    """How a command is called: `{memory:forget}` in a phrase is its prefix and its name, in the reader's language.

    A shell knows the English names alone.
    """

    def __init__(self, prefix: str, language: Language) -> None:
        self._prefix = prefix
        self._chinese = language == "zh" and prefix == CHAT

    def __format__(self, name: str) -> str:
        return f"{self._prefix} {texts('commands')[name]['chinese'] if self._chinese else name}"


def say(language: Language, phrase: str, /, **values: object) -> str:
    """Return a phrase in a language, with its values filled in. `memory`: the prefix of a command's name."""
    called = _Called(str(values.pop("memory", CHAT)), language)
    return str(texts("phrases")[phrase][language]).format(memory=called, **values)


def secret_name(language: Language, kind: str) -> str:
    """Return the name of a kind of secret. An unknown kind is shown by its issuer's name in both languages."""
    return str(texts("secrets").get(kind, {}).get(language, kind))


def language_of(text: str) -> Language:
    """Return the main language of a text."""
    return "zh" if is_mostly_chinese(text) else "en"

"""The texts that people read, in English and Chinese: JSON files in `texts/`, which a translator can edit.

Each file holds its texts by name, as `{"en": …, "zh": …}`. A file is read when the first of its texts is needed.

The chat speaks the language of the person, the shell that of its locale. Logs, HTTP and the texts of errors are
English; what a shell prints goes through `shown`.
"""

import json
import re
import unicodedata
from collections.abc import Mapping
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from string import Formatter
from typing import Any, Final, Literal

from extractor import is_mostly_chinese
from gateway_memory.scope import OWNER_KEY

Language = Literal["zh", "en"]

CHAT: Final = "/memory"
SHELL: Final = "gateway-memory"
"""The prefix of a command's name: in the chat, and in a shell."""


@cache
def texts(name: str) -> Mapping[str, Any]:
    """Return the content of a file in `texts/`."""
    content: Mapping[str, Any] = json.loads((Path(__file__).parent / "texts" / f"{name}.json").read_bytes())
    return content


SHELL_LANGUAGE: Final[ContextVar[Language]] = ContextVar("shell_language", default="en")
"""The language that the shell speaks. The command line sets it."""


def fill(file: str, name: str, /, **values: object) -> str:
    """Return a text in the language of the shell, with its values filled in."""
    text = texts(file)[name]
    return str(text if isinstance(text, str) else text[SHELL_LANGUAGE.get()]).format(**values)


_NUMBER: Final = r"-?[\d.,]+"
_LATIN_BEHIND: Final = re.compile(r"(应为|现在是)(?=[\x21-\x7e])")
"""Where a value of Latin letters follows a Han character: "应为整数", but "应为 \"local\""."""


@cache
def _errors() -> tuple[tuple[re.Pattern[str], str], ...]:
    """Return the forms of errors in English, each with the one in Chinese."""
    found = []
    for english, chinese in texts("errors").items():
        parts = Formatter().parse(english)
        fields = (
            (plain, field and f"(?P<{field}>{_NUMBER if field == 'number' else '.+?'})") for plain, field, *_ in parts
        )
        form = "".join(re.escape(plain) + (field or "") for plain, field in fields)
        found.append((re.compile(form), chinese))
    return tuple(found)


def translated(language: Language, message: str) -> str:
    """Return the text of an error in a language; what has no form in `texts/errors.json` stays English.

    A form may be a part of a text: "{place}: expected {what}, got {value}", and each part may have a form.
    """
    if language == "en":
        return message
    return "\n".join(_in_chinese(line)[0] for line in message.split("\n"))


@cache
def _in_chinese(text: str) -> tuple[str, int]:
    """Return a text in Chinese, and how many of its characters have no form: of all ways, the one with the fewest."""
    ways = [(text, len(text))]
    for form, chinese in _errors():
        if found := form.fullmatch(text):
            parts = {name: _in_chinese(part) for name, part in found.groupdict().items()}
            told = _LATIN_BEHIND.sub(r"\1 ", chinese.format(**{name: part for name, (part, _) in parts.items()}))
            ways.append((told, sum(rest for _, rest in parts.values())))
    for colon in re.finditer(": ", text):
        told, rest = _in_chinese(text[colon.end() :])
        ways.append((text[: colon.end()] + told, colon.end() + rest))
    return min(ways, key=lambda way: way[1])


def shown(text: str) -> str:
    """Return a text of the code as the shell shows it."""
    return translated(SHELL_LANGUAGE.get(), text)


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


def scope_name(language: Language, key: str) -> str:
    """Return the name of a scope: its key, but for the owner's, whom each language has a word for."""
    return say(language, "owner") if key == OWNER_KEY else key


def coded(language: Language, code: str) -> str:
    """Return a code of a receipt or a history: a stage, what was done, or the reason. English has the code itself."""
    return str(texts("outcomes_zh").get(code, code)) if language == "zh" else code


def secret_name(language: Language, kind: str) -> str:
    """Return the name of a kind of secret. An unknown kind is shown by its issuer's name in both languages."""
    return str(texts("secrets").get(kind, {}).get(language, kind))


def columns(text: str) -> int:
    """Return how many columns of a terminal a text takes: Chinese characters take two."""
    return sum(2 if unicodedata.east_asian_width(character) in "FW" else 1 for character in text)


def language_of(text: str) -> Language:
    """Return the main language of a text."""
    return "zh" if is_mostly_chinese(text) else "en"

"""The texts of the page, and the language in which a browser wants them."""

import re
from collections.abc import Mapping, Sequence
from typing import Final, get_args

from gateway_memory.edge.phrases import Language, say, texts


def word(language: Language, name: str, /, **values: object) -> str:
    """Return a text of the page. values: what stands in its braces; `number` chooses between `one` and `other`."""
    text: str | Mapping[str, str] = texts("page")[name][language]
    if not isinstance(text, str):
        text = text["one" if values["number"] == 1 else "other"]
    return text.format(**values) if values else text


_SIDES: Final = ("user", "assistant")
_NOTED: Final = {
    "undone": "noted_undone",
    "undone_removed": "noted_removed",
    "undone_restored": "noted_restored",
    "undone_review": "noted_waits",
    "undone_withheld": "noted_conversation",
    "undone_moved": "noted_moved",
    "approved": "noted_approved",
    "corrected": "noted_corrected",
    "correct_usage": "noted_empty",
    "forget_unknown": "noted_gone",
    "review_unknown": "noted_decided",
}
"""The lines of answers that the page words itself: it needs no id, for which a chat has no button."""
_PARTS: Final = ("at", "day", "id", "file", "text")


def noted(language: Language, answer: str) -> str:
    """Return the answer to a command as the page words it, without ids and ISO times."""
    return "\n".join(_noted_line(language, line) for line in answer.split("\n"))


def _noted_line(language: Language, line: str) -> str:
    for phrase, name in _NOTED.items():
        pattern = re.escape(say(language, phrase, **{part: f"<{part}>" for part in _PARTS}))
        for part in _PARTS:
            pattern = pattern.replace(f"<{part}>", f"(?P<{part}>{'[a-z2-7]+' if part == 'id' else '.+'})")
        if match := re.fullmatch(pattern, line):
            return word(language, name, **match.groupdict())
    return line


def sides_of(text: str) -> Sequence[tuple[str, str]]:
    """Return the sides of an exchange as a search shows it, each with the name of the word for who said it."""
    languages: tuple[Language, ...] = get_args(Language)
    for language in languages:
        user, assistant = (say(language, f"said_{side}", text="") for side in _SIDES)
        if text.startswith(assistant):
            return [("assistant", text.removeprefix(assistant))]
        if text.startswith(user):
            asked, found, answered = text.removeprefix(user).partition(f" {assistant}")
            return [("user", asked), ("assistant", answered)] if found else [("user", asked)]
    return []


def preferred(accepted: str, chosen: str) -> Language:
    """Return the language of a request. accepted: its Accept-Language header. chosen: what the browser switched to."""
    if chosen in ("zh", "en"):
        return "zh" if chosen == "zh" else "en"
    wanted = [
        (_quality(rest), name.strip().lower())
        for name, _, rest in (part.partition(";") for part in accepted.split(","))
    ]
    best = max((each for each in wanted if each[1][:2] in ("zh", "en")), key=lambda each: each[0], default=(0.0, "en"))
    return "zh" if best[1].startswith("zh") else "en"


def _quality(text: str) -> float:
    name, _, value = text.strip().partition("=")
    try:
        return float(value) if name.strip() == "q" else 1.0
    except ValueError:
        return 0.0

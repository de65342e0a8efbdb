"""Tells users that a secret was masked, or that a room's talk is not kept. They would assume otherwise."""

import re
from collections.abc import Iterable
from typing import Final

from extractor import Cleaned, clean, without_holes
from gateway_memory.capture.requests import PATTERNS
from gateway_memory.edge.phrases import Language, language_of, say, secret_name
from recall import render_block

_NOTICE_TOKENS: Final = 160
_MASKED: Final = re.compile(r"\[masked: ([a-z ]{2,40})\]")


def asks_to_keep_masked(text: str) -> bool:
    """Return whether a cleaned message asks to keep something that contained a masked secret."""
    return bool(_MASKED.search(text) and PATTERNS["keep"].search(text) and not PATTERNS["keep not"].search(text))


def names_of(kinds: Iterable[str], language: Language) -> str:
    """Return the kinds of secrets in the user's language."""
    names = dict.fromkeys(secret_name(language, kind) for kind in kinds)
    return say(language, "comma").join(names)


def masked_block(message: Cleaned, *, told: bool = False) -> str:
    """Return the notice that the assistant is asked to give in its reply, or "".

    told: whether it was said before. Then only who asks to keep a secret is told.
    """
    asks = asks_to_keep_masked(message.text)
    if not message.secrets or not (asks or not told) or PATTERNS["keep not"].search(message.text):
        return ""
    language = language_of(_MASKED.sub("", message.text))
    phrase = "masked_tell" if asks else "masked_beside"
    notice = say(language, phrase, kinds=names_of(message.secrets, language))
    return render_block("Memory Notice", "For the assistant.", [notice], _NOTICE_TOKENS)


def unkept_block(message: Cleaned) -> str:
    """Return the notice for a room whose talk is not kept that somebody asks it to remember something, or ""."""
    if not PATTERNS["keep"].search(message.text) or PATTERNS["keep not"].search(message.text):
        return ""
    notice = say(language_of(message.text), "room_tell")
    return render_block("Memory Notice", "For the assistant.", [notice], _NOTICE_TOKENS)


def secret_note(text: str) -> str:
    """Return the note on the secret in a text for whoever saves it, in the text's language; "" without a secret."""
    cleaned = clean(text)
    if not cleaned.secrets:
        return ""
    language = language_of(_MASKED.sub("", cleaned.text))
    phrase = "secret_left_out" if without_holes(cleaned.text) else "secret_not_kept"
    return say(language, phrase, kinds=names_of(cleaned.secrets, language))

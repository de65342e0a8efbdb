"""Emoji: a sign with what is joined to it is one word, 👩‍🚀, 👍🏽, 🇵🇹."""

import re
from typing import Final

SIGNS: Final = (
    "\U0001f000-\U0001f1e5\U0001f200-\U0001faff\u2600-\u27bf"
    "\u231a\u231b\u23e9-\u23fa\u2b05-\u2b07\u2b1b\u2b1c\u2b50\u2b55"
)
"""The characters that begin a sign, for a set in a pattern; flags are pairs of others."""
_ONE: Final = rf"[{SIGNS}][\ufe0e\ufe0f]?[\U0001f3fb-\U0001f3ff]?"
SIGN: Final = rf"[\U0001f1e6-\U0001f1ff]{{2}}|{_ONE}[\U000e0020-\U000e007f]*(?:\u200d{_ONE})*"
"""A pattern of one sign."""
_SIGN: Final = re.compile(SIGN)
_SELECTOR: Final = re.compile("[\ufe0e\ufe0f]")


def plain_sign(sign: str) -> str:
    """Return a sign without what says whether it is shown as a picture or as a letter."""
    return _SELECTOR.sub("", sign)


def signs_in(text: str) -> list[str]:
    """Return the signs of a text, as `plain_sign` has them."""
    return [] if text.isascii() else [plain_sign(match[0]) for match in _SIGN.finditer(text)]


def is_sign(word: str) -> bool:
    """Return whether a word is a sign."""
    return not word.isascii() and _SIGN.fullmatch(word) is not None

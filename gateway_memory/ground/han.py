"""Han characters: whether a text has any, and traditional ones as simplified ones."""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

_HAN: Final = re.compile(r"[\u3400-\u9fff]")


def has_han(text: str) -> bool:
    """Return whether a text has a Han character."""
    return bool(_HAN.search(text))


def simplified(text: str) -> str:
    """Return a text with traditional Chinese characters as simplified ones; it stays as long as it is."""
    return text.translate(_simpler()) if has_han(text) else text


@cache
def _simpler() -> Mapping[int, str]:
    lines = Path(__file__).with_name("simplified.txt").read_text("utf-8").splitlines()
    pairs = "".join(line for line in lines if not line.startswith("#"))
    return {ord(old): new for old, new in zip(pairs[::2], pairs[1::2], strict=True)}

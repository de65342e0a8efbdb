"""Which script a text is written in."""

import re
from typing import Final

__all__ = ["LONGEST_READ", "is_chinese"]

_FEWEST_HAN: Final = 4

_HAN = re.compile(r"[\u3400-\u9fff]")


def is_chinese(text: str) -> bool:
    """Whether the message is to be read as Chinese: a tenth of its characters, or four."""
    han = len(_HAN.findall(text[:LONGEST_READ]))
    return han >= _FEWEST_HAN or (han > 0 and han * 10 >= len(text.strip()))


LONGEST_READ = 4_000  # characters; what is longer holds something anyway

"""Which script a text is written in."""

import re

from extractor.gate.latin import LONGEST_READ

__all__ = ["is_chinese"]

_HAN = re.compile(r"[\u3400-\u9fff]")


def is_chinese(text: str) -> bool:
    """Whether the message is to be read as Chinese: a tenth of its characters, or four."""
    han = len(_HAN.findall(text[:LONGEST_READ]))
    return han >= 4 or (han > 0 and han * 10 >= len(text.strip()))

"""How doctor tells what it finds."""

import sys
from functools import partial
from typing import Final

from gateway_memory.edge.phrases import fill

finding: Final = partial(fill, "doctor")


def write_finding(line: str) -> None:
    """Write a line at once, since the next check may take its time."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def tell_good(name: str, /, **values: object) -> int:
    """Tell what is well, by the name of its text. Return 0."""
    write_finding(f"✓ {finding(name, **values)}")
    return 0


def tell_bad(name: str, /, **values: object) -> int:
    """Print what is wrong; returns how much it counts as a problem."""
    write_finding(f"✗ {finding(name, **values)}")
    return 1

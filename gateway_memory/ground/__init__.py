"""What all packages stand on. Everything may import this; it imports nothing of ours."""

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, Final

CATCH_UP_SECONDS: Final = 2.0
"""How long a call waits for what other work has still to do, before it goes on without."""


def lazy(package: str, names: Mapping[str, Sequence[str]]) -> tuple[list[str], Callable[[str], Any]]:
    """Return the `__all__` and the `__getattr__` of a package, which imports each public name when it is first used.

    names: the public names by the module that has them.
    """
    homes = {name: home for home, of_home in names.items() for name in of_home}

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(homes[name], package), name)
        setattr(sys.modules[package], name, value)
        return value

    return list(homes), load

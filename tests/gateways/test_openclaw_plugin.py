"""The tests of the plugin's own modules, by the Node of the real OpenClaw."""

import subprocess
from pathlib import Path

from openclaw import Installation


def test_the_modules_of_the_plugin(installed_openclaw: Installation) -> None:
    tests = sorted(Path(__file__).with_name("plugin").glob("*.test.js"))
    assert tests
    done = subprocess.run(
        [str(installed_openclaw.node), "--test", *map(str, tests)], check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout

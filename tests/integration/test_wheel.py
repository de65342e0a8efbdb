"""The wheel holds what an installed gateway-memory needs beside its code."""

import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(not (ROOT / "gateway_memory").is_dir(), reason="the tests of an installed wheel")
def test_the_wheel_holds_the_config_and_the_plugins(tmp_path: Path) -> None:
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "wheel", "--no-deps"]
    subprocess.run([*pip, "--no-build-isolation", "--wheel-dir", tmp_path, ROOT], check=True)
    with ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        names = set(wheel.namelist())
    plugins = ROOT / "integrations"
    inside = {
        "openclaw": "gateway_memory/connect/plugins/openclaw",
        "hermes": "gateway_memory/connect/plugins/hermes",
        "nanobot/gateway_memory_nanobot": "gateway_memory_nanobot",
    }
    for folder, place in inside.items():
        wanted = {f"{place}/{path.name}" for path in (plugins / folder).iterdir() if path.is_file()}
        assert wanted
        assert wanted <= names
    page = ROOT / "gateway_memory/serving/page"
    shown = [path for folder in ("templates", "static") for path in (page / folder).iterdir()]
    shown += (ROOT / "gateway_memory/edge/texts").iterdir()
    assert {str(path.relative_to(ROOT)) for path in shown} <= names
    assert "gateway_memory/config.json5" in names
    assert any(name.endswith("entry_points.txt") for name in names)

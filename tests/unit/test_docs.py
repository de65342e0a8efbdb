"""The docs agree with the code: tables made from it are up to date, links and module names exist, snippets run."""

import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pyjson5
import pytest

from gateway_memory.config.keys import known_paths

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
READMES = ["README.md", "README.zh.md"]
PACKAGES = ("gateway_memory", "extractor", "recall", "notifier")


def test_the_tables_are_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "docs" / "generate.py"), "--check"], check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"


def test_every_key_of_the_config_has_a_chinese_meaning() -> None:
    section = ("agents", "defaults", "memorySync")
    keys = {".".join(map(str, path[len(section) :])) for path in known_paths(section)}
    keys |= {"serve", *(".".join(map(str, path)) for path in known_paths(("serve",)))}
    meanings = pyjson5.decode((ROOT / "docs" / "config.zh.json5").read_text("utf-8"))
    assert meanings.keys() == keys
    assert all(meanings.values())


def exists(path: Path) -> bool:
    """Tell whether a file of the project exists; one of our packages may come from an installed wheel."""
    package, *rest = path.parts
    if package in PACKAGES:
        return Path(str(import_module(package).__file__)).parent.joinpath(*rest).exists()
    return (ROOT / path).exists()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_and_named_files_exist(page: Path) -> None:
    text = page.read_text("utf-8")
    links = re.findall(r"\]\((?!https?:)([^)#\s]+)", text)
    named = re.findall(rf"`((?:{'|'.join(PACKAGES)}|tests|benchmarks|docs)/[\w./-]*)`", text)
    targets = [(page.parent / link).resolve().relative_to(ROOT) for link in links]
    assert [str(path) for path in (*targets, *map(Path, named)) if not exists(path)] == []


@pytest.mark.parametrize("name", READMES)
def test_the_readme_is_short(name: str) -> None:
    assert len((ROOT / name).read_text("utf-8").splitlines()) <= 200


@pytest.mark.parametrize("name", READMES)
async def test_the_readmes_snippet_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (snippet,) = re.findall(r"```python\n(.*?)```", (ROOT / name).read_text("utf-8"), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(compile(snippet, name, "exec"), names)  # noqa: S102 - the documentation is what is tested
    await names["main"]()  # type: ignore[operator]
    assert (tmp_path / "workspace" / "journal.sqlite").exists()


async def test_the_calls_of_the_sessions_page_run(tmp_path: Path) -> None:
    from gateway_memory import OWNER, Config, GatewayMemory

    (snippet,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "sessions.md").read_text("utf-8"), re.DOTALL)
    names: dict[str, object] = {}
    body = "".join(f"    {line}\n" for line in snippet.splitlines())
    exec(compile(f"async def main(memory, OWNER):\n{body}", "sessions.md", "exec"), names)  # noqa: S102 - the same
    async with GatewayMemory(Config(), tmp_path) as memory:
        await names["main"](memory, OWNER)  # type: ignore[operator]
        assert (await memory.session_counts())["ended"] == 1


@pytest.mark.parametrize(
    "name", [*READMES, "docs/sessions.md", "docs/commands.md", "docs/commands.zh.md", "CONTRIBUTING.md"]
)
def test_the_shell_commands_exist(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    from gateway_memory.cli.main import main

    text = (ROOT / name).read_text("utf-8")
    for command in re.findall(r"^\$ gateway-memory (\w+)", text, re.MULTILINE):
        with pytest.raises(SystemExit) as done:
            main([command, "--help"])
        assert done.value.code == 0
    makes = re.findall(r"^\$ make (\w+)", text, re.MULTILINE)
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert set(makes) <= set(targets)


def test_the_tests_that_the_docs_name_exist() -> None:
    tests = {path.name for path in (ROOT / "tests").rglob("test_*.py")}
    for page in PAGES:
        assert set(re.findall(r"`(test_\w+\.py)`", page.read_text("utf-8"))) <= tests, page.name


def test_the_gateways_of_the_gateways_page_run(tmp_path: Path) -> None:
    whole, blocking = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "gateways.md").read_text("utf-8"), re.DOTALL)
    said = "telegram 42 Remember that the bell in the hall is broken\ntelegram 7 Hello\nwhatsapp 42 Hello\n"
    asked = "telegram 42 Which bell in the hall is broken?\ntelegram 42 /memory status\n"
    printed = [
        subprocess.run(
            [sys.executable, "-c", program],
            check=True,
            capture_output=True,
            text=True,
            cwd=tmp_path,
            input=lines,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        ).stdout
        for program, lines in ((whole, said), (whole, asked), (blocking, ""))
    ]
    assert "the bell in the hall" not in printed[0].partition("Hello")[2], "of other people"
    assert "the bell in the hall is broken" in printed[1].partition("given:)")[2]
    assert "the bell in the hall is broken" in printed[2]

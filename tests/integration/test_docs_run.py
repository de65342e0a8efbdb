"""README and docs hold what they show: programs run as they stand, commands succeed, settings load.

A fenced block is covered by its language alone, so nobody registers a new one:

- `python`: a whole program. A `text` block behind it is what it prints. A first line `# NAME.py` names the file that a
  later command runs.
- `console`: each line that begins with `$ ` runs, and exits with 0 unless its comment says `exit code 1` or
  `退出码 1`; the lines below it are what it prints.
- `sh`: a script. `json` can be read; `json5` loads as settings, also if it shows only a part of them.
- In `text`, each `/memory …` is a command of the chat.

In what is printed, `…` stands for anything, and a number for any number. The blocks of a page run in their order, in a
folder with a prepared memory in `workspace` and `~/memory`. A Chinese page runs what its English twin has not.
"""

import asyncio
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
import tomllib
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from typing import Any, Final

import pyjson5
import pytest
from patience import seconds
from served import Served, service, written

from gateway_memory import OWNER, GatewayMemory, load_config
from gateway_memory.cli.entry import main as entry
from gateway_memory.cli.main import main, make_parser
from gateway_memory.cli.table import COMMANDS as SHELL_COMMANDS
from gateway_memory.commands.dispatch import COMMANDS as CHAT_COMMANDS
from gateway_memory.config.keys import known_paths
from gateway_memory.config.load import check_config
from gateway_memory.edge.config_reference import reference_text

ROOT: Final = Path(__file__).parents[2]
PAGES: Final = sorted({*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")} - {ROOT / "CHANGELOG.md"})
BASH: Final = shutil.which("bash") or "bash"
SECTION: Final = ("agents", "defaults", "memorySync")
SERVICE: Final = "http://127.0.0.1:8765"
NOT_RUN: Final = {"text", "markdown", "ini", "toml", "yaml", "sql", "promql", "js"}
"""Languages of other programs, and what is no program. `tests/gateways/test_javascript.py` runs those in JavaScript."""
NOT_HERE: Final = {
    "serve": "runs until it is stopped",
    "page": "likewise, where no service runs",
    "mcp": "a client starts it and holds the other end of its pipe",
    "listen": "needs a broker, and runs until it is stopped",
    "doctor mqtt": "needs a broker",
    "db": "needs PostgreSQL",
    "move": "needs PostgreSQL",
    "connect": "needs the gateway",
    "disconnect": "needs what `connect` wrote",
    "demo": "test_criteria.py runs it",
}
"""The commands of ours that can't run here. Their arguments are parsed."""
OTHERS: Final = {"pg_dump", "psql", "pg_restore", "npm", "openclaw", "systemctl", "docker", "claude", "kill", "sqlite3"}
"""Programs that are not there, or not ours to start. A script with one is only parsed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A fenced block of a page. prints: the block behind a program that says what it prints."""

    page: Path
    language: str
    text: str
    prints: str = ""

    @property
    def file(self) -> str:
        """The name under which a later command runs the program, or ""."""
        name = re.match(r"# (\w+\.py)\n", self.text)
        return name[1] if name else ""

    @property
    def bare(self) -> str:
        """The text without comments and blanks, by which a twin's block is recognized."""
        return "\n".join(line for each in self.text.splitlines() if (line := re.sub(r"\s*#.*", "", each).strip()))


def blocks_of(page: Path) -> list[Block]:
    found = re.findall(r"^ *```(\w*)[^\n]*\n(.*?)^ *```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    behind = [*found, ("", "")][1:]
    return [
        Block(page=page, language=language, text=dedent(text), prints=following if then == "text" else "")
        for (language, text), (then, following) in zip(found, behind, strict=True)
    ]


def to_run(page: Path) -> list[Block]:
    """Return the blocks of a page, of a Chinese one those that differ from its English twin's.

    Where those are of a shell, all: one works with what the one before it has made.
    """
    twin = page.with_name(page.name.replace(".zh.md", ".md"))
    known = {each.bare for each in blocks_of(twin)} if twin != page else set()
    own = [each for each in blocks_of(page) if each.bare not in known or each.file]
    return blocks_of(page) if any(each.language in ("console", "sh") for each in own) else own


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


ALL: Final = [block for page in PAGES for block in blocks_of(page)]
RUN: Final = [page for page in PAGES if any(each.language in ("python", "console", "sh") for each in to_run(page))]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the folder that a reader has: a memory of some days, a transcript, other programs' memories, a config."""
    home = tmp_path_factory.mktemp("reader")
    memory = home / "workspace"
    memory.mkdir()
    (memory / "MEMORY.md").write_text("- 我喜欢喝咖啡 <!-- gm:k7f3q2a1 O 0.88 -->\n", "utf-8")

    async def talk() -> None:
        async with GatewayMemory(load_config(), memory) as opened:
            for user, door in ((OWNER, "blue"), ("zoe", "red"), ("telegram::42", "green")):
                session = await opened.start_session("agent:main:telegram:direct:42", user=user)
                await opened.after_reply(session, user=f"Remember that my door is {door}.", reply=f"{door}, I see.")
                await opened.end_session(session, reason="user_close")

    asyncio.run(talk())
    turns = [{"session": "a", "user": "Remember that the lamp is new.", "reply": "OK"}]
    (home / "transcript.jsonl").write_text("".join(f"{json.dumps(turn)}\n" for turn in turns), "utf-8")
    (home / "config.json5").write_text(reference_text(), "utf-8")
    message = {"role": "user", "content": [{"type": "text", "text": "The gate is green."}]}
    rows: list[dict[str, Any]] = [{"type": "session", "id": "s1", "timestamp": "2026-11-20T10:00:00Z"}]
    rows += [{"type": "message", "id": "1", "timestamp": "2026-11-20T10:00:01Z", "message": message}]
    sessions = home / ".openclaw" / "agents" / "main" / "sessions"
    sessions.mkdir(parents=True)
    (sessions / "s1.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    (home / ".openclaw" / "workspace").mkdir()
    (home / ".openclaw" / "workspace" / "MEMORY.md").write_text("- The gate is green\n", "utf-8")
    content = {"content_type": "text", "parts": ["The tent leaks."]}
    nodes = {"a": {"id": "a", "message": {"author": {"role": "user"}, "content": content, "create_time": 1}}}
    conversation = {"conversation_id": "1", "current_node": "a", "mapping": nodes}
    with zipfile.ZipFile(home / "export.zip", "w") as archive:
        archive.writestr("conversations.json", json.dumps([conversation]))
    shutil.copytree(memory, home / "memory")
    assert main(["export", "--output", str(home / "export.jsonl"), "--workspace", str(memory)]) == 0
    return home


@pytest.fixture
def home(prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in a fresh copy of what a reader has, which is also the home folder."""
    place = tmp_path / "home"
    shutil.copytree(prepared, place)
    monkeypatch.chdir(place)
    monkeypatch.setenv("HOME", str(place))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("EDITOR", "true")
    for name in ("VISUAL", "GATEWAY_MEMORY_WORKSPACE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    monkeypatch.setattr("sys.argv", sys.argv)  # restored afterwards
    return place


@pytest.fixture
def served(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    places = {"main": home / "memory"}
    (home / "service").mkdir()
    with ExitStack() as stack:
        with monkeypatch.context() as start:
            start.setenv("LC_ALL", "C.UTF-8")  # that of its log
            options = (written(home / "service", port=0), "--workspace", str(places["main"]))
            running = stack.enter_context(service(*options, workspaces=places))
        yield running
        assert running.stop() == 0


@pytest.mark.parametrize("page", RUN, ids=named)
def test_what_a_page_shows_runs(
    page: Path,
    home: Path,
    request: pytest.FixtureRequest,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8" if page.name.endswith(".zh.md") else "C.UTF-8")
    for block in to_run(page):
        if block.language == "python":
            run_program(block, capfd)
        elif block.language == "console":
            for command, expected in commands_of(block):
                run_command(command, expected, capfd)
        elif block.language == "sh":
            run_script(block, request, capfd)


def run_program(block: Block, capfd: pytest.CaptureFixture[str]) -> None:
    if block.file:
        Path(block.file).write_text(block.text, "utf-8")
        assert block.file in "".join(each.text for each in blocks_of(block.page) if each.language == "console")
        return
    code = compile(block.text, block.page.name, "exec")

    def run() -> str:
        capfd.readouterr()
        exec(code, {"__name__": "__main__"})  # noqa: S102 - the documentation is what is tested
        return capfd.readouterr().out

    printed = printing(run, block.prints)
    assert printed.strip() or "print(" not in block.text, block.text


def commands_of(block: Block) -> Iterator[tuple[str, str]]:
    """Yield each command with what it prints."""
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        command = re.match(r"(?:[^\n]*\\\n)*[^\n]*", part)
        assert command
        yield command[0], part[command.end() :]


def run_command(command: str, expected: str, capfd: pytest.CaptureFixture[str]) -> None:
    words = [re.sub("^~", str(Path.home()), word) for word in shlex.split(command, comments=True)]
    exit_code = int(found[1]) if (found := re.search(r"# .*(?:exit code|退出码) (\d)", command)) else 0
    if words[0] == "make":
        assert set(words[1:]) <= set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
        return
    if words[:3] == ["python3", "-m", "venv"]:
        return
    if words[0].endswith(("pip", "pipx")):
        check_installed(words)
        return
    if words[0] == "python" and words[1].startswith("benchmarks/"):
        program = (ROOT / words[1]).read_text("utf-8")
        assert [each for each in words if each.startswith("--") and f'"{each}"' not in program] == []
        return

    def run_ours() -> str:
        capfd.readouterr()
        assert exit_code_of(words) == exit_code, (command, capfd.readouterr())
        return capfd.readouterr().out

    if is_ours_alone(words):
        if runs_here(words[1:]):
            printing(run_ours, expected)
    elif parsed(command):
        printing(lambda: printed_by(command, exit_code), expected)


def exit_code_of(words: list[str]) -> int:
    sys.argv = words
    try:
        return entry()
    except SystemExit as done:  # --version and --help
        return int(done.code or 0)


def run_script(block: Block, request: pytest.FixtureRequest, capfd: pytest.CaptureFixture[str]) -> None:
    if not parsed(block.text):
        return
    text = block.text
    if SERVICE in text:
        text = text.replace(SERVICE, request.getfixturevalue("served").url)
    printed = printed_by(text)
    assert '"error"' not in printed, printed
    assert not missing(block.prints, printed)


def printed_by(script: str, exit_code: int = 0) -> str:
    done = subprocess.run([BASH, "-ec", script], check=False, capture_output=True, text=True)
    assert done.returncode == exit_code, (script, done.stdout, done.stderr)
    return done.stdout


def is_ours_alone(words: list[str]) -> bool:
    return words[0] == "gateway-memory" and not {"|", ">", "&", "&&", ";"} & set(words)


def parsed(script: str) -> bool:
    """Check a script's syntax and each of our commands in it; return whether all of it can run here."""
    subprocess.run([BASH, "-n", "-c", script], check=True)
    here = not OTHERS & set(re.findall(r"[\w-]+", re.sub(r"#.*", "", script)))
    for line in script.replace("\\\n", " ").splitlines():
        for command in re.findall(r"(?:^|[;&|(]|\s)gateway-memory ([^;&|>#]+)", line):
            here &= runs_here(shlex.split(command.split(" #")[0]))
    return here


def runs_here(arguments: list[str]) -> bool:
    """Parse the arguments of one of our commands; return whether it can run here."""
    if arguments[0] == "--version":
        return True
    make_parser().parse_args(arguments)
    return not {arguments[0], " ".join(arguments[:2])} & NOT_HERE.keys()


def check_installed(words: list[str]) -> None:
    """Check that what is installed is the checkout or its wheel with extras that exist, or somebody else's package."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    for each in words[words.index("install") + 1 :] if "install" in words else []:
        assert not re.match(r"gateway.memory", each), "no index has it: the name may be somebody else's"
        assert set(re.findall(r"[\w-]+", each.partition("[")[2])) <= extras.keys(), each


def printing(run: Callable[[], str], expected: str) -> str:
    """Run until it prints what is expected, and return all of that: on a busy machine, a part may be late at first."""
    until = time.monotonic() + seconds(10)
    while lost := missing(expected, printed := run()):
        assert time.monotonic() < until, f"{lost!r} is not printed:\n{printed}"
    return printed


def missing(expected: str, printed: str) -> str:
    """Return the first line that a page shows and that is not printed, in their order; "" if all are."""
    rest = printed.splitlines()
    for line in filter(None, map(str.strip, expected.splitlines())):
        pattern = re.sub(r"\d+(?:[.,]\d+)*", r"[\\d.,]+", re.escape(line).replace("…", ".*"))
        at = next((number for number, each in enumerate(rest) if re.fullmatch(pattern, each.strip())), None)
        if at is None and line != "…":
            return line
        rest = rest[at + 1 :] if at is not None else rest
    return ""


def test_each_block_says_what_it_is() -> None:
    known = NOT_RUN | {"python", "console", "sh", "json", "json5"}
    unclear = [(named(each.page), each.language, each.text[:60]) for each in ALL if each.language not in known]
    assert unclear == []
    for each in ALL:
        if each.language == "text":
            assert not re.search(r"^\$ |^gateway-memory ", each.text, re.MULTILINE), (named(each.page), each.text)


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_settings_load_and_other_programs_json_can_be_read(page: Path) -> None:
    for block in blocks_of(page):
        if block.language == "json":
            json.loads(block.text)
        if block.language == "json5":
            check_config(json.dumps(whole(block.text)), named(page))


def whole(text: str) -> dict[str, Any]:
    """Return a whole config of what may be only a part of one."""
    part = pyjson5.decode(text if text.lstrip().startswith(("{", "//")) else f"{{{text}}}")
    if part.keys() <= {"agents", "serve"}:
        return dict(part)
    (key,) = part
    (path,) = [path for path in known_paths(SECTION) if path[-1] == key][:1]
    for step in reversed(path[:-1]):
        part = {str(step): part}
    return dict(part)


def test_the_commands_that_the_pages_name_exist() -> None:
    names = {name for command in CHAT_COMMANDS for name in (command.name, command.chinese)}
    texts = "".join(each.text for each in ALL if each.language == "text")
    shown = re.findall(r"^/memory (\w+)", texts, re.MULTILINE)
    assert shown
    assert set(shown) <= names
    ours = {command.name for command in SHELL_COMMANDS} | {"hook"}
    assert set(re.findall(r"`gateway-memory ([a-z][\w-]*)", "".join(page.read_text("utf-8") for page in PAGES))) <= ours

"""Write the ways of a message into architecture.md: the modules that it enters, as a run of them is measured.

`python docs/ways.py` writes the page; `measured()` returns what it writes. Rules alone, no encoder, one process, files.
"""

import ast
import asyncio
import os
import re
import sys
import tempfile
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any, Final

from gateway_memory import OWNER
from gateway_memory.testing import memory_for_tests

PAGE: Final = Path(__file__).parent / "architecture.md"
PACKAGES: Final = ("gateway_memory", "extractor", "recall", "notifier")
WAYS: Final = ("before_reply", "after_reply", "flush")
_RUNS: Final = 3


def modules() -> dict[str, Path]:
    """Return the files of our modules by the names that the page gives them, such as `recall/types.py`."""
    folders = [Path(str(import_module(package).__file__)).parent for package in PACKAGES]
    return {
        path.relative_to(folder.parent).as_posix(): path for folder in folders for path in sorted(folder.rglob("*.py"))
    }


async def measured() -> tuple[dict[str, list[str]], dict[str, set[str]]]:
    """Return the modules that each way enters in every run of some, and those that it enters in any of them.

    What is only entered when it is due, such as looking at a file that is young, differs from run to run.
    """
    runs = [await entered() for _ in range(_RUNS)]
    always = {name: [each for each in runs[0][name] if all(each in run[name] for run in runs)] for name in WAYS}
    return always, {name: {each for run in runs for each in run[name]} for name in WAYS}


async def entered() -> dict[str, list[str]]:
    """Return the modules that each way enters in one run, in the order of their first call."""
    names = {str(path): name for name, path in modules().items()}
    with tempfile.TemporaryDirectory() as folder:
        async with memory_for_tests(workspace=folder) as memory:
            session = await memory.start_session("agent:main:main", user=OWNER)
            await memory.after_reply(session, user="My name is Anna and I live in Basel.", reply="OK")
            await memory.flush()
            _age(Path(folder))
            await memory.before_reply(session, "A first question about Basel")

            async def after() -> object:
                return await memory.after_reply(session, user="Remember that I prefer Python.", reply="OK")

            ways: tuple[Callable[[], Awaitable[object]], ...] = (
                lambda: memory.before_reply(session, "Where do I live these days?"),
                after,
                memory.flush,
            )
            found: dict[str, list[str]] = {}
            for name, way in zip(WAYS, ways, strict=True):
                with _calls(names) as called:
                    await way()
                found[name] = list(called)
    return found


def _age(folder: Path) -> None:
    """Make files old: one that has just been saved would be read again."""
    for file in folder.rglob("*.md"):
        os.utime(file, (0, 0))


@contextmanager
def _calls(names: dict[str, str]) -> Iterator[dict[str, None]]:
    called: dict[str, None] = {}

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and (name := names.get(frame.f_code.co_filename)):
            called.setdefault(name)

    before = sys.getprofile()
    threading.setprofile(note)  # threads that run already are not seen
    sys.setprofile(note)
    try:
        yield called
    finally:
        sys.setprofile(before)
        threading.setprofile(None)


def purpose(path: Path) -> str:
    """Return the first sentence of a module's docstring."""
    text = " ".join((ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "").split("\n\n")[0].split())
    return re.split(r"(?<=\.)\s(?=[A-Z])", text)[0].replace("|", "\\|")


def written(page: str, ways: dict[str, list[str]]) -> str:
    """Return the page with its ways made anew."""
    paths = modules()

    def table(match: re.Match[str]) -> str:
        # What the page has keeps its place: threads make the order differ from run to run.
        before, called = re.findall(r"^\| `([\w./]+)` \|", match[0], re.MULTILINE), ways[match[1]]
        names = dict.fromkeys([*(name for name in before if name in called), *called])
        rows = [f"| `{name}` | {purpose(paths[name])} |" for name in names]
        return "\n".join([f"<!-- measured: {match[1]} -->", "| module | |", "|---|---|", *rows, "<!-- end -->"])

    return re.sub(r"<!-- measured: (\w+) -->.*?<!-- end -->", table, page, flags=re.DOTALL)


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text("utf-8"), asyncio.run(measured())[0]), "utf-8")

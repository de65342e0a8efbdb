"""A host with settings of its own: one conversation in it, and what it finds changed. Writes a report as JSON.

`python -W error host.py WORKSPACE REPORT [--uvloop] [--stdout]`; with `--stdout`, sys.stdout takes no weak reference.
"""

import asyncio
import contextlib
import gc
import json
import logging
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np  # whose import adds filters for warnings: it is no part of the conversation
from patience import seconds

OURS = ("/gateway_memory/", "/extractor/", "/recall/", "/notifier/")
"""Parts of the paths of our modules, in a checkout and where they are installed."""
GLOBAL_CALLS = (
    (sys, "setswitchinterval"),
    (sys, "setrecursionlimit"),
    (gc, "enable"),
    (gc, "disable"),
    (gc, "freeze"),
    (gc, "collect"),
    (gc, "set_threshold"),
    (os, "sched_setscheduler"),
    (os, "nice"),
    (signal, "signal"),
    (warnings, "simplefilter"),
    (warnings, "filterwarnings"),
    (logging.Filterer, "addFilter"),
    (logging.Logger, "addHandler"),
    (logging.Logger, "setLevel"),
    (logging, "disable"),
)


class Stdout:
    __slots__ = ("written",)

    def __init__(self) -> None:
        self.written = ""

    def write(self, text: str) -> int:
        self.written += text
        return len(text)

    def flush(self) -> None: ...


class Heard(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.events: list[tuple[str, str]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.events.append((record.name, record.getMessage()))


def note_calls(called: list[str]) -> None:
    """Note who of ours calls what sets something for the whole process, also where it is set back at once."""
    for owner, name in GLOBAL_CALLS:
        if hasattr(owner, name):
            setattr(owner, name, noting(getattr(owner, name), name, called))


def noting(function: Callable[..., Any], name: str, called: list[str]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        path = sys._getframe(1).f_code.co_filename
        if any(part in path for part in OURS):
            called.append(f"{name} by {Path(path).name}")
        return function(*args, **kwargs)

    return call


def state() -> dict[str, Any]:
    """What belongs to the host, as text."""
    loggers = [logging.getLogger(), *(logging.getLogger(name) for name in HOST_LOGGERS)]
    return {
        "switch interval": sys.getswitchinterval(),
        "collector": [gc.isenabled(), gc.get_threshold(), gc.get_freeze_count()],
        "scheduling": schedulers(),
        "warnings": [str(each) for each in warnings.filters],
        "loggers": [
            [each.name, each.level, str(each.handlers), str(each.filters), each.propagate, each.disabled]
            for each in loggers
        ],
        "logging": [logging.raiseExceptions, logging.root.manager.disable, str(logging.getLogRecordFactory())],
        "signals": {str(each): id(signal.getsignal(each)) for each in signal.valid_signals()},
        "hooks": [str(hook) for hook in (sys.excepthook, threading.excepthook, sys.unraisablehook)],
        "environment": dict(os.environ),
        "stdout": str(sys.stdout),
    }


def schedulers() -> list[int]:
    """The scheduling classes of all threads."""
    if not hasattr(os, "sched_getscheduler"):
        return []
    found = set()
    for each in Path("/proc/self/task").iterdir():
        with contextlib.suppress(ProcessLookupError):  # it ended just now
            found.add(os.sched_getscheduler(int(each.name)))
    return sorted(found)


HOST_LOGGERS = ("host", "openai", "openai._base_client", "anthropic._base_client", "httpx", "asyncio", "structlog")


async def converse(workspace: Path, report: dict[str, Any]) -> None:
    from gateway_memory import OWNER, GatewayMemory, load_config

    async with GatewayMemory(load_config(), workspace) as memory:
        session = await memory.start_session("one", user=OWNER)
        await memory.before_reply(session, "I prefer tea over coffee")
        await memory.after_reply(session, user="I prefer tea over coffee", reply="Noted.")
        await memory.flush()
        other = await memory.start_session("two", user=OWNER)
        await memory.before_reply(other, "what do I drink, tea or coffee?")
        report["found"] = [hit.text for hit in await memory.search(other, "tea or coffee?")]
        report["scheduling"] = schedulers()
        report["threads meanwhile"] = sorted(each.name for each in threading.enumerate())
    report["after"] = state()
    report["threads"] = left()


def left() -> list[str]:
    """The threads that don't end in time; those of the event loop are the host's."""
    until = time.monotonic() + seconds(5)
    while (names := sorted(each.name for each in threading.enumerate() if each is not threading.main_thread())) and (
        time.monotonic() < until
    ):
        time.sleep(0.02)
    return names


def main() -> None:
    workspace, target = Path(sys.argv[1]), Path(sys.argv[2])
    stdout = Stdout()
    if "--stdout" in sys.argv:
        sys.stdout = stdout
    heard = Heard()
    logger = logging.getLogger("gateway_memory")
    logger.setLevel(logging.INFO)
    logger.addHandler(heard)
    called: list[str] = []
    note_calls(called)
    report: dict[str, Any] = {"numpy": np.__version__}

    async def run() -> None:
        report["before"] = state()
        await converse(workspace, report)

    factory = None
    if "--uvloop" in sys.argv:
        import uvloop

        factory = uvloop.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(run())
    report["models"] = [name for name in ("openai", "anthropic") if name in sys.modules]
    report |= {"events": heard.events, "called": called, "written": stdout.written}
    target.write_text(json.dumps(report), "utf-8")


if __name__ == "__main__":
    main()

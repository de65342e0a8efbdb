"""The outcome of each run of a hook, noted for `hooks status`, and logged if something went wrong.

A line a run, in a file a hook. Lines are appended, so hooks of several sessions lose none of each other's. They hold
kinds and places of errors only: the texts of errors may contain messages, and a mistake in a config may be a secret.
"""

import contextlib
import errno
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from gateway_memory.errors import place_of
from gateway_memory.ground.files import private_file
from gateway_memory.ground.texts import object_of
from gateway_memory.hooks.editors import workspace_of
from gateway_memory.hooks.hook import InterruptedHook
from gateway_memory.store.disk.workspace import STATE_FOLDER, private_folder

if TYPE_CHECKING:
    from gateway_memory.hooks.hook import Hook

OUTCOMES: Final = ("answered", "quiet", "late", "stopped", "failed")
_RUNS: Final = 20
"""How many of the last runs count."""
_FULL_BYTES: Final = 32_768
_PLACES: Final = 3
_LONGEST_PLACE: Final = 400
_LAST: Final = 10**11
"""No time in seconds is as late."""


def note(hook: "Hook", error: BaseException | None, seconds: float) -> None:
    """Note how a run ended, where its workspace is known and can be written.

    Where the editor's input was not read, the workspace is the one that the process finds by its place alone.

    error: what kept it from its work. seconds: since the process started.

    Raises:
        OSError: it can't be written.
    """
    workspace, now = Path(hook.workspace or workspace_of({}, hook.options.get("--workspace"))), time.time()
    if not workspace.is_dir():
        return
    problem = error or hook.problem
    row: dict[str, Any] = {"at": round(now, 3), "outcome": _outcome(error, answered=hook.answered)}
    row |= {"seconds": round(seconds, 3), "limit": hook.seconds}
    known = {} if problem is None else _describe(problem)
    try:
        if hook.event:
            _append(workspace / STATE_FOLDER / "hooks" / hook.event, row | known, full=_FULL_BYTES)
    finally:
        if known:
            day = time.strftime("%Y-%m-%d", time.localtime(now))
            at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now))
            failed = {"event": "hook.failed", "hook": hook.event, **known, "seconds": row["seconds"], "at": at}
            _append(workspace / "logs" / f"hooks-{day}.jsonl", failed, full=None)


def last_outcomes(workspace: Path, event: str) -> list[dict[str, Any]]:
    """Return the outcomes of a hook's last runs, oldest first; damaged lines are left out."""
    path = workspace / STATE_FOLDER / "hooks" / event
    return [row for each in (_older(path), path) for row in _rows(each)][-_RUNS:]


def _outcome(error: BaseException | None, *, answered: bool) -> str:
    if error is None:
        return "answered" if answered else "quiet"
    if isinstance(error, InterruptedHook):
        return "late" if str(error) == "SIGALRM" else "stopped"
    return "failed"


def _describe(error: BaseException) -> dict[str, Any]:
    """Return the kind and place of an error's first cause, and what a person needs to mend it."""
    while error.__cause__ is not None:
        error = error.__cause__
    kind = str(error) if isinstance(error, InterruptedHook) else type(error).__name__
    known: dict[str, Any] = {"error": f"{kind} {place_of(error)}".strip()}
    if isinstance(error, OSError) and error.errno in errno.errorcode:
        known["system"] = os.strerror(error.errno or 0)
    if (problems := getattr(error, "problems", None)) is not None:
        source = Path(str(getattr(error, "source", ""))).absolute()
        known["config"] = str(source)
        known["places"] = [
            f"{source}{f':{each.line}' if each.line else ''}{f': {each.path}' if each.path else ''}"[:_LONGEST_PLACE]
            for each in problems[:_PLACES]
        ]
    return known


def _append(path: Path, row: dict[str, Any], *, full: int | None) -> None:
    """Append a line in one write. full: the size in bytes at which the file gives way to a new one."""
    private_folder(path.parent)
    if full:
        with contextlib.suppress(FileNotFoundError):  # it is new, or another process was faster
            if path.stat().st_size >= full:
                path.replace(_older(path))
    private_file(path)
    with path.open("ab", buffering=0) as stream:
        stream.write(json.dumps(row).encode() + b"\n")


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    try:
        lines = path.read_bytes().splitlines()
    except OSError:
        return
    for line in lines:
        row = object_of(line)
        times = [row.get(name) for name in ("at", "seconds", "limit")]
        if row.get("outcome") in OUTCOMES and all(
            isinstance(each, int | float) and 0 <= each < _LAST for each in times
        ):
            yield row


def _older(path: Path) -> Path:
    return path.with_name(f"{path.name}.old")

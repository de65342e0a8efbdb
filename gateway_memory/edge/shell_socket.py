"""A Unix socket by which a shell command or a hook asks the gateway that has a workspace open: its encoder is loaded.

One request a connection: a line of JSON, answered by a line of JSON. The sockets are in a folder that only the user can
open, named by the workspace and the process. Light to import, since a prompt in an editor waits for it.
"""

import contextlib
import json
import os
import stat
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import socket

_LONGEST_LINE: Final = 1 << 20
_ASK_SECONDS: Final = 5.0
_CONNECT_SECONDS: Final = 0.2


@contextlib.asynccontextmanager
async def listening(
    workspace: Path, answer: Callable[[Mapping[str, Any]], Awaitable[Mapping[str, Any]]]
) -> AsyncIterator[bool]:
    """Answer shell commands meanwhile; yields False where the system has no such socket or folder.

    answer: returns what a request is answered; it is called concurrently. An empty answer lets the asking process work
    for itself.
    """
    import asyncio

    answering: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task: asyncio.Task[None] | None = asyncio.current_task()
        assert task
        answering.add(task)
        # The other end works for itself when nothing comes.
        with contextlib.suppress(Exception, asyncio.CancelledError):
            request = json.loads(await reader.readline())
            response = await answer(request) if isinstance(request, dict) else {}
            writer.write(json.dumps(response).encode() + b"\n")
            await writer.drain()
        writer.close()
        answering.discard(task)

    folder = _folder()
    path = folder and folder / f"{_name(workspace)}-{os.getpid()}.sock"
    listener = path and _bind(path)
    if path is None or listener is None:
        yield False
        return
    server = await asyncio.start_unix_server(connected, sock=listener, limit=_LONGEST_LINE)
    try:
        yield True
    finally:
        server.close()
        path.unlink(missing_ok=True)
        for task in answering:
            task.cancel()
        await asyncio.gather(*answering)


def ask(workspace: Path, request: Mapping[str, Any], *, seconds: float = _ASK_SECONDS) -> dict[str, Any] | None:
    """Return what a gateway with this workspace answers; None if there is none, or none answers in so many seconds."""
    folder, until = _folder(), time.monotonic() + seconds
    paths = [] if folder is None else sorted(folder.glob(f"{_name(workspace)}-*.sock"))
    if not paths:
        return None
    import socket  # takes longer than to see that nobody listens

    for path in paths:
        with contextlib.suppress(OSError, ValueError), socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(min(_CONNECT_SECONDS, _remaining(until)))
            try:
                connection.connect(str(path))
            except ConnectionRefusedError:  # its process was killed
                path.unlink(missing_ok=True)
                continue
            connection.settimeout(_remaining(until))
            connection.sendall(json.dumps(dict(request)).encode() + b"\n")
            with connection.makefile("rb") as stream:
                response = json.loads(stream.readline(_LONGEST_LINE))
            if isinstance(response, dict) and response:
                return response
    return None


def _remaining(until: float) -> float:
    if (seconds := until - time.monotonic()) <= 0:
        raise TimeoutError
    return seconds


def _bind(path: Path) -> "socket.socket | None":
    import socket

    if not hasattr(socket, "AF_UNIX"):
        return None
    listener = socket.socket(socket.AF_UNIX)
    try:
        path.unlink(missing_ok=True)
        listener.bind(str(path))
    except OSError:
        listener.close()
        return None
    return listener


def _name(workspace: Path) -> str:
    return sha256(os.fsencode(os.path.realpath(workspace))).hexdigest()[:16]


def _folder() -> Path | None:
    """Return the folder of the sockets, made if it is missing; None if it is not ours alone."""
    parent = os.environ.get("XDG_RUNTIME_DIR") or os.environ.get("TMPDIR") or "/tmp"  # noqa: S108 - checked below
    folder = Path(parent) / f"gateway-memory-{os.getuid()}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        state = folder.lstat()
    except OSError:
        return None
    ours = stat.S_ISDIR(state.st_mode) and state.st_uid == os.getuid() and not state.st_mode & 0o077
    return folder if ours else None

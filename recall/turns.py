"""Keeps the event loop awake while recall's threads compute in Python."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["short_turns"]

_SECONDS = 0.0005

_lock = threading.Lock()
_computing = 0
_usual = 0.0


@contextmanager
def short_turns() -> Iterator[None]:
    """Let threads take turns ten times as often as usual until the work within is done.

    A thread that wants Python's lock waits for up to the interpreter's switch interval, 5 ms, for each thread that
    computes: of two of ours the event loop would wait for 20 ms. The interval is the process's, so it is put back.
    """
    global _computing, _usual  # noqa: PLW0603 - the interval is one for the process, and so is the count
    with _lock:
        if not _computing:
            _usual = sys.getswitchinterval()
            sys.setswitchinterval(min(_usual, _SECONDS))
        _computing += 1
    try:
        yield
    finally:
        with _lock:
            _computing -= 1
            if not _computing:
                sys.setswitchinterval(_usual)

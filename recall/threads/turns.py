"""Keeps the event loop awake while recall's threads compute in Python."""

import gc
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

__all__ = ["computes", "no_collection", "short_turns"]

_SECONDS = 0.0002

_lock = threading.Lock()
_computing = 0
_usual = 0.0


@contextmanager
def short_turns() -> Iterator[None]:
    """Let threads take turns far more often than usual until the work within is done.

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


def computes() -> None:
    """Tell the system that this thread computes, where it can be told (Linux).

    Its share of the processors stays what it is; but being woken, it takes none from a thread that is at work there,
    which may be the event loop's. Where somebody has chosen another policy for the process, that stays.
    """
    with suppress(AttributeError, OSError):
        if os.sched_getscheduler(0) == os.SCHED_OTHER:  # 0 is the calling thread
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


@contextmanager
def no_collection() -> Iterator[None]:
    """Look for no garbage while so many objects are made that Python would look through all there are, under its lock.

    Importing numpy or reading the encoder's vocabulary makes hundreds of thousands of objects, of which no garbage
    stays; a look takes 30 ms and more. It is the process's setting as well: whoever turned it off turns it on again.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        # What is new now stays, and is looked at this once; otherwise it would be once more with all that comes after.
        gc.collect(1)

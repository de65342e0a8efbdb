"""One run of a hook: its editor's time limit, and its answer, which is given whatever happens.

Imports only what starts with Python or is built in, so that the run is guarded before anything takes time.
"""

import _thread
import os
import signal
import sys
import time

TYPE_CHECKING = False  # that of `typing` would have to be imported
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    Note: TypeAlias = Callable[["Hook", BaseException | None, float], None]

EVENTS = {"sessionStart": 10, "userPromptSubmit": 5, "preCompact": 5, "stop": 5, "sessionEnd": 30}
"""Each hook and the seconds that its editor allows if nobody has changed them in its file."""
_SIGNALS = (signal.SIGALRM, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_UNKNOWN_SECONDS = 5
_MARGIN_SHARE, _MARGIN_SECONDS = 0.25, 1.0
"""What of the limit is left for the answer: a share, at most so many seconds."""
_START_SHARE = 0.25
"""The share of the limit that Python's start takes where the system does not tell."""
_LONGEST_START = 60.0
_LOOK_SECONDS = 0.2


class InterruptedHook(BaseException):
    """A signal, or the editor's time limit. Its text is the signal's name. Nothing may catch it on the way."""


class Hook:
    """One run of a hook: the answer if nothing better comes, and the time until which it may work.

    event: "" for an unknown one. options: `--workspace` and `--config` with their values. answer: JSON. workspace: a
    path, None until it is known. answered: whether the answer holds anything. problem: what went wrong beside an
    answer. until: by the monotonic clock. note: notes an outcome, given what kept the hook from its work and the
    seconds since the process started; it raises nothing.
    """

    def __init__(self, arguments: list[str], note: "Note") -> None:
        # Claude Code capitalizes the names of its events.
        self.event = next((name for name in EVENTS if [name.lower()] == [each.lower() for each in arguments[:1]]), "")
        self.options = dict(zip(arguments[1::2], arguments[2::2], strict=False))
        self.answer = '{"continue": true}' if self.event == "userPromptSubmit" else "{}"
        self.workspace: os.PathLike[str] | None = None
        self.answered = False
        self.problem: BaseException | None = None
        self.seconds = self.until = self._last = 0.0
        self._start, self._known = _started()
        self._ignores = self._over = False
        self._answering = _thread.allocate_lock()
        self._note = note

    def guard(self) -> None:
        """From now on, end at the time limit and at signals."""
        for number in _SIGNALS:
            signal.signal(number, self._interrupt)
        self.allow(EVENTS.get(self.event, _UNKNOWN_SECONDS))
        _thread.start_new_thread(self._watch, ())

    def allow(self, seconds: float) -> None:
        """Set the editor's limit, in seconds from the start of the process."""
        margin = min(_MARGIN_SHARE * seconds, _MARGIN_SECONDS)
        start = self._start if self._known else self._start - _START_SHARE * seconds
        self.seconds, self.until = seconds, start + seconds - margin
        self._last = self.until + margin / 2
        signal.setitimer(signal.ITIMER_REAL, max(0.001, self.until - time.monotonic()))

    def ignore_signals(self) -> None:
        """Raise nothing from now on. What is about to be raised is raised before this returns."""
        self._ignores = True
        signal.setitimer(signal.ITIMER_REAL, 0)  # Python gives up its handlers when it ends

    def say(self, error: BaseException | None) -> None:
        """Write the answer, once, and note the outcome. error: what kept the hook from its work."""
        self._answering.acquire()  # never released: if the time is up, the other thread answers and ends the process
        self._write(error)
        self._over = True

    def _write(self, error: BaseException | None) -> None:
        try:
            sys.stdout.write(f"{self.answer}\n")
            sys.stdout.flush()
        except (OSError, ValueError):  # the editor has gone away
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        self._note(self, error, time.monotonic() - self._start)

    def _interrupt(self, number: int, _: object) -> None:
        if not self._ignores:
            self._ignores = True  # once: what is tidied up meanwhile shall end
            raise InterruptedHook(signal.Signals(number).name)

    def _watch(self) -> None:
        """End the process when the limit is near, also while the main thread waits for a disk or a lock."""
        while (remaining := self._last - time.monotonic()) > 0:
            time.sleep(min(remaining, _LOOK_SECONDS))
            if self._over:
                return
        if self._answering.acquire(blocking=False):
            self._write(InterruptedHook(signal.SIGALRM.name))
        os._exit(0)


def _started() -> tuple[float, bool]:
    """Return when this process started, by the monotonic clock, and True; or now and False if the system does not tell.

    The editor counts from there. On a busy machine Python alone can take a second to start.
    """
    now = time.monotonic()
    try:
        with open("/proc/self/stat", "rb") as stream:  # noqa: PTH123 - pathlib would have to be imported
            ticks = int(stream.read().rpartition(b")")[2].split()[19])
        begun, now = ticks / os.sysconf("SC_CLK_TCK"), time.monotonic()
        elapsed = time.clock_gettime(time.CLOCK_BOOTTIME) - begun
    except (OSError, ValueError, IndexError, AttributeError):
        return now, False
    return (now - elapsed, True) if 0 <= elapsed < _LONGEST_START else (now, False)

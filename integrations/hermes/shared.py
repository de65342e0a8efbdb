"""What the providers of one process share: the open memory, and the turns that it has not taken yet."""

import json
import logging
import re
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from gateway_memory.connect.in_process import Opening, Waiting

__all__ = ["Begun", "Shared", "settings", "shared"]

logger = logging.getLogger(__name__)
T = TypeVar("T")
_RETRY_SECONDS = 3.0
_RECORD_SECONDS = 10.0
_shared: dict[Path, "Shared"] = {}
_making = threading.Lock()
_NAMES = re.compile(r"(?:\[[^\[\]\n]{1,80}\] )*")
"""What Hermes puts before a message of a group that shares one conversation, once more for each /retry."""


@dataclass
class Begun:
    """A message that Hermes answers: who says it, when (ISO), and whether the model ran a command of the memory."""

    user: str
    facts: dict[str, str]
    at: str
    is_command: bool = False


class Shared:
    """The memory of one HERMES_HOME, and the turns that wait for it."""

    def __init__(self, home: Path) -> None:
        given = settings(home)
        workspace = Path(given["workspace"]).expanduser()
        self._opening = Opening(workspace, given.get("config"), lambda why: logger.error("gateway-memory: %s", why))
        self._waiting = Waiting(home / "gateway-memory-waiting.jsonl")
        self._draining = threading.Lock()
        self._begun: defaultdict[str, list[Begun]] = defaultdict(list)
        self._last: dict[str, Begun] = {}
        self._beginning = threading.Lock()
        try:
            self._waiting.load()
        except OSError as error:
            logger.error("gateway-memory: the waiting turns can't be read: %s", error)
        threading.Thread(target=self._work, name="gateway-memory-waiting", daemon=True).start()

    def _work(self) -> None:
        while threading.main_thread().is_alive():
            time.sleep(_RETRY_SECONDS)
            if self._waiting:
                self.drain()

    @property
    def is_away(self) -> bool:
        """Whether the memory did not answer in time just now, so that no reply waits for it."""
        return self._opening.is_away

    def call(self, work: Callable[[Any], Coroutine[Any, Any, T]], seconds: float) -> T:
        """Run a call on the memory's loop for at most these seconds. Raises AwayError and TimeoutError."""
        return self._opening.call(work, seconds)

    def begin(self, conversation: str, message: Begun) -> None:
        """Note that Hermes answers a message. conversation: its key, which all agents of a group have in common.

        In a group, /retry puts the name of whoever asks for it before the last message: it stays its speaker's.
        """
        with self._beginning:
            last = self._last.get(conversation)
            if last is not None and _is_again(message.user, last.user):
                message.user, message.facts, message.is_command = last.user, last.facts, last.is_command
            self._last[conversation] = message
            self._begun[conversation].append(message)

    def end(self, conversation: str, user: str) -> tuple[list[Begun], Begun | None]:
        """Return the messages that the next one has interrupted, oldest first, and the one that is answered now.

        Hermes hands the interrupted ones over to nobody, and in a group makes another agent for whoever interrupts.
        """
        with self._beginning:
            begun = self._begun[conversation]
            place = max((at for at, each in enumerate(begun) if _is_again(user, each.user)), default=None)
            if place is None:
                return [], None
            self._begun[conversation] = begun[place + 1 :]
        answered = begun[place]
        return [each for each in begun[:place] if each.user != answered.user], answered  # the same is tried again

    def keep(self, turn: dict[str, Any]) -> None:
        """Put a turn on disk, and hand it to the memory now or, if it can't take it, later. It never raises."""
        if cut := self._waiting.add(turn):
            logger.warning("gateway-memory: a turn is too long; its last %d characters are not remembered", cut)
        self._save()
        self.drain()

    def drain(self) -> None:
        """Hand over the waiting turns in order. Whatever can't be taken now stays."""
        with self._draining:
            had = len(self._waiting)
            while self._waiting and self._taken(self._waiting.first):
                self._waiting.done()
            if had and not self._waiting:
                self._save()

    def _taken(self, turn: dict[str, Any]) -> bool:
        async def work(memory: Any) -> None:
            session = await session_of(memory, turn["facts"])
            at = datetime.fromisoformat(turn["at"])
            await memory.after_reply(session, user=turn["user"], reply=turn["reply"], at=at, turn_id=turn["id"])

        try:
            self.call(work, _RECORD_SECONDS)
        except Exception as error:  # noqa: BLE001 - a turn is never lost to it
            refused = type(error).__name__ in ("RefusedError", "UsageError")  # nothing would change that
            outcome = "is not recorded" if refused else "waits"
            logger.warning("gateway-memory: a turn %s: %s", outcome, type(error).__name__)
            return refused
        return True

    def _save(self) -> None:
        try:
            self._waiting.save()
        except OSError as error:
            logger.error("gateway-memory: the waiting turns are in memory alone: %s", error)


def _is_again(text: str, said: str) -> bool:
    """Whether a text is what was said, maybe with names before it."""
    return text.endswith(said) and _NAMES.fullmatch(text.removesuffix(said)) is not None


async def session_of(memory: Any, facts: dict[str, str]) -> Any:
    """Return the session of whoever speaks. Raises RefusedError."""
    from gateway_memory import Facts

    return await memory.session_of(Facts(**facts))


def settings(home: Path) -> dict[str, str]:
    """Return what was set in gateway-memory.json; {} if there is no workspace in it."""
    try:
        settings = json.loads((home / "gateway-memory.json").read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return settings if isinstance(settings, dict) and settings.get("workspace") else {}


def shared(home: Path) -> Shared:
    """Return what the providers of a home share: Hermes makes a provider for each of its agents."""
    with _making:
        if home not in _shared:
            _shared[home] = Shared(home)
        return _shared[home]

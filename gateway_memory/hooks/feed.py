"""Feed the new exchanges of an editor's transcript to the journal, as a gateway's turns."""

import json
import time
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final, Literal

from extractor import asked_secrets, clean
from gateway_memory.edge.content import well_formed
from gateway_memory.edge.observations import clip, observed, tags_of
from gateway_memory.edge.session_key import session_types
from gateway_memory.edge.transcript import EditorExchange, Part, read_exchanges
from gateway_memory.hooks.state import HookInput, hook_key
from gateway_memory.scope import OWNER_KEY, OWNER_SCOPE
from gateway_memory.sessions.session import FEATURES
from gateway_memory.store.journal import opened
from gateway_memory.store.journal.arrivals import NewTurn
from gateway_memory.store.journal.in_place import JournalInPlace
from gateway_memory.store.journal.opened import Observation

Reached = Literal["", "stop", "end"]
"""What the agent has reached: nothing yet, the end of its reply, the end of the session."""

_READ_SHARE: Final[dict[Reached, float]] = {"": 0.5, "stop": 0.5, "end": 0.25}
"""The share of the time that is left to the hook which reading may take. The next hook reads the rest."""
_AT_ONCE: Final = 20
"""The number of exchanges that are stored in one transaction."""
_LONGEST_TEXT: Final = 20_000


def feed(journal: JournalInPlace, event: HookInput, path: Path, now: float, *, reached: Reached) -> list[Observation]:
    """Store each new exchange of a transcript as a turn; return the observations of the one that is not complete.

    An exchange is stored once by the id of its user's message, whatever hook reads it in whatever transcript. One whose
    reply is not complete is left for a later hook.

    now: epoch seconds.
    """
    began = time.monotonic()
    until = began + _READ_SHARE[reached] * (event.until - began)
    exchanges = read_exchanges(path, event.session_id)
    last = event.given.get("last_assistant_message")  # Claude Code's transcript may not contain it yet
    pending = exchanges[-1:] if exchanges and not _is_complete(exchanges[-1], reached, last) else []
    with journal.transaction() as database:
        keep = _Keeping(event, opened.switches(database, event.session_id))
    unread = journal.unread([each.id for each in exchanges])
    new = (each for each in exchanges[: len(exchanges) - len(pending)] if each.id in unread)
    while time.monotonic() < until and (some := list(islice(new, _AT_ONCE))):
        journal.read([keep.turn(each, now) for each in some])
    return keep.observations(pending[0]) if pending else []


def _is_complete(exchange: EditorExchange, reached: Reached, last: object) -> bool:
    if reached == "stop" and not exchange.complete and isinstance(last, str) and last.strip():
        exchange.reply = well_formed(last)
        return True
    return exchange.complete or reached == "end" or (reached == "stop" and bool(exchange.reply))


class _Keeping:
    """What is kept of a session, by the config and by what its user switched: as a gateway's session decides."""

    def __init__(self, event: HookInput, switched: Mapping[str, bool]) -> None:
        settings, joined = event.settings(), event.joined
        self._session_id, self._joined = event.session_id, joined.key if joined else ""
        on = {name: switched.get(name, bool(settings[name]["enabled"])) for name in FEATURES}
        excluded = set(settings["autoExtract"]["excludeSessionTypes"])
        kept = not excluded & set(session_types(hook_key(event.session_id), OWNER_SCOPE))
        self._extract = kept and on["autoExtract"]
        episodes = settings["episodes"]["enabled"] and switched.get("autoExtract", True) and any(on.values())
        self._episode = kept and bool(episodes)
        self._observe = on["observations"]

    def observations(self, exchange: EditorExchange) -> list[Observation]:
        """Return the observations of an exchange, none if they are switched off."""
        return observations_of(exchange.parts) if self._observe else []

    def turn(self, exchange: EditorExchange, now: float) -> NewTurn:
        """Return the turn of an exchange, cleaned. now: epoch seconds."""
        return NewTurn(
            turn_id=exchange.id,
            scope=OWNER_KEY,
            session_key=hook_key(self._session_id),
            session_id=self._session_id,
            user=clean(exchange.user, asked=asked_secrets(exchange.before)).text,
            reply=clean(exchange.reply).text,
            at=now if exchange.at is None else max(0.0, min(exchange.at, now)),
            accepted_at=now,
            seen=tuple(self.observations(exchange)),
            extract=self._extract,
            episode=self._episode,
            joined=self._joined,
        )


def read_last_message(journal: JournalInPlace, event: HookInput, at: float) -> None:
    """Store the reply in Claude Code's `Stop` event as an observation if there is no transcript to read."""
    text = event.given.get("last_assistant_message")
    if isinstance(text, str) and text.strip():
        with journal.transaction() as database:
            opened.observe(database, OWNER_KEY, event.session_id, _message("assistant", text), at)


def observations_of(parts: Sequence[Part]) -> list[Observation]:
    """Return what was said and done. A tool call is stored with its result, or alone if the result is missing."""
    observations: list[Observation] = []
    calls: dict[str, tuple[str, dict[str, Any]]] = {}
    for role, part in parts:
        kind, content = part.get("type", "text"), part.get("content", "")
        if kind == "text" and isinstance(part.get("text"), str):
            observations += _message(role, part["text"])
        elif kind == "tool_use":
            given = part.get("input")
            calls[str(part.get("id") or f"{len(observations)} {len(calls)}")] = (
                well_formed(str(part.get("name", ""))),
                given if isinstance(given, dict) else {"input": given},
            )
        elif kind == "tool_result":
            text = content if isinstance(content, str) else _text_of(content)
            call = calls.pop(str(part.get("tool_use_id") or next(iter(calls), "")), None)
            if call:
                observations += _called(*call, output=text)
            if part.get("is_error"):
                observations += _kept("error", "", text)
    return [*observations, *(each for call in calls.values() for each in _called(*call))]


def _message(role: str, text: str) -> list[Observation]:
    message = clip(role, "", clean(text).text)
    return [Observation(kind=role, content=message, tags=tags_of(message))] if message.strip() else []


def _called(tool: str, given: dict[str, Any], *, output: str | None = None) -> list[Observation]:
    known = given if output is None else {**given, "output": clean(output).text[:_LONGEST_TEXT]}
    return _kept("tool", tool, json.dumps(known, ensure_ascii=False))


def _text_of(content: Any) -> str:
    parts = content if isinstance(content, list) else []
    texts = [part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str)]
    return "\n".join(texts) if texts else json.dumps(content, ensure_ascii=False)


def _kept(kind: str, tool: str, text: str) -> list[Observation]:
    observation = observed(kind, text, tool)
    return [observation] if observation.content.strip() else []

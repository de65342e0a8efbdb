"""The hooks after the start: they read the editor's transcript first, and the last one closes the session.

A transcript of Claude Code or Cursor is parsed into exchanges (`edge/transcript.py`), which are turns for the journal.
"""

import contextlib
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final, Literal

from extractor import asked_secrets, clean
from gateway_memory.edge.content import milliseconds_of, well_formed
from gateway_memory.edge.observations import clip, observed, tags_of
from gateway_memory.edge.prompts import is_chinese, is_significant, much_happened
from gateway_memory.edge.session_key import session_types
from gateway_memory.edge.transcript import EditorExchange, Part, read_exchanges
from gateway_memory.errors import UsageError
from gateway_memory.hooks.editors import HookInput, hook_key, register
from gateway_memory.scope import OWNER_KEY, OWNER_SCOPE
from gateway_memory.sessions.session import FEATURES
from gateway_memory.store.journal import opened
from gateway_memory.store.journal.arrivals import NewTurn
from gateway_memory.store.journal.in_place import JournalInPlace
from gateway_memory.store.journal.opened import Observation

# Feed the new exchanges of an editor's transcript to the journal, as a gateway's turns.

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


# The hooks.

_MODEL_SECONDS: Final = 20.0
"""The time for a model at a session's end, of the 30 s of an editor's hook."""


def before_compaction(event: HookInput) -> str:
    """Return the request to the agent before its context is compacted, or "" if there is nothing to save.

    Without a transcript the content is unknown. A full context contains something, so the agent is asked to judge.
    """
    with _session(event) as (journal, pending):
        journal.add_injected(event.session_id, (), anew=True)  # what was injected may be gone
        with journal.transaction() as database:
            observations = [*opened.seen_in(database, OWNER_KEY, event.session_id), *pending]
            is_used = opened.has_left_anything(database, OWNER_KEY, event.session_id)
    nothing = _transcript(event.given) is not None and not is_significant(observations) and not is_used
    if nothing or not event.settings()["sessions"]["stageSummaries"]:
        return ""
    usage, messages = event.given.get("context_usage_percent", "?"), event.given.get("message_count", "?")
    return event.prompts.flush(event.session_id, usage=usage, messages=messages, chinese=is_chinese(observations))


def followup(event: HookInput, status: object) -> str:
    """Return the follow-up prompt if one is due: see `JournalInPlace.followup`.

    At the first stop, it is due only if much has happened. At later stops without a transcript, the agent judges
    whether there is anything to save.
    """
    wanted = event.settings()["sessions"]
    with _session(event, reached="stop") as (journal, pending):
        if status not in ("completed", "aborted") or not (wanted["followups"] and wanted["records"]):
            return ""
        if event.given.get("stop_hook_active") or event.given.get("loop_count"):  # it answers such a prompt
            return ""
        with journal.transaction() as database:
            first = opened.count_stop(database, event.session_id) <= 1
        known = _transcript(event.given) is not None

        def is_worth_a_prompt(kept: list[Observation]) -> bool:
            observations = [*kept, *pending]
            return much_happened(observations) if first else is_significant(observations) or not known

        kept = journal.followup(event.session_id, is_worth_a_prompt)
    return "" if kept is None else event.prompts.followup(event.session_id, chinese=is_chinese([*kept, *pending]))


def end(event: HookInput) -> None:
    """Close the session, and write its record unless it is saved. This also indexes new facts."""
    with _session(event, reached="end") as (journal, _), journal.transaction() as database:
        if not opened.is_open(database, event.session_id):
            return
    import asyncio

    from gateway_memory.config.load import load_config
    from gateway_memory.memory import GatewayMemory
    from gateway_memory.observability.logs import configure_logging
    from gateway_memory.scope import OWNER
    from gateway_memory.store.disk.workspace import own_config

    given, joined = event.given, event.joined
    config = load_config(event.config, own=own_config(event.workspace))
    configure_logging(verbose=False, workspace=event.workspace, settings=config.defaults.logs)
    project, duration_ms = joined.name if joined else None, None
    with contextlib.suppress(UsageError):  # what an editor reports may be no duration
        duration_ms = milliseconds_of(given.get("duration_ms"), "duration_ms")

    async def close() -> None:
        async with GatewayMemory(config, event.workspace) as memory:
            session = await memory.start_session(hook_key(event.session_id), user=OWNER, project=project)
            await memory.end_session(
                session,
                reason=str(given.get("reason") or given.get("final_status") or "completed")[:40],
                error=str(given.get("error_message") or ""),
                duration_ms=duration_ms,
            )
            with contextlib.suppress(TimeoutError):  # what is not read yet is read when the memory is opened again
                async with asyncio.timeout(_MODEL_SECONDS):
                    await memory.flush()

    asyncio.run(close())


@contextlib.contextmanager
def _session(event: HookInput, *, reached: Reached = "") -> Iterator[tuple[JournalInPlace, list[Observation]]]:
    """Open the journal, register the session, and read its transcript, or the reply in the event.

    Yields the journal, and the observations that are not stored yet.
    """
    with JournalInPlace.open(event.workspace) as journal:
        now = time.time()
        register(journal, event.session_id, now, lives=reached != "end", joined=event.joined)
        pending: list[Observation] = []
        if path := _transcript(event.given):
            pending = feed(journal, event, path, now, reached=reached)
        elif event.settings()["observations"]["enabled"]:
            read_last_message(journal, event, now)
        yield journal, pending


def _transcript(given: Mapping[str, Any]) -> Path | None:
    """Return the transcript that an editor names, or None if there is none."""
    named = given.get("transcript_path")
    if not isinstance(named, str) or not named:
        return None
    try:
        path = Path(named).expanduser()
        return path if path.is_file() else None
    except (OSError, ValueError, RuntimeError):  # a name that is too long or invalid, or ~nobody
        return None

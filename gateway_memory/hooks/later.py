"""The hooks after the start: they read the editor's transcript first, and the last one closes the session.

A transcript, of Claude Code or Cursor, is parsed into exchanges, and fed to the journal as turns. Claude Code's lines
have a `uuid` and a `timestamp`, and each content part of a reply is a line of its own. Cursor's have neither: a user's
text begins with its time, to the minute, and `turn_ended` follows a whole reply.
"""

import contextlib
import hashlib
import json
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from itertools import islice
from pathlib import Path
from typing import Any, Final, Literal

from extractor import clean, spoken
from gateway_memory.edge.content import clip, milliseconds_of, observed, tags_of, well_formed
from gateway_memory.edge.prompts import is_chinese, is_significant, much_happened
from gateway_memory.errors import UsageError
from gateway_memory.ground import object_of
from gateway_memory.hooks.editors import HookInput, hook_key, register
from gateway_memory.identity import session_types
from gateway_memory.scope import OWNER_KEY, OWNER_SCOPE
from gateway_memory.session import FEATURES
from gateway_memory.store.journal import sessions
from gateway_memory.store.journal.in_place import JournalInPlace
from gateway_memory.store.journal.sessions import NewTurn, Observation

Part = tuple[str, dict[str, Any]]
"""The role, "user" or "assistant", and the content part."""

LONGEST_READ: Final = 64_000_000
"""The maximum number of bytes that one hook reads: the newest ones of a longer file."""
_LONGEST_ID: Final = 200
_COMPARED: Final = 1_000
"""The number of first characters by which messages without an id are told apart."""
_NOTE_MARKS: Final = ("isMeta", "isSidechain", "isCompactSummary", "isApiErrorMessage")
"""Claude Code's marks of entries that nobody said in this session: notes, subagents, compactions, errors."""
_LAST: Final = ("end_turn", "stop_sequence", "max_tokens", "refusal")
"""The reasons for which a reply is whole."""
_INTERRUPTED: Final = "[Request interrupted by user"
_OURS: Final = ("[Session Save]", "[Memory Flush]")
"""The first words of our own prompts, which Cursor submits in the user's name."""
_REDACTED: Final = re.compile(r"\s*\[REDACTED\]\s*\Z")
"""What Cursor leaves of a reply's reasoning."""
_TIME: Final = re.compile(
    r"<timestamp>\w+, (\w{3})\w* (\d{1,2}), (\d{4}), (\d{1,2}):(\d\d) ([AP])M"
    r"(?: \(UTC(?:([+-])(\d{1,2})(?::(\d\d))?)?\))?</timestamp>"
)
_MONTHS: Final = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()


@dataclass(slots=True, kw_only=True)
class Exchange:
    """A user's message and the final reply to it, without tool calls.

    id: that of the user's message. at: epoch seconds, None if it is unknown.
    ended: whether nothing more follows. finished: whether the reply says that it is whole.
    parts: all content parts in order, tool calls and their results too.
    """

    id: str
    at: float | None
    user: str
    reply: str = ""
    ended: bool = False
    finished: bool = False
    parts: list[Part] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        """Whether the reply is whole."""
        return self.ended or (self.finished and bool(self.reply))

    def add(self, role: str, part: dict[str, Any]) -> None:
        """Take the next content part after the user's message."""
        self.parts.append((role, part))
        kind, text = part.get("type", "text"), part.get("text")
        if kind in ("tool_use", "tool_result"):  # what was said before was not final
            self.reply, self.finished = "", False
        elif role == "assistant" and kind == "text" and isinstance(text, str):
            self.reply = f"{self.reply}\n\n{well_formed(_REDACTED.sub('', text))}".strip()


def read_exchanges(path: Path, session_id: str) -> list[Exchange]:
    """Return the exchanges of a transcript, oldest first. Only the last one may not be complete.

    Raises:
        OSError: the transcript can't be read.
    """
    with path.open("rb") as stream:
        start = max(0, stream.seek(0, 2) - LONGEST_READ)
        stream.seek(start)
        if start:
            stream.readline()  # the rest of a line whose start was skipped
        return exchanges_of(stream, session_id)


def exchanges_of(lines: Iterable[bytes], session_id: str) -> list[Exchange]:
    """Return the exchanges of a transcript's lines, oldest first.

    A message has the same id wherever it stands: in its transcript, when that is rewritten, and in a copy.
    """
    reader = _Reader(session_id)
    for entry in _entries(lines):
        reader.take(entry)
    return reader.exchanges


class _Reader:
    """Makes exchanges of the entries of a transcript."""

    def __init__(self, session_id: str) -> None:
        self.exchanges: list[Exchange] = []
        self._current: Exchange | None = None
        self._session_id = session_id
        self._equal: Counter[tuple[str, str]] = Counter()
        """How many messages without an id have this time, or this session, and these words."""

    def take(self, entry: dict[str, Any]) -> None:
        """Take the next entry."""
        parts = _parts(entry)
        message = "\n".join(part["text"] for role, part in parts if role == "user" and "text" in part).strip()
        if _ends(entry) or message.startswith(_INTERRUPTED):
            self._end()
        elif message.startswith(_OURS):
            self._end()
            self._current = None  # what follows belongs to no exchange
        elif message:
            if self._is_repeated(entry, message):
                return
            self._end()
            self._current = Exchange(id=self._id(entry, message), at=_time(entry), user=message)
            self.exchanges.append(self._current)
        if self._current and not self._current.ended:
            for role, part in parts:
                self._current.add(role, part)
            self._current.finished = self._current.finished or _is_last(entry)

    def _end(self) -> None:
        if self._current:
            self._current.ended = True

    def _is_repeated(self, entry: dict[str, Any], message: str) -> bool:
        """Return whether an entry is Cursor's second line of the message that waits for its reply."""
        current = self._current
        if current is None or current.ended or current.parts[1:] or _known_id(entry):
            return False
        return current.user == message

    def _id(self, entry: dict[str, Any], message: str) -> str:
        """Return the id of a user's message: its own, else a digest of its time and its cleaned words.

        Without a time, it is an id of this session alone. Equal messages of one minute are counted.
        """
        known = _known_id(entry)
        if known:
            return known
        stamp = _TIME.search(_head(entry))
        key = (stamp[0] if stamp else self._session_id, clean(message[:_COMPARED]).text)
        self._equal[key] += 1
        return hashlib.blake2b("\0".join((*key, str(self._equal[key]))).encode(), digest_size=16).hexdigest()


def parts_of(lines: Iterable[bytes]) -> list[Part]:
    """Return the content parts of a transcript's lines that were said or done in this session."""
    return [part for entry in _entries(lines) for part in _parts(entry)]


def _entries(lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    for line in lines:
        entry = object_of(line)
        if entry and not any(entry.get(mark) for mark in _NOTE_MARKS) and _is_of_a_human(entry):
            yield entry


def _is_of_a_human(entry: dict[str, Any]) -> bool:
    """Return False for what Claude Code marks as coming from another session or a background task."""
    queued = entry.get("attachment")
    origin = entry.get("origin") or (queued.get("origin") if isinstance(queued, dict) else None)
    return not isinstance(origin, dict) or origin.get("kind") in (None, "human")


def _parts(entry: dict[str, Any]) -> list[Part]:
    """Return the content parts of an entry; of a user's text, the user's own words."""
    queued = entry.get("attachment")
    if isinstance(queued, dict) and queued.get("type") == "queued_command":  # typed while the agent was at work
        if queued.get("commandMode", "prompt") != "prompt":
            return []
        role, content = "user", queued.get("prompt")
    else:
        message = entry.get("message", entry)
        if isinstance(message, str):
            message = {"content": message}
        if not isinstance(message, dict) or message.get("model") == "<synthetic>":
            return []
        role = str(message.get("role") or entry.get("role") or entry.get("type"))
        content = message.get("content", message.get("text", ""))
    if role not in ("user", "assistant"):
        return []
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    return [(role, _own_words(part) if role == "user" else part) for part in parts if isinstance(part, dict)]


def _own_words(part: dict[str, Any]) -> dict[str, Any]:
    text = part.get("text")
    if part.get("type", "text") != "text" or not isinstance(text, str):
        return {name: value for name, value in part.items() if name != "text"}
    ends = text.lstrip().startswith((_INTERRUPTED, *_OURS))  # which says where an exchange ends
    return {"type": "text", "text": well_formed(text if ends else spoken(text))}


def _ends(entry: dict[str, Any]) -> bool:
    """Return whether an entry says that the agent has stopped."""
    if entry.get("type") == "system":
        return entry.get("subtype") in ("turn_duration", "stop_hook_summary")
    return entry.get("type") == "turn_ended"


def _is_last(entry: dict[str, Any]) -> bool:
    message = entry.get("message")
    return isinstance(message, dict) and message.get("stop_reason") in _LAST


def _known_id(entry: dict[str, Any]) -> str:
    """Return the id of Claude Code's entry, that of the original for an entry of a fork; "" if it has none."""
    fork = entry.get("forkedFrom")
    known = fork.get("messageUuid") if isinstance(fork, dict) else None
    known = known or entry.get("uuid")
    return known if isinstance(known, str) and known.isprintable() and len(known) <= _LONGEST_ID else ""


def _time(entry: dict[str, Any]) -> float | None:
    """Return the time of an entry in epoch seconds, or None."""
    stated = entry.get("timestamp")
    stamp = _TIME.search(_head(entry))
    try:
        if isinstance(stated, str):
            at = datetime.fromisoformat(stated)
            return None if at.tzinfo is None else at.timestamp()
        if stamp is None or stamp[1] not in _MONTHS:
            return None
        month, day, year, hour, minute, half, sign, hours, minutes = stamp.groups()
        east = timedelta(hours=int(hours or 0), minutes=int(minutes or 0)) * (-1 if sign == "-" else 1)
        day = datetime(int(year), _MONTHS.index(month) + 1, int(day), tzinfo=timezone(east) if east else UTC)
        return (day + timedelta(hours=int(hour) % 12 + 12 * (half == "P"), minutes=int(minute))).timestamp()
    except (ValueError, OverflowError):
        return None


def _head(entry: dict[str, Any]) -> str:
    """Return what Cursor puts before a user's words."""
    message = entry.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    texts = [part.get("text") for part in content if isinstance(part, dict)] if isinstance(content, list) else [content]
    return next((text.partition("<user_query>")[0] for text in texts if isinstance(text, str)), "")


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
        keep = _Keeping(event, sessions.switches(database, event.session_id))
    unread = journal.unread([each.id for each in exchanges])
    new = (each for each in exchanges[: len(exchanges) - len(pending)] if each.id in unread)
    while time.monotonic() < until and (some := list(islice(new, _AT_ONCE))):
        journal.read([keep.turn(each, now) for each in some])
    return keep.observations(pending[0]) if pending else []


def _is_complete(exchange: Exchange, reached: Reached, last: object) -> bool:
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

    def observations(self, exchange: Exchange) -> list[Observation]:
        """Return the observations of an exchange, none if they are switched off."""
        return _observations(exchange.parts) if self._observe else []

    def turn(self, exchange: Exchange, now: float) -> NewTurn:
        """Return the turn of an exchange, cleaned. now: epoch seconds."""
        return NewTurn(
            turn_id=exchange.id,
            scope=OWNER_KEY,
            session_key=hook_key(self._session_id),
            session_id=self._session_id,
            user=clean(exchange.user).text,
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
            sessions.observe(database, OWNER_KEY, event.session_id, _message("assistant", text), at)


def observations_of(lines: Iterable[bytes]) -> list[Observation]:
    """Return the observations of a transcript's lines, in Cursor's form or Claude Code's, of this session only."""
    return _observations(parts_of(lines))


def _observations(parts: Sequence[Part]) -> list[Observation]:
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
            observations = [*sessions.seen_in(database, OWNER_KEY, event.session_id), *pending]
            is_used = sessions.has_left_anything(database, OWNER_KEY, event.session_id)
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
            first = sessions.count_stop(database, event.session_id) <= 1
        known = _transcript(event.given) is not None

        def is_worth_a_prompt(kept: list[Observation]) -> bool:
            observations = [*kept, *pending]
            return much_happened(observations) if first else is_significant(observations) or not known

        kept = journal.followup(event.session_id, is_worth_a_prompt)
    return "" if kept is None else event.prompts.followup(event.session_id, chinese=is_chinese([*kept, *pending]))


def end(event: HookInput) -> None:
    """Close the session, and write its record unless it is saved. This also indexes new facts."""
    with _session(event, reached="end") as (journal, _), journal.transaction() as database:
        if not sessions.is_open(database, event.session_id):
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

"""The transcripts of agents: nanobot's files; OpenClaw, Hermes and AstrBot, which keep them in SQLite."""

import json
import re
import sqlite3
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping
from contextlib import closing
from datetime import UTC, tzinfo
from pathlib import Path
from typing import Any, Final

from gateway_memory.ground.texts import object_of
from gateway_memory.transfer import conversations, facts, items, reading
from gateway_memory.transfer.transcripts import files_of

_MACHINE_CHANNELS: Final = ("cron", "heartbeat", "system", "subagent")


def nanobot(path: Path, zone: tzinfo | None) -> Iterator[conversations.Conversation | items.Item]:
    """Yield memory and sessions of nanobot: of a workspace or home with sessions/, of that folder, or of one file."""
    for folder in (path, path / "workspace"):
        yield from facts.remembered(folder / "memory", zone)
    for file in files_of(path, "sessions/*.jsonl", "workspace/sessions/*.jsonl", "*.jsonl"):
        head: dict[str, Any] = {}
        messages: list[conversations.ChatMessage] = []
        for entry in (yield from entries_of(file)):
            if entry.get("_type") == "metadata":
                head = entry
            elif "_type" not in entry and not (entry.get("_command") or entry.get("injected_event")):
                message = conversations.message_of(_public(entry), entry.get("timestamp"), zone)
                messages += [message] if message else []
        key = text_of(head.get("key")) or file.stem.replace("_", ":", 1)
        yield conversations.Conversation(
            source="nanobot",
            id=key,
            place=str(file),
            messages=messages,
            kind=_kind(key),
            at=conversations.time_of(head.get("created_at"), zone) or file.stat().st_mtime,
        )


def _kind(key: str) -> conversations.ConversationKind:
    """Return who takes part, as far as a key (channel:chat) tells: groups of Telegram have negative numbers."""
    channel, _, chat = key.partition(":")
    if channel in _MACHINE_CHANNELS:
        return "machine"
    is_group = (channel == "telegram" and chat.startswith("-")) or chat.endswith(("@g.us", "@chatroom"))
    return "group" if is_group else "direct"


def _public(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message without the context that nanobot has added to it."""
    content, added = entry.get("content"), entry.get("_runtime_context")
    if isinstance(content, str):
        suffix = added.get("suffix") if isinstance(added, dict) else None
        content = content.removesuffix(suffix) if isinstance(suffix, str) else content
    elif isinstance(content, list) and isinstance(added, dict) and isinstance(added.get("blocks"), list):
        content = [part for part in content if part not in added["blocks"]]
    return {"role": entry.get("role"), "content": content}


def entries_of(path: Path) -> Generator[items.Problem, None, list[dict[str, Any]]]:
    """Yield a problem for each line of a transcript that is no object; return the objects."""
    entries = []
    for entry in reading.objects_of_lines(path):
        if isinstance(entry, items.Problem):
            yield entry
        else:
            entries.append(entry)
    return entries


def text_of(value: Any) -> str:
    """Return a value, or "" in the place of another than a text."""
    return value if isinstance(value, str) else ""


_AGENT_DATABASE: Final = "openclaw-agent.sqlite"
_MACHINE_KEYS: Final = re.compile(r":(?:cron|subagent|hook|heartbeat|acp)(?::|$)")
GROUPS: Final = re.compile(r":(?:group|channel|room):")
_ENCODED: Final = "\x00json:"
"""Hermes's mark of a message that is a list of parts."""


def has_table(path: Path, table: str) -> bool:
    """Return whether a file is a SQLite database with a table."""
    try:
        with closing(opened(path)) as database:
            return bool(columns_of(database, table))
    except sqlite3.Error:
        return False


def opened(path: Path) -> sqlite3.Connection:
    """Open a database for reading alone."""
    # Read in threads, one at a time, while its owner may write.
    return sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=10, check_same_thread=False)


def columns_of(database: sqlite3.Connection, table: str) -> set[str]:
    """Return the names of a table's columns."""
    return {str(row[1]) for row in database.execute(f"PRAGMA table_info({table})")}


def openclaw(path: Path, zone: tzinfo | None) -> Iterator[conversations.Conversation | items.Item]:
    """Yield the sessions of OpenClaw: of its state folder (~/.openclaw), an agent, a database or a transcript."""
    if path.is_file():
        yield from _database(path, zone) if path.suffix != ".jsonl" else _transcript(path, {}, zone)
        return
    for folder in [*sorted(path.glob("agents/*")), path]:
        for database in (folder / "agent" / _AGENT_DATABASE, folder / _AGENT_DATABASE):
            if database.is_file() and has_table(database, "transcript_events"):
                yield from _database(database, zone)
        sessions = folder / "sessions" if (folder / "sessions").is_dir() else folder
        keys = _keys(sessions / "sessions.json")
        if keys:
            yield items.Ignored(place=str(sessions / "sessions.json"), kind="index")
        for file in sorted((*sessions.glob("*.jsonl"), *sessions.glob("*.jsonl.reset.*"))):
            if file.suffix != ".zst":
                yield from _transcript(file, keys, zone)


def in_database(
    path: Path, read: Callable[[sqlite3.Connection], Iterator[conversations.Conversation]]
) -> Iterator[conversations.Conversation | items.Problem]:
    """Yield what is read from a database, and a problem where it can't be read."""
    try:
        with closing(opened(path)) as database:
            yield from read(database)
    except sqlite3.Error as error:
        yield items.Problem(place=str(path), reason=f"no database that can be read: {error}")


def wanted_columns(columns: Collection[str], names: Iterable[str], missing: str) -> str:
    """Return columns as a query names them. missing: what stands for one that this version lacks."""
    return ", ".join(name if name in columns else missing for name in names)


def _database(path: Path, zone: tzinfo | None) -> Iterator[conversations.Conversation | items.Problem]:
    def read(database: sqlite3.Connection) -> Iterator[conversations.Conversation]:
        table = next((name for name in ("session_windows", "sessions") if columns_of(database, name)), "")
        known = columns_of(database, table) if table else set()
        wanted = wanted_columns(known, ("session_id", "session_key", "chat_type"), "''")
        rows = database.execute(f"SELECT {wanted} FROM {table}") if "session_id" in known else ()
        sessions = {row[0]: (str(row[1] or ""), str(row[2] or "")) for row in rows}
        for session in [str(row[0]) for row in database.execute("SELECT DISTINCT session_id FROM transcript_events")]:
            query = "SELECT event_json, created_at FROM transcript_events WHERE session_id = ? ORDER BY seq"
            events = [_event(*row) for row in database.execute(query, (session,))]
            key, chat = sessions.get(session, ("", ""))
            yield _session(session, key, chat, f"{path}: session {session}", events, zone)

    return in_database(path, read)


def _event(text: Any, at: Any) -> dict[str, Any]:
    event = object_of(text) if isinstance(text, str | bytes) else {}
    return {"timestamp": at, **event} if event else {}


def _keys(path: Path) -> dict[str, tuple[str, str]]:
    """Return key and type of chat of each session id, as the table of sessions of older versions has them."""
    rows = object_of(path.read_bytes()) if path.is_file() else {}
    return {
        str(as_object(row).get("sessionId")): (str(key), str(as_object(row).get("chatType") or ""))
        for key, row in rows.items()
    }


def _transcript(
    path: Path, keys: Mapping[str, tuple[str, str]], zone: tzinfo | None
) -> Iterator[conversations.Conversation | items.Problem]:
    events = yield from entries_of(path)
    header = next((event for event in events if event.get("type") == "session"), {})
    session = str(header.get("id") or path.name.partition(".jsonl")[0])
    key, chat = keys.get(session, ("", ""))
    yield _session(session, key, chat, str(path), events, zone)


def _session(
    session: str, key: str, chat: str, place: str, events: Iterable[dict[str, Any]], zone: tzinfo | None
) -> conversations.Conversation:
    """Return a session of its events, a tree of which the branch with the last event counts."""
    listed = [event for event in events if event and event.get("type") != "session"]
    by_id = {str(event.get("id") or f"#{number}"): event for number, event in enumerate(listed)}
    if any(event.get("parentId") for event in listed):
        parents = {name: event.get("parentId") for name, event in by_id.items()}
        listed = [by_id[name] for name in conversations.path_to(next(reversed(by_id), None), parents)]
    kind: conversations.ConversationKind = "direct"
    if _MACHINE_KEYS.search(key):
        kind = "machine"
    elif chat in ("group", "channel") or GROUPS.search(key):
        kind = "group"
    return conversations.Conversation(
        source="openclaw", id=session, place=place, messages=list(_of_events(listed, zone)), kind=kind,
        at=conversations.time_of(next((event.get("timestamp") for event in listed), 0.0), zone),
    )  # fmt: skip


def _of_events(events: Iterable[Mapping[str, Any]], zone: tzinfo | None) -> Iterator[conversations.ChatMessage]:
    for event in events:
        body = event.get("message") if event.get("type", "message") == "message" else None
        at = body.get("timestamp") if isinstance(body, dict) else None
        if message := conversations.message_of(body, event.get("timestamp") or at, zone):
            yield message


def hermes(path: Path, zone: tzinfo | None) -> Iterator[conversations.Conversation | items.Item]:
    """Yield memory and sessions of Hermes: of its home (~/.hermes), of state.db, or of a file of an older version."""
    if path.suffix == ".md":
        yield from facts.entries(path)
        return
    if path.is_file():
        yield from _state(path, zone) if path.suffix not in (".json", ".jsonl") else _older(path, zone)
        return
    for file in files_of(path, "MEMORY.md", "USER.md", "memories/MEMORY.md", "memories/USER.md"):
        yield from facts.entries(file)
    known: set[str] = set()
    if (path / "state.db").is_file():
        for each in _state(path / "state.db", zone):
            known |= {each.id} if isinstance(each, conversations.Conversation) else set()
            yield each
    folder = path / "sessions" if (path / "sessions").is_dir() else path
    for file in sorted((*folder.glob("session_*.json"), *folder.glob("*.jsonl"))):
        if file.stem.removeprefix("session_") not in known:
            yield from _older(file, zone)


def _state(path: Path, zone: tzinfo | None) -> Iterator[conversations.Conversation | items.Problem]:
    def read(database: sqlite3.Connection) -> Iterator[conversations.Conversation]:
        columns = columns_of(database, "messages")
        shown = [f"coalesce({name}, 0) = 0" for name in ("_compressed_summary", "observed") if name in columns]
        shown += ["(active = 1 OR compacted = 1)"] if {"active", "compacted"} <= columns else []
        shown += ["coalesce(display_kind, '') <> 'hidden'"] if "display_kind" in columns else []
        where = " AND ".join(["session_id = ?", *shown])
        query = f"SELECT role, content, timestamp FROM messages WHERE {where} ORDER BY timestamp, id"
        names = ("id", "source", "chat_type", "session_key", "started_at")
        wanted = wanted_columns(columns_of(database, "sessions"), names, "NULL")
        for session, source, chat, key, started in database.execute(f"SELECT {wanted} FROM sessions").fetchall():
            rows = database.execute(query, (session,)).fetchall()
            said = (({"role": role, "content": _decoded(content)}, at) for role, content, at in rows)
            messages = (conversations.message_of(message, at, zone) for message, at in said)
            yield conversations.Conversation(
                source="hermes",
                id=str(session),
                place=f"{path}: session {session}",
                messages=list(filter(None, messages)),
                kind=_hermes_kind(str(source or ""), str(chat or ""), str(key or "")),
                at=conversations.time_of(started, zone),
            )

    return in_database(path, read)


def _hermes_kind(source: str, chat: str, key: str) -> conversations.ConversationKind:
    if source in ("cron", "tool", "subagent", "webhook", "batch"):
        return "machine"
    return "group" if chat in ("group", "channel", "thread", "forum") or GROUPS.search(key) else "direct"


def _decoded(content: Any) -> Any:
    if not isinstance(content, str) or not content.startswith(_ENCODED):
        return content
    try:
        return json.loads(content.removeprefix(_ENCODED))
    except (ValueError, RecursionError):
        return ""


def _older(path: Path, zone: tzinfo | None) -> Iterator[conversations.Conversation | items.Problem]:
    if path.suffix == ".json":
        try:
            document = as_object(json.loads(path.read_bytes()))
        except (ValueError, RecursionError):
            yield items.Problem(place=str(path), reason="no JSON")
            return
        rows = document.get("messages", [])
    else:
        document, rows = {}, (yield from entries_of(path))
    messages = (conversations.message_of(row, row.get("timestamp"), zone) for row in rows if isinstance(row, dict))
    yield conversations.Conversation(
        source="hermes",
        id=path.stem.removeprefix("session_"),
        place=str(path),
        messages=list(filter(None, messages)),
        at=conversations.time_of(document.get("session_start"), zone) or path.stat().st_mtime,
    )


ASTRBOT: Final = ("data_v4.db", "data/data_v4.db")


def astrbot(path: Path, zone: tzinfo | None) -> Iterator[conversations.Conversation | items.Problem]:
    """Yield the conversations of AstrBot: of its folder, of data/ in it, or of data_v4.db."""

    def read(database: sqlite3.Connection) -> Iterator[conversations.Conversation]:
        query = "SELECT conversation_id, user_id, content, created_at FROM conversations ORDER BY inner_conversation_id"
        for session, origin, content, created in database.execute(query).fetchall():
            rows = json.loads(content) if content else []
            listed = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
            yield conversations.Conversation(
                source="astrbot",
                id=str(session),
                place=f"{file}: conversation {session}",
                messages=list(filter(None, (conversations.message_of(row, None, zone) for row in listed))),
                kind="group" if ":GroupMessage:" in str(origin) else "direct",
                at=conversations.time_of(created, UTC),  # written without its zone
            )

    for file in files_of(path, *ASTRBOT):
        yield from in_database(file, read)


def as_object(value: Any) -> dict[str, Any]:
    """Return a value, or an empty object in the place of another."""
    return value if isinstance(value, dict) else {}

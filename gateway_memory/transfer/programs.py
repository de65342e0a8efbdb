"""The conversations of other programs: transcripts of agents, in files and in SQLite, and exports of chats."""

import json
import re
import sqlite3
import zipfile
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import UTC, tzinfo
from io import TextIOWrapper
from pathlib import Path
from typing import Any, Final, Literal

from gateway_memory.errors import UsageError
from gateway_memory.ground import object_of
from gateway_memory.transfer import facts, items
from gateway_memory.transfer.transcripts import claude_code, codex, cursor, files_of

# nanobot keeps one file a session.

_MACHINE_CHANNELS: Final = ("cron", "heartbeat", "system", "subagent")


def nanobot(path: Path, zone: tzinfo | None) -> Iterator[items.Conversation | items.Item]:
    """Yield memory and sessions of nanobot: of a workspace or home with sessions/, of that folder, or of one file."""
    for folder in (path, path / "workspace"):
        yield from facts.remembered(folder / "memory", zone)
    for file in files_of(path, "sessions/*.jsonl", "workspace/sessions/*.jsonl", "*.jsonl"):
        head: dict[str, Any] = {}
        messages: list[items.Message] = []
        for entry in (yield from _entries(file)):
            if entry.get("_type") == "metadata":
                head = entry
            elif "_type" not in entry and not (entry.get("_command") or entry.get("injected_event")):
                message = items.message_of(_public(entry), entry.get("timestamp"), zone)
                messages += [message] if message else []
        key = _text(head.get("key")) or file.stem.replace("_", ":", 1)
        yield items.Conversation(
            source="nanobot",
            id=key,
            place=str(file),
            messages=messages,
            kind=_kind(key),
            at=items.time_of(head.get("created_at"), zone) or file.stat().st_mtime,
        )


def _kind(key: str) -> items.Kind:
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


def _entries(path: Path) -> Generator[items.Problem, None, list[dict[str, Any]]]:
    """Yield a problem for each line of a transcript that is no object; return the objects."""
    entries = []
    for entry in items.objects_of_lines(path):
        if isinstance(entry, items.Problem):
            yield entry
        else:
            entries.append(entry)
    return entries


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


# The transcripts of agents that keep them in SQLite, with the files of their older versions: OpenClaw and Hermes.

_AGENT_DATABASE: Final = "openclaw-agent.sqlite"
_MACHINE_KEYS: Final = re.compile(r":(?:cron|subagent|hook|heartbeat|acp)(?::|$)")
_GROUPS: Final = re.compile(r":(?:group|channel|room):")
_ENCODED: Final = "\x00json:"
"""Hermes's mark of a message that is a list of parts."""


def has_table(path: Path, table: str) -> bool:
    """Return whether a file is a SQLite database with a table."""
    try:
        with closing(_opened(path)) as database:
            return bool(_columns(database, table))
    except sqlite3.Error:
        return False


def _opened(path: Path) -> sqlite3.Connection:
    # Read in threads, one at a time, while its owner may write.
    return sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=10, check_same_thread=False)


def _columns(database: sqlite3.Connection, table: str) -> set[str]:
    return {str(row[1]) for row in database.execute(f"PRAGMA table_info({table})")}


# OpenClaw


def openclaw(path: Path, zone: tzinfo | None) -> Iterator[items.Conversation | items.Item]:
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


def _in_database(
    path: Path, read: Callable[[sqlite3.Connection], Iterator[items.Conversation]]
) -> Iterator[items.Conversation | items.Problem]:
    """Yield what is read from a database, and a problem where it can't be read."""
    try:
        with closing(_opened(path)) as database:
            yield from read(database)
    except sqlite3.Error as error:
        yield items.Problem(place=str(path), reason=f"no database that can be read: {error}")


def _wanted(columns: Collection[str], names: Iterable[str], missing: str) -> str:
    """Return columns as a query names them. missing: what stands for one that this version lacks."""
    return ", ".join(name if name in columns else missing for name in names)


def _database(path: Path, zone: tzinfo | None) -> Iterator[items.Conversation | items.Problem]:
    def read(database: sqlite3.Connection) -> Iterator[items.Conversation]:
        table = next((name for name in ("session_windows", "sessions") if _columns(database, name)), "")
        known = _columns(database, table) if table else set()
        wanted = _wanted(known, ("session_id", "session_key", "chat_type"), "''")
        rows = database.execute(f"SELECT {wanted} FROM {table}") if "session_id" in known else ()
        sessions = {row[0]: (str(row[1] or ""), str(row[2] or "")) for row in rows}
        for session in [str(row[0]) for row in database.execute("SELECT DISTINCT session_id FROM transcript_events")]:
            query = "SELECT event_json, created_at FROM transcript_events WHERE session_id = ? ORDER BY seq"
            events = [_event(*row) for row in database.execute(query, (session,))]
            key, chat = sessions.get(session, ("", ""))
            yield _session(session, key, chat, f"{path}: session {session}", events, zone)

    return _in_database(path, read)


def _event(text: Any, at: Any) -> dict[str, Any]:
    event = object_of(text) if isinstance(text, str | bytes) else {}
    return {"timestamp": at, **event} if event else {}


def _keys(path: Path) -> dict[str, tuple[str, str]]:
    """Return key and type of chat of each session id, as the table of sessions of older versions has them."""
    rows = object_of(path.read_bytes()) if path.is_file() else {}
    return {
        str(_object(row).get("sessionId")): (str(key), str(_object(row).get("chatType") or ""))
        for key, row in rows.items()
    }


def _transcript(
    path: Path, keys: Mapping[str, tuple[str, str]], zone: tzinfo | None
) -> Iterator[items.Conversation | items.Problem]:
    events = yield from _entries(path)
    header = next((event for event in events if event.get("type") == "session"), {})
    session = str(header.get("id") or path.name.partition(".jsonl")[0])
    key, chat = keys.get(session, ("", ""))
    yield _session(session, key, chat, str(path), events, zone)


def _session(
    session: str, key: str, chat: str, place: str, events: Iterable[dict[str, Any]], zone: tzinfo | None
) -> items.Conversation:
    """Return a session of its events, a tree of which the branch with the last event counts."""
    listed = [event for event in events if event and event.get("type") != "session"]
    by_id = {str(event.get("id") or f"#{number}"): event for number, event in enumerate(listed)}
    if any(event.get("parentId") for event in listed):
        parents = {name: event.get("parentId") for name, event in by_id.items()}
        listed = [by_id[name] for name in items.path_to(next(reversed(by_id), None), parents)]
    kind: items.Kind = "direct"
    if _MACHINE_KEYS.search(key):
        kind = "machine"
    elif chat in ("group", "channel") or _GROUPS.search(key):
        kind = "group"
    return items.Conversation(
        source="openclaw", id=session, place=place, messages=list(_of_events(listed, zone)), kind=kind,
        at=items.time_of(next((event.get("timestamp") for event in listed), 0.0), zone),
    )  # fmt: skip


def _of_events(events: Iterable[Mapping[str, Any]], zone: tzinfo | None) -> Iterator[items.Message]:
    for event in events:
        body = event.get("message") if event.get("type", "message") == "message" else None
        at = body.get("timestamp") if isinstance(body, dict) else None
        if message := items.message_of(body, event.get("timestamp") or at, zone):
            yield message


# Hermes


def hermes(path: Path, zone: tzinfo | None) -> Iterator[items.Conversation | items.Item]:
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
            known |= {each.id} if isinstance(each, items.Conversation) else set()
            yield each
    folder = path / "sessions" if (path / "sessions").is_dir() else path
    for file in sorted((*folder.glob("session_*.json"), *folder.glob("*.jsonl"))):
        if file.stem.removeprefix("session_") not in known:
            yield from _older(file, zone)


def _state(path: Path, zone: tzinfo | None) -> Iterator[items.Conversation | items.Problem]:
    def read(database: sqlite3.Connection) -> Iterator[items.Conversation]:
        columns = _columns(database, "messages")
        shown = [f"coalesce({name}, 0) = 0" for name in ("_compressed_summary", "observed") if name in columns]
        shown += ["(active = 1 OR compacted = 1)"] if {"active", "compacted"} <= columns else []
        shown += ["coalesce(display_kind, '') <> 'hidden'"] if "display_kind" in columns else []
        where = " AND ".join(["session_id = ?", *shown])
        query = f"SELECT role, content, timestamp FROM messages WHERE {where} ORDER BY timestamp, id"
        names = ("id", "source", "chat_type", "session_key", "started_at")
        wanted = _wanted(_columns(database, "sessions"), names, "NULL")
        for session, source, chat, key, started in database.execute(f"SELECT {wanted} FROM sessions").fetchall():
            rows = database.execute(query, (session,)).fetchall()
            said = (({"role": role, "content": _decoded(content)}, at) for role, content, at in rows)
            messages = (items.message_of(message, at, zone) for message, at in said)
            yield items.Conversation(
                source="hermes",
                id=str(session),
                place=f"{path}: session {session}",
                messages=list(filter(None, messages)),
                kind=_hermes_kind(str(source or ""), str(chat or ""), str(key or "")),
                at=items.time_of(started, zone),
            )

    return _in_database(path, read)


def _hermes_kind(source: str, chat: str, key: str) -> items.Kind:
    if source in ("cron", "tool", "subagent", "webhook", "batch"):
        return "machine"
    return "group" if chat in ("group", "channel", "thread", "forum") or _GROUPS.search(key) else "direct"


def _decoded(content: Any) -> Any:
    if not isinstance(content, str) or not content.startswith(_ENCODED):
        return content
    try:
        return json.loads(content.removeprefix(_ENCODED))
    except (ValueError, RecursionError):
        return ""


def _older(path: Path, zone: tzinfo | None) -> Iterator[items.Conversation | items.Problem]:
    if path.suffix == ".json":
        try:
            document = _object(json.loads(path.read_bytes()))
        except (ValueError, RecursionError):
            yield items.Problem(place=str(path), reason="no JSON")
            return
        rows = document.get("messages", [])
    else:
        document, rows = {}, (yield from _entries(path))
    messages = (items.message_of(row, row.get("timestamp"), zone) for row in rows if isinstance(row, dict))
    yield items.Conversation(
        source="hermes",
        id=path.stem.removeprefix("session_"),
        place=str(path),
        messages=list(filter(None, messages)),
        at=items.time_of(document.get("session_start"), zone) or path.stat().st_mtime,
    )


# AstrBot: a row of its database is a conversation, with the messages as OpenAI's API has them.

ASTRBOT: Final = ("data_v4.db", "data/data_v4.db")


def astrbot(path: Path, zone: tzinfo | None) -> Iterator[items.Conversation | items.Problem]:
    """Yield the conversations of AstrBot: of its folder, of data/ in it, or of data_v4.db."""

    def read(database: sqlite3.Connection) -> Iterator[items.Conversation]:
        query = "SELECT conversation_id, user_id, content, created_at FROM conversations ORDER BY inner_conversation_id"
        for session, origin, content, created in database.execute(query).fetchall():
            rows = json.loads(content) if content else []
            listed = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
            yield items.Conversation(
                source="astrbot",
                id=str(session),
                place=f"{file}: conversation {session}",
                messages=list(filter(None, (items.message_of(row, None, zone) for row in listed))),
                kind="group" if ":GroupMessage:" in str(origin) else "direct",
                at=items.time_of(created, UTC),  # written without its zone
            )

    for file in files_of(path, *ASTRBOT):
        yield from _in_database(file, read)


# The exports of ChatGPT and of Claude: conversations.json, alone, in a folder or in the archive that was sent.

_NAME: Final = re.compile(r"(?:.*/)?conversations(?:-\d+)?\.json")
_CITED: Final = re.compile("\ue200[^\ue201]*\ue201")
"""A reference to a source, which ChatGPT's page shows as a number."""


_THOUGHT: Final = re.compile(r"<details\b[^>]*>.*?</details>\s*", re.DOTALL)
"""Thoughts and calls of tools in Open WebUI's answers."""


def conversation_files(path: Path) -> Iterator[tuple[str, Callable[[], TextIOWrapper]]]:
    """Yield the files of an export: a name, and what opens it. A large export has several, with numbers."""
    if path.is_dir():
        for file in sorted(each for each in path.glob("conversations*.json") if _NAME.fullmatch(each.name)):
            yield str(file), lambda file=file: file.open(encoding="utf-8-sig", errors="replace")  # type: ignore[misc]
    elif zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            for name in sorted(each for each in archive.namelist() if _NAME.fullmatch(each)):
                yield (
                    f"{path}/{name}",
                    lambda name=name: TextIOWrapper(archive.open(name), "utf-8-sig", errors="replace"),  # type: ignore[misc]
                )
    elif path.is_file():
        yield str(path), lambda: path.open(encoding="utf-8-sig", errors="replace")


def chatgpt(path: Path, zone: tzinfo | None) -> Iterator[items.Conversation | items.Problem]:
    """Yield the conversations of ChatGPT's export. Of a tree of edits, the path that was shown last counts."""

    def messages_of(raw: dict[str, Any], mapping: dict[str, Any]) -> Iterator[items.Message | None]:
        nodes = {name: node for name, node in mapping.items() if isinstance(node, dict)}
        parents = {name: _text(node.get("parent")) or None for name, node in nodes.items()}
        last = _text(raw.get("current_node")) or next(reversed(nodes), None)
        return (_shown(nodes[name].get("message"), zone) for name in items.path_to(last, parents))

    names, times = ("conversation_id", "id", "title"), ("create_time", "update_time")
    return _exported(path, "chatgpt", ("mapping", dict, "an object"), messages_of, names, times, zone)


def _shown(raw: Any, zone: tzinfo | None) -> items.Message | None:
    """Return a message that the user or the assistant said to the other; None for notes and calls of tools."""
    message = raw if isinstance(raw, dict) else {}
    author, content, noted = (_object(message.get(name)) for name in ("author", "content", "metadata"))
    role = author.get("role")
    hidden = noted.get("is_visually_hidden_from_conversation") or noted.get("is_user_system_message")
    if role not in ("user", "assistant") or hidden or message.get("recipient", "all") != "all":
        return None
    if content.get("content_type") not in ("text", "multimodal_text"):
        return None
    text = _CITED.sub("", items.text_of_parts(content.get("parts")))
    return items.Message(role=role, text=text, at=items.time_of(message.get("create_time"), zone))


def claude(path: Path, zone: tzinfo | None) -> Iterator[items.Conversation | items.Item]:
    """Yield the conversations of Claude's export, and what it remembers."""
    yield from facts.claude_memories(path)
    if path.name == facts.CLAUDE_MEMORIES:
        return

    def messages_of(_: dict[str, Any], rows: list[Any]) -> Iterator[items.Message]:
        for row in rows:
            if isinstance(row, dict) and row.get("sender") in ("human", "assistant"):
                text = items.text_of_parts(row.get("content")) or _text(row.get("text"))
                role: Literal["user", "assistant"] = "user" if row["sender"] == "human" else "assistant"
                yield items.Message(role=role, text=text, at=items.time_of(row.get("created_at"), zone))

    names, times = ("uuid", "name"), ("created_at", "updated_at")
    yield from _exported(path, "claude", ("chat_messages", list, "a list"), messages_of, names, times, zone)


def open_webui(path: Path, zone: tzinfo | None) -> Iterator[items.Conversation | items.Problem]:
    """Yield the chats of Open WebUI's export. Of a tree of answers, the path that was shown last counts."""

    def messages_of(_: dict[str, Any], chat: dict[str, Any]) -> Iterator[items.Message | None]:
        history = _object(chat.get("history"))
        nodes = {name: node for name, node in _object(history.get("messages")).items() if isinstance(node, dict)}
        parents = {name: _text(node.get("parentId")) or None for name, node in nodes.items()}
        shown = [
            nodes[name]
            for name in items.path_to(_text(history.get("currentId")) or next(reversed(nodes), None), parents)
        ]
        listed = chat.get("messages")
        rows = shown or [row for row in (listed if isinstance(listed, list) else []) if isinstance(row, dict)]
        texts = (_THOUGHT.sub("", items.text_of_parts(row.get("content"))) for row in rows)
        said = zip(rows, texts, strict=True)
        return (items.message_of({**row, "content": text}, row.get("timestamp"), zone) for row, text in said)

    names, times = ("id", "title"), ("created_at", "updated_at")
    return _exported(path, "open-webui", ("chat", dict, "an object"), messages_of, names, times, zone)


def _exported(
    path: Path,
    source: str,
    content: tuple[str, type, str],
    messages_of: Callable[[dict[str, Any], Any], Iterator[items.Message | None]],
    names: Sequence[str],
    times: Sequence[str],
    zone: tzinfo | None,
) -> Iterator[items.Conversation | items.Problem]:
    """Yield the conversations of an export.

    content: the key of a conversation's messages, its type, and what that is called. names: the keys of its id.
    times: the keys of its time. One without has that of the one before, else of the file.
    """
    key, kind, expected = content
    for name, opened in conversation_files(path):
        at = (Path(name) if Path(name).is_file() else path).stat().st_mtime
        with opened() as stream:
            for each in items.objects_of_array(stream, name):
                if isinstance(each, items.Problem):
                    yield each
                    continue
                number, raw = each
                place = f"{name}: conversation {number}"
                if not isinstance(raw.get(key), kind):
                    yield items.Problem(place=place, reason=f"{key}: expected {expected}")
                    continue
                at = next(filter(None, (items.time_of(raw.get(field), zone) for field in times)), at)
                yield items.Conversation(
                    source=source,
                    id=next(filter(None, (_text(raw.get(field)) for field in names)), ""),
                    place=place,
                    messages=list(filter(None, messages_of(raw, raw[key]))),
                    at=at,
                )


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


# The programs by name.

_Reader = Callable[[Path, tzinfo | None], Iterator[items.Conversation | items.Item]]

HISTORIES: Final[Mapping[str, _Reader]] = {
    "openclaw": openclaw,
    "nanobot": nanobot,
    "hermes": hermes,
    "astrbot": astrbot,
    "claude-code": claude_code,
    "cursor": cursor,
    "codex": codex,
    "chatgpt": chatgpt,
    "claude": claude,
    "open-webui": open_webui,
    "mem0": facts.mem0,
}


def read_history(name: str, path: Path, zone: tzinfo | None, *, groups: bool) -> Iterator[items.Item]:
    """Yield what was said in a program's conversations, as episodes.

    zone: of times that name none; None is the host's. groups: whether conversations of groups are wanted.

    Raises:
        UsageError: the path contains no conversation of that program.
        OSError: a file can't be read.
    """
    found = False
    for each in HISTORIES[name](path, zone):
        found = found or not isinstance(each, items.Ignored)
        if isinstance(each, items.Conversation):
            yield from items.episodes_of(each, groups=groups)
        else:
            yield each
    if not found:
        raise UsageError(f"{path}: there are no conversations of {name} here, and no memories")

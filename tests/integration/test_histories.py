"""Conversations of other programs come in from the files that these write: cleaned, dated, once."""

import json
import sqlite3
import zipfile
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from inside import parts

from gateway_memory import OWNER, Config, GatewayMemory
from gateway_memory.cli.main import main
from gateway_memory.errors import UsageError
from gateway_memory.scope import resolve_scope
from gateway_memory.store.journal.episodes import Episode
from gateway_memory.transfer.importer import ImportReport
from gateway_memory.transfer.layouts import layout_of, read_layout
from recall import EmbedderSettings, RecallSettings

WORDS = Config(
    defaults=replace(Config().defaults, auto_recall=RecallSettings(embedder=EmbedderSettings(provider="none")))
)
KEY = "sk-" + "proj-" + "Ab1Cd2Ef3Gh4Ij5Kl6Mn7"
NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)
ASKED = f"Where do we keep the <private>secret 4711</private> tent? The key is {KEY}"
QUESTION = "Where do we keep the"
ANSWER = "The tent is in the cellar."
MORE = ("下次露营是什么时候？", "五月的第一个周末。")


def iso(minute: int) -> str:
    return NOON.replace(minute=minute).isoformat().replace("+00:00", "Z")


def ms(minute: int) -> int:
    return int(NOON.replace(minute=minute).timestamp() * 1000)


def json_lines(path: Path, *rows: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
    return path


# What each program writes. `turns`: how many of the two turns are there yet.


def openclaw_events(turns: int, session: str = "s1") -> list[dict[str, Any]]:
    told = (
        'Conversation info (untrusted metadata):\n```json\n{"sender": "Will"}\n```\n\n'
        'Sender (untrusted metadata):\n```json\n{"label": "Will"}\n```\n\n[Wed 2026-03-04 12:00 GMT+0] '
    )

    def message(number: int, role: str, content: Any) -> dict[str, Any]:
        return {
            "type": "message", "id": f"e{number}", "parentId": f"e{number - 1}" if number > 1 else None,
            "timestamp": iso(number), "message": {"role": role, "content": content, "timestamp": ms(number)},
        }  # fmt: skip

    events = [
        {"type": "session", "version": 3, "id": session, "timestamp": iso(0), "cwd": "/w"},
        message(1, "user", [{"type": "text", "text": told + ASKED}]),
        message(2, "assistant", [{"type": "thinking", "thinking": "hm"}, {"type": "toolCall", "name": "exec"}]),
        message(3, "toolResult", [{"type": "text", "text": "output of a tool"}]),
        {**message(4, "assistant", [{"type": "text", "text": "A discarded answer."}]), "id": "other"},
        {**message(5, "assistant", [{"type": "text", "text": f"[[reply_to_current]] {ANSWER}"}]), "parentId": "e3"},
        message(6, "user", "Read HEARTBEAT.md if it exists. Follow it strictly."),
        message(7, "assistant", "HEARTBEAT_OK"),
    ]
    if turns > 1:
        events += [message(8, "user", MORE[0]), message(9, "assistant", MORE[1])]
    return events


def openclaw_database(folder: Path, turns: int) -> Path:
    path = folder / "agents" / "main" / "agent" / "openclaw-agent.sqlite"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    sessions = {"s1": ("agent:main:main", "direct"), "s2": ("agent:main:discord:group:5", "group"),
                "s3": ("agent:main:cron:9", "direct")}  # fmt: skip
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE session_windows (session_id TEXT PRIMARY KEY, session_key TEXT, chat_type TEXT)")
        database.execute(
            "CREATE TABLE transcript_events (session_id TEXT NOT NULL, seq INTEGER NOT NULL, event_json TEXT NOT NULL, "
            "created_at INTEGER NOT NULL, PRIMARY KEY (session_id, seq))"
        )
        for session, (key, chat) in sessions.items():
            database.execute("INSERT INTO session_windows VALUES (?, ?, ?)", (session, key, chat))
            rows = [
                (session, seq, json.dumps(event), ms(seq))
                for seq, event in enumerate(openclaw_events(turns if session == "s1" else 1, session))
            ]
            database.executemany("INSERT INTO transcript_events VALUES (?, ?, ?, ?)", rows[::-1])
    return folder


def openclaw_files(folder: Path, turns: int) -> Path:
    sessions = folder / "agents" / "main" / "sessions"
    json_lines(sessions / "s1.jsonl", *openclaw_events(turns))
    json_lines(sessions / "s2.jsonl", *openclaw_events(1, "s2"))
    json_lines(sessions / "s3.jsonl", *openclaw_events(1, "s3"))
    keys = {"agent:main:main": {"sessionId": "s1"}, "agent:main:x:group:5": {"sessionId": "s2", "chatType": "group"},
            "agent:main:cron:9": {"sessionId": "s3"}}  # fmt: skip
    (sessions / "sessions.json").write_text(json.dumps(keys))
    return folder


def nanobot(folder: Path, turns: int) -> Path:
    context = "[Runtime Context — metadata only, not instructions]\nChannel: telegram\n[/Runtime Context]"

    def session(key: str, turns: int) -> None:
        rows: list[dict[str, Any]] = [
            {"_type": "metadata", "key": key, "created_at": iso(0), "metadata": {"title": "tents"}},
            {"role": "user", "content": f"{ASKED}\n\n{context}", "timestamp": iso(1)},
            {"role": "assistant", "content": "", "tool_calls": [{"id": "c1"}], "timestamp": iso(2)},
            {"role": "tool", "content": "output of a tool", "tool_call_id": "c1", "timestamp": iso(3)},
            {"role": "assistant", "content": ANSWER, "timestamp": iso(4)},
            {"role": "user", "content": "/status", "_command": True, "timestamp": iso(5)},
        ]
        if turns > 1:
            rows += [
                {"role": "user", "content": MORE[0], "timestamp": iso(8)},
                {"role": "assistant", "content": MORE[1], "timestamp": iso(9)},
            ]
        json_lines(folder / "sessions" / f"{key.replace(':', '_')}.jsonl", *rows)

    session("telegram:42", turns)
    session("telegram:-1007", 1)
    session("cron:daily", 1)
    return folder


def hermes_database(folder: Path, turns: int) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "state.db").unlink(missing_ok=True)
    with closing(sqlite3.connect(folder / "state.db")) as database, database:
        database.execute(
            "CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT NOT NULL, chat_type TEXT, session_key TEXT, "
            "started_at REAL NOT NULL, title TEXT)"
        )
        database.execute(
            "CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content TEXT, tool_calls TEXT, "
            "timestamp REAL NOT NULL, _compressed_summary INTEGER DEFAULT 0, active INTEGER DEFAULT 1, "
            "compacted INTEGER DEFAULT 0, display_kind TEXT)"
        )
        for session, source, chat in (("a", "telegram", "dm"), ("b", "discord", "group"), ("c", "cron", None)):
            database.execute(
                "INSERT INTO sessions VALUES (?, ?, ?, NULL, ?, 't')", (session, source, chat, ms(0) / 1000)
            )
            listed = "\x00json:" + json.dumps([{"type": "text", "text": ASKED}, {"type": "image_url"}])
            rows: list[tuple[Any, ...]] = [
                ("user", listed, 1, 0, 1, None), ("assistant", "", 2, 0, 1, None),
                ("tool", "output of a tool", 3, 0, 1, None), ("assistant", "A rewound answer.", 3, 0, 0, None),
                ("assistant", ANSWER, 4, 0, 1, None), ("user", "[CONTEXT COMPACTION] …", 5, 1, 1, None),
                ("user", "scaffold", 6, 0, 1, "hidden"),
            ]  # fmt: skip
            if turns > 1 and session == "a":
                rows += [("user", MORE[0], 8, 0, 1, None), ("assistant", MORE[1], 9, 0, 1, None)]
            database.executemany(
                "INSERT INTO messages (session_id, role, content, timestamp, _compressed_summary, active, display_kind)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                [(session, role, text, ms(at) / 1000, summary, on, kind) for role, text, at, summary, on, kind in rows],
            )
    return folder


def hermes_files(folder: Path, turns: int) -> Path:
    rows = [
        {"role": "session_meta", "model": "m"},
        {"role": "user", "content": ASKED, "timestamp": iso(1)},
        {"role": "tool", "content": "output of a tool"},
        {"role": "assistant", "content": ANSWER, "timestamp": iso(4)},
    ]
    if turns > 1:
        rows += [
            {"role": "user", "content": MORE[0], "timestamp": iso(8)},
            {"role": "assistant", "content": MORE[1], "timestamp": iso(9)},
        ]
    return json_lines(folder / "20260304_120000_ab12.jsonl", *rows)


def claude_code(folder: Path, turns: int) -> Path:
    def entry(number: int, kind: str, content: Any, **more: Any) -> dict[str, Any]:
        message = {"role": kind, "content": content}
        return {
            "type": kind,
            "message": message,
            "timestamp": iso(number),
            "sessionId": "cc1",
            "uuid": str(number),
            **more,
        }

    rows = [
        {"type": "summary", "summary": "Tents", "leafUuid": "9"},
        entry(1, "user", f"<system-reminder>be brief</system-reminder>{ASKED}"),
        entry(2, "assistant", [{"type": "thinking", "thinking": "hm"}]),
        entry(3, "assistant", [{"type": "tool_use", "name": "Bash", "input": {}}]),
        entry(4, "user", [{"type": "tool_result", "content": "output of a tool"}]),
        entry(4, "user", "Caveat: a note of the program", isMeta=True),
        entry(5, "assistant", [{"type": "text", "text": ANSWER}]),
        entry(6, "user", "to a subagent", isSidechain=True),
        entry(7, "user", "<command-name>/clear</command-name>"),
    ]
    if turns > 1:
        rows += [entry(8, "user", [{"type": "text", "text": MORE[0]}]), entry(9, "assistant", MORE[1])]
    json_lines(folder / "projects" / "-home-w" / "cc1.jsonl", *rows)
    return folder


def chatgpt_conversations(turns: int) -> list[dict[str, Any]]:
    def node(name: str, parent: str | None, role: str, text: str, at: int, **more: Any) -> tuple[str, dict[str, Any]]:
        content = {"content_type": more.pop("content_type", "text"), "parts": [text]}
        message = {"author": {"role": role}, "content": content, "create_time": ms(at) / 1000, **more}
        return name, {"id": name, "parent": parent, "children": [], "message": message}

    nodes = [
        ("root", {"id": "root", "parent": None, "message": None}),
        node("a", "root", "system", "", 0),
        node("b", "a", "user", ASKED, 1),
        node("c1", "b", "assistant", "A discarded answer.", 2),
        node("c", "b", "assistant", "search(tent)", 3, recipient="browser"),
        node("d", "c", "tool", "output of a tool", 3),
        node("e", "d", "assistant", "code", 3, content_type="code"),
        node("f", "e", "assistant", f"{ANSWER}\ue200cite\ue202turn0\ue201", 4),
    ]
    last = "f"
    if turns > 1:
        nodes += [node("g", "f", "user", MORE[0], 8), node("h", "g", "assistant", MORE[1], 9)]
        last = "h"
    made = {"title": "Tents", "conversation_id": "g1", "create_time": ms(0) / 1000, "current_node": last}
    return [{**made, "mapping": dict(nodes)}, {"title": "broken", "mapping": None}]


def chatgpt(folder: Path, turns: int) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "conversations.json").write_text(json.dumps(chatgpt_conversations(turns)), "utf-8")
    return folder


def chatgpt_archive(folder: Path, turns: int) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(folder / "export.zip", "w") as archive:
        archive.writestr("conversations-000.json", json.dumps(chatgpt_conversations(turns)))
        archive.writestr("user.json", "{}")
    return folder / "export.zip"


def claude(folder: Path, turns: int) -> Path:
    def message(number: int, sender: str, text: str, content: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
        return {"uuid": str(number), "sender": sender, "text": text, "content": content, "created_at": iso(number)}

    tool = [{"type": "tool_result", "content": "output of a tool"}, {"type": "text", "text": ANSWER}]
    messages = [message(1, "human", ASKED), message(4, "assistant", f"output of a tool {ANSWER}", tool)]
    if turns > 1:
        messages += [message(8, "human", MORE[0]), message(9, "assistant", MORE[1])]
    found = [
        {"uuid": "c1", "name": "Tents", "created_at": iso(0), "chat_messages": messages},
        {"uuid": "c2", "name": "broken", "chat_messages": "none"},
    ]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "conversations.json").write_text(json.dumps(found, ensure_ascii=False, indent=1), "utf-8")
    return folder / "conversations.json"


Writes = Callable[[Path, int], Path]
PROGRAMS: dict[str, tuple[str, Writes]] = {
    "OpenClaw's database": ("openclaw", openclaw_database),
    "OpenClaw's files": ("openclaw", openclaw_files),
    "nanobot": ("nanobot", nanobot),
    "Hermes's database": ("hermes", hermes_database),
    "Hermes's files": ("hermes", hermes_files),
    "Claude Code": ("claude-code", claude_code),
    "ChatGPT": ("chatgpt", chatgpt),
    "ChatGPT's archive": ("chatgpt", chatgpt_archive),
    "Claude": ("claude", claude),
}
each_program = pytest.mark.parametrize("program", PROGRAMS)


async def take_in(workspace: Path, layout: str, path: Path, *, room: str | None = None) -> ImportReport:
    scope = resolve_scope(user=None if room else OWNER, room=room)
    async with GatewayMemory(WORDS, workspace) as memory:
        items = read_layout(layout, path, UTC, groups=room is not None)
        return await memory.importer.run(items, scope=scope, forced=room is not None)


async def said(workspace: Path, scope: str = "owner") -> list[Episode]:
    async with GatewayMemory(WORDS, workspace) as memory:
        found = await parts(memory).storage.episodes.all_of(scope, 0, 100)
        return sorted(found, key=lambda episode: episode.at)


@each_program
async def test_what_was_said_comes_in_cleaned_dated_and_once(tmp_path: Path, program: str) -> None:
    layout, write = PROGRAMS[program]
    source = write(tmp_path / "source", 1)
    report = await take_in(tmp_path / "w", layout, source)
    assert report.counts["episodes.added"] == 1
    (first,) = await said(tmp_path / "w")
    assert first.user.startswith(QUESTION)
    assert first.reply == ANSWER
    assert first.at == NOON.replace(minute=1).timestamp()
    assert first.session_key.startswith(f"{layout}:")
    everything = b"".join(path.read_bytes() for path in (tmp_path / "w").rglob("*") if path.is_file())
    for hidden in (KEY, "4711", "output of a tool", "discarded", "rewound", "HEARTBEAT", "untrusted", "reminder",
                   "Runtime Context", "COMPACTION", "scaffold", "subagent", "/clear", "\ue200"):  # fmt: skip
        assert hidden.encode() not in everything, hidden
    assert (await take_in(tmp_path / "w", layout, source)).counts["episodes.added"] == 0
    newer = write(tmp_path / "source", 2)
    report = await take_in(tmp_path / "w", layout, newer)
    assert (report.counts["episodes.added"], report.counts["episodes.known"]) == (1, 1)
    assert [(each.user, each.reply) for each in await said(tmp_path / "w")][1:] == [MORE]
    async with GatewayMemory(WORDS, tmp_path / "w") as memory:
        session = await memory.start_session("now", user=OWNER)
        assert any("cellar" in hit.text for hit in await memory.search(session, "Where is the tent kept?"))


@each_program
def test_the_program_is_found_by_its_files(tmp_path: Path, program: str) -> None:
    layout, write = PROGRAMS[program]
    assert layout_of(write(tmp_path / "source", 2)) == layout


@pytest.mark.parametrize("program", ["OpenClaw's database", "OpenClaw's files", "nanobot", "Hermes's database"])
async def test_a_group_comes_in_where_its_room_is_named(tmp_path: Path, program: str) -> None:
    layout, write = PROGRAMS[program]
    source = write(tmp_path / "source", 1)
    report = await take_in(tmp_path / "w", layout, source)
    assert (report.counts["ignored.group"], report.counts["ignored.machine"]) == (1, 1)
    report = await take_in(tmp_path / "w", layout, source, room="camping")
    assert report.counts["ignored.group"] == 0
    assert len(await said(tmp_path / "w", "room:camping")) == 2


@pytest.mark.parametrize("program", ["ChatGPT", "Claude"])
async def test_a_conversation_that_is_none_is_named_and_the_others_come_in(tmp_path: Path, program: str) -> None:
    layout, write = PROGRAMS[program]
    report = await take_in(tmp_path / "w", layout, write(tmp_path / "source", 2))
    (problem,) = report.problems
    assert problem.place.endswith("conversations.json: conversation 2")
    assert "expected" in problem.reason
    assert report.counts["episodes.added"] == 2


@each_program
async def test_a_file_that_was_cut_off_breaks_nothing(tmp_path: Path, program: str) -> None:
    layout, write = PROGRAMS[program]
    source = write(tmp_path / "source", 2)
    files = [source] if source.is_file() else [path for path in source.rglob("*") if path.is_file()]
    for file in files:
        whole = file.read_bytes()
        for share in (0.0, 0.3, 0.8, 0.97):
            file.write_bytes(whole[: int(len(whole) * share)])
            try:
                items = list(read_layout(layout, source, UTC))
            except UsageError:
                continue
            assert len(items) <= 12
        file.write_bytes(whole)


def test_the_command_says_what_it_found_and_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, place = openclaw_database(tmp_path / "claw", 2), ["--workspace", str(tmp_path / "w")]
    assert main(["import", "auto", str(source), "--dry-run", *place]) == 0
    captured = capsys.readouterr()
    assert f"{source}: read as openclaw" in captured.err
    assert "episodes: 2 would be added" in captured.out
    assert not (tmp_path / "w").exists()
    config = tmp_path / "config.json5"
    config.write_text('{agents: {defaults: {memorySync: {autoRecall: {embedder: {provider: "none"}}}}}}')
    assert main(["import", "auto", str(source), "--config", str(config), *place]) == 0
    out = capsys.readouterr().out
    assert "episodes: 2 added" in out
    assert "1 conversations of groups were left out" in out
    assert "1 conversations were held without a person" in out
    assert main(["import", "auto", str(tmp_path / "nowhere"), *place]) == 1
    assert "nothing that is known" in capsys.readouterr().err
    (tmp_path / "empty").mkdir()
    assert main(["import", "chatgpt", str(tmp_path / "empty"), *place]) == 1
    assert "no conversations of chatgpt" in capsys.readouterr().err

"""Whoever comes from another memory: what it knows comes in as it was meant, and what does not is named."""

import json
import os
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from gateway_memory import OWNER, GatewayMemory, load_config
from gateway_memory.cli.main import main
from gateway_memory.ground.texts import text_in
from gateway_memory.store.disk.aside import left_out
from gateway_memory.store.headings import day_of_file
from gateway_memory.transfer.items import EpisodeItem, Item, LeftOut, MemoryItem, NoteItem
from gateway_memory.transfer.layouts import layout_of, read_layout

WORDS = '{"agents": {"defaults": {"memorySync": {"autoRecall": {"embedder": {"provider": "none"}}}}}}'


def put(path: Path, content: str | bytes | list[Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, list):
        content = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in content)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def read(path: Path) -> tuple[str, list[Item]]:
    layout = layout_of(path)
    return layout, list(read_layout(layout, path))


def texts(items: list[Item]) -> list[str]:
    return [item.record.text for item in items if isinstance(item, MemoryItem)]


def said(items: list[Item]) -> list[tuple[str, str]]:
    return [(item.episode.user, item.episode.reply) for item in items if isinstance(item, EpisodeItem)]


def claude_entry(session: str, uuid: str, role: str, text: str, at: str, fork: str = "") -> dict[str, Any]:
    content: Any = text if role == "user" else [{"type": "text", "text": text}]
    row = {"sessionId": session, "type": role, "message": {"role": role, "content": content}, "uuid": uuid}
    forked = {"forkedFrom": {"sessionId": fork, "messageUuid": uuid.removesuffix("f")}} if fork else {}
    return {**row, "timestamp": at, **forked}


def test_a_branch_of_claude_code_is_told_once_and_an_editors_lines_are_nobodys_words(tmp_path: Path) -> None:
    told = [
        ("u1", "user", "<ide_opened_file>The user opened /p/timer.py.</ide_opened_file>\nThe kiln runs on an ESP32."),
        ("u2", "assistant", "Noted."),
        ("u3", "user", "<bash-input>git push</bash-input>"),
        ("u4", "user", "<bash-stdout>rejected by hook</bash-stdout><bash-stderr></bash-stderr>"),
    ]
    at = "2026-10-01T08:00:00Z"
    first = [claude_entry("a", uuid, role, text, at) for uuid, role, text in told]
    branch = [claude_entry("b", f"{uuid}f", role, text, at, fork="a") for uuid, role, text in told]
    put(tmp_path / "projects/-p/a.jsonl", first)
    put(tmp_path / "projects/-p/b.jsonl", [*branch, claude_entry("b", "u9", "user", "Beep twice.", at)])
    layout, items = read(tmp_path)
    assert (layout, said(items)) == (
        "claude-code",
        [("The kiln runs on an ESP32.", "Noted."), ("Beep twice.", "")],
    )
    (tmp_path / "projects/-p/a.jsonl").unlink()
    (again, *_) = [item for item in read(tmp_path)[1] if isinstance(item, EpisodeItem)]
    assert again.episode.session_id == "a", "the copy alone says where it was said first"


def test_the_files_of_topics_are_what_claude_code_remembers(tmp_path: Path) -> None:
    put(tmp_path / "memory/MEMORY.md", "# Memory Index\n\n- [Glaze](glaze.md) — test tiles\n- Kiln room is B12\n")
    put(
        tmp_path / "memory/glaze.md",
        "---\nname: glaze\ndescription: tiles\n---\n\nFire a test tile first.\n\n**Why:** one load was lost.\n",
    )
    for path in (tmp_path, tmp_path / "memory"):
        layout, items = read(path)
        assert (layout, texts(items)) == (
            "claude-code",
            ["Kiln room is B12", "Fire a test tile first. **Why:** one load was lost."],
        )
        assert not [item for item in items if isinstance(item, LeftOut)]


def test_a_transcript_of_cursor_is_read_as_the_hooks_read_it(tmp_path: Path) -> None:
    stamp = "<timestamp>Thursday, Oct 1, 2026, 8:15 AM (UTC+2)</timestamp>\n"
    rows = [
        {
            "role": "user",
            "message": {
                "content": [{"type": "text", "text": f"{stamp}<user_query>\nThe log is in Postgres.\n</user_query>"}]
            },
        },
        {"role": "assistant", "message": {"content": [{"type": "text", "text": "Understood."}]}},
        {"type": "turn_ended", "status": "success"},
    ]
    path = put(tmp_path / "projects/p/agent-transcripts/c1/c1.jsonl", rows)
    for place in (path, tmp_path):
        layout, items = read(place)
        (episode,) = [item.episode for item in items if isinstance(item, EpisodeItem)]
        assert (layout, episode.user, episode.reply, episode.at) == (
            "cursor", "The log is in Postgres.", "Understood.", 1790835300.0,
        )  # fmt: skip


def test_rollouts_of_codex_are_conversations(tmp_path: Path) -> None:
    def item(role: str, text: str) -> dict[str, Any]:
        kind = "input_text" if role == "user" else "output_text"
        body = {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}
        return {"timestamp": "2026-10-01T08:00:00Z", "type": "response_item", "payload": body}

    def head(session: str, **more: Any) -> dict[str, Any]:
        return {"timestamp": "2026-10-01T08:00:00Z", "type": "session_meta", "payload": {"id": session, **more}}

    talk = [
        item("user", "<environment_context>\n  <cwd>/p</cwd>\n</environment_context>"),
        item("user", "The press runs at 40 bar."),
        {"timestamp": "", "type": "event_msg", "payload": {"type": "user_message", "message": "The press …"}},
        item("assistant", "Noted."),
    ]
    day = tmp_path / "sessions/2026/10/01"
    put(day / "rollout-2026-10-01T08-00-00-a.jsonl", [head("a"), *talk])
    put(
        day / "rollout-2026-10-01T09-00-00-b.jsonl",
        [head("b", forked_from_id="a"), *talk, item("user", "And at 5 °C.")],
    )
    put(day / "rollout-2026-10-01T09-30-00-c.jsonl", [head("c", source={"subagent": "review"}), *talk])
    layout, items = read(tmp_path)
    assert (layout, said(items)) == ("codex", [("The press runs at 40 bar.", "Noted."), ("And at 5 °C.", "")])


def chatgpt(created: float | None, updated: float | None, text: str) -> dict[str, Any]:
    message = {"author": {"role": "user"}, "create_time": None, "content": {"content_type": "text", "parts": [text]}}
    mapping = {"a": {"id": "a", "parent": None, "message": message}}
    return {
        "create_time": created,
        "update_time": updated,
        "conversation_id": text,
        "current_node": "a",
        "mapping": mapping,
    }


def test_a_chat_without_a_time_is_dated_by_what_there_is(tmp_path: Path) -> None:
    chats = [chatgpt(None, None, "one"), chatgpt(None, 1759305600.0, "two"), chatgpt(None, None, "three")]
    path = put(tmp_path / "conversations.json", json.dumps(chats))
    os.utime(path, (1770000000.0, 1770000000.0))
    times = [item.episode.at for item in read(tmp_path)[1] if isinstance(item, EpisodeItem)]
    assert times == [1770000000.0, 1759305600.0, 1759305600.0]


def test_chats_of_open_webui_are_read_along_the_branch_that_was_shown(tmp_path: Path) -> None:
    def node(name: str, parent: str | None, role: str, content: str) -> dict[str, Any]:
        return {"id": name, "parentId": parent, "role": role, "content": content, "timestamp": 1790835300}

    messages = {
        "a": node("a", None, "user", "My kayak is red."),
        "b": node("b", "a", "assistant", "A discarded answer."),
        "c": node("c", "a", "assistant", '<details type="reasoning">hm</details>\nNice.'),
    }
    chat = {"title": "t", "history": {"messages": messages, "currentId": "c"}}
    path = put(tmp_path / "chats.json", json.dumps([{"id": "x", "chat": chat, "created_at": 1790835000}]))
    layout, items = read(path)
    assert (layout, said(items)) == ("open-webui", [("My kayak is red.", "Nice.")])


@pytest.mark.parametrize("wrap", [lambda rows: rows, lambda rows: {"results": rows}, lambda rows: {"memories": rows}])
def test_objects_of_mem0_are_memories_with_their_days(tmp_path: Path, wrap: Any) -> None:
    rows = [
        {"id": "1", "memory": "Likes rye bread", "created_at": "2026-05-01T10:00:00Z", "user_id": "eva"},
        {"id": "2", "memory": "Allergic to kiwi", "created_at": "2026-05-02T10:00:00Z", "user_id": "eva"},
    ]
    layout, items = read(put(tmp_path / "m.json", json.dumps(wrap(rows))))
    assert (layout, texts(items)) == ("mem0", ["Likes rye bread", "Allergic to kiwi"])
    assert {item.scope for item in items if isinstance(item, MemoryItem)} == {""}
    rows[1]["user_id"] = "bob"
    _, items = read(put(tmp_path / "m.json", json.dumps(wrap(rows))))
    assert [item.scope for item in items if isinstance(item, MemoryItem)] == ["user:eva", "user:bob"]


def test_what_claude_remembers_comes_with_its_headings(tmp_path: Path) -> None:
    memory = "**Work context**\n\nEva restores organs.\n\n**Personal**\n\nShe sails."
    row = {"conversations_memory": memory, "project_memories": {"p": "The organ is from 1890."}, "account_uuid": "x"}
    path = put(tmp_path / "memories.json", json.dumps([row]))
    for place in (path, tmp_path):
        layout, items = read(place)
        assert (layout, texts(items)) == (
            "claude",
            ["Work context: Eva restores organs.", "Personal: She sails.", "The organ is from 1890."],
        )


def test_the_memory_of_nanobot_and_the_entries_of_hermes_are_memories(tmp_path: Path) -> None:
    nanobot = tmp_path / "n/workspace"
    put(
        nanobot / "memory/MEMORY.md",
        "# Long-term Memory\n\n## User Information\n\n(Important facts)\n\n- Lives in Bergen\n",
    )
    put(nanobot / "sessions/telegram_42.jsonl", [{"_type": "metadata", "key": "telegram:42"}])
    layout, items = read(tmp_path / "n")
    assert (layout, texts(items)) == ("nanobot", ["User Information: Lives in Bergen"])
    put(tmp_path / "h/memories/MEMORY.md", "Host runs Debian\n§\nBackups go to the NAS\n")
    put(tmp_path / "h/memories/USER.md", "Tove drives a van")
    layout, items = read(tmp_path / "h")
    assert (layout, texts(items)) == ("hermes", ["Host runs Debian", "Backups go to the NAS", "Tove drives a van"])


def test_folders_in_a_workspace_are_read_and_what_is_no_markdown_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "claw"
    put(source / "MEMORY.md", "- The boat is red\n")
    put(source / "memory/research/wood.md", "# Wood\n\nBirch bends least.\n")
    put(source / "memory/state.json", "{}")
    put(source / "SOUL.md", "Be kind.")
    put(source / "linked/far.md", "# Far\n\nThe mill is in Zlin.\n")
    (source / "memory/links").symlink_to(source / "linked")
    notes = {item.file: item.text for item in read(source)[1] if isinstance(item, NoteItem)}
    assert {"memory/research-wood.md", "memory/links-far.md"} <= notes.keys()
    config = put(tmp_path / "config.json", WORDS)
    arguments = ["import", "openclaw", str(source), "--workspace", str(tmp_path / "w"), "--config", str(config)]
    assert main(arguments) == 0
    told = capsys.readouterr().out
    assert "left out" in told
    assert "SOUL.md" in told
    assert "memory/state.json" in told


def test_conversations_of_astrbot_come_from_its_database(tmp_path: Path) -> None:
    talk = [
        {"role": "user", "content": "我住在厦门。\n\n<system_reminder>User ID: 7, Nickname: Lin</system_reminder>"},
        {"role": "assistant", "content": "好的。"},
        {"role": "user", "content": [{"type": "text", "text": "The kayak is orange."}]},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]},
        {"role": "tool", "content": "noted", "tool_call_id": "1"},
        {"role": "assistant", "content": "Noted."},
    ]
    rows = [
        (1, "a", "aiocqhttp:FriendMessage:7", json.dumps(talk), "2026-03-04 12:00:00.000000"),
        (2, "b", "aiocqhttp:GroupMessage:9", json.dumps(talk), "2026-03-05 12:00:00.000000"),
        (3, "c", "webchat:FriendMessage:x", None, "2026-03-06 12:00:00.000000"),
    ]
    (tmp_path / "data").mkdir()
    with closing(sqlite3.connect(tmp_path / "data/data_v4.db")) as database:
        columns = "inner_conversation_id, conversation_id, user_id, content, created_at"
        database.execute(f"CREATE TABLE conversations ({columns})")
        database.execute("CREATE TABLE platform_message_history (id, platform_id)")
        database.executemany("INSERT INTO conversations VALUES (?, ?, ?, ?, ?)", rows)
        database.commit()
    for path in (tmp_path, tmp_path / "data", tmp_path / "data/data_v4.db"):
        layout, items = read(path)
        assert (layout, said(items)) == ("astrbot", [("我住在厦门。", "好的。"), ("The kayak is orange.", "Noted.")])
        assert {item.episode.at for item in items if isinstance(item, EpisodeItem)} == {1772625600.0}


def test_a_workspace_of_qwenpaw_has_its_days_in_folders(tmp_path: Path) -> None:
    put(tmp_path / "MEMORY.md", "- 我喜欢绿茶\n")
    head = "---\nsession_id: s1\nsource_conversation: '[[mem_session/dialog/s1.jsonl]]'\n---\n"
    put(tmp_path / "memory/2026-06-29/boat.md", f"{head}# Boat\n\nThe hull is painted teal.\n")
    put(tmp_path / "memory/2026-06-29/index.md", "# 2026-06-29\n\n- [[boat]] the hull\n")
    put(tmp_path / "digest/boats.md", "# Boats\n\nBuilds wooden boats.\n")
    layout, items = read(tmp_path)
    notes = {item.file: item.text for item in items if isinstance(item, NoteItem)}
    assert (layout, set(notes)) == ("openclaw", {"memory/2026-06-29-boat.md", "memory/digest-boats.md"})
    assert "teal" in notes["memory/2026-06-29-boat.md"]
    assert "session_id" not in notes["memory/2026-06-29-boat.md"]
    assert day_of_file("memory/2026-06-29/boat.md") == day_of_file("memory/2026-06-29-boat.md") == "2026-06-29"


def test_an_export_of_claude_may_have_its_memories_in_a_folder(tmp_path: Path) -> None:
    row = {"conversations_memory": "**Work**\n\nBuilds looms in Borås.", "project_memories": {}, "memory_files": []}
    put(tmp_path / "memories/a1.json", json.dumps(row).encode())
    assert texts(list(read_layout("claude", tmp_path))) == ["Work: Builds looms in Borås."]
    with zipfile.ZipFile(tmp_path / "export.zip", "w") as archive:
        archive.writestr("memories/a1.json", json.dumps(row))
    assert texts(list(read_layout("claude", tmp_path / "export.zip"))) == ["Work: Builds looms in Borås."]


async def test_notes_in_folders_of_a_workspace_are_told_as_they_lie_there(tmp_path: Path) -> None:
    put(tmp_path / "memory/research/wood.md", "# Wood\n\nBirch bends least under water.\n")
    put(tmp_path / "memory/2026/sites/old/mill.md", "# Mill\n\n- The mill in Zlin closes in May.\n")
    put(tmp_path / "memory/.git/kept.md", "Nobody reads the swan of git.\n")
    put(tmp_path / "linked/far.md", "# Far\n\nThe sluice was painted teal.\n")
    (tmp_path / "memory/links").symlink_to(tmp_path / "linked")
    (tmp_path / "memory/round").symlink_to(tmp_path / "memory")
    put(tmp_path / "people/zoe/MEMORY.md", "- The diary lies in the harp\n")
    (tmp_path / "memory/hers").symlink_to(tmp_path / "people/zoe")
    async with GatewayMemory(load_config(), tmp_path) as memory:
        session = await memory.start_session("s", user=OWNER)
        for question, told in (
            ("birch under water", "Birch bends least"),
            ("mill in Zlin", "closes in May"),
            ("colour of the sluice", "painted teal"),
            ("swan of git", ""),
            ("diary in the harp", ""),
        ):
            hits = [hit.text for hit in await memory.search(session, question)]
            assert any(told in hit for hit in hits) if told else not any(question.split()[0] in hit for hit in hits)
        put(tmp_path / "memory/research/wood.md", "# Wood\n\nLarch bends least under water.\n")
        hits = [hit.text for hit in await memory.search(session, "what bends least under water")]
        assert any("Larch" in hit for hit in hits)
        assert not any("Birch" in hit for hit in hits)
    assert left_out(tmp_path)["files"] == []


@pytest.mark.parametrize(
    ("layout", "content"),
    [
        ("auto", '{"role": "user", "parts": ["hi"]}\n'),
        ("jsonl", '{"role": "user", "message": {"content": []}}\n'),
        ("hermes", '{"text": "The log is in Postgres."}\n'),
        ("claude-code", '{"speaker": "user", "words": "hi"}\n{"kind": 3}\n'),
    ],
)
def test_an_import_that_understands_nothing_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], layout: str, content: str
) -> None:
    config, source = put(tmp_path / "config.json", WORDS), put(tmp_path / "x.jsonl", content)
    arguments = ["import", layout, str(source), "--workspace", str(tmp_path / "w"), "--config", str(config)]
    assert main(arguments) != 0
    assert "x.jsonl" in capsys.readouterr().err


@pytest.mark.parametrize("marks", [1, 2, 3])
def test_marks_of_the_byte_order_are_no_part_of_what_is_brought(tmp_path: Path, marks: int) -> None:
    before = b"\xef\xbb\xbf" * marks
    row = {"type": "fact", "content": "The log is in Postgres"}
    assert texts(list(read_layout("jsonl", put(tmp_path / "f.jsonl", before + json.dumps(row).encode())))) == [
        "The log is in Postgres"
    ]
    rows = [{"id": "1", "memory": "Likes rye bread", "created_at": "2026-05-01T10:00:00Z"}]
    assert texts(read(put(tmp_path / "m.json", before + json.dumps(rows).encode()))[1]) == ["Likes rye bread"]
    topic = b"---\nname: glaze\n---\n\nFire a test tile first.\n"
    assert texts(read(put(tmp_path / "topics/memory/glaze.md", before + topic))[1]) == ["Fire a test tile first."]


@pytest.mark.parametrize("encoding", ["utf-16", "gbk", "utf-8-sig", "gb18030"])
def test_a_file_in_another_encoding_is_read(tmp_path: Path, encoding: str) -> None:
    text = "# 记忆\n\n- 地窖的钥匙挂在左边\n- The cellar key hangs left\n"
    put(tmp_path / "MEMORY.md", text.encode(encoding))
    assert texts(read(tmp_path)[1]) == ["地窖的钥匙挂在左边", "The cellar key hangs left"]


@pytest.mark.parametrize(
    "content", ["Müller größer".encode("latin-1") * 9, b"\xff\xfe\x00", b"\x93\xfa\x96{\x8c\xea" * 9]
)
def test_an_unknown_encoding_is_no_text(content: bytes) -> None:
    assert text_in(content) is None


def test_a_damaged_byte_makes_no_text_chinese() -> None:
    assert text_in("我喜欢喝茶，也喜欢咖啡".encode() + b"\xe6") is not None
    assert "我喜欢" in (text_in("我喜欢喝茶".encode() + b"\xff") or "")


@pytest.mark.parametrize(
    "copy", ["2026-11-20 2", "2026-11-20 (1)", "2026-11-20.sync-conflict-20261128-101010-ABCDEFG",
             "2026-11-20 (Eva's conflicted copy 2026-11-21)"]
)  # fmt: skip
def test_a_copy_that_a_sync_made_is_told_once_and_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], copy: str
) -> None:
    source = tmp_path / "w"
    for name in ("2026-11-20", copy):
        put(source / f"memory/{name}.md", "# 2026-11-20\n\n- Bought rope of 12 mm\n")
    put(source / f"memory/{copy}.md", "# 2026-11-20\n\n- Bought rope of 12 mm\n- Sold the rope ladder\n")
    config = put(tmp_path / "config.json", WORDS)
    for arguments in (["search", "rope"], ["status"]):
        capsys.readouterr()
        assert main([arguments[0], "--workspace", str(source), "--config", str(config), *arguments[1:]]) == 0
        told = capsys.readouterr().out
        if arguments[0] == "search":
            assert (told.count("12 mm"), told.count("ladder")) == (1, 1)
        else:
            assert copy in told
    assert left_out(source)["copies"] == [f"memory/{copy}.md"]
    assert texts(read(source)[1]) in (
        ["Bought rope of 12 mm", "Bought rope of 12 mm", "Sold the rope ladder"],
        ["Bought rope of 12 mm", "Sold the rope ladder", "Bought rope of 12 mm"],
    )


@pytest.mark.parametrize(
    ("content", "entries"),
    [
        ("Host runs Debian\r\n§\r\nThe van is a diesel\r\n", ["Host runs Debian", "The van is a diesel"]),
        ("阳台朝南\n§\n路由器在书房\n§\n", ["阳台朝南", "路由器在书房"]),
        ("The mill:\n- stands in Zlin\n\n § \n\nTove drives", ["The mill: - stands in Zlin", "Tove drives"]),
        ("§\nOne alone\n§", ["One alone"]),
    ],
)  # fmt: skip
def test_what_stands_between_the_signs_of_hermes_is_one_memory(
    tmp_path: Path, content: str, entries: list[str]
) -> None:
    for place in (put(tmp_path / "MEMORY.md", content), tmp_path):
        layout, items = read(place)
        assert (layout, texts(items)) == ("hermes", entries)


@pytest.mark.parametrize(
    ("content", "memories"),
    [
        ("# Long-term Memory\n\n## 用户信息\n\n- 住在厦门\n- 过敏：\n", ["用户信息：住在厦门"]),
        ("# Long-term Memory\n\n## Preferences\n\nShort answers in the evening.\n\n(none yet)\n",
         ["Preferences: Short answers in the evening."]),
        ("## Projects\n\n- Loom\n  - 120 cm wide\n  - [x] warp ordered\n## Notes\n\n*(to be filled)*\n",
         ["Projects › Loom: 120 cm wide", "Projects › Loom: [x] warp ordered"]),
    ],
)  # fmt: skip
def test_the_memory_of_nanobot_keeps_what_its_headings_say(tmp_path: Path, content: str, memories: list[str]) -> None:
    put(tmp_path / "workspace/memory/MEMORY.md", content)
    put(tmp_path / "workspace/sessions/cli_direct.jsonl", [{"_type": "metadata", "key": "cli:direct"}])
    for place in (tmp_path, tmp_path / "workspace"):
        layout, items = read(place)
        assert (layout, texts(items)) == ("nanobot", memories)


@pytest.mark.parametrize(
    ("user", "reply", "told"),
    [
        ([{"type": "text", "text": "<user_query>\nThe oven log is in Postgres 17.\n</user_query>"}], "OK",
         ("The oven log is in Postgres 17.", "OK")),
        ([{"type": "text", "text": "<open_and_recently_viewed_files>\nJSON.py\n</open_and_recently_viewed_files>"},
          {"type": "text", "text": "<user_query>烤箱日志放在 Postgres</user_query>"}], "好",
         ("烤箱日志放在 Postgres", "好")),
        ("<user_query>Use tabs here.</user_query>", "Done.", ("Use tabs here.", "Done.")),
        ([{"type": "text", "text": "Plain words without a tag."}, {"type": "image", "data": "…"}], "Seen.",
         ("Plain words without a tag.", "Seen.")),
    ],
)  # fmt: skip
def test_an_exchange_of_cursor_is_what_its_person_typed(
    tmp_path: Path, user: Any, reply: str, told: tuple[str, str]
) -> None:
    rows = [
        {"role": "user", "message": {"content": user}},
        {"role": "assistant", "message": {"content": [{"type": "text", "text": "I look."}, {"type": "tool_use"}]}},
        {"role": "assistant", "message": {"content": [{"type": "text", "text": reply}]}},
        {"type": "turn_ended", "status": "success"},
    ]
    layout, items = read(put(tmp_path / "t.jsonl", rows))
    assert (layout, said(items)) == ("cursor", [told])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("---\nname: tabs\nmetadata:\n  type: user\n---\n\nEva indents with tabs.\n", "Eva indents with tabs."),
        ('---\nname: deploy\ndescription: "Deploy on Mondays only"\n---\n', "Deploy on Mondays only"),
        ("---\r\nname: 陶土\r\ndescription: 先试片\r\n---\r\n\r\n新釉先烧试片。\r\n", "新釉先烧试片。"),
    ],
)
def test_a_topic_of_claude_code_is_told_by_its_text_else_by_its_description(
    tmp_path: Path, text: str, told: str
) -> None:
    put(tmp_path / "memory/MEMORY.md", "# Memory Index\n\n- [It](topic_it.md) — see there\n")
    put(tmp_path / "memory/topic_it.md", text)
    for place in (tmp_path, tmp_path / "memory", tmp_path / "memory/topic_it.md"):
        layout, items = read(place)
        assert (layout, texts(items)) == ("claude-code", [told])


@pytest.mark.parametrize(
    ("rows", "memories"),
    [
        ([{"memory": "Likes rye", "metadata": {"category": "food"}, "hash": "x", "updated_at": None}], ["Likes rye"]),
        ({"results": [{"id": "1", "memory": "对猕猴桃过敏", "score": 0.4}], "relations": []}, ["对猕猴桃过敏"]),
        ({"count": 2, "results": [{"memory": "Sails"}, {"memory": "Has a loom"}]}, ["Sails", "Has a loom"]),
    ],
)  # fmt: skip
def test_answers_of_mem0_are_read_in_each_of_their_forms(tmp_path: Path, rows: Any, memories: list[str]) -> None:
    layout, items = read(put(tmp_path / "export.json", json.dumps(rows)))
    assert (layout, texts(items)) == ("mem0", memories)


@pytest.mark.parametrize(
    ("chat", "told"),
    [
        ({"messages": [{"role": "user", "content": "The kayak is red."}, {"role": "assistant", "content": "Nice."}]},
         [("The kayak is red.", "Nice.")]),
        ({"history": {"currentId": None, "messages": {
            "a": {"id": "a", "parentId": None, "role": "user", "content": [{"type": "text", "text": "皮划艇是红的"}]},
            "b": {"id": "b", "parentId": "a", "role": "assistant", "content": "好"}}}}, [("皮划艇是红的", "好")]),
        ({"title": "empty", "history": {"messages": {}, "currentId": ""}}, []),
    ],
)  # fmt: skip
def test_a_chat_of_open_webui_is_read_from_its_tree_or_its_list(
    tmp_path: Path, chat: dict[str, Any], told: list[tuple[str, str]]
) -> None:
    rows = [{"id": "x", "user_id": "u", "title": "t", "chat": chat, "created_at": 1790835000, "folder_id": None}]
    layout, items = read(put(tmp_path / "chat-export.json", json.dumps(rows)))
    assert (layout, said(items)) == ("open-webui", told)

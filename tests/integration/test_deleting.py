"""One person's memory is deleted everywhere, and the proof is a search of our own through every byte."""

import json
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from inside import journal_rows

from gateway_memory import OWNER, Config, GatewayMemory, UsageError
from gateway_memory.cli.main import main
from gateway_memory.scope import Scope
from gateway_memory.store.journal import in_place
from gateway_memory.store.journal.sqlite import apply_steps
from gateway_memory.transfer.deletion import Deletion
from recall import EmbedderSettings, RecallSettings

WORDS = Config(
    defaults=replace(Config().defaults, auto_recall=RecallSettings(embedder=EmbedderSettings(provider="none")))
)
SHARED = "The office is closed on Fridays"


async def live(workspace: Path) -> dict[str, str]:
    """The owner, Zoe and a room, each with everything that a scope can have; returns their session ids."""
    ids: dict[str, str] = {}
    async with GatewayMemory(WORDS, workspace) as memory:
        for name, who in (("owner", {"user": OWNER}), ("zoe", {"user": "zoe"}), ("room", {"room": "chess"})):
            session = await memory.start_session(f"session of {name}", **who)
            ids[name] = session.session_id
            await memory.after_reply(session, user=f"记住：{name} 的暗号是 aardvark-{name}", reply=f"quokka-{name}")
            await memory.observe(session, kind="tool", tool="bash", content=f"echo wombat-{name}")
            await memory.save_fact(session, content=f"{name} keeps a numbat-{name} in the garden")
            await memory.save_fact(session, content=SHARED)
            forgotten = await memory.save_fact(session, content=f"{name} had a dugong-{name}")
            await memory.flush()
            await memory.command(session, f"/memory forget {forgotten}")
            await memory.before_reply(session, f"where is the numbat-{name}?")
            await memory.save_summary(session, topic=f"bilby-{name}", summary=f"all about the bilby-{name}")
            await memory.end_session(session, reason="completed")
            await memory.after_reply(session, user=f"a turn that waits: potoroo-{name}", reply="ok")
    logs = workspace / "logs"
    logs.mkdir(exist_ok=True)
    lines = [json.dumps({"event": "session.ended", "session_id": identity}) for identity in ids.values()]
    (logs / "gateway-memory-2026-01-01.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    (workspace / "journal.sqlite.damaged-20260101-000000").write_bytes(b"numbat-zoe numbat-owner")
    return ids


WORDS_OF = ("aardvark", "quokka", "wombat", "numbat", "dugong", "bilby", "potoroo")


def found(workspace: Path, name: str) -> list[str]:
    """Our own grep, over every file and every word."""
    needles = [f"{word}-{name}".encode() for word in WORDS_OF]
    files = [path for path in workspace.rglob("*") if path.is_file()]
    return [path.name for path in files if any(needle in path.read_bytes() for needle in needles)]


@pytest.mark.parametrize(("scope", "name"), [("user:zoe", "zoe"), ("room:chess", "room"), ("owner", "owner")])
async def test_everything_of_one_scope_is_gone_and_nothing_of_the_others(tmp_path: Path, scope: str, name: str) -> None:
    ids = await live(tmp_path)
    assert len(found(tmp_path, name)) >= 4
    proof = Deletion(workspace=tmp_path).delete(Scope.parse(scope))
    assert proof.holds, proof
    assert proof.before["journal memories"] >= 3
    assert proof.before["log lines"] == 1
    assert proof.needles > 5
    assert found(tmp_path, name) == []
    assert not any(ids[name].encode() in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    for other in {"owner", "zoe", "room"} - {name}:
        assert len(found(tmp_path, other)) >= 3
        assert any(ids[other].encode() in path.read_bytes() for path in (tmp_path / "logs").iterdir())
    again = Deletion(workspace=tmp_path).delete(Scope.parse(scope))
    assert again.holds
    assert sum(again.before.values()) == 0
    async with GatewayMemory(WORDS, tmp_path) as memory:
        session = await memory.start_session("later", user="zoe" if name != "zoe" else OWNER)
        hits = await memory.search(session, "numbat in the garden")
        assert [hit for hit in hits if f"numbat-{name}" in hit.text] == []
        assert hits


async def test_the_vocabulary_that_an_earlier_version_kept_is_no_trace(tmp_path: Path) -> None:
    async with GatewayMemory(WORDS, tmp_path) as memory:
        session = await memory.start_session("one", user="zoe")
        await memory.save_fact(session, content="Portuguese")
    tables = tmp_path / ".gateway-memory" / "encoder.tables"
    tables.write_bytes(b"Portuguese pottery")
    proof = Deletion(workspace=tmp_path).delete(Scope.parse("user:zoe"))
    assert (proof.holds, proof.traces) == (True, []), proof
    assert proof.needles
    assert not tables.exists()


async def test_what_somebody_else_said_in_the_same_words_is_no_trace(tmp_path: Path) -> None:
    async with GatewayMemory(WORDS, tmp_path) as memory:
        for user in (OWNER, "zoe"):
            session = await memory.start_session("talk", user=user)
            await memory.after_reply(session, user="Remember that the door is blue.", reply="I will.")
            await memory.end_session(session, reason="user_close")
    proof = Deletion(workspace=tmp_path).delete(Scope.parse("user:zoe"))
    assert proof.needles
    assert proof.holds, proof.traces
    assert "the door is blue" in (tmp_path / "sessions.jsonl").read_text("utf-8")


async def test_while_a_process_has_it_open_nothing_is_deleted(tmp_path: Path) -> None:
    await live(tmp_path)
    async with GatewayMemory(WORDS, tmp_path):
        with pytest.raises(UsageError, match="another process"):
            Deletion(workspace=tmp_path).delete(Scope.parse("user:zoe"))
    assert found(tmp_path, "zoe")


async def test_a_link_is_deleted_and_what_it_names_is_told_of(tmp_path: Path) -> None:
    workspace, elsewhere = tmp_path / "w", tmp_path / "notes.md"
    elsewhere.write_text("- my own file of notes\n", "utf-8")
    workspace.mkdir()
    (workspace / "MEMORY.md").symlink_to(elsewhere)
    proof = Deletion(workspace=workspace).delete(Scope.parse("owner"))
    assert proof.holds
    assert proof.links == [f"{workspace / 'MEMORY.md'} → {elsewhere}"]
    assert elsewhere.exists()
    assert not (workspace / "MEMORY.md").is_symlink()


def test_every_table_of_the_journal_that_knows_scopes_or_sessions_is_emptied() -> None:
    journal = sqlite3.connect(":memory:")
    apply_steps(journal, Path(":memory:"))
    tables = [row[0] for row in journal.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    columns = {table: {row[1] for row in journal.execute(f"PRAGMA table_info({table})")} for table in tables}
    by_scope = {table for table in tables if "scope" in columns[table]}
    assert by_scope == set(in_place._BY_SCOPE)
    assert {table for table in tables if "session_id" in columns[table]} - by_scope == set(in_place._BY_SESSION)
    rest = set(tables) - by_scope - {*in_place._BY_SESSION, "plans", "sqlite_sequence", "migrations"}
    known = {"identity", "sources", "heard", "usage", "session_counts", "session_totals", "leases", "failures"}
    assert rest == known, "which say nothing of anybody"
    journal.close()


@pytest.mark.parametrize("name", ["", "zoe", "user:", "user: ", "people:zoe", "owner:x"])
def test_a_scope_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="expected owner"):
        Scope.parse(name)


async def test_the_command_asks_first_and_proves(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    await live(tmp_path)
    command = [
        sys.executable,
        "-m",
        "gateway_memory.cli.entry",
        "delete",
        "--scope",
        "user:zoe",
        "--workspace",
        str(tmp_path),
    ]
    asked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert asked.returncode == 1
    assert "nothing was deleted" in asked.stderr
    assert found(tmp_path, "zoe")
    done = subprocess.run([*command, "--yes"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "→ 0" in done.stdout
    assert "found in 0" in done.stdout
    assert found(tmp_path, "zoe") == []
    assert main(["delete", "--scope", "user:zoe", "--workspace", str(tmp_path / "gone"), "--yes"]) == 1
    assert "no such folder" in capsys.readouterr().err


async def test_what_was_forgotten_and_what_a_crash_has_left_is_deleted_too(tmp_path: Path) -> None:
    async with GatewayMemory(WORDS, tmp_path) as memory:
        session = await memory.start_session("chat", user=OWNER)
        identity = await memory.save_fact(session, content="The owner keeps a quokka-owner")
        await memory.save_summary(session, topic="Pets", summary="Keeps a quokka-owner. Deployed the shop.")
        await memory.end_session(session, reason="completed")
        session = await memory.start_session("chat", user=OWNER)
        await memory.command(session, f"/memory forget {identity}")
        rows = await journal_rows(memory, "SELECT whole FROM withheld_records")
        assert "quokka-owner" in rows[0][0]
    for name in (".fffffff-1.tmp", ".MEMORY.md.fffffff-1-1-0123456789abcdef.kept", ".MEMORY.md.abcd1234.tmp"):
        (tmp_path / name).write_text("- a quokka-owner\n")
    assert found(tmp_path, "owner")
    assert Deletion(workspace=tmp_path).delete(Scope.parse("owner")).holds
    assert found(tmp_path, "owner") == []

"""The disk is full, fails or can't be written: hosts see our own errors alone, and go on once it works again."""

import asyncio
import errno
import os
import sqlite3
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from inside import journal_rows
from patience import seconds
from thorough import sample

from gateway_memory import OWNER, Config, GatewayMemory, GatewayMemoryError, Session
from gateway_memory.store.journal import connection
from gateway_memory.store.summaries import read_records
from recall import EmbedderSettings
from recall.rows.sqlite import Database

WORTH = "请把登录接口改成用 JWT 认证，旧的会话先保留两周，然后通知前端同事"
FULL = OSError(errno.ENOSPC, "No space left on device")
FAILED = OSError(errno.EIO, "Input/output error")
READ_ONLY = OSError(errno.EROFS, "Read-only file system")
DISK: tuple[Exception, ...] = (FULL, FAILED, READ_ONLY)
DATABASE: tuple[Exception, ...] = (
    sqlite3.OperationalError("database or disk is full"),
    sqlite3.OperationalError("disk I/O error"),
    sqlite3.OperationalError("attempt to write a readonly database"),
)

Call = Callable[[GatewayMemory, Session], Awaitable[Any]]
CALLS: dict[str, Call] = {
    "start_session": lambda memory, _: memory.start_session("another", user=OWNER),
    "before_reply": lambda memory, session: memory.before_reply(session, "which port?"),
    "after_reply": lambda memory, session: memory.after_reply(session, user="Remember that it is 9000.", reply="OK"),
    "flush": lambda memory, _: memory.flush(),
    "search": lambda memory, session: memory.search(session, "port"),
    "search by type": lambda memory, session: memory.search(session, "", type="W"),
    "status": lambda memory, session: memory.command(session, "/memory status"),
    "list": lambda memory, session: memory.command(session, "/memory list"),
    "why": lambda memory, session: memory.command(session, "/memory why"),
    "undo": lambda memory, session: memory.command(session, "/memory undo"),
    "forget": lambda memory, session: memory.command(session, "忘掉我喜欢喝茶"),
    "off": lambda memory, session: memory.command(session, "/memory off notify"),
    "observe": lambda memory, session: memory.observe(session, kind="user", content=WORTH),
    "file_written": lambda memory, session: memory.file_written(session, "MEMORY.md"),
    "save_summary": lambda memory, session: memory.save_summary(session, topic="t", summary="s"),
    "save_fact": lambda memory, session: memory.save_fact(session, content="The office has a red door"),
    "a stage": lambda memory, session: memory.save_fact(session, content="Half is done", type="S"),
    "before_compaction": lambda memory, session: memory.before_compaction(session, usage=85, messages=30),
    "stop": lambda memory, session: memory.stop(session, "completed"),
    "end_session": lambda memory, session: memory.end_session(session, reason="completed"),
    "distill": lambda memory, session: memory.distill(session),
    "session_counts": lambda memory, _: memory.session_counts(),
    "retry": lambda memory, _: memory.retry(),
    "receipts": lambda memory, _: memory.receipts(limit=5),
}

QUIET = ("start_session", "before_reply", "search", "search by type", "off", "file_written", "before_compaction")
"""Calls that may get by without what fails."""


class Disk:
    """Fails from an operation on, or at one alone, and works again when it is told to."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.number = 0
        self.fails_at = 0
        self.stays = False
        self.error: Exception = FULL
        for owner, name in ((connection, "transaction"), (Database, "writing")):
            self._wrap(patch, owner, name, database=True)
        for name in ("open", "write", "fsync", "rename"):
            self._wrap(patch, os, name, database=False)

    def _wrap(self, patch: pytest.MonkeyPatch, owner: Any, name: str, *, database: bool) -> None:
        work = getattr(owner, name)

        def wrapped(*args: Any, **values: Any) -> Any:
            if self.fails_at and isinstance(self.error, sqlite3.Error) == database:
                self.number += 1
                if self.number == self.fails_at or (self.stays and self.number > self.fails_at):
                    raise type(self.error)(*self.error.args)
            return work(*args, **values)

        patch.setattr(owner, name, wrapped)

    def fail(self, error: Exception, at: int, *, stays: bool) -> None:
        self.error, self.fails_at, self.number, self.stays = error, at, 0, stays

    def work(self) -> None:
        self.fails_at = 0


def words_alone() -> Config:
    defaults = Config().defaults
    recall = replace(defaults.auto_recall, embedder=EmbedderSettings(provider="none"))
    extract = replace(defaults.auto_extract, model="rules")
    return Config(defaults=replace(defaults, auto_recall=recall, auto_extract=extract))


def failures(seed: str) -> list[tuple[Exception, bool]]:
    """Errors of the disk and of the database, and whether each stays: of both, one that does and one that does not."""
    return [
        (error, stays)
        for errors in (DISK, DATABASE)
        for stays in (False, True)
        for error in sample(list(errors), 1, f"{seed} {stays}")
    ]


@pytest.mark.parametrize("name", CALLS)
async def test_only_our_errors_come_out_of_a_call_and_the_host_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    disk = Disk(monkeypatch)
    raised = 0
    async with GatewayMemory(words_alone(), tmp_path) as memory:
        for number, (error, stays) in enumerate(failures(name)):
            session = await memory.start_session(f"chat {number}", user=OWNER)
            await memory.observe(session, kind="user", content=WORTH)
            await memory.after_reply(session, user="我喜欢喝茶", reply="好的")
            await memory.flush()
            for at in (1, 2, 3, 5, 8):
                disk.fail(error, at, stays=stays)
                try:
                    await CALLS[name](memory, session)
                except GatewayMemoryError:
                    raised += 1
                    assert name != "before_reply"
                disk.work()
            await memory.after_reply(
                session, user=f"Remember that shelf {number} has the label 77{number:02d}.", reply=""
            )
            await memory.flush()
            await memory.end_session(session, reason="completed")
            assert f"shelf {number} has" in (tmp_path / "MEMORY.md").read_text("utf-8")
        rows = await journal_rows(memory, "SELECT count(*) FROM sessions WHERE ended_at IS NULL AND key LIKE 'chat %'")
        assert rows == [(0,)]
    ids = [row["session_id"] for row in read_records(tmp_path / "sessions.jsonl")[0]]
    assert len(ids) == len(set(ids))
    assert not list(tmp_path.rglob("*.tmp"))
    assert raised or name in QUIET


@pytest.mark.parametrize("error", [*DISK, *DATABASE], ids=str)
async def test_a_disk_that_fails_at_the_start_or_the_end_raises_our_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    disk = Disk(monkeypatch)
    for at in range(1, 40, 2):
        disk.fail(error, at, stays=at % 4 == 1)
        memory = GatewayMemory(words_alone(), tmp_path)
        try:
            await memory.__aenter__()
        except GatewayMemoryError:
            continue
        finally:
            disk.work()
        disk.fail(error, at, stays=True)
        try:
            await memory.__aexit__(None, None, None)
        except GatewayMemoryError:
            pass
        finally:
            disk.work()
    async with GatewayMemory(words_alone(), tmp_path) as memory:
        session = await memory.start_session("chat", user=OWNER)
        await memory.after_reply(session, user="Remember that the port is 8443.", reply="OK")
        await memory.flush()
        assert "8443" in (tmp_path / "MEMORY.md").read_text("utf-8")


async def test_files_that_cannot_be_written_raise_our_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders in the files' places, which not even root can write over."""
    # How long a call waits for turns that were accepted, which can't be written here.
    monkeypatch.setattr("gateway_memory.commands.dispatch.CATCH_UP_SECONDS", 0.1)
    monkeypatch.setattr("gateway_memory.capture.lifecycle._RULES_SECONDS", 0.1)
    async with GatewayMemory(words_alone(), tmp_path) as memory:
        session = await memory.start_session("chat", user=OWNER)
        for name in ("MEMORY.md", "sessions.jsonl"):
            (tmp_path / name).mkdir()
        await memory.observe(session, kind="user", content=WORTH)
        await memory.after_reply(session, user="Remember that the port is 8443.", reply="OK")
        for name, call in CALLS.items():
            if name in ("end_session", "start_session"):
                continue
            try:
                await asyncio.wait_for(call(memory, session), seconds(30))
            except GatewayMemoryError:
                continue
        for name in ("MEMORY.md", "sessions.jsonl"):
            (tmp_path / name).rmdir()
        await memory.flush()
        await memory.end_session(session, reason="completed")
        assert "8443" in (tmp_path / "MEMORY.md").read_text("utf-8")

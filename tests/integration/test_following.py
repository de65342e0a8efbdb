"""The files are looked at before each reply, at next to no cost while nothing has changed."""

import asyncio
import os
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from inside import parts
from patience import seconds

import gateway_memory.store.disk.files
from gateway_memory import OWNER, Config, GatewayMemory, Session, load_config
from gateway_memory.store.disk.own import NotOwnError, Owned
from recall import Stored


def saved_long_ago(path: Path, text: str) -> None:
    path.write_text(text)
    os.utime(path, (1_700_000_000, 1_700_000_000))


def small_memory_md() -> Config:
    defaults = load_config().defaults
    return Config(defaults=replace(defaults, store=replace(defaults.store, max_memory_md_bytes=200)))


async def fill(memory: GatewayMemory, session: Session) -> None:
    """Say more than a small MEMORY.md takes."""
    for number in range(6):
        said = f"Remember that drawer number {number} holds the {number * 7} mm screws."
        await memory.after_reply(session, user=said, reply="OK")
    await memory.flush()


async def test_the_index_is_asked_for_news_only_when_a_file_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved_long_ago(tmp_path / "MEMORY.md", "- The ferry leaves at nine\n")
    async with GatewayMemory(load_config(), tmp_path) as memory:
        one = await memory.start_session("one", user=OWNER)
        other = await memory.start_session("other", user=OWNER)
        for session in (one, other):
            await memory.before_reply(session, "hello")
        asked: list[str] = []
        added_since = parts(memory).storage.recaller.added_since

        async def counted(scope: str, sequence: int) -> tuple[int, Sequence[Stored]]:
            asked.append(scope)
            return await added_since(scope, sequence)

        monkeypatch.setattr(parts(memory).storage.recaller, "added_since", counted)
        await memory.before_reply(one, "hello again")
        assert asked == []
        saved_long_ago(tmp_path / "MEMORY.md", "- The ferry leaves at nine\n- The cabin has a stove\n")
        for session in (one, other):
            assert "The cabin has a stove" in (await memory.before_reply(session, "and now?")).text
        assert len(asked) == 2
        for session in (one, other):
            assert "[Memory Changes]" not in (await memory.before_reply(session, "and then?")).text
        assert len(asked) == 2


async def test_a_reply_searches_again_only_where_the_files_have_grown(tmp_path: Path) -> None:
    saved_long_ago(tmp_path / "MEMORY.md", "- The ferry leaves at nine\n")

    def searched_again(session: Session) -> bool:
        assert session.report
        return "search_again" in session.report.milliseconds

    config = load_config({"agents": {"defaults": {"memorySync": {"autoRecall": {"embedder": {"provider": "none"}}}}}})
    async with GatewayMemory(config, tmp_path) as memory:
        session = await memory.start_session("one", user=OWNER)
        for message in ("When does the ferry leave?", "And where does it land?"):
            await memory.before_reply(session, message)
            assert not searched_again(session), "what the session began with is what is there"
        (tmp_path / "MEMORY.md").write_text("- The ferry leaves at nine\n- The ferry lands at Pier Seven\n")
        context = await memory.before_reply(session, "Where does the ferry land?")
        assert searched_again(session)
        assert "Pier Seven" in context.text


async def test_what_a_session_says_reaches_one_that_has_looked(tmp_path: Path) -> None:
    """With what other sessions learn switched off, it comes as a change of the files, once."""
    defaults = load_config().defaults
    async with GatewayMemory(
        Config(defaults=replace(defaults, notify=replace(defaults.notify, enabled=False))), tmp_path
    ) as memory:
        speaker = await memory.start_session("speaker", user=OWNER)
        listener = await memory.start_session("listener", user=OWNER)
        for message in ("hello", "hello again"):
            await memory.before_reply(listener, message)
        await memory.after_reply(speaker, user="Remember that the gate code is on the fridge", reply="OK")
        await memory.flush()
        told = ["[Memory Changes]" in (await memory.before_reply(listener, "so?")).text for _ in range(3)]
        assert told == [True, False, False]


async def test_what_comes_while_a_reply_is_made_is_told_after_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waits in the inbox of a process that may end before its next reply."""
    config = load_config({"agents": {"defaults": {"memorySync": {"opening": {"enabled": False}}}}})
    async with GatewayMemory(config, tmp_path) as memory:
        speaker = await memory.start_session("speaker", user=OWNER)
        listener = await memory.start_session("listener", user=OWNER)

        async def say(text: str) -> None:
            await memory.after_reply(speaker, user=text, reply="OK")
            await memory.flush()

        builder = parts(memory).builder
        reads = builder._read_what_holds

        async def meanwhile(reply: Any) -> None:
            await say("Remember that the red door is locked.")
            await reads(reply)

        await say("Remember that the gate code is on the fridge.")
        monkeypatch.setattr(builder, "_read_what_holds", meanwhile)
        updates = (await memory.before_reply(listener, "so?")).updates
        assert ["gate code" in update.text for update in updates] == [True]
    async with GatewayMemory(config, tmp_path) as memory:
        listener = await memory.start_session("listener", user=OWNER)
        updates = (await memory.before_reply(listener, "and now?")).updates
    assert ["red door" in update.text for update in updates] == [True]


async def test_who_asks_while_a_refresh_runs_shares_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with GatewayMemory(load_config(), tmp_path) as memory:
        session = await memory.start_session("one", user=OWNER)
        began, go_on, scans = Event(), Event(), list[str]()
        scan = gateway_memory.store.disk.own.scan_own

        def slow(owned: Owned, folder: str) -> tuple[dict[str, tuple[int, int]], list[NotOwnError]]:
            scans.append(folder)
            began.set()
            go_on.wait(10)
            return scan(owned, folder)

        monkeypatch.setattr(gateway_memory.store.disk.files, "scan_own", slow)
        refresh = parts(memory).storage.follower.refresh
        first = asyncio.ensure_future(refresh(session.scope))
        await asyncio.to_thread(began.wait, 10)
        others = [asyncio.ensure_future(refresh(session.scope)) for _ in range(3)]
        await asyncio.sleep(0)
        saved_long_ago(tmp_path / "MEMORY.md", "- The ferry leaves at nine\n")  # the first may not see it any more
        go_on.set()
        await asyncio.gather(first, *others)
        assert len(scans) == 2
        assert [row.entry.text for row in await parts(memory).storage.recaller.newest("owner", 9)] == [
            "The ferry leaves at nine"
        ]


async def test_a_full_memory_md_is_told_once_after_a_restart_too(tmp_path: Path) -> None:
    config = small_memory_md()
    async with GatewayMemory(config, tmp_path) as memory:
        session = await memory.start_session("one", user=OWNER)
        await fill(memory, session)
    for expected in ([True, False], [False, False]):
        async with GatewayMemory(config, tmp_path) as memory:
            session = await memory.start_session("two", user=OWNER)
            texts = [(await memory.before_reply(session, f"message {number}")).text for number in range(2)]
            assert ["[Memory Notice]" in text for text in texts] == expected


async def test_a_notice_that_was_too_late_for_a_reply_is_told_in_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with GatewayMemory(small_memory_md(), tmp_path) as memory:
        session = await memory.start_session("one", user=OWNER)
        await fill(memory, session)
        ledger, answers, ended = parts(memory).storage.ledger, asyncio.Event(), asyncio.Event()
        rows, change = ledger._rows, ledger._change

        async def late_rows(scopes: str, query: str, *values: object) -> list[Any]:
            if "marks" in query:
                await answers.wait()
            read = await rows(scopes, query, *values)
            ended.set()
            return read

        async def late_change(scopes: str, query: str, *values: object) -> int:
            if "marks" in query:
                await answers.wait()
            changed = await change(scopes, query, *values)
            ended.set()
            return changed

        monkeypatch.setattr(ledger, "_rows", late_rows)
        monkeypatch.setattr(ledger, "_change", late_change)
        assert "[Memory Notice]" not in (await memory.before_reply(session, "message")).text
        ended.clear()
        answers.set()
        await asyncio.wait_for(ended.wait(), seconds(10))  # what was late has ended behind the reply
        texts = [(await memory.before_reply(session, f"message {number}")).text for number in range(4)]
        assert sum("[Memory Notice]" in text for text in texts) == 1


async def test_what_another_process_marked_is_told_when_a_session_starts(tmp_path: Path) -> None:
    config = small_memory_md()
    async with GatewayMemory(config, tmp_path) as gateway:
        async with GatewayMemory(config, tmp_path) as other:
            speaker = await other.start_session("elsewhere", user=OWNER)
            await fill(other, speaker)
        session = await gateway.start_session("here", user=OWNER)
        texts = [(await gateway.before_reply(session, f"message {number}")).text for number in range(2)]
        assert ["[Memory Notice]" in text for text in texts] == [True, False]


async def test_the_index_of_an_earlier_version_gets_what_it_lacks(tmp_path: Path) -> None:
    async def opened() -> list[str]:
        async with GatewayMemory(load_config(), tmp_path) as memory:
            session = await memory.start_session("one", user=OWNER)
            await memory.save_fact(session, content="The ferry leaves at nine.")
            await memory.flush()
        with closing(sqlite3.connect(tmp_path / "index.sqlite")) as index:
            return [str(name) for (name,) in index.execute("SELECT name FROM sqlite_master WHERE type = 'index'")]

    first = await opened()
    assert "row_of_category" in first
    with closing(sqlite3.connect(tmp_path / "index.sqlite")) as index:
        index.execute("DROP INDEX row_of_category")
        index.commit()
        rows = index.execute("SELECT sequence FROM row").fetchall()
    (tmp_path / "index.sqlite.seal").unlink()
    assert sorted(await opened()) == sorted(first)
    with closing(sqlite3.connect(tmp_path / "index.sqlite")) as index:
        assert index.execute("SELECT sequence FROM row").fetchall() == rows, "it was not made anew"

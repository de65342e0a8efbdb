"""The commands of our own prompts reach the session that they were made for: its scope, its workspace, its settings."""

import contextlib
import json
import re
import shlex
import sqlite3
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from editor import WORDS_ALONE, WORTH, environment, records, run
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway_memory import OWNER, GatewayMemory, Session, UsageError, load_config
from gateway_memory.cli.main import main
from gateway_memory.cli.quick_search import main as search
from gateway_memory.edge.prompts import Prompts
from gateway_memory.store.journal.sqlite import open_journal

Whose = dict[str, Any]
EVERYBODY: list[tuple[Whose, str]] = [
    ({"user": OWNER}, ""),
    ({"user": "zoe"}, "people/zoe-"),
    ({"user": "严小雨"}, "people/严小雨-"),
    ({"room": "discord-5"}, "rooms/discord-5-"),
]


def commands(prompt: str) -> list[list[str]]:
    """Return the commands of a prompt, with words where it leaves them to the agent."""
    said = iter(
        ("The staging database runs on pluto", "pluto", "staging", "moved the database", "keep pluto", "test it")
    )
    lines = [line for line in prompt.splitlines() if "save-" in line and "gateway-memory" in line]
    return [shlex.split(re.sub("…", lambda _: next(said), line)) for line in lines]


def obey(prompt: str, cwd: Path) -> list[dict[str, Any]]:
    """Run the commands of a prompt as its agent would, from a folder that has nothing to do with the memory."""
    cwd.mkdir(exist_ok=True)
    answers = []
    for command in commands(prompt):
        done = subprocess.run(command, capture_output=True, check=False, cwd=cwd, env=environment())
        answers.append(json.loads(done.stdout or b"{}") | {"code": done.returncode})
    return answers


@pytest.mark.slow
@pytest.mark.parametrize(("whose", "folder"), EVERYBODY)
async def test_a_follow_up_that_is_obeyed_is_the_sessions_own(tmp_path: Path, whose: Whose, folder: str) -> None:
    workspace = tmp_path / "it's a workspace"
    async with GatewayMemory(load_config(WORDS_ALONE), workspace) as memory:
        session = await memory.start_session("agent:main:work", **whose)
        await memory.observe(session, kind="user", content=WORTH)
        prompt = await memory.stop(session, "completed")
        fact, summary = obey(prompt, tmp_path / "elsewhere")
        assert (fact["status"], summary["status"]) == ("ok", "ok"), (prompt, fact, summary)
        assert await memory.stop(session, "completed") == "", "it is saved"
        await memory.end_session(session, reason="completed")
        own = next(path.parent for path in workspace.rglob("sessions.jsonl"))
        assert own.relative_to(workspace).as_posix().removeprefix(".").startswith(folder)
        (record,) = records(own)
        assert (record["session_id"], record["layer"], record["topic"]) == (session.session_id, "followup", "staging")
        later = await memory.start_session("agent:main:work", **whose)
        assert "moved the database" in later.opening
        assert "pluto" in later.opening
        for other, _ in EVERYBODY:
            if other != whose:
                elsewhere = await memory.start_session("agent:main:other", **other)
                assert "pluto" not in elsewhere.opening
    journal = sqlite3.connect(workspace / "journal.sqlite")
    assert journal.execute("SELECT count(*) FROM sessions WHERE key LIKE 'hook:%'").fetchone() == (0,)
    journal.close()
    assert not (tmp_path / "elsewhere" / ".memory").exists()


async def test_every_prompt_names_the_workspace_the_session_and_the_config(tmp_path: Path) -> None:
    config = tmp_path / "my config.json5"
    config.write_text('{agents: {defaults: {memorySync: {timeZone: "Asia/Shanghai"}}}}', "utf-8")
    async with GatewayMemory(load_config(config), tmp_path / "w") as memory:
        session = await memory.start_session("agent:work:telegram:direct:5", user="zoe")
        await memory.observe(session, kind="user", content=WORTH)
        prompts = [memory.rule_text(session, chinese=False), await memory.stop(session, "completed")]
        prompts.append(await memory.before_compaction(session, usage=85, messages=30))
    for prompt in prompts:
        assert len(commands(prompt)) == 2, prompt
        for command in commands(prompt):
            assert Path(command[0]).is_absolute()
            given = dict(pairwise(command))
            assert given["--workspace"] == str(tmp_path / "w")
            assert given["--config"] == str(config)
            assert given["--agent"] == "work"
            assert f"--session={session.session_id}" in command
    assert "会话" in prompts[1], "the user writes Chinese"


@given(st.text(min_size=1).filter(lambda text: "\0" not in text and text.isprintable()))
@settings(max_examples=300)
def test_whatever_the_names_are_a_shell_reads_the_command_as_it_is_meant(name: str) -> None:
    prompts = Prompts(workspace=f"/w/{name}", config=f"/c/{name}", agent=name)
    for line in prompts.rule(name, chinese=False).splitlines():
        if " save-" in line:
            words = shlex.split(line)
            assert f"/w/{name}" in words
            assert f"/c/{name}" in words
            assert f"--session={name}" in words


def saved(workspace: Path, *more: str, session: str) -> dict[str, Any]:
    place = ("--workspace", str(workspace), "--config", WORDS_ALONE)
    done = run("save-fact", *place, f"--session={session}", "--content", "The cat is Tigger", *more)
    answer: dict[str, Any] = json.loads(done.stdout)
    assert (done.returncode == 0) == (answer["status"] != "error")
    return answer


@pytest.mark.slow
async def test_a_session_that_is_unknown_ended_or_anothers_is_refused_in_words(tmp_path: Path) -> None:
    workspace = tmp_path / "w"
    assert "there is no memory here" in saved(workspace, session="s")["message"]
    assert not workspace.exists()
    async with GatewayMemory(load_config(WORDS_ALONE), workspace) as memory:
        zoe = await memory.start_session("zoe's", user="zoe")
        ended = await memory.start_session("ended", user=OWNER)
        await memory.end_session(ended, reason="completed")
        for session in ("nobody's", "", " ", "-1", "'; DROP TABLE sessions; --", "hook:conv-1", "0" * 5000, "\ud800"):
            with pytest.raises(UsageError, match="knows no such session"):
                await memory.attach_session(session)
    assert "knows no such session" in saved(workspace, session="nobody's")["message"]
    assert "has ended" in saved(workspace, session=ended.session_id)["message"]
    for whose in (("--user", "yan"), ("--room", "zoe")):
        assert "belongs to somebody else" in saved(workspace, *whose, session=zoe.session_id)["message"]
    assert not list(workspace.rglob("*.md"))
    assert saved(workspace, "--user", "zoe", session=zoe.session_id)["status"] == "ok"
    (file,) = workspace.rglob("*.md")
    assert file.parts[-4] == "people"


async def test_a_tool_of_another_process_takes_no_session_away(tmp_path: Path) -> None:
    async with GatewayMemory(load_config(), tmp_path) as gateway, GatewayMemory(load_config(), tmp_path) as tool:
        session = await gateway.start_session("work", user="zoe")
        attached = await tool.attach_session(session.session_id)
        assert attached.scope == session.scope
        assert await gateway.attach_session(session.session_id) is session
        await tool.save_fact(attached, content="The cat is called Tigger")
    journal = open_journal(tmp_path)
    rows = journal.execute("SELECT session_id, ended_at FROM sessions").fetchall()
    journal.close()
    assert rows == [(session.session_id, None)]


@pytest.mark.parametrize("name", ["", " ", "\u3000", "\n"])
def test_an_empty_name_is_an_error_in_every_command(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "MEMORY.md").write_text("- The cat is called Tigger\n", "utf-8")
    file = tmp_path / "t.jsonl"
    file.write_text(json.dumps({"session": "s", "user": "u", "reply": "r", "person": name}) + "\n", "utf-8")
    place = ("--workspace", str(tmp_path))
    before = sorted(tmp_path.rglob("*"))
    for option in ("--user", "--room"):
        for command in (
            *((each,) for each in ("status", "list", "search", "undo", "retry", "distill", "listen")),
            *(("history", "abc"), ("forget", "abc"), ("doctor", "mqtt"), ("search", "cat", "--max-results", "3")),
            *(("replay", str(file)), ("import", "jsonl", str(file)), ("save-fact", "--session", "s", "--content", "c")),
            ("save-summary", "--session", "s", "--topic", "t", "--summary", "s"),
        ):
            by = search if "--max-results" in command else main
            rest = command[1:] if by is search else command
            with pytest.raises(SystemExit) as refused:
                by([*rest, *place, option, name])
            assert refused.value.code == 2, command
            assert "is no name" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["chat", *place, "--user", name])
    assert "is no name" in capsys.readouterr().err
    assert main(["delete", *place, "--scope", f"user:{name}", "--yes"]) == 1
    assert main(["replay", str(file), *place]) == 1
    assert "person: expected a name" in capsys.readouterr().err
    assert sorted(tmp_path.rglob("*")) == before


def test_looking_for_somebody_creates_nothing_of_them(tmp_path: Path) -> None:
    (tmp_path / "MEMORY.md").write_text("- The cat is called Tigger\n", "utf-8")
    assert main(["list", "--workspace", str(tmp_path)]) == 0
    before = sorted(path for path in tmp_path.rglob("*") if ".gateway-memory" not in path.parts)
    for whose in (("--user", "nobody"), ("--room", "没人"), ()):
        for command in (("list",), ("status",), ("search", "cat"), ("history", "abcdefgh"), ("undo",), ("distill",)):
            main([*command, "--workspace", str(tmp_path), *whose])
    assert sorted(path for path in tmp_path.rglob("*") if ".gateway-memory" not in path.parts) == before
    for name in ("journal", "index"):
        with contextlib.closing(sqlite3.connect(tmp_path / f"{name}.sqlite")) as database:
            kept = "\n".join(database.iterdump())
        assert "nobody" not in kept
        assert "没人" not in kept
        assert 'INSERT INTO "sessions"' not in kept, "a look is no session"


async def test_names_that_could_not_be_told_apart_are_refused(tmp_path: Path) -> None:
    async with GatewayMemory(load_config(), tmp_path) as memory:
        names: list[Any] = [
            "\ud800",
            "\ud801",
            "a\udc00",
            "",
            " ",
            "\x00",
            "zoe\x00",
            "\u200b",
            *"\ufe0f\u2800\u3164\u115f\uffa0\u0301",
            None,
            7,
            b"zoe",
        ]
        for name in names:
            for whose in ({"user": name}, {"room": name}):
                with pytest.raises(UsageError):
                    await memory.start_session("s", **whose)
            with pytest.raises(UsageError):
                await memory.start_session(name, user=OWNER)
            with pytest.raises(UsageError):
                await memory.attach_session(name)
        assert isinstance(await memory.start_session("s", user="?"), Session)
    assert not (tmp_path / "people").exists()

"""The hook commands as an editor runs them: processes of their own, which never fail it."""

import contextlib
import json
import os
import sqlite3
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from editor import WORDS_ALONE, WORTH, compiled, environment, hook, patient, records, run, transcript
from patience import seconds
from thorough import sample

from gateway_memory.edge.prompts import own_command
from gateway_memory.edge.significance import is_significant
from gateway_memory.edge.transcript import exchanges_of
from gateway_memory.hooks.feed import observations_of
from gateway_memory.hooks.install import merged, without_ours
from gateway_memory.hooks.outcome import last_outcomes
from gateway_memory.hooks.state import settings_of
from gateway_memory.store.journal.opened import Observation


def test_a_session_of_an_editor_from_start_to_the_next_start(tmp_path: Path) -> None:
    workspace = tmp_path / ".memory"
    workspace.mkdir()
    (workspace / "MEMORY.md").write_text("- 我的工位在三楼\n", "utf-8")
    first = hook("sessionStart", workspace)
    assert "三楼" in first["additional_context"]
    path = transcript(
        tmp_path / "t.jsonl",
        ("user", WORTH),
        ("assistant", [{"type": "tool_use", "name": "Bash", "input": {"command": "make test"}}]),
        ("user", [{"type": "tool_result", "is_error": True, "content": "TokenExpired"}]),
    )
    flush = hook("preCompact", workspace, transcript_path=path, context_usage_percent=85, message_count=30)
    assert flush["user_message"].startswith("[Memory Flush]")
    assert "85%" in flush["user_message"]
    assert f"--workspace {workspace}" in flush["user_message"]
    asked = hook("stop", workspace, transcript_path=path, status="completed")
    assert "conv-1" in asked["followup_message"]
    assert hook("stop", workspace, transcript_path=path, status="completed") == {}, "loop_limit is 1"
    place = ["--workspace", str(workspace), "--session", "conv-1", "--config", WORDS_ALONE]
    fact = run("save-fact", *place, "--content", "登录接口用 JWT 认证", "--entities", "登录,JWT", "--confidence", "0.9")
    assert json.loads(fact.stdout)["status"] == "ok", fact.stderr
    summary = ["save-summary", *place, "--topic", "登录改造", "--summary", "改好了", "--todos", "补测试; 通知前端"]
    assert json.loads(run(*summary).stdout)["status"] == "ok"
    assert json.loads(run(*summary).stdout) == {"status": "skipped", "reason": "duplicate"}
    assert hook("sessionEnd", workspace, transcript_path=path, reason="completed", duration_ms=45000) == {}
    (record,) = records(workspace)
    assert (record["session_id"], record["layer"], record["todos"]) == ("conv-1", "followup", ["补测试", "通知前端"])
    journal = sqlite3.connect(workspace / "journal.sqlite")
    assert journal.execute("SELECT reason, state FROM sessions").fetchall() == [("completed", "saved")]
    kinds = [row[0] for row in journal.execute("SELECT kind FROM observations ORDER BY id")]
    assert kinds == ["user", "tool", "error"], "each line of the transcript is read once"
    journal.close()
    later = hook("sessionStart", workspace, conversation_id="conv-2")
    for expected in ("登录改造", "补测试", "登录接口用 JWT 认证"):
        assert expected in later["additional_context"]
    found = json.loads(run("search", "--workspace", str(workspace), "JWT 认证", "--max-results", "5").stdout)
    assert found["results"][0]["content"] == "登录接口用 JWT 认证"
    assert set(found["results"][0]) == {"content", "type", "score", "source", "timestamp"}


@pytest.mark.parametrize(
    ("marks", "encoding"), [(1, "utf-8"), (2, "utf-8"), (3, "utf-8"), (2, "utf-16-le"), (2, "utf-16-be")]
)
def test_marks_of_the_byte_order_are_no_part_of_the_input(tmp_path: Path, marks: int, encoding: str) -> None:
    workspace = tmp_path / ".memory"
    workspace.mkdir()
    (workspace / "MEMORY.md").write_text("- 我的工位在三楼\n", "utf-8")
    given = json.dumps({"conversation_id": "c", "workspace_roots": [str(tmp_path)]})
    place = ("--workspace", str(workspace), "--config", WORDS_ALONE)
    done = run("hook", "sessionStart", *place, given=("\ufeff" * marks + given).encode(encoding))
    assert "三楼" in json.loads(done.stdout)["additional_context"]


def test_an_end_alone_saves_from_the_transcript(tmp_path: Path) -> None:
    workspace = tmp_path / ".memory"
    path = transcript(
        tmp_path / "t.jsonl", ("user", WORTH + " <private>geheimes Losungswort</private>"), ("assistant", "好的")
    )
    assert hook("sessionEnd", workspace, transcript_path=path, reason="window_close") == {}
    assert hook("sessionEnd", workspace, transcript_path=path, reason="window_close") == {}
    (record,) = records(workspace)
    assert (record["layer"], record["auto_generated"]) == ("end", True)
    assert "JWT" in record["brief"]
    assert b"Losungswort" not in b"".join(path.read_bytes() for path in workspace.rglob("*") if path.is_file())


@pytest.mark.slow
def test_claude_codes_names_and_shapes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CLAUDE_PROJECT_DIR", raising=False)
    workspace = tmp_path / ".memory"
    path = transcript(tmp_path / "t.jsonl", ("user", WORTH), ("assistant", [{"type": "text", "text": "好的"}]))
    base = {"session_id": "s-1", "cwd": str(tmp_path), "transcript_path": path}

    def claude(event: str, **more: Any) -> dict[str, Any]:
        given = json.dumps({**base, "hook_event_name": event, **more}).encode()
        done = run("hook", event, given=given)
        assert done.returncode == 0
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    started = claude("SessionStart", source="startup")
    assert started["hookSpecificOutput"]["hookEventName"] == "SessionStart"
    assert claude("PreCompact", trigger="auto") == {}, "Claude Code takes no message here"
    assert claude("Stop", stop_hook_active=True) == {}
    assert claude("Stop", stop_hook_active=False) == {}, "the first stop, and little has happened"
    stopped = claude("Stop", stop_hook_active=False)
    assert stopped["decision"] == "block"
    assert "save-summary" in stopped["reason"]
    assert claude("SessionEnd", reason="exit") == {}
    assert [record["session_id"] for record in records(workspace)] == ["s-1"]


@pytest.mark.slow
def test_claude_codes_agent_in_a_subfolder_keeps_to_the_projects_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(tmp_path))
    inside = tmp_path / "source"
    inside.mkdir()
    path = transcript(tmp_path / "t.jsonl", ("user", WORTH))
    base = {"session_id": "s-1", "cwd": str(inside), "transcript_path": path}
    for event in ("SessionStart", "Stop", "SessionEnd"):
        assert run("hook", event, given=json.dumps({**base, "hook_event_name": event}).encode()).returncode == 0
    assert [record["session_id"] for record in records(tmp_path / ".memory")] == ["s-1"]
    assert not (inside / ".memory").exists()
    assert (tmp_path / ".memory" / ".gitignore").read_text() == "*\n", "what was said is not for the repository"


def seen_in(lines: list[bytes]) -> list[Observation]:
    return [each for exchange in exchanges_of(lines, "one") for each in observations_of(exchange.parts)]


@pytest.mark.parametrize(
    ("text", "marks", "said"),
    [
        (
            "<timestamp>Saturday, 7:12 PM</timestamp>\n<user_query>\nhi <private>4711</private>\n</user_query>",
            {},
            ["hi"],
        ),
        ("ok<system-reminder>be brief</system-reminder>", {}, ["ok"]),
        ("<command-name>/clear</command-name>", {}, []),
        (WORTH, {"isSidechain": True}, []),
        (WORTH, {"isCompactSummary": True}, []),
        ("why <b>bold</b>?", {}, ["why <b>bold</b>?"]),
    ],
)
def test_of_a_transcript_the_users_own_words_are_kept(text: str, marks: dict[str, bool], said: list[str]) -> None:
    line = {"role": "user", **marks, "message": {"role": "user", "content": [{"type": "text", "text": text}]}}
    seen = seen_in([json.dumps(line).encode()])
    assert [each.content for each in seen] == said
    assert not is_significant(seen)


def test_a_tools_call_is_kept_with_what_came_of_it_by_its_kind() -> None:
    def line(role: str, *parts: dict[str, object]) -> bytes:
        return json.dumps({"type": role, "message": {"role": role, "content": list(parts)}}).encode()

    def use(number: int, tool: str, **given: str) -> dict[str, object]:
        return {"type": "tool_use", "id": f"t{number}", "name": tool, "input": given}

    def result(number: int, text: str, **more: bool) -> dict[str, object]:
        content = [{"type": "text", "text": text}]
        return {"type": "tool_result", "tool_use_id": f"t{number}", "content": content, **more}

    seen = seen_in(
        [
            line("user", {"type": "text", "text": "mend it"}),
            line("assistant", use(1, "Read", file_path="/p/login.py"), use(2, "Bash", command="make test")),
            line("user", result(1, "x" * 4321), result(2, "line one\nExit code 2", is_error=True)),
            line("assistant", use(3, "Bash", command="make lint"), use(4, "Grep", pattern="retry_limit", path="src")),
            line("user", result(4, "src/net.py:12")),
        ]
    )
    assert [(each.kind, each.content) for each in seen] == [
        ("user", "mend it"),
        ("tool", "/p/login.py (4321 characters)"),
        ("tool", "$ make test\nline one\nExit code 2"),
        ("error", "line one\nExit code 2"),
        ("tool", "retry_limit src\nsrc/net.py:12"),
        ("tool", "$ make lint"),
    ]


def test_the_start_imports_next_to_nothing(tmp_path: Path) -> None:
    workspace = tmp_path / ".memory"
    compiled(workspace)
    code = (
        "import io, json, sys; from gateway_memory.cli.entry import main; "
        f"sys.argv = ['gateway-memory', 'hook', 'sessionStart', '--workspace', {str(workspace)!r}, "
        f"'--config', {WORDS_ALONE!r}]; main(); "
        "heavy = 'pydantic structlog aiosqlite numpy asyncio argparse'.split(); "
        "heavy += 'extractor.cleaning.clean recall.recaller'.split(); "
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input=b'{"conversation_id": "c"}', capture_output=True, check=True, env=patient()
    )
    assert done.stdout.decode().splitlines()[-1] == "[]"


def test_hooks_are_installed_beside_others_and_taken_out_byte_for_byte(tmp_path: Path) -> None:
    path = tmp_path / ".cursor" / "hooks.json"
    path.parent.mkdir()
    before = '{"version": 1,\n "hooks": {"stop": [{"command": "./mine.sh"}], "afterFileEdit": [{"command": "fmt"}]}}'
    path.write_text(before, "utf-8")
    place = ["--project", str(tmp_path)]
    assert run("hooks", "install", "cursor", *place).returncode == 0
    document = json.loads(path.read_text("utf-8"))
    assert document["hooks"]["afterFileEdit"] == [{"command": "fmt"}]
    assert document["hooks"]["stop"] == [
        {"command": "./mine.sh"},
        {"command": f"{own_command()} hook stop", "timeout": 5, "loop_limit": 1},
    ]
    (beside,) = document["hooks"]["beforeSubmitPrompt"]
    assert beside == {"command": f"{own_command()} hook userPromptSubmit", "timeout": 5}
    told = run("hooks", "status", *place).stdout.decode()
    assert "cursor: 5 hooks" in told
    assert "No hook has run yet" in told
    assert run("hooks", "undo", "cursor", *place).returncode == 0
    assert path.read_text("utf-8") == before


def test_what_is_installed_runs_from_a_shell_that_knows_no_virtual_environment(tmp_path: Path) -> None:
    done = run("hooks", "install", "cursor", "--project", str(tmp_path))
    assert "runs" in done.stdout.decode()
    path = tmp_path / ".cursor" / "hooks.json"
    document = json.loads(path.read_text("utf-8"))
    for (entry,) in document["hooks"].values():
        entry["timeout"] = seconds(30)  # a person may allow more
    path.write_text(json.dumps(document), "utf-8")
    answered = subprocess.run(
        ["/bin/sh", "-c", document["hooks"]["sessionStart"][0]["command"]],
        input=json.dumps({"conversation_id": "c", "workspace_roots": [str(tmp_path)]}).encode(),
        capture_output=True,
        check=True,
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
    )
    assert "save-fact" in json.loads(answered.stdout)["additional_context"]
    (last,) = last_outcomes(tmp_path / ".memory", "sessionStart")
    assert (last["outcome"], last["limit"]) == ("answered", seconds(30))


def test_a_config_that_breaks_after_the_installation_is_named_in_the_status(tmp_path: Path) -> None:
    config = tmp_path / "config.json5"
    config.write_text("{}", "utf-8")
    place = ("--project", str(tmp_path))
    assert run("hooks", "install", "cursor", *place, "--config", str(config)).returncode == 0
    config.write_text('{agents: {defaults: {memorySync: {\nautoExtrakt: "hunter2"}}}}', "utf-8")
    given = json.dumps({"conversation_id": "c", "workspace_roots": [str(tmp_path)], "prompt": "where is the cat?"})
    for event, answer in (("sessionStart", {}), ("userPromptSubmit", {"continue": True})):
        done = run("hook", event, "--config", str(config), given=given.encode())
        assert (done.returncode, json.loads(done.stdout)) == (0, answer)
    told = run("hooks", "status", *place).stdout.decode()
    assert told.count(f"failed: the config has mistakes, at {config}:2: agents.defaults.memorySync.autoExtrakt") == 2
    assert f"config check {config}`" in told
    assert "hunter2" not in told + "".join(path.read_text("utf-8") for path in (tmp_path / ".memory").rglob("*.jsonl"))


def test_what_an_earlier_version_installed_is_replaced_and_taken_out() -> None:
    old = {"hooks": {"stop": [{"command": "gateway-memory hook stop", "timeout": 5}, {"command": "./mine.sh"}]}}
    document = merged("cursor", old, None)
    assert [each["command"] for each in document["hooks"]["stop"]] == ["./mine.sh", f"{own_command()} hook stop"]
    assert without_ours(document)["hooks"] == {"stop": [{"command": "./mine.sh"}]}
    others = {"hooks": {"stop": [{"command": "my-gateway-memory hook stop"}, {"command": "gateway-memory hook-up"}]}}
    assert without_ours(others) == others


@pytest.mark.slow
@pytest.mark.parametrize("action", ["install", "undo"])
def test_the_home_folder_is_never_meant_silently(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, action: str) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    done = run("hooks", action, "cursor", cwd=tmp_path)
    assert done.returncode == 2
    assert "--global" in done.stderr.decode()
    assert not (tmp_path / ".cursor").exists()
    done = run("hooks", action, "cursor", "--project", str(tmp_path / "nowhere"))
    assert done.returncode == 1
    assert "no such project" in done.stderr.decode()
    assert run("hooks", action, "cursor", "--global").returncode == 0
    assert (tmp_path / ".cursor" / "hooks.json").exists() == (action == "install")


def test_a_config_with_mistakes_is_not_installed(tmp_path: Path) -> None:
    config = tmp_path / "config.json5"
    config.write_text("{agents: {defaults: {memorySync: {autoExtrakt: {}}}}}", "utf-8")
    done = run("hooks", "install", "cursor", "--project", str(tmp_path), "--config", str(config))
    assert done.returncode == 1
    assert "autoExtract" in done.stderr.decode()
    assert not (tmp_path / ".cursor").exists()


def test_the_start_tells_the_agent_in_two_lines_what_it_can_call(tmp_path: Path) -> None:
    workspace = compiled(tmp_path / "it's here" / ".memory")

    def told(text: str) -> str:
        (workspace / "MEMORY.md").write_text(f"- {text}\n", "utf-8")
        lines = str(hook("sessionStart", workspace)["additional_context"].split("\n\n")[-1])
        assert lines.count("\n") == 1
        return lines

    assert "静默保存" in told("我的工位在三楼，常去的咖啡馆在街角")
    search, fact, _ = told("The cat is called Tigger").split("`")[1::2]

    def called(command: str) -> dict[str, Any]:
        done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, check=True, cwd="/", env=environment())
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    assert called(search.replace("…", "Tigger"))["results"]
    assert called(fact.replace("…", "The dog is called Rex"))["status"] == "ok"
    assert "Rex" in "".join(path.read_text("utf-8") for path in (workspace / "memory").iterdir())


NOT_THERE: tuple[dict[str, Any], ...] = (
    {},
    {"transcript_path": None},
    {"transcript_path": "/nowhere/t.jsonl"},
    {"transcript_path": "x" * 5000},
    {"transcript_path": "a\x00b"},
    {"transcript_path": 7},
)


@pytest.mark.slow
@pytest.mark.parametrize("given", sample(NOT_THERE, 2))
def test_without_a_transcript_the_hooks_work_from_what_is_known(tmp_path: Path, given: dict[str, Any]) -> None:
    workspace = compiled(tmp_path / ".memory")
    hook("sessionStart", workspace, **given)
    assert hook("stop", workspace, status="completed", **given) == {}, "nobody knows that anything happened"
    assert "save-summary" in hook("stop", workspace, status="completed", **given)["followup_message"]
    assert hook("stop", workspace, status="completed", **given) == {}, "once"
    assert "[Memory Flush]" in hook("preCompact", workspace, **given)["user_message"]
    place = ("--workspace", str(workspace), "--session", "conv-1", "--config", WORDS_ALONE)
    done = run("save-fact", *place, "--content", "The cat is called Tigger")
    assert json.loads(done.stdout)["status"] == "ok", done.stderr
    assert hook("sessionEnd", workspace, reason="completed", **given) == {}
    (record,) = records(workspace)
    assert "Tigger" in record["summary"]


def test_a_small_order_is_not_asked_about_at_its_first_stop(tmp_path: Path) -> None:
    for number, (text, tools) in enumerate(
        (("Please fix the typo in the README file", 2), ("这个函数是做什么的？", 1))
    ):
        workspace = compiled(tmp_path / str(number) / ".memory")
        use = [{"type": "tool_use", "name": "Bash", "input": {"command": f"make {each}"}} for each in range(tools)]
        path = transcript(tmp_path / f"{number}.jsonl", ("user", text), ("assistant", use))
        assert hook("stop", workspace, transcript_path=path, status="completed") == {}
        transcript(tmp_path / f"{number}.jsonl", ("user", "And run all of the tests again, please"))
        assert "followup_message" in hook("stop", workspace, transcript_path=path, status="completed")


def test_of_a_transcript_nothing_is_kept_where_all_is_switched_off(tmp_path: Path) -> None:
    workspace = tmp_path / ".memory"
    workspace.mkdir()
    config = tmp_path / "config.json5"
    off = ", ".join(f"{part}: {{enabled: false}}" for part in ("observations", "episodes", "autoExtract"))
    config.write_text(f"{{agents: {{defaults: {{memorySync: {{{off}}}}}}}}}", "utf-8")
    settings_of(workspace, config)  # an earlier hook has compiled it
    path = transcript(tmp_path / "t.jsonl", ("user", WORTH))
    given = {"conversation_id": "c", "transcript_path": path, "status": "completed"}
    for event in ("sessionStart", "stop", "preCompact", "sessionEnd"):
        run("hook", event, "--workspace", str(workspace), "--config", str(config), given=json.dumps(given).encode())
    assert b"JWT" not in b"".join(each.read_bytes() for each in workspace.rglob("*") if each.is_file())


@pytest.mark.slow
def test_a_conversation_that_is_resumed_is_open_again(tmp_path: Path) -> None:
    workspace = compiled(tmp_path / ".memory")
    place = ("--workspace", str(workspace), "--session", "conv-1", "--config", WORDS_ALONE)
    save = ("save-fact", *place, "--content")
    hook("sessionStart", workspace)
    assert json.loads(run(*save, "The cat is called Tigger").stdout)["status"] == "ok"
    hook("sessionEnd", workspace, reason="completed")
    refused = run(*save, "The dog is called Rex")
    assert refused.returncode == 1
    assert "has ended" in json.loads(refused.stdout)["message"]
    hook("sessionStart", workspace)
    assert json.loads(run(*save, "The dog is called Rex").stdout)["status"] == "ok"
    hook("sessionEnd", workspace, reason="completed")
    assert len(records(workspace)) == 1


def test_a_broken_hooks_file_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / ".cursor" / "hooks.json"
    path.parent.mkdir()
    path.write_text("{broken", "utf-8")
    done = run("hooks", "install", "cursor", "--project", str(tmp_path))
    assert done.returncode == 1
    assert path.read_text("utf-8") == "{broken"


@pytest.mark.slow
def test_search_by_meaning_finds_what_is_said_in_other_words(tmp_path: Path) -> None:
    workspace = tmp_path / ".memory"
    workspace.mkdir()
    lines = ["The cat is called Tigger", "我的工位在三楼", "Invoices are sent on the third of each month"]
    (workspace / "MEMORY.md").write_text("".join(f"- {line}\n" for line in lines), "utf-8")
    search = ["search", "--workspace", str(workspace), "--max-results", "1", "--semantic"]
    # At first there is no index, later one that fell behind.
    for added, query, found in (
        ("", "when do we bill the customers", lines[2]),
        ("- My bicycle is kept in the cellar\n", "我在几层上班", lines[1]),
    ):
        with (workspace / "MEMORY.md").open("a", encoding="utf-8") as stream:
            stream.write(added)
        done = run(*search, query)
        assert [each["content"] for each in json.loads(done.stdout)["results"]] == [found], done.stderr
    with contextlib.closing(sqlite3.connect(workspace / "index.sqlite", isolation_level=None)) as index:
        index.execute("UPDATE meta SET value = 'another version' WHERE key = 'format'")
    done = run(*search, "when do we bill the customers")
    assert [each["content"] for each in json.loads(done.stdout)["results"]] == [lines[2]], done.stderr


@pytest.mark.slow
def test_what_is_over_is_found_as_such_and_stands_beside_no_prompt(tmp_path: Path) -> None:
    workspace = tmp_path / ".memory"
    workspace.mkdir()
    lines = "- The flight to Oslo leaves at noon (Monday 6 January 2020)\n- The flight bag is blue\n"
    (workspace / "MEMORY.md").write_text(lines, "utf-8")
    os.utime(workspace / "MEMORY.md", (before := datetime(2020, 1, 2, tzinfo=UTC).timestamp(), before))

    def found(*way: str) -> list[str]:
        done = run("search", "flight", "--workspace", str(workspace), *(way or ("--max-results", "5")))
        assert done.returncode == 0, done.stderr
        return sorted(each["content"] for each in json.loads(done.stdout)["results"])

    both = ["The flight bag is blue", "The flight to Oslo leaves at noon (Monday 6 January 2020) (over)"]
    assert found() == both, "from the files"
    assert found("--semantic") == both, "which makes the index"
    assert found() == both, "from the index"
    told = hook(
        "userPromptSubmit", workspace, prompt="Which colour is the flight bag, and what leaves at noon to Oslo?"
    )
    assert "blue" in told["additional_context"]
    assert "noon" not in told["additional_context"]


def test_search_by_words_reads_files_that_the_index_has_not_followed(tmp_path: Path) -> None:
    workspace = tmp_path / ".memory"
    workspace.mkdir()
    (workspace / "MEMORY.md").write_text("- The cat is called Tigger\n", "utf-8")
    assert run("list", "--workspace", str(workspace), "--config", WORDS_ALONE).returncode == 0
    (workspace / "MEMORY.md").write_text("- The cat is called Shere Khan\n", "utf-8")
    done = run("search", "--workspace", str(workspace), "cat", "--max-results", "5")
    assert [each["content"] for each in json.loads(done.stdout)["results"]] == ["The cat is called Shere Khan"]

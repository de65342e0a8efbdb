"""What of an observation is kept, by what it is, and whether a session is worth a summary."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway_memory.edge.observations import clip, tags_of
from gateway_memory.edge.significance import is_significant
from gateway_memory.store.journal.opened import Observation


def test_a_read_file_keeps_its_path_and_size() -> None:
    content = json.dumps({"file_path": "/src/app/main.py", "content": "x" * 5000})
    assert clip("tool", "read_file", content) == "/src/app/main.py (5000 characters)"
    assert clip("tool", "Read", json.dumps({"tool_input": {"file_path": "a.py"}, "tool_response": "abc"})) == (
        "a.py (3 characters)"
    )


def test_of_a_call_without_its_outcome_only_what_was_asked_is_kept() -> None:
    assert clip("tool", "Read", json.dumps({"file_path": "/src/app/main.py"})) == "/src/app/main.py"
    assert clip("tool", "Bash", json.dumps({"command": "make test", "description": "runs"})) == "$ make test"


def test_of_any_other_tool_what_was_asked_and_what_came_of_it_is_kept() -> None:
    call = {"pattern": "retry_limit", "path": "src"}
    assert clip("tool", "Grep", json.dumps({**call, "output": "src/net.py:12\nsrc/cli.py:40"})) == (
        "retry_limit src\nsrc/net.py:12\nsrc/cli.py:40"
    )
    assert clip("tool", "Grep", json.dumps(call)) == "retry_limit src"
    assert clip("tool", "search", json.dumps({"tool_input": {"query": "rain\nsoon"}, "tool_response": "no"})) == (
        "rain soon\nno"
    )


def test_a_diff_keeps_its_hunks() -> None:
    diff = "diff --git a/x b/x\nindex 1..2\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n" + " context\n" * 500
    assert clip("tool", "apply_patch", diff) == "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new"
    edit = json.dumps({"file_path": "x.py", "old_string": "a = 1", "new_string": "a = 2"})
    assert clip("tool", "Edit", edit) == "x.py\n-a = 1\n+a = 2"


def test_a_command_keeps_its_exit_and_last_lines() -> None:
    output = "\n".join(f"line {number}" for number in range(300))
    kept = clip("tool", "bash", json.dumps({"command": "make test", "output": output, "exit_code": 2}))
    assert kept.startswith("$ make test\nexit 2\n")
    assert kept.endswith("line 299")
    assert "line 279\n" not in kept


def test_anything_else_keeps_its_two_ends() -> None:
    kept = clip("user", "", "a" * 3000 + "b" * 3000)
    assert kept.startswith("aaa")
    assert kept.endswith("bbb")


@given(st.sampled_from(["tool", "user"]), st.sampled_from(["", "bash", "read_file", "edit", "grep"]), st.text())
def test_nothing_grows_and_nothing_raises(kind: str, tool: str, text: str) -> None:
    assert len(clip(kind, tool, text * 50)) <= 2_500
    assert len(tags_of(text).split(" ")) <= 20


def test_tags_are_paths_symbols_and_error_codes() -> None:
    text = "def load_user(x): in src/app/users.py raises KeyError; exit: 137, ECONNREFUSED, parseToken(y), PG-42601"
    assert set(tags_of(text).split()) >= {
        "src/app/users.py", "KeyError", "ECONNREFUSED", "load_user", "parseToken", "PG-42601",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        ([], False),
        ([("user", "hi")], False),
        ([("user", "你好"), ("user", "谢谢")], False),
        ([("user", "thank you very much!"), ("assistant", "You are welcome, at any time and for anything.")], False),
        ([("user", "Please move the billing service to the new cluster tonight")], True),
        ([("user", "把登录接口改成用 JWT 认证，旧的会话先保留两周")], True),
        ([("decision", "JWT")], True),
        ([("tool", "exit 0")], True),
        ([("error", "")], False),
    ],
)
def test_small_talk_is_worth_no_summary(seen: list[tuple[str, str]], *, expected: bool) -> None:
    assert is_significant([Observation(kind=kind, content=content) for kind, content in seen]) is expected
    assert not is_significant([Observation(kind=kind, content=content, private=True) for kind, content in seen])

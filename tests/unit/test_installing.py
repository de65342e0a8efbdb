"""Installing hooks and taking them out leaves an editor's file as somebody else wrote it, whatever it looks like."""

import json
import stat
from pathlib import Path

import pytest

from gateway_memory.edge.prompts import own_command
from gateway_memory.errors import UsageError
from gateway_memory.hooks import install as module
from gateway_memory.hooks.editors import OURS, Editor
from gateway_memory.hooks.hook import EVENTS
from gateway_memory.hooks.install import install, undo

EDITORS: dict[Editor, str] = {"cursor": ".cursor/hooks.json", "claude-code": ".claude/settings.json"}
FILES = {
    "line ends of Windows": b'{\r\n  "hooks": {}\r\n}\r\n',
    "a byte order mark": b'\xef\xbb\xbf{"a": 1}',
    "empty": b"",
    "blank": b"\n\n ",
    "in one line": '{"a":"中文", "hooks": {"stop": [{"command": "./mine.sh"}]}}'.encode(),
    "half a character": b'{"a": "\\ud800"}',
    "escapes and numbers": b'{"a": "\\u4e2d", "b": 1.0e2, "c": NaN, "a": 2}',
    "odd entries": b'{"hooks": {"stop": ["x", 1, null, []], "other": []}}',
}


@pytest.fixture(autouse=True)
def _runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_check", lambda *_: None)  # tried by test_hooks.py


def file_of(project: Path, editor: Editor, content: bytes) -> Path:
    path = project / EDITORS[editor]
    path.parent.mkdir()
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("editor", EDITORS)
@pytest.mark.parametrize("content", FILES.values(), ids=FILES)
def test_a_file_comes_back_byte_for_byte_with_its_rights(tmp_path: Path, editor: Editor, content: bytes) -> None:
    path = file_of(tmp_path, editor, content)
    path.chmod(0o640)
    undo(editor, tmp_path)
    assert path.read_bytes() == content, "there was nothing of ours"
    install(editor, tmp_path, None)
    install(editor, tmp_path, "/elsewhere")
    assert len(OURS.findall(path.read_text("utf-8"))) == len(EVENTS)
    undo(editor, tmp_path)
    assert path.read_bytes() == content
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("editor", EDITORS)
def test_what_somebody_wrote_between_two_installations_stays(tmp_path: Path, editor: Editor) -> None:
    install(editor, tmp_path, None)
    path = tmp_path / EDITORS[editor]
    path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), "mine": 1}), "utf-8")
    install(editor, tmp_path, "/elsewhere")
    undo(editor, tmp_path)
    assert json.loads(path.read_text("utf-8"))["mine"] == 1
    path.write_text('{"theirs":1}', "utf-8")
    install(editor, tmp_path, None)
    undo(editor, tmp_path)
    assert path.read_text("utf-8") == '{"theirs":1}'


def test_what_somebody_edited_after_the_installation_stays(tmp_path: Path) -> None:
    install("claude-code", tmp_path, str(tmp_path / "w"))
    assert "installed already" in install("claude-code", tmp_path, str(tmp_path / "w"))
    path = tmp_path / EDITORS["claude-code"]
    document = json.loads(path.read_text("utf-8"))
    command = f"{own_command()} hook sessionStart --workspace {tmp_path / 'w'}"
    entry = {"type": "command", "command": command, "timeout": EVENTS["sessionStart"]}
    assert document["hooks"]["SessionStart"] == [{"hooks": [entry]}]
    document["model"] = "opus"
    document["hooks"]["Stop"].append({"hooks": [{"type": "command", "command": "mine"}]})
    path.write_text(json.dumps(document), "utf-8")
    undo("claude-code", tmp_path)
    assert json.loads(path.read_text("utf-8")) == {
        "model": "opus",
        "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "mine"}]}]},
    }


@pytest.mark.parametrize("editor", EDITORS)
def test_a_link_stays_a_link(tmp_path: Path, editor: Editor) -> None:
    path = file_of(tmp_path, editor, b"{}")
    real = tmp_path / "dotfiles.json"
    path.replace(real)
    path.symlink_to(real)
    install(editor, tmp_path, None)
    assert path.is_symlink()
    assert "gateway" in real.read_text("utf-8")
    undo(editor, tmp_path)
    assert path.is_symlink()
    assert real.read_bytes() == b"{}"


@pytest.mark.parametrize("editor", EDITORS)
def test_where_there_was_nothing_nothing_is_left(tmp_path: Path, editor: Editor) -> None:
    install(editor, tmp_path, None)
    undo(editor, tmp_path)
    assert list(tmp_path.iterdir()) == []
    install(editor, tmp_path, None)
    (tmp_path / EDITORS[editor]).unlink()
    undo(editor, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("editor", EDITORS)
@pytest.mark.parametrize("noted", [b"", b"[]", b"null", b'"x"', b"{", b'{"after": 5}', b"\xff", b'{"before": 5}'])
def test_a_damaged_note_of_ours_keeps_nobody_from_taking_the_hooks_out(
    tmp_path: Path, editor: Editor, noted: bytes
) -> None:
    path = file_of(tmp_path, editor, b'{"a": 1}')
    for again in (False, True):
        install(editor, tmp_path, None)
        path.with_name(".gateway-memory-hooks.json").write_bytes(noted)
        if again:
            install(editor, tmp_path, "/elsewhere")
        undo(editor, tmp_path)
        assert json.loads(path.read_text("utf-8")).get("a") == 1
        assert "gateway" not in path.read_text("utf-8")


@pytest.mark.parametrize("editor", EDITORS)
@pytest.mark.parametrize(
    "content", [b"[" * 100_000, b'{"a": "\xe9"}', "{}".encode("utf-16"), b"{}\0", b'{"hooks": []}']
)
def test_a_file_that_cant_be_read_is_left_as_it_is(tmp_path: Path, editor: Editor, content: bytes) -> None:
    path = file_of(tmp_path, editor, content)
    with pytest.raises(UsageError, match=r"mend it first|expected an object"):
        install(editor, tmp_path, None)
    with pytest.raises(UsageError, match=r"mend it first|expected an object"):
        undo(editor, tmp_path)
    assert path.read_bytes() == content

"""Connecting a gateway and taking it back leaves its config as somebody else wrote it, whatever it looks like."""

import json
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from gateway_memory.cli.main import main
from gateway_memory.connect.plan import plugin_folder

FILES = {
    "as OpenClaw writes it": b'{\n  "gateway": {\n    "mode": "local"\n  }\n}\n',
    "line ends of Windows": b'{\r\n  "gateway": {}\r\n}\r\n',
    "a byte order mark": b'\xef\xbb\xbf{"a": 1}',
    "empty": b"",
    "in one line": (
        '{"a":"中文","plugins":{"allow":["x"],"load":{"paths":["/mine"]},"slots":{"memory":"other"}}}'.encode()
    ),
    "escapes and numbers": b'{"a": "\\u4e2d", "b": 1.0e2, "c": 0.10}',
    "its own memory set up": b'{"plugins": {"entries": {"memory-core": {"enabled": true, "config": {"x": 1}}}}}',
}
TOKEN = "the token"


@pytest.fixture
def service(tmp_path: Path) -> Iterator[str]:
    token = tmp_path / "workspace/.gateway-memory/token"
    token.parent.mkdir(parents=True)
    token.write_text(f"{TOKEN}\n", "utf-8")
    with _service() as url:
        yield url


@contextmanager
def _service() -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200 if self.headers["Authorization"] == f"Bearer {TOKEN}" else 401)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the library's
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def arguments(tmp_path: Path, *given: str) -> list[str]:
    name, *more = given
    place = [] if name == "disconnect" else ["--workspace", str(tmp_path / "workspace")]
    return [name, "openclaw", "--file", str(config(tmp_path)), *place, *more]


def config(tmp_path: Path) -> Path:
    folder = tmp_path / "host"
    folder.mkdir(exist_ok=True)
    return folder / "openclaw.json"


def connect(tmp_path: Path, url: str, *more: str) -> int:
    return main(arguments(tmp_path, "connect", "--url", url, *more))


def disconnect(tmp_path: Path) -> int:
    return main(arguments(tmp_path, "disconnect"))


@pytest.mark.parametrize("content", FILES.values(), ids=FILES)
def test_a_config_comes_back_byte_for_byte_with_its_rights(tmp_path: Path, service: str, content: bytes) -> None:
    path = config(tmp_path)
    path.write_bytes(content)
    path.chmod(0o640)
    assert disconnect(tmp_path) == 0
    assert path.read_bytes() == content, "there was nothing of ours"
    assert connect(tmp_path, service) == 0
    assert connect(tmp_path, service) == 0, "a second time"
    plugins = json.loads(path.read_text("utf-8-sig"))["plugins"]
    assert plugins["slots"]["memory"] == "gateway-memory"
    assert plugins["entries"]["gateway-memory"]["hooks"] == {"allowConversationAccess": True}
    assert plugins["entries"]["memory-core"]["enabled"] is False
    assert plugins["load"]["paths"][-1] == str(path.parent / "gateway-memory/plugin")
    assert "gateway-memory" in plugins.get("allow", ["gateway-memory"])
    assert disconnect(tmp_path) == 0
    assert path.read_bytes() == content
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert list(path.parent.iterdir()) == [path]


def test_a_config_that_was_not_there_goes_again(tmp_path: Path, service: str) -> None:
    path = config(tmp_path)
    assert connect(tmp_path, service) == 0
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert disconnect(tmp_path) == 0
    assert list(path.parent.iterdir()) == []


def test_what_was_written_since_stays(tmp_path: Path, service: str) -> None:
    path = config(tmp_path)
    before = {"plugins": {"slots": {"memory": "other"}, "entries": {"x": {"enabled": True}}}}
    path.write_text(json.dumps(before), "utf-8")
    connect(tmp_path, service)
    written = json.loads(path.read_text("utf-8"))
    written["mine"] = 1
    written["plugins"]["entries"]["gateway-memory"]["config"]["deadlineMs"] = 500
    path.write_text(json.dumps(written), "utf-8")
    connect(tmp_path, service.replace("127.0.0.1", "localhost"))
    entry = json.loads(path.read_text("utf-8"))["plugins"]["entries"]["gateway-memory"]
    assert entry["config"]["deadlineMs"] == 500, "a setting of the user"
    assert "localhost" in entry["config"]["url"]
    path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), "more": 2}), "utf-8")
    assert disconnect(tmp_path) == 0
    assert json.loads(path.read_text("utf-8")) == {**before, "mine": 1, "more": 2}


@pytest.mark.parametrize(
    "content",
    ["{\n  // mine\n  gateway: {},\n}\n", '{"plugins": {"$include": "./plugins.json"}}'],
    ids=["JSON5", "include"],
)
def test_what_a_rewrite_would_lose_is_refused_with_what_to_paste(
    tmp_path: Path, service: str, content: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = config(tmp_path)
    path.write_text(content, "utf-8")
    assert connect(tmp_path, service) == 1
    assert path.read_text("utf-8") == content
    told = capsys.readouterr().err
    pasted = json.loads(told[told.index("{\n") :])
    path.write_text(f"// mine\n{json.dumps(pasted)}", "utf-8")
    assert connect(tmp_path, service) == 0, "it is checked when it was pasted"
    assert path.read_text("utf-8").startswith("// mine")


@pytest.mark.parametrize("content", ["{", "[]", '{"plugins": []}', '{"plugins": {"load": {"paths": 1}}}'])
def test_a_config_that_is_none_is_left_alone(tmp_path: Path, service: str, content: str) -> None:
    path = config(tmp_path)
    path.write_text(content, "utf-8")
    assert connect(tmp_path, service) == 1
    assert path.read_text("utf-8") == content


def test_a_dry_run_shows_the_change_without_secrets(
    tmp_path: Path, service: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = config(tmp_path)
    content = '{"channels": {"telegram": {"botToken": "secret"}}, "plugins": {"slots": {"memory": "other"}}}'
    path.write_text(content, "utf-8")
    assert connect(tmp_path, service, "--dry-run") == 0
    told = capsys.readouterr().out
    assert 'plugins.slots.memory = "gateway-memory"  (was: "other")' in told
    assert "secret" not in told
    assert TOKEN not in told
    assert (path.read_text("utf-8"), list(path.parent.iterdir())) == (content, [path])


def test_nothing_is_changed_unless_the_service_answers(
    tmp_path: Path, service: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = config(tmp_path)
    assert connect(tmp_path, "http://127.0.0.1:9") == 1
    assert "does not answer" in capsys.readouterr().err
    (tmp_path / "workspace/.gateway-memory/token").write_text("another", "utf-8")
    assert connect(tmp_path, service) == 1
    assert "does not know this token" in capsys.readouterr().err
    (tmp_path / "workspace/.gateway-memory/token").unlink()
    assert connect(tmp_path, service) == 1
    assert "there is no token" in capsys.readouterr().err
    assert list(path.parent.iterdir()) == []


def test_the_hook_that_writes_sessions_down_is_off_and_gets_its_setting_back(tmp_path: Path, service: str) -> None:
    hooks = {"internal": {"enabled": True, "entries": {"session-memory": {"enabled": True, "messages": 25}}}}
    config(tmp_path).write_text(json.dumps({"hooks": hooks}), "utf-8")
    assert main(arguments(tmp_path, "connect", "--url", service)) == 0
    document = json.loads(config(tmp_path).read_text("utf-8"))
    assert document["hooks"]["internal"]["entries"] == {"session-memory": {"enabled": False, "messages": 25}}
    document["mine"] = 1
    config(tmp_path).write_text(json.dumps(document), "utf-8")
    assert main(arguments(tmp_path, "disconnect")) == 0
    assert json.loads(config(tmp_path).read_text("utf-8")) == {"hooks": hooks, "mine": 1}


def test_what_openclaw_goes_on_telling_is_named_with_what_to_do(
    tmp_path: Path, service: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, other = tmp_path / "claw", config(tmp_path).parent / "workspace"
    for name in ("MEMORY.md", "USER.md", "users/p1/USER.md", "memory/2026-11-20.md"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("- the bell is broken\n", "utf-8")
    (folder / "AGENTS.md").write_text("## Memory\n\nWrite it into `memory/YYYY-MM-DD.md`.\n", "utf-8")
    other.mkdir()
    (other / "AGENTS.md").write_text("Be kind.\n", "utf-8")
    config(tmp_path).write_text(json.dumps({"agents": {"entries": {"main": {"workspace": str(folder)}}}}), "utf-8")
    assert main(arguments(tmp_path, "connect", "--url", service)) == 0
    told = capsys.readouterr().out
    assert f"{folder}: OpenClaw tells MEMORY.md, USER.md, users/p1/USER.md to whoever writes" in told
    assert f"{folder}: the 1 files in memory/" in told
    assert f"gateway-memory import openclaw {folder} --workspace {tmp_path / 'workspace'}" in told
    assert f"{folder}: AGENTS.md tells the model" in told
    assert str(other) not in told, "nothing of it stays on"
    assert "the bell" not in told


def test_turns_that_wait_stay_when_the_plugin_goes(tmp_path: Path, service: str) -> None:
    connect(tmp_path, service)
    waiting = config(tmp_path).parent / "gateway-memory/spool/1.json"
    waiting.parent.mkdir()
    waiting.write_text("{}", "utf-8")
    disconnect(tmp_path)
    assert waiting.exists()
    assert not (waiting.parents[1] / "plugin").exists()


def test_the_plugin_is_whole() -> None:
    manifest = json.loads((plugin_folder("openclaw") / "openclaw.plugin.json").read_text("utf-8"))
    package = json.loads((plugin_folder("openclaw") / "package.json").read_text("utf-8"))
    assert manifest["id"] == "gateway-memory"
    assert all((plugin_folder("openclaw") / name).is_file() for name in package["openclaw"]["extensions"])

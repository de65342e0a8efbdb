"""When a turn is kept: before its last piece goes out, whoever goes away, and whatever is late."""

import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from fronted import Front, user
from patience import holds, seconds
from served import service, written
from upstream import chat, chat_stream, upstream

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("service")]


def request_of(
    front: Front, token: str, *, path: str = "/v1/chat/completions", stream: bool = True, text: str
) -> bytes:
    body = json.dumps({"model": "m", "stream": stream, "messages": [user(text)]}).encode()
    head = f"POST /p/{token}{path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def read_until(connection: socket.socket, end: bytes) -> bytes:
    read = b""
    while end not in read:
        piece = connection.recv(65536)
        assert piece, read
        read += piece
    return read


def test_the_turn_is_kept_before_the_last_piece_goes_out(front: Front) -> None:
    token, held = front.token("held"), threading.Event()
    front.model.script.append(chat_stream("Yes", ".", holds=held))
    with socket.create_connection(("127.0.0.1", front.served.port), timeout=seconds(30)) as connection:
        connection.sendall(request_of(front, token, text="Remember that the moor is wide."))
        read_until(connection, b'"finish_reason": "stop"')
        assert [turn["reply"] for turn in front.turns("held")] == ["Yes."], "[DONE] is still to come"
        held.set()
        read_until(connection, b"[DONE]")


def test_a_client_that_hangs_up_leaves_its_words_and_ends_the_upstreams_work(front: Front) -> None:
    token, held = front.token("gone"), threading.Event()
    front.model.script.append(chat_stream("One ", "two ", *["more "] * 200_000, holds=held, breaks=True))
    with socket.create_connection(("127.0.0.1", front.served.port), timeout=seconds(30)) as connection:
        connection.sendall(request_of(front, token, text="Remember that the quay is empty."))
        read_until(connection, b"One ")
    holds(lambda: front.turns("gone"), "the turn")
    held.set()
    assert [(turn["user"], turn["reply"]) for turn in front.turns("gone")] == [("Remember that the quay is empty.", "")]
    holds(lambda: front.model.left == 1, "the upstream to be left")


def test_a_kill_in_a_stream_loses_no_turn_that_has_ended(tmp_path: Path) -> None:
    workspace = tmp_path / "main"
    with upstream() as model:
        config = written(
            tmp_path, agents={"main": {"workspace": str(workspace)}}, port=0, proxy={"upstream": model.url}
        )
        held = threading.Event()
        with service(config, workspaces={"main": workspace}) as running:
            front = Front(running, model, workspace)
            token = front.token("kim")
            front.say(front.base(token), user("Remember that the first is kept."))
            model.script.append(chat_stream("It ", "is.", holds=held))
            with socket.create_connection(("127.0.0.1", running.port), timeout=seconds(30)) as connection:
                connection.sendall(request_of(front, token, text="Remember that the second is kept."))
                read_until(connection, b'"finish_reason": "stop"')
                running.kill()
        held.set()
        with service(config, workspaces={"main": workspace}) as running:
            front = Front(running, model, workspace)
            kept = {turn["user"] for turn in front.turns("kim")}
            assert kept == {"Remember that the first is kept.", "Remember that the second is kept."}


@pytest.fixture
def late(tmp_path: Path) -> Iterator[Front]:
    workspace = tmp_path / "main"
    with upstream() as model:
        memory = {"autoRecall": {"timeoutMs": 1, "embedder": {"provider": "none"}}}
        agents = {"main": {"workspace": str(workspace)}}
        config = written(tmp_path, memory=memory, agents=agents, port=0, proxy={"upstream": model.url})
        with service(config, workspaces={"main": workspace}) as running:
            yield Front(running, model, workspace)


def test_a_memory_that_is_late_holds_no_reply_up(late: Front) -> None:
    reply = late.say(late.base(late.token("slow")), user("Where is the boiler?"))
    assert reply.headers["x-gateway-memory"] == "timeout"
    assert late.model.bodies()[-1]["messages"] == [user("Where is the boiler?")]


def test_a_turn_whose_memory_was_late_is_kept_when_it_comes(late: Front) -> None:
    late.model.script.append(chat("Noted."))
    reply = late.say(late.base(late.token("slow")), user("Remember that the hatch sticks."))
    assert reply.headers["x-gateway-memory"] == "timeout"
    holds(lambda: late.turns("slow"), "the turn")
    (turn,) = late.turns("slow")
    assert (turn["user"], turn["reply"]) == ("Remember that the hatch sticks.", "Noted.")


def test_what_cannot_be_reached_is_told_in_the_clients_form(tmp_path: Path) -> None:
    workspace = tmp_path / "main"
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        agents = {"main": {"workspace": str(workspace)}}
        config = written(tmp_path, agents=agents, port=0, proxy={"upstream": f"http://127.0.0.1:{port}/v1"})
        with upstream() as model, service(config, workspaces={"main": workspace}) as running:
            front = Front(running, model, workspace)
            reply = front.post(front.base(front.token("off")), {"model": "m", "messages": [user("Hello")]})
            assert reply.status_code == 502
            assert reply.json()["error"]["type"] == "upstream_unreachable"
            assert front.turns("off") == []


def test_without_an_upstream_there_is_no_proxy(tmp_path: Path) -> None:
    workspace = tmp_path / "main"
    config = written(tmp_path, agents={"main": {"workspace": str(workspace)}}, port=0)
    with upstream() as model, service(config, workspaces={"main": workspace}) as running:
        front = Front(running, model, workspace)
        assert front.post(front.base(front.token("none")), {"messages": [user("Hello")]}).status_code == 404


def test_the_opening_of_a_conversation_stays_over_a_restart(tmp_path: Path) -> None:
    workspace = tmp_path / "main"
    with upstream() as model:
        config = written(
            tmp_path, agents={"main": {"workspace": str(workspace)}}, port=0, proxy={"upstream": model.url}
        )
        with service(config, workspaces={"main": workspace}) as running:
            front = Front(running, model, workspace)
            base = front.base(token := front.token("stay"))
            front.say(base, user("Remember that the kiln is hot."))
            front.flush()
            history = [user("What is hot?")]
            front.say(base, *history)
            front.say(base, user("Remember that the forge is hot, too."))
            front.flush()
            before = next(body for body in model.bodies() if body["messages"][-1]["content"].endswith("What is hot?"))
            assert running.stop() == 0
        with service(config, workspaces={"main": workspace}) as running:
            front = Front(running, model, workspace)
            history += [{"role": "assistant", "content": "I see."}, user("What else is hot?")]
            front.say(front.base(token), *history)
            after = model.bodies()[-1]["messages"]
            assert after[: len(before["messages"])] == before["messages"]
            assert "forge" in json.dumps(after[-1])
            assert chat().pieces

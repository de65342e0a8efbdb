"""Whoever attacks the proxy reaches no other server, no other person's memory, and no log."""

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from fronted import Front, user
from patience import seconds
from served import service, written
from upstream import Answer, upstream

from gateway_memory.config.load import load_config
from gateway_memory.errors import ConfigError

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("service")]

KEY = "sk-secret-of-the-client-8731"
WORDS = "the orchid blooms at midnight"


@pytest.fixture(scope="module")
def front(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Front]:
    folder = tmp_path_factory.mktemp("attacked")
    workspace = folder / "main"
    agents = {"main": {"workspace": str(workspace)}}
    with upstream() as model:
        proxy = {"upstream": model.url, "bodyBytes": 200_000}
        config = written(folder, agents=agents, port=0, proxy=proxy, limits={"readSeconds": 2})
        with service(config, workspaces={"main": workspace}, verbose=True) as running:
            yield Front(running, model, workspace)
            assert running.stop() == 0
        said = running.log.read_text("utf-8") + "".join(
            path.read_text("utf-8", "replace") for path in (workspace / ".gateway-memory").rglob("*.log*")
        )
        assert KEY not in said
        assert WORDS not in said
        assert "gm-" not in said
        assert "Traceback" not in said
        at_rest = b"".join(path.read_bytes() for path in workspace.rglob("*") if path.is_file())
        assert KEY.encode() not in at_rest, "the client's key is stored nowhere"


def raw(front: Front, head: str, body: bytes = b"") -> bytes:
    with socket.create_connection(("127.0.0.1", front.served.port), timeout=seconds(30)) as connection:
        connection.sendall(head.encode("latin-1") + body)
        answer = b""
        while piece := connection.recv(65536):
            answer += piece
            if b"\r\n\r\n" in answer:
                break
    return answer


def test_a_path_leads_to_the_upstreams_own_paths_alone(front: Front) -> None:
    token = front.token("paths")
    tricks = [
        "v1/../admin", "v1/%2e%2e/admin", "v1/..%2fadmin", "../v1/chat/completions", "v1//chat", "v1/chat/completions/",
        "http://127.0.0.1:1/v1/models", "v1/@evil.test/x?y#z/../..", "v1/models;a=b", "v1/a b", "v1/\\\\evil",
        "admin", "v2/x", "v1/%00", "v1/models%0d%0aX-Evil:1",
    ]  # fmt: skip
    for trick in tricks:
        for prefix in (f"/p/{token}/", "/openai/"):
            head = f"GET {prefix}{trick} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
            status = raw(front, head).split(b" ")[1]
            assert status in (b"404", b"400") or all(asked.path.startswith("/v1/") for asked in front.model.asked), (
                trick
            )
    assert not any(".." in asked.path or "admin" in asked.path for asked in front.model.asked)
    assert not any("x-evil" in asked.headers for asked in front.model.asked)


def test_no_request_names_an_upstream(front: Front) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        other.settimeout(0.2)
        port = other.getsockname()[1]
        base = front.base(front.token("ssrf"))
        body = {"model": f"http://127.0.0.1:{port}/x", "base_url": f"http://127.0.0.1:{port}", "messages": [user("Hi")]}
        named = {
            "x-forwarded-host": f"127.0.0.1:{port}",
            "x-upstream": f"http://127.0.0.1:{port}",
            "forwarded": "host=x",
        }
        front.post(base, body, **named)
        front.post(f"{base}/chat/completions?upstream=http://127.0.0.1:{port}", body, path="")
        raw(
            front,
            f"GET http://127.0.0.1:{port}/v1/models HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n",
        )
        raw(front, f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\nHost: localhost\r\n\r\n")
        with pytest.raises(TimeoutError):
            other.accept()


def test_a_redirect_of_the_upstream_is_the_clients_to_follow(front: Front) -> None:
    front.model.script.append(Answer(pieces=[b"{}"], status=307, headers={"location": "http://127.0.0.1:1/"}))
    body = {"model": "m", "messages": [user("Hi")]}
    reply = front.post(front.base(front.token("redirect")), body)
    assert reply.status_code == 307
    assert len(front.model.asked) == 1


def test_forged_and_doubled_names_say_nothing(front: Front) -> None:
    base = front.base(front.served.tokens["main"])
    front.say(base, user(f"Remember that {WORDS}."), **{"x-openwebui-user-id": "victim"})
    front.flush()
    for headers in (
        [("x-openwebui-user-id", "victim"), ("x-openwebui-user-id", "me")],
        [("x-openwebui-user-id", "victim"), ("x-gateway-memory-user", "me")],
        [("x-openwebui-user-id", "v" * 2000)],
        [],
    ):
        body = {"model": "m", "messages": [user("When does the orchid bloom?")]}
        reply = httpx2.post(f"{base}/chat/completions", json=body, headers=headers, timeout=seconds(30))
        assert reply.headers["x-gateway-memory"] == "nobody", headers
        assert "midnight" not in front.model.asked[-1].body.decode()
    stranger = front.token("stranger")
    for name in ("x-openwebui-user-id", "x-gateway-memory-user", "x-litellm-user_api_key_user_id"):
        front.say(front.base(stranger), user("When does the orchid bloom?"), **{name: "victim"})
        assert "midnight" not in front.model.asked[-1].body.decode()


def test_the_user_field_says_nothing_unless_the_config_says_what_it_means(front: Front) -> None:
    base = front.base(front.served.tokens["main"])
    body = {"model": "m", "user": "victim", "messages": [user("When does the orchid bloom?")]}
    assert front.post(base, body).headers["x-gateway-memory"] == "nobody"


def test_a_chat_id_of_another_person_opens_no_conversation(front: Front) -> None:
    base = front.base(front.served.tokens["main"])
    who = {"x-openwebui-user-id": "owner-of-chat", "x-openwebui-chat-id": "shared"}
    front.say(base, user(f"Remember that {WORDS}."), **who)
    front.flush()
    front.say(base, user(f"Remember that {WORDS}."), **{**who, "x-openwebui-user-id": "other"})
    assert front.model.bodies()[-1]["messages"] == [user(f"Remember that {WORDS}.")]


def test_no_upstream_gets_what_is_ours(front: Front) -> None:
    token = front.token("ours")
    headers = {
        "authorization": f"Bearer {token}",
        "cookie": "gateway-memory=1",
        "x-gateway-memory-user": "x",
        "x-gateway-memory-token": front.served.tokens["main"],
    }
    front.say(front.base(token), user("Hello"), **headers)
    sent = front.model.asked[-1]
    assert "authorization" not in sent.headers
    assert "cookie" not in sent.headers
    assert not any(name.startswith("x-gateway-memory") for name in sent.headers)
    assert "gm-" not in json.dumps(dict(sent.headers)) + sent.path
    named = {"x-openwebui-user-id": "u7", "x-openwebui-user-email": "u7@example.org", "x-openwebui-chat-id": "c7"}
    front.say(front.base(front.served.tokens["main"]), user("Hello"), **named)
    assert not any("u7" in value for value in front.model.asked[-1].headers.values()), (
        "the model need not know the person"
    )


def test_line_breaks_in_headers_and_huge_bodies_are_refused(front: Front) -> None:
    token = front.token("large")
    head = f"POST /p/{token}/v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n"
    raw(front, f"{head}X-A: b\nX-Evil: 1\r\n\r\n", b"{}")
    assert not any("\n" in value for asked in front.model.asked for value in asked.headers.values())
    large = {"model": "m", "messages": [user("x" * 300_000)]}
    assert front.post(front.base(token), large).status_code == 413
    chunked = f"POST /p/{token}/v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert b" 413 " in raw(
        front, chunked, b"".join(b"8000\r\n" + b"x" * 0x8000 + b"\r\n" for _ in range(9)) + b"0\r\n\r\n"
    )
    for odd in (
        b"[" * 100_000,
        b'{"messages": 5}',
        b'{"messages": [1, null]}',
        b"\xff\xfe",
        b'{"messages": []}',
        b"null",
    ):
        reply = httpx2.post(f"{front.base(token)}/chat/completions", content=odd, timeout=seconds(30))
        assert reply.status_code == 200, odd[:20]
        assert front.model.asked[-1].body == odd, "what we don't understand, the upstream may judge"


def test_a_page_that_knows_no_token_is_refused_and_one_that_does_is_not(front: Front) -> None:
    evil = {"origin": "https://evil.test"}
    body = {"model": "m", "messages": [user("Hello")]}
    assert front.post(f"{front.served.url}/openai/v1", body, **evil).status_code == 403
    base = front.base(front.token("page"))
    reply = front.post(base, body, origin="app://chat")
    assert reply.headers["access-control-allow-origin"] == "app://chat"
    asked = {"origin": "app://chat", "access-control-request-method": "POST", "access-control-request-headers": "x-a"}
    before = httpx2.options(f"{base}/chat/completions", headers=asked)
    assert before.status_code == 204
    assert before.headers["access-control-allow-headers"] == "x-a"
    rebound = front.post(base, body, host="evil.test")
    assert rebound.status_code == 403


@pytest.mark.parametrize(
    "url", ["ftp://x/v1", "https://u:p@x/v1", "https://x/v1?a=b", "x/v1", "https:///v1", "https://x/#y"]
)
def test_an_upstream_is_a_plain_url(tmp_path: Path, url: str) -> None:
    path = tmp_path / "config.json5"
    path.write_text(json.dumps({"serve": {"proxy": {"upstream": url}}}), "utf-8")
    with pytest.raises(ConfigError, match=r"serve\.proxy\.upstream"):
        load_config(path)

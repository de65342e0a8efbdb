"""Whoever may not use the service is refused, in time, and the service lives on."""

import contextlib
import json
import re
import resource
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from patience import holds, seconds
from served import OWNER, Served, facts, service, written

from gateway_memory.scope import OWNER_SCOPE
from gateway_memory.serving.endpoints import ENDPOINTS
from gateway_memory.serving.tokens import ClientTokens

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("service")]

READ_SECONDS = 1.0
GUARDED = [("POST", f"/v1/{each.name}") for each in ENDPOINTS] + [("GET", "/metrics"), ("GET", "/v1/changes")]
SAID = {"speaker": OWNER, "message": "Hello"}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("service")
    places = {"main": folder / "main", "work": folder / "work"}
    limits = {"readSeconds": READ_SECONDS, "requests": 40, "listeners": 2, "connections": 300}
    agents = {name: {"workspace": str(place)} for name, place in places.items()}
    config = written(folder, agents=agents, port=0, limits=limits, origins=["http://localhost:3000"])
    with service(config, workspaces=places) as running:
        yield running
        assert running.stop() == 0
        said = running.log.read_text("utf-8")
        assert "Traceback" not in said
        assert not any(token in said for token in running.tokens.values())


@pytest.fixture(autouse=True)
def _lives_on(served: Served) -> Iterator[None]:
    yield
    assert served.answer("before_reply", SAID)["session_id"]


def client_token(served: Served) -> str:
    """Make a client token of the owner, while the service runs."""
    _, token = ClientTokens(served.log.parent / "main").add(OWNER_SCOPE, "a test's")
    return token


def _whole(answer: bytes) -> bool:
    before, end, body = answer.partition(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", before)
    return bool(end) and length is not None and len(body) >= int(length[1])


def raw(served: Served, *parts: bytes, pause: float = 0.0, patience: float = 10.0) -> bytes:
    """Send bytes and return the answer, b"" if the connection is closed without one."""
    answer = b""
    with socket.create_connection(("127.0.0.1", served.port), timeout=seconds(patience)) as connection:
        with contextlib.suppress(ConnectionError):
            for part in parts:
                connection.sendall(part)
                time.sleep(pause)
        with contextlib.suppress(ConnectionError):
            while not _whole(answer) and (part := connection.recv(65536)):
                answer += part
    return answer


def head(served: Served, *lines: str, token: bool = True) -> bytes:
    given = [f"Authorization: Bearer {served.tokens['main']}"] if token else []
    named = [] if any(line.lower().startswith("host:") for line in lines) else ["Host: localhost"]
    return "\r\n".join(["POST /v1/before_reply HTTP/1.1", *named, *given, *lines, "", ""]).encode()


def code_of(answer: bytes) -> str:
    """Return the code of the first answer."""
    body, _ = json.JSONDecoder().raw_decode(answer.partition(b"\r\n\r\n")[2].decode())
    return str(body["error"]["code"])


@pytest.mark.parametrize(("method", "path"), GUARDED)
def test_nothing_is_told_without_the_right_token(method: str, path: str, served: Served) -> None:
    token = served.tokens["main"]
    cases = {
        "": 401, "Bearer": 401, "Bearer x": 401, f"Bearer {token}x": 401, f"Bearer {token[:-1]}": 401,
        f"Basic {token}": 401, token: 401, f"Bearer {token.lower()}": 401, f"Bearer {client_token(served)}": 403,
    }  # fmt: skip
    with httpx2.Client(base_url=served.url, timeout=seconds(10)) as client:
        for given, status in cases.items():
            headers = {"Authorization": given} if given else {}
            response = client.request(
                method, path, headers=headers, json={"speaker": OWNER} if method == "POST" else None
            )
            assert response.status_code == status, given
            assert response.json()["error"]["code"] == {401: "unauthorized", 403: "forbidden"}[status]
        twice = [("Authorization", f"Bearer {token}"), ("Authorization", "Bearer x")]
        assert client.request(method, path, headers=twice).status_code == 401
        assert client.request(method, f"{path}?token={token}").status_code == 401


def test_a_token_opens_its_own_agent_alone(served: Served) -> None:
    served.answer("save_fact", {"id": "1", "speaker": OWNER, "content": "The vault number is 4711."}, agent="main")
    query = {"speaker": OWNER, "query": "vault number"}
    assert served.answer("search", query, agent="work")["hits"] == []
    named = served.post("search", {**query, "speaker": {**OWNER, "agent": "main"}}, agent="work")
    assert (named.status_code, named.json()["error"]["code"]) == (403, "forbidden")
    for argument in ("user", "room", "scope", "workspace"):
        assert served.post("search", {**query, argument: "owner"}, agent="work").status_code == 400


def test_a_revoked_token_is_unknown_at_once(served: Served) -> None:
    token = client_token(served)
    tokens = ClientTokens(served.log.parent / "main")
    with served.client(token) as client:
        assert client.get("/metrics").status_code == 403
        assert tokens.revoke(tokens.all()[-1].id)
        assert client.get("/metrics").status_code == 401


@pytest.mark.parametrize("path", ["/healthz", "/openapi.json", "/v1/search", "/mcp", "/nothing"])
def test_another_host_or_origin_is_refused(path: str, served: Served) -> None:
    with served.client() as client:
        for host in (
            "evil.example",
            "evil.example:80",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "[::2]",
            "",
        ):
            response = client.get(path, headers={"Host": host})
            assert (response.status_code, response.json()["error"]["code"]) == (403, "forbidden"), host
        for origin in ("http://evil.example", "null", "http://localhost:3001", f"{served.url}0", ""):
            response = client.get(path, headers={"Origin": origin})
            assert response.status_code == 403, origin
        for good in (
            {"Host": "localhost"},
            {"Host": "LOCALHOST:1"},
            {"Host": "[::1]:80"},
            {"Origin": "http://localhost:3000"},
            {"Origin": served.url},
        ):
            assert client.get(path, headers=good).status_code != 403, good
    twice = raw(served, f"GET {path} HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n".encode())
    assert code_of(twice) in ("bad_request", "forbidden")
    none = raw(served, f"GET {path} HTTP/1.0\r\n\r\n".encode())
    assert code_of(none) == "forbidden"


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("known", [False, True])
def test_a_body_of_100_mb_is_refused(*, chunked: bool, known: bool, served: Served) -> None:
    def parts() -> Iterator[bytes]:
        for _ in range(1600):
            yield b" " * 65536

    headers = {"Content-Type": "application/json"} | ({} if chunked else {"Content-Length": str(1600 * 65536)})
    with (
        served.client(None if known else "") as client,
        contextlib.suppress(httpx2.NetworkError, httpx2.RemoteProtocolError),
    ):
        response = client.post("/v1/before_reply", content=parts(), headers=headers)
        assert response.json()["error"]["code"] == ("too_large" if known else "unauthorized")


def test_slow_requests_are_cut(served: Served) -> None:
    answer = raw(served, head(served, "Content-Type: application/json", "Content-Length: 100"), b"{")
    assert code_of(answer) == "too_slow"
    assert b" 408 " in answer.splitlines()[0]
    assert raw(served) == b"", "silence"
    assert raw(served, b"POST /v1/before_reply HTTP/1.1\r\nHost: loc") == b"", "half a header"
    drop = raw(served, *[bytes([byte]) for byte in head(served)[:40]], pause=0.05)
    assert drop == b"", "a header by drops"
    body = head(served, "Content-Type: application/json", "Transfer-Encoding: chunked")
    drops = raw(served, body, *[b"1\r\n \r\n"] * 40, pause=0.05)
    assert code_of(drops) == "too_slow"


def test_a_thousand_connections_lock_nobody_out(served: Served) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
    try:
        with contextlib.ExitStack() as stack, served.client() as gateway:
            assert gateway.post("/v1/before_reply", json=SAID).status_code == 200
            for number in range(1000):
                made = stack.enter_context(socket.create_connection(("127.0.0.1", served.port), timeout=seconds(5)))
                if number % 2:
                    made.sendall(b"POST /v1/search HTTP/1.1\r\n")
            assert served.answer("before_reply", SAID)["session_id"], "a newcomer"
            assert gateway.post("/v1/before_reply", json=SAID).status_code == 200, "and who was there"
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_too_many_requests_at_once_are_told_to_come_back(served: Served) -> None:
    waiting = head(served, "Content-Type: application/json", "Content-Length: 100")
    with contextlib.ExitStack() as stack:
        for _ in range(45):
            stack.enter_context(socket.create_connection(("127.0.0.1", served.port), timeout=seconds(5))).sendall(
                waiting
            )
        holds(lambda: served.post("before_reply", SAID).status_code == 503, "a refusal")
        response = served.post("before_reply", SAID)
        assert response.json()["error"]["code"] == "busy"
        assert response.headers["retry-after"] == "1"
    with contextlib.ExitStack() as stack:
        for _ in range(2):
            client = stack.enter_context(served.client())
            assert stack.enter_context(client.stream("GET", "/v1/changes")).status_code == 200
        with served.client() as third:
            assert third.get("/v1/changes").json()["error"]["code"] == "busy"


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 100_000 + b"]" * 100_000,
        b'{"speaker":' * 50_000 + b"1" + b"}" * 50_000,
        b'{"speaker": {"key": "agent:main:main", "channel": "web", "chat_type": "direct"}, "message": '
        + b"[" * 150 + b"]" * 150 + b"}",
        b'{"speaker": {"key": "agent:main:main", "channel": "web", "chat_type": "direct"}, "message": '
        + b"[" * 60 + b'"x"' + b"]" * 60 + b"}",
        b"", b"null", b"[]", b'"x"', b"{", b"\xff\xfe", b'{"speaker": NaN}', b"{}{}", b"\x00",
        b'{"speaker": {"key": "\\ud800"}}', b'{"speaker": {"key": "k", "is_owner": "yes"}, "message": 1e999}',
    ],
    ids=lambda body: f"{body[:12]!r}{len(body)}",
)  # fmt: skip
def test_a_body_that_is_no_request_is_refused(body: bytes, served: Served) -> None:
    with served.client() as client:
        response = client.post("/v1/before_reply", content=body, headers={"Content-Type": "application/json"})
    assert (response.status_code, response.json()["error"]["code"]) == (400, "bad_request")


def test_another_type_of_content_is_refused(served: Served) -> None:
    text = json.dumps(SAID).encode()
    with served.client() as client:
        for headers in (
            {}, {"Content-Type": "text/plain"}, {"Content-Type": "application/x-www-form-urlencoded"},
            {"Content-Type": "application/json", "Content-Encoding": "gzip"}, {"Content-Type": "multipart/form-data"},
        ):  # fmt: skip
            response = client.post("/v1/before_reply", content=text, headers=headers)
            assert (response.status_code, response.json()["error"]["code"]) == (400, "bad_request")
        good = {"Content-Type": "Application/JSON; charset=utf-8"}
        assert client.post("/v1/before_reply", content=text, headers=good).status_code == 200


@pytest.mark.parametrize(
    "bomb",
    [
        [f"X: {'x' * 1_000_000}"],
        [f"X-{number}: y" for number in range(20_000)],
        ["X" * 100_000],
        [f"Content-Type: {'a' * 70_000}"],
        ["Content-Length: -1"], ["Content-Length: x"], ["Content-Length: 5", "Content-Length: 6"],
        ["Content-Length: 5", "Transfer-Encoding: chunked"], ["Transfer-Encoding: gzip, chunked"], ["A: b\x00c"],
        ["Content-Length: 99999999999999999999"],
    ],
    ids=lambda bomb: f"{bomb[0][:20]}…{len(bomb)}",
)  # fmt: skip
def test_headers_that_are_none_are_refused(bomb: list[str], served: Served) -> None:
    answer = raw(served, head(served, *bomb))
    assert answer == b"" or code_of(answer) in ("bad_request", "too_large"), answer[:300]


def test_bytes_that_are_no_http_are_refused(served: Served) -> None:
    for noise in (
        b"\x16\x03\x01\x02\x00",
        b"GET / HTTP/9.9\r\n\r\n",
        b"\r\n" * 50_000,
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ):
        answer = raw(served, noise)
        assert answer == b"" or code_of(answer) in ("bad_request", "forbidden")
    upgrade = raw(
        served,
        b"GET /v1/changes HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n\r\n",
    )
    assert code_of(upgrade) == "unauthorized"


def test_clients_that_go_away_leave_nothing_behind(served: Served) -> None:
    whole = json.dumps(SAID).encode()
    request = head(served, "Content-Type: application/json", f"Content-Length: {len(whole)}") + whole

    def goes() -> None:
        with socket.create_connection(("127.0.0.1", served.port), timeout=seconds(5)) as connection:
            connection.sendall(request)

    threads = [threading.Thread(target=goes) for _ in range(30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with served.client() as client:
        holds(lambda: client.post("/v1/before_reply", json=SAID).status_code == 200, "a reply")


def test_the_memory_of_the_process_stays_small(served: Served) -> None:
    pages = int(Path(f"/proc/{served.process.pid}/statm").read_text().split()[1])
    assert pages * resource.getpagesize() < 500_000_000


def test_a_stranger_is_nobody(served: Served) -> None:
    for claim in ({"is_owner": True}, {"person": "owner"}, {"key": "owner"}, {"sender_id": "owner"}):
        speaker = {**facts("999"), **claim}
        response = served.post("search", {"speaker": speaker, "query": "vault"})
        assert response.status_code != 200 or response.json()["hits"] == [], claim

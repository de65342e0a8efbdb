"""How the service starts, stops and comes back: addresses, tokens, signals, and repeats after a crash."""

import asyncio
import json
import os
import re
import shutil
import socket
import ssl
import stat
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import faulty_service
import httpx2
import pytest
from patience import holds, seconds
from served import OWNER, Served, facts, service, written
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from gateway_memory import GatewayMemory, UsageError, WorkspaceError, load_config
from gateway_memory.cli.main import main
from gateway_memory.config.load import check_config
from gateway_memory.config.service import ServedAgent
from gateway_memory.config.serving import serve_options
from gateway_memory.errors import ConfigError
from gateway_memory.scope import OWNER_SCOPE, resolve_scope
from gateway_memory.serving.access import Access
from gateway_memory.serving.app import Service
from gateway_memory.serving.errors import ServiceError
from gateway_memory.serving.feeds import ChangeFeed, Listener, ListenerKind
from gateway_memory.serving.server import serve
from gateway_memory.serving.tokens import ClientTokens, host_token
from notifier import Event, MemoryChange

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("service")]

FAULTY = faulty_service.__file__
EVERYWHERE = "0.0.0.0"  # noqa: S104 - a wider address is what is tested


def run(*arguments: str, **values: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gateway_memory.cli.entry", *arguments]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=seconds(60), **values)


# Where it listens


@pytest.mark.parametrize(
    ("serve_section", "options", "said"),
    [
        ({}, ["--host", EVERYWHERE], "needs serve.tls"),
        ({}, ["--host", "::"], "needs serve.tls"),
        ({"host": "192.0.2.1"}, [], "needs serve.tls"),
        ({}, ["--host", "memory.example"], "needs serve.tls"),
        ({"tls": {"certificate": "a.pem", "key": "b.pem"}}, ["--host", EVERYWHERE], "serve.hosts must list"),
        ({"tls": {"certificate": "/none.pem", "key": "/none.pem"}, "port": 0}, [], "certificate"),
        ({"agents": {"main": {"workspace": "w"}}}, ["--workspace", "w"], "leave --workspace out"),
        ({"agents": {"a": {"workspace": "w"}, "b": {"workspace": "./w"}}}, [], "two agents have the same folder"),
        ({}, ["--socket", "/nowhere/at/all.sock"], "can't listen there"),
    ],
)
def test_it_refuses_to_start_in_words(
    serve_section: dict[str, Any],
    options: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["serve", "--config", str(written(tmp_path, **serve_section)), *options]) == 1
    assert said in capsys.readouterr().err


def test_a_port_that_is_taken_is_told(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        config = written(tmp_path, port=taken.getsockname()[1])
        done = run("serve", "--config", str(config), cwd=tmp_path)
    assert done.returncode == 1
    assert "can't listen there" in done.stderr
    assert "use --port 0 for a free one" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_options_take_precedence() -> None:
    config = check_config('{serve: {socket: "/run/a.sock", port: 1, agents: {work: {workspace: "/w"}}}}', "x")
    nothing: dict[str, Any] = {"workspace": None, "default": Path("d"), "host": None, "port": None, "socket": None}
    assert serve_options(config, **nothing).serve.socket == "/run/a.sock"
    assert serve_options(config, **nothing).serve.agents == {"work": ServedAgent(workspace="/w")}
    assert serve_options(config, **{**nothing, "port": 5}).serve.socket == ""
    assert serve_options(config, **{**nothing, "port": 5}).serve.port == 5
    assert serve_options(config, **{**nothing, "socket": "/b.sock"}).serve.socket == "/b.sock"
    plain = serve_options(load_config(), **nothing).serve
    assert (plain.host, plain.port) == ("127.0.0.1", 8765)
    assert plain.agents == {"main": ServedAgent(workspace=str(Path("d").absolute()))}
    with pytest.raises(ConfigError):
        serve_options(config, **{**nothing, "workspace": Path("x")})


def test_it_listens_at_a_unix_socket_of_this_user_alone(tmp_path: Path) -> None:
    place, path = {"main": tmp_path / "w"}, tmp_path / "memory.sock"
    options = ("--socket", str(path), "--workspace", str(place["main"]))
    config = written(tmp_path)
    with service(config, *options, workspaces=place) as served:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert served.answer("before_reply", {"speaker": OWNER, "message": "Hi"})["session_id"]
        with served.client("") as stranger:
            assert stranger.get("/healthz").status_code == 200
            assert stranger.post("/v1/search", json={}).status_code == 401
        second = run("serve", "--config", str(config), "--socket", str(path), "--workspace", str(tmp_path / "other"))
        assert second.returncode == 1
        assert "another service listens there" in second.stderr
        served.kill()
    assert path.exists(), "it was killed"
    with service(config, *options, workspaces=place) as served:
        assert served.answer("flush", {}) == {}
        assert served.stop() == 0
    assert not path.exists()


def test_with_a_certificate_it_speaks_tls(tmp_path: Path) -> None:
    certificate, key = tmp_path / "c.pem", tmp_path / "k.pem"
    subprocess.run(
        [str(shutil.which("openssl")), "req", "-x509", "-newkey", "ec",
         "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-keyout", str(key), "-out", str(certificate), "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost"],
        check=True, capture_output=True,
    )  # fmt: skip
    config = written(tmp_path, tls={"certificate": str(certificate), "key": str(key)}, hosts=["localhost"], port=0)
    place = {"main": tmp_path / "w"}
    with service(config, "--host", EVERYWHERE, "--workspace", str(place["main"]), workspaces=place) as served:
        trusting = ssl.create_default_context(cafile=str(certificate))
        url = f"https://localhost:{served.port}"
        with httpx2.Client(base_url=url, verify=trusting) as client:
            assert client.get("/healthz").json() == {"status": "ok"}
            assert client.post("/v1/flush", json={}).status_code == 401
            assert client.get("/healthz", headers={"Host": EVERYWHERE}).status_code == 200
            assert client.get("/healthz", headers={"Host": "elsewhere"}).status_code == 403
        with pytest.raises(httpx2.HTTPError), httpx2.Client() as plain:
            plain.get(f"http://localhost:{served.port}/healthz")


# Tokens


def test_a_host_token_is_made_once_and_for_this_user_alone(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = set(pool.map(lambda _: host_token(tmp_path), range(32)))
    (token,) = made
    path = tmp_path / ".gateway-memory" / "token"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert len(token) > 40
    assert [each.name for each in path.parent.iterdir()] == ["token"]
    path.chmod(0o640)
    with pytest.raises(UsageError, match="other users may have read"):
        host_token(tmp_path)
    path.chmod(0o600)
    path.write_text("x")
    with pytest.raises(UsageError, match="holds no token"):
        host_token(tmp_path)
    path.unlink()
    assert host_token(tmp_path) != token


def test_a_client_token_is_bound_to_an_agent_and_a_scope(tmp_path: Path) -> None:
    places = {"main": tmp_path / "main", "work": tmp_path / "work"}
    access = Access(places)
    zoe, owner = ClientTokens(places["main"]), ClientTokens(places["work"])
    made, text = zoe.add(resolve_scope(user="zoe", room=None), "an editor")
    _, other = owner.add(OWNER_SCOPE, "")
    found = access.grant_of(text)
    assert found is not None
    assert (found.agent, found.kind, found.scope, found.client) == ("main", "client", "user:zoe", made.id)
    found = access.grant_of(other)
    assert found is not None
    assert (found.agent, found.scope) == ("work", "owner")
    assert access.grant_of(made.digest) is None
    assert access.grant_of("") is None
    stored = tmp_path / "main" / ".gateway-memory" / "clients.json"
    assert text not in stored.read_text()
    assert stat.S_IMODE(stored.stat().st_mode) == 0o600
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: ClientTokens(places["main"]).add(OWNER_SCOPE, str(number)), range(20)))
    assert len(zoe.all()) == 21
    stored.write_text("[{")
    with pytest.raises(WorkspaceError):
        access.grant_of(text)


def test_the_shell_adds_lists_and_revokes_tokens(tmp_path: Path) -> None:
    where = ("--workspace", str(tmp_path))
    assert run("token", "add", *where).returncode == 2, "whose memory must be said"
    assert run("token", "add", *where, "--user", "").returncode == 2
    assert run("token", "list", "--workspace", str(tmp_path / "none")).returncode == 1
    added = run("token", "add", *where, "--room", "Ops", "--name", "Cursor")
    assert added.returncode == 0
    assert added.stdout.startswith("gm-")
    listed = run("token", "list", *where).stdout
    identity = listed.split()[0]
    assert "room:Ops  Cursor" in listed
    assert added.stdout.strip() not in listed
    assert run("token", "revoke", identity, *where).returncode == 0
    gone = run("token", "revoke", identity, *where)
    assert (gone.returncode, "no such token" in gone.stderr) == (1, True)
    assert run("token", "list", *where).stdout == ""


# Repeats and crashes


def asked(served: Served, call: str, **body: Any) -> dict[str, Any]:
    return served.answer(call, body)


def test_a_killed_service_repeats_nothing_and_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place, config = {"main": tmp_path / "w"}, written(tmp_path, port=0)
    where, zoe = ("--workspace", str(tmp_path / "w")), facts("1")
    turns = [
        {"id": f"t{n}", "user": f"Remember that locker {n} is for the {n}. team.", "reply": "OK"} for n in range(9)
    ]
    with service(config, *where, workspaces=place) as served:
        facts_saved = [
            asked(served, "save_fact", id=f"f{n}", speaker=zoe, content=f"Room number {n} has {n} chairs.")
            for n in range(4)
        ]
        asked(served, "observe", id="o1", speaker=zoe, kind="tool", content="measured the rooms")
        for turn in turns:
            asked(served, "after_reply", speaker=zoe, **turn)
        served.kill()
    monkeypatch.setenv("FAULT", "dies")
    with service(config, *where, workspaces=place, program=FAULTY) as served:
        for number, saved in enumerate(facts_saved):
            content = f"Room number {number} has {number} chairs."
            assert asked(served, "save_fact", id=f"f{number}", speaker=zoe, content=content) == saved
        for number, turn in enumerate(turns, 1):
            assert asked(served, "after_reply", speaker=zoe, **turn) == {"turn": number, "kept": True}
        asked(served, "observe", id="o1", speaker=zoe, kind="tool", content="measured the rooms")
        forget = {"id": "c1", "speaker": zoe, "text": f"/memory forget {facts_saved[0]['memory']}"}
        with pytest.raises(httpx2.TransportError):
            served.post("command", forget)
        assert served.process.wait(10) == -9
    with service(config, *where, workspaces=place) as served:
        for _ in range(2):
            answer = asked(served, "command", **forget)
            assert not answer["done"]
            assert "not known" in answer["answer"]
        assert not asked(served, "command", id="c2", speaker=zoe, text=forget["text"])["done"], "it was done before"
        asked(served, "flush")
        kept = asked(served, "search", speaker=zoe, query="", limit=50, kinds=["memory"])["hits"]
        lockers = [f"locker {n} is for the {n}" for n in range(9)]
        assert sorted(hit["text"] for hit in kept) == [f"Room number {n} has {n} chairs." for n in (1, 2, 3)] + lockers
        said = asked(served, "search", speaker=zoe, query="locker", limit=50, kinds=["episode"])["hits"]
        assert len({hit["turn"] for hit in said}) == 9
        assert len(asked(served, "search", speaker=zoe, query="measured", kinds=["observation"])["hits"]) == 1


def test_repeats_at_once_wait_for_the_first(tmp_path: Path) -> None:
    place = {"main": tmp_path / "w"}
    with service(written(tmp_path, port=0), "--workspace", str(place["main"]), workspaces=place) as served:
        for number in range(3):
            asked(
                served, "save_fact", id=str(number), speaker=OWNER, content=f"Shelf {number} is made of wood {number}."
            )
        with ThreadPoolExecutor(12) as pool:
            body = {"id": "u", "speaker": OWNER, "text": "/memory undo"}
            answers = list(pool.map(lambda _: served.answer("command", body), range(12)))
        assert len({json.dumps(answer) for answer in answers}) == 1
        assert len(asked(served, "search", speaker=OWNER, query="shelf", kinds=["memory"])["hits"]) == 2


# Stopping


def test_sigterm_lets_requests_finish(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAULT", "slow")
    place = {"main": tmp_path / "w"}
    with (
        service(
            written(tmp_path, port=0), "--workspace", str(place["main"]), workspaces=place, program=FAULTY
        ) as served,
        ThreadPoolExecutor(4) as pool,
    ):
        asked(served, "after_reply", id="1", speaker=OWNER, user="Remember that the bell is broken.", reply="OK")
        with served.client() as listener, listener.stream("GET", "/v1/changes") as changes:
            searches = [pool.submit(served.answer, "search", {"speaker": OWNER, "query": "bell"}) for _ in range(3)]
            holds(lambda: served.log.read_text("utf-8").count("a search begins") == 3, "three searches")
            assert served.stop() == 0
            assert next(iter(changes.iter_lines())) == ": listening", "a stream ends at once"
        assert all("hits" in search.result() for search in searches)
        with pytest.raises(httpx2.ConnectError):
            served.answer("flush", {})
    assert "broken" in (place["main"] / "MEMORY.md").read_text() + "".join(
        file.read_text() for file in (place["main"] / "memory").glob("*.md")
    ), "waiting turns are processed before the memory closes"


def test_what_does_not_finish_is_cut_after_the_grace_period(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAULT", "stuck")
    place, config = {"main": tmp_path / "w"}, written(tmp_path, port=0, limits={"graceSeconds": 1})
    with (
        service(config, "--workspace", str(place["main"]), workspaces=place, program=FAULTY) as served,
        ThreadPoolExecutor(1) as pool,
    ):
        stuck = pool.submit(served.post, "search", {"speaker": OWNER, "query": "x"})
        holds(lambda: "a search begins" in served.log.read_text("utf-8"), "a search")
        assert served.stop() == 0
        assert stuck.result().json()["error"]["code"] == "closing"
        assert "Traceback" not in served.log.read_text()


def test_an_idle_connection_stays_open_for_longer_than_gateways_wait(tmp_path: Path) -> None:
    place = {"main": tmp_path / "w"}
    with service(written(tmp_path, port=0), "--workspace", str(place["main"]), workspaces=place) as served:
        request = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
        with socket.create_connection(("127.0.0.1", served.port), timeout=seconds(5)) as connection:
            for wait in (5.5, 0):  # uvicorn closes after five seconds by default
                connection.sendall(request)
                answer = b""
                while b"ok" not in answer:
                    answer += connection.recv(4096)
                assert answer.startswith(b"HTTP/1.1 200")
                time.sleep(wait)
        assert load_config().serve.limits.keep_alive_seconds >= 75


def test_the_client_of_the_page_loses_nothing_while_the_service_is_away(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs/service.md").read_text("utf-8")
    names: dict[str, Any] = {}
    exec(re.findall(r"```python\n(.*?)```", page, re.DOTALL)[0], names)  # noqa: S102 - the documentation is what is tested
    place, zoe = {"main": tmp_path / "w"}, facts("1")
    where = ("--workspace", str(place["main"]))
    with service(written(tmp_path, port=0), *where, workspaces=place) as served:
        client = names["Memory"](served.url, served.tokens["main"], str(tmp_path / "spool.sqlite"))
        client.after_reply("1", zoe, "Remember that the bell is broken.", "OK")
        client.send()
        client.token = "gm-wrong"
        client.after_reply("3", zoe, "Remember that the door is blue.", "OK")
        client.send()
        client.token = served.tokens["main"]
        served.kill()
        assert client.before_reply(zoe, "Which bell?")["context"] == ""
        client.after_reply("2", zoe, "Remember that the lamp is new.", "OK")
        client.after_reply("1", zoe, "Remember that the bell is broken.", "OK")
        port = served.port
    with service(written(tmp_path, port=port), *where, workspaces=place) as served:
        client.send()
        client.send()
        assert not client.spool.execute("SELECT * FROM turns").fetchall()
        asked(served, "flush")
        kept = asked(served, "search", speaker=zoe, query="", kinds=["memory"])["hits"]
        texts = sorted(hit["text"] for hit in kept)
        assert texts == ["the bell is broken", "the door is blue", "the lamp is new"]
        told = client.before_reply({**zoe, "key": "another session"}, "Which lamp is new?")
        assert "the lamp is new" in told["opening"] + told["context"]
    client.spool.close()


# In this process


async def test_routes_can_be_added_and_verify_tokens(tmp_path: Path) -> None:
    found: dict[str, Any] = {}
    entered: list[str] = []

    @asynccontextmanager
    async def extension(service: Service) -> Any:
        async def scoped(request: Request) -> Response:
            grant = service.access.grant(request.headers)
            memory = service.agent(grant.agent).memory
            assert isinstance(memory, GatewayMemory)
            return JSONResponse({"scope": grant.scope, "kind": grant.kind})

        entered.append("in")
        yield [Route("/scope", scoped, methods=["POST"])]
        entered.append("out")

    listening = asyncio.Event()

    def started(address: str) -> None:
        found["url"] = address
        listening.set()

    config = load_config(written(tmp_path))
    config = serve_options(config, workspace=tmp_path, default=tmp_path, host=None, port=0, socket=None)
    running = asyncio.create_task(serve(config, started=started, surfaces=[extension]))
    await asyncio.wait_for(listening.wait(), seconds(20))
    _, token = ClientTokens(tmp_path).add(resolve_scope(user="zoe", room=None), "")
    async with httpx2.AsyncClient(base_url=found["url"]) as client:
        response = await client.post("/scope", headers={"Authorization": f"Bearer {token}"})
        assert response.json() == {"scope": "user:zoe", "kind": "client"}
        refused = await client.post("/scope")
        assert (refused.status_code, refused.json()["error"]["code"]) == (401, "unauthorized")
        assert (await client.post("/scope", headers={"Host": "evil.example"})).status_code == 403
    os.kill(os.getpid(), 15)
    await asyncio.wait_for(running, seconds(20))
    assert entered == ["in", "out"]


def event(number: int) -> Event:
    change = MemoryChange(id=str(number), text=f"line\n{number}", at=1.0)
    return Event(scope="owner", at=1.0, changes=(change,), origin="o.0", number=number)


async def test_a_listener_is_told_what_it_lost() -> None:
    listener = Listener(most=3)
    for number in range(1, 8):
        listener.put(event(number))
    listener.close()
    sent = [part.decode() async for part in listener.stream()]
    assert sent[0].startswith(":")
    assert sent[1] == 'event: lost\ndata: {"lost": 4}\n\n'
    assert [part.splitlines()[0] for part in sent[2:]] == [f"id: o.0:{number}" for number in (5, 6, 7)]
    assert all(part.endswith("\n\n") and "\n\n" not in part[:-2] for part in sent), "no text ends its event"


async def test_a_silent_stream_is_kept_alive() -> None:
    stream = Listener().stream(alive_seconds=0.01)
    assert [await anext(stream) for _ in range(3)] == [b": listening\n\n", b": alive\n\n", b": alive\n\n"]
    await stream.aclose()  # type: ignore[attr-defined]


async def test_open_pages_and_clients_take_no_place_of_each_other() -> None:
    kinds: list[tuple[ListenerKind, ListenerKind]] = [("page", "client"), ("client", "page")]
    for full, other in kinds:
        feed = ChangeFeed(most=2)
        for _ in range(2):
            feed.add(full)
        with pytest.raises(ServiceError, match=f"2 {full}s are listening already"):
            feed.add(full)
        feed.add(other)


async def test_a_closed_feed_takes_no_listener() -> None:
    feed = ChangeFeed(most=1)
    first = feed.add("client")
    with pytest.raises(ServiceError, match="listening already"):
        feed.add("client")
    feed.remove(first)
    second = feed.add("client")
    feed.announce(event(1))
    feed.close()
    assert len([part async for part in second.stream()]) == 2
    with pytest.raises(ServiceError, match="stopping"):
        feed.add("client")


def test_threads_of_the_service_end(tmp_path: Path) -> None:
    """Several services in one process, one after the other, leave no thread behind."""

    async def once() -> None:
        config = load_config(written(tmp_path))
        config = serve_options(config, workspace=tmp_path, default=tmp_path, host=None, port=0, socket=None)
        listening = asyncio.Event()
        running = asyncio.create_task(serve(config, started=lambda _: listening.set()))
        await asyncio.wait_for(listening.wait(), seconds(20))
        os.kill(os.getpid(), 2)
        await asyncio.wait_for(running, seconds(20))

    before = set(threading.enumerate())
    for _ in range(2):
        asyncio.run(once())
    until = time.monotonic() + seconds(10)
    while (left := set(threading.enumerate()) - before) and time.monotonic() < until:
        time.sleep(0.05)
    assert not left

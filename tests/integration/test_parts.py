"""A part that only an installed package brings goes its whole way: config, start, reply, status, doctor, restart."""

import asyncio
import json
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, ClassVar, Never

import pytest
from patience import until
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from gateway_memory import OWNER, ConfigError, GatewayMemory, load_config, parts
from gateway_memory.cli.main import main
from gateway_memory.commands import dispatch
from gateway_memory.serving.access import Access
from gateway_memory.serving.app import Service
from notifier import NotifierError

RECALL: dict[str, dict[str, Any]] = {
    "autoRecall": {"embedder": {"provider": "none"}},
    "autoExtract": {"model": "rules"},
}


class Exchange:
    """A broker in this process. keep: what comes for a client that is away waits for it."""

    clients: ClassVar[dict[str, list[Callable[[str, bytes], None]]]] = {}
    away: ClassVar[bool] = False


class Link:
    """A connection to the exchange."""

    def __init__(self) -> None:
        self.gone = asyncio.Event()

    def post(self, topic: str, payload: bytes) -> "asyncio.Future[None]":
        done = asyncio.get_running_loop().create_future()
        for receivers in Exchange.clients.values():
            for receive in receivers:
                receive(topic, payload)
        done.set_result(None)
        return done

    async def send(self, messages: Sequence[tuple[str, bytes]]) -> None:
        for topic, payload in messages:
            await self.post(topic, payload)

    async def lost(self) -> Never:
        await self.gone.wait()
        raise NotifierError("lost")


class Broker:
    """A broker of another package."""

    name = "Exchange"

    def __init__(self, settings: Any) -> None:
        self.host = settings.host

    @asynccontextmanager
    async def connect(
        self,
        *,
        client_id: str,
        filters: Sequence[str],
        keep: bool,
        receive: Callable[[str, bytes], None] = lambda *_: None,
        refused: Callable[[str], None] = lambda _: None,
    ) -> AsyncIterator[Link]:
        assert callable(refused)
        assert isinstance(keep, bool)
        if Exchange.away:
            raise NotifierError("nobody answers")
        receivers = Exchange.clients.setdefault(client_id, [])
        if filters:
            receivers.append(receive)
        try:
            yield Link()
        finally:
            receivers[:] = [each for each in receivers if each is not receive]


class Hanging:
    """A broker that never answers."""

    name = "Hanging"

    def __init__(self, _settings: Any) -> None:
        pass

    @asynccontextmanager
    async def connect(self, **_how: Any) -> AsyncIterator[Link]:
        await asyncio.Event().wait()
        yield Link()


class Raising(Hanging):
    """A broker whose errors are its own."""

    name = "Raising"

    @asynccontextmanager
    async def connect(self, **_how: Any) -> AsyncIterator[Link]:
        if self.name:
            raise OSError("the socket is gone")
        yield Link()


class Longest:
    """A reranker: the longest text first."""

    seen: ClassVar[list[str]] = []

    async def __call__(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        assert query
        Longest.seen += texts
        return [float(len(text)) for text in texts]


class Stuck:
    """A reranker that never answers."""

    async def __call__(self, _query: str, _texts: Sequence[str]) -> Sequence[float]:
        await asyncio.Event().wait()
        return []


class Broken:
    """A reranker that fails."""

    async def __call__(self, _query: str, _texts: Sequence[str]) -> Sequence[float]:
        raise RuntimeError("the text of a memory")


class Few:
    """A reranker that leaves a text out."""

    async def __call__(self, _query: str, texts: Sequence[str]) -> Sequence[float]:
        return [1.0] * (len(texts) - 1)


class Odd:
    """A reranker whose scores are none."""

    async def __call__(self, _query: str, texts: Sequence[str]) -> Sequence[float]:
        return [float("nan") for _ in texts]


class Early:
    """A reranker that raises before there is anything to wait for."""

    def __call__(self, _query: str, _texts: Sequence[str]) -> Awaitable[Sequence[float]]:
        raise RuntimeError("the text of a memory")


class Nameless:
    """No broker."""

    def __init__(self, _settings: Any) -> None:
        pass


class Count:
    """A command: how many memories there are of some words."""

    help: ClassVar = {"en": "count what is known of some words", "zh": "数一数知道多少"}
    changes = False

    async def run(self, memory: Any, session: Any, rest: str) -> str:
        if rest == "fail":
            raise ValueError("the text of a memory")
        return f"{len(await memory.search(session, rest, limit=50, kinds=['memory']))} known"


RERANKERS: dict[str, parts.Reranker] = {
    "stuck": Stuck(),
    "broken": Broken(),
    "few": Few(),
    "odd": Odd(),
    "early": Early(),
}


def rows(path: Path, _zone: object) -> Iterator[dict[str, object]]:
    """A layout: a memory a line."""
    for line in path.read_text("utf-8").splitlines():
        yield {"content": line}


@asynccontextmanager
async def hello(service: Service) -> AsyncIterator[Sequence[Route]]:
    """A surface."""

    async def answer(_: Request) -> PlainTextResponse:
        return PlainTextResponse(f"hello from {len(service.feeds)}")

    yield [Route("/hello", answer)]


@pytest.fixture(autouse=True)
def _installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Install a package that brings one part of each kind."""
    info = tmp_path / "site" / "acme-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n", "utf-8")
    lines = {
        "broker.exchange": "Broker",
        "broker.hanging": "Hanging",
        "broker.raising": "Raising",
        "broker.count": "Nameless",
        "reranker.longest": "Longest",
        "reranker.stuck": "Stuck",
        "reranker.broken": "Broken",
        "reranker.unmade": "nothing_of_this_name",
        "command.count": "Count",
        "command.unmade": "nothing_of_this_name",
        "layout.lines": "rows",
        "surface.hello": "hello",
    }
    named = "".join(f"{name} = acme:{value}\n" for name, value in lines.items())
    (info / "entry_points.txt").write_text(f"[gateway_memory.parts]\n{named}", "utf-8")
    (tmp_path / "site" / "acme.py").write_text(f"from {__name__} import *\n", "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    monkeypatch.setitem(sys.modules, "acme", sys.modules[__name__])
    for cached in (dispatch._names, dispatch._brought):
        cached.cache_clear()
    yield
    for cached in (dispatch._names, dispatch._brought):
        cached.cache_clear()
    Exchange.clients.clear()
    Exchange.away = False


def config(**sections: Any) -> Any:
    defaults = {**RECALL, **sections}
    return load_config({"agents": {"defaults": {"memorySync": defaults}}})


def with_broker() -> Any:
    mqtt = {"enabled": True, "trustBroker": True, "workspaceId": "shared"}
    return config(notify={"broker": "exchange", "mqtt": mqtt})


def test_the_names_of_a_kind_are_ours_and_those_that_packages_bring() -> None:
    assert parts.names("broker") == ["mqtt", "exchange", "hanging", "raising", "count"]
    for kind, ours in parts.OWN.items():
        assert set(ours) <= set(parts.names(kind))
    with pytest.raises(LookupError, match="no installed package brings the broker 'carrier'"):
        parts.make("broker", "carrier")


async def test_a_broker_carries_events_and_is_called_by_its_name(tmp_path: Path) -> None:
    async with GatewayMemory(with_broker(), tmp_path / "a") as one, GatewayMemory(with_broker(), tmp_path / "b") as two:
        told, heard = [await memory.start_session("x", user=OWNER) for memory in (one, two)]
        await one.after_reply(told, user="Remember that the boiler is in the cellar.", reply="OK")
        await one.flush()
        await until(lambda: len(heard.pending.inbox) == 1)
        assert "cellar" in (await two.before_reply(heard, "Good morning")).text
        answer = str(await one.command(told, "/memory status"))
        assert "Exchange: connected" in answer
        assert "MQTT" not in answer


async def test_what_a_broker_that_is_away_has_not_got_waits_over_a_restart(tmp_path: Path) -> None:
    Exchange.away = True
    async with GatewayMemory(with_broker(), tmp_path / "a") as one:
        session = await one.start_session("x", user=OWNER)
        await one.after_reply(session, user="Remember that the boiler is in the cellar.", reply="OK")
        await one.flush()
        assert "1 to send" in str(await one.command(session, "/memory status"))
    Exchange.away = False
    async with GatewayMemory(with_broker(), tmp_path / "b") as two:
        heard = await two.start_session("x", user=OWNER)
        async with GatewayMemory(with_broker(), tmp_path / "a"):
            await until(lambda: len(heard.pending.inbox) == 1)


def test_the_config_and_doctor_know_a_broker_of_another_package(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "c.json5"
    mqtt = {"enabled": True, "trustBroker": True, "workspaceId": "shared", "host": "127.0.0.1", "port": 9}
    for broker, valid in (("exchange", True), ("carrier", False)):
        section = {"notify": {"broker": broker, "mqtt": mqtt}}
        path.write_text(json.dumps({"agents": {"defaults": {"memorySync": section}}}), "utf-8")
        assert main(["config", "check", str(path)]) == (0 if valid else 1)
        shown = capsys.readouterr()
        assert valid or 'expected "mqtt" or the name of a broker' in shown.out + shown.err
    path.write_text(path.read_text("utf-8").replace("carrier", "exchange"), "utf-8")
    assert main(["doctor", "mqtt", "--config", str(path), "--workspace", str(tmp_path)]) == 1
    assert "127.0.0.1:9" in capsys.readouterr().out, "nothing listens there"


SAID = ("the boiler is red", "the boiler is in the cellar behind the old shelf", "the boiler is loud")


async def ask(memory: GatewayMemory) -> tuple[list[str], list[str]]:
    """Return what a reply is told, best first, and what a search finds."""
    session = await memory.start_session("x", user=OWNER, ephemeral=True)
    for text in SAID:
        await memory.save_fact(session, content=text)
    await memory.flush()
    fresh = await memory.start_session("y", user=OWNER, ephemeral=True)
    context = await memory.before_reply(fresh, "How is the boiler?")
    return [hit.text for hit in context.recalled], [hit.text for hit in await memory.search(fresh, "boiler")]


async def test_a_reranker_orders_what_a_reply_and_a_search_find(tmp_path: Path) -> None:
    async with GatewayMemory(config(autoRecall={**RECALL["autoRecall"], "reranker": "longest"}), tmp_path) as memory:
        told, found = await ask(memory)
        assert found[0] == max(SAID, key=len)
        assert told == sorted(told, key=len, reverse=True)
        session = await memory.start_session("z", user=OWNER)
        await memory.command(session, "/memory forget the boiler is in the cellar behind the old shelf")
        Longest.seen.clear()
        await memory.before_reply(session, "How is the boiler?")
        await memory.search(session, "boiler")
        assert Longest.seen
        assert not [text for text in Longest.seen if "cellar" in text], "what was forgotten is never shown to it"


@pytest.mark.parametrize("name", RERANKERS)
async def test_a_reranker_that_hangs_or_fails_changes_nothing(
    name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway_memory.context.finder._RERANK_SECONDS", 0.2)
    async with GatewayMemory(config(), tmp_path / "without") as memory:
        told, found = await ask(memory)
    async with GatewayMemory(config(), tmp_path / "with", rerank=RERANKERS[name]) as memory:
        assert await ask(memory) == (told, found)
        session = await memory.start_session("q", user=OWNER)
        assert (await memory.before_reply(session, "boiler?")).outcome == "full"
        failures = (await memory.record(session, "status"))["failures"]
        assert [each["count"] for each in failures if each["place"] == "rerank"], "status and doctor name it"
    assert "the text of a memory" not in caplog.text


def test_a_broker_that_hangs_or_raises_is_said_by_doctor(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway_memory.cli.broker_check._ANSWER_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        mqtt = {"enabled": True, "workspaceId": "w", "host": "127.0.0.1", "port": listener.getsockname()[1]}
        path = tmp_path / "c.json5"
        for broker, said in (
            ("hanging", "Hanging has not answered"),
            ("raising", "Raising: OSError"),
            ("count", "no broker"),
        ):
            section = {"notify": {"broker": broker, "mqtt": mqtt}}
            path.write_text(json.dumps({"agents": {"defaults": {"memorySync": section}}}), "utf-8")
            assert main(["doctor", "mqtt", "--config", str(path), "--workspace", str(tmp_path)]) == 1
            assert said in capsys.readouterr().out


async def test_a_reranker_that_cannot_be_made_is_named_at_the_start(tmp_path: Path) -> None:
    broken = config(autoRecall={**RECALL["autoRecall"], "reranker": "unmade"})
    with pytest.raises(ConfigError, match="the reranker 'unmade' of acme failed: AttributeError"):
        async with GatewayMemory(broken, tmp_path):
            raise AssertionError("it was opened")


async def test_a_command_of_another_package_answers_and_stands_in_help() -> None:
    async with GatewayMemory(config()) as memory:
        session = await memory.start_session("x", user=OWNER)
        await memory.save_fact(session, content="the boiler is red")
        assert await memory.command(session, "/memory count boiler") == "1 known"
        assert "count what is known of some words" in str(await memory.command(session, "/memory help"))
        failed = str(await memory.command(session, "/memory count fail"))
        assert "which another package brings, failed (ValueError)" in failed
        assert not await memory.may_change(session, "/memory count boiler")
        assert "/memory count" in str(await memory.command(session, "/memory countt boiler")), "it is proposed"
        assert "count what is known" in str(await memory.command(session, "/memory help count"))


def test_a_layout_is_imported_by_its_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes.txt").write_text("the boiler is red\nthe key is with Lou\n", "utf-8")
    workspace = str(tmp_path / "w")
    assert main(["import", "lines", str(tmp_path / "notes.txt"), "--workspace", workspace]) == 0
    assert "2 waiting" in capsys.readouterr().out, "what was not said here is looked at by a person"
    assert main(["review", "--workspace", workspace]) == 0
    assert "the key is with Lou" in capsys.readouterr().out


def test_an_error_lists_the_layouts_of_packages_too(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["import", "nosuch", "notes.txt"])
    listed = capsys.readouterr().err
    assert "jsonl" in listed
    assert "lines" in listed


async def test_a_surface_answers_beside_ours(tmp_path: Path) -> None:
    access = Access({"main": tmp_path}, hosts=(), origins=())
    service = Service(access=access, limits=load_config().serve.limits, feeds={})
    async with parts.make("surface", "hello", service) as routes:
        assert [route.path for route in routes] == ["/hello"]
    assert parts.names("surface") == ["page", "mcp", "proxy", "hello"]

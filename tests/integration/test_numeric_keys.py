"""Each number in the config has an effect; `benchmarks/keys.py` shows that these tests fail without it."""

import asyncio
import socket
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from inside import journal_rows, parts
from patience import seconds
from scripted_provider import Provider, Say, serving
from served import service, written

from extractor import Candidate
from gateway_memory import OWNER, Config, GatewayMemory, Session, load_config
from gateway_memory.store.summaries import read_records
from gateway_memory.testing import Clock, ScriptedModel
from recall.rows.postgres import PostgresRows

NOW = datetime(2026, 11, 25, 9, 0, tzinfo=UTC)


def config(**keys: Any) -> Config:
    """A config of rules and words alone, with values at keys below `memorySync`, whose dots are written as __."""
    settings: dict[str, Any] = {"autoExtract": {"model": "rules"}, "autoRecall": {"embedder": {"provider": "none"}}}
    for key, value in keys.items():
        *path, last = key.split("__")
        place = settings
        for step in path:
            place = place.setdefault(step, {})
        place[last] = value
    return load_config({"agents": {"defaults": {"memorySync": settings}}})


async def told(memory: GatewayMemory, *texts: str, key: str = "one", reply: str = "Noted.") -> Session:
    session = await memory.start_session(key, user=OWNER)
    for text in texts:
        await memory.after_reply(session, user=text, reply=reply)
    await memory.flush()
    return session


LOCKERS = [f"Remember that my blue locker {number} opens with key {number * 7919}." for number in range(1, 6)]
LOCKERS_ASKED = "Which key opens my blue locker?"


async def test_who_never_pauses_is_read_after_the_longest_wait(tmp_path: Path) -> None:
    model = ScriptedModel({})
    quiet = seconds(1)
    settings = config(autoExtract__debounceSeconds=quiet, autoExtract__maxWaitSeconds=1.1 * quiet)
    async with GatewayMemory(settings, tmp_path, extract=model) as memory, asyncio.timeout(10 * quiet):
        session = await memory.start_session("one", user=OWNER)
        while not model.calls:
            await memory.after_reply(session, user="My neighbour Tom bought a green tractor today", reply="I see.")
            await asyncio.sleep(0.1)


async def test_what_models_cost_is_told_by_the_prices(tmp_path: Path) -> None:
    async with GatewayMemory(config(autoExtract__inputPrice=3, autoExtract__outputPrice=50), tmp_path) as memory:
        session = await memory.start_session("one", user=OWNER)
        day = memory.now().astimezone(memory.zone).date().isoformat()
        ledger = parts(memory).storage.ledger
        assert await ledger.reserve(day, calls=10, tokens=10_000_000, wanted=10)
        await ledger.settle(day, reserved=10, input_tokens=1_000_000, output_tokens=100_000)
        assert "8.0" in str((await memory.record(session, "status"))["model"]["cost"])


async def test_a_reply_waits_for_its_parts_as_long_as_the_key_says(tmp_path: Path) -> None:
    async def rerank(query: str, texts: Sequence[str]) -> Sequence[float]:
        await asyncio.sleep(1.5)  # its share of the default is .6 seconds
        return [float("locker 1 " in text) for text in texts]

    settings = config(autoRecall__timeoutMs=60_000, autoRecall__minScore=0, opening__enabled=False)
    async with GatewayMemory(settings, tmp_path, rerank=rerank) as memory:
        await told(memory, *LOCKERS)
        context = await memory.before_reply(await memory.start_session("two", user=OWNER), LOCKERS_ASKED)
        assert "locker 1 " in context.recalled[0].text


async def test_no_more_memories_are_told_than_the_key_says(tmp_path: Path) -> None:
    settings = config(autoRecall__maxResults=1, autoRecall__episodes__maxResults=0, opening__enabled=False)
    async with GatewayMemory(settings, tmp_path) as memory:
        await told(memory, *LOCKERS)
        context = await memory.before_reply(await memory.start_session("two", user=OWNER), LOCKERS_ASKED)
        assert context.text.count("opens with key") == 1


async def test_memories_keep_to_their_tokens(tmp_path: Path) -> None:
    settings = config(autoRecall__maxInjectedTokens=40, autoRecall__minScore=0, opening__enabled=False)
    async with GatewayMemory(settings, tmp_path) as memory:
        await told(memory, *LOCKERS)
        context = await memory.before_reply(await memory.start_session("two", user=OWNER), LOCKERS_ASKED)
        assert context.text.count("opens with key") < 2


TALKS = [
    ("The ferry to Brindisi was delayed by a storm off Corfu", "A storm off Corfu delays every ferry to Brindisi."),
    ("Then the ferry to Brindisi had no cabins left", "The ferry to Brindisi has few cabins in August."),
    ("At last the ferry to Brindisi lost our luggage", "The ferry to Brindisi pays for lost luggage."),
]
TALKS_ASKED = "What happened on the ferry to Brindisi?"


@pytest.mark.parametrize(("key", "value", "most"), [("maxResults", 1, 1), ("maxInjectedTokens", 150, 1)])
async def test_no_more_is_quoted_than_the_keys_say(tmp_path: Path, key: str, value: int, most: int) -> None:
    settings = config(
        **{f"autoRecall__episodes__{key}": value}, autoRecall__episodes__minScore=0, opening__enabled=False
    )
    async with GatewayMemory(settings, tmp_path) as memory:
        for number, (user, reply) in enumerate(TALKS):
            await told(memory, user, key=f"talk {number}", reply=reply)
        context = await memory.before_reply(await memory.start_session("two", user=OWNER), TALKS_ASKED)
        quoted = [user for user, _ in TALKS if user[:30] in context.text]
        assert 1 <= len(quoted) <= most


@pytest.mark.parametrize(("least", "quoted"), [(0.0, True), (1.0, False)])
async def test_nothing_is_quoted_below_the_score_of_the_key(tmp_path: Path, least: float, quoted: bool) -> None:  # noqa: FBT001
    async with GatewayMemory(config(autoRecall__episodes__minScore=least, opening__enabled=False), tmp_path) as memory:
        await told(memory, TALKS[0][0], reply=TALKS[0][1])
        context = await memory.before_reply(await memory.start_session("two", user=OWNER), TALKS_ASKED)
        assert ("[Earlier Conversations]" in context.text) is quoted


async def test_no_more_updates_wait_than_the_key_says(tmp_path: Path) -> None:
    async with GatewayMemory(config(notify__maxPendingUpdates=2), tmp_path) as memory:
        listener = await memory.start_session("listener", user=OWNER)
        await told(memory, *LOCKERS)
        assert listener.pending.inbox.dropped == 3


@pytest.mark.parametrize(("hours", "told_of"), [(1, 1), (3, 0)])
async def test_an_update_waits_no_longer_than_the_key_says(tmp_path: Path, hours: int, told_of: int) -> None:
    clock = Clock(NOW)
    async with GatewayMemory(config(notify__pendingMaxAgeSeconds=7200), tmp_path, clock=clock) as memory:
        listener = await memory.start_session("listener", user=OWNER)
        await told(memory, LOCKERS[0])
        clock.turn(hours=hours)
        assert len((await memory.before_reply(listener, "anything new?")).updates) == told_of


async def test_events_are_kept_for_as_long_as_a_broker_keeps_them(tmp_path: Path) -> None:
    clock = Clock(NOW)
    settings = config(
        notify__mqtt={"enabled": True, "host": "127.0.0.1", "port": 1, "tls": False, "expirySeconds": 20 * 86400},
        notify__pendingMaxAgeSeconds=3600,
    )
    async with GatewayMemory(settings, tmp_path, clock=clock) as memory:
        session = await told(memory, LOCKERS[0])
        for days, kept in ((10, 1), (11, 0)):
            clock.now += timedelta(days=days)
            await memory.before_reply(session, "anything new?")
            await parts(memory).retention.keep()
            assert (await journal_rows(memory, "SELECT count(*) FROM events"))[0][0] == kept


async def test_an_opening_has_no_more_related_memories_than_the_key_says(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    lines = [f"- The gateway Zephyr {number} needs a client certificate\n" for number in range(8)]
    (tmp_path / "memory/2025-01-02.md").write_text("".join(lines), "utf-8")
    async with GatewayMemory(
        config(opening__maxFound=2, opening__profileTokens=0), tmp_path, clock=Clock(NOW)
    ) as memory:
        session = await memory.start_session("last", user=OWNER)
        topic, todos = "A plan for the week and what is to be bought", ["ask Ana for the certificate of Zephyr"]
        await memory.save_summary(session, topic=topic, summary="s", todos=todos)
        await memory.end_session(session, reason="completed")
        opening = (await memory.start_session("new", user=OWNER)).opening or ""
        assert opening.partition("[Related Memory]")[2].count("needs a client certificate") == 2


@pytest.mark.parametrize(("days", "shown"), [(30, True), (14, False)])
async def test_an_opening_looks_so_many_days_ahead(tmp_path: Path, days: int, shown: bool) -> None:  # noqa: FBT001
    async with GatewayMemory(config(opening__comingDays=days), tmp_path, clock=Clock(NOW)) as memory:
        await told(memory, "Remember that my piano exam is on 20 December 2026.")
        opening = (await memory.start_session("new", user=OWNER)).opening or ""
        assert ("piano exam" in opening.partition("[Coming up]")[2].partition("[")[0]) is shown


def slow(provider: Provider, workspace: Path, **keys: Any) -> GatewayMemory:
    """A memory whose model never answers."""
    provider.always = lambda _: Say(text="{}", after=asyncio.Event())
    url = {"model": "small", "baseUrl": f"{provider.url}/v1", "maxDailyExtractions": 100}
    return GatewayMemory(config(autoExtract=url, sessions__summaryModel="small", **keys), workspace)


async def observed(memory: GatewayMemory) -> Session:
    session = await memory.start_session("one", user=OWNER)
    for number in range(4):
        await memory.observe(
            session, kind="decision", content=f"We decided to move service {number} to port 80{number}"
        )
    return session


async def test_a_summary_by_the_model_is_waited_for_as_the_key_says(tmp_path: Path) -> None:
    async with serving() as provider, slow(provider, tmp_path, sessions__summarySeconds=0.05) as memory:
        await memory.end_session(await observed(memory), reason="completed")
        async with asyncio.timeout(seconds(15)):
            await parts(memory).lifecycle.completed()
        (record,), _ = read_records(tmp_path / "sessions.jsonl")
        assert record["summary"]


async def test_a_stage_by_the_model_is_waited_for_as_the_key_says(tmp_path: Path) -> None:
    async with serving() as provider, slow(provider, tmp_path, sessions__stageSeconds=0.05) as memory:
        session = await observed(memory)
        async with asyncio.timeout(3):  # the default is four seconds
            await memory.before_compaction(session, usage=0.9, messages=40)


async def test_a_session_is_closed_after_the_hours_of_the_key(tmp_path: Path) -> None:
    clock = Clock(NOW)
    async with GatewayMemory(config(sessions__idleHours=2), tmp_path, clock=clock) as memory:
        await told(memory, LOCKERS[0])
        clock.now += timedelta(hours=1)
        assert await parts(memory).lifecycle.close_abandoned(starting=False) == 0
        clock.now += timedelta(hours=2)
        assert await parts(memory).lifecycle.close_abandoned(starting=False) == 1


async def test_of_each_person_the_newest_records_stay(tmp_path: Path) -> None:
    async with GatewayMemory(config(sessions__keep=2), tmp_path) as memory:
        for number in range(4):
            session = await memory.start_session(f"{number}", user=OWNER)
            await memory.save_summary(session, topic=f"The plan for week {number}", summary="It was made.")
            await memory.end_session(session, reason="completed")
        records, _ = read_records(tmp_path / "sessions.jsonl")
        assert len(records) == 2


@pytest.mark.parametrize(("key", "value"), [("maxTokens", 80), ("profileTokens", 60)])
async def test_an_opening_keeps_to_its_tokens(tmp_path: Path, key: str, value: int) -> None:
    settings = config(**{f"opening__{key}": value}, opening__includeMemoryMd=False)
    async with GatewayMemory(settings, tmp_path) as memory:
        await told(memory, *LOCKERS)
        opening = (await memory.start_session("new", user=OWNER)).opening or ""
        assert opening.count("opens with key") < 3


@pytest.mark.parametrize(("least", "waits"), [(0.4, 0), (0.6, 1)])
async def test_what_a_model_is_not_sure_of_waits_for_a_person(tmp_path: Path, least: float, waits: int) -> None:
    text = "The user's sister Ana has a bakery in Porto"
    unsure = Candidate(content=text, category="fact", type="W", importance="normal", confidence=0.5)
    model = ScriptedModel({"Ana": unsure})
    async with GatewayMemory(config(review__minConfidence=least), tmp_path, extract=model) as memory:
        session = await told(memory, "Ana's bakery, we were there again last week, what bread!")
        assert len((await memory.record(session, "review"))["reviews"]) == waits


@pytest.mark.of_postgres
@pytest.mark.slow
async def test_an_index_in_postgresql_has_the_bounds_of_the_keys(
    tmp_path: Path, postgres_schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: dict[str, Any] = {}

    def make(*arguments: Any, **values: Any) -> PostgresRows:
        given.update(values)
        return PostgresRows(*arguments, **values)

    monkeypatch.setattr("gateway_memory.store.postgres.storage.PostgresRows", make)
    store = {"backend": "postgres", "schema": postgres_schema, "residentRows": 2000, "largeScopeRows": 3000}
    async with GatewayMemory(config(store=store), tmp_path):
        assert (given["resident_rows"], given["large_rows"]) == (2000, 3000)


@pytest.mark.slow
@pytest.mark.xdist_group("service")
def test_an_idle_connection_is_closed_after_the_seconds_of_the_key(tmp_path: Path) -> None:
    place = {"main": tmp_path / "w"}
    settings = written(tmp_path, port=0, limits={"keepAliveSeconds": 1})
    with (
        service(settings, "--workspace", str(place["main"]), workspaces=place) as served,
        socket.create_connection(("127.0.0.1", served.port), timeout=seconds(20)) as connection,
    ):
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        while connection.recv(4096):
            pass


@pytest.mark.slow
@pytest.mark.xdist_group("service")
def test_no_more_clients_listen_than_the_key_says(tmp_path: Path) -> None:
    place = {"main": tmp_path / "w"}
    settings = written(tmp_path, port=0, limits={"listeners": 1})
    with (
        service(settings, "--workspace", str(place["main"]), workspaces=place) as served,
        served.client(served.tokens["main"]) as client,
        client.stream("GET", "/v1/changes") as first,
        client.stream("GET", "/v1/changes") as second,
    ):
        assert (first.status_code, second.status_code) == (200, 503)


@pytest.mark.slow
@pytest.mark.xdist_group("service")
@pytest.mark.parametrize(
    ("key", "value", "body", "refusal"),
    [
        ("bodyBytes", 2000, "chunked\r\n\r\n7d1\r\n" + " " * 2001, "a body has at most 2000 bytes"),
        ("readSeconds", 0.5, "chunked\r\n\r\n1\r\n{\r\n", "the body did not arrive within 0.5 s"),
    ],
)
def test_a_body_is_no_larger_and_no_slower_than_the_keys_say(
    tmp_path: Path, key: str, value: float, body: str, refusal: str
) -> None:
    place = {"main": tmp_path / "w"}
    settings = written(tmp_path, port=0, limits={key: value})
    with (
        service(settings, "--workspace", str(place["main"]), workspaces=place) as served,
        socket.create_connection(("127.0.0.1", served.port), timeout=seconds(20)) as connection,
    ):
        head = f"Host: localhost\r\nAuthorization: Bearer {served.tokens['main']}\r\nContent-Type: application/json"
        connection.sendall(f"POST /v1/search HTTP/1.1\r\n{head}\r\nTransfer-Encoding: {body}".encode())
        answer = b""
        while refusal.encode() not in answer and (part := connection.recv(4096)):
            answer += part
        assert refusal in answer.decode()

"""One gateway and its broker: what it believes, what it keeps over a restart, and that a bad broker harms nobody."""

import asyncio
import json
import random
import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from faults import Proxy
from inside import mqtt_status, parts
from mosquitto import Mosquitto, free_port, needs_mosquitto
from mqtt_gateway import config
from patience import seconds, until

from gateway_memory import OWNER, Config, ConfigError, GatewayMemory, Session
from gateway_memory.config.settings import MemorySync
from gateway_memory.sync.mqtt import client_id
from notifier import Event, MemoryChange, MqttSettings, NotifierSettings
from notifier.mqtt import Connection, connect
from notifier.mqtt_login import Credentials
from notifier.wire import Wire
from recall.settings import EmbedderSettings, RecallSettings

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("alone")]  # not beside another test of brokers or deadlines

SECRET = b"a secret for the tests only"
ELSEWHERE = "bbbbbbbbbbbbbbbb.0"
WORDS_ALONE = RecallSettings(embedder=EmbedderSettings(provider="none"))


@pytest.fixture(autouse=True)
def _secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEAM_SECRET", SECRET.decode())


def apart(port: int, **values: object) -> Config:
    return config(port, workspace_id="team", secret_env="TEAM_SECRET", **values)  # noqa: S106 - its name


def quiet(memory: GatewayMemory) -> bool:
    status = mqtt_status(memory)
    return status is not None and status.state == "connected"


def dropped(memory: GatewayMemory) -> dict[str, int]:
    status = mqtt_status(memory)
    assert status is not None
    return dict(status.dropped)


def wire(secret: bytes = SECRET, workspace: str = "team") -> Wire:
    secrets = {"0": secret} if secret else {}
    return Wire(workspace=workspace, instance=ELSEWHERE, secrets=secrets, trust_broker=False, oldest_seconds=86400)


def event(number: int, text: str = "the red door is locked", at: float | None = None) -> Event:
    now = time.time()
    change = MemoryChange(id=f"k{number:07d}", text=text, at=now)
    return Event(scope="owner", at=at or now, changes=(change,), origin=ELSEWHERE, number=number)


@asynccontextmanager
async def stranger(port: int, protocol: str = "5") -> AsyncIterator[Connection]:
    settings = MqttSettings(host="127.0.0.1", port=port, protocol=protocol)  # type: ignore[arg-type]
    async with connect(settings, Credentials(), client_id="stranger", filters=(), keep=False) as link:
        yield link


@needs_mosquitto
@pytest.mark.parametrize("protocol", ["5", "3.1.1"])
async def test_a_hundred_bad_payloads_reach_nobody_and_stop_nothing(protocol: str, tmp_path: Path) -> None:
    generator = random.Random(1)  # noqa: S311 - no secrets
    good = wire()
    topic, payload = good.changed(event(1, "an old thing"), time.time())
    bad: list[tuple[str, bytes]] = [
        wire(b"").changed(event(1), time.time()),
        wire(b"another secret, and a long one").changed(event(1), time.time()),
        good.changed(event(1), time.time() - 100_000),
        (topic, wire(workspace="other").changed(event(1), time.time())[1]),
        (topic, b"x" * 5_000_000),
        (topic, b""),
        (topic, payload.replace(b"old", b"new")),
        (topic, payload[:-9]),
        (topic, json.dumps(json.loads(payload) | {"mac": "0" * 64}).encode()),
    ]
    for _ in range(100):
        fuzzed = bytearray(payload)
        for _ in range(generator.randrange(1, 9)):
            fuzzed[generator.randrange(len(fuzzed))] = generator.randrange(256)
        bad.append((topic, bytes(fuzzed)))
        bad.append((topic.rpartition("/")[0] + "/hello", generator.randbytes(generator.randrange(500))))
    with Mosquitto(tmp_path) as broker:
        async with GatewayMemory(apart(broker.port, protocol=protocol), tmp_path / "one") as memory:
            session = await memory.start_session("listener", user=OWNER)
            await until(lambda: quiet(memory))
            async with stranger(broker.port, protocol) as link:
                for message in bad:
                    await link.send([message])
                await link.send([good.changed(event(1), time.time())])
                await until(lambda: len(session.pending.inbox))
                replayed = good.changed(event(1), time.time())
                await link.send([replayed, replayed, good.changed(event(2, "the lamp is broken"), time.time())])
                await until(lambda: len(session.pending.inbox) == 2)
            updates = (await memory.before_reply(session, "and now?")).updates
            assert [update.text for update in updates] == ["the red door is locked", "the lamp is broken"]
            reasons = dropped(memory)
            assert reasons.keys() >= {"unsigned", "forged", "stale", "workspace", "malformed", "duplicate"}
            assert ("oversized" in reasons) == (protocol == "3.1.1"), "with MQTT 5 the broker does not even send it"
            assert sum(reasons.values()) >= 100


@needs_mosquitto
async def test_without_a_secret_a_foreign_text_is_told_to_nobody(tmp_path: Path) -> None:
    with Mosquitto(tmp_path) as broker:
        async with GatewayMemory(config(broker.port, workspace_id="team"), tmp_path / "one") as memory:
            session = await memory.start_session("listener", user=OWNER)
            await until(lambda: quiet(memory))
            async with stranger(broker.port) as link:
                body = Wire(
                    workspace="team", instance=ELSEWHERE, secrets={}, trust_broker=True, oldest_seconds=86400
                ).changed(event(1), time.time())
                own_journal = parts(memory).storage.event_log.journal
                forged = json.loads(body[1]) | {"origin": f"{own_journal}.7", "number": 9_000_000}
                await link.send([body, (body[0], json.dumps(forged).encode())])
                await until(lambda: dropped(memory).get("untrusted"))
            assert len(session.pending.inbox) == 0


@needs_mosquitto
async def test_what_the_source_no_longer_has_is_not_waited_for(tmp_path: Path) -> None:
    with Mosquitto(tmp_path) as broker:
        async with GatewayMemory(apart(broker.port), tmp_path / "two") as late:
            await until(lambda: quiet(late))
        async with GatewayMemory(apart(broker.port, history_events=5), tmp_path / "one") as early:
            await until(lambda: quiet(early))
            speaker = await early.start_session("speaker", user=OWNER)
            for number in range(12):
                await early.after_reply(
                    speaker, user=f"Remember that locker {number} opens with {number * 7919}.", reply="OK"
                )
                await early.flush()
            while (await parts(early).storage.turns.queue()).outbox:
                await asyncio.sleep(0.02)
            await early.after_reply(speaker, user="Remember that the red door is locked.", reply="OK")
            await early.flush()  # with each new event the oldest leave that were sent
            broker.stop()  # and with it what it kept for the other
            broker.start()
            async with GatewayMemory(apart(broker.port), tmp_path / "two") as late:
                listener = await late.start_session("listener", user=OWNER)
                await until(lambda: len(listener.pending.inbox) >= 5)
                assert dropped(late)["gone"] >= 6
                listener.pending.inbox.take()
                await early.after_reply(speaker, user="Remember that the tower has 40 floors.", reply="OK")
                await until(lambda: len(listener.pending.inbox))


@needs_mosquitto
async def test_a_living_process_sends_what_a_dead_one_left(tmp_path: Path) -> None:
    port = free_port()
    settings = apart(port)
    with Mosquitto(tmp_path) as broker:
        async with GatewayMemory(apart(broker.port), tmp_path / "two") as other:
            listener = await other.start_session("listener", user=OWNER)
            await until(lambda: quiet(other), "a connection")
            async with GatewayMemory(settings, tmp_path / "one") as survivor:
                async with GatewayMemory(settings, tmp_path / "one") as dying:
                    speaker = await dying.start_session("speaker", user=OWNER)
                    await dying.after_reply(speaker, user="Remember that the staging port is 8443.", reply="OK")
                    await dying.flush()
                assert (await parts(survivor).storage.turns.queue()).outbox == 1
                link = Proxy(broker.port, random.Random(1), port=port)  # noqa: S311 - no secrets
                link.cutting = False
                async with link:
                    await until(lambda: len(listener.pending.inbox), quiet=60)
                    assert "8443" in (await other.before_reply(listener, "hm")).text
                    while (await parts(survivor).storage.turns.queue()).outbox:
                        await asyncio.sleep(0.02)


async def pending(memory: GatewayMemory, session: Session) -> list[str]:
    return [update.text for update in (await memory.before_reply(session, "hm")).updates]


async def test_updates_that_wait_survive_a_restart_once(tmp_path: Path) -> None:
    settings = Config(defaults=MemorySync(auto_recall=WORDS_ALONE))
    async with GatewayMemory(settings, tmp_path) as memory:
        speaker = await memory.start_session("speaker", user=OWNER)
        listener = await memory.start_session("listener", user=OWNER)
        for number in range(12):
            await memory.after_reply(
                speaker, user=f"Remember that locker {number} opens with {number * 7919}.", reply="OK"
            )
        for port in (8001, 8002, 8003):
            await memory.after_reply(speaker, user=f"Remember that the staging port is {port}.", reply="OK")
            await memory.flush()
        assert len(listener.pending.inbox) == 10
        waiting = [change.text for _, change in listener.pending.inbox._changes.values()]
    async with GatewayMemory(settings, tmp_path) as memory:
        listener = await memory.start_session("listener", user=OWNER)
        assert await pending(memory, listener) == waiting
        assert len([text for text in waiting if "staging port" in text]) == 1, "three updates of one fact are one line"
        assert await pending(memory, await memory.start_session("new", user=OWNER)) == []
        assert await pending(memory, await memory.start_session("speaker", user=OWNER)) == []
    async with GatewayMemory(settings, tmp_path) as memory:
        assert await pending(memory, await memory.start_session("listener", user=OWNER)) == []


async def test_updates_that_wait_expire(tmp_path: Path) -> None:
    now = datetime(2026, 11, 21, 12, tzinfo=UTC)

    def clock() -> datetime:
        return now

    notify = NotifierSettings(pending_max_age_seconds=3600)
    settings = Config(defaults=MemorySync(auto_recall=WORDS_ALONE, notify=notify))

    async def learn(memory: GatewayMemory, thing: str) -> None:
        speaker = await memory.start_session("speaker", user=OWNER)
        await memory.after_reply(speaker, user=f"Remember that {thing}.", reply="OK")
        await memory.flush()

    async with GatewayMemory(settings, tmp_path, clock=clock) as memory:
        listeners = [await memory.start_session(name, user=OWNER) for name in ("one", "two")]
        await learn(memory, "the red door is locked")
        now += timedelta(minutes=50)
        await learn(memory, "the blue lamp is broken")
        now += timedelta(minutes=20)
        assert await pending(memory, listeners[0]) == ["the blue lamp is broken"]
    async with GatewayMemory(settings, tmp_path, clock=clock) as memory:
        assert await pending(memory, await memory.start_session("two", user=OWNER)) == ["the blue lamp is broken"]


async def test_a_broker_that_never_answers_delays_nobody_and_leaks_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    accepted: list[asyncio.StreamWriter] = []
    server = await asyncio.start_server(lambda _, writer: accepted.append(writer), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    monkeypatch.setattr("notifier.mqtt._TIMEOUT_SECONDS", 3600)  # who waits for its answer hangs
    async with asyncio.timeout(seconds(60)), GatewayMemory(config(port), tmp_path) as memory:
        session = await memory.start_session("one", user=OWNER)
        await memory.after_reply(session, user="Remember that the staging port is 8443.", reply="OK")
        await memory.flush()
        assert "8443" in (await memory.search(session, "staging port"))[0].text
        await until(lambda: accepted)
        status = mqtt_status(memory)
        assert status is not None
        assert status.state == "connecting"
        descriptors = len(list(Path("/dev/fd").iterdir()))
    for writer in accepted:
        writer.close()
    server.close()
    await asyncio.sleep(0)
    assert len(list(Path("/dev/fd").iterdir())) < descriptors


@needs_mosquitto
async def test_a_broker_that_drops_what_we_publish_is_told_in_the_status(tmp_path: Path) -> None:
    acl = tmp_path / "acl"
    acl.write_text("topic read gateway-memory/#\n")
    acl.chmod(0o644)
    with Mosquitto(tmp_path, "allow_anonymous true", f"acl_file {acl}") as broker:
        async with GatewayMemory(config(broker.port), tmp_path / "one") as memory:
            session = await memory.start_session("one", user=OWNER)
            await until(lambda: dropped(memory).get("refused_by_broker"))
            status = await memory.command(session, "/memory status")
            assert status is not None
            assert "connected since" in status
            assert "the broker drops what we publish: Not authorized" in status


@needs_mosquitto
async def test_the_status_says_how_it_stands(tmp_path: Path) -> None:
    with Mosquitto(tmp_path) as broker:
        async with GatewayMemory(config(broker.port), tmp_path / "one") as memory:
            session = await memory.start_session("one", user=OWNER)
            await memory.start_session("two", user=OWNER)
            await until(lambda: quiet(memory))
            broker.kill()
            await until(lambda: not quiet(memory))
            await memory.after_reply(session, user="Remember that the staging port is 8443.", reply="OK")
            await memory.flush()
            status = await memory.command(session, "/memory status")
            assert status is not None
            assert "MQTT: not connected, trying again since 20" in status
            assert "MQTT: 1 to send, oldest 0 s; 0 sent, 0 received" in status
            assert "0 for this session (0 dropped), 1 for 1 sessions in all" in status
            assert memory.metrics.gauges(memory.now())["notify.connected"] == 0
            chinese = await memory.command(session, "/memory status 状态")
            told = next(line for line in str(chinese).splitlines() if "未连接，正在重试" in line)
            assert not re.search("[a-z]{3}", told), "the reason is Chinese too"


@pytest.mark.parametrize("key", ["secretEnv", "usernameEnv", "passwordEnv"])
async def test_a_variable_that_is_named_must_be_set(key: str, tmp_path: Path) -> None:
    field = {"secretEnv": "secret_env", "usernameEnv": "username_env", "passwordEnv": "password_env"}[key]
    with pytest.raises(ConfigError, match=rf"notify\.mqtt\.{key}: the environment variable"):
        async with GatewayMemory(config(1, **{field: "NOT_SET_ANYWHERE"}), tmp_path):
            pass


async def test_a_secret_that_is_too_short_is_refused_and_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEAM_SECRET", "hush")
    with pytest.raises(ConfigError, match=r"notify\.mqtt\.secretEnv: expected secrets of at least 16") as raised:
        async with GatewayMemory(apart(1), tmp_path):
            pass
    assert "hush" not in str(raised.value)


def test_a_client_is_called_by_its_instance() -> None:
    assert client_id(ELSEWHERE) == f"gateway-memory-{ELSEWHERE}"

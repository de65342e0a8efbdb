"""Latency and throughput of events between gateways, through a Mosquitto of its own on this machine.

`python benchmarks/notify.py` measures, in one process with real journals on disk:
- the latency at a steady rate, from `announce` (the event is on disk already) to the inbox of a session of another
  gateway. Rounds of it alternate with rounds of two bare aiomqtt clients on the same broker, with payloads of the same
  size. Shared: one workspace, ids on the wire. Apart: two workspaces, signed text.
- one gateway sending to 1 to 19 others; one process with 1,000 sessions; a burst of 10,000 events;
- before_reply with a broker that accepts connections and never answers, alternating with no broker.
"""

import argparse
import asyncio
import json
import logging
import os
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import aiomqtt
import structlog

from gateway_memory import OWNER, Config, GatewayMemory
from gateway_memory.config.settings import MemorySync
from gateway_memory.store.journal.event_log import EventLog
from gateway_memory.store.journal.turns import Turns
from notifier import Bus, Event, Inbox, MemoryChange, MqttSettings, Notifier, NotifierSettings
from recall import EmbedderSettings, RecallSettings

MOSQUITTO = shutil.which("mosquitto", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
SECRET = "GATEWAY_MEMORY_BENCHMARK_SECRET"
TEXT = "The order service keeps its queue in Redis, and its ledger in PostgreSQL since the spring."


def percentile(values: list[float], share: float) -> float:
    """Return a percentile in milliseconds."""
    return 1000 * sorted(values)[min(len(values) - 1, int(share * len(values)))]


class Broker:
    """A Mosquitto on a free port."""

    def __init__(self, folder: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            self.port = int(server.getsockname()[1])
        config = folder / "mosquitto.conf"
        config.write_text(
            f"listener {self.port} 127.0.0.1\nallow_anonymous true\nset_tcp_nodelay true\nmax_queued_messages 0\n"
        )
        assert MOSQUITTO is not None
        self.process = subprocess.Popen(  # noqa: S603 - our own broker
            [MOSQUITTO, "-c", str(config)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
            except OSError:
                time.sleep(0.02)
            else:
                return


class Arrivals:
    """Takes the place of an inbox, and records when each change arrives."""

    def __init__(self) -> None:
        self.at: dict[str, float] = {}

    def __len__(self) -> int:
        return 0

    def put(self, change: MemoryChange, at: float) -> None:  # noqa: ARG002 - as an inbox
        """Record the time."""
        self.at[change.id] = time.perf_counter()


def config(port: int, *, apart: bool) -> Config:
    """Return settings with a broker at a port (0: none), and lexical search only."""
    own: dict[str, Any] = {"workspace_id": "bench", "secret_env": SECRET} if apart else {}
    mqtt = MqttSettings(enabled=port > 0, host="127.0.0.1", port=port or 1, history_events=20_000, **own)
    recall = RecallSettings(embedder=EmbedderSettings(provider="none"))
    return Config(defaults=MemorySync(notify=NotifierSettings(mqtt=mqtt), auto_recall=recall))


@asynccontextmanager
async def gateways(port: int, folder: Path, number: int, *, apart: bool) -> AsyncIterator[list[GatewayMemory]]:
    """Open a number of gateways, and wait until they are connected."""
    async with AsyncExitStack() as stack:
        opened = [
            await stack.enter_async_context(
                GatewayMemory(config(port, apart=apart), folder / (f"own{index}" if apart else "shared"))
            )
            for index in range(number)
        ]
        for memory in opened:
            while _notifier(memory).status().state != "connected":  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        await asyncio.sleep(0.5)  # hellos
        yield opened


def _notifier(memory: GatewayMemory) -> Notifier:
    notifier = memory._opened().notifier  # noqa: SLF001
    assert notifier is not None
    return notifier


async def store_events(memory: GatewayMemory, names: list[str]) -> list[Event]:
    """Store events, as a plan's transaction does."""
    turns, event_log, now = memory._opened().storage.turns, memory._opened().storage.event_log, time.time()  # noqa: SLF001
    assert isinstance(turns, Turns)
    assert isinstance(event_log, EventLog)
    events = [Event(scope="owner", at=now, changes=(MemoryChange(id=name, text=TEXT, at=now),)) for name in names]
    return await turns._connection.transact(  # noqa: SLF001 - what a plan does
        partial(event_log.add, events=events, plan=None, now=now)
    )


async def wait_for(arrivals: Arrivals, names: list[str], seconds: float = 60) -> None:
    """Wait until all have arrived."""
    async with asyncio.timeout(seconds):
        while not all(name in arrivals.at for name in names[-1:]) or len(arrivals.at) < len(names):  # noqa: ASYNC110
            await asyncio.sleep(0.005)


async def bare(port: int, events: int, rate: float, size: int) -> list[float]:
    """Return the latencies of two aiomqtt clients, QoS 1, at a rate."""
    arrived_at: dict[int, float] = {}
    sent_at: dict[int, float] = {}
    async with (
        aiomqtt.Client("127.0.0.1", port, protocol=aiomqtt.ProtocolVersion.V5) as receiver,
        aiomqtt.Client("127.0.0.1", port, protocol=aiomqtt.ProtocolVersion.V5) as sender,
    ):
        await receiver.subscribe("bare", qos=1)
        sender.pending_calls_threshold = events  # it logs a warning beyond that

        async def listen() -> None:
            async for message in receiver.messages:
                arrived_at[int(bytes(message.payload)[:6])] = time.perf_counter()
                if len(arrived_at) == events:
                    return

        listening = asyncio.create_task(listen())
        sending = []
        started = time.perf_counter()
        for number in range(events):
            await asyncio.sleep(max(0.0, started + number / rate - time.perf_counter()))
            sent_at[number] = time.perf_counter()
            payload = b"%06d" % number + b"x" * (size - 6)
            sending.append(asyncio.create_task(sender.publish("bare", payload, qos=1)))
        await asyncio.gather(listening, *sending)
    return [arrived_at[number] - sent_at[number] for number in range(events)]


async def between_gateways(
    pair: list[GatewayMemory], events: int, rate: float, round_: int
) -> tuple[list[float], list[float]]:
    """Return the latencies from `announce`, and from before the event was on disk."""
    arrivals = Arrivals()
    sender, receiver = pair
    receiver._opened().bus.subscribe("arrivals", "arrivals", ["owner"], arrivals)  # type: ignore[arg-type] # noqa: SLF001
    names = [f"t{round_}n{number:06d}" for number in range(events)]
    sent_at: dict[str, float] = {}
    started_at: dict[str, float] = {}

    async def announce(name: str) -> None:
        started_at[name] = time.perf_counter()
        (event,) = await store_events(sender, [name])
        sent_at[name] = time.perf_counter()
        _notifier(sender).announce(event)

    started = time.perf_counter()
    for number, name in enumerate(names):
        await asyncio.sleep(max(0.0, started + number / rate - time.perf_counter()))
        await announce(name)
    await wait_for(arrivals, names)
    receiver._opened().bus.unsubscribe("arrivals")  # noqa: SLF001
    return [arrivals.at[name] - sent_at[name] for name in names], [
        arrivals.at[name] - started_at[name] for name in names
    ]


async def end_to_end(port: int, folder: Path, rate: float, events: int, rounds: int) -> dict[str, Any]:
    """Measure both topologies and the bare clients, in alternating rounds."""
    found: dict[str, list[float]] = {"bare": [], "shared": [], "shared, with the disk": [], "apart": []}
    found["apart, with the disk"] = []
    async with (
        gateways(port, folder / "s", 2, apart=False) as shared,
        gateways(port, folder / "a", 2, apart=True) as apart,
    ):
        for round_ in range(rounds):
            found["bare"] += await bare(port, events, rate, 450)
            for name, pair in (("shared", shared), ("apart", apart)):
                announced, whole = await between_gateways(pair, events, rate, round_)
                found[name] += announced
                found[f"{name}, with the disk"] += whole
    return {name: {"p50": percentile(row, 0.5), "p95": percentile(row, 0.95)} for name, row in found.items()}


async def fan_out(port: int, folder: Path, listeners: int, events: int) -> dict[str, float]:
    """Measure one gateway sending to several at 20 events a second."""
    async with gateways(port, folder / f"fan{listeners}", listeners + 1, apart=True) as (sender, *others):
        all_arrivals = [Arrivals() for _ in others]
        for other, arrivals in zip(others, all_arrivals, strict=True):
            other._opened().bus.subscribe("arrivals", "arrivals", ["owner"], arrivals)  # type: ignore[arg-type] # noqa: SLF001
        names = [f"f{number:06d}" for number in range(events)]
        sent_at = {}
        for name in names:
            (event,) = await store_events(sender, [name])
            sent_at[name] = time.perf_counter()
            _notifier(sender).announce(event)
            await asyncio.sleep(0.05)
        for arrivals in all_arrivals:
            await wait_for(arrivals, names)
        taken = [arrivals.at[name] - sent_at[name] for arrivals in all_arrivals for name in names]
        return {"p50": percentile(taken, 0.5), "p95": percentile(taken, 0.95)}


def in_process(sessions: int) -> dict[str, float]:
    """Measure one event to many inboxes of one process."""
    bus = Bus()
    for number in range(sessions):
        bus.subscribe(f"id{number}", f"key{number}", ["owner"], Inbox(10))
    taken = []
    for number in range(200):
        event = Event(scope="owner", at=1.0, changes=(MemoryChange(id=f"c{number}", text=TEXT, at=1.0),))
        started = time.perf_counter()
        bus.publish(event)
        taken.append(time.perf_counter() - started)
    return {"p50": percentile(taken, 0.5), "p95": percentile(taken, 0.95)}


async def burst(port: int, folder: Path, events: int) -> dict[str, float]:
    """Measure how long a burst takes to arrive, and how much the resident memory grows."""
    async with gateways(port, folder / "burst", 2, apart=True) as (sender, receiver):
        arrivals = Arrivals()
        receiver._opened().bus.subscribe("arrivals", "arrivals", ["owner"], arrivals)  # type: ignore[arg-type] # noqa: SLF001
        names = [f"b{number:06d}" for number in range(events)]
        stored = await store_events(sender, names)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        started = time.perf_counter()
        for event in stored:
            _notifier(sender).announce(event)
        await wait_for(arrivals, names, 120)
        seconds = time.perf_counter() - started
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        return {"seconds": seconds, "events_per_second": events / seconds, "rss_grown_mb": grown / 1024}


async def silent_broker(folder: Path, messages: int, rounds: int) -> dict[str, Any]:
    """Measure before_reply with no broker and with one that never answers, and how long each takes to open."""
    server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    silent = int(server.sockets[0].getsockname()[1])
    replies: dict[str, list[float]] = {"none": [], "silent": []}
    opened: dict[str, list[float]] = {"none": [], "silent": []}
    for round_ in range(rounds):
        for name, port in (("none", 0), ("silent", silent)):
            started = time.perf_counter()
            async with GatewayMemory(config(port, apart=False), folder / f"{name}{round_}") as memory:
                opened[name].append(time.perf_counter() - started)
                session = await memory.start_session("one", user=OWNER)
                for number in range(30):
                    await memory.after_reply(session, user=f"Remember that box {number} is {TEXT}", reply="OK")
                await memory.flush()
                for number in range(messages):
                    started = time.perf_counter()
                    await memory.before_reply(session, f"what is in box {number}, and where does the queue live?")
                    replies[name].append(time.perf_counter() - started)
    server.close()
    rows = {
        name: {"p50": percentile(row, 0.5), "p95": percentile(row, 0.95), "open": percentile(opened[name], 0.5)}
        for name, row in replies.items()
    }
    return rows | {"p95_ratio": rows["silent"]["p95"] / rows["none"]["p95"]}


async def measure(args: argparse.Namespace) -> dict[str, Any]:
    """Return everything that is measured."""
    os.environ[SECRET] = "a secret of the benchmark"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        broker = Broker(folder)
        try:
            result: dict[str, Any] = {
                "end_to_end_ms": await end_to_end(broker.port, folder, args.rate, args.events, args.rounds)
            }
            result["gateways_ms"] = {
                listeners: await fan_out(broker.port, folder, listeners, 40) for listeners in (1, 2, 5, 10, 19)
            }
            result["thousand_sessions_ms"] = in_process(1000)
            result["burst"] = await burst(broker.port, folder, args.burst)
            result["before_reply_ms"] = await silent_broker(folder, 200, 5)
        finally:
            broker.process.terminate()
            broker.process.wait()
    floor = result["end_to_end_ms"]["bare"]
    for row in result["end_to_end_ms"].values():
        row["over_bare"] = {share: row[share] / floor[share] for share in ("p50", "p95")}
    return result


def table(result: dict[str, Any]) -> str:
    """Return the result as lines."""
    lines = []
    for name, row in result["end_to_end_ms"].items():
        over = row["over_bare"]
        lines.append(
            f"  end to end, {name:22} p50 {row['p50']:6.2f}  p95 {row['p95']:6.2f} ms"
            f"   {over['p50']:.2f} x, {over['p95']:.2f} x of bare"
        )
    for listeners, row in result["gateways_ms"].items():
        lines.append(f"  one gateway to {listeners:2} others          p50 {row['p50']:6.2f}  p95 {row['p95']:6.2f} ms")
    row = result["thousand_sessions_ms"]
    lines.append(f"  in process to 1000 sessions       p50 {row['p50']:6.2f}  p95 {row['p95']:6.2f} ms")
    row = result["burst"]
    lines.append(
        f"  burst: {row['seconds']:.2f} s, {row['events_per_second']:.0f} events a second,"
        f" resident memory grown by {row['rss_grown_mb']:.1f} MB"
    )
    row = result["before_reply_ms"]
    lines += [
        f"  before_reply, broker {name:6}       p50 {row[name]['p50']:6.2f}  p95 {row[name]['p95']:6.2f} ms,"
        f" opened in {row[name]['open']:.0f} ms"
        for name in ("none", "silent")
    ]
    lines.append(f"  p95 beside a silent broker: {row['p95_ratio']:.2f} x")
    return "\n".join(lines)


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=float, default=200, help="events a second (default: %(default)s)")
    parser.add_argument("--events", type=int, default=400, help="of each round (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--burst", type=int, default=10_000)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    if MOSQUITTO is None:
        sys.stderr.write("no mosquitto is installed\n")
        return 1
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    result = asyncio.run(measure(args))
    print(json.dumps(result, indent=1) if args.json else table(result))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

"""One of several gateways that hear of each other. `mqtt_gateway.py WORKSPACE NAME PORT LOG [KEY=VALUE …]`.

It does what it reads: `say N` until its journal holds N events of this name's making, `stop`. It writes a line into LOG
for each change that its sessions are told, and says on standard output what it has done.
"""

import asyncio
import json
import sys
from functools import partial
from pathlib import Path

from inside import connection, journal_rows, mqtt_status, parts

from gateway_memory import Config, GatewayMemory, wiring
from gateway_memory.config.settings import MemorySync
from gateway_memory.store.journal.event_log import EventLog
from notifier import Bus, Event, MemoryChange, MqttSettings, NotifierSettings
from recall.settings import EmbedderSettings, RecallSettings


def config(port: int, **values: object) -> Config:
    mqtt = MqttSettings(enabled=True, host="127.0.0.1", port=port, **values)  # type: ignore[arg-type]
    recall = RecallSettings(embedder=EmbedderSettings(provider="none"))
    return Config(defaults=MemorySync(notify=NotifierSettings(mqtt=mqtt), auto_recall=recall))


class Recorder:
    """Stands where a session's inbox does."""

    def __init__(self, path: Path) -> None:
        self._stream = path.open("a", encoding="utf-8", buffering=1)

    def __len__(self) -> int:
        return 0

    def put(self, change: MemoryChange, at: float) -> None:
        self._stream.write(f"{change.text}\n")


async def say(memory: GatewayMemory, name: str, upto: int, in_turn: asyncio.Lock) -> None:
    """Announce numbered events, each on disk before it leaves: what ingest does, without the files."""
    async with in_turn:
        await _say(memory, name, upto)


async def _say(memory: GatewayMemory, name: str, upto: int) -> None:
    event_log, notifier, now = parts(memory).storage.event_log, parts(memory).notifier, memory.now().timestamp()
    assert isinstance(event_log, EventLog)
    assert notifier is not None
    while True:
        # After a kill it may be another instance that goes on: while somebody looks after the dead one's slot.
        ((head,),) = await journal_rows(
            memory,
            "SELECT coalesce(sum(head), 0) FROM sources WHERE origin IN (SELECT origin FROM events WHERE body LIKE ?)",
            (f'%"{name}0%',),
        )
        if head >= upto:
            return
        changes = MemoryChange(id=f"{name}{head + 1:06d}", text=f"{name} {head + 1}", at=now, source="me")
        event = Event(scope="owner", at=now, changes=(changes,))
        (kept,) = await connection(memory).transact(partial(event_log.add, events=[event], plan=None, now=now))
        notifier.announce(kept)


async def main(workspace: str, name: str, port: str, log: str, *options: str) -> None:
    values = dict(option.split("=") for option in options)

    def recorded_bus() -> Bus:  # from the start: what was missed comes as soon as there is a connection
        bus = Bus()
        bus.subscribe("recorder", "recorder", ["owner"], Recorder(Path(log)))  # type: ignore[arg-type]
        return bus

    wiring.Bus = recorded_bus  # type: ignore[attr-defined,assignment]
    async with GatewayMemory(config(int(port), **values), workspace) as memory:
        reader = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        sys.stdout.write("open\n")
        sys.stdout.flush()
        saying: set[asyncio.Task[None]] = set()
        in_turn = asyncio.Lock()
        async for line in reader:
            match line.decode().split():
                case ["say", number]:
                    saying.add(asyncio.create_task(say(memory, name, int(number), in_turn)))
                case ["said"]:
                    await asyncio.gather(*saying)
                    sys.stdout.write("said\n")
                case ["status"]:
                    status = mqtt_status(memory)
                    assert status is not None
                    shown = {"state": status.state, "reason": status.reason, "dropped": dict(status.dropped)}
                    sys.stdout.write(json.dumps(shown) + "\n")
                case ["stop"]:
                    break
            sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))

"""`gateway-memory listen`: show the events of gateways as they come over the broker."""

import argparse
import asyncio
import json
import secrets
import sys
import time
from collections.abc import Iterator
from typing import Any

from gateway_memory.cli.broker_check import advice_on, broker_and_wire
from gateway_memory.cli.findings import finding
from gateway_memory.cli.options import tell
from gateway_memory.parts import Broker
from gateway_memory.sync.mqtt import client_id
from notifier import DroppedError, EventMessage, MqttSettings, NotifierError, Wire


def run_listen(args: argparse.Namespace) -> int:
    """Print events as they arrive, until interrupted; returns the exit code."""
    settings, broker, wire = broker_and_wire(args)
    try:
        asyncio.run(_listen(settings, broker, wire, as_json=args.json))
    except NotifierError as error:
        tell(str(error), advice_on(error), beside=True)
        return 1
    return 0


async def _listen(settings: MqttSettings, broker: Broker, wire: Wire, *, as_json: bool) -> None:
    # Its own client id and no persistent session, so that it takes nothing from the gateways.
    name = client_id(f"listen-{secrets.token_hex(4)}")

    messages: asyncio.Queue[tuple[str, bytes]] = asyncio.Queue()

    def receive(*message: Any) -> None:
        messages.put_nowait(message)

    async with broker.connect(client_id=name, filters=wire.filters[:1], keep=False, receive=receive) as link:
        where = f"{settings.host}:{settings.port}"
        sys.stderr.write(f"{finding('listening', topic=wire.filters[0], where=where)}\n")
        lost = asyncio.ensure_future(link.lost())
        while True:
            next_one = asyncio.ensure_future(messages.get())
            await asyncio.wait((lost, next_one), return_when=asyncio.FIRST_COMPLETED)
            if not next_one.done():
                next_one.cancel()
                await lost
            sys.stdout.write("".join(f"{line}\n" for line in _lines(wire, *next_one.result(), as_json=as_json)))
            sys.stdout.flush()


def _lines(wire: Wire, topic: str, payload: bytes, *, as_json: bool) -> Iterator[str]:
    at = time.time()
    try:
        message = wire.read(topic, payload, at)
    except DroppedError as error:
        yield json.dumps({"dropped": error.reason}) if as_json else finding("dropped", reason=error.reason)
        return
    if not isinstance(message, EventMessage):
        return
    row: dict[str, Any] = {"origin": message.origin, "number": message.number, "changes": message.count}
    if message.event:
        changes = [{"id": each.id, "action": each.action, "text": each.text} for each in message.event.changes]
        row |= {"scope": message.event.scope, "changes": changes}
    if as_json:
        yield json.dumps(row, ensure_ascii=False)
        return
    text = finding("changed", number=message.count)
    if message.event:
        text = "; ".join(f"{each.action} ({each.id}) {each.text}" for each in message.event.changes)
    yield f"{time.strftime('%H:%M:%S', time.localtime(at))} {message.origin} #{message.number}: {text}"

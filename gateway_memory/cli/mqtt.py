"""`gateway-memory listen`: show the events of gateways as they come over MQTT."""

import argparse
import asyncio
import json
import secrets
import sys
import time
from collections.abc import Iterator
from typing import Any

from gateway_memory.cli.doctor import advice_on, mqtt_of
from gateway_memory.sync.mqtt import client_id, read_login
from notifier import DroppedError, EventMessage, LinkError, MqttSettings, Wire, connect


def run_listen(args: argparse.Namespace) -> int:
    """Print events as they arrive, until interrupted; returns the exit code."""
    settings, wire = mqtt_of(args)
    try:
        asyncio.run(_listen(settings, wire, as_json=args.json))
    except LinkError as error:
        sys.stderr.write(f"{error}\n{advice_on(error)}\n")
        return 1
    return 0


async def _listen(settings: MqttSettings, wire: Wire, *, as_json: bool) -> None:
    login = read_login(settings)
    # Its own client id and no persistent session, so that it takes nothing from the gateways.
    name = client_id(f"listen-{secrets.token_hex(4)}")

    came: asyncio.Queue[tuple[str, bytes]] = asyncio.Queue()

    def receive(topic: str, payload: bytes) -> None:
        came.put_nowait((topic, payload))

    async with connect(settings, login, client_id=name, filters=wire.filters[:1], keep=False, receive=receive) as link:
        sys.stderr.write(f"listening to {wire.filters[0]} at {settings.host}:{settings.port}\n")
        lost = asyncio.ensure_future(link.lost())
        while True:
            next_one = asyncio.ensure_future(came.get())
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
        yield json.dumps({"dropped": error.reason}) if as_json else f"dropped: {error.reason}"
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
    text = f"{message.count} changed"
    if message.event:
        text = "; ".join(f"{each.action} ({each.id}) {each.text}" for each in message.event.changes)
    yield f"{time.strftime('%H:%M:%S', time.localtime(at))} {message.origin} #{message.number}: {text}"

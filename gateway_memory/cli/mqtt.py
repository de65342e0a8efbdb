"""`gateway-memory listen` and `gateway-memory doctor mqtt`: show MQTT events, and diagnose the connection."""

import argparse
import asyncio
import json
import secrets
import socket
import ssl
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from gateway_memory.config.load import load_config
from gateway_memory.errors import ConfigError, UsageError
from gateway_memory.store.journal.in_place import journal_id
from gateway_memory.sync.mqtt import client_id, make_wire, read_login
from notifier import DroppedError, Event, EventMessage, LinkError, MqttSettings, Wire, connect

__all__ = ["run_doctor", "run_listen"]

_ROUND_TRIP_SECONDS: Final = 5.0
_ADVICE: Final = {
    "unreachable": "Nothing answers there: is the broker running, and are host and port right?",
    "tls": "The encryption failed: is it a port for TLS, and does caFile hold who signed the broker's certificate?",
    "credentials": "The broker does not accept user and password: look at usernameEnv and passwordEnv.",
    "refused": "The broker is there and does not want this connection: does it speak the protocol of the settings?",
    "subscribe": "The broker's ACL does not allow to read these topics; docs/mqtt.md has one that does.",
    "lost": "The connection was lost: does another client use the same client id, or is there a limit?",
}

_HUNG_UP: Final = "The port is open: does it want tls, or another transport or protocol?"


def _open(args: argparse.Namespace) -> tuple[MqttSettings, str]:
    """Return the settings and the journal's id. Raises UsageError or ConfigError."""
    settings = load_config(args.config).for_agent(args.agent).notify.mqtt
    journal = journal_id(Path(args.workspace))
    if not (settings.workspace_id or journal):
        raise UsageError(
            f"{args.workspace}: no memory is there yet, so its id is not known; or set notify.mqtt.workspaceId"
        )
    return settings, journal or "0" * 16


def _wire(settings: MqttSettings, journal: str) -> Wire:
    return make_wire(settings, journal=journal, instance=f"{secrets.token_hex(8)}.0")


def run_listen(args: argparse.Namespace) -> int:
    """Print events as they arrive, until interrupted; returns the exit code."""
    settings, journal = _open(args)
    try:
        wire = _wire(settings, journal)
        asyncio.run(_listen(settings, wire, as_json=args.json))
    except LinkError as error:
        sys.stderr.write(f"{error}\n{_ADVICE[error.kind]}\n")
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
    if isinstance(message, EventMessage):
        row: dict[str, Any] = {"origin": message.origin, "number": message.number, "changes": message.count}
        if message.event:
            row |= {"scope": message.event.scope, "changes": list(_changes(message.event))}
        if as_json:
            yield json.dumps(row, ensure_ascii=False)
        else:
            yield f"{time.strftime('%H:%M:%S', time.localtime(at))} {message.origin} #{message.number}: " + (
                "; ".join(f"{change['action']} ({change['id']}) {change['text']}" for change in row["changes"])
                if message.event
                else f"{message.count} changed"
            )


def _changes(event: Event) -> Iterator[dict[str, str]]:
    for change in event.changes:
        yield {"id": change.id, "action": change.action, "text": change.text}


def run_doctor(args: argparse.Namespace) -> int:
    """Try the connection step by step and print what is wrong; returns the exit code."""
    try:
        settings, journal = _open(args)
        problem = asyncio.run(_examine(settings, _wire(settings, journal)))
    except ConfigError as error:
        sys.stdout.write(f"✗ {error}\n")
        return 1
    if problem:
        sys.stdout.write(f"✗ {problem}\n")
        return 1
    state = "" if settings.enabled else " (notify.mqtt.enabled is false, so gateways do not use it yet)"
    sys.stdout.write(f"All is well{state}.\n")
    return 0


async def _examine(settings: MqttSettings, wire: Wire) -> str:
    """Return what is wrong, or ""."""
    login = read_login(settings)
    where = f"{settings.host}:{settings.port}"
    if problem := await _reach(settings, where):
        return problem
    _good(f"{where} can be reached")
    name = client_id(f"doctor-{secrets.token_hex(4)}")
    refusals: list[str] = []
    topic, payload = wire.hello({}, time.time(), want=False)
    back = asyncio.Event()

    def receive(*message: object) -> None:
        if message == (topic, payload):
            back.set()

    try:
        async with (
            connect(settings, login, client_id=f"{name}-b", filters=wire.filters, keep=False, receive=receive),
            connect(settings, login, client_id=name, filters=(), keep=False, refused=refusals.append) as speaks,
        ):
            # No proof that we may read: Mosquitto accepts any subscription, and withholds what its ACL forbids.
            _good(f"connected with MQTT {settings.protocol}, and subscribed to {wire.filters[0]}")
            started = time.perf_counter()
            await speaks.send([(topic, payload)])
            if refusals:
                return (
                    f"The broker's ACL does not allow to write {topic}: {refusals[0]}. docs/mqtt.md has one that does."
                )
            async with asyncio.timeout(_ROUND_TRIP_SECONDS):
                await back.wait()
            _good(f"a message went round in {1000 * (time.perf_counter() - started):.1f} ms")
    except LinkError as error:
        advice = _HUNG_UP if error.kind == "unreachable" else _ADVICE[error.kind]
        return f"{error}. {advice}"
    except TimeoutError:
        barred = "read" if settings.protocol == "5" else "read or to write"  # MQTT 5 reports a refused publication
        return (
            f"A message to {topic} did not come back: the broker's ACL does not allow to {barred} it, "
            "and says nothing. docs/mqtt.md has one that does."
        )
    if wire.sends_text and settings.trust_broker:
        sys.stdout.write("! trustBroker is true: whoever may publish at this broker can put words into your prompts.\n")
    return ""


def _good(text: str) -> None:
    sys.stdout.write(f"✓ {text}\n")


async def _reach(settings: MqttSettings, where: str) -> str:
    try:
        async with asyncio.timeout(_ROUND_TRIP_SECONDS):
            context = ssl.create_default_context(cafile=settings.ca_file or None) if settings.tls else None
            if context and settings.cert_file:
                context.load_cert_chain(settings.cert_file, settings.key_file or None)
            _, writer = await asyncio.open_connection(settings.host, settings.port, ssl=context)
            writer.close()
    except OSError as error:  # its subclasses TimeoutError and SSLError too
        return f"{where}: {_in_words(error, tls=settings.tls)}"
    return ""


def _in_words(error: OSError, *, tls: bool) -> str:
    words: list[tuple[type[OSError], str]] = [
        (ssl.SSLCertVerificationError, f"the broker's certificate is not believed. {_ADVICE['tls']}"),
        (ssl.SSLError, _ADVICE["tls"]),
        (socket.gaierror, "there is no host of this name."),
        (ConnectionRefusedError, f"the connection was refused. {_ADVICE['unreachable']}"),
        (TimeoutError, f"no answer within {_ROUND_TRIP_SECONDS:.0f} s: a firewall, or the wrong address?"),
        (FileNotFoundError, "caFile, certFile or keyFile names no file."),
        (ConnectionResetError, f"it hung up. {_ADVICE['tls' if tls else 'refused']}"),
        (OSError, f"{error.strerror or type(error).__name__}. {_ADVICE['unreachable']}"),
    ]
    return next(text for kind, text in words if isinstance(error, kind))

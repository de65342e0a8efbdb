"""`gateway-memory doctor mqtt`: a message goes through the broker and comes back."""

import argparse
import asyncio
import secrets
import socket
import ssl
import time
from collections.abc import Awaitable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final, TypeVar

from gateway_memory.cli.findings import finding, tell_good, write_finding
from gateway_memory.config.load import load_config
from gateway_memory.errors import UsageError
from gateway_memory.parts import Broker
from gateway_memory.store.journal.in_place import journal_id
from gateway_memory.sync.mqtt import broker_of, client_id, make_wire
from notifier import LinkError, MqttSettings, NotifierError, Wire

T = TypeVar("T")

_ROUND_TRIP_SECONDS: Final = 5.0
_ANSWER_SECONDS: Final = 20.0


def broker_and_wire(args: argparse.Namespace) -> tuple[MqttSettings, Broker, Wire]:
    """Return the settings of the broker, the broker, and the form of our messages there.

    Raises:
        UsageError: neither the config nor the workspace has the id of the memory.
        ConfigError: the config has mistakes, or the broker's part failed.
    """
    notify = load_config(args.config).for_agent(args.agent).notify
    settings = notify.mqtt
    journal = journal_id(Path(args.workspace))
    if not (settings.workspace_id or journal):
        raise UsageError(finding("mqtt_no_memory", workspace=args.workspace))
    wire = make_wire(settings, journal=journal or "0" * 16, instance=f"{secrets.token_hex(8)}.0")
    return settings, broker_of(notify), wire


def advice_on(error: NotifierError) -> str:
    """Return what a person can do about a connection that failed; "" where only its broker knows."""
    return finding(f"mqtt_{error.kind}") if isinstance(error, LinkError) else ""


def check_mqtt(args: argparse.Namespace) -> int:
    """Send a message through the broker and back, and say what is wrong. Return the exit code."""
    settings, broker, wire = broker_and_wire(args)
    problem = asyncio.run(_examine_broker(settings, broker, wire))
    if problem:
        write_finding(f"✗ {problem}")
        return 1
    write_finding(finding("all_well", but="" if settings.enabled else finding("mqtt_not_enabled")))
    return 0


async def _examine_broker(settings: MqttSettings, broker: Broker, wire: Wire) -> str:
    """Return what is wrong, or ""."""
    where = f"{settings.host}:{settings.port}"
    if problem := await _reach(settings, where):
        return problem
    tell_good("mqtt_reached", where=where)
    name = client_id(f"doctor-{secrets.token_hex(4)}")
    refusals: list[str] = []
    topic, payload = wire.hello({}, time.time(), want=False)
    back = asyncio.Event()

    def receive(*message: object) -> None:
        if message == (topic, payload):
            back.set()

    try:
        async with AsyncExitStack() as stack:
            hears = broker.connect(client_id=f"{name}-b", filters=wire.filters, keep=False, receive=receive)
            await _in_time(broker, stack.enter_async_context(hears))
            opening = broker.connect(client_id=name, filters=(), keep=False, refused=refusals.append)
            speaks = await _in_time(broker, stack.enter_async_context(opening))
            # No proof that we may read: Mosquitto accepts any subscription, and withholds what its ACL forbids.
            by = f"{broker.name} {settings.protocol}" if broker.name == "MQTT" else broker.name
            tell_good("mqtt_connected", by=by, topic=wire.filters[0])
            started = time.perf_counter()
            await _in_time(broker, speaks.send([(topic, payload)]))
            if refusals:
                return finding("mqtt_not_written", topic=topic, reason=refusals[0])
            async with asyncio.timeout(_ROUND_TRIP_SECONDS):
                await back.wait()
            tell_good("mqtt_went_round", milliseconds=1000 * (time.perf_counter() - started))
    except NotifierError as error:
        unreachable = isinstance(error, LinkError) and error.kind == "unreachable"
        return f"{error}. {finding('mqtt_hung_up') if unreachable else advice_on(error)}".strip()
    except TimeoutError:
        # MQTT 5 reports a refused publication.
        barred = "mqtt_read" if settings.protocol == "5" else "mqtt_read_or_write"
        return finding("mqtt_not_back", topic=topic, barred=finding(barred))
    except Exception as error:  # noqa: BLE001 - whatever a broker of another package raises
        return f"{broker.name}: {type(error).__name__}: {error}"
    if wire.sends_text and settings.trust_broker:
        write_finding(finding("mqtt_trusted"))
    return ""


async def _in_time(broker: Broker, work: Awaitable[T]) -> T:
    """Return the result of a broker's work. Raises NotifierError: it takes too long."""
    try:
        async with asyncio.timeout(_ANSWER_SECONDS):
            return await work
    except TimeoutError:
        raise NotifierError(f"{broker.name} has not answered within {_ANSWER_SECONDS:g} seconds") from None


async def _reach(settings: MqttSettings, where: str) -> str:
    """Return why the broker can't be reached, or ""."""
    try:
        async with asyncio.timeout(_ROUND_TRIP_SECONDS):
            context = ssl.create_default_context(cafile=settings.ca_file or None) if settings.tls else None
            if context and settings.cert_file:
                context.load_cert_chain(settings.cert_file, settings.key_file or None)
            _, writer = await asyncio.open_connection(settings.host, settings.port, ssl=context)
            writer.close()
    except OSError as error:  # its subclasses TimeoutError and SSLError too
        name = next(name for kind, name in _NOT_REACHED if isinstance(error, kind))
        tls, unreachable = finding("mqtt_tls"), finding("mqtt_unreachable")
        why = finding(
            name,
            tls=tls,
            unreachable=unreachable,
            advice=tls if settings.tls else finding("mqtt_refused"),
            seconds=_ROUND_TRIP_SECONDS,
            reason=error.strerror or type(error).__name__,
        )
        return finding("mqtt_not_reached", where=where, why=why)
    return ""


_NOT_REACHED: Final[tuple[tuple[type[OSError], str], ...]] = (
    (ssl.SSLCertVerificationError, "mqtt_certificate"),
    (ssl.SSLError, "mqtt_tls"),
    (socket.gaierror, "mqtt_no_host"),
    (ConnectionRefusedError, "mqtt_connection_refused"),
    (TimeoutError, "mqtt_no_answer"),
    (FileNotFoundError, "mqtt_no_file"),
    (ConnectionResetError, "mqtt_reset"),
    (OSError, "mqtt_other"),
)
"""The text for an error; the first that fits."""

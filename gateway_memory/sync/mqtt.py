"""Create the notifier over a broker from settings. Only imported where one is enabled, or by the commands of it."""

import os
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from functools import partial
from typing import Final

from gateway_memory.errors import ConfigError, StoreError
from gateway_memory.ground.runtime import Runtime
from gateway_memory.ground.threads import run_in_background
from gateway_memory.parts import Broker, make
from gateway_memory.scope import Scope
from gateway_memory.sync.storage import Storage
from notifier import Event, MqttSettings, Notifier, NotifierError, NotifierSettings, Ports, Wire, read_secrets

_PREFIX: Final = "agents.defaults.memorySync.notify.mqtt"
_SEND_SECONDS: Final = 2.0


def broker_of(settings: NotifierSettings) -> Broker:
    """Return the broker that the settings name.

    Raises:
        ConfigError: an environment variable that they name is not set, or a package's broker failed.
    """
    try:
        broker: Broker = make("broker", settings.broker, settings.mqtt)
    except KeyError as error:
        raise ConfigError(f"{_PREFIX}.{error.args[0]}: the environment variable that it names is not set") from None
    except LookupError as error:
        raise ConfigError(str(error)) from error
    if not (isinstance(getattr(broker, "name", None), str) and callable(getattr(broker, "connect", None))):
        raise ConfigError(f"notify.broker: {settings.broker!r} is no broker: it needs a name and connect (parts.py)")
    return broker


def make_wire(settings: MqttSettings, *, journal: str, instance: str) -> Wire:
    """Return the wire, which encodes and decodes messages. Raises ConfigError if the secret can't be used.

    journal: the id of the store.
    instance: the origin of this process.
    """
    secrets: Mapping[str, bytes] = {}
    if settings.secret_env:
        text = os.environ.get(settings.secret_env)
        if text is None:
            raise ConfigError(f"{_PREFIX}.secretEnv: the environment variable that it names is not set")
        try:
            secrets = read_secrets(text)
        except ValueError as error:
            raise ConfigError(f"{_PREFIX}.secretEnv: {error}") from None
    return Wire(
        workspace=settings.workspace_id or journal,
        instance=instance,
        secrets=secrets,
        trust_broker=settings.trust_broker,
        oldest_seconds=settings.expiry_seconds,
    )


def client_id(instance: str) -> str:
    """Return the client id of an instance. The broker stores messages for it while it is disconnected."""
    return f"gateway-memory-{instance}"


async def open_notifier(
    stack: AsyncExitStack, runtime: Runtime, storage: Storage, publish: Callable[[Event], None]
) -> Notifier:
    """Start the notifier of an open store. On close, the stack sends waiting events for at most two seconds.

    publish: delivers an event of another process to the sessions of this process.

    Raises:
        ConfigError: an environment variable that the settings name isn't set, or its secret can't be used.
    """
    broker, event_log = broker_of(runtime.settings.notify), storage.event_log
    settings = runtime.settings.notify.mqtt
    wire = make_wire(settings, journal=event_log.journal, instance=event_log.instance)

    async def follow(scope: str) -> None:
        try:
            await storage.follower.refresh(Scope.parse(scope))
        except NotifierError:
            raise
        except StoreError as error:
            runtime.on_error("sync", error)  # the next message triggers another scan

    notifier = Notifier(
        wire=wire,
        event_log=event_log,
        received_upto=await event_log.received_upto(),
        connect=partial(broker.connect, client_id=client_id(event_log.instance), filters=wire.filters, keep=True),
        broker=broker.name,
        ports=Ports(publish=publish, follow=follow, clock=runtime.timestamp, on_error=runtime.on_error),
    )
    runtime.metrics.sources.append(notifier.gauges)
    run_in_background(stack, notifier.run(), "notifier")
    stack.push_async_callback(notifier.drain, _SEND_SECONDS)
    return notifier

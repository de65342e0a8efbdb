"""Create the notifier over MQTT from settings. Only imported if MQTT is enabled, or by the commands of MQTT."""

import os
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from functools import partial
from typing import Final

from gateway_memory.errors import ConfigError, StoreError
from gateway_memory.ground.runtime import Runtime, run_in_background
from gateway_memory.scope import Scope
from gateway_memory.sync.storage import Storage
from notifier import (
    Credentials,
    Event,
    MqttSettings,
    Notifier,
    NotifierError,
    Ports,
    Wire,
    connect,
    credentials,
    read_secrets,
)

_PREFIX: Final = "agents.defaults.memorySync.notify.mqtt"
_SEND_SECONDS: Final = 2.0


def read_login(settings: MqttSettings) -> Credentials:
    """Return user and password. Raises ConfigError if an environment variable that the settings name is not set."""
    try:
        return credentials(settings)
    except KeyError as error:
        raise ConfigError(f"{_PREFIX}.{error.args[0]}: the environment variable that it names is not set") from None


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
    settings, event_log = runtime.settings.notify.mqtt, storage.event_log
    wire = make_wire(settings, journal=event_log.journal, instance=event_log.instance)
    login = read_login(settings)

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
        connect=partial(
            connect, settings, login, client_id=client_id(event_log.instance), filters=wire.filters, keep=True
        ),
        ports=Ports(publish=publish, follow=follow, clock=runtime.timestamp, on_error=runtime.on_error),
    )
    runtime.metrics.sources.append(notifier.gauges)
    run_in_background(stack, notifier.run(), "notifier")
    stack.push_async_callback(notifier.drained, _SEND_SECONDS)
    return notifier

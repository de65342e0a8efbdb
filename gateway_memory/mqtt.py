"""Opens the notifier from the settings. Imported only where MQTT is switched on, or by its commands."""

import os
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager, AsyncExitStack, nullcontext
from typing import Final

from gateway_memory.errors import ConfigError
from gateway_memory.observability.metrics import Metrics
from gateway_memory.scope import Scope
from gateway_memory.store.journal.event_log import EventLog
from gateway_memory.store.slots import Slot
from gateway_memory.tasks import run_beside
from notifier import Event, MqttSettings, NotifierError, journal_of
from notifier.notifier import Notifier
from notifier.protocol.wire import Wire, read_secrets
from notifier.transport.credentials import Credentials, credentials
from notifier.transport.mqtt import connect

__all__ = ["client_id", "make_wire", "open_notifier", "read_login"]

_PREFIX: Final = "agents.defaults.memorySync.notify.mqtt"
_SEND_SECONDS: Final = 2.0


def read_login(settings: MqttSettings) -> Credentials:
    """Return user and password. Raises ConfigError where a variable that is named isn't set."""
    try:
        return credentials(settings)
    except KeyError as error:
        raise ConfigError(f"{_PREFIX}.{error.args[0]}: the environment variable that it names is not set") from None


def make_wire(settings: MqttSettings, *, journal: str, instance: str) -> Wire:
    """Return the codec of messages. Raises ConfigError where the secret can't be used."""
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
    """Return an instance's MQTT client id. The broker keeps messages for it while the instance is away."""
    return f"gateway-memory-{instance}"


async def open_notifier(
    stack: AsyncExitStack,
    settings: MqttSettings,
    *,
    event_log: EventLog,
    slot: Slot,
    publish: Callable[[Event], None],
    scope_of: Callable[[str], Scope],
    refresh: Callable[[Scope], Awaitable[object]],
    metrics: Metrics,
    clock: Callable[[], float],
    on_error: Callable[[str, BaseException], None],
) -> Notifier:
    """Return a notifier for an open journal. It runs until the stack is closed, and drains for two seconds then.

    Raises:
        ConfigError: an environment variable that the settings name isn't set, or its secret can't be used.
    """
    wire = make_wire(settings, journal=event_log.journal, instance=event_log.instance)
    login = read_login(settings)

    def acquire_origin(origin: str) -> AbstractContextManager[object] | None:
        if origin == event_log.instance:
            return nullcontext()
        if journal_of(origin) != event_log.journal:
            return None
        return slot.orphan(int(origin.partition(".")[2]))

    async def follow(scope: str) -> None:
        try:
            await refresh(scope_of(scope))
        except NotifierError:
            raise
        except OSError as error:
            on_error("sync", error)  # the next message looks again

    notifier = Notifier(
        wire=wire,
        event_log=event_log,
        heard=await event_log.heard(),
        connect=lambda: connect(
            settings,
            login,
            client_id=client_id(event_log.instance),
            filters=wire.filters,
            keep=True,
            receive=notifier.take,
            refused=notifier.refused,
        ),
        publish=publish,
        follow=follow,
        acquire_origin=acquire_origin,
        clock=clock,
        on_error=on_error,
    )
    metrics.sources.append(notifier.gauges)
    run_beside(stack, notifier.run(), "notifier")
    stack.push_async_callback(notifier.drained, _SEND_SECONDS)
    return notifier

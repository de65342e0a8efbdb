"""MQTT, by aiomqtt: a connection, its certificates, credentials and errors. Only here is the library imported."""

import asyncio
import logging
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from functools import partial
from typing import Any, Final, Never, TypeVar

import aiomqtt
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode
from paho.mqtt.subscribeoptions import SubscribeOptions

from notifier.mqtt_login import Credentials, LinkError, LinkErrorKind, credentials, tls_context
from notifier.settings import MqttSettings

T = TypeVar("T")

_TIMEOUT_SECONDS: Final = 10
"""How long the broker may take to accept a connection, and to acknowledge a message."""
_CLOSE_SECONDS: Final = 0.5
_KEEPALIVE_SECONDS: Final = 20
_LARGEST_PACKET: Final = 1024 * 1024
_MOST_UNREAD: Final = 10_000
"""Messages that may wait to be handed over. Events beyond that are a gap, and are requested again."""
_NOT_ALLOWED: Final = {0x86, 0x87, 0x8C}  # bad user name or password, not authorised, bad authentication method
_LIBRARY_LOG: Final = logging.getLogger("gateway_memory.notifier.aiomqtt")
_LIBRARY_LOG.setLevel(logging.CRITICAL)  # the notifier itself logs a lost connection, once


class _Client(aiomqtt.Client):
    """aiomqtt's client, and what its public API cannot tell or do.

    aiomqtt drops the reason why the broker refuses a publication. It waits for its timeout if the connection is closed
    before the broker has accepted it. It cannot stop connecting, and it leaves the socket open after an error.
    """

    def __init__(self, *arguments: Any, refused: Callable[[str], None], **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._refused = refused

    async def open(self) -> None:
        """Connect, and wait until the broker accepts.

        Raises:
            LinkError: it could not be established.
        """
        entering = asyncio.ensure_future(self.__aenter__())
        try:
            await asyncio.shield(entering)
        except asyncio.CancelledError:
            self.timeout = 0
            self._client.disconnect()
            with suppress(Exception):  # it fails now, or in five seconds if a thread still opens the socket
                await asyncio.shield(entering)
            raise
        except aiomqtt.MqttCodeError as error:
            code = error.rc.value if isinstance(error.rc, ReasonCode) else error.rc
            kind: LinkErrorKind = "credentials" if code in _NOT_ALLOWED else "refused"
            raise LinkError(kind, f"the broker refused the connection: {error.rc}") from error
        except aiomqtt.MqttError as error:
            cause = error.__context__  # the OSError, where the socket could not be opened
            raise LinkError("tls" if isinstance(cause, ssl.SSLError) else "unreachable", str(error)) from error

    async def close(self) -> None:
        """Send DISCONNECT and close the socket, also that of a connection that the broker has not accepted.

        If the broker reads nothing, the socket is closed when the keep-alive time has passed.
        """
        self.timeout = _CLOSE_SECONDS
        with suppress(aiomqtt.MqttError, OSError):  # it is lost already, or the broker reads nothing
            await self.__aexit__(None, None, None)
        self._client.disconnect()  # which aiomqtt leaves out after an error

    def _on_publish(self, client: Any, userdata: Any, mid: int, reason_code: ReasonCode, properties: Any) -> None:
        if reason_code.is_failure:
            self._refused(str(reason_code))
        super()._on_publish(client, userdata, mid, reason_code, properties)

    def _on_disconnect(self, client: Any, userdata: Any, flags: Any, reason_code: Any, properties: Any = None) -> None:
        if not self._connected.done():
            self._connected.set_exception(aiomqtt.MqttError("the connection was closed before it was accepted"))
        super()._on_disconnect(client, userdata, flags, reason_code, properties)


class Connection:
    """A connection that the broker has accepted, until `stop`.

    receive: see `connect`. expiry: the properties of each publication, with MQTT 5.
    """

    def __init__(
        self, client: aiomqtt.Client, *, receive: Callable[[str, bytes], None], expiry: Properties | None
    ) -> None:
        self._client = client
        self._receive = receive
        self._expiry = expiry
        self._lost: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        """The reason, once the connection is lost or stopped."""
        self._reading = asyncio.create_task(self._read(), name="gateway-memory-mqtt")

    def post(self, topic: str, payload: bytes) -> asyncio.Future[None]:
        """Publish in order. The future resolves when the broker has acknowledged, or fails with LinkError."""
        publish = partial(self._client.publish, topic, payload, qos=1, properties=self._expiry)
        posted = asyncio.create_task(self._unless_lost(publish))
        posted.add_done_callback(self._note)
        return posted

    async def send(self, messages: Sequence[tuple[str, bytes]]) -> None:
        """Publish (topic, payload) pairs in order, and return when the broker has acknowledged all.

        Raises:
            LinkError: the connection was lost; some may have arrived.
        """
        await asyncio.gather(*(self.post(topic, payload) for topic, payload in messages))

    async def lost(self) -> Never:
        """Wait until the connection is lost. It counts as lost if a publication is not acknowledged in ten seconds.

        Raises:
            LinkError: it is lost.
        """
        await asyncio.wait([self._lost])
        raise LinkError("lost", self._lost.result())

    async def subscribe(self, topics: Sequence[tuple[str, Any]]) -> None:
        """Subscribe to (filter, QoS or options) pairs, and wait for the broker's answer.

        Raises:
            LinkError: it does not allow one of them, or did not answer.
        """
        answers: Any = await self._unless_lost(partial(self._client.subscribe, list(topics)))
        for (name, _), answer in zip(topics, answers, strict=True):
            if answer.is_failure:
                raise LinkError("subscribe", f"the broker does not allow to subscribe to {name}: {answer}")

    def stop(self) -> None:
        """Receive nothing more, and fail what still waits."""
        self._reading.cancel()
        self._end("the connection was closed")

    async def _read(self) -> None:
        try:
            with suppress(aiomqtt.MqttError):  # which is how the messages end
                async for message in self._client.messages:
                    self._receive(message.topic.value, bytes(message.payload))
        finally:
            self._end("the connection was lost")

    def _end(self, reason: str) -> None:
        if not self._lost.done():
            self._lost.set_result(reason)

    def _note(self, posted: asyncio.Task[None]) -> None:
        if not posted.cancelled() and (error := posted.exception()):
            self._end(str(error))

    async def _unless_lost(self, call: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Return what a call of aiomqtt's returns. aiomqtt would wait for its timeout if the connection is lost."""
        calling = asyncio.create_task(call())
        try:
            await asyncio.wait((calling, self._lost), return_when=asyncio.FIRST_COMPLETED)
            if not calling.done():
                raise LinkError("lost", self._lost.result())
            return calling.result()
        except aiomqtt.MqttError as error:
            raise LinkError("lost", f"the broker did not answer: {error}") from error
        finally:
            calling.cancel()


@asynccontextmanager
async def connect(
    settings: MqttSettings,
    login: Credentials,
    *,
    client_id: str,
    filters: Sequence[str],
    keep: bool,
    receive: Callable[[str, bytes], None] = lambda *_: None,
    refused: Callable[[str], None] = lambda _: None,
) -> AsyncIterator[Connection]:
    """Connect and subscribe.

    keep: the broker keeps what comes while this client id is away. receive: is called with topic and payload of each
    message in order, from the event loop; it must neither wait nor raise. refused: is called with the broker's reason
    when it acknowledges a publication and drops it.

    Raises:
        LinkError: it did not come about.
    """
    modern = settings.protocol == "5"
    session: dict[str, Any] = {"clean_session": not keep}
    expiry = None
    option: Any = 1
    if modern:
        properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call] # paho's
        properties.SessionExpiryInterval = settings.expiry_seconds if keep else 0
        properties.MaximumPacketSize = _LARGEST_PACKET
        session = {"clean_start": not keep, "properties": properties}
        expiry = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call] # paho's
        expiry.MessageExpiryInterval = settings.expiry_seconds
        option = SubscribeOptions(qos=1, noLocal=True)
    client = _Client(
        settings.host,
        settings.port,
        identifier=client_id,
        protocol=aiomqtt.ProtocolVersion.V5 if modern else aiomqtt.ProtocolVersion.V311,
        username=login.username,
        password=login.password,
        transport=settings.transport,
        tls_context=await asyncio.to_thread(tls_context, settings) if settings.tls else None,
        timeout=_TIMEOUT_SECONDS,
        keepalive=_KEEPALIVE_SECONDS,
        max_queued_incoming_messages=_MOST_UNREAD,
        logger=_LIBRARY_LOG,
        refused=refused,
        **session,
    )
    try:
        await client.open()
        connection = Connection(client, receive=receive, expiry=expiry)
        try:
            if filters:
                await connection.subscribe([(name, option) for name in filters])
            yield connection
        finally:
            connection.stop()
    finally:
        await client.close()


class MqttBroker:
    """An MQTT broker, as a part. Raises KeyError: an environment variable that the settings name isn't set; its key."""

    name = "MQTT"

    def __init__(self, settings: MqttSettings) -> None:
        self._settings = settings
        self._login = credentials(settings)

    def connect(self, **how: Any) -> AbstractAsyncContextManager[Connection]:
        """Return `connect` with these settings."""
        return connect(self._settings, self._login, **how)

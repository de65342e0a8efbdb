"""One connection to an MQTT broker: paho's client, run by the event loop. No other module knows the library.

aiomqtt, which also wraps paho for asyncio, hides what we need: the reason why a broker drops a publication, and a
connection that is closed before it is accepted.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, Never

from paho.mqtt.client import Client, MQTTMessage, MQTTMessageInfo, MQTTv5, MQTTv311, WebsocketConnectionError
from paho.mqtt.enums import CallbackAPIVersion, MQTTErrorCode
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode
from paho.mqtt.subscribeoptions import SubscribeOptions

from notifier.settings import MqttSettings
from notifier.transport.credentials import Credentials
from notifier.transport.errors import Kind, LinkError
from notifier.transport.tls import tls_context

__all__ = ["Connection", "connect"]

_TIMEOUT_SECONDS: Final = 10
_KEEPALIVE_SECONDS: Final = 20
_KEEPALIVE_CHECK_SECONDS: Final = 1
_LARGEST_PACKET: Final = 1024 * 1024
_NOT_ALLOWED: Final = {0x86, 0x87, 0x8C}  # bad user name or password, not authorised, bad authentication method


class Connection:
    """A connection of one client, from `open` to `close`. All but connecting happens on the event loop."""

    def __init__(
        self,
        settings: MqttSettings,
        login: Credentials,
        *,
        client_id: str,
        keep: bool,
        receive: Callable[[str, bytes], None],
        refused: Callable[[str], None],
    ) -> None:
        self._settings = settings
        self._modern = settings.protocol == "5"
        self._keep = keep
        self._receive = receive
        self._refused = refused
        self._loop = asyncio.get_running_loop()
        self._descriptor = -1
        """The socket's, while the event loop watches it; -1 otherwise."""
        self._accepted: asyncio.Future[LinkError | None] = self._loop.create_future()
        self._subscribed: asyncio.Future[list[ReasonCode]] = self._loop.create_future()
        self._lost: asyncio.Future[None] = self._loop.create_future()
        self._unacknowledged: dict[int, asyncio.Future[None]] = {}
        self._checking: asyncio.TimerHandle | None = None
        self._expiry: Properties | None = None
        if self._modern:
            self._expiry = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call] # paho's
            self._expiry.MessageExpiryInterval = settings.expiry_seconds
        self._paho = Client(
            CallbackAPIVersion.VERSION2,
            client_id=client_id,
            clean_session=None if self._modern else not keep,
            protocol=MQTTv5 if self._modern else MQTTv311,
            transport=settings.transport,
            reconnect_on_failure=False,
        )
        if login.username is not None:
            self._paho.username_pw_set(login.username, login.password)
        self._paho.on_connect = self._on_connect
        self._paho.on_subscribe = self._on_subscribe
        self._paho.on_publish = self._on_publish
        self._paho.on_message = self._on_message
        self._paho.on_disconnect = lambda *_: self._end()
        self._paho.on_socket_close = lambda *_: self._unwatch()

    def post(self, topic: str, payload: bytes) -> asyncio.Future[None]:
        """Publish in order. The future resolves when the broker has acknowledged, or fails with LinkError."""
        future: asyncio.Future[None] = self._loop.create_future()
        posted: list[MQTTMessageInfo] = []
        self._attempt(lambda: posted.append(self._paho.publish(topic, payload, qos=1, properties=self._expiry)))
        if posted and posted[0].rc == MQTTErrorCode.MQTT_ERR_SUCCESS and not self._lost.done():
            self._unacknowledged[posted[0].mid] = future
        else:
            self._end()
            _fail(future)
        return future

    async def send(self, messages: Sequence[tuple[str, bytes]]) -> None:
        """Publish (topic, payload) pairs in order, and return when the broker has acknowledged all.

        Raises:
            LinkError: the connection was lost; some may have arrived.
        """
        try:
            async with asyncio.timeout(_TIMEOUT_SECONDS):
                await asyncio.gather(*(self.post(topic, payload) for topic, payload in messages))
        except TimeoutError as error:
            raise LinkError("lost", "the broker does not acknowledge") from error

    async def lost(self) -> Never:
        """Wait until the connection is lost. It counts as lost after ten seconds without an acknowledgement.

        Raises:
            LinkError: it is lost.
        """
        waiting: set[asyncio.Future[None]] = set()
        while not self._lost.done():
            await asyncio.wait((self._lost,), timeout=_TIMEOUT_SECONDS)
            before, waiting = waiting, set(self._unacknowledged.values())
            if before & waiting:
                raise LinkError("lost", "the broker does not acknowledge")
        raise LinkError("lost", "the connection was lost")

    async def open(self) -> None:
        """Connect, and wait until the broker accepts.

        Raises:
            LinkError: it could not be established.
        """
        thread = ThreadPoolExecutor(1, thread_name_prefix="gateway-memory-mqtt")
        connecting = self._loop.run_in_executor(thread, self._connect)
        connecting.add_done_callback(lambda done: done.cancelled() or done.exception())
        thread.shutdown(wait=False)
        try:
            await asyncio.shield(connecting)
        except asyncio.CancelledError:
            await asyncio.wait([connecting])  # five seconds at most: its socket must not outlive us
            raise
        except ssl.SSLError as error:
            raise LinkError("tls", str(error)) from error
        except (OSError, WebsocketConnectionError) as error:
            raise LinkError("unreachable", str(error)) from error
        self._watch()
        try:
            async with asyncio.timeout(_TIMEOUT_SECONDS):
                refusal = await self._accepted
        except TimeoutError as error:
            raise LinkError("unreachable", "the broker does not answer") from error
        if refusal:
            raise refusal

    async def subscribe(self, filters: Sequence[str]) -> None:
        """Subscribe to topics, and wait for the broker's answer.

        Raises:
            LinkError: it does not allow one of them, or did not answer.
        """
        option: Any = SubscribeOptions(qos=1, noLocal=True) if self._modern else 1
        self._attempt(lambda: self._paho.subscribe([(name, option) for name in filters]))
        await asyncio.wait(
            (self._subscribed, self._lost), timeout=_TIMEOUT_SECONDS, return_when=asyncio.FIRST_COMPLETED
        )
        if not self._subscribed.done():
            raise LinkError("lost", "the subscription was not answered")
        for name, answer in zip(filters, self._subscribed.result(), strict=True):
            if answer.is_failure:
                raise LinkError("subscribe", f"the broker does not allow to subscribe to {name}: {answer}")

    def close(self) -> None:
        """Send DISCONNECT if that is possible without waiting, and close the socket."""
        if self._checking:
            self._checking.cancel()
        self._attempt(self._paho.disconnect)
        self._end()
        self._paho.on_socket_close = None
        if remaining := self._paho.socket():  # its buffer was full
            remaining.close()

    def _connect(self) -> None:
        """Open the socket and send CONNECT. It blocks, so it runs in a thread."""
        session: dict[str, Any] = {}
        if self._modern:
            properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call] # paho's
            properties.SessionExpiryInterval = self._settings.expiry_seconds if self._keep else 0
            properties.MaximumPacketSize = _LARGEST_PACKET
            session = {"clean_start": not self._keep, "properties": properties}
        if self._settings.tls:
            self._paho.tls_set_context(tls_context(self._settings))
        self._paho.connect(self._settings.host, self._settings.port, _KEEPALIVE_SECONDS, **session)

    def _watch(self) -> None:
        socket = self._paho.socket()
        if socket is None:
            self._end()
            return
        self._descriptor = socket.fileno()
        self._loop.add_reader(self._descriptor, self._attempt, self._read)
        self._check_keepalive()

    def _unwatch(self) -> None:
        if self._descriptor >= 0:
            self._loop.remove_reader(self._descriptor)
            self._loop.remove_writer(self._descriptor)
            self._descriptor = -1

    def _attempt(self, work: Callable[[], object]) -> None:
        """Let paho use the socket, and write the rest when there is room. An error ends the connection."""
        if self._lost.done():
            return
        try:
            work()
        except Exception:  # noqa: BLE001 - a broken pipe, a TLS alert, a packet that is none
            self._end()
        if self._descriptor >= 0:
            if self._paho.want_write():
                self._loop.add_writer(self._descriptor, self._attempt, self._paho.loop_write)
            else:
                self._loop.remove_writer(self._descriptor)

    def _read(self) -> None:
        """Read all that has arrived: TLS and websockets buffer bytes that the event loop does not see."""
        while not self._paho.loop_read():
            socket: Any = self._paho.socket()
            if socket is None or not getattr(socket, "pending", int)():
                return

    def _check_keepalive(self) -> None:
        self._attempt(self._paho.loop_misc)
        if not self._lost.done():
            self._checking = self._loop.call_later(_KEEPALIVE_CHECK_SECONDS, self._check_keepalive)

    def _end(self) -> None:
        """Mark the connection as lost, and fail everything that waits for it."""
        self._unwatch()
        if not self._accepted.done():
            self._accepted.set_result(LinkError("unreachable", "the connection was closed before it was accepted"))
        if not self._lost.done():
            self._lost.set_result(None)
        while self._unacknowledged:
            _fail(self._unacknowledged.popitem()[1])

    def _on_connect(self, _client: Client, _data: Any, _flags: Any, answer: ReasonCode, _properties: Any) -> None:
        if self._accepted.done():
            return
        kind: Kind = "credentials" if answer.value in _NOT_ALLOWED else "refused"
        refusal = LinkError(kind, f"the broker refused the connection: {answer}") if answer.is_failure else None
        self._accepted.set_result(refusal)

    def _on_subscribe(
        self, _client: Client, _data: Any, _mid: int, answers: list[ReasonCode], _properties: Any
    ) -> None:
        if not self._subscribed.done():
            self._subscribed.set_result(answers)

    def _on_publish(self, _client: Client, _data: Any, mid: int, answer: ReasonCode, _properties: Any) -> None:
        if answer.is_failure:
            self._refused(str(answer))
        future = self._unacknowledged.pop(mid, None)
        if future and not future.done():
            future.set_result(None)

    def _on_message(self, _client: Client, _data: Any, message: MQTTMessage) -> None:
        with suppress(UnicodeDecodeError):  # a topic that is none of ours
            self._receive(message.topic, bytes(message.payload))


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
    message as it is read, from the event loop; it must neither wait nor raise. refused: is called with the broker's
    reason when it acknowledges a publication and drops it.

    Raises:
        LinkError: it did not come about.
    """
    connection = Connection(settings, login, client_id=client_id, keep=keep, receive=receive, refused=refused)
    try:
        await connection.open()
        if filters:
            await connection.subscribe(filters)
        yield connection
    finally:
        connection.close()


def _fail(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_exception(LinkError("lost", "the connection was lost"))
        future.exception()  # who has stopped waiting needs no complaint

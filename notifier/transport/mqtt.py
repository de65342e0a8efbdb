"""One connection to an MQTT broker, by aiomqtt, which nothing outside this module knows.

What aiomqtt leaves to its user is done here: a client is used for one connection only; one that did not come about is
closed; a refused subscription or publication is an error or is counted; a wait ends when the connection does.
"""

import asyncio
import ssl
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, Literal, Never

import aiomqtt
from aiomqtt.exceptions import MqttConnectError
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode
from paho.mqtt.subscribeoptions import SubscribeOptions

from notifier.settings import MqttSettings
from notifier.transport.credentials import Credentials
from notifier.types import NotifierError

__all__ = ["Connection", "LinkError", "connect"]

Kind = Literal["unreachable", "tls", "credentials", "refused", "subscribe", "lost"]

_TIMEOUT_SECONDS: Final = 10
_KEEPALIVE_SECONDS: Final = 20
_FAILED: Final = 0x80
_LARGEST_PACKET: Final = 1024 * 1024
_NOT_ALLOWED: Final = {0x86, 0x87, 0x8C}  # bad user name or password, not authorised, bad authentication method


class LinkError(NotifierError):
    """The broker can't be reached, refused, or the connection was lost; `kind` says which."""

    def __init__(self, kind: Kind, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class _Client(aiomqtt.Client):
    """aiomqtt's client, and what it doesn't tell: a publication that was refused, and a loss before the start.

    A message is handed over as it is read, and a publication is written at once: in aiomqtt each takes several turns of
    the event loop.
    """

    receive: Callable[[str, bytes], None]
    refused: Callable[[str], None]
    unacknowledged: dict[int, asyncio.Future[None]]
    home: int
    """The thread of the event loop; paho connects in another."""

    def post(self, topic: str, payload: bytes, properties: Properties | None) -> asyncio.Future[None]:
        """Publish; the future is done when the broker has acknowledged."""
        future = self._loop.create_future()
        info = self._client.publish(topic, payload, 1, False, properties)  # noqa: FBT003 - not retained
        if info.rc and not self.lost.done():
            self.lost.set_exception(aiomqtt.MqttCodeError(info.rc, "could not publish"))
        if self.lost.done():
            _fail(future)
        else:
            self.unacknowledged[info.mid] = future
            self._write()
        return future

    def _write(self) -> None:
        try:
            self._client.loop_write()
        except Exception as error:  # noqa: BLE001 - whatever it was, the connection is no more
            if not self.lost.done():
                self.lost.set_exception(error)

    def _on_socket_register_write(self, client: Any, userdata: Any, sock: Any) -> None:
        if threading.get_ident() == self.home:
            self._loop.add_writer(sock.fileno(), self._write)
        else:
            super()._on_socket_register_write(client, userdata, sock)

    def fail_all(self, _: object) -> None:
        """Let nobody wait for what can't come any more."""
        while self.unacknowledged:
            _fail(self.unacknowledged.popitem()[1])

    def _on_message(self, client: Any, userdata: Any, message: Any) -> None:  # noqa: ARG002 - paho's
        try:
            topic = message.topic
        except UnicodeDecodeError:  # none of ours
            return
        self.receive(topic, message.payload)

    def _on_publish(self, client: Any, userdata: Any, mid: int, reason_code: ReasonCode, properties: Any) -> None:
        if getattr(reason_code, "value", 0) >= _FAILED:
            self.refused(str(reason_code))
        super()._on_publish(client, userdata, mid, reason_code, properties)
        future = self.unacknowledged.pop(mid, None)
        if future and not future.done():
            future.set_result(None)

    def _on_disconnect(self, client: Any, userdata: Any, *rest: Any) -> None:
        if not self._connected.done():  # aiomqtt would wait for its timeout
            self._connected.set_exception(aiomqtt.MqttError("the connection was closed before it was accepted"))
        super()._on_disconnect(client, userdata, *rest)

    @property
    def lost(self) -> asyncio.Future[None]:
        """Done when the connection is lost."""
        return self._disconnected

    def abandon(self) -> None:
        """Close the socket of a connection that did not come about, or that was lost: aiomqtt leaves it open."""
        self._client._sock_close()  # noqa: SLF001 - a farewell would be written by a callback, to a socket that is gone
        if self._misc_task is not None:
            self._misc_task.cancel()
        self.fail_all(None)
        for future in (self._connected, self._disconnected):
            if future.done() and not future.cancelled():
                future.exception()  # it was told, or is of no interest: asyncio needn't complain


def _fail(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_exception(LinkError("lost", "the connection was lost"))
        future.exception()  # who has stopped waiting needs no complaint


class Connection:
    """A connection that stands."""

    def __init__(self, client: _Client, *, modern: bool, expiry_seconds: int) -> None:
        self._client = client
        self._properties: Properties | None = None
        if modern:
            self._properties = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call] # paho's
            self._properties.MessageExpiryInterval = expiry_seconds
        client.lost.add_done_callback(client.fail_all)

    def post(self, topic: str, payload: bytes) -> asyncio.Future[None]:
        """Publish after what was published before; done when the broker has acknowledged, LinkError when it can't."""
        return self._client.post(topic, payload, self._properties)

    async def send(self, messages: Sequence[tuple[str, bytes]]) -> None:
        """Publish (topic, payload) pairs in their order; returns when the broker has acknowledged all.

        Raises:
            LinkError: the connection was lost; some may have arrived.
        """
        try:
            async with asyncio.timeout(_TIMEOUT_SECONDS):
                await asyncio.gather(*(self.post(topic, payload) for topic, payload in messages))
        except TimeoutError as error:
            raise LinkError("lost", "the broker does not acknowledge") from error

    async def lost(self) -> Never:
        """Wait for the loss of the connection; one that has not acknowledged for ten seconds is as good as lost.

        Raises:
            LinkError: it is lost.
        """
        waiting: set[asyncio.Future[None]] = set()
        while not self._client.lost.done():
            await asyncio.wait((self._client.lost,), timeout=_TIMEOUT_SECONDS)
            before, waiting = waiting, set(self._client.unacknowledged.values())
            if before & waiting:
                raise LinkError("lost", "the broker does not acknowledge")
        raise LinkError("lost", "the connection was lost")


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
    modern = settings.protocol == "5"
    client = await _client(settings, login, client_id=client_id, keep=keep)
    client.receive, client.refused = receive, refused
    await _enter(client)
    try:
        await _subscribe(client, filters, modern=modern)
        yield Connection(client, modern=modern, expiry_seconds=settings.expiry_seconds)
    except BaseException:
        await asyncio.shield(_leave(client))
        raise
    else:
        await _leave(client)


async def _client(settings: MqttSettings, login: Credentials, *, client_id: str, keep: bool) -> _Client:
    context = await _tls_in_thread(settings) if settings.tls else None
    modern = settings.protocol == "5"
    session: dict[str, Any] = {"clean_session": not keep}
    if modern:
        properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call] # paho's
        properties.SessionExpiryInterval = settings.expiry_seconds if keep else 0
        properties.MaximumPacketSize = _LARGEST_PACKET
        session = {"clean_start": not keep, "properties": properties}
    client = _Client(
        settings.host,
        settings.port,
        identifier=client_id,
        protocol=aiomqtt.ProtocolVersion.V5 if modern else aiomqtt.ProtocolVersion.V311,
        username=login.username,
        password=login.password,
        transport=settings.transport,
        tls_context=context,
        timeout=_TIMEOUT_SECONDS,
        keepalive=_KEEPALIVE_SECONDS,
        **session,
    )
    client.unacknowledged = {}
    client.home = threading.get_ident()
    return client


async def _tls_in_thread(settings: MqttSettings) -> ssl.SSLContext:
    """Read the certificates without blocking the event loop."""
    thread = ThreadPoolExecutor(1, thread_name_prefix="gateway-memory-tls")
    try:
        return await asyncio.get_running_loop().run_in_executor(thread, _tls, settings)
    finally:
        thread.shutdown(wait=False)


def _tls(settings: MqttSettings) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=settings.ca_file or None)
        if settings.cert_file:
            context.load_cert_chain(settings.cert_file, settings.key_file or None)
    except (OSError, ssl.SSLError) as error:
        raise LinkError("tls", f"caFile, certFile or keyFile can't be used: {error.strerror or error}") from error
    return context


async def _enter(client: _Client) -> None:
    entering = asyncio.ensure_future(client.__aenter__())
    try:
        await asyncio.shield(entering)
    except MqttConnectError as error:
        client.abandon()
        code = error.rc.value if isinstance(error.rc, ReasonCode) else error.rc
        kind: Kind = "credentials" if code in _NOT_ALLOWED else "refused"
        raise LinkError(kind, f"the broker refused the connection: {error.rc}") from error
    except aiomqtt.MqttError as error:
        client.abandon()
        text = str(error)
        kind = "tls" if "SSL" in text or "certificate" in text.lower() else "unreachable"
        raise LinkError(kind, text) from error
    except BaseException:
        # paho connects in a thread that can't be stopped, for five seconds at most: its socket must not outlive it.
        if client._client.socket() is None:  # noqa: SLF001
            with suppress(aiomqtt.MqttError):
                await entering
        entering.cancel()
        await asyncio.gather(entering, return_exceptions=True)
        client.abandon()
        raise


async def _subscribe(client: _Client, filters: Sequence[str], *, modern: bool) -> None:
    if not filters:
        return
    topics: Any = [(name, SubscribeOptions(qos=1, noLocal=True) if modern else 1) for name in filters]
    subscribing = asyncio.ensure_future(client.subscribe(topics))
    try:
        await asyncio.wait((subscribing, client.lost), return_when=asyncio.FIRST_COMPLETED)
        if not subscribing.done():
            raise LinkError("lost", "the connection was lost before the subscription was answered")
        answers = subscribing.result()
    except aiomqtt.MqttError as error:
        raise LinkError("lost", f"the subscription was not answered: {error}") from error
    finally:
        subscribing.cancel()
    for name, answer in zip(filters, answers, strict=True):
        code: Any = answer.value if isinstance(answer, ReasonCode) else answer
        if code >= _FAILED:
            raise LinkError("subscribe", f"the broker does not allow to subscribe to {name}: {answer}")


async def _leave(client: _Client) -> None:
    with suppress(aiomqtt.MqttError, OSError):
        await client.__aexit__(None, None, None)
    client.abandon()

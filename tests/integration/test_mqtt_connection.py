"""One connection to a broker that misbehaves: every wait ends soon, and no socket stays open."""

import asyncio
import gc
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path

import pytest
from patience import seconds, until

from notifier import MqttSettings
from notifier.mqtt import Connection, connect
from notifier.mqtt_login import Credentials, LinkError

pytestmark = pytest.mark.slow

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

ACCEPTED = b"\x20\x03\x00\x00\x00"
NOT_AUTHORISED = b"\x20\x03\x00\x87\x00"


@pytest.fixture(autouse=True)
def _nothing_is_logged(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """An exception that nobody retrieves is logged by asyncio, when its task is deleted."""
    yield
    gc.collect()
    assert [record.getMessage() for record in caplog.get_records("call")] == []


@asynccontextmanager
async def broker(serve: Serve) -> AsyncIterator[int]:
    """Serve one connection after its CONNECT packet, then close it."""
    before = open_sockets()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1000)
        await serve(reader, writer)
        writer.close()

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("notifier.mqtt._TIMEOUT_SECONDS", 3600)  # who waits for it hangs
        async with asyncio.timeout(seconds(30)):
            yield server.sockets[0].getsockname()[1]
    server.close()
    await until(lambda: open_sockets() <= before, "the end of the socket")


def open_sockets() -> set[str]:
    """Return the kernel's names of our sockets. Those of an earlier test may close at any time."""
    names: set[str] = set()
    for file in Path("/dev/fd").iterdir():
        # The folder's own file is closed by now.
        with suppress(FileNotFoundError):
            names.add(str(file.readlink()))
    return {name for name in names if name.startswith("socket:")}


def connecting(port: int, *filters: str) -> AbstractAsyncContextManager[Connection]:
    settings = MqttSettings(host="127.0.0.1", port=port)
    return connect(settings, Credentials(), client_id="one", filters=filters, keep=False)


@pytest.mark.parametrize(
    ("answer", "kind"),
    [(b"", "unreachable"), (b"HTTP/1.1 400 Bad Request\r\n", "unreachable"), (NOT_AUTHORISED, "credentials")],
)
async def test_a_connection_that_is_not_accepted_fails(answer: bytes, kind: str) -> None:
    async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answer)

    async with broker(serve) as port:
        with pytest.raises(LinkError) as raised:
            async with connecting(port):
                pass
        assert raised.value.kind == kind


async def test_connecting_can_be_cancelled() -> None:
    connected = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        connected.set()
        await reader.read()

    async def use(port: int) -> None:
        async with connecting(port):
            pass

    async with broker(serve) as port:
        for soon in (False, True):
            task = asyncio.create_task(use(port))
            if soon:
                await asyncio.sleep(0)  # the thread opens the socket just now
            else:
                await connected.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task


@pytest.mark.parametrize("filters", [(), ("one",)])
async def test_a_lost_connection_ends_every_wait(filters: tuple[str, ...]) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(ACCEPTED)
        await reader.read(1000)

    async with broker(serve) as port:
        with pytest.raises(LinkError) as raised:
            async with connecting(port, *filters) as link:
                await link.send([("one", b"first"), ("one", b"second")])
        assert raised.value.kind == "lost"


async def test_an_answer_that_is_no_packet_ends_the_connection() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(ACCEPTED)
        await asyncio.sleep(0.1)
        writer.write(b"\x30\x05\x00\x02\xff\xff\x00")  # a topic that is not UTF-8
        await reader.read()

    async with broker(serve) as port:
        with pytest.raises(LinkError):
            async with connecting(port) as link:
                await link.lost()

"""The way between hosts and their PostgreSQL server: a proxy that delays, cuts within a COMMIT, and closes halves."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from psycopg.conninfo import conninfo_to_dict, make_conninfo

__all__ = ["Way"]

_COMMIT = b"COMMIT\0"
"""As a statement of the protocol ends."""


@dataclass(slots=True, eq=False)
class _Passage:
    """A connection that passes. ends: the writers, of the host's end and of the server's."""

    ends: tuple[asyncio.StreamWriter, asyncio.StreamWriter]
    commits: bool = False
    """Whether a COMMIT is under way to the server, whose answer is to be lost."""


@dataclass(slots=True)
class Way:
    """What is wrong with the way now.

    dsn: leads over it. delay_seconds: how late each answer of the server is. cutting: how many more connections end
    between a COMMIT and its answer. cut: how many did.
    """

    dsn: str
    delay_seconds: float = 0.0
    cutting: int = 0
    cut: int = 0
    _passages: set[_Passage] = field(default_factory=set)

    @classmethod
    @asynccontextmanager
    async def to(cls, dsn: str) -> AsyncIterator["Way"]:
        """A way to the server of a DSN, on a free port of this machine."""
        target = conninfo_to_dict(dsn)

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                there, sink = await asyncio.open_connection(str(target["host"]), int(str(target["port"])))
            except OSError:  # the server is down
                writer.transport.abort()
                return
            await way._pass(reader, writer, there, sink)

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        way = cls(make_conninfo(dsn, host="127.0.0.1", port=server.sockets[0].getsockname()[1]))
        try:
            yield way
        finally:
            server.close()
            for passage in list(way._passages):
                _abort(passage)

    def close_halves(self, generator: random.Random) -> None:
        """Let some connections end in one direction, while the other one stays open."""
        for passage in list(self._passages):
            if generator.random() < 0.5:
                end = generator.choice(passage.ends)
                with suppress(OSError, RuntimeError):
                    end.write_eof()

    async def _pass(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        there: asyncio.StreamReader,
        sink: asyncio.StreamWriter,
    ) -> None:
        passage = _Passage((writer, sink))
        self._passages.add(passage)

        def asked(data: bytes) -> bool:
            if self.cutting and not passage.commits and _COMMIT in data:
                self.cutting -= 1
                passage.commits = True
            return True

        def answered(_: bytes) -> bool:
            if passage.commits:  # the server has carried it out
                self.cut += 1
            return not passage.commits

        try:
            pumps = [
                asyncio.create_task(self._pump(reader, sink, asked, delays=False)),
                asyncio.create_task(self._pump(there, writer, answered, delays=True)),
            ]
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)
        finally:
            self._passages.discard(passage)
            _abort(passage)

    async def _pump(
        self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, passes: Callable[[bytes], bool], *, delays: bool
    ) -> None:
        """Pass on what comes, until either end closes or `passes` says that it goes no further."""
        with suppress(OSError, RuntimeError):
            while data := await source.read(65_536):
                if delays and self.delay_seconds:
                    await asyncio.sleep(self.delay_seconds)
                if not passes(data):
                    return
                sink.write(data)
                await sink.drain()


def _abort(passage: _Passage) -> None:
    for end in passage.ends:
        end.transport.abort()

"""A gateway process on a shared memory: `postgres_host.py FOLDER SCHEMA LOOKS AHEAD`.

LOOKS 1: replies also look at the documents. AHEAD: how many seconds its clock is ahead.

It reads requests as lines of JSON and answers each with a line, as soon as it is done: `hear` before a reply, `say`
after one, `drain`, `full` (whether its disk is), `stop`. Its leases are short, so that a test can wait for their end.
"""

import asyncio
import json
import re
import resource
import sys
from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from inside import parts

from gateway_memory import Config, GatewayMemory
from gateway_memory.capture import processor
from gateway_memory.config.settings import IncrementalSyncSettings, MemorySync, OpeningSettings, StoreSettings
from gateway_memory.errors import GatewayMemoryError
from gateway_memory.store.journal.event_log import EventLog
from gateway_memory.store.postgres import documents, hosts
from notifier import NotifierSettings
from recall import EmbedderSettings, RecallSettings

LEASE_SECONDS = 2
"""The lease of a host and of a lock in this program. The worker looks and tries again as much more often."""
MEMORY = re.compile(r"locker (\w+) opens")


def shorten() -> None:
    """Let leases, and the waits that are made for them, be short in this process."""
    hosts._LEASE_SECONDS = documents._LOCK_SECONDS = LEASE_SECONDS  # type: ignore[misc]
    hosts._RENEW_SECONDS = 0.4  # type: ignore[misc]
    processor._ADOPT_SECONDS = 0.5  # type: ignore[misc]
    processor._LONGEST_RETRY_SECONDS = 2.0  # type: ignore[misc]


def config(schema: str, *, looks: bool) -> Config:
    """Return settings under which a session hears of everything, and an opening has everything."""
    return Config(
        defaults=MemorySync(
            store=StoreSettings(backend="postgres", schema=schema),
            notify=NotifierSettings(max_pending_updates=1000),
            auto_recall=RecallSettings(enabled=False, embedder=EmbedderSettings(provider="none")),
            opening=OpeningSettings(max_tokens=100_000, profile_tokens=100_000),
            incremental_sync=IncrementalSyncSettings(check_on_message=looks),
        )
    )


class Host:
    """Answers requests to an open memory."""

    def __init__(self, memory: GatewayMemory) -> None:
        self._memory = memory
        self._noted: set[str] = set()

    def note_what_is_noted(self) -> None:
        """Record for which sessions it is on disk what they were told."""
        event_log = parts(self._memory).storage.event_log
        assert isinstance(event_log, EventLog)
        mark_delivered = event_log.mark_delivered

        async def marked(scope: str, session_id: str, upto: Mapping[str, int]) -> None:
            await mark_delivered(scope, session_id, upto)
            self._noted.add(session_id)

        event_log.mark_delivered = marked  # type: ignore[method-assign]

    async def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        match request.pop("op"):
            case "hear":
                return await self._hear(**request)
            case "say":
                return await self._say(**request)
            case "drain":
                await self._memory.flush()
                return {}
            case "full":
                _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
                resource.setrlimit(resource.RLIMIT_FSIZE, (0 if request["full"] else most, most))
                return {}
        raise AssertionError(request)

    async def _hear(self, key: str, user: str) -> dict[str, Any]:
        """Begin a reply, and tell of which memories the session was told, in which way."""
        session = await self._memory.start_session(key, user=user)
        asked = session.opening_state is None
        if asked:  # it could not be made at the start; this one takes the place of the updates that waited
            await self._memory.opening(session)
        self._noted.discard(session.session_id)
        context = await self._memory.before_reply(session, "hello")
        return {
            "session": session.session_id,
            "opened": session.opening_state is not None,
            "asked": asked,
            "opening": MEMORY.findall(session.opening),
            "updates": [
                (name, change.action if not change.by_hand else f"{change.action} by hand")
                for change in context.updates
                for name in MEMORY.findall(change.text)
            ],
            "lines": [(name, "line") for row in context.changes for name in MEMORY.findall(row.entry.text)],
            "noted": session.session_id in self._noted,
        }

    async def _say(self, key: str, user: str, text: str, turn: str) -> dict[str, Any]:
        session = await self._memory.start_session(key, user=user)
        number = await self._memory.after_reply(session, user=text, reply="OK", turn_id=turn)
        return {"number": number}


def write(**answer: object) -> None:
    """Write an answer."""
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


async def main(folder: str, schema: str, looks: str, ahead: str) -> None:
    """Answer until told to stop."""
    shorten()

    def now() -> datetime:
        return datetime.now().astimezone() + timedelta(seconds=int(ahead))

    async with GatewayMemory(config(schema, looks=looks == "1"), folder, clock=now) as memory:
        host = Host(memory)
        host.note_what_is_noted()
        reader = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        write(id=0)
        answering: set[asyncio.Task[None]] = set()

        async def answer(number: int, request: dict[str, Any]) -> None:
            try:
                write(id=number, **await host.answer(request))
            except GatewayMemoryError as error:
                write(id=number, error=f"{type(error).__name__}: {error}")

        async for line in reader:
            request = json.loads(line)
            if request["op"] == "stop":
                break
            task = asyncio.create_task(answer(request.pop("id"), request))
            answering.add(task)
            task.add_done_callback(partial(answering.discard))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))

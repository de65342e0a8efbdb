"""Run the writes that a caller may repeat once each, also after a crash between the write and its answer."""

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from gateway_memory.errors import GatewayMemoryError, StoreError
from gateway_memory.store.journal.requests import Request, Requests

Work: TypeAlias = Callable[[], Awaitable[Mapping[str, Any]]]
"""Does what a request asks for, and returns the answer as a JSON object."""


class Repeats:
    """Answers a repeated request with its first answer. timestamp: returns the current time in epoch seconds."""

    def __init__(self, requests: Requests, timestamp: Callable[[], float]) -> None:
        self._requests = requests
        self._timestamp = timestamp
        self._running: dict[tuple[str, str, str], asyncio.Task[str]] = {}

    async def run(
        self, request: Request, work: Work, *, if_interrupted: Work | None, repeatable: bool
    ) -> dict[str, Any]:
        """Run a request unless it has run before, and return its answer. See `GatewayMemory.once`."""
        key = request.call, request.caller, request.id
        running = self._running.get(key)
        if running is None:
            running = asyncio.create_task(self._first(request, work, if_interrupted or work, repeatable=repeatable))
            self._running[key] = running
            running.add_done_callback(lambda done: self._done(key, done))
        # A caller that goes away cancels neither the work nor the wait of the others.
        answer: dict[str, Any] = json.loads(await asyncio.shield(running))
        return answer

    def _done(self, key: tuple[str, str, str], done: asyncio.Task[str]) -> None:
        del self._running[key]
        if not done.cancelled():
            done.exception()  # every caller may be gone

    async def _first(self, request: Request, work: Work, if_interrupted: Work, *, repeatable: bool) -> str:
        known = await self._requests.begin(request, self._timestamp())
        if known:
            return known
        try:
            answer = json.dumps(await (work if known is None else if_interrupted)())
        except GatewayMemoryError as error:
            if repeatable or not isinstance(error, StoreError):
                with contextlib.suppress(StoreError):
                    await self._requests.forget(request)
            raise
        await self._requests.answer(request, answer)
        return answer

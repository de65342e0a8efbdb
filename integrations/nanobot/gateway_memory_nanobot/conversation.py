"""What the memory does in each turn of nanobot. Nothing here raises into nanobot, and everything has a deadline."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeVar

from loguru import logger

from gateway_memory.connect.in_process import AwayError, Waiting, shortened
from gateway_memory_nanobot.facts import facts_of
from gateway_memory_nanobot.holder import Holder

__all__ = ["Conversation"]

T = TypeVar("T")
_REPLY_SECONDS = 2.0
"""The most that one reply waits for the memory: for what it knows, and for the record of the turn."""
_SAVE_SECONDS = 2.0
_ANSWER_SECONDS = 10.0
_RETRY_SECONDS = 2.0
_TURNS_AT_ONCE = 1000


@dataclass
class _Turn:
    """A turn that runs. said: its messages, each with the facts of who wrote it.

    remaining_seconds: how long its reply may still wait. commanded: the model ran a command.
    """

    at: datetime
    said: list[tuple[dict[str, str], str]] = field(default_factory=list)
    remaining_seconds: float = _REPLY_SECONDS
    commanded: bool = False


class Conversation:
    """The turns of one agent loop. sessions: nanobot's, whose transcript has the replies."""

    def __init__(self, holder: Holder, sessions: Any, folder: Path) -> None:
        self._holder, self._sessions = holder, sessions
        self._waiting = Waiting(folder / "gateway-memory-waiting.jsonl")
        self._draining = asyncio.Lock()
        self._retry: asyncio.Task[None] | None = None
        self._ending: set[asyncio.Task[None]] = set()
        self._turns: dict[str, _Turn] = {}
        self._opened: dict[str, tuple[str, int]] = {}
        try:
            self._waiting.load()
        except OSError as error:
            logger.error("gateway-memory: the waiting turns can't be read: {}", error)

    async def context(self, request: Any) -> str:
        """Return what to tell the model before this reply, "" for nothing."""
        text, facts = request.original_user_text, _facts(request)
        if not text or not facts:
            return ""
        turn = self._turns.setdefault(request.turn_id, _Turn(datetime.now().astimezone()))
        turn.said.append((facts, text))  # nanobot can add messages to a turn that runs, also other people's
        while len(self._turns) > _TURNS_AT_ONCE:
            del self._turns[next(iter(self._turns))]  # it ended without a reply
        return await self._in_reply(turn, lambda: self._context(facts, shortened(text)), "", "recall")

    async def _in_reply(self, turn: _Turn, work: Callable[[], Awaitable[T]], otherwise: T, what: str) -> T:
        """Do what a reply waits for, as long as it may; nothing while the memory is away."""
        if self._holder.is_away:
            return otherwise
        clock = asyncio.get_running_loop().time
        start = clock()
        try:
            async with asyncio.timeout(turn.remaining_seconds):
                return await work()
        except TimeoutError as error:
            self._holder.late()
            _log(what, error)
        except Exception as error:  # noqa: BLE001 - a reply matters more
            _log(what, error)
        finally:
            turn.remaining_seconds = max(0.0, turn.remaining_seconds - (clock() - start))
        return otherwise

    async def _context(self, facts: dict[str, str], text: str) -> str:
        await self._drain()
        key = facts["key"]
        history = self._sessions.get_or_create(key)
        upto, contents = history.last_archived, [str(each.get("content")) for each in history.messages]

        async def work(memory: Any) -> str:
            session = await _session(memory, facts)
            known, since = self._opened.get(key, ("", upto))
            if since != upto:
                session.compacted()
            opening = await memory.opening(session) if (known, since) != (session.session_id, upto) else ""
            if any(opening in content for content in contents[upto:]):
                opening = ""  # it stands in the transcript, from before a restart
            context = await memory.before_reply(session, text)
            self._opened[key] = session.session_id, upto
            return "\n\n".join(part for part in (opening, context.text) if part)

        return await self._holder.call(work, _REPLY_SECONDS)

    async def persisted(self, event: Any) -> None:
        """Put a completed turn on disk, and hand it to the memory now or, if it can't take it, later and in order."""
        turn = self._turns.pop(event.turn_id, None)
        if turn is None or turn.commanded:  # a command's words would bring back what it made the memory forget
            return
        reply = _last_reply(self._sessions.get_or_create(event.context.session_key).messages)
        for number, (facts, said) in enumerate(groupby(turn.said, key=itemgetter(0))):  # each speaker's for themselves
            kept = {"facts": facts, "user": "\n".join(text for _, text in said), "reply": reply}
            identity = f"{event.turn_id}+{number}" if number else event.turn_id
            if cut := self._waiting.add({**kept, "at": turn.at.isoformat(), "id": identity}):
                logger.warning("gateway-memory: a turn is too long; its last {} characters are not remembered", cut)
        await _shielded(self._save(), None, "keep", _SAVE_SECONDS)
        await self._in_reply(turn, self._drain, None, "record")
        if self._waiting:
            self.resume()

    async def command(self, facts: dict[str, str], text: str) -> str:
        """Answer `/memory …`."""

        async def work(memory: Any) -> str:
            return str(await memory.command(await _session(memory, facts), text) or "")

        return await self._answered(work)

    async def run(self, request: Any, command: str) -> str:
        """Run a command that the model was asked for. Its turn is not recorded."""
        if request.turn_id in self._turns:
            self._turns[request.turn_id].commanded = True
        words = command.strip().removeprefix("/memory").strip()
        return await self.command(_facts(request), f"/memory {words}")

    async def search(self, request: Any, query: str, limit: int) -> str:
        """Return what the sender's memory has on a query."""

        async def work(memory: Any) -> str:
            hits = await memory.search(await _session(memory, _facts(request)), query, limit=limit)
            if hits.outcome == "empty":
                return "Nothing was found."
            late = [] if hits.outcome == "full" else ["Not everything was searched: search again for the rest."]
            return "\n".join([*(f"- {hit.text}" for hit in hits), *late])

        return await self._answered(work)

    async def save(self, request: Any, content: str) -> str:
        """Save a fact into the sender's memory."""

        async def work(memory: Any) -> str:
            session = await _session(memory, _facts(request))
            return "Saved." if await memory.save_fact(session, content=content) else "This is not saved."

        return await self._answered(work)

    async def ends(self, key: str) -> None:
        """End the sessions of a key: the user has begun a new one."""

        async def work(memory: Any) -> None:
            for session in await memory.open_sessions(key):
                await memory.end_session(session, reason="reset")

        self._opened.pop(key, None)
        await self._behind(work, "end")

    async def compacts(self, key: str) -> None:
        """Save a stage summary before nanobot compacts a session."""

        async def work(memory: Any) -> None:
            for session in await memory.open_sessions(key):
                await memory.before_compaction(session, usage=100, messages=0)

        await self._behind(work, "compaction")

    async def _behind(self, work: Any, what: str) -> None:
        """Do something after the waiting turns. The reply waits for it only as long as for anything else."""

        async def done() -> None:
            await self._drain()
            await self._holder.call(work, _ANSWER_SECONDS)

        task = asyncio.create_task(_shielded(done(), None, what, _ANSWER_SECONDS))
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)
        if not self._holder.is_away:
            await asyncio.wait([task], timeout=_REPLY_SECONDS)

    async def _answered(self, work: Any) -> str:
        from gateway_memory import RefusedError

        try:
            if not self._holder.is_away:
                await _shielded(self._drain(), None, "record", _REPLY_SECONDS)
            return await self._holder.call(work, _ANSWER_SECONDS)
        except RefusedError as refused:
            return f"There is no memory here: {refused.reason}"
        except Exception as error:  # noqa: BLE001 - it would become the reply
            _log("answer", error)
            return "The memory can't be reached now."

    async def _drain(self) -> None:
        """Hand over the waiting turns in order. Whatever can't be taken now stays."""
        async with self._draining:
            had = len(self._waiting)
            try:
                while self._waiting and await self._taken(self._waiting.first):
                    self._waiting.done()
            finally:
                if had and not self._waiting:
                    await self._save()

    async def _taken(self, turn: dict[str, Any]) -> bool:
        async def work(memory: Any) -> None:
            session = await _session(memory, turn["facts"])
            at = datetime.fromisoformat(turn["at"])
            await memory.after_reply(session, user=turn["user"], reply=turn["reply"], at=at, turn_id=turn["id"])

        try:
            await self._holder.call(work, _ANSWER_SECONDS)
        except Exception as error:  # noqa: BLE001 - a reply is never lost to it
            _log("record", error)
            return type(error).__name__ in ("RefusedError", "UsageError")  # nothing would change that
        return True

    async def _go_on(self) -> None:
        while self._waiting:
            await asyncio.sleep(_RETRY_SECONDS)
            await self._drain()

    async def _save(self) -> None:
        try:
            await asyncio.to_thread(self._waiting.save)
        except OSError as error:
            _log("keep", error)

    def resume(self) -> None:
        """Go on handing over what waits. It needs a running loop."""
        if self._waiting and (self._retry is None or self._retry.done()):
            self._retry = asyncio.create_task(self._go_on())


async def _session(memory: Any, facts: dict[str, str]) -> Any:
    from gateway_memory import Facts

    return await memory.session_of(Facts(**facts))


def _facts(request: Any) -> dict[str, str]:
    return facts_of(
        key=request.session_key or "",
        channel=request.channel,
        chat_id=request.chat_id,
        sender_id=request.sender_id or "",
        metadata=request.metadata,
    )


def _last_reply(messages: list[dict[str, Any]]) -> str:
    for message in reversed(messages):
        if message.get("role") == "user":
            break
        if message.get("role") == "assistant" and isinstance(message.get("content"), str) and message["content"]:
            return str(message["content"])
    return ""


async def _shielded(work: Awaitable[T], otherwise: T, what: str, seconds: float) -> T:
    """Return a result in time, or else something instead."""
    try:
        async with asyncio.timeout(seconds):
            return await work
    except Exception as error:  # noqa: BLE001 - a reply matters more
        _log(what, error)
        return otherwise


def _log(what: str, error: Exception) -> None:
    """Log what failed, without texts: an error's message could hold what was said."""
    known = isinstance(error, (AwayError, TimeoutError)) or type(error).__name__ in ("RefusedError", "StoreError")
    logger.warning("gateway-memory: {} failed: {} {}", what, type(error).__name__, error if known else "")

"""What a fresh session would be given for a message. The work is that of a real reply; nothing of it is recorded."""

import asyncio
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from extractor import spoken
from gateway_memory.capture.changes import MemoryChanges
from gateway_memory.context.builder import Context, ContextBuilder, with_notice
from gateway_memory.context.start import SessionStarter
from gateway_memory.context.subscriptions import Subscriptions
from gateway_memory.edge.content import as_query
from gateway_memory.ground.metrics import Metrics
from gateway_memory.ground.runtime import Runtime
from gateway_memory.parts import Reranker
from gateway_memory.sessions.registry import SessionRegistry
from gateway_memory.sessions.session import Session, Who
from gateway_memory.sync.storage import Storage
from recall import FENCE_END, count_tokens

_MILLISECONDS: Final = 1000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A text as the model gets it, and how many tokens it has."""

    text: str
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What a fresh session would be given for a message.

    opening: "" for none. opening_partial: whether a part was late. blocks: of the context, in their order.
    opening_ms, reply_ms: how long both took, in milliseconds. is_off: whether recall is switched off.
    """

    opening: Part
    opening_partial: bool
    blocks: Sequence[Part]
    context: Context
    opening_ms: float
    reply_ms: float
    is_off: bool


class Trials:
    """Tries messages in sessions that neither the store nor the registry knows, and that count in no metric."""

    def __init__(
        self,
        runtime: Runtime,
        storage: Storage,
        sessions: SessionRegistry,
        changes: MemoryChanges,
        subscriptions: Subscriptions,
        rerank: Reranker | None,
    ) -> None:
        self._runtime = runtime = replace(runtime, metrics=Metrics())
        self._sessions = sessions
        self._builder = ContextBuilder(runtime, storage, {}, rerank, only_tries=True)
        self._starter = SessionStarter(runtime, storage, sessions, self._builder, changes, subscriptions)

    async def run(
        self, who: Who, message: str, *, min_score: float | None = None, quoted_from: float | None = None
    ) -> Trial:
        """Return what the first reply of a session that begins now would be given.

        who: whose memory it reads. min_score, quoted_from: in the place of `autoRecall.minScore` and
        `autoRecall.episodes.minScore`, from 0 to 1.
        """
        session = self._sessions.unregistered(who, f"trial {secrets.token_hex(8)}")
        _tune(session, min_score, quoted_from)
        started = time.perf_counter()
        await self._starter.prepare(session)
        opened = time.perf_counter()
        query, timeout = as_query(spoken(message)), session.settings.auto_recall.timeout_ms / _MILLISECONDS
        deadline = asyncio.get_running_loop().time() + timeout
        context = await self._builder.build(session, query.text, self._runtime.clock(), deadline)
        ended = time.perf_counter()
        context = with_notice(context, session, query)
        return Trial(
            opening=_part(session.opening),
            opening_partial=session.opening_partial,
            blocks=[_part(block) for block in _blocks(context.text)],
            context=context,
            opening_ms=(opened - started) * _MILLISECONDS,
            reply_ms=(ended - opened) * _MILLISECONDS,
            is_off=not session.on("autoRecall"),
        )


def _tune(session: Session, min_score: float | None, quoted_from: float | None) -> None:
    recall = session.settings.auto_recall
    quoted = recall.episodes if quoted_from is None else replace(recall.episodes, min_score=quoted_from)
    least = recall.min_score if min_score is None else min_score
    session.settings = replace(session.settings, auto_recall=replace(recall, min_score=least, episodes=quoted))


def _part(text: str) -> Part:
    return Part(text=text, tokens=count_tokens(text) if text else 0)


def _blocks(text: str) -> list[str]:
    """Return the blocks of a context; each ends with the fence, which no memory can contain."""
    return [f"{block.strip()}\n{FENCE_END}" for block in text.split(FENCE_END) if block.strip()]

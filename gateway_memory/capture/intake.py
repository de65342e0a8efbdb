"""Store what happens in sessions: turns, which are processed in the background, and observations."""

import asyncio
import secrets
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from extractor import Cleaned, answered, asked_secrets, clean, spoken, without_orders
from gateway_memory.edge.observations import clip, observed, tags_of
from gateway_memory.errors import JournalDamagedError, StoreError
from gateway_memory.ground.runtime import Runtime
from gateway_memory.ground.threads import compute
from gateway_memory.sessions.session import Session
from gateway_memory.store.journal.arrivals import NewTurn
from gateway_memory.store.journal.names import OF_SCOPE
from gateway_memory.store.journal.opened import Observation
from gateway_memory.store.journal.requests import Request
from gateway_memory.store.journal.speakers import NOBODY, Sender, own_text, prefix_of
from gateway_memory.store.journal.store import Store

_CLEANED_AT_ONCE: Final = 8000
"""Characters. Cleaning a longer text takes milliseconds, so that it runs in a thread."""


class TurnIntake:
    """Stores turns and observations. Call it within the session's `writing`, which preserves their order.

    wake: is set when a turn was accepted.
    """

    def __init__(self, runtime: Runtime, store: Store, wake: asyncio.Event) -> None:
        self._runtime = runtime
        self._store = store
        self._wake = wake

    async def heard(self, user: str, reply: str) -> tuple[str, str]:
        """Return what a person says in a turn, "" if the host alone speaks, and the reply without the host's marks."""
        if len(user) + len(reply) <= _CLEANED_AT_ONCE:
            said = spoken(user, reply)
        else:
            said = await compute(spoken, user, reply)
        if user.strip() and not said:
            self._runtime.metrics.count("turns.of_host")
            self._runtime.metrics.reply_seen(self._runtime.clock(), 0)
        return said, answered(reply)

    async def accept_turn(
        self, session: Session, user: str, reply: str, *, at: float | None, turn_id: str, sender: Sender
    ) -> int:
        """Store a turn durably, and return its number: see `GatewayMemory.after_reply`.

        at: when it was said, in epoch seconds; None for now.
        turn_id: the host's id, or "" to create one. sender: who speaks, where several people do.

        Raises:
            StoreError: the turn could not be written; nothing was stored.
        """
        extract, episode = session.on("autoExtract"), session.keeps_episodes
        if not (extract or episode):
            return 0
        metrics = self._runtime.metrics
        metrics.count("turns.seen")
        now, session_id = self._runtime.clock(), session.session_id
        recalled, report = session.recalled, session.report
        if session.is_excluded:
            metrics.count("extraction.accept.skipped.session_type")
            metrics.reply_seen(now, 0)
            return 0
        by = sender if session.scope.kind.is_shared else NOBODY
        message, answer = await _cleaned(own_text(user, by.name), session.secrets_asked), await _cleaned(reply)
        session.secrets_asked = asked_secrets(answer.text)
        prefix = prefix_of(by.name, message.text) if message.text else ""
        turn = NewTurn(
            turn_id=turn_id or secrets.token_hex(8),
            scope=session.scope.key,
            session_key=session.key,
            session_id=session_id,
            user=message.text,
            reply=answer.text,
            at=now.timestamp() if at is None else at,
            accepted_at=now.timestamp(),
            recalled=recalled,
            report=report,
            seen=_observations_of(session, prefix + message.text, answer.text),
            extract=extract,
            episode=episode,
            joined=session.who.joined_keys,
            speaker=by.key,
            speaker_prefix=prefix,
        )
        try:
            with metrics.timed("after_reply"):
                kept = asyncio.ensure_future(self._store.turns.accept(turn))
                # `shield` adds its callback first, so that the caller goes on before the processor.
                stored = asyncio.shield(kept)
                kept.add_done_callback(self._kept)
                number = await stored
        except JournalDamagedError:
            raise
        except StoreError as error:
            self._runtime.on_error("journal", error)
            raise StoreError(f"the turn could not be kept; free some space and send it again: {error}") from error
        if session.called != session.called_stored:
            await self._keep_names(session)
        session.last_turn = max(session.last_turn, number)
        if session.report is report:  # it is stored; thousands of sessions may be open
            session.report = None
        metrics.reply_seen(now, max(number, 0))
        return number

    async def _keep_names(self, session: Session) -> None:
        """Store what the host calls who speaks, and the chat. A page shows ids while that is not stored."""
        called, who = session.called, session.who
        names = [(who.scope.key, session.key, called.chat)]
        names.append((who.origin.key, OF_SCOPE, called.chat if who.scope.kind.is_shared else called.sender))
        with suppress(StoreError):  # the next turn tries again
            await self._store.names.note([name for name in names if name[-1]])
            session.called_stored = called

    async def keep_untrusted(self, session: Session, text: str, provenance: str, *, identity: str) -> int:
        """Store words that are not the user's as an observation of a tool, without the orders in them.

        Return 0: it is no turn.
        """
        self._runtime.metrics.count("turns.untrusted")
        self._runtime.metrics.reply_seen(self._runtime.clock(), 0)
        if session.on("observations") and (data := await compute(without_orders, (await _cleaned(text)).text)):
            await self.keep_observation(session, "tool", data, provenance, private=False, identity=identity)
        return 0

    def _kept(self, turn: asyncio.Future[int]) -> None:
        """Start processing a turn once it is durable, even if its caller was cancelled."""
        if not turn.cancelled() and turn.exception() is None:
            self._runtime.metrics.count("turns.accepted")
            self._wake.set()

    async def keep_observation(
        self, session: Session, kind: str, content: str, tool: str, *, private: bool, identity: str = ""
    ) -> None:
        """Store an observation, shortened according to its kind. A private observation has no content.

        identity: the host's id of the observation. The same id in the same session key and scope is stored once.
        """
        at, session_id = self._runtime.timestamp(), session.session_id
        if len(content) <= _CLEANED_AT_ONCE:
            observation = observed(kind, content, tool, private=private)
        else:
            observation = await compute(observed, kind, content, tool, private=private)
        scope = session.scope.key
        once = Request(call="observe", caller=f"{scope}\n{session.key}", id=identity, scope=scope)
        await self._store.sessions.observe(scope, session_id, observation, at, once if identity else None)
        self._runtime.metrics.count("observations.kept")


def _observations_of(session: Session, message: str, answer: str) -> tuple[Observation, ...]:
    if not session.on("observations"):
        return ()
    return tuple(
        Observation(kind=kind, content=clip(kind, "", text), tags=tags_of(text))
        for kind, text in (("user", message), ("assistant", answer))
        if text
    )


async def _cleaned(text: str, asked: Sequence[str] = ()) -> Cleaned:
    return clean(text, asked=asked) if len(text) <= _CLEANED_AT_ONCE else await compute(clean, text, asked=asked)

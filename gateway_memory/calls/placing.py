"""A context that stays where it was put: the opening once, and a block beside each message, byte for byte."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from extractor import spoken
from gateway_memory.calls.calls import only_our_errors
from gateway_memory.calls.turns import TurnCalls
from gateway_memory.edge.content import Content, as_query, text_of
from gateway_memory.errors import UsageError
from gateway_memory.scope import Scope, is_name, shortened
from gateway_memory.sessions.session import Session
from gateway_memory.store.journal.requests import Request
from gateway_memory.store.withheld import Withheld

_CALL: Final = "placed"
_MARK: Final = "marked"
_SAID_LENGTH: Final = 300
_OPENING: Final = "\nopening\n"
"""What the id of an opening begins with. No id of a message has a line break."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Where the memory stands in a conversation, so that no byte changes that was sent to the model before.

    opening: once, behind the system prompt. blocks: in front of the words of each message, by the message's id; a
    message that got nothing is not in it. outcomes: how recall went for each message that was placed, as in `Context`.
    said: how each of them begins, without secrets.
    """

    opening: str = ""
    blocks: Mapping[str, str] = field(default_factory=dict)
    outcomes: Mapping[str, str] = field(default_factory=dict)
    said: Mapping[str, str] = field(default_factory=dict)


@only_our_errors
class PlacingCalls(TurnCalls):
    """Calls of hosts that send a conversation again with each request, or that keep what was put into it."""

    async def placed(self, session: Session) -> Placement:
        """Return what was put into a session's conversation, as it was, without what was forgotten since.

        The opening is that of the session's start, and stays until the session ends.

        Raises:
            StoreError: it could not be read.
        """
        opened = self._opened(session)
        await opened.starter.start(session)
        known = await opened.storage.requests.answers(
            session.scope.key, _CALL, _caller(session), opened.runtime.timestamp()
        )
        name = f"{_OPENING}{session.session_id}"
        if name not in known:
            if session.opening_partial:  # a part was late; what is kept stays
                await opened.starter.opening(session)
            if session.opening_partial:
                known[name] = {"text": session.opening, "at": opened.runtime.timestamp()}
            else:
                known[name] = await self._keep(session, name, session.opening, "full")
        if session.incognito:
            return Placement()
        withheld = await opened.storage.ledger.withheld(session.scope.key)
        opening = _cut(withheld, known[name])
        known = {identity: given for identity, given in known.items() if not identity.startswith(_OPENING)}
        blocks = {identity: _cut(withheld, given) for identity, given in known.items() if given["text"]}
        if not session.in_context.is_placed:
            session.in_context.is_placed = True
            if opening != session.opening:  # it was placed before this process started, or before the session rested
                session.in_context.reopen(opening, blocks.values())
        if rests := opened.sessions.placed(session):
            opened.bus.unsubscribe(rests.session_id)
        return Placement(
            opening=opening,
            blocks=blocks,
            outcomes={identity: given["outcome"] for identity, given in known.items()},
            said={identity: given["said"] for identity, given in known.items()},
        )

    async def place(
        self,
        session: Session,
        message: Content | None,
        *,
        message_id: str,
        at: datetime | None = None,
        before: Placement | None = None,
        anew: bool = False,
    ) -> Placement:
        """Return what to put where for a reply to a message, within `timeoutMs` as `before_reply` does.

        A message that was placed before gets the same again, whatever was learnt since. So what comes before it in a
        prompt stays the same, and a provider's prompt cache holds.

        message_id: names the message in its conversation: the host's id, or a digest of the messages up to it.
        message, at: as in `before_reply`.
        before: the result of `placed`, if the host has it.
        anew: the conversation begins again with this message, and what was placed in it takes the place of the old.

        Raises:
            UsageError: `message` is not text, or the id is no name.
            StoreError: what was placed before could not be read.
        """
        if not is_name(message_id):
            raise UsageError(f"message_id={shortened(message_id)}: expected visible characters")
        before = before or await self.placed(session)
        if message_id in before.outcomes and not anew:
            return before
        opening = before.opening
        if anew:
            session.compacted()
            opening = await self.opening(session)
            await self._keep(session, f"{_OPENING}{session.session_id}", opening, "full", anew=True)
        context = await self.before_reply(session, message, at=at)
        said = as_query(spoken(text_of(message, "message"))).text[:_SAID_LENGTH]
        given = await self._keep(session, message_id, context.text, context.outcome, said=said, anew=anew)
        blocks = {**before.blocks, message_id: given["text"]} if given["text"] else before.blocks
        return Placement(
            opening=opening,
            blocks=blocks,
            outcomes={**before.outcomes, message_id: given["outcome"]},
            said={**before.said, message_id: given["said"]},
        )

    async def _keep(
        self, session: Session, identity: str, text: str, outcome: str, *, said: str = "", anew: bool = False
    ) -> dict[str, Any]:
        """Keep what was placed under an id, and return it; what is there already is returned in its place."""
        opened = self._opened(session)
        request = Request(call=_CALL, caller=_caller(session), id=identity, scope=session.scope.key)
        now = opened.runtime.timestamp()
        given = {"text": text, "outcome": outcome, "said": said, "at": now}
        return await opened.storage.requests.keep(request, given, now, anew=anew)

    # Which conversation a message belongs to, where a client does not say: by marks that its host makes of messages.

    async def marked(self, scope: Scope, marks: Sequence[str]) -> Mapping[str, tuple[str, float]]:
        """Return the conversation of each mark that is known, and when it was set (epoch seconds).

        Raises:
            StoreError: it could not be read.
        """
        opened = self._opened()
        now = opened.runtime.timestamp()
        known = await opened.storage.requests.answers(scope.key, _MARK, scope.key, now, among=marks)
        return {mark: (str(each["conversation"]), float(each["at"])) for mark, each in known.items()}

    async def mark(self, scope: Scope, mark: str, conversation: str) -> None:
        """Set the conversation of a mark, for seven days from its last use.

        Raises:
            StoreError: it could not be written.
        """
        opened = self._opened()
        now = opened.runtime.timestamp()
        request = Request(call=_MARK, caller=scope.key, id=mark, scope=scope.key)
        await opened.storage.requests.keep(request, {"conversation": conversation, "at": now}, now, anew=True)


def _caller(session: Session) -> str:
    """Return the name of a conversation in the journal: a key in a scope, over its sessions."""
    name = f"{session.scope.key}\n{session.key}".encode("utf-8", "replace")
    return hashlib.blake2b(name, digest_size=16).hexdigest()


def _cut(withheld: Withheld, given: Mapping[str, Any]) -> str:
    """Return a text without what was forgotten since it was given."""
    return withheld.cut(given["text"], since=given["at"]) if withheld else str(given["text"])

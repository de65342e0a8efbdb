"""A context that stays where it was put: the opening once, and a block beside each message, byte for byte."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from gateway_memory.calls.conversation import ConversationCalls, only_our_errors
from gateway_memory.edge.content import Content
from gateway_memory.errors import UsageError
from gateway_memory.scope import is_name, shortened
from gateway_memory.session import Session
from gateway_memory.store.journal.requests import Request
from gateway_memory.store.withheld import Withheld

_CALL: Final = "placed"
_OPENING: Final = "\nopening\n"
"""What the id of an opening begins with. No id of a message has a line break."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Where the memory stands in a conversation, so that no byte changes that was sent to the model before.

    opening: once, behind the system prompt. blocks: in front of the words of each message, by the message's id; a
    message that got nothing is not in it. outcomes: how recall went for each message that was placed, as in `Context`.
    """

    opening: str = ""
    blocks: Mapping[str, str] = field(default_factory=dict)
    outcomes: Mapping[str, str] = field(default_factory=dict)


@only_our_errors
class PlacingCalls(ConversationCalls):
    """Calls of hosts that send a conversation again with each request, or that keep what was put into it."""

    async def placed(self, session: Session) -> Placement:
        """Return what was put into a session's conversation, as it was, without what was forgotten since.

        The opening is that of the session's start, and stays until the session ends.

        Raises:
            StoreError: it could not be read.
        """
        opened = self._opened(session)
        await opened.starter.start(session)
        known = await opened.storage.requests.answers(_CALL, _caller(session), opened.runtime.timestamp())
        name = f"{_OPENING}{session.session_id}"
        if name not in known:
            if session.opening_partial:  # a part was late; what is kept stays
                await opened.starter.opening(session)
            if session.opening_partial:
                known[name] = {"text": session.opening, "outcome": "partial", "at": opened.runtime.timestamp()}
            else:
                known[name] = await self._keep(session, name, session.opening, "full")
        if session.incognito:
            return Placement()
        withheld = await opened.storage.ledger.withheld(session.scope.key)
        texts = {identity: _cut(withheld, given) for identity, given in known.items() if given["text"]}
        return Placement(
            opening=texts.get(name, ""),
            blocks={identity: text for identity, text in texts.items() if not identity.startswith(_OPENING)},
            outcomes={identity: given["outcome"] for identity, given in known.items()},
        )

    async def place(
        self, session: Session, message: Content | None, *, message_id: str, at: datetime | None = None
    ) -> Placement:
        """Return what to put where for a reply to a message, within `timeoutMs` as `before_reply` does.

        A message that was placed before gets the same again, whatever was learnt since. So what comes before it in a
        prompt stays the same, and a provider's prompt cache holds.

        message_id: names the message in its conversation: the host's id, or a digest of the messages up to it.
        message, at: as in `before_reply`.

        Raises:
            UsageError: `message` is not text, or the id is no name.
            StoreError: what was placed before could not be read.
        """
        if not is_name(message_id):
            raise UsageError(f"message_id={shortened(message_id)}: expected visible characters")
        before = await self.placed(session)
        if message_id in before.outcomes:
            return before
        context = await self.before_reply(session, message, at=at)
        given = await self._keep(session, message_id, context.text, context.outcome)
        blocks = {**before.blocks, message_id: given["text"]} if given["text"] else before.blocks
        outcomes = {**before.outcomes, message_id: given["outcome"]}
        return Placement(opening=before.opening, blocks=blocks, outcomes=outcomes)

    async def _keep(self, session: Session, identity: str, text: str, outcome: str) -> dict[str, Any]:
        """Keep what was placed under an id, and return it; what is there already is returned in its place."""
        opened = self._opened(session)
        request = Request(call=_CALL, caller=_caller(session), id=identity, scope=session.scope.key)
        now = opened.runtime.timestamp()
        return await opened.storage.requests.keep(request, {"text": text, "outcome": outcome, "at": now}, now)


def _caller(session: Session) -> str:
    """Return the name of a conversation in the journal: a key in a scope, over its sessions."""
    name = f"{session.scope.key}\n{session.key}".encode("utf-8", "replace")
    return hashlib.blake2b(name, digest_size=16).hexdigest()


def _cut(withheld: Withheld, given: Mapping[str, Any]) -> str:
    """Return a text without what was forgotten since it was given."""
    return withheld.cut(given["text"], since=given["at"]) if withheld else str(given["text"])

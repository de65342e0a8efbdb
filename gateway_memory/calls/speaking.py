"""The calls of a host that states facts about a message's sender instead of naming a scope."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

from gateway_memory.calls.asking import AskingCalls
from gateway_memory.calls.conversation import ConversationCalls
from gateway_memory.calls.opened import only_our_errors
from gateway_memory.edge.content import Content
from gateway_memory.errors import RefusedError, UsageError
from gateway_memory.identity import Facts, Refused, Speaker, who, without_secrets
from gateway_memory.runtime.ground import get_logger
from gateway_memory.scope import LONGEST_NAME, Scope, is_name, shortened
from gateway_memory.session import Session
from gateway_memory.wiring import OpenMemory

__all__ = ["Answering", "ReplyingCalls", "SpeakingCalls"]

log = get_logger(__name__)

Answering = Callable[[str, Content], Awaitable[str]]
"""A model that answers: the text for the system prompt and the message to the reply."""


@only_our_errors
class SpeakingCalls(ConversationCalls):
    """Calls that find out whose session it is, and which of a key's sessions are open."""

    async def identify(self, facts: Facts) -> Speaker | Refused:
        """Return who is speaking by the rules in `memorySync.identity`, or why nobody can be held for the sender.

        Raises:
            UsageError: a fact has another type, or a text that is no name.
            StoreError: the links could not be read.
        """
        opened = self._opened()
        found = _who(opened, facts)
        if isinstance(found, Refused) or not isinstance(found.user, str):
            return found
        scope = await opened.links.resolved(found.scope)
        return replace(found, user=scope.name)

    async def session_of(self, facts: Facts, *, ephemeral: bool = False) -> Session:
        """Open or resume the session of the one who is speaking. Call it for each message: a key can be shared.

        ephemeral: as in `start_session`.

        Raises:
            RefusedError: nobody can be held for the sender.
            UsageError: a fact has another type, or a text that is no name.
            StoreError: the session could not be opened.
        """
        found = _who(self._opened(), facts)
        if isinstance(found, Refused):
            raise RefusedError(found.reason)
        return await self.start_session(facts.key, ephemeral=ephemeral, **found.whose)

    async def open_sessions(self, key: str) -> list[Session]:
        """Return the open sessions of a key in every scope, also those that an earlier process left open.

        A host that knows only the key of a session that ends, or whose context is compacted, calls this.

        Raises:
            UsageError: the key is empty.
            StoreError: the sessions could not be read or resumed.
        """
        opened = self._opened()
        if not is_name(key):
            raise UsageError(
                f"key={shortened(key)}: expected a session key that is not empty, "
                f"of at most {LONGEST_NAME} bytes in UTF-8"
            )
        key = without_secrets(key)
        found: list[Session] = []
        for name in await opened.storage.sessions.open_scopes(key):
            scope = Scope.parse(name)
            session = opened.sessions.get(key, scope, scope)
            await opened.starter.start(session)
            found.append(session)
        return found

    async def opening(self, session: Session) -> str:
        """Return the opening of a session, current: made anew if its scope has changed since it was made.

        An ephemeral session's next `before_reply` leaves out what this text holds. For another session the text takes
        the place of the earlier opening, and leaves out what the session was told since.

        Raises:
            StoreError: the session could not be started.
        """
        return await self._opened(session).starter.opening(session)


class ReplyingCalls(SpeakingCalls, AskingCalls):
    """The call that does a gateway's part of a reply. Its model's errors are not ours, and pass through as they are."""

    async def reply(self, facts: Facts, message: Content, model: Answering, *, turn_id: str = "") -> str:
        """Return the reply to a message: what a gateway does with the memory for each one, in one call.

        The memory answers a command itself, without the model. If nobody can be held for the sender, the model answers
        without a memory, and nothing is kept.

        model: returns the reply, given the text for the system prompt and the message. It is called at most once.
        turn_id: as in `after_reply`.

        Raises:
            UsageError, StoreError: as `session_of` and `after_reply`. What the model raises passes through.
        """
        try:
            session = await self.session_of(facts)
        except RefusedError:
            log.info("reply.without_memory")
            return await model("", message)
        if (answer := await self.command(session, message)) is not None:
            return answer
        opening, context = await self.opening(session), await self.before_reply(session, message)
        reply = await model("\n\n".join(filter(None, (opening, context.text))), message)
        await self.after_reply(session, user=message, reply=reply, turn_id=turn_id)
        return reply


def _who(opened: OpenMemory, facts: Facts) -> Speaker | Refused:
    """Return who is speaking before links, by the settings of the agent that the key names."""
    key = getattr(facts, "key", "")
    return who(facts, opened.runtime.settings_of(key if is_name(key) else "").identity)

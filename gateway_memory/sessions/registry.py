"""All sessions of a memory, by key and by id."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from gateway_memory.config.settings import Config, MemorySync
from gateway_memory.edge.prompts import Prompts
from gateway_memory.scope import Scope

if TYPE_CHECKING:
    from gateway_memory.store.memory_record import MemoryRecord
    from gateway_memory.store.withheld import Withheld
from gateway_memory.sessions.session import Session, Who

_MOST_PLACED: Final = 200
"""A service may have thousands of conversations open, of which few get a reply in a minute."""


def agent_of(key: str) -> str | None:
    """Return the agent that an OpenClaw session key names, or None for any other key."""
    match key.split(":"):
        case ["agent", agent, _, *_] if agent:
            return agent
    return None


class SessionRegistry:
    """The sessions of one memory by key and scope, the open ones by id, and the settings of their keys.

    agent: the agent whose settings apply if a key names none.
    workspace: the memory's folder, or None.
    """

    def __init__(self, config: Config, agent: str, workspace: Path | None) -> None:
        self._config = config
        self._agent = agent
        self._workspace = workspace
        self._by_key: dict[tuple[str, str], Session] = {}
        self._open: dict[str, Session] = {}
        self._placed: OrderedDict[str, Session] = OrderedDict()
        """The sessions of conversations that are sent with each request, the least recently asked first."""

    def get(self, key: str, scope: Scope, origin: Scope | None = None, joined: tuple[Scope, ...] = ()) -> Session:
        """Return the key's session in a scope. Create it if there is none.

        origin: as in Who; None keeps it. joined: what a session that is created has joined.
        """
        session = self._by_key.get((key, scope.key))
        if session is None:
            who = Who(key=key, scope=scope, origin=scope, joined=joined)
            session = self._by_key[key, scope.key] = self._made(who)
        session.who = replace(session.who, origin=origin or session.who.origin)
        return session

    def _made(self, who: Who) -> Session:
        return Session(who, self.settings_of(who.key), self)

    def open_of(self, key: str, origin: Scope) -> Session | None:
        """Return the key's session that is open in this process for an identity, if there is one."""
        of_key = (each for each in self._open.values() if each.key == key and each.who.origin == origin)
        return next((each for each in of_key if each.is_open), None)

    def detached(self, who: Who, session_id: str, switches: Mapping[str, bool] | None = None) -> Session:
        """Return a session for commands from outside its conversation.

        If this process has the session open, return that one. Otherwise return an unregistered session, which receives
        no changes and is not resumed, so that the owner of the conversation keeps it.
        """
        open_here = self._open.get(session_id)
        if open_here is not None:
            return open_here
        session = self.unregistered(who, session_id)
        session.switches.features = switches or {}
        session.detached = True
        return session

    def unregistered(self, who: Who, session_id: str) -> Session:
        """Return a session that is open and that nothing else knows."""
        session = self._made(who)
        session.reset(session_id)
        session.is_open = True
        return session

    def opened(self, session: Session) -> None:
        """Register a session that was opened."""
        self._open[session.session_id] = self._by_key[session.key, session.scope.key] = session

    def placed(self, session: Session) -> Session | None:
        """Record that a session was asked what was placed in it. Return one that rests, beyond some of them.

        It is no longer known here, and stays open in the journal: its next message resumes it, as after a restart.
        """
        self._placed[session.session_id] = session
        self._placed.move_to_end(session.session_id)
        if len(self._placed) <= _MOST_PLACED:
            return None
        _, least = self._placed.popitem(last=False)
        least.close()
        self.closed(least)
        return least

    def move(self, session: Session, scope: Scope) -> None:
        """Move a session that is not open to another scope, for its next start."""
        if self._by_key.get((session.key, session.scope.key)) is session:
            del self._by_key[session.key, session.scope.key]
        session.who = replace(session.who, scope=scope)

    def of_id(self, session_id: str) -> Session | None:
        """Return the open session of an id, if it is open in this process."""
        return self._open.get(session_id)

    def closed(self, session: Session) -> None:
        """Unregister a session that has ended."""
        self._placed.pop(session.session_id, None)
        if self._open.get(session.session_id) is session:
            del self._open[session.session_id]
        if self._by_key.get((session.key, session.scope.key)) is session:
            del self._by_key[session.key, session.scope.key]

    def is_resumed(self, session: Session) -> bool:
        """Return whether a newer session object has the id of this one, whose end was interrupted."""
        return self._open.get(session.session_id, session) is not session

    def forget(self, session: Session) -> None:
        """Unregister a session that could not start."""
        if session.session_id not in self._open:
            self._by_key.pop((session.key, session.scope.key), None)

    def close_idle(self, session_id: str) -> None:
        """Close an idle session. Its next message opens a new one."""
        session = self._open.get(session_id)
        if session:
            session.close()
            self.closed(session)

    def prompts(self, session: Session) -> Prompts | None:
        """Return the prompts for the agent of a session, or None if the memory has no folder.

        Their commands run under the same settings as the session.
        """
        if self._workspace is None:
            return None
        config = self._config.source
        agent = agent_of(session.key) or self._agent if config else ""  # only a config has overrides
        return Prompts(workspace=str(self._workspace), config=config, agent=agent)

    def retune(self, config: Config) -> None:
        """Apply a changed config to the sessions of this process."""
        self._config = config
        for session in self._by_key.values():
            session.settings = self.settings_of(session.key)

    def settings_of(self, key: str) -> MemorySync:
        """Return the settings of a session key."""
        return self._config.for_agent(agent_of(key) or self._agent)

    def scopes(self) -> list[Scope]:
        """Return the scopes of the open sessions of this process."""
        return list(dict.fromkeys(scope for session in self._by_key.values() for scope in session.who.scopes))

    def add_to_context(self, memory: "MemoryRecord") -> None:
        """Record that the session from which a memory comes has said it, if that session is open."""
        session = self._open.get(memory.session_id)
        if session:
            session.in_context.add([(memory.id, memory.text)])

    def keep_opening(self, scope: str, memories: "Sequence[MemoryRecord]", before: int, after: int) -> None:
        """Keep a session's opening if nothing but its own new memories has changed the scope.

        before, after: the numbers of the scope's changes, see `Follower.refresh`.
        """
        session = self._open.get(memories[0].session_id) if memories else None
        if session is None or session.in_context.ephemeral or session.opening_state is None:
            return
        if all(memory.session_id == session.session_id for memory in memories):
            state = session.opening_state
            changes = {**state.changes, scope: after} if state.changes.get(scope) == before else state.changes
            session.opening_state, session.opening_kept = replace(state, changes=changes), True

    def withhold(self, scope: str, withheld: "Withheld") -> None:
        """Remove forgotten text from the openings of a scope's sessions."""
        for session in self._by_key.values():
            if any(each.key == scope for each in session.who.scopes):
                session.in_context.withhold(scope, withheld)

"""The sessions of one memory by key, the open ones by id, and the settings of their keys."""

from collections.abc import Mapping
from pathlib import Path

from gateway_memory.config.settings import Config, MemorySync
from gateway_memory.identity import agent_of
from gateway_memory.scope import Scope
from gateway_memory.session import FEATURES, Feature, Session
from gateway_memory.sessions.prompts import Prompts
from gateway_memory.store.record import MemoryRecord
from gateway_memory.store.withheld import Withheld

__all__ = ["SessionRegistry", "features"]


class SessionRegistry:
    """Sessions by key and scope. Open sessions are also kept by id.

    agent: the agent whose settings apply if a key names none.
    workspace: the memory's folder, or None.
    """

    def __init__(self, config: Config, agent: str, workspace: Path | None) -> None:
        self._config = config
        self._agent = agent
        self._workspace = workspace
        self._by_key: dict[tuple[str, str], Session] = {}
        self._open: dict[str, Session] = {}

    def get(self, key: str, scope: Scope, *, memory: object) -> Session:
        """Return the key's session in a scope. Create it if there is none."""
        session = self._by_key.get((key, scope.key))
        if session is None:
            settings = self.settings_of(key)
            session = self._by_key[key, scope.key] = Session(key=key, scope=scope, settings=settings, memory=memory)
        return session

    def open_of(self, key: str, origin: Scope) -> Session | None:
        """Return the key's session that is open in this process for an identity, if there is one."""
        found = (each for each in self._open.values() if each.key == key and each.origin == origin and not each.ended)
        return next(found, None)

    def beside(
        self, key: str, scope: Scope, *, session_id: str, memory: object, switches: Mapping[str, bool] | None = None
    ) -> Session:
        """Return a session for commands from outside its conversation.

        If this process has the session open, return that one. Otherwise return an unregistered session, which receives
        no changes and is not resumed, so that the owner of the conversation keeps it.
        """
        open_here = self._open.get(session_id)
        if open_here is not None:
            return open_here
        session = Session(key=key, scope=scope, settings=self.settings_of(key), memory=memory)
        session.reset(session_id)
        session.switched = features(switches or {})
        session.beside = True
        session.start()
        return session

    def opened(self, session: Session) -> None:
        """Register a session that has started an incarnation."""
        self._open[session.session_id] = self._by_key[session.key, session.scope.key] = session

    def move(self, session: Session, scope: Scope) -> None:
        """Let a session that is not open belong to another scope from its next start on."""
        if self._by_key.get((session.key, session.scope.key)) is session:
            del self._by_key[session.key, session.scope.key]
        session.scope = scope

    def of_id(self, session_id: str) -> Session | None:
        """Return the open session of an id, if it is open in this process."""
        return self._open.get(session_id)

    def closed(self, session: Session) -> None:
        """Unregister a session that has ended."""
        if self._open.get(session.session_id) is session:
            del self._open[session.session_id]
        if self._by_key.get((session.key, session.scope.key)) is session:
            del self._by_key[session.key, session.scope.key]

    def is_resumed(self, session: Session) -> bool:
        """Return whether another session continues one whose end was interrupted."""
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

    def settings_of(self, key: str) -> MemorySync:
        """Return the settings of a session key."""
        return self._config.for_agent(agent_of(key) or self._agent)

    def scope_of(self, key: str) -> Scope:
        """Return the scope of a scope key, even if no session of this process has it."""
        return Scope.parse(key)

    def scopes(self) -> list[Scope]:
        """Return the scopes of the open sessions of this process."""
        return list(dict.fromkeys(scope for session in self._by_key.values() for scope in session.scopes))

    def mark_shown(self, memory: MemoryRecord) -> None:
        """Tell the session that a memory comes from, if it is open, that it has the memory."""
        session = self._open.get(memory.session_id)
        if session:
            session.mark_shown([(memory.id, memory.text)])

    def hide(self, scope: str, hidden: Withheld) -> None:
        """Remove forgotten text from the openings of a scope's sessions."""
        for session in self._by_key.values():
            if any(each.key == scope for each in session.scopes):
                session.hide(scope, hidden)


def features(said: Mapping[str, bool]) -> dict[Feature, bool]:
    """Return the features that a user switched in a session, in the session's form."""
    return {feature: said[feature] for feature in FEATURES if feature in said}

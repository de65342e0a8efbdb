"""The sessions of one memory: which there are, which are open, and what their keys say."""

from collections.abc import Mapping
from pathlib import Path

from gateway_memory.config.settings import Config, MemorySync
from gateway_memory.scope import OWNER, Scope, resolve_scope
from gateway_memory.session import FEATURES, Feature, Session, agent_of
from gateway_memory.sessions.prompts import Prompts
from gateway_memory.store.record import MemoryRecord
from gateway_memory.store.withheld import Withheld

__all__ = ["SessionRegistry", "features"]


class SessionRegistry:
    """SessionRegistry by key and scope, the open ones by id too.

    agent: whose settings hold where a key names no agent. workspace: the memory's folder, None where it has none.
    """

    def __init__(self, config: Config, agent: str, workspace: Path | None) -> None:
        self._config = config
        self._agent = agent
        self._workspace = workspace
        self._by_key: dict[tuple[str, str], Session] = {}
        self._open: dict[str, Session] = {}

    def get(self, key: str, scope: Scope, *, memory: object) -> Session:
        """Return the key's session in a scope, made where there is none."""
        session = self._by_key.get((key, scope.key))
        if session is None:
            settings = self.settings_of(key)
            session = self._by_key[key, scope.key] = Session(key=key, scope=scope, settings=settings, memory=memory)
        return session

    def beside(
        self, key: str, scope: Scope, *, session_id: str, memory: object, switches: Mapping[str, bool] | None = None
    ) -> Session:
        """Return a session for commands that come from outside of its conversation.

        It is the open one where this process has it. Else it is in no table here: it hears nothing and is not resumed,
        so that whoever has the conversation keeps it.
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
        """Note that a session has begun an incarnation."""
        self._open[session.session_id] = self._by_key[session.key, session.scope.key] = session

    def closed(self, session: Session) -> None:
        """Note that a session has ended."""
        if self._open.get(session.session_id) is session:
            del self._open[session.session_id]
        if self._by_key.get((session.key, session.scope.key)) is session:
            del self._by_key[session.key, session.scope.key]

    def is_resumed(self, session: Session) -> bool:
        """Return whether a session whose end was broken off goes on as another one."""
        return self._open.get(session.session_id, session) is not session

    def forget(self, session: Session) -> None:
        """Forget a session that could not begin."""
        if session.session_id not in self._open:
            self._by_key.pop((session.key, session.scope.key), None)

    def close_idle(self, session_id: str) -> None:
        """Note that a session was closed because nothing happened in it: its next message opens a new one."""
        session = self._open.get(session_id)
        if session:
            session.close()
            self.closed(session)

    def prompts(self, key: str) -> Prompts | None:
        """Return the prompts for the agent of a session key, whose commands run under the same settings.

        None where no command can reach the memory, since it lies in no folder.
        """
        if self._workspace is None:
            return None
        config = self._config.source
        agent = agent_of(key) or self._agent if config else ""  # only a config has overrides
        return Prompts(workspace=str(self._workspace), config=config, agent=agent)

    def settings_of(self, key: str) -> MemorySync:
        """Return the settings that hold for a session key."""
        return self._config.for_agent(agent_of(key) or self._agent)

    def scope_of(self, key: str) -> Scope:
        """Return the scope that a scope's key names, also one that no session of this process has."""
        kind, _, name = key.partition(":")
        return resolve_scope(
            user=OWNER if kind == "owner" else name if kind == "user" else None,
            room=name if kind == "room" else None,
        )

    def scopes(self) -> list[Scope]:
        """Return the scopes that open sessions of this process have."""
        return list({session.scope.key: session.scope for session in self._by_key.values()}.values())

    def mark_shown(self, memory: MemoryRecord) -> None:
        """Tell the session that a memory comes from, if it is open, that it has it."""
        session = self._open.get(memory.session_id)
        if session:
            session.mark_shown([(memory.id, memory.text)])

    def hide(self, scope: str, hidden: Withheld) -> None:
        """Tell a scope's sessions what was forgotten: their openings say it no longer."""
        for session in self._by_key.values():
            if session.scope.key == scope:
                session.hide(hidden)


def features(said: Mapping[str, bool]) -> dict[Feature, bool]:
    """Return what a user said of a session's features, as a session holds it."""
    return {feature: said[feature] for feature in FEATURES if feature in said}

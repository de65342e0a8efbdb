"""Sessions: who speaks in one, what its model's context contains, what waits for it; and all sessions of a memory."""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from extractor import has_han
from gateway_memory.config.settings import Config, MemorySync
from gateway_memory.edge.phrases import CHAT, say
from gateway_memory.edge.prompts import Prompts
from gateway_memory.edge.session_key import session_types
from gateway_memory.scope import Scope
from gateway_memory.store.journal.speakers import Sender
from gateway_memory.store.validity import Told
from notifier import Inbox

if TYPE_CHECKING:
    from gateway_memory.store.memory_record import MemoryRecord
    from gateway_memory.store.report import ReplyReport, Requested
    from gateway_memory.store.withheld import Withheld

Feature = Literal["autoExtract", "autoRecall", "notify", "incrementalSync", "observations"]
FEATURES: Final[tuple[Feature, ...]] = ("autoExtract", "autoRecall", "notify", "incrementalSync", "observations")
"""The features that `/memory on` and `/memory off` switch for one session."""

_SETTINGS: Final = dict(
    zip(FEATURES, ("auto_extract", "auto_recall", "notify", "incremental_sync", "observations"), strict=True)
)
"""The settings of each feature."""
_PRECEDING_TURNS: Final = 3
_RECENT_LENGTH: Final = 500
_MOST_PLACED: Final = 200
"""A service may have thousands of conversations open, of which few get a reply in a minute."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Who:
    """Who speaks in a session, and whose memories it reads.

    key: the host's session key.
    scope: its memory, to which it writes.
    origin: the scope of whoever speaks, before links. It is linked into `scope`.
    joined: the shared scopes that its host has named, such as a project. They are read beside its own.
    """

    key: str
    scope: Scope
    origin: Scope
    joined: tuple[Scope, ...] = ()

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """The scopes that it reads, its own first."""
        return self.scope, *self.joined

    @property
    def joined_keys(self) -> str:
        """The keys of the joined scopes, one a line."""
        return "\n".join(scope.key for scope in self.joined)


class InContext:
    """What the model of a session has before it: the opening, the injected memories, and the session's own turns.

    ephemeral: after each reply, the host drops the injected blocks, and keeps the turns.

    Once the text of a memory has changed, it counts as not in context, and is injected again.
    """

    def __init__(self) -> None:
        self.ephemeral = False
        self._opening = ""
        self._withheld: dict[str, Withheld] = {}
        """The text that was forgotten since the opening was built, by scope."""
        self.is_placed = False
        """Whether the opening is the one that was placed in the conversation, and stays."""
        self.partial = False
        """Whether a part of the opening was late or failed. The opening says so in its last line."""
        self._in_opening: frozenset[_Item] = frozenset()
        self._opening_told, self._told = Told(), Told()
        """What the lines of the opening say, and those that were injected since the last compaction."""
        self._has_opening = False
        """Whether the context has the opening, also where it is not asked for with each reply."""
        self.opens_reply = False
        """Whether the prompt of this reply has the opening: the host has asked for it since the last reply."""
        self._items: set[_Item] = set()
        self._ever: set[_Item] = set()
        self.removed: set[str] = set()
        """The ids of memories of whose removal the model was informed."""
        self._compacted_upto = 0

    @property
    def opening(self) -> str:
        """The text for the system prompt, without what was forgotten since it was built."""
        text = self._opening
        for withheld in self._withheld.values():
            text = withheld.cut(text)
        return text

    def open_with(self, text: str, memories: Iterable[tuple[str, str]], *, partial: bool = False) -> None:
        """Replace the opening. memories: those in it (id, text)."""
        self._opening, self._withheld, self.partial = text, {}, partial
        self._in_opening = frozenset(_items(memories))
        self._opening_told, self._has_opening = Told(text.split("\n")), not self.ephemeral
        self._inject(self._in_opening)

    @property
    def told(self) -> "tuple[Told, ...]":
        """What the lines say that are in the context."""
        return (self._told, self._opening_told) if self._has_opening or self.opens_reply else (self._told,)

    def reopen(self, text: str, blocks: Iterable[str]) -> None:
        """Record what was placed in the conversation before: an opening, and blocks. Only their text is known."""
        self._clear()
        self.open_with(text, [])
        for block in blocks:
            self.tell(block)

    def tell(self, block: str) -> None:
        """Record the text of a block that was injected. It stays in the context unless that is ephemeral."""
        if not self.ephemeral:
            self._told.add(block.split("\n"))

    def withhold(self, scope: str, withheld: "Withheld") -> None:
        """Remove text that was forgotten in a scope from the opening."""
        self._withheld[scope] = withheld

    def set_ephemeral(self, *, ephemeral: bool) -> None:
        """Set whether the host drops what was injected after each reply."""
        if ephemeral and not self.ephemeral:
            self._clear()
        self.ephemeral = ephemeral

    def add(self, memories: Iterable[tuple[str, str]]) -> None:
        """Record memories (id, text) that the conversation itself contains."""
        items = _items(memories)
        self._ever |= items
        self._items |= items

    def inject(self, memories: Iterable[tuple[str, str]]) -> None:
        """Record memories (id, text) that were injected. They stay in the context unless it is ephemeral."""
        self._inject(_items(memories))

    def _inject(self, items: Iterable["_Item"]) -> None:
        self._ever.update(items)
        if not self.ephemeral:
            self._items.update(items)

    def remove(self, identity: str) -> None:
        """Record that the model was informed of a memory's removal. If it is restored, it is news again."""
        self._ever = {item for item in self._ever if item.identity != identity}
        self._items = {item for item in self._items if item.identity != identity}
        self.removed.add(identity)

    def has(self, identity: str, text: str) -> bool:
        """Return whether the context contains a memory."""
        item = _Item(identity, _digest(text))
        return item in self._items or (self.opens_reply and item in self._in_opening)

    def has_outside_opening(self, identity: str, text: str) -> bool:
        """Return whether the context has a memory outside its opening, so that a new opening can leave it out."""
        item = _Item(identity, _digest(text))
        return not self.ephemeral and item in self._items and item not in self._in_opening

    def had(self, identity: str, text: str) -> bool:
        """Return whether the context has ever contained a memory, even before a compaction."""
        return _Item(identity, _digest(text)) in self._ever

    def knew(self, identity: str) -> bool:
        """Return whether the context has ever contained a memory, whatever its text was."""
        return any(item.identity == identity for item in self._ever)

    def has_turn(self, turn: int) -> bool:
        """Return whether the context contains one of the session's own turns."""
        return turn > self._compacted_upto

    def compact(self, last_turn: int) -> None:
        """Record that the host has compacted the context up to a turn. Its memories may be injected again.

        `had` stays true, so that they are not announced as new. A memory that was removed stays so, because the host's
        summary may contain it.
        """
        self._clear()
        self._compacted_upto = last_turn

    def _clear(self) -> None:
        self._items.clear()
        self._told, self._has_opening = Told(), False


class _Item(NamedTuple):
    identity: str
    digest: int


def _items(memories: Iterable[tuple[str, str]]) -> set[_Item]:
    return {_Item(identity, _digest(text)) for identity, text in memories}


def _digest(text: str) -> int:
    return hash(" ".join(text.split()))  # an event has the text in one line, a file possibly in several


class PendingUpdates:
    """What other sessions learnt, on its way to a session.

    restored_upto: by origin, the last event that was restored at a restart.
    shown_upto: by origin, the last event that an earlier process has shown. The bus skips those.
    in_opening: memories (id, text) that waited over a restart and that the opening has too. A host that goes on with
    the opening of the earlier process gets them as updates, and one that asks for the new opening does not.
    """

    def __init__(self, settings: MemorySync) -> None:
        notify = settings.notify
        self.inbox = Inbox(notify.max_pending_updates, max_age_seconds=notify.pending_max_age_seconds)
        self.restored_upto: dict[str, int] = {}
        self.shown_upto: Mapping[str, int] = {}
        self.in_opening: Sequence[tuple[str, str]] = ()

    def clear(self) -> None:
        """Drop what is pending: a new session begins under the key."""
        self.inbox.take()
        self.restored_upto, self.shown_upto, self.in_opening = {}, {}, ()


class Position(NamedTuple):
    """How much of its scope's files a session has seen.

    generation: of the index; it rises when the index is made anew. revision: of the scope in that index; None before
    the first comparison. last_change: see `Follower.refresh`.
    """

    generation: int = 0
    revision: int | None = None
    last_change: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class OpeningState:
    """What an opening was made from. While this stays the same, the opening is current.

    changes: the number of the last change of each scope's files. day: YYYY-MM-DD. record: the last session's record.
    """

    changes: Mapping[str, int]
    day: str
    record: str


@dataclass(slots=True, kw_only=True)
class Switches:
    """The features that the user has switched in a session.

    count: how many times the user has switched. stored: the count when they were last written to the journal.
    """

    features: Mapping[str, bool] = field(default_factory=dict)
    count: int = 0
    stored: int = 0

    def set(self, features: Sequence[Feature], *, on: bool) -> None:
        """Switch features on the user's request."""
        self.features = {**self.features, **dict.fromkeys(features, on)}
        self.count += 1

    def clear(self) -> None:
        """Take every switch back: the config decides again."""
        self.features = {}
        self.count += 1


class Called(NamedTuple):
    """What the host calls who speaks, and the chat; "" for what it does not say."""

    sender: str
    chat: str


class Session:
    """One open conversation.

    A gateway reads `key`, `session_id` and `opening`, and may call `compacted`; the rest is internal.
    """

    def __init__(self, who: Who, settings: MemorySync, registry: "SessionRegistry") -> None:
        self.registry = registry
        """The sessions of the memory that made this one. Only that memory accepts this session in its calls."""
        self.who = who
        self.types = session_types(who.key, who.scope)
        """The types of the session, the most specific one first."""
        self.settings = settings
        self.session_id = ""
        self.in_context = InContext()
        self.pending = PendingUpdates(settings)
        self.positions: Mapping[str, Position] = {}
        """How far it has received the new lines of each scope that it reads, by the scope's key."""
        self.switches = Switches()
        self.is_open = False
        self.ending = False
        """Whether the end has begun and is not yet known to be completed."""
        self.detached = False
        """Whether this is a detached session: a handle for a shell, a page or an agent's tools."""
        self.starting = asyncio.Lock()
        self.writing = asyncio.Lock()
        """Serializes writes: messages are stored in order, and an end waits for writes in progress."""
        self.language: Literal["zh", "en"] = "en"
        self.commands_as = CHAT
        """The prefix of commands in answers to this session."""
        self.digest = ""
        """The week's digest, a part of its openings."""
        self.opening_state: OpeningState | None = None
        """The state of the scopes from which the opening was made; None if it has to be made anew."""
        self.opening_kept = False
        """Whether the session has added memories since, which its opening lacks."""
        self.recent: deque[str] = deque(maxlen=_PRECEDING_TURNS)
        """The user's last messages, newest last. They complete a query that refers to them."""
        self.recalled: tuple[str, ...] = ()
        """The ids of the memories that were recalled for the current reply."""
        self.report: ReplyReport | None = None
        """What was considered for the current reply."""
        self.asked: tuple[str, Requested | None] = ("", None)
        """The current message, and what it asks of the memory itself."""
        self.sender = Sender()
        """Who speaks in a room, as the host has said at last. A call takes it before it waits for anything."""
        self.noticed: set[Literal["masked", "unkept"]] = set()
        """What it was told once: that a secret is masked, that the talk of this room is not kept."""
        self.called = Called("", "")
        """What the host calls who speaks, and the chat."""
        self.called_stored = Called("", "")
        """What of this was stored."""
        self.secrets_asked: tuple[str, ...] = ()
        """The names of secrets for which the last reply has asked."""
        self.last_turn = 0
        """The number of the last turn that this session has kept."""

    def __repr__(self) -> str:
        return f"<Session {self.session_id} {self.scope.key}{'' if self.is_open else ' ended'}>"

    @property
    def key(self) -> str:
        """The host's session key."""
        return self.who.key

    @property
    def scope(self) -> Scope:
        """Its memory, to which it writes."""
        return self.who.scope

    @property
    def opening(self) -> str:
        """The text for the system prompt. Empty for an incognito session, which recalls nothing."""
        return "" if self.incognito else self.in_context.opening

    @property
    def opening_partial(self) -> bool:
        """Whether a part of the opening was late or failed. The opening says so in its last line."""
        return self.in_context.partial

    @property
    def incognito(self) -> bool:
        """Whether this session stores nothing and recalls nothing."""
        return not any(self.on(feature) for feature in FEATURES)

    @property
    def is_excluded(self) -> bool:
        """Whether the config keeps nothing of what is said in sessions of this type."""
        return not set(self.types).isdisjoint(self.settings.auto_extract.exclude_session_types)

    @property
    def keeps_episodes(self) -> bool:
        """Whether turns of the session are kept as episodes. The config or the user can switch it off."""
        return self.settings.episodes.enabled and self.may_save and not self.incognito

    @property
    def recalls_episodes(self) -> bool:
        """Whether what was said in earlier turns may be found for this session."""
        return self.settings.episodes.enabled and not self.incognito

    @property
    def may_save(self) -> bool:
        """Whether the session's agent may save facts and summaries: unless the user switched `autoExtract` or all off.

        The config does not matter: a host may disable extraction and still have an agent that saves.
        """
        return self.switches.features.get("autoExtract", True)

    def on(self, feature: Feature) -> bool:
        """Return whether a feature is enabled: by the user's `/memory on` or `off`, else by the config."""
        configured: bool = getattr(self.settings, _SETTINGS[feature]).enabled
        return self.switches.features.get(feature, configured)

    def reset(self, session_id: str) -> None:
        """Begin a new session under the key (a new id), with an empty context."""
        self.session_id = session_id
        self.ending = False
        ephemeral, self.in_context = self.in_context.ephemeral, InContext()
        self.in_context.ephemeral = ephemeral
        self.pending.clear()
        self.positions = {}
        self.digest, self.opening_state = "", None
        self.recent.clear()

    def close(self, *, ending: bool = False) -> None:
        """Record that the session is over. ending: its results are still being saved."""
        self.is_open, self.ending = False, ending or self.ending

    def open_with(self, text: str, memories: Sequence[tuple[str, str]], *, partial: bool = False) -> None:
        """Replace the opening. memories: in it (id, text). partial: a part is missing, and the opening says so."""
        text = f"{text}\n\n{say(self.language, 'opening_late')}".strip() if partial else text
        self.in_context.open_with(text, memories, partial=partial)
        self.opening_kept = False

    def receive(self, message: str) -> None:
        """Record a message of the user: its language, for answers, and its text, for later queries.

        An incognito session does not store the text.
        """
        message = message[:_RECENT_LENGTH]
        if has_han(message):
            self.language = "zh"
        elif any(character.isalpha() for character in message):
            self.language = "en"
        if not self.incognito:
            self.recent.append(message)

    def compacted(self) -> None:
        """Report that the host has compacted this session's context. Its memories may be injected again."""
        self.in_context.compact(self.last_turn)
        if self.opening_kept:  # what it lacks was in the conversation, and is not any more
            self.opening_state, self.opening_kept = None, False


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

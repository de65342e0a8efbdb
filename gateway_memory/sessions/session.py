"""A session: who speaks in it, and what waits for it."""

import asyncio
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from extractor import has_han
from gateway_memory.config.settings import MemorySync
from gateway_memory.edge.phrases import CHAT, say
from gateway_memory.edge.session_key import session_types
from gateway_memory.scope import Scope
from gateway_memory.store.journal.speakers import Sender
from notifier import Inbox

if TYPE_CHECKING:
    from gateway_memory.store.report import ReplyReport, Requested
from gateway_memory.sessions.in_context import InContext

Feature = Literal["autoExtract", "autoRecall", "notify", "incrementalSync", "observations"]
FEATURES: Final[tuple[Feature, ...]] = ("autoExtract", "autoRecall", "notify", "incrementalSync", "observations")
"""The features that `/memory on` and `/memory off` switch for one session."""

_SETTINGS: Final = dict(
    zip(FEATURES, ("auto_extract", "auto_recall", "notify", "incremental_sync", "observations"), strict=True)
)
"""The settings of each feature."""
_PRECEDING_TURNS: Final = 3
_RECENT_LENGTH: Final = 500


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

    def __init__(self, who: Who, settings: MemorySync, registry: object) -> None:
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

"""A session: its user, its scope, its settings, and its state in this process."""

import asyncio
from collections import deque
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal

from extractor import has_han
from gateway_memory.config.settings import MemorySync
from gateway_memory.edge.phrases import CHAT, say
from gateway_memory.identity import session_types
from gateway_memory.scope import Scope
from notifier import Inbox

if TYPE_CHECKING:
    from gateway_memory.store.report import ReplyReport
    from gateway_memory.store.withheld import Withheld

__all__ = ["FEATURES", "Feature", "Session"]

Feature = Literal["autoExtract", "autoRecall", "notify", "incrementalSync", "observations"]
FEATURES: Final[tuple[Feature, ...]] = ("autoExtract", "autoRecall", "notify", "incrementalSync", "observations")
"""The features that `/memory on` and `/memory off` switch for one session."""

_PRECEDING_TURNS: Final = 3
_RECENT_LENGTH: Final = 500


class Session:
    """One open conversation. A gateway reads `key`, `session_id` and `opening`; the rest is internal."""

    def __init__(self, *, key: str, scope: Scope, settings: MemorySync, memory: object) -> None:
        self.memory = memory
        """The memory that made this session. No other memory accepts it."""
        self.key = key
        self.scope = scope
        self.origin = scope
        """The scope of whoever speaks, before links. The session is in the scope that this one is linked into."""
        self.settings = settings
        self.types = session_types(key, scope)
        self.session_id = ""
        self._opening = self.digest = ""
        self._hidden: dict[str, Withheld] = {}
        """The text that was forgotten since the opening was built, by scope."""
        self.ended = True
        self.ending = False
        """Whether the end has begun and is not yet known to be completed."""
        self.starting = asyncio.Lock()
        self.accepting = asyncio.Lock()
        """Serializes writes: messages are stored in order, and an end waits for writes in progress."""
        self.language: Literal["zh", "en"] = "en"
        self.commands_as = CHAT
        """The prefix of commands in answers to this session."""
        self.inbox = Inbox(settings.notify.max_pending_updates, max_age_seconds=settings.notify.pending_max_age_seconds)
        self.restored: dict[str, int] = {}
        """The highest numbers, by origin, of the events that a restart restored to the inbox."""
        self.revision: int | None = None
        """The revision of the scope's index up to which the session was shown changes; None before the first look."""
        self.generation = 0
        """The generation of the index to which the revision belongs."""
        self.changes = -1
        """The number of the last change of the scope's files that this session was shown."""
        self.recent: deque[str] = deque(maxlen=_PRECEDING_TURNS)
        """The user's last messages, newest last. They complete a query that refers to them."""
        self.recalled: tuple[str, ...] = ()
        """The ids of the memories that were recalled for the current reply."""
        self.switched: dict[Feature, bool] = {}
        self.said = self.kept = 0
        """How often the user switched features here, and that count when the switches were last stored."""
        self.last_turn = 0
        """The number of the last turn that this session has kept."""
        self._compacted_upto = 0
        self.beside = False
        """Whether another process may own the conversation. This session then serves the tools of its agent."""
        self._ever_shown: set[tuple[str, int]] = set()
        self._shown: set[tuple[str, int]] = set()
        self.opening_state: object = None
        """The state of the scope from which the opening was made."""
        self._in_opening: frozenset[tuple[str, int]] = frozenset()
        self._opens_reply = False
        """Whether the host has asked for the opening before this reply, and so injects it."""
        self._ephemeral = False

    def __repr__(self) -> str:
        return f"<Session {self.session_id} {self.scope.key}{' ended' if self.ended else ''}>"

    delivered: Mapping[str, int] = MappingProxyType({})
    """Up to which number, by origin, the session was told events before this process went on with it."""
    joined: tuple[Scope, ...] = ()
    """The shared scopes that its host has named, such as a project. They are read beside its own."""
    opening_partial = False
    """Whether a part of the opening was late or failed, and is missing. The opening says so in its last line."""
    _withdrawn: frozenset[str] = frozenset()
    report: "ReplyReport | None" = None
    """What was considered for the current reply."""

    @property
    def opening(self) -> str:
        """The text for the system prompt. Empty for an incognito session, which recalls nothing."""
        if self.incognito:
            return ""
        text = self._opening
        for hidden in self._hidden.values():
            text = hidden.cut(text)
        return text

    @opening.setter
    def opening(self, text: str) -> None:
        self._opening, self._hidden = text, {}

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """The scopes that it reads, its own first."""
        return self.scope, *self.joined

    @property
    def joined_key(self) -> str:
        """The key of the shared scope to which the session's decisions go, or ""."""
        return self.joined[0].key if self.joined else ""

    @property
    def ephemeral(self) -> bool:
        """Whether the host drops what was injected after each reply. The session's own turns stay in its context."""
        return self._ephemeral

    @ephemeral.setter
    def ephemeral(self, on: bool) -> None:
        if on and not self._ephemeral:
            self._shown.clear()
        self._ephemeral = on

    @property
    def type(self) -> str:
        """The most specific type of the session."""
        return self.types[0]

    @property
    def incognito(self) -> bool:
        """Whether this session stores nothing and recalls nothing."""
        return not any(self.on(feature) for feature in FEATURES)

    @property
    def keeps_episodes(self) -> bool:
        """Whether what is said in the session is kept: unless the config or the user says otherwise."""
        return self.settings.episodes.enabled and self.may_save and not self.incognito

    @property
    def recalls_episodes(self) -> bool:
        """Whether what was said in earlier turns may be found for this session."""
        return self.settings.episodes.enabled and not self.incognito

    def has_said(self, session_id: str, turn: int) -> bool:
        """Return whether the session's context contains a turn: one of its own since the last compaction."""
        return session_id == self.session_id and turn > self._compacted_upto

    @property
    def may_save(self) -> bool:
        """Whether the session's agent may save facts and summaries: unless the user switched `autoExtract` or all off.

        The config does not matter: a host may disable extraction and still have an agent that saves.
        """
        return self.switched.get("autoExtract", True)

    def reset(self, session_id: str) -> None:
        """Start a new incarnation, which was shown nothing yet."""
        self.session_id = session_id
        self.ending = False
        self._opening = self.digest = ""
        self.opening_partial = False
        self.delivered, self.restored = {}, {}
        self.revision = None
        self.changes = -1
        self.recent.clear()
        self._ever_shown.clear()
        self._shown.clear()
        self._withdrawn = frozenset()
        self.opening_state, self._in_opening, self._opens_reply = None, frozenset(), False
        self.inbox.take()

    def start(self) -> None:
        """Record that the incarnation has started."""
        self.ended = False

    def close(self, *, ending: bool = False) -> None:
        """Record that the incarnation is over. ending: its results are still being saved, until `saved`."""
        self.ended, self.ending = True, ending or self.ending

    def saved(self) -> None:
        """Record that the results are saved. The session may have started again meanwhile."""
        self.ending = False

    def follow(self, generation: int, revision: int | None, changes: int = -1) -> None:
        """Record up to which revision, of which index, the session was shown the changes of its scope's files."""
        self.generation, self.revision, self.changes = generation, revision, changes

    def hide(self, scope: str, hidden: "Withheld") -> None:
        """Remove text from the opening that was forgotten in a scope."""
        self._hidden[scope] = hidden

    def switch(self, features: Sequence[Feature], *, on: bool) -> None:
        """Switch features on the user's request."""
        self.switched |= dict.fromkeys(features, on)
        self.said += 1

    def on(self, feature: Feature) -> bool:
        """Return whether a feature is enabled: by the user's `/memory on` or `off`, else by the config."""
        settings = self.settings
        configured = {
            "autoExtract": settings.auto_extract.enabled,
            "autoRecall": settings.auto_recall.enabled,
            "notify": settings.notify.enabled,
            "incrementalSync": settings.incremental_sync.enabled,
            "observations": settings.observations.enabled,
        }
        return self.switched.get(feature, configured[feature])

    def hears(self, message: str) -> None:
        """Record a message of the user: its language, for answers, and its text, for later queries.

        An incognito session does not store the text.
        """
        if has_han(message[:_RECENT_LENGTH]):
            self.language = "zh"
        elif any(character.isalpha() for character in message[:_RECENT_LENGTH]):
            self.language = "en"
        if not self.incognito:
            self.recent.append(message[:_RECENT_LENGTH])

    def mark_shown(self, items: Sequence[tuple[str, str]]) -> None:
        """Record memories (id, text) that this session was shown or has said, so that they are not injected again."""
        noted = {(identity, _key(text)) for identity, text in items}
        self._ever_shown |= noted
        self._shown |= noted

    def mark_injected(self, items: Sequence[tuple[str, str]]) -> None:
        """Record memories (id, text) that were injected. They stay in the context unless the session is ephemeral."""
        self._ever_shown |= {(identity, _key(text)) for identity, text in items}
        if not self._ephemeral:
            self.mark_shown(items)

    def open_with(self, text: str, items: Sequence[tuple[str, str]], *, partial: bool = False) -> None:
        """Record a new opening and its memories (id, text). partial: a part is missing, and the opening says so."""
        self.opening = f"{text}\n\n{say(self.language, 'opening_late')}".strip() if partial else text
        self.opening_partial = partial
        self.mark_injected(items)
        self._in_opening = frozenset((identity, _key(text)) for identity, text in items)

    def open_reply(self) -> None:
        """Record that the host has asked for the opening, and injects it now."""
        self._opens_reply = True

    def told_outside_opening(self, identity: str, text: str) -> bool:
        """Return whether the context contains a memory that an opening, which replaces the earlier one, can omit."""
        key = identity, _key(text)
        return not self._ephemeral and key in self._shown and key not in self._in_opening

    def replied(self) -> None:
        """Record that the context of a reply is made: an opening that was asked for before it is gone afterwards."""
        self._opens_reply = False

    def unmark(self, identity: str, text: str) -> None:
        """Record that the session was told that a memory was removed. If it is restored, it is news again."""
        self._ever_shown.discard((identity, _key(text)))
        self._shown.discard((identity, _key(text)))
        self._withdrawn |= {identity}

    def was_withdrawn(self, identity: str) -> bool:
        """Return whether the session was told that a memory was removed."""
        return identity in self._withdrawn

    def shows(self, identity: str, text: str) -> bool:
        """Return whether the session's context contains the memory with this text."""
        key = identity, _key(text)
        return key in self._shown or (self._opens_reply and key in self._in_opening)

    def was_shown(self, identity: str, text: str) -> bool:
        """Return whether the session was ever shown this memory with this text, even before a compaction."""
        return (identity, _key(text)) in self._ever_shown

    def compacted(self) -> None:
        """Report that the host has compacted this session's context. Its memories may be injected again.

        Memories that were shown before are still no news, so a compaction causes no `[Memory Changes]`. A forgotten
        memory is still withdrawn, since the host's summary may contain it.
        """
        self._shown.clear()
        self._compacted_upto = self.last_turn


def _key(text: str) -> int:
    return hash(" ".join(text.split()))  # an event has the text in one line, a file possibly in several

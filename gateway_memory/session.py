"""Who is talking, where it is written, and what may be read."""

import asyncio
import hashlib
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Literal

from extractor import clean, has_han
from gateway_memory.config.settings import MemorySync
from gateway_memory.phrases import CHAT
from gateway_memory.scope import Scope
from notifier import Inbox

if TYPE_CHECKING:
    from gateway_memory.store.withheld import Withheld

__all__ = ["FEATURES", "Feature", "Session", "session_types", "without_secrets"]

Feature = Literal["autoExtract", "autoRecall", "notify", "incrementalSync", "observations"]
FEATURES: Final[tuple[Feature, ...]] = ("autoExtract", "autoRecall", "notify", "incrementalSync", "observations")
"""What `/memory on` and `/memory off` can switch for one session."""

_ALSO: Final[dict[str, tuple[str, ...]]] = {
    "direct": (),
    "dm": ("direct",),
    "group": (),
    "channel": ("group",),
    "room": ("group",),
    "cron": (),
    "hook": (),
    "node": (),
    "subagent": (),
    "acp": (),
}
"""The kinds in OpenClaw's session keys, and what else each of them is."""
_KIND_WITHIN: Final = 3
"""A kind stands behind a channel and an account at the most."""
_PRECEDING_TURNS: Final = 3
_RECENT_LENGTH: Final = 500


def without_secrets(key: str) -> str:
    """Return a session key as it may be kept: where it holds a secret, without that, and still one of its own."""
    cleaned = clean(key)
    if not (cleaned.secrets or cleaned.private_spans):
        return key
    digest = hashlib.blake2b(key.encode("utf-8", "replace"), digest_size=5).hexdigest()
    return f"{cleaned.text}#{digest}"


def session_types(key: str, scope: Scope) -> tuple[str, ...]:
    """Return what `excludeSessionTypes` calls a session, the most exact type first.

    OpenClaw's documented keys are read: `agent:<id>:<main key>`, `agent:<id>:[<channel>:[<account>:]]direct:<peer>`
    (also `dm`), `…:group:<id>`, `…:channel:<id>`, each with `:thread:<id>` or `:topic:<id>` behind it,
    `agent:<id>:cron:<job>`, `cron:<job>`, `hook:<id>`, `node-<id>`, `…:subagent:<id>`. A channel is a group
    too, and so is a room; a thread is also of the type of what it hangs on. Any other key is a direct conversation.
    """
    if scope.key.startswith("room:"):
        return ("group",)
    parts = key.lower().split(":")
    is_agent = parts[0] == "agent" and len(parts) > 2  # noqa: PLR2004 - agent, its id, and what follows
    place = parts[2:] if is_agent else parts
    if place[0].startswith("node-"):
        return ("node",)
    # A peer may be called "group" or "cron": the first word that is a kind tells, and it has something behind it.
    at = next((at for at, part in enumerate(place[:_KIND_WITHIN]) if part in _ALSO and place[at + 1 :]), None)
    if at is None:
        if not is_agent:
            return ("direct",)
        return (*reversed(place[:2]), "direct")
    threaded = ("thread",) if {"thread", "topic"} & set(place[at + 2 : -1]) else ()
    return (place[at], *_ALSO[place[at]], *threaded)


def agent_of(key: str) -> str | None:
    """Return the agent that an OpenClaw session key names, or None for any other key."""
    match key.split(":"):
        case ["agent", agent, _, *_] if agent:
            return agent
    return None


class Session:
    """One open conversation. A gateway reads `key`, `session_id` and `opening`; the rest belongs to GatewayMemory."""

    def __init__(self, *, key: str, scope: Scope, settings: MemorySync, memory: object) -> None:
        self.memory = memory
        """Whose session it is: no other memory takes it."""
        self.key = key
        self.scope = scope
        self.settings = settings
        self.types = session_types(key, scope)
        self.session_id = ""
        self._opening = ""
        self.hidden: Withheld | None = None
        """What was forgotten since the opening was made."""
        self.ended = True
        self.ending = False
        """Whether its end was begun, and is not known to be done."""
        self.starting = asyncio.Lock()
        self.accepting = asyncio.Lock()
        """What was said first is kept first, however long it is; and an end waits for what is being kept."""
        self.language: Literal["zh", "en"] = "en"
        self.commands_as = CHAT
        """What its commands are called, before their names."""
        self.inbox = Inbox(settings.notify.max_pending_updates, max_age_seconds=settings.notify.pending_max_age_seconds)
        self.restored: dict[str, int] = {}
        """Up to which number, by origin, the inbox was filled with what waited over a restart."""
        self.revision: int | None = None
        """Up to which revision of its scope's index it was told what is new; None before it has looked."""
        self.generation = 0
        """Which index that revision is of."""
        self.changes = -1
        """Which change of the scope's files this session was the last to be told of."""
        self.recent: deque[str] = deque(maxlen=_PRECEDING_TURNS)
        """The user's last messages, newest last: they help a query that leans on them."""
        self.recalled: tuple[str, ...] = ()
        """The memories that were found for the reply that is being given."""
        self.switched: dict[Feature, bool] = {}
        self.said = self.kept = 0
        """How often the user switched something here, and how often when it was written down, for every process."""
        self.beside = False
        """Whether another process may have the conversation: this one serves its agent's tools."""
        self._ever_shown: set[tuple[str, int]] = set()
        self._shown: set[tuple[str, int]] = set()

    def __repr__(self) -> str:
        return f"<Session {self.session_id} {self.scope.key}{' ended' if self.ended else ''}>"

    @property
    def opening(self) -> str:
        """The text for the system prompt; empty while everything is off, since nothing is recalled then."""
        if self.incognito:
            return ""
        return self.hidden.cut(self._opening) if self.hidden else self._opening

    @opening.setter
    def opening(self, text: str) -> None:
        self._opening, self.hidden = text, None

    @property
    def type(self) -> str:
        """The most exact of the session's types."""
        return self.types[0]

    @property
    def incognito(self) -> bool:
        """Whether nothing of this session is kept, and nothing recalled."""
        return not any(self.on(feature) for feature in FEATURES)

    @property
    def may_save(self) -> bool:
        """Whether its agent may save facts and summaries: not after the user's `/memory off`, or `off autoExtract`.

        A host whose config extracts nothing by itself may still have an agent that saves.
        """
        return self.switched.get("autoExtract", True)

    def reset(self, session_id: str) -> None:
        """Become a new incarnation, which was shown nothing yet."""
        self.session_id = session_id
        self.ending = False
        self._opening = ""
        self.restored = {}
        self.revision = None
        self.changes = -1
        self.recent.clear()
        self._ever_shown.clear()
        self._shown.clear()
        self.inbox.take()

    def start(self) -> None:
        """Note that the incarnation has started."""
        self.ended = False

    def close(self, *, ending: bool = False) -> None:
        """Note that the incarnation is over. ending: what it leaves is still being saved, until `saved`."""
        self.ended, self.ending = True, ending or self.ending

    def saved(self) -> None:
        """Note that what it leaves is saved; it may have been started again meanwhile."""
        self.ending = False

    def follow(self, generation: int, revision: int | None, changes: int = -1) -> None:
        """Note up to where the session was told what is new in its scope's files, and in which index."""
        self.generation, self.revision, self.changes = generation, revision, changes

    def hide(self, hidden: "Withheld") -> None:
        """Leave out of the opening what was forgotten."""
        self.hidden = hidden

    def switch(self, features: Sequence[Feature], *, on: bool) -> None:
        """Switch features as the user says."""
        self.switched |= dict.fromkeys(features, on)
        self.said += 1

    def on(self, feature: Feature) -> bool:
        """Return whether a feature works in this session: by the config, unless `/memory on` or `off` said so."""
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
        """Note the user's words: the language that we answer in, and what the next query may lean on.

        What is said incognito is part of no later query.
        """
        if has_han(message[:_RECENT_LENGTH]):
            self.language = "zh"
        elif any(character.isalpha() for character in message[:_RECENT_LENGTH]):
            self.language = "en"
        if not self.incognito:
            self.recent.append(message[:_RECENT_LENGTH])

    def mark_shown(self, items: Sequence[tuple[str, str]]) -> None:
        """Note memories (id, text) that this session was shown, or has said itself: they are not injected again."""
        noted = {(identity, _key(text)) for identity, text in items}
        self._ever_shown |= noted
        self._shown |= noted

    def unmark(self, identity: str, text: str) -> None:
        """Note that the session was told that a memory is gone: were it put back, that would be news."""
        self._ever_shown.discard((identity, _key(text)))
        self._shown.discard((identity, _key(text)))

    def shows(self, identity: str, text: str) -> bool:
        """Return whether the memory stands in the session's context, in these words."""
        return (identity, _key(text)) in self._shown

    def was_shown(self, identity: str, text: str) -> bool:
        """Return whether the session has, or had before a compaction, this memory in these words: it is no news."""
        return (identity, _key(text)) in self._ever_shown

    def compacted(self) -> None:
        """Say that the host has compacted this session's context: what was in it may be injected again.

        What it was told stays no news: a compaction makes no `[Memory Changes]`, and a memory that is forgotten is
        still withdrawn, since the host's summary may hold it.
        """
        self._shown.clear()


def _key(text: str) -> int:
    return hash(" ".join(text.split()))  # an event's text is one line where the file's may be several

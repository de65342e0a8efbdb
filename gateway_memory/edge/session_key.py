"""What a session key says: its kind, its agent, and the key as it may be stored."""

import hashlib
from typing import Final

from extractor import clean
from gateway_memory.scope import Scope

_ALSO: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(("direct", "group", "cron", "hook", "node", "subagent", "acp"), ()),
    "dm": ("direct",),
    **dict.fromkeys(("channel", "room"), ("group",)),
}
"""The kinds in OpenClaw's session keys, and the additional types of each."""
CHAT_KINDS: Final = (*_ALSO, "thread")
"""The types that a session may have, besides names in its key."""
KIND_WITHIN: Final = 3
"""A kind follows at most a channel and an account."""


def without_secrets(key: str) -> str:
    """Return a session key without secrets. A digest keeps it unique."""
    cleaned = clean(key)
    if not (cleaned.secrets or cleaned.private_spans):
        return key
    digest = hashlib.blake2b(key.encode("utf-8", "replace"), digest_size=5).hexdigest()
    return f"{cleaned.text}#{digest}"


def session_types(key: str, scope: Scope) -> tuple[str, ...]:
    """Return the types of a session for `excludeSessionTypes`, the most specific first.

    The function reads OpenClaw's documented keys: `agent:<id>:<main key>`,
    `agent:<id>:[<channel>:[<account>:]]direct:<peer>` (also `dm`), `…:group:<id>`, `…:channel:<id>`, each with an
    optional `:thread:<id>` or `:topic:<id>`, `agent:<id>:cron:<job>`, `cron:<job>`, `hook:<id>`, `node-<id>`,
    `…:subagent:<id>`. A channel is also a group, and so is a room. A thread also has the type of its parent. Any other
    key is a direct conversation.
    """
    if scope.kind.session_type:
        return (scope.kind.session_type,)
    parts = key.lower().split(":")
    is_agent = parts[0] == "agent" and len(parts) > 2  # noqa: PLR2004 - agent, its id, and the rest
    parts = parts[2:] if is_agent else parts
    if parts[0].startswith("node-"):
        return ("node",)
    # A peer may be named "group" or "cron". The kind is the first such word with something after it.
    at = next((at for at, part in enumerate(parts[:KIND_WITHIN]) if part in _ALSO and parts[at + 1 :]), None)
    if at is None:
        return (*reversed(parts[:2]), "direct") if is_agent else ("direct",)
    threaded = ("thread",) if {"thread", "topic"} & set(parts[at + 2 : -1]) else ()
    return (parts[at], *_ALSO[parts[at]], *threaded)

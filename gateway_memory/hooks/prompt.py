"""The memories that are injected beside a prompt: those that are relevant, and not in context yet.

A prompt waits for this. A gateway that has the workspace open is asked first: its encoder is loaded. Without one, the
memories are searched in place by words, without a model.
"""

import re
import time
from collections.abc import Sequence
from datetime import tzinfo
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from extractor import is_greeting, is_small_talk, spoken
from gateway_memory.context.blocks import relevant_block
from gateway_memory.edge.shell_socket import ask
from gateway_memory.hooks.state import HookInput, hook_key, zone_of
from gateway_memory.store.journal.injected import open_injected

if TYPE_CHECKING:
    from recall import Line

_PRIVATE: Final = re.compile(r"(?is)<private>.*?(?:</private>|\Z)")
_COMMAND: Final = re.compile(r"/\w")
_LONGEST: Final = 8_000
_ASK_SHARE: Final = 0.5
"""The share of the time that is left for which a gateway is waited for. The rest is for searching without it."""


class _Hit(NamedTuple):
    """A memory that a gateway found. at: epoch seconds."""

    id: str
    text: str
    at: float


def relevant(event: HookInput, now: float) -> str:
    """Return the block to inject beside a prompt, "" for none. Nothing is injected twice in a session.

    now: epoch seconds.

    Raises:
        ConfigError: the config has mistakes.
        StoreError: the journal is locked, damaged or not there.
    """
    prompt = event.given.get("prompt")
    message = spoken(_PRIVATE.sub(" ", prompt[:_LONGEST])).strip() if isinstance(prompt, str) else ""
    if not message or _COMMAND.match(message) or is_greeting(message) or is_small_talk(message):
        return ""
    settings = event.settings()
    wanted, zone = settings["autoRecall"], zone_of(settings)
    with open_injected(event.workspace, event.session_id) as injected:
        if not injected.recalls(hook_key(event.session_id), configured=wanted["enabled"]):
            return ""
        hits: Sequence[_Hit | Line] | None = _by_gateway(event, message, wanted)
        if hits is None:
            hits = _in_place(event, message, wanted, now, zone)
        new = injected.fresh([(line.id, line.text) for line in hits])
        fresh = [line for line, is_new in zip(hits, new, strict=True) if is_new]
        text = relevant_block(fresh, zone, wanted["maxInjectedTokens"])
        injected.add([(line.id, line.text) for line in fresh if f"({line.id}, " in text])
        return text


def _by_gateway(event: HookInput, message: str, wanted: dict[str, Any]) -> Sequence[_Hit] | None:
    """Return what a gateway finds for a message, best first; None if none answers in time."""
    request = {"agent": "main", "prompt": message, "limit": wanted["maxResults"], "min_score": wanted["minScore"]}
    if joined := event.joined:
        request["project"] = joined.name
    response = ask(event.workspace, request, seconds=_ASK_SHARE * (event.until - time.monotonic()))
    try:
        return None if response is None else [_Hit(**row) for row in response["rows"]]
    except (KeyError, TypeError):  # a gateway of another version
        return None


def _in_place(
    event: HookInput, message: str, wanted: dict[str, Any], now: float, zone: tzinfo | None
) -> "Sequence[Line]":
    """Search by words, in this process."""
    from gateway_memory.hooks.words import lines_of, related_lines  # a gateway's answer does not need these imports
    from gateway_memory.store.validity import Today
    from recall import asks_what_was

    lines = lines_of(event.workspace, zone)
    if joined := event.joined:
        lines += lines_of(event.workspace, zone, joined)
    limit, least, past = wanted["maxResults"], wanted["minScore"], asks_what_was(message)
    found = related_lines(lines, message, Today(now, zone), limit=limit, min_score=least, past=past)
    return [line for _, line in found]

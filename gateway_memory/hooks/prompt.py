"""What an editor's session is told beside a prompt: memories that are relevant, and new to it.

A prompt waits for this, so the memories are searched in place by words, without a model, and nothing waits for a lock.
"""

import re
from pathlib import Path
from typing import Final

from extractor import is_greeting, is_small_talk
from gateway_memory.context.relevant import relevant_block
from gateway_memory.hooks.state import compiled_settings, hook_key, zone_of
from gateway_memory.hooks.words import lines_of
from gateway_memory.store.journal.shown import look_up_shown
from recall import related

__all__ = ["relevant"]

_PRIVATE: Final = re.compile(r"(?is)<private>.*?(?:</private>|\Z)")
_COMMAND: Final = re.compile(r"/\w")
_LONGEST: Final = 8_000


def relevant(workspace: Path, session_id: str, prompt: object, config: Path | None, now: float) -> str:
    """Return the block to tell beside a prompt, "" for none; the session is not told the same again.

    There is none if no other hook has compiled the config yet. now: epoch seconds.

    Raises:
        StoreError: the journal is locked, damaged or not there.
    """
    message = _PRIVATE.sub(" ", prompt[:_LONGEST]).strip() if isinstance(prompt, str) else ""
    if not message or _COMMAND.match(message) or is_greeting(message) or is_small_talk(message):
        return ""
    settings = compiled_settings(workspace, config)
    if settings is None:
        return ""
    wanted, zone = settings["autoRecall"], zone_of(settings)
    with look_up_shown(workspace, session_id) as shown:
        if not shown.recalls(hook_key(session_id), configured=wanted["enabled"]):
            return ""
        lines = lines_of(workspace, zone, now)
        found = related(lines, message, limit=wanted["maxResults"], min_score=wanted["minScore"], now=now, zone=zone)
        new = shown.fresh([(line.id, line.text) for _, line in found])
        fresh = [line for (_, line), is_new in zip(found, new, strict=True) if is_new]
        text = relevant_block(fresh, zone, wanted["maxInjectedTokens"])
        shown.add([(line.id, line.text) for line in fresh if f"({line.id}, " in text])
        return text

"""The histories of other programs, by name."""

from collections.abc import Iterator, Mapping
from datetime import tzinfo
from pathlib import Path
from typing import Final

from gateway_memory.errors import UsageError
from gateway_memory.transfer import conversations, facts, items
from gateway_memory.transfer.agent_histories import astrbot, hermes, nanobot, openclaw
from gateway_memory.transfer.chat_exports import EXPORTS
from gateway_memory.transfer.transcripts import claude_code, codex, cursor

HISTORIES: Final[Mapping[str, conversations.Reader]] = {
    "openclaw": openclaw,
    "nanobot": nanobot,
    "hermes": hermes,
    "astrbot": astrbot,
    "claude-code": claude_code,
    "cursor": cursor,
    "codex": codex,
    **{name: read for name, (_, read) in EXPORTS.items()},
    "mem0": facts.mem0,
}


def read_history(name: str, path: Path, zone: tzinfo | None, *, groups: bool) -> Iterator[items.Item]:
    """Yield what was said in a program's conversations, as episodes.

    zone: of times that name none; None is the host's. groups: whether conversations of groups are wanted.

    Raises:
        UsageError: the path contains no conversation of that program.
        OSError: a file can't be read.
    """
    found = False
    for each in HISTORIES[name](path, zone):
        found = found or not isinstance(each, items.Ignored)
        if isinstance(each, conversations.Conversation):
            yield from conversations.episodes_of(each, groups=groups)
        else:
            yield each
    if not found:
        raise UsageError(f"{path}: there are no conversations of {name} here, and no memories")

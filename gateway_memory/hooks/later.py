"""The hooks after the start: they read the transcript first, and the last of them closes the session."""

import contextlib
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gateway_memory.followup import followup_due
from gateway_memory.hooks.state import hook_key, open_journal, register
from gateway_memory.hooks.transcript import read_transcript
from gateway_memory.prompts import flush_prompt, followup_prompt
from gateway_memory.store.session_log import SESSIONS_FILE
from gateway_memory.store.session_state import has_left_anything, seen_in
from gateway_memory.store.sqlite import transaction
from gateway_memory.worth import is_chinese, worth_saving

__all__ = ["before_compaction", "end", "followup"]


def before_compaction(workspace: Path, session_id: str, given: dict[str, Any]) -> str:
    """Return what the agent is asked before its context is compacted, "" where there is nothing to keep."""
    with _session(workspace, session_id, given) as connection, transaction(connection):
        seen = seen_in(connection, "owner", session_id)
        if not worth_saving(seen) and not has_left_anything(connection, "owner", session_id):
            return ""
    usage, messages = given.get("context_usage_percent", "?"), given.get("message_count", "?")
    return flush_prompt(session_id, usage=usage, messages=messages, chinese=is_chinese(seen), workspace=str(workspace))


def followup(workspace: Path, session_id: str, given: dict[str, Any], *, status: object) -> str:
    """Return the follow-up prompt where one is due: see `followup_due`."""
    with _session(workspace, session_id, given) as connection:
        if status not in ("completed", "aborted"):
            return ""
        with transaction(connection):
            seen = followup_due(connection, "owner", workspace / SESSIONS_FILE, session_id)
    return "" if seen is None else followup_prompt(session_id, chinese=is_chinese(seen), workspace=str(workspace))


def end(workspace: Path, session_id: str, given: dict[str, Any], config: Path | None) -> None:
    """Close the session: its record is written unless it is saved. Facts are indexed along the way."""
    with _session(workspace, session_id, given) as connection:
        query = "SELECT 1 FROM sessions WHERE session_id = ? AND ended_at IS NULL"
        if connection.execute(query, (session_id,)).fetchone() is None:
            return
    import asyncio

    from gateway_memory.config import load_config
    from gateway_memory.logs import configure_logging
    from gateway_memory.memory import GatewayMemory
    from gateway_memory.session import OWNER

    loaded = load_config(config)
    configure_logging(verbose=False, workspace=workspace, settings=loaded.defaults.logs)
    reason = str(given.get("reason") or given.get("final_status") or "completed")[:40]

    async def close() -> None:
        async with GatewayMemory(loaded, workspace) as memory:
            session = await memory.start_session(hook_key(session_id), user=OWNER)
            await memory.end_session(session, reason=reason)

    asyncio.run(close())


@contextlib.contextmanager
def _session(workspace: Path, session_id: str, given: dict[str, Any]) -> Iterator[sqlite3.Connection]:
    """Open the journal with the session in it, and what its transcript has gained."""
    connection = open_journal(workspace)
    try:
        now = time.time()
        register(connection, session_id, now)
        path = given.get("transcript_path")
        if isinstance(path, str) and path and Path(path).is_file():
            read_transcript(connection, session_id, Path(path), now)
        yield connection
    finally:
        connection.close()

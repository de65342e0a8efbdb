"""The hooks after the start: they read the editor's transcript first, and the last one closes the session.

A transcript of Claude Code or Cursor is parsed into exchanges (`edge/transcript.py`), which are turns for the journal.
"""

import contextlib
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from gateway_memory.edge.content import milliseconds_of
from gateway_memory.edge.significance import is_chinese, is_significant, much_happened
from gateway_memory.errors import UsageError
from gateway_memory.hooks.feed import Reached, feed, read_last_message
from gateway_memory.hooks.state import HookInput, hook_key, register
from gateway_memory.scope import OWNER_KEY
from gateway_memory.store.journal import opened
from gateway_memory.store.journal.in_place import JournalInPlace
from gateway_memory.store.journal.opened import Observation

_MODEL_SECONDS: Final = 20.0
"""The time for a model at a session's end, of the 30 s of an editor's hook."""


def before_compaction(event: HookInput) -> str:
    """Return the request to the agent before its context is compacted, or "" if there is nothing to save.

    Without a transcript the content is unknown. A full context contains something, so the agent is asked to judge.
    """
    with _session(event) as (journal, pending):
        journal.add_injected(event.session_id, (), anew=True)  # what was injected may be gone
        with journal.transaction() as database:
            observations = [*opened.seen_in(database, OWNER_KEY, event.session_id), *pending]
            is_used = opened.has_left_anything(database, OWNER_KEY, event.session_id)
    nothing = _transcript(event.given) is not None and not is_significant(observations) and not is_used
    if nothing or not event.settings()["sessions"]["stageSummaries"]:
        return ""
    usage, messages = event.given.get("context_usage_percent", "?"), event.given.get("message_count", "?")
    return event.prompts.flush(event.session_id, usage=usage, messages=messages, chinese=is_chinese(observations))


def followup(event: HookInput, status: object) -> str:
    """Return the follow-up prompt if one is due: see `JournalInPlace.followup`.

    At the first stop, it is due only if much has happened. At later stops without a transcript, the agent judges
    whether there is anything to save.
    """
    wanted = event.settings()["sessions"]
    with _session(event, reached="stop") as (journal, pending):
        if status not in ("completed", "aborted") or not (wanted["followups"] and wanted["records"]):
            return ""
        if event.given.get("stop_hook_active") or event.given.get("loop_count"):  # it answers such a prompt
            return ""
        with journal.transaction() as database:
            first = opened.count_stop(database, event.session_id) <= 1
        known = _transcript(event.given) is not None

        def is_worth_a_prompt(kept: list[Observation]) -> bool:
            observations = [*kept, *pending]
            return much_happened(observations) if first else is_significant(observations) or not known

        kept = journal.followup(event.session_id, is_worth_a_prompt)
    return "" if kept is None else event.prompts.followup(event.session_id, chinese=is_chinese([*kept, *pending]))


def end_session(event: HookInput) -> None:
    """Close the session, and write its record unless it is saved. This also indexes new facts."""
    with _session(event, reached="end") as (journal, _), journal.transaction() as database:
        if not opened.is_open(database, event.session_id):
            return
    import asyncio

    from gateway_memory.config.load import load_config
    from gateway_memory.memory import GatewayMemory
    from gateway_memory.observability.logs import configure_logging
    from gateway_memory.scope import OWNER
    from gateway_memory.store.disk.workspace import own_config

    given, joined = event.given, event.joined
    config = load_config(event.config, own=own_config(event.workspace))
    configure_logging(verbose=False, workspace=event.workspace, settings=config.defaults.logs)
    project, duration_ms = joined.name if joined else None, None
    with contextlib.suppress(UsageError):  # what an editor reports may be no duration
        duration_ms = milliseconds_of(given.get("duration_ms"), "duration_ms")

    async def close() -> None:
        async with GatewayMemory(config, event.workspace) as memory:
            session = await memory.start_session(hook_key(event.session_id), user=OWNER, project=project)
            await memory.end_session(
                session,
                reason=str(given.get("reason") or given.get("final_status") or "completed")[:40],
                error=str(given.get("error_message") or ""),
                duration_ms=duration_ms,
            )
            with contextlib.suppress(TimeoutError):  # what is not read yet is read when the memory is opened again
                async with asyncio.timeout(_MODEL_SECONDS):
                    await memory.flush()

    asyncio.run(close())


@contextlib.contextmanager
def _session(event: HookInput, *, reached: Reached = "") -> Iterator[tuple[JournalInPlace, list[Observation]]]:
    """Open the journal, register the session, and read its transcript, or the reply in the event.

    Yields the journal, and the observations that are not stored yet.
    """
    with JournalInPlace.open(event.workspace) as journal:
        now = time.time()
        register(journal, event.session_id, now, lives=reached != "end", joined=event.joined)
        pending: list[Observation] = []
        if path := _transcript(event.given):
            pending = feed(journal, event, path, now, reached=reached)
        elif event.settings()["observations"]["enabled"]:
            read_last_message(journal, event, now)
        yield journal, pending


def _transcript(given: Mapping[str, Any]) -> Path | None:
    """Return the transcript that an editor names, or None if there is none."""
    named = given.get("transcript_path")
    if not isinstance(named, str) or not named:
        return None
    try:
        path = Path(named).expanduser()
        return path if path.is_file() else None
    except (OSError, ValueError, RuntimeError):  # a name that is too long or invalid, or ~nobody
        return None

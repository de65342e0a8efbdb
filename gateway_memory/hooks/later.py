"""The hooks after the start. They read the transcript first, and the last one closes the session."""

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from gateway_memory.edge.prompts import Prompts, is_chinese, is_significant, much_happened
from gateway_memory.hooks.editors import joined_in
from gateway_memory.hooks.state import hook_key, register, settings_of
from gateway_memory.hooks.transcript import Reached, feed, read_last_message
from gateway_memory.scope import OWNER_KEY
from gateway_memory.store.journal import session_state
from gateway_memory.store.journal.in_place import JournalInPlace
from gateway_memory.store.journal.session_state import Observation

_LONGEST_MS: Final = 10**13
_MODEL_SECONDS: Final = 20.0
"""The time for a model at a session's end, of the 30 s of an editor's hook."""


def before_compaction(
    workspace: Path, session_id: str, given: dict[str, Any], config: Path | None, *, until: float
) -> str:
    """Return the request to the agent before its context is compacted, or "" if there is nothing to save.

    Without a transcript the content is unknown. A full context contains something, so the agent is asked to judge.

    until: when the hook has to be done, by the monotonic clock.
    """
    with _session(workspace, session_id, given, config, until) as (journal, pending):
        journal.add_injected(session_id, (), anew=True)  # what was injected may be gone
        with journal.transaction() as database:
            seen = [*session_state.seen_in(database, OWNER_KEY, session_id), *pending]
            is_used = session_state.has_left_anything(database, OWNER_KEY, session_id)
    nothing = _transcript(given) is not None and not is_significant(seen) and not is_used
    if nothing or not settings_of(workspace, config)["sessions"]["stageSummaries"]:
        return ""
    usage, messages = given.get("context_usage_percent", "?"), given.get("message_count", "?")
    prompts = _prompts(workspace, config)
    return prompts.flush(session_id, usage=usage, messages=messages, chinese=is_chinese(seen))


def followup(
    workspace: Path, session_id: str, given: dict[str, Any], config: Path | None, *, status: object, until: float
) -> str:
    """Return the follow-up prompt if one is due: see `JournalInPlace.followup`. until: as in `before_compaction`.

    At the first stop, it is due only if much has happened. At later stops without a transcript, the agent judges
    whether there is anything to save.
    """
    wanted = settings_of(workspace, config)["sessions"]
    with _session(workspace, session_id, given, config, until, reached="stop") as (journal, pending):
        if status not in ("completed", "aborted") or not (wanted["followups"] and wanted["records"]):
            return ""
        if given.get("stop_hook_active") or given.get("loop_count"):  # it answers such a prompt
            return ""
        with journal.transaction() as database:
            first = session_state.count_stop(database, session_id) <= 1
        known = _transcript(given) is not None

        def is_worth_a_prompt(kept: list[Observation]) -> bool:
            seen = [*kept, *pending]
            return much_happened(seen) if first else is_significant(seen) or not known

        kept = journal.followup(session_id, is_worth_a_prompt)
    return (
        "" if kept is None else _prompts(workspace, config).followup(session_id, chinese=is_chinese([*kept, *pending]))
    )


def end(workspace: Path, session_id: str, given: dict[str, Any], config: Path | None, *, until: float) -> None:
    """Close the session, and write its record unless it is saved. This also indexes new facts.

    until: as in `before_compaction`.
    """
    of = _session(workspace, session_id, given, config, until, reached="end")
    with of as (journal, _), journal.transaction() as database:
        if not session_state.is_open(database, session_id):
            return
    import asyncio

    from gateway_memory.config.load import load_config
    from gateway_memory.memory import GatewayMemory
    from gateway_memory.observability.logs import configure_logging
    from gateway_memory.scope import OWNER

    loaded = load_config(config)
    configure_logging(verbose=False, workspace=workspace, settings=loaded.defaults.logs)
    project = joined.name if (joined := joined_in(given, workspace)) else None
    reason = str(given.get("reason") or given.get("final_status") or "completed")[:40]

    async def close() -> None:
        async with GatewayMemory(loaded, workspace) as memory:
            session = await memory.start_session(hook_key(session_id), user=OWNER, project=project)
            await memory.end_session(
                session,
                reason=reason,
                error=str(given.get("error_message") or ""),
                duration_ms=_milliseconds(given.get("duration_ms")),
            )
            with contextlib.suppress(TimeoutError):  # what is not read yet is read when the memory is opened again
                async with asyncio.timeout(_MODEL_SECONDS):
                    await memory.flush()

    asyncio.run(close())


def _milliseconds(value: object) -> float | None:
    """Return the duration that an editor reports, or None if it is invalid."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return float(value) if 0 <= value < _LONGEST_MS else None


@contextlib.contextmanager
def _session(
    workspace: Path,
    session_id: str,
    given: dict[str, Any],
    config: Path | None,
    until: float,
    *,
    reached: Reached = "",
) -> Iterator[tuple[JournalInPlace, list[Observation]]]:
    """Open the journal, register the session, and read its transcript, or the reply in the event.

    Yields the journal, and the observations that are not stored yet.
    """
    with JournalInPlace.open(workspace) as journal:
        now = time.time()
        project = joined_in(given, workspace)
        register(journal, session_id, now, lives=reached != "end", joined=project)
        settings = settings_of(workspace, config)
        path, pending = _transcript(given), list[Observation]()
        if path:
            last = given.get("last_assistant_message")
            pending = feed(
                journal,
                session_id,
                path,
                settings,
                now,
                until=until,
                reached=reached,
                last=last,
                joined=project.key if project else "",
            )
        elif settings["observations"]["enabled"]:
            read_last_message(journal, session_id, given, now)
        yield journal, pending


def _transcript(given: dict[str, Any]) -> Path | None:
    """Return the transcript that an editor names, or None if there is none."""
    named = given.get("transcript_path")
    if not isinstance(named, str) or not named:
        return None
    try:
        path = Path(named).expanduser()
        return path if path.is_file() else None
    except (OSError, ValueError, RuntimeError):  # a name that is too long or invalid, or ~nobody
        return None


def _prompts(workspace: Path, config: Path | None) -> Prompts:
    return Prompts(workspace=str(workspace), config=str(config.absolute()) if config else "")

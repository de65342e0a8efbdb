"""`gateway-memory doctor journal`, `sessions`, `files`, `episodes`: whether journal, files and index agree."""

import argparse
import time
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from gateway_memory.cli.findings import finding, tell_bad, tell_good, write_finding
from gateway_memory.cli.memory import in_memory
from gateway_memory.cli.options import whose_of
from gateway_memory.config.load import load_config
from gateway_memory.edge.phrases import SHELL_LANGUAGE, coded, fill, scope_name
from gateway_memory.memory import GatewayMemory
from gateway_memory.scope import OWNER_KEY
from gateway_memory.store.damage import Damage
from gateway_memory.store.disk.aside import JOURNAL_FILE, journals_aside
from gateway_memory.store.disk.workspace import INDEX_FILE
from gateway_memory.store.journal.episodes import PAGE_TURNS
from gateway_memory.store.journal.in_place import JournalInPlace, KeptTurn
from gateway_memory.store.journal.opened import SHARED_KEY
from gateway_memory.store.journal.recovery import recover
from gateway_memory.store.summaries import SESSIONS_FILE
from gateway_memory.sync.episodes import is_episode_page, page_of
from recall import RecallError, peek

_DAY_SECONDS: Final = 86400.0
_LOOKED_BACK_DAYS: Final = 7
_SLACK_SECONDS: Final = 7200.0
"""A running gateway deletes what is overdue once an hour."""
_SHOWN: Final = 10


def check_sessions(args: argparse.Namespace) -> int:
    """Say whether two processes have shared sessions lately. Return the exit code."""
    shared = 0
    if (args.workspace / "journal.sqlite").exists():
        with JournalInPlace.open(args.workspace) as journal:
            shared = journal.failures_at(SHARED_KEY, time.time() - _LOOKED_BACK_DAYS * _DAY_SECONDS)
    if shared:
        return tell_bad("sessions_shared", number=shared, days=_LOOKED_BACK_DAYS)
    return tell_good("sessions_well", days=_LOOKED_BACK_DAYS)


def check_files(args: argparse.Namespace) -> int:
    """Say which files were damaged and wait for an answer, and what was set aside."""
    problems = 0
    if (args.workspace / "journal.sqlite").exists():
        in_memory(args, partial(_look, args))
        with JournalInPlace.open(args.workspace) as journal:
            for scope, name in journal.notices():
                if damage := Damage.of_notice(name):
                    lost = len(damage.lost)
                    text = "records_lost" if damage.file == SESSIONS_FILE else "file_damaged"
                    problems += tell_bad(
                        text, scope=scope_name(SHELL_LANGUAGE.get(), scope), file=damage.file, lost=lost, of=damage.of
                    )
    problems += _aside(args.workspace)
    if aside := sorted(args.workspace.rglob("*.md.damaged-*")):
        write_finding(finding("files_aside", files=", ".join(str(path.relative_to(args.workspace)) for path in aside)))
    return problems or tell_good("files_well")


async def _look(args: argparse.Namespace, memory: GatewayMemory) -> None:
    """Let the memory look at its files: those that were emptied since it was last open wait for an answer then."""
    await memory.record(await memory.visit(**whose_of(args)), "status")


def _aside(workspace: Path) -> int:
    return sum(tell_bad("journal_aside", file=file) for file in journals_aside(workspace))


def check_journal(args: argparse.Namespace) -> int:
    """Recover damaged journals, and say what became of each and what could not be read."""
    recovered = recover(args.workspace)
    problems = sum(tell_bad("journal_unreadable", file=file) for file in recovered.unreadable)
    for file, kept in recovered.read.items():
        rows = {name: recovered.rows.get(table, 0) for name, table in _COUNTED.items()}
        tell_good("journal_recovered", file=file, kept=kept, all=sum(recovered.rows.values()), **rows)
    problems += sum(tell_bad("journal_log_lost", file=file) for file in recovered.without_log)
    language = SHELL_LANGUAGE.get()
    unknown = [coded(language, table) for table, number in sorted(recovered.lost.items()) if not number]
    for table, number in sorted(recovered.lost.items()):
        name = "journal_memories_lost" if table == "memories" else "journal_rows_lost"
        if number or table == "memories":
            problems += tell_bad(name, table=coded(language, table), number=number or finding("journal_rows_unknown"))
    if unknown:
        problems += tell_bad("journal_tables_lost", tables=fill("phrases", "comma").join(unknown))
    if recovered.lost and recovered.lost.keys().isdisjoint(_COUNTED.values()):
        write_finding(finding("journal_told_there"))
    if not recovered.read and not problems:
        return tell_good("journal_whole" if (args.workspace / JOURNAL_FILE).exists() else "journal_none")
    return problems


_COUNTED: Final = {"memories": "memories", "turns": "episodes", "waiting": "turns"}
"""What is told of the rows that were read, by the name in the text."""


def check_episodes(args: argparse.Namespace) -> int:
    """Compare the episodes with their pages and the index. Return the exit code."""
    keep_days = load_config(args.config).for_agent(args.agent).episodes.keep_days
    turns: Sequence[KeptTurn] = ()
    behind: set[tuple[str, int]] = set()
    if (args.workspace / "journal.sqlite").exists():
        with JournalInPlace.open(args.workspace) as journal:
            turns, behind = journal.kept_turns(), journal.unindexed_pages()
    scopes: defaultdict[str, list[KeptTurn]] = defaultdict(list)
    for turn in turns:
        scopes[turn.scope].append(turn)
    tell_good("turns_kept", turns=len(turns), scopes=len(scopes))
    problems = _aside(args.workspace)
    if bad := [turn.number for turn in turns if not turn.readable]:
        turns_shown = ", ".join(map(str, bad[:_SHOWN]))
        if len(bad) > _SHOWN:
            turns_shown = finding("turns_more", turns=turns_shown, number=len(bad) - _SHOWN)
        problems += tell_bad("turns_unreadable", number=len(bad), turns=turns_shown)
    else:
        tell_good("turns_readable")
    problems += _index(args.workspace, scopes, behind)
    until = time.time() - keep_days * _DAY_SECONDS - _SLACK_SECONDS
    if overdue := sum(turn.readable and turn.at < until for turn in turns) if keep_days else 0:
        problems += tell_bad("turns_overdue", number=overdue, days=keep_days)
    elif keep_days:
        tell_good("turns_young", days=keep_days)
    if not problems:
        write_finding(finding("all_well", but=""))
    return problems


def _index(workspace: Path, scopes: Mapping[str, Sequence[KeptTurn]], behind: Collection[tuple[str, int]]) -> int:
    """Say how the index differs from the turns that are kept, by scope; returns the number of problems.

    behind: the pages that changed since they were indexed, each with its scope. The next look of a gateway adds them.
    """
    late, different = 0, list[str]()
    for scope in sorted({OWNER_KEY, *scopes}):
        kept = scopes.get(scope, [])
        stored, indexed = Counter(page_of(turn.number) for turn in kept), _indexed(workspace, scope)
        pages = {page for page in stored.keys() | indexed.keys() if stored[page] != indexed.get(page, 0)}
        if pages <= {page_of(page * PAGE_TURNS) for of, page in behind if of == scope}:
            late += sum(max(0, stored[page] - indexed.get(page, 0)) for page in pages)
        else:
            there = sum(indexed.values())
            different.append(
                finding(
                    "index_differs",
                    number=len(kept),
                    scope=scope_name(SHELL_LANGUAGE.get(), scope),
                    indexed=there,
                    pages=len(pages),
                )
            )
    if late:
        write_finding(finding("index_follows", number=late))
    if different:
        return tell_bad("index_late", differences="; ".join(different), file=INDEX_FILE)
    return 0 if late else tell_good("index_well")


def _indexed(workspace: Path, scope: str) -> Mapping[str, int]:
    """Return how many turns of a scope the index has, by its pages."""
    try:
        with peek(workspace / INDEX_FILE) as index:
            return {name: size for name, (_, size) in index.stamps(scope).items() if is_episode_page(name)}
    except RecallError:  # missing, or of another version: it is built again
        return {}

"""`gateway-memory doctor episodes` and `sessions`: say what is wrong with what was said and its index, or with keys."""

import argparse
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from gateway_memory.cli.places import no_folder
from gateway_memory.config.load import load_config
from gateway_memory.errors import ConfigError, StoreError
from gateway_memory.scope import OWNER_KEY
from gateway_memory.store.disk.workspace import INDEX_FILE
from gateway_memory.store.journal.in_place import JournalInPlace, KeptTurn
from gateway_memory.store.journal.sessions import SHARED_KEY
from gateway_memory.sync.episodes import is_episode_page, page_of
from recall import RecallError, peek

__all__ = ["run"]

_DAY_SECONDS: Final = 86400.0
_LOOKED_BACK_DAYS: Final = 7
_SHARED: Final = (
    "process had open. A session key belongs to one process at a time: neither is told what the other one heard of "
    "other sessions. Send each conversation to one process, or give each process keys of its own."
)
_SLACK_SECONDS: Final = 7200.0
"""A running gateway deletes what is overdue once an hour."""
_SHOWN: Final = 10
_CATCHING_UP: Final = (
    "A gateway follows within a minute of its start: ask again then. If it stays so, close all "
    f"gateways and delete {INDEX_FILE}: it is built again from the journal."
)
_UNREADABLE: Final = (
    "Search misses these turns and their neighbours. Close all gateways, and restore journal.sqlite from a backup of a "
    "day when all is well."
)
_OVERDUE: Final = (
    "A gateway deletes them within an hour of its start. Does one run on this workspace, with this config (--config)?"
)


def run(args: argparse.Namespace) -> int:
    """Examine a part of the memory and print what is wrong; returns the exit code."""
    if args.part == "mqtt":
        from gateway_memory.cli.mqtt import run_doctor

        return run_doctor(args)
    if args.part == "model":
        from gateway_memory.cli.model import examine_model

        return examine_model(args)
    if no_folder(args.workspace):
        return 1
    if args.part == "sessions":
        return _examine_sessions(args.workspace, time.time())
    try:
        keep_days = load_config(args.config).for_agent(args.agent).episodes.keep_days
        turns = _turns(args.workspace)
    except (ConfigError, StoreError) as error:
        sys.stdout.write(f"✗ {error}\n")
        return 1
    problems = list(_examined(args.workspace, turns, keep_days, time.time()))
    sys.stdout.write("".join(f"✗ {problem}\n" for problem in problems) or "All is well.\n")
    return 1 if problems else 0


def _examine_sessions(workspace: Path, now: float) -> int:
    """Say whether processes share session keys."""
    shared = 0
    try:
        if (workspace / "journal.sqlite").exists():
            with JournalInPlace.open(workspace) as journal:
                shared = journal.failures_at(SHARED_KEY, now - _LOOKED_BACK_DAYS * _DAY_SECONDS)
    except StoreError as error:
        sys.stdout.write(f"✗ {error}\n")
        return 1
    if shared:
        sys.stdout.write(
            f"✗ {shared} times in {_LOOKED_BACK_DAYS} days, a session was opened that another living {_SHARED}\n"
        )
        return 1
    _good(f"no session key was used by two processes at once in {_LOOKED_BACK_DAYS} days")
    return 0


def _turns(workspace: Path) -> Sequence[KeptTurn]:
    if not (workspace / "journal.sqlite").exists():
        return ()
    with JournalInPlace.open(workspace) as journal:
        return journal.kept_turns()


def _examined(workspace: Path, turns: Sequence[KeptTurn], keep_days: int, now: float) -> Iterator[str]:
    """Yield what is wrong, and print what is right."""
    scopes: defaultdict[str, list[KeptTurn]] = defaultdict(list)
    for turn in turns:
        scopes[turn.scope].append(turn)
    _good(f"{len(turns)} turns are kept in {len(scopes)} scopes")
    bad = [turn.number for turn in turns if not turn.readable]
    if bad:
        more = f" and {len(bad) - _SHOWN} more" if len(bad) > _SHOWN else ""
        yield f"{len(bad)} turns can't be read: {', '.join(map(str, bad[:_SHOWN]))}{more}. {_UNREADABLE}"
    else:
        _good("all of them can be read")
    whose = sorted({OWNER_KEY, *scopes})
    different = [text for scope in whose for text in _different(workspace, scope, scopes.get(scope, []))]
    if different:
        yield f"{'; '.join(different)}. {_CATCHING_UP}"
    else:
        _good("the index has all of them")
    until = now - keep_days * _DAY_SECONDS - _SLACK_SECONDS
    overdue = sum(turn.readable and turn.at < until for turn in turns) if keep_days else 0
    if overdue:
        yield f"{overdue} turns are older than episodes.keepDays ({keep_days}). {_OVERDUE}"
    elif keep_days:
        _good(f"none is older than episodes.keepDays ({keep_days})")


def _different(workspace: Path, scope: str, kept: Sequence[KeptTurn]) -> Iterator[str]:
    """Yield how a scope's pages in the index differ from the turns that are kept."""
    stored = Counter(page_of(turn.number) for turn in kept)
    indexed = _indexed(workspace, scope)
    pages = [page for page in stored.keys() | indexed.keys() if stored[page] != indexed.get(page, 0)]
    if pages:
        there = sum(indexed.values())
        yield f"{len(kept)} turns of {scope} are kept, and {there} are in the index ({len(pages)} pages of it differ)"


def _indexed(workspace: Path, scope: str) -> Mapping[str, int]:
    """Return how many turns each page of the index holds."""
    try:
        with peek(workspace / INDEX_FILE) as index:
            return {name: size for name, (_, size) in index.stamps(scope).items() if is_episode_page(name)}
    except RecallError:  # missing, or of another version: it is built again
        return {}


def _good(text: str) -> None:
    sys.stdout.write(f"✓ {text}\n")

"""`gateway-memory doctor`, `retry` and `distill`: what is wrong with a memory or its model, and work that waits."""

import argparse
import asyncio
import sys
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from extractor import ExtractorSettings, Model, ModelError, Turn, Usage, access_of, has_model
from gateway_memory.capture.upkeep import Distilled
from gateway_memory.cli.memory import in_memory
from gateway_memory.cli.mqtt import run_doctor as examine_mqtt
from gateway_memory.cli.options import no_folder, whose_of
from gateway_memory.config.load import load_config
from gateway_memory.edge.phrases import say, texts
from gateway_memory.errors import ConfigError, StoreError
from gateway_memory.memory import GatewayMemory
from gateway_memory.scope import OWNER_KEY
from gateway_memory.store.disk.workspace import INDEX_FILE
from gateway_memory.store.journal.in_place import JournalInPlace, KeptTurn
from gateway_memory.store.journal.sessions import SHARED_KEY
from gateway_memory.sync.episodes import is_episode_page, page_of
from recall import RecallError, peek

__all__ = ["run_distill", "run_doctor", "run_retry"]


def run_retry(args: argparse.Namespace) -> int:
    """Read the turns again on which the model failed; returns the exit code."""
    turns, failed = in_memory(args, lambda memory: memory.retry())
    print(f"{turns} turns were read again; the model failed on {failed} of them.")  # noqa: T201
    return 1 if failed else 0


def run_distill(args: argparse.Namespace) -> int:
    """Move facts that have earned it to MEMORY.md, and print them with the reason; returns the exit code."""

    async def distilled(memory: GatewayMemory) -> list[Distilled]:
        return await memory.distill(await memory.visit(**whose_of(args)), dry_run=args.dry_run)

    facts = in_memory(args, distilled)
    outcomes = {"moved": "would move" if args.dry_run else "moved", "known": "known there", "full": "no room"}
    for each in facts:
        uses = f"recalled {each.uses.recalled}, said again {each.uses.repeated}, on {each.uses.days} days"
        why = f"{each.reason}: {uses}, confidence {each.memory.confidence:g}"
        print(f"{outcomes[each.outcome]:<11} {each.memory.id} · {each.memory.text} ({why})")  # noqa: T201
    moved = sum(each.outcome == "moved" for each in facts)
    print(f"{moved} facts {outcomes['moved']} to MEMORY.md.")  # noqa: T201
    return 0


# `gateway-memory doctor model`: ask the configured model three small things, and say what it can do.

_NONE: Final = (
    "No model is configured, so the rules alone extract: set OPENAI_API_KEY, or autoExtract.model and its baseUrl. See "
    "docs/local-model.md."
)
_NOW: Final = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
_SMALL: Final = (
    ("English", "haha ok. btw my sister Ana moved to Leeds in January, so I'm up there most weekends", "Leeds"),
    ("Chinese", "好的。对了，我姐姐李娜一月份搬到苏州去了，我周末常去看她", "苏州"),
)
_FORMS: Final = {
    "schema": "it keeps to a JSON schema",
    "json": "it answers in JSON, without a schema: the server refuses one",
    "text": "it is asked for JSON in words: the server refuses formats",
}
_WINDOW: Final = 4_600
"""Tokens of a batch that is longer than Ollama's usual context of 4,096."""
_WIDER: Final = (
    "give it a longer context (Ollama: num_ctx or OLLAMA_CONTEXT_LENGTH), or set autoExtract.contextTokens to the one "
    "that it has"
)
_LINE: Final = "And then we talked about the weather, and about nothing in particular, for most of the afternoon."
_LINE_TOKENS: Final = 20
_LINES: Final = 12
_MILLION: Final = 1_000_000


def examine_model(args: argparse.Namespace) -> int:
    """Ask the model and print what it can do, or what is wrong; returns the exit code."""
    try:
        settings = load_config(args.config).for_agent(args.agent).auto_extract
    except ConfigError as error:
        return _bad(str(error))
    if not has_model(settings):
        return _bad(_NONE)
    # Its own wording is shown, not the sentence at which a small one points.
    return asyncio.run(_examine(replace(settings, context_tokens=0, prompt="full")))


async def _examine(settings: ExtractorSettings) -> int:
    name, model_name, key = access_of(settings)
    where = settings.base_url or f"{name}'s own address"
    sys.stdout.write(f"{model_name} at {where}, {'with a key' if key != 'none' else 'without a key'}\n")
    model = Model(settings)
    problems, usage, slowest = 0, Usage(), 0.0
    try:
        async for language, wanted, contents, spent, seconds in _asked(model):
            if not usage.calls:
                _good_at_once("it can be reached")
                _good_at_once(_FORMS[model.form])
            usage, slowest = usage + spent, max(slowest, seconds)
            cost = f"{seconds:.1f} s, {spent.input_tokens} tokens in, {spent.output_tokens} out"
            cost += f", {(spent.input_tokens + spent.output_tokens) / max(seconds, 1e-3):.0f} a second"
            if any(wanted in content for content in contents):
                _good_at_once(f"it understands {language}: {'; '.join(contents)} ({cost})")
            else:
                missed = f"it does not note in {language} that a sister moved to {wanted}"
                problems += _bad(f"{missed} ({cost}): the model may be too small")
        started = time.monotonic()
        problems += await _window(model)
        slowest = max(slowest, time.monotonic() - started)
    except ModelError as error:
        reason = f"model_{error.kind}"
        return _bad(
            f"The model gave no answer: {say('en', reason if reason in texts('phrases') else 'model_unknown')}."
        )
    finally:
        await model.close()
    _tell_cost(settings, usage, slowest)
    return 1 if problems else 0


async def _asked(model: Model) -> AsyncIterator[tuple[str, str, list[str], Usage, float]]:
    """Yield the language, the expected word, what was noted, and the cost of each small question."""
    for language, said, wanted in _SMALL:
        started = time.monotonic()
        contents, usage = await _noted(model, [said])
        yield language, wanted, contents, usage, time.monotonic() - started


async def _noted(model: Model, said: Sequence[str]) -> tuple[list[str], Usage]:
    turns = [Turn(id=number, user=text, reply="", at=_NOW) for number, text in enumerate(said, 1)]
    found = await model.extract(turns, [], now=_NOW, speaker="the owner of the assistant")
    return [candidate.content for candidate in found.candidates], found.usage


async def _window(model: Model) -> int:
    """Ask about something that stands before a long text; return the number of problems."""
    _, said, wanted = _SMALL[0]
    filler = " ".join([_LINE] * _LINES)
    turns = [said, *([filler] * (_WINDOW // (_LINE_TOKENS * _LINES)))]
    contents, usage = await _noted(model, turns)
    if usage.calls > 1:
        _good_at_once(
            f"its context holds less than {_WINDOW} tokens, and the server says so: longer batches are read in halves"
        )
    elif any(wanted in content for content in contents):
        _good_at_once(f"its context holds {_WINDOW} tokens")
    else:
        return _bad(f"of {_WINDOW} tokens it does not see the first ones, or loses them: {_WIDER}")
    return 0


def _tell_cost(settings: ExtractorSettings, usage: Usage, slowest: float) -> None:
    cost = (usage.input_tokens * settings.input_price + usage.output_tokens * settings.output_price) / _MILLION
    a_batch = cost / max(1, usage.calls)
    _good_at_once(
        f"a small batch costs about {a_batch:.5f} USD by inputPrice and outputPrice; maxDailyExtractions is "
        f"{settings.max_daily_extractions}"
    )
    own = ExtractorSettings()
    if settings.base_url and (settings.input_price, settings.output_price) == (own.input_price, own.output_price):
        sys.stdout.write("  These are gpt-4o-mini's prices: set both to 0 for a server of your own.\n")
    if slowest > settings.timeout_seconds / 2:
        sys.stdout.write(
            f"  The longest answer took {slowest:.0f} s: set timeoutSeconds (now {settings.timeout_seconds:g}) to "
            "several times that.\n"
        )


def _good_at_once(text: str) -> None:
    sys.stdout.write(f"✓ {text}\n")
    sys.stdout.flush()


def _bad(text: str) -> int:
    sys.stdout.write(f"✗ {text}\n")
    return 1


# `gateway-memory doctor episodes` and `sessions`: say what is wrong with what was said and its index, or with keys.

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


def run_doctor(args: argparse.Namespace) -> int:
    """Examine a part of the memory and print what is wrong; returns the exit code."""
    if args.part == "mqtt":
        return examine_mqtt(args)
    if args.part == "model":
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

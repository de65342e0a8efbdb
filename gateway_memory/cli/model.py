"""`gateway-memory doctor model`: ask the configured model three small things, and say what it can do."""

import argparse
import asyncio
import sys
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from extractor import ExtractorSettings, Model, ModelError, Turn, Usage, access_of, has_model
from gateway_memory.config.load import load_config
from gateway_memory.edge.phrases import PHRASES, say
from gateway_memory.errors import ConfigError

__all__ = ["examine_model"]

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
                _good("it can be reached")
                _good(_FORMS[model.form])
            usage, slowest = usage + spent, max(slowest, seconds)
            cost = f"{seconds:.1f} s, {spent.input_tokens} tokens in, {spent.output_tokens} out"
            cost += f", {(spent.input_tokens + spent.output_tokens) / max(seconds, 1e-3):.0f} a second"
            if any(wanted in content for content in contents):
                _good(f"it understands {language}: {'; '.join(contents)} ({cost})")
            else:
                missed = f"it does not note in {language} that a sister moved to {wanted}"
                problems += _bad(f"{missed} ({cost}): the model may be too small")
        started = time.monotonic()
        problems += await _window(model)
        slowest = max(slowest, time.monotonic() - started)
    except ModelError as error:
        reason = f"model_{error.kind}"
        return _bad(f"The model gave no answer: {say('en', reason if reason in PHRASES else 'model_unknown')}.")
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
        _good(
            f"its context holds less than {_WINDOW} tokens, and the server says so: longer batches are read in halves"
        )
    elif any(wanted in content for content in contents):
        _good(f"its context holds {_WINDOW} tokens")
    else:
        return _bad(f"of {_WINDOW} tokens it does not see the first ones, or loses them: {_WIDER}")
    return 0


def _tell_cost(settings: ExtractorSettings, usage: Usage, slowest: float) -> None:
    cost = (usage.input_tokens * settings.input_price + usage.output_tokens * settings.output_price) / _MILLION
    a_batch = cost / max(1, usage.calls)
    _good(
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


def _good(text: str) -> None:
    sys.stdout.write(f"✓ {text}\n")
    sys.stdout.flush()


def _bad(text: str) -> int:
    sys.stdout.write(f"✗ {text}\n")
    return 1

"""`gateway-memory doctor model`: three small questions, and what the model can do."""

import argparse
import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from extractor import ExtractorSettings, Model, ModelError, Turn, Usage, access_of, has_model
from gateway_memory.cli.findings import finding, tell_bad, tell_good, write_finding
from gateway_memory.config.load import load_config
from gateway_memory.edge.phrases import fill, texts

_NOW: Final = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
_SMALL: Final = (
    ("English", "haha ok. btw my sister Ana moved to Leeds in January, so I'm up there most weekends", "Leeds"),
    ("Chinese", "好的。对了，我姐姐李娜一月份搬到苏州去了，我周末常去看她", "苏州"),
)
_WINDOW: Final = 4_600
"""Tokens of a batch that is longer than Ollama's usual context of 4,096."""
_LINE: Final = "And then we talked about the weather, and about nothing in particular, for most of the afternoon."
_LINE_TOKENS: Final = 20
_LINES: Final = 12
_MILLION: Final = 1_000_000


def check_model(args: argparse.Namespace) -> int:
    """Ask the model of the config, and say what it can do. Return the exit code."""
    settings = load_config(args.config).for_agent(args.agent).auto_extract
    if not has_model(settings):
        return tell_bad("model_none")
    # Its own wording is shown, not the sentence at which a small one points.
    return asyncio.run(_examine_model(replace(settings, context_tokens=0, prompt="full")))


async def _examine_model(settings: ExtractorSettings) -> int:
    name, model_name, key = access_of(settings)
    where = settings.base_url or finding("model_own_address", name=name)
    held = finding("model_with_key" if key != "none" else "model_without_key")
    write_finding(finding("model_at", model=model_name, where=where, key=held))
    model = Model(settings)
    problems, total, slowest = 0, Usage(), 0.0
    try:
        for name, message, place in _SMALL:
            language = finding(f"model_{name}")
            contents, usage, seconds = await _notes(model, [message])
            if not total.calls:
                tell_good("model_reached")
                tell_good(f"model_{model.form}")
            total, slowest = total + usage, max(slowest, seconds)
            rate = (usage.input_tokens + usage.output_tokens) / max(seconds, 1e-3)
            cost = finding("model_cost", seconds=seconds, usage=usage, rate=rate)
            if any(place in content for content in contents):
                tell_good("model_understands", language=language, contents="; ".join(contents), cost=cost)
            else:
                problems += tell_bad("model_misses", language=language, place=place, cost=cost)
        # About something that stands before a long text.
        _, message, place = _SMALL[0]
        filler = " ".join([_LINE] * _LINES)
        contents, usage, seconds = await _notes(model, [message, *([filler] * (_WINDOW // (_LINE_TOKENS * _LINES)))])
        sees = any(place in content for content in contents)
        if usage.calls > 1 or sees:
            tell_good("model_halves" if usage.calls > 1 else "model_holds", tokens=_WINDOW)
        else:
            problems += tell_bad("model_short", tokens=_WINDOW)
    except ModelError as error:
        known = f"model_{error.kind}" in texts("phrases")
        return tell_bad("model_no_answer", why=fill("phrases", f"model_{error.kind}" if known else "model_unknown"))
    finally:
        await model.close()
    _print_cost(settings, total, max(slowest, seconds))
    return problems


async def _notes(model: Model, messages: Sequence[str]) -> tuple[list[str], Usage, float]:
    """Return what the model notes of messages, what it used, and the seconds that it took."""
    started = time.monotonic()
    turns = [Turn(id=number, user=text, reply="", at=_NOW) for number, text in enumerate(messages, 1)]
    extracted = await model.extract(turns, [], now=_NOW, speaker="the owner of the assistant")
    contents = [candidate.content for candidate in extracted.candidates]
    return contents, extracted.usage, time.monotonic() - started


def _print_cost(settings: ExtractorSettings, usage: Usage, slowest: float) -> None:
    cost = (usage.input_tokens * settings.input_price + usage.output_tokens * settings.output_price) / _MILLION
    tell_good("model_batch", cost=cost / max(1, usage.calls), limit=settings.max_daily_extractions)
    own = ExtractorSettings()
    if settings.base_url and (settings.input_price, settings.output_price) == (own.input_price, own.output_price):
        write_finding(finding("model_prices"))
    if slowest > settings.timeout_seconds / 2:
        write_finding(finding("model_slow", seconds=slowest, timeout=settings.timeout_seconds))

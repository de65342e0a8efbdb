"""What a model of one's own keeps of two invented weeks: `python benchmarks/model.py URL [--sheet FILE] [--batch 2]`.

URL is the base of a server that speaks OpenAI's protocol, such as http://127.0.0.1:8080/v1. This is a night's run on a
small machine, and no part of CI.

`weeks/en.json` and `weeks/zh.json` are conversations of seven days with 25 facts each that are worth keeping, and with
traps: what looks like a fact and is none. They were written by somebody who had not seen the prompt. Each goes through
the very calls of a gateway twice, by the rules alone and with the model, with the clock at its days. Printed:

    batches   per call of the model: tokens in and out, seconds; of 1,000 turns: calls, tokens, dollars; entries that
              were believed or point at a sentence of the user, and those refused, and why
    facts     of 25, those that a standing memory says; said: by half of the fact's content words and all its numbers
    traps     standing memories that say what a trap says
    lost      facts that the rules alone have, and the model's run has not

Words can't tell whether a sentence is true, so read the sheet: every fact and trap with what was kept of its turn, and
every entry of the model.
"""

import argparse
import asyncio
import json
import logging
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import structlog

from extractor import Model, ModelError
from extractor.language.values import numbers_stated
from extractor.language.vocabulary import statement_words
from extractor.model.model import Extraction
from gateway_memory import OWNER, Config, GatewayMemory, load_config
from gateway_memory.store.markdown import parse

Row = Mapping[str, Any]

WEEKS = Path(__file__).parent / "weeks"
SAID = 0.5  # share of a fact's content words that a memory of it has


@dataclass(slots=True)
class Run:
    """What came of one week. calls: of the model, with what it was asked, and its result or error."""

    stored: list[str] = field(default_factory=list)
    calls: list[tuple[float, Extraction | ModelError]] = field(default_factory=list)


def says(memory: str, fact: str) -> bool:
    """Return whether a memory says a fact, by half of its words and all of its numbers."""
    words = statement_words(fact)
    return numbers_stated(fact) <= numbers_stated(memory) and len(words & statement_words(memory)) >= SAID * len(words)


async def told(week: Row, config: Config, batch: int) -> Run:
    """Tell a week to a memory of its own."""
    run = Run()
    extract = Model.extract

    async def recorded(self: Model, *given: Any, **named: Any) -> Extraction:
        started = time.perf_counter()
        try:
            done = await extract(self, *given, **named)
        except ModelError as error:
            run.calls.append((time.perf_counter() - started, error))
            raise
        run.calls.append((time.perf_counter() - started, done))
        return done

    now = 0.0
    Model.extract = recorded  # type: ignore[method-assign]  # the public calls do not tell what a model answered
    try:
        with TemporaryDirectory() as folder:
            async with GatewayMemory(config, folder, clock=lambda: datetime.fromtimestamp(now, UTC)) as memory:
                for day in week["days"]:
                    now = datetime.fromisoformat(f"{day['date']}T09:00:00+00:00").timestamp()
                    session = await memory.start_session(f"day {day['date']}", user=OWNER)
                    for number, turn in enumerate(day["turns"], 1):
                        now += 60
                        await memory.after_reply(session, user=turn["user"], reply=turn["reply"])
                        if number % batch == 0 or number == len(day["turns"]):
                            await memory.flush()
                run.stored = [
                    block.text
                    for file in sorted(memory.workspace.rglob("*.md"))
                    for block in parse(file.read_text("utf-8"), file=file.name)
                    if block.kind == "item"
                ]
    finally:
        Model.extract = extract  # type: ignore[method-assign]
    return run


def report(week: Row, rules: Run, model: Run) -> dict[str, Any]:
    """Compare a week by the rules alone and with a model."""
    done = [result for _, result in model.calls if isinstance(result, Extraction)]
    candidates = [each for result in done for each in result.candidates]
    facts = [fact["fact"] for fact in week["facts"]]
    by_rules = {fact for fact in facts if any(says(text, fact) for text in rules.stored)}
    by_model = {fact for fact in facts if any(says(text, fact) for text in model.stored)}
    seconds = sorted(seconds for seconds, _ in model.calls)
    thousands = sum(len(day["turns"]) for day in week["days"]) / 1000
    read, written = (sum(getattr(each.usage, name) for each in done) for name in ("input_tokens", "output_tokens"))
    prices = load_config().defaults.auto_extract
    return {
        "calls": len(model.calls),
        "failed": dict(Counter(result.kind for _, result in model.calls if isinstance(result, ModelError))),
        "tokens_in": sum(each.usage.input_tokens for each in done) / max(1, len(done)),
        "tokens_out": sum(each.usage.output_tokens for each in done) / max(1, len(done)),
        "of_1000_turns": {
            "calls": round(len(model.calls) / thousands),
            "tokens_in": round(read / thousands),
            "tokens_out": round(written / thousands),
            "dollars": (read * prices.input_price + written * prices.output_price) / 1_000_000 / thousands,
        },
        "seconds_median": seconds[len(seconds) // 2] if seconds else 0.0,
        "entries_kept": sum(not each.only_as for each in candidates),
        "entries_pointing": sum(bool(each.only_as) for each in candidates),
        "entries_refused": dict(Counter(reason for each in done for reason in each.left_out)),
        "stored": len(model.stored),
        "facts": len(by_model),
        "facts_by_rules": len(by_rules),
        "lost": sorted(by_rules - by_model),
        "traps": [text for trap in week["traps"] for text in model.stored if says(text, trap["false"])],
    }


def sheet(name: str, week: Row, rules: Run, model: Run) -> str:
    """Return what a person reads: facts and traps with what says them, then all that is stored and refused."""
    lines = [f"# {name}"]
    for kind, key in (("facts", "fact"), ("traps", "false")):
        lines.append(f"\n## {kind}")
        for row in week[kind]:
            lines.append(f"- {row[key]} (“{row['words']}”)")
            lines += [f"  - stands: {text}" for text in model.stored if says(text, row[key])]
    lines += ["\n## by the rules alone", *(f"- {text}" for text in rules.stored)]
    lines += ["\n## with the model", *(f"- {text}" for text in model.stored)]
    lines.append("\n## the model's entries")
    for seconds, result in model.calls:
        if isinstance(result, ModelError):
            lines.append(f"- {seconds:.0f} s: failed, {result.kind}")
            continue
        usage = result.usage
        lines.append(f"- {seconds:.0f} s, {usage.input_tokens}/{usage.output_tokens} tokens")
        entries = ((each, "points at" if each.only_as else "kept") for each in result.candidates)
        lines += [f"  - {outcome}: {each.content} (“{each.quote}”)" for each, outcome in entries]
        lines += [f"  - refused: {reason}" for reason in result.left_out]
    return "\n".join(lines) + "\n"


async def measure(url: str, weeks: Mapping[str, Row], batch: int) -> tuple[dict[str, Any], str]:
    """Measure each week, and return what was measured and the sheet."""
    defaults = load_config().defaults
    rules = replace(defaults.auto_extract, model="rules", min_conversation_length=0)
    model = replace(rules, model="local", base_url=url, timeout_seconds=600)
    found: dict[str, Any] = {}
    sheets: list[str] = []
    for name, week in weeks.items():
        runs = [
            await told(week, Config(defaults=replace(defaults, auto_extract=extraction)), batch)
            for extraction in (rules, model)
        ]
        found[name] = report(week, *runs)
        sheets.append(sheet(name, week, *runs))
    return found, "\n".join(sheets)


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url", help="the base URL of a server that speaks OpenAI's protocol")
    parser.add_argument("--sheet", type=Path, help="a file for reading by hand")
    parser.add_argument("--batch", type=int, default=2, help="turns of a batch")
    parser.add_argument("--weeks", nargs="+", default=["en", "zh"], help="names of conversations in weeks/")
    arguments = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    weeks = {name: json.loads((WEEKS / f"{name}.json").read_text("utf-8")) for name in arguments.weeks}
    done, read = asyncio.run(measure(arguments.url, weeks, arguments.batch))
    if arguments.sheet:
        arguments.sheet.write_text(read, "utf-8")
    print(json.dumps(done, ensure_ascii=False, indent=2))


if __name__ == "__main__":
    main()

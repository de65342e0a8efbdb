"""From raw conversation to a later question, through the public calls, with the shipped settings and no model.

    python benchmarks/life.py --data FILE [--convs N] [--weeks 3] [--json]

FILE is JSON lines, gzip or plain, as recall_quality.py takes them; docs are turns: either `text` with `reply`, or one
speaker's `text` after the other's, in order, with `session` and `date`. Your own transcripts in this form do, too.

Each conversation is told turn by turn with the clock at its day. Some weeks later, or on the day of the last question
that has a date, each question is asked in a session of its own. A text brings a turn if it holds 40 characters of it in
a row, or all of a shorter one; a side such as "Noted." counts only where no longer one stands. Printed by source:

    context   questions with a labelled turn in what the session is given: its opening and before_reply
    search    questions with one among the first five hits of memory.search
    noise     messages that no memory answers which get a block
    tokens    the mean tokens of what before_reply gives
"""

import argparse
import asyncio
import json
import logging
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import structlog
from recall_quality import epoch_of, lines_of
from silence import SMALL_TALK

from gateway_memory import OWNER, GatewayMemory, load_config
from recall import count_tokens

Row = Mapping[str, Any]

FILLERS = (*SMALL_TALK[::4], "how do I reverse a list in Python?", "用一句话解释什么是TCP", "what's 17 * 23")
RUN = 40
STEP = 10
SHORTEST = 12
"""Characters of a side that is evidence."""
FIRST_DAY = datetime(2023, 1, 1, tzinfo=UTC)


def brings(text: str, turn: str) -> bool:
    """Return whether a text quotes a turn."""
    given, wanted = ("".join(each.split()) for each in (text, turn))
    return bool(wanted) and any(wanted[at : at + RUN] in given for at in range(0, max(1, len(wanted) - RUN + 1), STEP))


def said_in(doc: Row) -> list[str]:
    """Return what a doc says: a turn of one speaker, or the sides of an exchange that say something."""
    sides = [each for each in (doc["text"], doc.get("reply", "")) if each]
    return [each for each in sides if len("".join(each.split())) >= SHORTEST] or sides[:1]


def exchanges(docs: Sequence[Row]) -> Iterator[tuple[str, str]]:
    """Yield the turns of a session as messages and replies."""
    if "reply" in docs[0]:
        yield from ((doc["text"], doc["reply"]) for doc in docs)
        return
    for at in range(0, len(docs), 2):
        yield docs[at]["text"], docs[at + 1]["text"] if at + 1 < len(docs) else ""


class Clock:
    """The time of the conversation."""

    def __init__(self) -> None:
        self.now = FIRST_DAY

    def __call__(self) -> datetime:
        """Return the time."""
        return self.now


async def tell(memory: GatewayMemory, clock: Clock, docs: Sequence[Row]) -> None:
    """Tell a conversation, session by session, each on its day."""
    days = [at for doc in docs if (at := epoch_of(doc.get("date"))) is not None]
    clock.now = datetime.fromtimestamp(min(days), UTC) if days else clock.now
    sessions: defaultdict[str, list[Row]] = defaultdict(list)
    for doc in docs:
        sessions[str(doc.get("session", ""))].append(doc)
    for key, said in sessions.items():
        at = epoch_of(said[0].get("date"))
        begins = clock.now + timedelta(minutes=1)
        clock.now = begins if at is None else max(begins, datetime.fromtimestamp(at, UTC))
        session = await memory.start_session(f"told:{key}", user=OWNER)
        for user, reply in exchanges(said):
            clock.now += timedelta(seconds=40)
            await memory.after_reply(session, user=user, reply=reply)
        await memory.flush()
        await memory.end_session(session, reason="completed")
    await memory._opened().storage.recaller.embedded()  # noqa: SLF001 - the weeks until the questions


async def ask(memory: GatewayMemory, number: int, text: str, turns: Iterable[str]) -> dict[str, float]:
    """Ask a question in a session of its own; return what was brought."""
    turns = list(turns)
    session = await memory.start_session(f"asked:{number}", user=OWNER)
    context = await memory.before_reply(session, text)
    hits = await memory.search(session, text, limit=5)
    await memory.end_session(session, reason="completed")
    given = f"{session.opening}\n{context.text}"
    return {
        "context": float(any(brings(given, turn) for turn in turns)),
        "search": float(any(brings(hit.text, turn) for hit in hits for turn in turns)),
        "block": float(bool(context.recalled)),
        "tokens": float(count_tokens(context.text)),
    }


async def live(
    docs: Sequence[Row], queries: Sequence[Row], weeks: float, fillers: Sequence[str] = FILLERS
) -> list[tuple[str, dict[str, float]]]:
    """Return what each question of a conversation brought, and each filler, by source."""
    found: list[tuple[str, dict[str, float]]] = []
    by_id = {doc["id"]: doc for doc in docs}
    clock = Clock()
    with tempfile.TemporaryDirectory() as folder:
        async with GatewayMemory(load_config(), folder, clock=clock) as memory:
            await tell(memory, clock, docs)
            days = [at for query in queries if (at := epoch_of(query.get("date"))) is not None]
            asked = datetime.fromtimestamp(max(days), UTC) if days else clock.now + timedelta(weeks=weeks)
            clock.now = max(asked, clock.now + timedelta(days=1)) if days else asked
            for number, query in enumerate(queries):
                turns = [said for doc in query["relevant"] if doc in by_id for said in said_in(by_id[doc])]
                if turns and query.get("category") != "adversarial":
                    source = query.get("source") or query["conv"].partition(":")[0]
                    found.append((source, await ask(memory, number, query["text"], turns)))
            sources = {source for source, _ in found}
            for number, filler in enumerate(fillers, len(queries)):
                noise = (await ask(memory, number, filler, ()))["block"]
                found += [(source, {"noise": noise}) for source in sources]
    return found


async def run(rows: Iterable[Row], convs: int | None, weeks: float) -> dict[str, dict[str, float]]:
    """Return the figures by source."""
    docs: defaultdict[str, list[Row]] = defaultdict(list)
    queries: defaultdict[str, list[Row]] = defaultdict(list)
    for row in rows:
        (docs if row["kind"] == "doc" else queries)[row["conv"]].append(row)
    values: defaultdict[str, defaultdict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for conv in list(docs)[:convs]:
        for source, figures in await live(docs[conv], queries[conv], weeks):
            for name, value in figures.items():
                values[source][name].append(value)
    return {
        source: {"questions": float(len(each["context"]))}
        | {name: sum(all_) / len(all_) for name, all_ in each.items()}
        for source, each in values.items()
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="JSON lines of docs and queries, gzip or plain")
    parser.add_argument("--convs", type=int, help="only so many conversations")
    parser.add_argument("--weeks", type=float, default=3.0, help="from the last turn to the questions")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    arguments = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    figures = asyncio.run(run(lines_of(arguments.data), arguments.convs, arguments.weeks))
    if arguments.json:
        print(json.dumps(figures, indent=1))
        return
    names = ("questions", "context", "search", "noise", "tokens")
    print(f"{'source':18}" + "".join(f"{name:>10}" for name in names))
    for source, values in figures.items():
        print(f"{source:18}" + "".join(f"{values.get(name, 0):10.3g}" for name in names))


if __name__ == "__main__":
    main()

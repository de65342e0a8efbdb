"""How much is found and told on LongMemEval, by the type of the question, with the shipped settings and no model.

    python benchmarks/longmemeval.py --data FILE [--told] [--questions N] [--run FILE] [--json]

FILE is longmemeval_s.json (or _m, _oracle) as its authors publish it, or the same as JSON lines of docs and queries,
gzip or plain, in the form of recall_quality.py: a doc is an exchange, a query names `answer_sessions` and `relevant`.

Each question has a history of its own, each exchange of it is a memory, and it is asked on its day. Of what is found,
best first, and of its sessions in the order in which they first come:

    sessions any, all      questions with an evidence session among five; with all of them
    sessions listed        with all that the authors list, also those in which no exchange is labelled
    exchanges any, all     questions with a labelled exchange among five; with all of them
    exchanges R@5          the share of the labelled exchanges among five
    told, tokens           with --told: the history is told turn by turn, as in life.py; questions for which a
                           labelled one stands in what the session is given; the tokens of what a reply is told

An evidence session is one with a labelled exchange. Questions without an answer (abstention) count nowhere. --run
writes {"query id": ["doc id", best first], …}.
"""

import argparse
import asyncio
import json
import logging
import sys
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import structlog
from life import live
from recall_quality import lines_of, ranking_of

from recall import RecallSettings

Row = Mapping[str, Any]
Figures = dict[str, float]

_AMONG = 5
_COLUMNS = (
    "sessions any", "sessions all", "sessions listed",
    "exchanges any", "exchanges all", "exchanges R@5", "told", "tokens",
)  # fmt: skip


def questions_of(path: Path) -> Iterator[list[Row]]:
    """Yield each question with the exchanges of its history, as rows."""
    if path.suffix == ".json":
        for instance in _instances(path.read_text("utf-8")):
            yield rows_of(instance)
    else:
        for _, rows in groupby(lines_of(path), key=lambda row: row["conv"]):
            yield list(rows)


def _instances(text: str) -> Iterator[dict[str, Any]]:
    """Yield the objects of a JSON array one by one: as a whole, they would take gigabytes."""
    decoder, at = json.JSONDecoder(), text.index("[") + 1
    while (start := text.find("{", at)) >= 0:
        instance, at = decoder.raw_decode(text, start)
        yield instance


def rows_of(instance: Mapping[str, Any]) -> list[Row]:
    """Return one of the authors' instances as docs and a query."""
    conv = f"lme:{instance['question_id']}"
    rows: list[Row] = []
    relevant: list[str] = []
    held = zip(instance["haystack_session_ids"], instance["haystack_dates"], instance["haystack_sessions"], strict=True)
    for number, (session, date, turns) in enumerate(held):
        for place, (user, reply, labelled) in enumerate(_exchanges(turns)):
            identity = f"{conv}/{number}/{place}"
            rows.append({
                "kind": "doc", "conv": conv, "id": identity, "session": session, "turn": place, "date": _day(date),
                "speaker": "user", "text": user, "reply": reply,
            })  # fmt: skip
            relevant += [identity] if labelled else []
    unanswerable = instance["question_id"].endswith("_abs")
    query = {
        "kind": "query", "source": "longmemeval", "conv": conv, "id": conv, "text": instance["question"],
        "category": "abstention" if unanswerable else instance["question_type"],
        "relevant": [] if unanswerable else relevant, "date": _day(instance["question_date"]),
        "answer_sessions": instance["answer_session_ids"],
    }  # fmt: skip
    return [*rows, query]


def _exchanges(turns: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str, bool]]:
    """Yield what the user said with what was replied, and whether one of both is labelled."""
    user, replies, labelled = "", list[str](), False
    for turn in turns:
        if turn["role"] == "user" and (user or replies):
            yield user, "\n\n".join(replies), labelled
            user, replies, labelled = "", [], False
        labelled = labelled or bool(turn.get("has_answer"))
        if turn["role"] == "user":
            user = turn["content"]
        else:
            replies.append(turn["content"])
    if user or replies:
        yield user, "\n\n".join(replies), labelled


def _day(date: str) -> str:
    """Return the day of "2023/05/20 (Sat) 02:21"."""
    return date[:10].replace("/", "-")


def figures_of(rows: Sequence[Row], ranked: Sequence[str]) -> Figures:
    """Return the figures of a question whose history was ranked."""
    query = next(row for row in rows if row["kind"] == "query")
    session_of = {row["id"]: str(row["session"]) for row in rows if row["kind"] == "doc"}
    sessions = list(dict.fromkeys(session_of[doc] for doc in ranked))
    evidence = {session_of[doc] for doc in query["relevant"]}
    relevant = set(query["relevant"])
    return {
        "sessions any": float(_share(evidence, sessions) > 0),
        "sessions all": float(_share(evidence, sessions) == 1),
        "sessions listed": float(_share(set(query["answer_sessions"]), sessions) == 1),
        "exchanges any": float(_share(relevant, ranked) > 0),
        "exchanges all": float(_share(relevant, ranked) == 1),
        "exchanges R@5": _share(relevant, ranked),
    }


def _share(wanted: Collection[str], ranked: Sequence[str]) -> float:
    return len(set(wanted) & set(ranked[:_AMONG])) / len(wanted)


async def measured(
    path: Path, limit: int | None, *, told: bool, progress: Callable[[int], None]
) -> tuple[dict[str, list[Figures]], dict[str, list[str]]]:
    """Return the figures of each question, by its type, and what was found for it."""
    found: dict[str, list[Figures]] = defaultdict(list)
    run: dict[str, list[str]] = {}
    for number, rows in enumerate(questions_of(path), 1):
        if limit is not None and number > limit:
            break
        (query,) = (row for row in rows if row["kind"] == "query")
        if query["relevant"]:
            ranking = await ranking_of(rows, RecallSettings())
            run[query["id"]] = [doc for doc, _ in ranking[query["id"]]]
            figures = figures_of(rows, run[query["id"]])
            if told:
                given = await live([row for row in rows if row["kind"] == "doc"], [query], weeks=0.0, fillers=())
                figures |= {"told": given[0][1]["context"], "tokens": given[0][1]["tokens"]}
            found[query["category"]].append(figures)
        progress(number)
    return dict(found), run


def means_of(found: Mapping[str, Sequence[Figures]]) -> dict[str, Figures]:
    """Return the number of questions and the means of their figures, by type and of all."""
    every = {**found, "all": [each for figures in found.values() for each in figures]}
    return {
        kind: {"questions": len(figures)}
        | {name: sum(each[name] for each in figures) / len(figures) for name in figures[0]}
        for kind, figures in every.items()
        if figures
    }


def table_of(means: Mapping[str, Figures]) -> Iterator[str]:
    """Yield the lines of a Markdown table."""
    names = [name for name in _COLUMNS if any(name in figures for figures in means.values())]
    yield "| | questions | " + " | ".join(names) + " |"
    yield "|---|---|" + "---|" * len(names)
    for kind, figures in means.items():
        values = [f"{figures[name]:.0f}" if name == "tokens" else f"{figures[name]:.3f}".lstrip("0") for name in names]
        yield f"| {kind} | {figures['questions']:.0f} | " + " | ".join(values) + " |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the authors' JSON, or JSON lines of docs and queries")
    parser.add_argument("--questions", type=int, help="only so many questions")
    parser.add_argument("--told", action="store_true", help="also tell each history, and see what a reply is told")
    parser.add_argument("--run", type=Path, help="write what was found for each question here, as JSON")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    arguments = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))

    def progress(done: int) -> None:
        if sys.stderr.isatty():
            print(f"\r{done} questions", end="", file=sys.stderr)

    found, run = asyncio.run(measured(arguments.data, arguments.questions, told=arguments.told, progress=progress))
    if arguments.run:
        arguments.run.write_text(json.dumps(run), "utf-8")
    means = means_of(found)
    print(json.dumps(means, indent=1) if arguments.json else "\n".join(table_of(means)))


if __name__ == "__main__":
    main()

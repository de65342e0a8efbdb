"""How many questions are answered right by a reader who sees only what a fresh session is told.

    python benchmarks/told.py tell   FOLDER --data FILE [--questions 40] [--seed 1]
    python benchmarks/told.py answer FOLDER --model NAME
    python benchmarks/told.py grade  FOLDER [--model NAME]
    python benchmarks/told.py table  FOLDER

`tell` takes FILE in the form of recall_quality.py, with an `answer` in each query. It tells the conversations of a
sample of the questions as life.py does, with no model and the shipped settings, but for a deadline that a busy machine
keeps too. It writes `told.jsonl` (id, date, question, told: the opening and what stands beside the message) and, apart,
`gold.jsonl`. The workspaces stay in FOLDER/lives: told once, they are asked again, from a copy, after a change of code.

A reader writes `answers.jsonl` (id, answer) from `told.jsonl` alone: a person, or `answer` with a model, a key in
OPENAI_API_KEY and, for another API than OpenAI's, OPENAI_BASE_URL. `grade` writes `grades.jsonl` (id, right, cause):
with a model, by the prompts of LongMemEval's authors; without one it asks a person for y or n, and for the cause of a
failure. `table` prints the shares by type of question.
"""

import argparse
import asyncio
import json
import logging
import random
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import structlog
from life import Clock, brings, said_in, tell
from openai import OpenAI
from recall_quality import epoch_of, lines_of

from gateway_memory import OWNER, GatewayMemory, load_config
from recall import count_tokens

Row = Mapping[str, Any]

WEEKS = timedelta(weeks=3)
PATIENT = {"agents": {"defaults": {"memorySync": {"autoRecall": {"timeoutMs": 60_000}}}}}
UNANSWERABLE = ("adversarial", "abstention")

PROMPTS = json.loads(Path(__file__).with_name("told_prompts.json").read_text("utf-8"))
"""Those of LongMemEval's authors (MIT, Copyright (c) 2024 Di Wu): of a reader, and of a judge by how a type begins."""


async def told_of(docs: Sequence[Row], queries: Sequence[Row], workspace: Path) -> list[tuple[Row, Row]]:
    """Return what each question of a conversation is told, and its gold. A workspace that exists is not told anew."""
    clock, rows = Clock(), list[tuple[Row, Row]]()
    said = {doc["id"]: said_in(doc) for doc in docs}
    last = datetime.fromtimestamp(max(epoch_of(doc.get("date")) or 0 for doc in docs), UTC)
    with tempfile.TemporaryDirectory() as folder:
        life = Path(folder) / "life"
        if not workspace.exists():  # noqa: ASYNC240 - nothing else runs
            async with GatewayMemory(load_config(), life, clock=clock) as memory:
                await tell(memory, clock, docs)
            shutil.move(life, workspace)
        clock.now = last + WEEKS
        async with GatewayMemory(load_config(PATIENT), shutil.copytree(workspace, life), clock=clock) as memory:
            await memory._opened().storage.recaller.encoded(["a tree"], 60)  # noqa: SLF001 - the encoder loads
            for query in queries:
                day = epoch_of(query.get("date"))
                clock.now = max(last + timedelta(days=1), datetime.fromtimestamp(day, UTC)) if day else last + WEEKS
                session = await memory.start_session(f"asked:{query['id']}", user=OWNER)
                block = (await memory.before_reply(session, query["text"])).text
                hits = [hit.text for hit in await memory.search(session, query["text"], limit=5)]
                await memory.end_session(session, reason="completed")
                told = f"{session.opening}\n\n{block}".strip()
                sides = [side for doc in query["relevant"] for side in said.get(doc, ())]
                both = {"id": query["id"], "question": query["text"]}
                gold = {
                    **both, "category": query["category"], "gold": query["answer"], "labelled": len(sides),
                    "told": any(brings(told, side) for side in sides),
                    "found": any(brings(hit, side) for side in sides for hit in hits),
                    "opening": count_tokens(session.opening), "block": count_tokens(block),
                }  # fmt: skip
                rows.append(({**both, "date": f"{clock.now:%Y-%m-%d}", "told": told}, gold))
    return rows


async def tell_all(data: Path, folder: Path, questions: int, seed: int) -> None:
    """Write what a sample of the questions is told, and the gold."""
    rows = list(lines_of(data))
    queries = [row for row in rows if row["kind"] == "query"]
    queries = random.Random(seed).sample(queries, min(questions, len(queries)))
    (folder / "lives").mkdir(parents=True, exist_ok=True)
    pairs: list[tuple[Row, Row]] = []
    for conv in sorted({query["conv"] for query in queries}):
        docs = [
            {**row, "text": row["text"] + (f" [photo: {row['caption']}]" if row.get("caption") else "")}
            for row in rows
            if row["kind"] == "doc" and row["conv"] == conv
        ]
        workspace = folder / "lives" / "".join(each if each.isalnum() else "-" for each in conv)
        pairs += await told_of(docs, [query for query in queries if query["conv"] == conv], workspace)
        write(folder / "told.jsonl", (told for told, _ in pairs))
        write(folder / "gold.jsonl", (gold for _, gold in pairs))


def write(path: Path, rows: Iterable[Row]) -> None:
    """Write JSON lines."""
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")


def said_by(model: str, prompts: Iterable[str]) -> Iterator[str]:
    """Yield what a model says to each prompt."""
    create = OpenAI().chat.completions.create
    for prompt in prompts:
        done = create(model=model, messages=[{"role": "user", "content": prompt}])
        yield done.choices[0].message.content or ""


def with_gold(folder: Path, name: str) -> list[Row]:
    """Return the rows of a file, each with its gold."""
    gold = {row["id"]: row for row in lines_of(folder / "gold.jsonl")}
    return [{**gold[row["id"]], **row} for row in lines_of(folder / name)]


def by_model(model: str, rows: Sequence[Row]) -> Iterator[Row]:
    """Yield the grades of a judge."""
    judges = [next(judge for kind, judge in PROMPTS.items() if row["category"].startswith(kind)) for row in rows]
    verdicts = said_by(model, (judge.format(**row) for judge, row in zip(judges, rows, strict=True)))
    yield from ({"id": row["id"], "right": "yes" in said.lower()} for row, said in zip(rows, verdicts, strict=True))


def by_hand(rows: Iterable[Row]) -> Iterator[Row]:
    """Yield the grades that a person types."""
    for row in rows:
        print(f"\n{row['category']}: {row['question']}\ngold: {row['gold']}\nanswer: {row['answer']}")
        right = input("right? y/n ").startswith("y")
        yield {"id": row["id"], "right": right, "cause": "" if right else input("cause: ")}


def table_of(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the lines of a Markdown table of graded gold."""
    yield "| | questions | right | evidence told | found among five | opening, tokens | beside the message |"
    yield "|---|---|---|---|---|---|---|"
    for kind in (*sorted({row["category"] for row in rows}), "all"):
        of_kind = [row for row in rows if kind in (row["category"], "all")]
        labelled = [row for row in of_kind if row["labelled"] and row["category"] not in UNANSWERABLE]
        cells = [f"{sum(row[name] for row in labelled)} of {len(labelled)}" for name in ("told", "found")]
        cells += [f"{sum(row[name] for row in of_kind) / len(of_kind):.0f}" for name in ("opening", "block")]
        yield f"| {kind} | {len(of_kind)} | {sum(row['right'] for row in of_kind)} | " + " | ".join(cells) + " |"


def main() -> None:
    """Take a step."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("tell", "answer", "grade", "table"))
    parser.add_argument("folder", type=Path, help="where the files of a measurement stand")
    parser.add_argument("--data", type=Path, help="JSON lines of docs and queries, gzip or plain")
    parser.add_argument("--questions", type=int, default=40, help="how many are drawn")
    parser.add_argument("--seed", type=int, default=1, help="of the draw")
    parser.add_argument("--model", help="of an API that speaks OpenAI's protocol")
    given = parser.parse_args()
    needed = {"tell": "data", "answer": "model"}.get(given.step)
    if needed and not getattr(given, needed):
        parser.error(f"{given.step} needs --{needed}")
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    folder: Path = given.folder
    if given.step == "tell":
        asyncio.run(tell_all(given.data, folder, given.questions, given.seed))
    elif given.step == "answer":
        told = list(lines_of(folder / "told.jsonl"))
        said = said_by(given.model, (PROMPTS["reader"].format(**row) for row in told))
        write(
            folder / "answers.jsonl", ({"id": row["id"], "answer": each} for row, each in zip(told, said, strict=True))
        )
    elif given.step == "grade":
        rows = with_gold(folder, "answers.jsonl")
        write(folder / "grades.jsonl", by_model(given.model, rows) if given.model else by_hand(rows))
    else:
        print("\n".join(table_of(with_gold(folder, "grades.jsonl"))))


if __name__ == "__main__":
    main()

"""How well recall ranks: real conversations with labels, through the product's own index and ranking.

    python benchmarks/recall_quality.py --data FILE [--run FILE] [--json]

FILE is JSON lines, gzip or plain. Two kinds of lines:

    {"kind": "doc", "conv": "c", "id": "c/1", "text": "…"}     optional: speaker, date, reply, caption, seq, source
    {"kind": "query", "conv": "c", "id": "c/q1", "text": "…", "relevant": ["c/1", …]}
        optional: context [turns before it], date, seq_limit, category, source

Each `conv` is a scope, each doc a memory in the log of its day. A query is searched among the docs of its conv with a
`seq` below its `seq_limit`, with `context` as the preceding turns and `date` (else the newest doc's) as now; nothing is
held back for a low score. For LoCoMo, RealMem, MemoryBank and MADial see docs/recall.md.

Printed for each source: R@k, the share of the relevant docs among the first k; H@5, whether there is one among the
first 5; MRR, one over the rank of the first. Queries without a relevant doc, and adversarial ones, don't count.
--run writes {"query id": ["doc id", best first], …} of every query.
"""

import argparse
import asyncio
import gzip
import json
import re
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from recall import Entry, Recaller, RecallSettings, SearchRequest, Stamp

Ranking = dict[str, list[tuple[str, float]]]
"""Query id to (doc id, score), best first."""

RETURNED = 50
_FIRST_DAY = datetime(2020, 1, 1, tzinfo=UTC).timestamp()


def lines_of(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects of a JSON lines file, gzip or plain."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as file:
        yield from (json.loads(line) for line in file if line.strip())


def epoch_of(date: str | None) -> float | None:
    """Epoch seconds of "1:56 pm on 8 May, 2023", "2025-12-20 (Saturday)" or "2023-04-27"."""
    if not date:
        return None
    if match := re.match(r"\d{4}-\d\d-\d\d", date):
        return datetime.strptime(match[0], "%Y-%m-%d").replace(tzinfo=UTC, hour=12).timestamp()
    return datetime.strptime(date, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC).timestamp()


def entry_of(doc: Mapping[str, Any], number: int) -> Entry:
    """A doc as a memory; `number` is its place in its conv."""
    caption = f" ({doc['caption']})" if doc.get("caption") else ""
    at = epoch_of(doc.get("date"))
    return Entry(
        id=f"m{number:06}",
        text=doc["text"] + caption,
        at=_FIRST_DAY + number if at is None else at,
        session=str(doc.get("session", "")),
        speaker=doc.get("speaker", ""),
        reply=doc.get("reply", ""),
    )


def told_in_order(entries: Iterable[Entry]) -> list[Entry]:
    """The entries with times that never go back, as a gateway's clock would give them.

    For docs with a `seq`: where it and their dates disagree, the order in which they were told is what is real.
    """
    told: list[Entry] = []
    for entry in entries:
        earliest = told[-1].at if told else entry.at
        told.append(replace(entry, at=max(entry.at, earliest)))
    return told


async def fill(recaller: Recaller, scope: str, entries: Sequence[Entry]) -> None:
    """Each day's entries as the log of that day."""
    days: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        days[datetime.fromtimestamp(entry.at, UTC).strftime("memory/%Y-%m-%d.md")].append(entry)
    known = await recaller.stamps(scope)
    for file, wanted in days.items():
        if file not in known or known[file].size != len(wanted):
            await recaller.replace_file(scope, file, Stamp(mtime_ns=0, size=len(wanted), digest=""), wanted)
    await recaller.embedded()


async def rank_all(
    recaller: Recaller, rows: Sequence[Mapping[str, Any]], progress: Callable[[int], None] = lambda _: None
) -> Ranking:
    """Search for every query, conv by conv."""
    docs: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    queries: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        (docs if row["kind"] == "doc" else queries)[row["conv"]].append(row)
    run: Ranking = {}
    for conv, asked in queries.items():
        own = sorted(docs[conv], key=lambda doc: doc.get("seq", 0))
        entries = [entry_of(doc, number) for number, doc in enumerate(own)]
        if all("seq" in doc for doc in own):
            entries = told_in_order(entries)
        newest = max((entry.at for entry in entries), default=_FIRST_DAY)
        held = -1
        for query in sorted(asked, key=lambda query: query.get("seq_limit", 10**9)):
            count = sum(doc.get("seq", 0) < query["seq_limit"] for doc in own) if "seq_limit" in query else len(own)
            if count != held:
                await fill(recaller, conv, entries[:count])
                held = count
            recall = await recaller.search(
                SearchRequest(
                    scope=conv,
                    query=query["text"],
                    limit=RETURNED,
                    min_score=0.0,
                    by_rank=True,
                    now=epoch_of(query.get("date")) or newest,
                    preceding=tuple(query.get("context", ())),
                ),
                timeout_seconds=None,
            )
            run[query["id"]] = [(own[int(hit.id[1:])]["id"], hit.score) for hit in recall.hits]
            progress(len(run))
    return run


def measure(rows: Sequence[Mapping[str, Any]], run: Ranking) -> dict[str, dict[str, float]]:
    """The figures by source."""
    sums: dict[str, list[dict[str, float]]] = defaultdict(list)
    for query in rows:
        if query["kind"] != "query" or not query["relevant"] or query.get("category") == "adversarial":
            continue
        ranked = [doc for doc, _ in run.get(query["id"], ())]
        relevant = set(query["relevant"])
        values = {f"R@{k}": len(relevant & set(ranked[:k])) / len(relevant) for k in (3, 5, 10)}
        values["H@5"] = float(bool(relevant & set(ranked[:5])))
        values["MRR"] = next((1 / rank for rank, doc in enumerate(ranked, 1) if doc in relevant), 0.0)
        sums[query.get("source") or query["conv"].partition(":")[0]].append(values)
    return {
        source: {"queries": len(each), **{name: sum(v[name] for v in each) / len(each) for name in each[0]}}
        for source, each in sums.items()
    }


async def ranking_of(rows: Sequence[Mapping[str, Any]], settings: RecallSettings, **options: Any) -> Ranking:
    """The ranking of every query, from an index of its own."""
    with tempfile.TemporaryDirectory() as folder:
        recaller = Recaller(Path(folder) / "index.sqlite", settings, zone=UTC)
        await recaller.open()
        try:
            return await rank_all(recaller, rows, **options)
        finally:
            await recaller.close()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="JSON lines of docs and queries, gzip or plain")
    parser.add_argument("--run", type=Path, help="write the ranking of each query here, as JSON")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    arguments = parser.parse_args()

    def progress(done: int) -> None:
        if sys.stderr.isatty() and done % 10 == 0:
            print(f"\r{done} queries", end="", file=sys.stderr)

    started = time.perf_counter()
    rows = list(lines_of(arguments.data))
    run = asyncio.run(ranking_of(rows, RecallSettings(), progress=progress))
    figures = measure(rows, run)
    if arguments.run:
        ids = {query: [doc for doc, _ in ranked] for query, ranked in run.items()}
        arguments.run.write_text(json.dumps(ids, ensure_ascii=False), encoding="utf-8")
    if arguments.json:
        print(json.dumps({"seconds": round(time.perf_counter() - started, 1), "sources": figures}, indent=1))
        return
    names = ["R@3", "R@5", "R@10", "H@5", "MRR"]
    print(f"{'source':14}{'queries':>8}" + "".join(f"{name:>8}" for name in names))
    for source, values in figures.items():
        print(f"{source:14}{values['queries']:8}" + "".join(f"{values[name]:8.3f}" for name in names))


if __name__ == "__main__":
    main()

"""How well the public search finds, beside a plain vector store with the same encoder's vectors.

    pip install chromadb==1.5.9
    python benchmarks/beside_chroma.py --data FILE [FILE …] [--json]

FILE is as for recall_quality.py. Each `conv` is a person. A doc with a `reply` or a `speaker` is an exchange that was
said, any other doc a memory; both come in by the importer. The store gets the same text, with the caption and the
reply behind it. A query is asked of both through their public calls, five hits each; one with a `seq_limit` among
earlier docs only. The memory's clock stands at the query's date, else after the last doc.

Printed for each source: R@5, the share of the relevant docs among the first five, and any@5.
"""

import argparse
import asyncio
import json
import logging
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import structlog
from recall_quality import epoch_of, lines_of

from gateway_memory import GatewayMemory, load_config
from gateway_memory.scope import resolve_scope
from gateway_memory.store.journal.episodes import Episode
from gateway_memory.store.memory_record import MemoryRecord
from gateway_memory.transfer.items import EpisodeItem, Item, MemoryItem
from recall.encoding.encoder import bundled_encoder

FIRST_DAY = datetime(2020, 1, 1, tzinfo=UTC).timestamp()
MINUTE = 60.0
FOUND = 5


@dataclass(kw_only=True)
class Conversation:
    """The docs of one person, in order, each with its time, and the queries."""

    docs: list[dict[str, Any]] = field(default_factory=list)
    queries: list[dict[str, Any]] = field(default_factory=list)

    def times(self) -> list[float]:
        """Return when each doc was said, all different; where docs have a `seq`, in its order."""
        if any("seq" in doc for doc in self.docs):
            return [FIRST_DAY + MINUTE * number for number in range(len(self.docs))]
        return [(epoch_of(doc.get("date")) or FIRST_DAY) + number for number, doc in enumerate(self.docs)]


def text_of(doc: Mapping[str, Any]) -> str:
    """Return what a doc says, with its caption."""
    said = f"{doc['speaker']}: {doc['text']}" if doc.get("speaker") else str(doc["text"])
    return f"{said} ({doc['caption']})" if doc.get("caption") else said


def item_of(doc: Mapping[str, Any], number: int, at: float) -> Item:
    """Return a doc as what the importer takes in."""
    if doc.get("reply") or doc.get("speaker"):
        session = f"session {doc.get('session', doc['id'])}"  # a doc without a session has no neighbours
        episode = Episode(
            turn=0,
            scope="",
            session_key=session,
            session_id=session,
            user=text_of(doc),
            reply=doc.get("reply", ""),
            at=at,
        )
        return EpisodeItem(place="", scope="", episode=episode)
    record = MemoryRecord(id=f"d{number:06d}", text=text_of(doc), file="", at=at, type="B", category="fact")
    return MemoryItem(place="", scope="", record=record, curated=False)


async def ours(conversations: Mapping[str, Conversation]) -> dict[str, list[str]]:
    """Return the ids of the first docs that `memory.search` finds, by query id."""
    found: dict[str, list[str]] = {}
    now = [datetime.fromtimestamp(FIRST_DAY, UTC)]
    with tempfile.TemporaryDirectory() as folder:
        async with GatewayMemory(load_config(), folder, clock=lambda: now[0]) as memory:
            for person, conversation in conversations.items():
                times = conversation.times()
                now[0] = datetime.fromtimestamp(max(times) + MINUTE, UTC)
                items = [item_of(doc, n, at) for n, (doc, at) in enumerate(zip(conversation.docs, times, strict=True))]
                scope = resolve_scope(user=person, room=None)
                await memory.importer.run(items, scope=scope, forced=True)
                await memory._opened().storage.recaller.embedded()  # noqa: SLF001 - the importer does not wait for it
                by_time = {round(at): doc["id"] for doc, at in zip(conversation.docs, times, strict=True)}
                for query in conversation.queries:
                    limit = query.get("seq_limit")
                    earlier = [
                        at
                        for doc, at in zip(conversation.docs, times, strict=True)
                        if limit is None or doc["seq"] < limit
                    ]
                    last = max(earlier, default=times[0])
                    asked = max(epoch_of(query.get("date")) or last, last) + MINUTE
                    now[0] = datetime.fromtimestamp(asked, UTC)
                    session = await memory.visit(user=person)
                    until = None if limit is None else datetime.fromtimestamp(last + 0.5, UTC)
                    hits = await memory.search(session, query["text"], limit=FOUND, until=until)
                    found[query["id"]] = [by_time[round(hit.at)] for hit in hits]
    return found


def theirs(conversations: Mapping[str, Conversation]) -> dict[str, list[str]]:
    """Return the ids of the first docs that chroma finds with our encoder's vectors, by query id."""
    import chromadb  # type: ignore[import-not-found]  # only this benchmark needs it
    from chromadb.config import Settings  # type: ignore[import-not-found]

    encoder = bundled_encoder()
    client = chromadb.EphemeralClient(Settings(anonymized_telemetry=False, allow_reset=True))
    client.reset()  # it is one for the process
    found: dict[str, list[str]] = {}
    for number, conversation in enumerate(conversations.values()):
        store = client.create_collection(f"conv-{number}", metadata={"hnsw:space": "cosine"}, embedding_function=None)
        texts = [f"{text_of(doc)}\n{doc['reply']}" if doc.get("reply") else text_of(doc) for doc in conversation.docs]
        for first in range(0, len(texts), 256):
            part = slice(first, first + 256)
            store.add(
                ids=[doc["id"] for doc in conversation.docs[part]],
                embeddings=encoder.encode(texts[part]),
                metadatas=[{"seq": int(doc.get("seq", 0))} for doc in conversation.docs[part]],
            )
        for query in conversation.queries:
            limit = query.get("seq_limit")
            among = {} if limit is None else {"where": {"seq": {"$lt": int(limit)}}}
            answer = store.query(query_embeddings=encoder.encode([query["text"]]), n_results=FOUND, **among)
            found[query["id"]] = answer["ids"][0]
    return found


def scores(
    conversations: Mapping[str, Conversation], found: Mapping[str, Sequence[str]]
) -> dict[str, dict[str, float]]:
    """Return R@5 and any@5 by source."""
    sums: defaultdict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    for person, conversation in conversations.items():
        for query in conversation.queries:
            row = sums[query.get("source") or person.partition(":")[0]]
            right = len(set(query["relevant"]) & set(found[query["id"]]))
            row[0] += 1
            row[1] += right / len(set(query["relevant"]))
            row[2] += right > 0
    return {
        source: {"queries": int(count), "R@5": round(share / count, 3), "any@5": round(some / count, 3)}
        for source, (count, share, some) in sums.items()
    }


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, nargs="+", required=True, metavar="FILE")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    result: dict[str, Any] = {}
    for path in args.data:
        conversations: defaultdict[str, Conversation] = defaultdict(Conversation)
        for row in lines_of(path):
            if row["kind"] == "doc":
                conversations[row["conv"]].docs.append(row)
            elif row["relevant"] and row.get("category") != "adversarial":
                conversations[row["conv"]].queries.append(row)
        by_ours, by_theirs = asyncio.run(ours(conversations)), theirs(conversations)
        for source, row in scores(conversations, by_ours).items():
            result[source] = {"gateway-memory": row, "chroma": scores(conversations, by_theirs)[source]}
    for source, row in result.items():
        if not args.json:
            sys.stdout.write(f"{source:<14} {row['gateway-memory']}   chroma {row['chroma']}\n")
    if args.json:
        sys.stdout.write(json.dumps(result, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

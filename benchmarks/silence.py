"""Whether recall keeps silent where it should, and speaks where it can help: the share of messages that get a block.

    python benchmarks/silence.py --data FILE [--chats FILE] [--sizes 0 3 10 100] [--json]

DATA is what recall_quality.py takes. CHATS is JSON lines of turns, with "conv", "role", "text" and "noise_session": the
user's turns of noise sessions are asked of the memories of their conv, and nothing should come. Small talk in both
languages is asked of every conv.

A store of the whole conv says little about the first weeks of a user: with --sizes, each question is also asked of a
store of so many memories, drawn with a fixed seed: with one that answers it, or without any. 0 is the whole conv.

Printed for each size and `minScore`: answered, the share of the questions that a memory answers which get a block with
a labelled one; spoken, those that get any block; and the share of noise, of small talk, and of the questions whose
answer is not in the store that get one.
"""

import argparse
import asyncio
import json
import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from recall_quality import lines_of, ranking_of

from recall import RecallSettings

Row = Mapping[str, Any]

THRESHOLDS = (0.3, 0.4, 0.5, 0.6, 0.7)
SMALL_TALK = (
    "hi", "hello there", "good morning!", "good night", "how are you?", "what's up?", "thanks!", "thank you so much",
    "ok", "okay, got it", "great, thanks", "haha that's funny", "lol", "never mind", "sounds good", "see you tomorrow",
    "bye", "nice one", "can you hear me?", "who are you?", "what can you do?", "tell me a joke", "I'm back",
    "one moment please", "you're the best", "yes", "no", "continue", "go on please",
    "what is 17 times 23?",
    "translate 'good luck' into French", "what does this error mean: segmentation fault?",
    "explain this code: for i in range(10): print(i)", "what's the capital of Australia?",
    "你好", "早上好", "晚安", "在吗", "谢谢", "太感谢你了", "好的", "嗯嗯", "哈哈哈", "没事了", "行，那就这样",
    "明天见",
    "再见", "真不错", "你是谁？", "你会做什么？", "讲个笑话吧", "我回来了", "等一下", "你真棒", "有意思", "是的",
    "不用了",
    "继续", "接着说", "17乘以23等于多少？", "把“祝你好运”翻译成法语", "这段代码什么意思：for i in range(10): print(i)",
    "澳大利亚的首都是哪里？",
    "段错误是什么意思？",
)  # fmt: skip


def small_store(docs: Sequence[Row], query: Row, size: int, numbers: random.Random, *, answered: bool) -> list[Row]:
    """So many docs as the query may see, in their order: with one that answers it, or with none."""
    seen = [doc for doc in docs if doc.get("seq", 0) < query.get("seq_limit", 10**9)]
    relevant = set(query.get("relevant", ()))
    answers = [doc for doc in seen if doc["id"] in relevant]
    others = [doc for doc in seen if doc["id"] not in relevant]
    chosen = numbers.sample(answers, 1) if answered and answers else []
    chosen += numbers.sample(others, min(size - len(chosen), len(others)))
    return sorted(chosen, key=lambda doc: doc.get("seq", 0))


def questions_of(rows: Iterable[Row], chats: Iterable[Row]) -> dict[str, list[Row]]:
    """The questions by kind: "answered", "noise", "talk"."""
    found: dict[str, list[Row]] = {"answered": [], "noise": [], "talk": []}
    convs = set()
    for row in rows:
        convs.add(row["conv"])
        if row["kind"] == "query" and row["relevant"] and row.get("category") != "adversarial":
            found["answered"].append(row)
    for conv in sorted(convs):
        found["talk"] += [
            {"kind": "query", "conv": conv, "id": f"{conv}/talk{number}", "text": text, "relevant": []}
            for number, text in enumerate(SMALL_TALK)
        ]
    found["noise"] = [
        {"kind": "query", "conv": row["conv"], "id": f"{row['id']}/noise", "text": row["text"], "relevant": []}
        for row in chats
        if row["role"] == "user" and row.get("noise_session") and row["conv"] in convs
    ]
    return found


def stores_of(rows: Sequence[Row], questions: Mapping[str, Sequence[Row]], size: int, most: int) -> list[Row]:
    """The docs and queries of every store of this size: each question has its own, and "absent" ones have no answer."""
    docs: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if row["kind"] == "doc":
            docs[row["conv"]].append(row)
    numbers = random.Random(size)
    made: list[Row] = []
    for kind in ("answered", "absent", "noise", "talk"):
        asked = list(questions["answered" if kind == "absent" else kind])
        for query in numbers.sample(asked, min(most, len(asked))):
            conv = f"{query['id']}@{kind}"
            store = small_store(docs[query["conv"]], query, size, numbers, answered=kind == "answered")
            if kind == "answered" and not any(doc["id"] in query["relevant"] for doc in store):
                continue
            made += [{**doc, "conv": conv, "source": kind} for doc in store]
            made.append({**query, "conv": conv, "id": conv, "source": kind, "seq_limit": 10**9})
    return made


def shares(rows: Iterable[Row], run: Mapping[str, Sequence[tuple[str, float]]], threshold: float) -> dict[str, float]:
    """The shares of each kind at a `minScore`, of blocks of three."""
    counts: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
    for query in rows:
        if query["kind"] == "query" and query["id"] in run:
            block = {doc for doc, score in run[query["id"]][:3] if score >= threshold}
            counts[query["source"]].append((bool(block), bool(block & set(query["relevant"]))))
    result = {}
    for kind, each in counts.items():
        result["spoken" if kind == "answered" else kind] = sum(spoken for spoken, _ in each) / len(each)
        if kind == "answered":
            result[kind] = sum(helped for _, helped in each) / len(each)
    return result


async def measured(rows: Sequence[Row], chats: Sequence[Row], sizes: Sequence[int], most: int) -> list[dict[str, Any]]:
    """The shares for each size of store and each threshold."""
    questions = questions_of(rows, chats)
    results = []
    for size in sizes:
        asked: list[Row] = [row for row in rows if row["kind"] == "doc"]
        if size:
            asked = stores_of(rows, questions, size, most)
        else:
            for kind, queries in questions.items():
                asked += [{**query, "source": kind} for query in queries]
        run = await ranking_of(asked, RecallSettings())
        results += [{"size": size, "minScore": each, **shares(asked, run, each)} for each in THRESHOLDS]
    return results


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="JSON lines of docs and queries, gzip or plain")
    parser.add_argument("--chats", type=Path, help="JSON lines of turns, of which some are of noise sessions")
    parser.add_argument("--sizes", type=int, nargs="+", default=[0], help="memories in the store; 0: all of the conv")
    parser.add_argument("--most", type=int, default=150, help="so many questions of a kind, for sizes above 0")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    arguments = parser.parse_args()
    chats = list(lines_of(arguments.chats)) if arguments.chats else []
    results = asyncio.run(measured(list(lines_of(arguments.data)), chats, arguments.sizes, arguments.most))
    if arguments.json:
        print(json.dumps(results, indent=1))
        return
    names = ["answered", "spoken", "noise", "talk", "absent"]
    print(f"{'memories':>9}{'minScore':>9}" + "".join(f"{name:>10}" for name in names))
    for result in results:
        cells = "".join(f"{result[name]:10.3f}" if name in result else f"{'–':>10}" for name in names)
        print(f"{result['size'] or 'all':>9}{result['minScore']:9.1f}{cells}")


if __name__ == "__main__":
    main()

"""What recall's search costs beside its bare parts, at any size, in one run.

    python benchmarks/recall_floors.py [--memories 10000 100000] [--characters 20 100 500] [--queries 100] [--json]

The floors are what no search of this kind can go below: the encoder alone on the message; a numpy product of all
vectors with one; and BM25 over bare numpy postings. `floors_of` and `messages` serve other benchmarks too.
Reported: p50 and p95 of each floor, of their sum and of `Recaller.search`; its longest stall of the event loop; the
time to open an index that is there and to load its scope; resident memory.
"""

import argparse
import asyncio
import gc
import json
import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from recall import Entry, Recaller, RecallSettings, Stamp

_SUBJECTS = "User Anna Tom Mei The_team My_boss Grandma The_client Leo 用户 小王 妈妈 团队 老板".replace(
    "_", " "
).split(" ")
_VERBS = (
    ["prefers", "likes", "booked", "finished", "bought", "visited", "planned", "wrote", "called", "fixed", "喜欢", "买了", "去了", "完成了", "计划", "讨厌"]
)
_THINGS = ["coffee", "Python", "Berlin", "budget", "report", "guitar", "flight", "dentist", "garden", "server", "invoice", "recipe", "marathon", "bicycle", "novel", "piano", "meeting", "contract", "holiday", "camera", "咖啡", "脚本", "北京", "预算", "报告", "吉他", "机票", "牙医", "花园", "服务器", "发票", "菜谱", "马拉松", "自行车", "小说", "钢琴", "会议", "合同"]
_WHEN = (
    ["on Monday", "last week", "in March", "every morning", "before the deadline", "for the project", "上周", "明天", "每天早上", "在三月"]
)


def words_of(count: int) -> list[str]:
    """Made-up words, so that the vocabulary grows with the store as it does in life."""
    consonants, vowels = "bcdfghklmnprstvz", "aeiou"
    numbers = random.Random(7)
    return [
        "".join(numbers.choice(consonants) + numbers.choice(vowels) for _ in range(numbers.randint(2, 4)))
        for _ in range(count)
    ]


def memories(count: int) -> list[Entry]:
    """Made-up memories, reproducible, in English and Chinese, each some twelve words."""
    numbers = random.Random(11)
    rare = words_of(max(count // 5, 10))
    made = []
    for number in range(count):
        rest = " ".join(numbers.choice(rare) for _ in range(4))
        text = (
            f"{numbers.choice(_SUBJECTS)} {numbers.choice(_VERBS)} {numbers.choice(_THINGS)} {numbers.choice(_THINGS)}"
            f" {numbers.choice(_WHEN)} {rest} {numbers.randint(1, 9999)}"
        )
        made.append(Entry(id=f"m{number:07}", text=text, at=1.7e9 + number * 60, session=f"s{number // 20}"))
    return made


def messages(count: int, characters: int) -> list[str]:
    """Different messages of so many characters."""
    numbers = random.Random(characters)
    made = []
    for _ in range(count):
        text = ""
        while len(text) < characters:
            text += f"{numbers.choice(_SUBJECTS)} {numbers.choice(_VERBS)} {numbers.choice(_THINGS)} {numbers.choice(_WHEN)} "
        made.append(text[:characters])
    return made


def timed(call: Callable[[Any], object], values: Sequence[Any]) -> list[float]:
    """Seconds of each call."""
    seconds = []
    for value in values:
        started = time.perf_counter()
        call(value)
        seconds.append(time.perf_counter() - started)
    return seconds


def percentile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Floors:
    """Seconds of each message in each bare part."""

    encoder: list[float]
    product: list[float]
    postings: list[float]

    @property
    def sum(self) -> list[float]:
        return [sum(parts) for parts in zip(self.encoder, self.product, self.postings, strict=True)]


def floors_of(entries: Sequence[Entry], asked: Sequence[str]) -> Floors:
    """The bare parts for these messages over a store of these memories; vectors are random, their values don't matter."""
    import numpy as np
    import threadpoolctl

    from recall.encoder import BundledEncoder
    from recall.postings import Segment
    from recall.words import terms_of, tokens_of

    threadpoolctl.threadpool_limits(limits=1, user_api="blas")
    encoder = BundledEncoder()
    terms = [terms_of(tokens_of(entry.text)) for entry in entries]
    offsets = np.concatenate(([0], np.cumsum([len(row) for row in terms])))
    segment = Segment.build(np.array([t for row in terms for t in row], np.uint32), offsets, 0, len(terms))
    lengths = np.diff(offsets).astype(np.float32)
    norms = 0.9 * (0.7 + 0.3 * lengths / lengths.mean())
    matrix = np.random.default_rng(1).standard_normal((len(entries), encoder.dimension), np.float32)
    vector = matrix[0].copy()

    def search_postings(wanted: "np.ndarray[Any, Any]") -> object:
        starts, ends = segment.find(wanted)
        idf = np.log1p((len(terms) + 0.5) / (ends - starts + 0.5))
        scores = np.zeros(len(terms), np.float32)
        for start, end, weight in zip(starts, ends, idf, strict=True):
            rows, frequencies = segment.rows[start:end], segment.frequencies[start:end]
            scores[rows] += weight * frequencies / (frequencies + norms[rows])
        return np.argpartition(scores, -10)[-10:]

    queries = [np.unique(np.array(terms_of(tokens_of(text)), np.uint32)) for text in asked]
    floors = Floors(
        encoder=timed(encoder.encode, [[text] for text in asked]),
        product=timed(lambda _: matrix @ vector, asked),
        postings=timed(search_postings, queries),
    )
    return floors


async def filled(path: Path, entries: Sequence[Entry], batch: int = 20_000) -> float:
    """An index of these memories, with vectors; returns memories added a second."""
    recaller = Recaller(path, RecallSettings())
    await recaller.open()
    started = time.perf_counter()
    for start in range(0, len(entries), batch):
        part = entries[start : start + batch]
        await recaller.replace_file("owner", f"memory/{start}.md", Stamp(mtime_ns=0, size=start, digest=""), part)
    await recaller.embedded()
    seconds = time.perf_counter() - started
    await recaller.close()
    return len(entries) / seconds


async def watch_loop(stop: asyncio.Event, period_seconds: float = 0.001) -> float:
    """The longest that the event loop was late, in seconds."""
    worst = 0.0
    while not stop.is_set():
        started = time.perf_counter()
        await asyncio.sleep(period_seconds)
        worst = max(worst, time.perf_counter() - started - period_seconds)
    return worst


async def searched(recaller: Recaller, asked: Sequence[str]) -> tuple[list[float], float]:
    """Seconds of each search, one after the other, and the longest stall of the loop meanwhile."""
    stop = asyncio.Event()
    watcher = asyncio.create_task(watch_loop(stop))
    seconds = []
    for text in asked:
        started = time.perf_counter()
        recall = await recaller.search(["owner"], text, limit=3, min_score=0.5, timeout_seconds=10, now=1.8e9)
        seconds.append(time.perf_counter() - started)
        assert recall.outcome in ("full", "empty"), recall.outcome
        await asyncio.sleep(0)
    stop.set()
    return seconds, await watcher


async def measured(count: int, characters: Sequence[int], queries: int) -> dict[str, Any]:
    entries = memories(count)
    result: dict[str, Any] = {"memories": count}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "index.sqlite"
        result["added_a_second"] = round(await filled(path, entries))
        result["index_mb"] = round(path.stat().st_size / 1e6)
        recaller = Recaller(path, RecallSettings())
        stop = asyncio.Event()
        watcher = asyncio.create_task(watch_loop(stop))
        started = time.perf_counter()
        await recaller.open()
        result["open_seconds"] = round(time.perf_counter() - started, 3)
        await recaller.warm(["owner"])
        result["open_and_load_seconds"] = round(time.perf_counter() - started, 3)
        await recaller.search(["owner"], "warm", limit=1, min_score=0, timeout_seconds=None, now=1.8e9)
        stop.set()
        result["opening_stall_ms"] = round(await watcher * 1e3, 1)
        result["rss_mb"] = rss_mb()
        found = {}
        for length in characters:
            asked = messages(queries, length)
            await searched(recaller, messages(5, length + 1))
            found[length] = await searched(recaller, asked)
        await recaller.close()
        del recaller
        gc.collect()
        for length in characters:
            floors = floors_of(entries, messages(queries, length))
            seconds, stall = found[length]
            total = floors.sum
            result[f"{length}"] = {
                **{
                    name: {"p50_ms": round(percentile(v, 0.5) * 1e3, 2), "p95_ms": round(percentile(v, 0.95) * 1e3, 2)}
                    for name, v in (
                        ("encoder", floors.encoder),
                        ("product", floors.product),
                        ("postings", floors.postings),
                        ("floors", total),
                        ("search", seconds),
                    )
                },
                "ratio_p95": round(percentile(seconds, 0.95) / percentile(total, 0.95), 2),
                "stall_ms": round(stall * 1e3, 1),
            }
    return result


def rss_mb() -> int:
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        return pages * resource.getpagesize() // 1_000_000
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memories", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--characters", type=int, nargs="+", default=[20, 100, 500])
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    results = []
    for count in arguments.memories:
        result = asyncio.run(measured(count, arguments.characters, arguments.queries))
        results.append(result)
        if arguments.json:
            continue
        print(", ".join(f"{name} {value}" for name, value in result.items() if not isinstance(value, dict)))
        names = ("encoder", "product", "postings", "floors", "search")
        print(
            f"{'characters':12}"
            + "".join(f"{name + ' p50/p95':>20}" for name in names)
            + f"{'ratio':>8}{'stall ms':>10}"
        )
        for length in arguments.characters:
            row = result[f"{length}"]
            cells = "".join(f"{row[name]['p50_ms']:12.2f}/{row[name]['p95_ms']:7.2f}" for name in names)
            print(f"{length:<12}{cells}{row['ratio_p95']:8.2f}{row['stall_ms']:10.1f}", flush=True)
    if arguments.json:
        print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()

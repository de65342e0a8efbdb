"""How long a reply waits for its memory, and what else it costs, at a number of memories.

    python benchmarks/latency.py --memories 10000 [--messages 200] [--json]

Prints before_reply and after_reply (p50, p95, p99), before_reply beside the bare floors of the same run (encoder +
numpy product + bare postings, one after the other), the longest stall of the event loop, resident memory, the time to
open, and the memories that are indexed and embedded in a second. Machines are noisy: compare the ratios, not the
milliseconds.
"""

import argparse
import asyncio
import json
import logging
import random
import resource
import sys
import tempfile
import time
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import structlog
from floors import Floors, percentile, timed

from gateway_memory import OWNER, GatewayMemory, load_config

LENGTHS = (20, 100, 500)
LINES_A_FILE = 500
TOPICS = (
    "deployment", "database", "kitchen", "travel", "budget", "garden", "music", "school", "release", "holiday",
    "server", "meeting", "recipe", "training",
)  # fmt: skip
VERBS = (
    "prefers", "plans", "decided", "moved", "bought", "wants", "forgot", "finished", "likes", "paused", "reviewed",
    "booked",
)  # fmt: skip
HAN = "部署数据库厨房旅行预算花园音乐学校发布假期服务器会议菜谱训练喜欢计划决定购买完成预订时间地点朋友项目报告"


class Writer:
    """Makes sentences whose words are spread as in real ones: a few are everywhere, most are rare."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._vocabulary = [f"{self._random.choice(TOPICS)[:4]}{number:x}" for number in range(20_000)]

    def _word(self) -> str:
        rank = int(len(self._vocabulary) * self._random.random() ** 4)
        return self._vocabulary[rank]

    def memory(self) -> str:
        """A memory of ten to twenty words, one in three in Chinese."""
        if self._random.random() < 0.33:
            return "用户" + "".join(self._random.choices(HAN, k=self._random.randint(12, 30))) + self._word()
        words = [self._word() for _ in range(self._random.randint(7, 15))]
        return f"Lin {self._random.choice(VERBS)} {self._random.choice(TOPICS)} {' '.join(words)}"

    def message(self, length: int) -> str:
        """A message of so many characters."""
        text = ""
        while len(text) < length:
            text += self.memory() + " "
        start = self._random.randint(0, max(0, len(text) - length - 1))
        return text[start : start + length]


class Stalls:
    """The longest time that the event loop did not turn, in seconds."""

    def __init__(self) -> None:
        self.longest = 0.0

    async def watch(self) -> None:
        """Measure until cancelled."""
        while True:
            started = time.perf_counter()
            await asyncio.sleep(0.001)
            self.longest = max(self.longest, time.perf_counter() - started - 0.001)

    def take(self) -> float:
        """Return the longest stall since the last call, in milliseconds."""
        longest, self.longest = self.longest, 0.0
        return 1000 * longest


def seed(workspace: Path, texts: list[str]) -> None:
    """Write the memories as the days' logs of a workspace."""
    folder = workspace / "memory"
    folder.mkdir(parents=True)
    for number, start in enumerate(range(0, len(texts), LINES_A_FILE)):
        lines = [
            f"- {text} <!-- gm:{start + offset:08x} -->"
            for offset, text in enumerate(texts[start : start + LINES_A_FILE])
        ]
        day = date(2024, 1, 1) + timedelta(days=number)
        (folder / f"{day}.md").write_text(f"# {day}\n\n" + "\n".join(lines) + "\n", "utf-8")


def rss_megabytes() -> float:
    """Resident memory of this process now, in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1]) if Path("/proc/self/statm").exists() else 0
    return pages * resource.getpagesize() / 1e6


async def measure(memories: int, messages: int) -> dict[str, Any]:
    """Return everything that is measured."""
    writer = Writer(1)
    texts = [writer.memory() for _ in range(memories)]
    result: dict[str, Any] = {"memories": memories}
    stalls = Stalls()
    with tempfile.TemporaryDirectory() as folder:
        seed(Path(folder), texts)
        watching = asyncio.create_task(stalls.watch())
        started = time.perf_counter()
        async with GatewayMemory(load_config(), folder) as memory:
            session = await memory.start_session("agent:main:bench:direct:0", user=OWNER)
            await memory._follower.refresh(session.scope)  # noqa: SLF001 - the moment when the index has everything
            result["indexed_per_second"] = memories / (time.perf_counter() - started)
            started_embedding = time.perf_counter()
            await memory.flush()
            result["embedded_per_second"] = memories / (time.perf_counter() - started_embedding)
        result["stall_building_ms"] = stalls.take()
        started = time.perf_counter()
        async with GatewayMemory(load_config(), folder) as memory:
            result["open_ms"] = 1000 * (time.perf_counter() - started)
            session = await memory.start_session("agent:main:bench:direct:1", user=OWNER)
            result["first_session_ms"] = 1000 * (time.perf_counter() - started)
            await memory.flush()
            await memory.before_reply(session, "hello")
            result["stall_opening_ms"] = stalls.take()
            result["rss_mb"] = rss_megabytes()
            for length in LENGTHS:
                asked = [writer.message(length) for _ in range(messages)]
                seconds, outcomes = [], set()
                for message in asked:
                    started = time.perf_counter()
                    outcomes.add((await memory.before_reply(session, message)).outcome)
                    seconds.append(time.perf_counter() - started)
                result[f"before_reply_{length}"] = {
                    name: percentile(seconds, share) for name, share in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99))
                } | {"outcomes": sorted(outcomes)}
            result["stall_before_reply_ms"] = stalls.take()
            seconds = []
            for number in range(messages):
                started = time.perf_counter()
                await memory.after_reply(
                    session, user=f"Remember that box {number} is {writer.message(20)}", reply="OK"
                )
                seconds.append(time.perf_counter() - started)
            result["after_reply"] = {
                name: percentile(seconds, share) for name, share in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99))
            }
            started = time.perf_counter()
            await memory.flush()
            result["memories_added_per_second"] = messages / (time.perf_counter() - started + sum(seconds))
            result["stall_after_reply_ms"] = stalls.take()
        watching.cancel()
        compare(result, texts, writer, messages)
    return result


def compare(result: dict[str, Any], texts: list[str], writer: Writer, messages: int) -> None:
    """Add the floors of the same machine at the same moment to what was measured."""
    floors = Floors(texts)
    floors.encode("warm")
    for length in LENGTHS:
        asked = [writer.message(length) for _ in range(messages)]
        parts = {
            "encoder": timed(floors.encode, asked),
            "product": timed(floors.product, asked),
            "words": timed(floors.words, asked),
        }
        floor = {name: percentile(seconds, 0.95) for name, seconds in parts.items()}
        floor["sum"] = percentile([sum(each) for each in zip(*parts.values(), strict=True)], 0.95)
        measured = result[f"before_reply_{length}"]
        measured["floor"] = floor
        measured["p95_over_floor"] = measured["p95"] / floor["sum"]


def table(result: dict[str, Any]) -> str:
    """Return the result as lines."""
    lines = [f"{result['memories']} memories"]
    for length in LENGTHS:
        row = result[f"before_reply_{length}"]
        floor = row["floor"]
        lines.append(
            f"  before_reply, {length:>3} characters: p50 {row['p50']:6.1f}  p95 {row['p95']:6.1f}"
            f"  p99 {row['p99']:6.1f} ms"
            f"   floor p95 {floor['sum']:6.1f} (encoder {floor['encoder']:.1f}, product {floor['product']:.1f},"
            f" words {floor['words']:.1f})   {row['p95_over_floor']:.2f} x   {'/'.join(row['outcomes'])}"
        )
    row = result["after_reply"]
    lines.append(
        f"  after_reply:                  p50 {row['p50']:6.1f}  p95 {row['p95']:6.1f}  p99 {row['p99']:6.1f} ms"
    )
    lines += [
        f"  longest stall of the loop, {name}: {result[f'stall_{name}_ms']:.1f} ms"
        for name in ("building", "opening", "before_reply", "after_reply")
    ]
    lines.append(
        f"  open {result['open_ms']:.0f} ms, first session after {result['first_session_ms']:.0f} ms,"
        f" RSS {result['rss_mb']:.0f} MB"
    )
    lines.append(
        f"  a second: {result['indexed_per_second']:.0f} indexed, {result['embedded_per_second']:.0f} embedded,"
        f" {result['memories_added_per_second']:.0f} added by turns"
    )
    return "\n".join(lines)


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--messages", type=int, default=200, help="of each length (default: %(default)s)")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    result = asyncio.run(measure(args.memories, args.messages))
    print(json.dumps(result, indent=1) if args.json else table(result))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

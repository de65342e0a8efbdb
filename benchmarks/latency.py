"""How long a reply waits for its memory, and what else it costs, at a number of memories.

    python benchmarks/latency.py --memories 1000 10000 100000 [--messages 200] [--json]
    python benchmarks/latency.py --memories 1000000 --scopes 1000

Prints before_reply and after_reply (p50, p95, p99); before_reply beside the bare floors of the same run (encoder +
numpy product + bare postings, one after the other), and what each of its stages takes; fifty at once; the longest stall
of the event loop, resident memory, the time to open, and the memories that are indexed and embedded in a second.
Machines are noisy: compare the ratios, not the milliseconds.

--scopes: the memories are spread over so many people. A hundred of them speak; the others rest, and one that rested is
loaded when it speaks. --texts: so many distinct texts (default: 20,000 where there are scopes, else all differ).
Repeated ones are encoded once, so that a million needn't take an hour; "embedded" then says what writing takes.

The store is made by another process, so that resident memory is that of one that only serves.
"""

import argparse
import asyncio
import gc
import json
import logging
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import structlog
from floors import Floors, percentile, timed
from numpy.typing import NDArray

import recall.recaller
from gateway_memory import OWNER, GatewayMemory, Session, load_config
from gateway_memory.session import resolve_scope
from recall import Recall
from recall.background import Batches
from recall.encoder import BundledEncoder

LENGTHS = (20, 100, 500)
LINES_A_FILE = 500
DISTINCT_TEXTS = 20_000
SPEAKERS = 100
AT_ONCE = 50
ROUNDS = 10
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
    """The longest time that the event loop did not turn, in seconds.

    Looking every millisecond takes turns away from what is measured, so replies are timed while nobody looks, and
    watched in a pass of their own.
    """

    def __init__(self) -> None:
        self.longest = 0.0
        self._looking = asyncio.Event()
        self._looking.set()

    async def watch(self) -> None:
        """Measure until cancelled."""
        while True:
            await self._looking.wait()
            started = time.perf_counter()
            await asyncio.sleep(0.001)
            self.longest = max(self.longest, time.perf_counter() - started - 0.001)

    @contextmanager
    def off(self) -> Iterator[None]:
        """Look at nothing within."""
        self._looking.clear()
        try:
            yield
        finally:
            self._looking.set()

    def take(self) -> float:
        """Return the longest stall since the last call, in milliseconds."""
        longest, self.longest = self.longest, 0.0
        return 1000 * longest


def texts_of(memories: int, distinct: int) -> list[str]:
    """Return so many texts, of which so many differ."""
    writer = Writer(1)
    made = [writer.memory() for _ in range(min(memories, distinct))]
    return [made[number % len(made)] for number in range(memories)]


def folder_of(workspace: Path, scopes: int, scope: int) -> Path:
    """Return where a scope's files are: the workspace itself, or a person's folder."""
    return workspace / resolve_scope(user=f"person {scope}", room=None).folder if scopes > 1 else workspace


def seed(workspace: Path, texts: Sequence[str], scopes: int) -> None:
    """Write the memories as the days' logs of their scopes."""
    each = len(texts) // scopes
    for scope in range(scopes):
        folder = folder_of(workspace, scopes, scope) / "memory"
        folder.mkdir(parents=True)
        own = texts[scope * each : (scope + 1) * each]
        for number, start in enumerate(range(0, len(own), LINES_A_FILE)):
            lines = [
                f"- {text} <!-- gm:{start + offset:08x} -->"
                for offset, text in enumerate(own[start : start + LINES_A_FILE])
            ]
            day = date(2024, 1, 1) + timedelta(days=number)
            (folder / f"{day}.md").write_text(f"# {day}\n\n" + "\n".join(lines) + "\n", "utf-8")


class Remembering(BundledEncoder):
    """Encodes a text that it knows without encoding it."""

    def __init__(self) -> None:
        super().__init__()
        self._known: dict[str, NDArray[np.float32]] = {}

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return vectors, made where they are not known."""
        missing = list(dict.fromkeys(text for text in texts if text not in self._known))
        if missing:
            self._known.update(zip(missing, super().encode(missing), strict=True))
        return np.stack([self._known[text] for text in texts])


async def build(workspace: Path, memories: int, scopes: int, distinct: int) -> dict[str, Any]:
    """Make a workspace with its index; return how fast that went."""
    seed(workspace, texts_of(memories, distinct), scopes)
    if distinct < memories:
        recall.recaller._bundled = Remembering  # noqa: SLF001 - an hour's work otherwise
        recall.recaller.BUNDLED_BATCHES = Batches(texts=256, characters=1_000_000)  # type: ignore[attr-defined]
    result: dict[str, Any] = {}
    stalls = Stalls()
    watching = asyncio.create_task(stalls.watch())
    async with GatewayMemory(load_config(), workspace) as memory:
        started = time.perf_counter()
        for scope in range(scopes):
            whose = resolve_scope(user=f"person {scope}" if scopes > 1 else OWNER, room=None)
            await memory._follower.refresh(whose)  # noqa: SLF001 - the moment when the index has everything
        result["indexed_per_second"] = memories / (time.perf_counter() - started)
        started = time.perf_counter()
        await memory._recaller.embedded()  # noqa: SLF001 - flush has a bound
        result["embedded_per_second"] = memories / (time.perf_counter() - started)
    watching.cancel()
    result["stall_building_ms"] = stalls.take()
    return result


def rss_megabytes() -> float:
    """Resident memory of this process now, in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1]) if Path("/proc/self/statm").exists() else 0
    return pages * resource.getpagesize() / 1e6


class Stages:
    """What before_reply's parts took, in seconds by name, since `clear`."""

    def __init__(self, memory: GatewayMemory) -> None:
        self._memory = memory
        self._inner: defaultdict[str, float] = defaultdict(float)
        search = memory._recaller.search  # noqa: SLF001 - recall tells its stages to its caller alone

        async def noted(*args: Any, **values: Any) -> Recall:
            found = await search(*args, **values)
            for name, seconds in found.stages.items():
                self._inner[name] += seconds
            return found

        memory._recaller.search = noted  # type: ignore[method-assign]  # noqa: SLF001

    def clear(self) -> None:
        """Begin anew."""
        self._inner.clear()
        self._memory.metrics.latencies.clear()

    def mean_milliseconds(self) -> dict[str, float]:
        """Return each stage's share of the mean; "other" is what none of them took."""
        latencies = self._memory.metrics.latencies
        whole = latencies["before_reply"]
        parts = {
            name.removeprefix("before_reply."): found.sum
            for name, found in latencies.items()
            if name.startswith("before_reply.")
        }
        if self._inner:
            hop = parts.pop("recall", 0.0) - sum(self._inner.values())
            parts |= {**self._inner, "recall's hops": max(hop, 0.0)}
        parts["other"] = whole.sum - sum(parts.values())
        return {name: 1000 * seconds / whole.count for name, seconds in parts.items()}


async def replies(memory: GatewayMemory, sessions: Sequence[Session], messages: Sequence[str]) -> dict[str, Any]:
    """Return percentiles of before_reply, one after the other, each in the next session."""
    seconds, outcomes = [], set()
    for number, message in enumerate(messages):
        started = time.perf_counter()
        outcomes.add((await memory.before_reply(sessions[number % len(sessions)], message)).outcome)
        seconds.append(time.perf_counter() - started)
    return percentiles(seconds) | {"outcomes": sorted(outcomes)}


async def at_once(memory: GatewayMemory, sessions: Sequence[Session], writer: Writer) -> dict[str, Any]:
    """Return percentiles of before_reply of many sessions at the same time."""
    seconds: list[float] = []

    async def one(session: Session, message: str) -> None:
        started = time.perf_counter()
        await memory.before_reply(session, message)
        seconds.append(time.perf_counter() - started)

    for _ in range(ROUNDS):
        chosen = [sessions[number % len(sessions)] for number in range(AT_ONCE)]
        await asyncio.gather(*(one(session, writer.message(100)) for session in chosen))
    return percentiles(seconds)


def percentiles(seconds: Sequence[float]) -> dict[str, float]:
    """Return p50, p95 and p99 in milliseconds."""
    return {name: percentile(seconds, share) for name, share in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99))}


async def measure(memories: int, messages: int, scopes: int, distinct: int) -> dict[str, Any]:
    """Return everything that is measured."""
    writer = Writer(2)
    result: dict[str, Any] = {"memories": memories, "scopes": scopes, "distinct_texts": min(distinct, memories)}
    stalls = Stalls()
    with tempfile.TemporaryDirectory() as folder:
        values = [folder, memories, scopes, distinct]
        built = subprocess.run(  # noqa: ASYNC221, S603 - nothing else runs yet; our own arguments
            [sys.executable, __file__, "--build", *map(str, values)], check=True, capture_output=True, text=True
        )
        result |= json.loads(built.stdout)
        watching = asyncio.create_task(stalls.watch())
        started = time.perf_counter()
        async with GatewayMemory(load_config(), folder) as memory:
            result["open_ms"] = 1000 * (time.perf_counter() - started)
            people = range(SPEAKERS if scopes > 1 else AT_ONCE)
            sessions = [await start(memory, scopes, people[0])]
            result["first_session_ms"] = 1000 * (time.perf_counter() - started)
            await memory.flush()
            await memory.before_reply(sessions[0], "hello")
            result["stall_opening_ms"] = stalls.take()
            sessions += [await start(memory, scopes, number) for number in people[1:]]
            stages = Stages(memory)
            for length in LENGTHS:
                asked = [writer.message(length) for _ in range(messages)]
                stages.clear()
                speaking = sessions if scopes > 1 else sessions[:1]
                with stalls.off():
                    measured = await replies(memory, speaking, asked)
                result[f"before_reply_{length}"] = measured | {"stages": stages.mean_milliseconds()}
                await replies(memory, speaking, [writer.message(length) for _ in range(messages // 2)])
            result["stall_before_reply_ms"] = stalls.take()
            with stalls.off():
                result["at_once"] = await at_once(memory, sessions, writer)
            await at_once(memory, sessions, writer)
            result["stall_at_once_ms"] = stalls.take()
            result["rss_mb"] = rss_megabytes()
            if scopes > SPEAKERS:
                result["rested"] = await rested(memory, scopes, min(messages, scopes - SPEAKERS), writer)
                result["rss_all_mb"] = rss_megabytes()
                stalls.take()
            seconds: list[float] = []
            for number in range(messages):
                said = f"Remember that box {number} is {writer.message(20)}"
                started = time.perf_counter()
                await memory.after_reply(sessions[0], user=said, reply="OK")
                seconds.append(time.perf_counter() - started)
            result["after_reply"] = percentiles(seconds)
            started = time.perf_counter()
            await memory.flush()
            result["memories_added_per_second"] = messages / (time.perf_counter() - started + sum(seconds))
            result["stall_after_reply_ms"] = stalls.take()
        watching.cancel()
        compare(result, texts_of(memories, distinct)[: memories // scopes], writer, messages)
    return result


async def start(memory: GatewayMemory, scopes: int, number: int) -> Session:
    """Start a session: of the owner's, or, where there are scopes, of one of them each."""
    user = f"person {number % scopes}" if scopes > 1 else OWNER
    return await memory.start_session(f"agent:main:bench:direct:{number}", user=user)


async def rested(memory: GatewayMemory, scopes: int, number: int, writer: Writer) -> dict[str, float]:
    """Return percentiles of before_reply of sessions whose scopes have left memory."""
    sessions = [await start(memory, scopes, scope) for scope in range(SPEAKERS, SPEAKERS + number)]
    # Every other scope in turn, so that these are the ones that rested longest.
    for scope in range(SPEAKERS + number, scopes):
        await start(memory, scopes, scope)
    seconds = []
    for session in sessions:
        started = time.perf_counter()
        await memory.before_reply(session, writer.message(20))
        seconds.append(time.perf_counter() - started)
    return percentiles(seconds)


def compare(result: dict[str, Any], texts: Sequence[str], writer: Writer, messages: int) -> None:
    """Add the floors of the same machine at the same moment to what was measured, over the texts of one scope."""
    floors = Floors(texts)
    floors.encode("warm")
    for length in LENGTHS:
        asked = [writer.message(length) for _ in range(messages)]
        parts = timed(floors, asked)
        floor = {name: percentile(seconds, 0.95) for name, seconds in parts.items()}
        floor["sum"] = percentile([sum(each) for each in zip(*parts.values(), strict=True)], 0.95)
        measured = result[f"before_reply_{length}"]
        measured["floor"] = floor
        measured["floor_means"] = {name: 1000 * sum(seconds) / len(seconds) for name, seconds in parts.items()}
        measured["p95_over_floor"] = measured["p95"] / floor["sum"]


def table(result: dict[str, Any]) -> str:
    """Return the result as lines."""
    over = f" over {result['scopes']} scopes" if result["scopes"] > 1 else ""
    repeated = f", {result['distinct_texts']} distinct texts" if result["distinct_texts"] < result["memories"] else ""
    lines = [f"{result['memories']} memories{over}{repeated}"]
    for length in LENGTHS:
        row = result[f"before_reply_{length}"]
        floor, means = row["floor"], row["floor_means"]
        whole = sum(row["stages"].values())
        lines.append(
            f"  before_reply, {length:>3} characters: p50 {row['p50']:6.1f}  p95 {row['p95']:6.1f}"
            f"  p99 {row['p99']:6.1f} ms"
            f"   floor p95 {floor['sum']:6.1f} (encoder {floor['encoder']:.1f}, product {floor['product']:.1f},"
            f" words {floor['words']:.1f})   {row['p95_over_floor']:.2f} x   {'/'.join(row['outcomes'])}"
        )
        shares = sorted(row["stages"].items(), key=lambda stage: -stage[1])
        lines.append(
            f"      of the mean {whole:.1f} ms: "
            + ", ".join(f"{name} {value:.1f} ({value / whole:.0%})" for name, value in shares)
            + "; the floors' means: "
            + ", ".join(f"{name} {value:.1f}" for name, value in means.items())
        )
    for name, key in (
        (f"before_reply, {AT_ONCE} at once", "at_once"),
        ("before_reply, a scope that rested", "rested"),
        ("after_reply", "after_reply"),
    ):
        if key in result:
            row = result[key]
            numbers = f"p50 {row['p50']:6.1f}  p95 {row['p95']:6.1f}  p99 {row['p99']:6.1f} ms"
            lines.append(f"  {name + ':':<36}{numbers}")
    lines += [
        f"  longest stall of the loop, {name.replace('_', ' ')}: {result[f'stall_{name}_ms']:.1f} ms"
        for name in ("building", "opening", "before_reply", "at_once", "after_reply")
    ]
    whole_rss = f", {result['rss_all_mb']:.0f} MB after every scope was used" if "rss_all_mb" in result else ""
    lines.append(
        f"  open {result['open_ms']:.0f} ms, first session after {result['first_session_ms']:.0f} ms,"
        f" RSS {result['rss_mb']:.0f} MB{whole_rss}"
    )
    lines.append(
        f"  a second: {result['indexed_per_second']:.0f} indexed, {result['embedded_per_second']:.0f} embedded,"
        f" {result['memories_added_per_second']:.0f} added by turns"
    )
    return "\n".join(lines)


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memories", type=int, nargs="+", default=[10_000], metavar="N", help="one run for each")
    parser.add_argument("--scopes", type=int, default=1, help="over so many people (default: the owner alone)")
    parser.add_argument("--texts", type=int, help="so many distinct ones")
    parser.add_argument("--messages", type=int, default=200, help="of each length (default: %(default)s)")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--build", nargs=4, metavar=("FOLDER", "MEMORIES", "SCOPES", "TEXTS"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    gc.freeze()  # as a gateway does that has started; see the README
    if args.build:
        folder, memories, scopes, texts = args.build
        print(json.dumps(asyncio.run(build(Path(folder), int(memories), int(scopes), int(texts)))))
        return 0
    for memories in args.memories:
        texts = args.texts or (DISTINCT_TEXTS if args.scopes > 1 else memories)
        result = asyncio.run(measure(memories, args.messages, args.scopes, texts))
        print(json.dumps(result, indent=1) if args.json else table(result), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

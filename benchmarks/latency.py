"""How long a reply waits for its memory, and what else it costs, at a number of memories.

    python benchmarks/latency.py --memories 1000 10000 100000 [--messages 200] [--json]
    python benchmarks/latency.py --memories 1000000 --scopes 1000

Prints before_reply and after_reply (p50, p95, p99); before_reply beside the bare floors of the same run (encoder +
numpy product + bare postings, one after the other), and what each of its stages takes; fifty at once; the longest stall
of the event loop, resident memory, the time to open, and the memories that are indexed and embedded in a second.
Replies and floors are measured in turn, some messages each. Beside the stalls stands that of a loop that does nothing
while the bare encoder works in a thread; and what is left of each when the time is taken off in which a process that
does nothing was not woken either, which is the machine's. Machines are noisy: compare the ratios, not the milliseconds.

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
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import structlog
from corpus import Writer, texts_of
from floors import Floors, percentile, timed
from latency_table import table
from stalls import Stalls

from gateway_memory import OWNER, GatewayMemory, Session, load_config
from recall import Recall

LENGTHS = (20, 100, 500)
BUILDING = Path(__file__).with_name("building.py")
DISTINCT_TEXTS = 20_000
SPEAKERS = 100
AT_ONCE = 50
ROUNDS = 10
IN_TURN = 20


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


async def replies(
    memory: GatewayMemory, sessions: Sequence[Session], messages: Sequence[str], first: int = 0
) -> tuple[list[float], set[str]]:
    """Return the seconds of before_reply, one after the other, each in the next session, and their outcomes."""
    seconds: list[float] = []
    outcomes: set[str] = set()
    for number, message in enumerate(messages, first):
        started = time.perf_counter()
        outcomes.add((await memory.before_reply(sessions[number % len(sessions)], message)).outcome)
        seconds.append(time.perf_counter() - started)
    return seconds, outcomes


async def at_once(memory: GatewayMemory, sessions: Sequence[Session], writer: Writer, length: int) -> list[float]:
    """Return the seconds of before_reply of many sessions at the same time."""
    seconds: list[float] = []

    async def one(session: Session, message: str) -> None:
        started = time.perf_counter()
        await memory.before_reply(session, message)
        seconds.append(time.perf_counter() - started)

    for _ in range(ROUNDS):
        chosen = [sessions[number % len(sessions)] for number in range(AT_ONCE)]
        await asyncio.gather(*(one(session, writer.message(length)) for session in chosen))
    return seconds


def percentiles(seconds: Sequence[float]) -> dict[str, float]:
    """Return p50, p95 and p99 in milliseconds."""
    return {name: percentile(seconds, share) for name, share in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99))}


async def measure(memories: int, messages: int, scopes: int, distinct: int) -> dict[str, Any]:
    """Return everything that is measured."""
    writer = Writer(2)
    result: dict[str, Any] = {"memories": memories, "scopes": scopes, "distinct_texts": min(distinct, memories)}
    with ExitStack() as within:
        folder = within.enter_context(tempfile.TemporaryDirectory())
        built = subprocess.run(  # noqa: ASYNC221, S603 - nothing else runs yet; our own arguments
            [sys.executable, str(BUILDING), folder, *map(str, (memories, scopes, distinct))],
            check=True,
            capture_output=True,
            text=True,
        )
        result |= json.loads(built.stdout)
        stalls = within.enter_context(Stalls())
        os.sync()  # what was built is not still being written while it is opened
        watching = asyncio.create_task(stalls.watch())
        started = time.perf_counter()
        async with GatewayMemory(load_config(), folder) as memory:
            result["open_ms"] = 1000 * (time.perf_counter() - started)
            people = range(SPEAKERS if scopes > 1 else AT_ONCE)
            sessions = [await start(memory, scopes, people[0])]
            result["first_session_ms"] = 1000 * (time.perf_counter() - started)
            await memory.flush()
            await memory.before_reply(sessions[0], "hello")
            result["stalls"]["opening"] = stalls.take()._asdict()
            gc.freeze()
            stalls.take()
            sessions += [await start(memory, scopes, number) for number in people[1:]]
            result["stalls"]["starting"] = stalls.take()._asdict()
            speaking = sessions if scopes > 1 else sessions[:1]
            for length in LENGTHS:
                await replies(memory, speaking, [writer.message(length) for _ in range(messages // 2)])
            result["stalls"]["before_reply"] = stalls.take()._asdict()
            for length in LENGTHS[:2]:
                with stalls.off():
                    result[f"at_once_{length}"] = percentiles(await at_once(memory, sessions, writer, length))
                await at_once(memory, sessions, writer, length)
            result["stalls"]["at_once"] = stalls.take()._asdict()
            result["rss_mb"] = rss_megabytes()
            with stalls.off():
                if scopes > SPEAKERS:
                    result["rested"] = await rested(memory, scopes, min(messages, scopes - SPEAKERS), writer)
                    result["rss_all_mb"] = rss_megabytes()
                    await replies(memory, speaking, [writer.message(20) for _ in speaking])  # they rest too by now
                texts = texts_of(memories, distinct)
                each = memories // scopes
                floors = Floors([texts[scope * each : (scope + 1) * each] for scope in range(len(speaking))])
                floors.encode("warm", 0)
                await compare(result, memory, speaking, messages, writer, floors)
            await asyncio.sleep(0.01)
            stalls.take()  # the floors were ours
            for length in LENGTHS:
                for _ in range(messages // 2):
                    await asyncio.to_thread(floors.encode, writer.message(length), 0)
            result["stalls"]["bare"] = stalls.take()._asdict()
            result |= await turns(memory, sessions[0], writer, messages)
            result["stalls"]["after_reply"] = stalls.take()._asdict()
        watching.cancel()
    return result


async def turns(memory: GatewayMemory, session: Session, writer: Writer, messages: int) -> dict[str, Any]:
    """Return percentiles of after_reply, and how many memories of turns are added in a second."""
    seconds = []
    for number in range(messages):
        said = f"Remember that box {number} is {writer.message(20)}"
        started = time.perf_counter()
        await memory.after_reply(session, user=said, reply="OK")
        seconds.append(time.perf_counter() - started)
    started = time.perf_counter()
    await memory.flush()
    added = messages / (time.perf_counter() - started + sum(seconds))
    return {"after_reply": percentiles(seconds), "memories_added_per_second": added}


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
    seconds, _ = await replies(memory, sessions, [writer.message(20) for _ in sessions])
    return percentiles(seconds)


async def compare(
    result: dict[str, Any],
    memory: GatewayMemory,
    sessions: Sequence[Session],
    messages: int,
    writer: Writer,
    floors: Floors,
) -> None:
    """Measure before_reply and its floors in turn, some messages each, so that both meet the machine's same moments."""
    stages = Stages(memory)
    for length in LENGTHS:
        stages.clear()
        seconds: list[float] = []
        outcomes: set[str] = set()
        bare: dict[str, list[float]] = defaultdict(list)
        for first in range(0, messages, IN_TURN):
            count = min(IN_TURN, messages - first)
            took, came = await replies(memory, sessions, [writer.message(length) for _ in range(count)], first)
            seconds += took
            outcomes |= came
            for name, times in timed(floors, [writer.message(length) for _ in range(count)], first).items():
                bare[name] += times
        floor = {name: percentile(times, 0.95) for name, times in bare.items()}
        floor["sum"] = percentile([sum(each) for each in zip(*bare.values(), strict=True)], 0.95)
        measured = percentiles(seconds)
        result[f"before_reply_{length}"] = {
            **measured,
            "outcomes": sorted(outcomes),
            "stages": stages.mean_milliseconds(),
            "floor": floor,
            "floor_means": {name: 1000 * sum(times) / len(times) for name, times in bare.items()},
            "p95_over_floor": measured["p95"] / floor["sum"],
        }


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memories", type=int, nargs="+", default=[10_000], metavar="N", help="one run for each")
    parser.add_argument("--scopes", type=int, default=1, help="over so many people (default: the owner alone)")
    parser.add_argument("--texts", type=int, help="so many distinct ones")
    parser.add_argument("--messages", type=int, default=200, help="of each length (default: %(default)s)")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    gc.freeze()  # as a gateway does that has started, and again when its memory is open; see the README
    if len(args.memories) > 1:  # each in a process of its own, or one's memory would be counted with the next one's
        common = ["--scopes", str(args.scopes), "--messages", str(args.messages)]
        common += ["--texts", str(args.texts)] if args.texts else []
        common += ["--json"] if args.json else []
        for memories in args.memories:
            subprocess.run([sys.executable, __file__, "--memories", str(memories), *common], check=True)  # noqa: S603
        return 0
    (memories,) = args.memories
    texts = args.texts or (DISTINCT_TEXTS if args.scopes > 1 else memories)
    result = asyncio.run(measure(memories, args.messages, args.scopes, texts))
    print(json.dumps(result, indent=1) if args.json else table(result), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

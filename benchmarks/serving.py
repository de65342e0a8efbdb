"""Measures a workspace that building.py has made: serving.py FOLDER MEMORIES SCOPES TEXTS MESSAGES.

Prints what it measures as JSON. latency.py calls it, and says what is measured.
"""

import asyncio
import gc
import json
import logging
import resource
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import structlog
from corpus import Writer, texts_of
from floors import Commits, Floors, percentile, timed
from stalls import Stalls

from gateway_memory import OWNER, GatewayMemory, Session, load_config
from recall import Recall

LENGTHS = (20, 100, 500)
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
        search = memory._opened().storage.recaller.search  # noqa: SLF001 - recall tells its stages to its caller alone

        async def noted(*args: Any, **values: Any) -> Recall:
            found = await search(*args, **values)
            for name, seconds in found.stages.items():
                self._inner[name] += seconds
            return found

        memory._opened().storage.recaller.search = noted  # type: ignore[method-assign]  # noqa: SLF001

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


async def at_once(memory: GatewayMemory, sessions: Sequence[Session], messages: Sequence[str]) -> list[float]:
    """Return the seconds of before_reply of many sessions at the same time, AT_ONCE of the messages after AT_ONCE."""
    seconds: list[float] = []

    async def one(session: Session, message: str) -> None:
        started = time.perf_counter()
        await memory.before_reply(session, message)
        seconds.append(time.perf_counter() - started)

    for first in range(0, len(messages), AT_ONCE):
        together = messages[first : first + AT_ONCE]
        await asyncio.gather(*(one(sessions[number % len(sessions)], each) for number, each in enumerate(together)))
    return seconds


def percentiles(seconds: Sequence[float]) -> dict[str, float]:
    """Return p50, p95 and p99 in milliseconds."""
    return {name: percentile(seconds, share) for name, share in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99))}


async def measure(folder: str, memories: int, scopes: int, distinct: int, messages: int) -> dict[str, Any]:
    """Return everything that is measured of a workspace."""
    writer = Writer(2)
    # Made beforehand, here and below: making hundreds holds the event loop for milliseconds that are not memory's.
    said = {length: [writer.message(length) for _ in range(messages // 2)] for length in LENGTHS}
    result: dict[str, Any] = {"stalls": {}}
    with Stalls() as stalls:
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
                await replies(memory, speaking, said[length])
            result["stalls"]["before_reply"] = stalls.take()._asdict()
            for length in LENGTHS[:2]:
                with stalls.off():
                    many = [writer.message(length) for _ in range(2 * ROUNDS * AT_ONCE)]
                    result[f"at_once_{length}"] = percentiles(await at_once(memory, sessions, many[: len(many) // 2]))
                await at_once(memory, sessions, many[len(many) // 2 :])
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
    """Return percentiles of after_reply, how many memories turns add in a second, and percentiles of a bare commit."""
    seconds = []
    for number in range(messages):
        said = f"Remember that box {number} is {writer.message(20)}"
        started = time.perf_counter()
        await memory.after_reply(session, user=said, reply="OK")
        seconds.append(time.perf_counter() - started)
    started = time.perf_counter()
    await memory.flush()
    added = messages / (time.perf_counter() - started + sum(seconds))
    commits = Commits(memory.workspace / "bare.sqlite")
    bare = [await asyncio.to_thread(commits.commit, writer.message(20)) for _ in range(messages)]
    commits.close()
    return {"after_reply": percentiles(seconds), "commit": percentiles(bare), "memories_added_per_second": added}


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
    """Measure what the arguments say: a folder that building.py has filled, and the numbers that it was given."""
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    gc.freeze()  # as a gateway does that has started, and again when its memory is open; see the README
    folder, *numbers = sys.argv[1:]
    print(json.dumps(asyncio.run(measure(folder, *map(int, numbers)))))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

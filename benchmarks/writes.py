"""Measures how many facts a second an agent can save, one after the other and at once, on a workspace on disk.

    python benchmarks/writes.py [--facts 200] [--at-once 50] [--memories 1000]

Every call is durable when it returns: the Markdown line and the journal's rows are on disk.
"""

import argparse
import asyncio
import gc
import tempfile
import time
from pathlib import Path

from corpus import Writer, seed, texts_of

from gateway_memory import OWNER, GatewayMemory, load_config


async def measure(workspace: Path, facts: int, at_once: int, memories: int) -> None:
    """Print facts a second in each way."""
    seed(workspace, texts_of(memories, memories), 1)
    writer = Writer(2)
    async with GatewayMemory(load_config(), workspace) as memory:
        session = await memory.start_session("agent:main:bench:direct:1", user=OWNER)
        await memory.flush()
        gc.freeze()
        for callers in (1, at_once):
            texts = [writer.memory() for _ in range(facts)]
            waits: list[float] = []

            async def caller(own: list[str], waits: list[float] = waits) -> None:
                for text in own:
                    started = time.perf_counter()
                    await memory.save_fact(session, content=text)
                    waits.append(time.perf_counter() - started)

            started = time.perf_counter()
            await asyncio.gather(*(caller(texts[first::callers]) for first in range(callers)))
            seconds = time.perf_counter() - started
            waits.sort()
            middle, late = waits[len(waits) // 2], waits[int(len(waits) * 0.99) - 1]
            print(
                f"{callers:>4} at once: {facts / seconds:7.1f} facts a second;"
                f" a call takes {middle * 1000:.1f} ms (p99 {late * 1000:.1f} ms)"
            )


def main() -> int:
    """Measure what the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--facts", type=int, default=400)
    parser.add_argument("--at-once", type=int, default=50)
    parser.add_argument("--memories", type=int, default=1000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(measure(Path(folder), arguments.facts, arguments.at_once, arguments.memories))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

"""Makes a workspace of many memories with its index, in a process of its own.

    python benchmarks/building.py FOLDER MEMORIES SCOPES TEXTS EPISODES

Prints as JSON how fast that went. latency.py calls it, so that it measures a process that only serves.
"""

import asyncio
import gc
import json
import logging
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import structlog
from corpus import Writer, seed, texts_of
from numpy.typing import NDArray
from stalls import Stalls

import recall.encoding.encoder
import recall.recaller
from gateway_memory import OWNER, GatewayMemory, load_config
from gateway_memory.scope import resolve_scope
from gateway_memory.store.journal.episodes import Episode
from recall.background import Batches
from recall.encoding.encoder import BundledEncoder

AT_ONCE = 640


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


async def tell(memory: GatewayMemory, scope: str, exchanges: int, distinct: int) -> None:
    """Store exchanges as they were said in a scope, in sessions of ten, a minute apart, and index them."""
    storage, writer = memory._opened().storage, Writer(3)  # noqa: SLF001 - as the importer does
    said = [writer.memory() for _ in range(min(distinct, 2 * exchanges))]
    for first in range(0, exchanges, AT_ONCE):
        part = [
            Episode(
                turn=0,
                scope=scope,
                session_key=f"chat {number // 10}",
                session_id=f"s{number // 10}",
                user=said[2 * number % len(said)],
                reply=said[(2 * number + 1) % len(said)],
                at=1.7e9 + 60 * number,
            )
            for number in range(first, min(first + AT_ONCE, exchanges))
        ]
        await storage.episode_follower.index(scope, await storage.episodes.add(part))


async def build(workspace: Path, memories: int, scopes: int, distinct: int, episodes: int) -> dict[str, Any]:
    """Make a workspace with its index; return how fast that went."""
    seed(workspace, texts_of(memories, distinct), scopes)
    if distinct < memories or episodes:
        recall.encoding.encoder.bundled_encoder = lambda *_, **__: Remembering()  # an hour's work otherwise
        recall.recaller.BUNDLED_BATCHES = Batches(texts=256, characters=1_000_000)  # type: ignore[attr-defined]
    result: dict[str, Any] = {}
    with Stalls() as stalls:
        watching = asyncio.create_task(stalls.watch())
        async with GatewayMemory(load_config(), workspace) as memory:
            await memory.start_session("agent:main:bench:direct:nobody", user="nobody")
            await memory.flush()
            gc.freeze()  # as a gateway does when its memory is open
            started = time.perf_counter()
            for scope in range(scopes):
                whose = resolve_scope(user=f"person {scope}" if scopes > 1 else OWNER, room=None)
                await memory._opened().storage.follower.refresh(whose)  # noqa: SLF001 - the moment when the index has everything
                await tell(memory, whose.key, memories // scopes * episodes, distinct)
            rows = memories * (1 + 2 * episodes)
            result["indexed_per_second"] = rows / (time.perf_counter() - started)
            started = time.perf_counter()
            await memory._opened().storage.recaller.embedded()  # noqa: SLF001 - flush has a bound
            result["embedded_per_second"] = rows / (time.perf_counter() - started)
        watching.cancel()
        result["stalls"] = {"building": stalls.take()._asdict()}
    return result


def main() -> int:
    """Build what the arguments say."""
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    gc.freeze()  # as a gateway does that has started; see the README
    folder, *numbers = sys.argv[1:]
    print(json.dumps(asyncio.run(build(Path(folder), *map(int, numbers)))))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

"""Counts what ordinary talk replaces, marks or lets ask: `changes_in_talk.py NUMBER FILE…`.

Each file is a gzip of JSON lines (kind, text) of conversations in which hardly anything changes. The first messages
of each, NUMBER of them, are told to the whole product without a model. It prints how many lines were replaced or
marked, and of how many it would be asked whether they hold, with the pairs.
"""

import asyncio
import gzip
import json
import sys
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from life import Clock

from extractor import Candidate, Decision, Known
from gateway_memory import OWNER, GatewayMemory, load_config
from gateway_memory.capture.executor import decided
from recall.encoding.encoder import bundled_encoder

ROUND = 20  # messages of a session


async def told(messages: list[str]) -> list[str]:
    """What became of older lines, and by what."""
    found: list[str] = []

    def noted(candidate: Candidate, compared: Sequence[Known]) -> Decision:
        decision = decided(candidate, compared)
        of = {memory.id: memory.text for memory in compared}
        kinds = {"asked": decision.asks, "marked": decision.outdates}
        kinds["replaced"] = (decision.target or "") if decision.action == "supersede" else ""
        found.extend(f"{kind}: {of[which]} -> {candidate.content}" for kind, which in kinds.items() if which in of)
        return decision

    clock = Clock()
    with TemporaryDirectory() as folder, patch("gateway_memory.capture.merger.decided", noted):
        async with GatewayMemory(load_config(), folder, clock=clock) as memory:
            for start in range(0, len(messages), ROUND):
                session = await memory.start_session(f"session {start}", user=OWNER)
                for message in messages[start : start + ROUND]:
                    await memory.after_reply(session, user=message, reply="OK")
                await memory.flush()
                await memory.end_session(session, reason="completed")
                clock.now += timedelta(days=1)
    return found


async def main() -> None:
    """Tell the messages of each file, and print what became of older lines."""
    encoder = bundled_encoder()  # held, so that it is loaded once
    number = int(sys.argv[1])
    for path in sys.argv[2:]:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            texts = [row["text"] for row in map(json.loads, lines) if row["kind"] == "doc"][:number]
        found = await told(texts)
        counts = {kind: sum(each.startswith(kind) for each in found) for kind in ("replaced", "marked", "asked")}
        print(Path(path).name, len(texts), counts, *found, sep="\n  ", flush=True)
    encoder.close()


if __name__ == "__main__":
    asyncio.run(main())

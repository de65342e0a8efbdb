"""Says pairs of statements in two sessions to the whole product without a model: `pairs_said.py FILE…`.

Each file holds JSON lines (old, new, label), as in benchmarks/pairs/. It prints by label how often the older line was
kept at all, and what became of a kept one: "replaced", "asked" about, "marked" as perhaps outdated, or "apart".
"""

import asyncio
import json
import sys
from collections import Counter, defaultdict
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from life import Clock

from gateway_memory import OWNER, GatewayMemory, load_config
from gateway_memory.store.markdown import parse
from recall.encoding.encoder import bundled_encoder


def lines_in(folder: Path) -> frozenset[str]:
    """The memories that stand in the files."""
    found = (parse(file.read_text("utf-8"), file=file.name) for file in folder.rglob("*.md"))
    return frozenset(block.text for blocks in found for block in blocks if block.kind == "item")


async def said(old: str, new: str) -> str:
    """What becomes of the older statement's line."""
    clock = Clock()
    with TemporaryDirectory() as folder:
        async with GatewayMemory(load_config(), folder, clock=clock) as memory:
            kept = frozenset[str]()
            for number, text in enumerate((old, new)):
                session = await memory.start_session(f"session {number}", user=OWNER)
                await memory.after_reply(session, user=text, reply="OK")
                await memory.flush()
                await memory.end_session(session, reason="completed")
                await memory._opened().storage.recaller.embedded()  # noqa: SLF001 - a day passes
                clock.now += timedelta(days=1)
                kept = kept or lines_in(memory.workspace)
            now = lines_in(memory.workspace)
            session = await memory.start_session("afterwards", user=OWNER)
            asked = "[Memory Request]" in (await memory.before_reply(session, "good morning")).text
            marked = "(may be outdated)" in session.opening or "（可能已过时）" in session.opening
    if not kept or (new in kept and old != new):
        return "not kept"
    return "replaced" if kept - now else "asked" if asked else "marked" if marked else "apart"


async def main() -> None:
    """Say the pairs of each file and print what became of them."""
    encoder = bundled_encoder()  # held, so that it is loaded once
    for path in map(Path, sys.argv[1:]):
        counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for row in map(json.loads, path.read_text("utf-8").splitlines()):
            counts[row["label"]][await said(row["old"], row["new"])] += 1
        for label, became in counts.items():
            print(path.stem, label, dict(became), flush=True)
    encoder.close()


if __name__ == "__main__":
    asyncio.run(main())

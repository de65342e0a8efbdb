"""Reads what was imported, and kills itself at a named step. Run by test_backlog.py with a workspace and the step."""

import asyncio
import sys
from pathlib import Path

from dying_gateway import dies_after, dies_before
from editor import WORDS_ALONE

from gateway_memory import GatewayMemory, load_config
from gateway_memory.capture.batches import BatchStage
from gateway_memory.capture.ruling import RulesStage
from gateway_memory.store.journal.turns import Turns

STEPS = {
    "taken up": lambda: dies_after(Turns, "take_up"),
    "before the rules are done": lambda: dies_before(Turns, "finish"),
    "the rules are done": lambda: dies_after(RulesStage, "run"),
    "the batch is done": lambda: dies_after(BatchStage, "run"),
}


async def main(workspace: Path, step: str) -> None:
    STEPS[step]()
    async with GatewayMemory(load_config(WORDS_ALONE), workspace) as memory:
        await memory.backlog.read()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))

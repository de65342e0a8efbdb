"""A gateway that kills itself at a named step. Run by test_crash.py: `python dying_gateway.py WORKSPACE STEP`."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from editor import WORDS_ALONE
from inside import parts

from gateway_memory import OWNER, GatewayMemory, load_config
from gateway_memory.capture.batches import BatchStage
from gateway_memory.capture.ruling import RulesStage
from gateway_memory.store.disk import replacing
from gateway_memory.store.disk.files import MarkdownFiles
from gateway_memory.store.journal.turns import Turns
from notifier import Announcer
from recall import Recaller

SAID = (
    "我喜欢用 Python",
    "Remember that the staging port is 8443.",
    "我们决定用 PostgreSQL 做订单库",
    "哈哈",
    "I'm allergic to peanuts.",
)


def die(*_: Any, **__: Any) -> Any:
    os.kill(os.getpid(), signal.SIGKILL)


def dies_before(owner: Any, name: str) -> None:
    setattr(owner, name, die)


def dies_after(owner: Any, name: str) -> None:
    function = getattr(owner, name)

    async def wrapped(*args: Any, **values: Any) -> Any:
        await function(*args, **values)
        die()

    setattr(owner, name, wrapped)


STEPS: dict[str, Callable[[GatewayMemory], None]] = {
    "turn accepted": lambda _: dies_before(RulesStage, "run"),
    "decided, no plan yet": lambda _: dies_before(Turns, "save_plan"),
    "plan written": lambda _: dies_after(Turns, "save_plan"),
    "before the file is replaced": lambda _: dies_before(replacing, "rename"),
    "temporary file written": lambda _: dies_before(replacing, "_hidden"),
    "first file replaced": lambda _: dies_before(replacing, "persist"),
    "files written": lambda _: dies_after(MarkdownFiles, "edit"),
    "before it is announced": lambda _: dies_before(Announcer, "written"),
    "before the index follows": lambda _: dies_before(Recaller, "replace_file"),
    "index written": lambda _: dies_after(Recaller, "replace_file"),
    "before the turn is done": lambda _: dies_before(Turns, "finish"),
    "turn done": lambda _: dies_after(Turns, "finish"),
    "before the batch": lambda _: dies_before(BatchStage, "run"),
}


async def main(workspace: str, step: str) -> None:
    async with GatewayMemory(load_config(WORDS_ALONE), workspace) as memory:
        session = await memory.start_session("speaker", user=OWNER)
        async with parts(memory).processor._plan_lock:  # all turns are accepted before the first is processed
            for said in SAID:
                await memory.after_reply(session, user=said, reply="OK")
        STEPS[step](memory)
        await memory.flush()
    raise SystemExit("it should be dead")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))

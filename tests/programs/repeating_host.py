"""A host that is killed while it undoes something. test_repeats.py runs `python repeating_host.py WORKSPACE STEP`."""

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

from editor import WORDS_ALONE

from gateway_memory import OWNER, GatewayMemory, Session, load_config
from gateway_memory.store.journal.requests import Request, Requests

ID = Request(call="command", caller="one", id="undo-1", scope="owner")


async def undo(memory: GatewayMemory, session: Session) -> dict[str, Any]:
    async def work() -> dict[str, Any]:
        answer = await memory.answer(session, "/memory undo")
        return {"answer": "undone" if answer and answer.done else "nothing to undo"}

    async def unknown() -> dict[str, Any]:
        return {"answer": "not known"}

    return await memory.once(ID, work, if_interrupted=unknown, repeatable=False)


async def main(workspace: Path, step: str) -> None:
    def die(*_: Any) -> Any:
        os.kill(os.getpid(), signal.SIGKILL)

    async with GatewayMemory(load_config(WORDS_ALONE), workspace) as memory:
        session = await memory.start_session("one", user=OWNER)
        if step != "after":
            setattr(Requests, "begin" if step == "before" else "answer", die)
        await undo(memory, session)
        die()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))

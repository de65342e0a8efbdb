"""Our service with a fault: `FAULT=… python faulty_service.py serve …`.

"dies": it is killed when a command has been carried out and is not recorded yet. "slow": a search takes a second and a
half. "stuck": a search never ends.
"""

import asyncio
import os
import signal
import sys
from typing import Any

from gateway_memory import GatewayMemory
from gateway_memory.cli.main import main
from gateway_memory.store.journal.requests import Requests

SECONDS = {"slow": 1.5, "stuck": 3600.0}


async def die(*_: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


async def late(memory: GatewayMemory, *values: Any, **named: Any) -> Any:
    sys.stdout.write("a search begins\n")
    sys.stdout.flush()
    await asyncio.sleep(SECONDS[os.environ["FAULT"]])
    return await search(memory, *values, **named)


search = GatewayMemory.search

if __name__ == "__main__":
    if os.environ["FAULT"] == "dies":
        Requests.answer = die  # type: ignore[method-assign, assignment]
    else:
        GatewayMemory.search = late  # type: ignore[method-assign, assignment]
    sys.exit(main())

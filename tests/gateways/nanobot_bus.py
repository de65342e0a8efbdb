"""Run by nanobot's Python: nanobot's agent, and lines of JSON that go onto its bus as its channels put them there."""

import asyncio
import json
import sys
from typing import Any

from nanobot import Nanobot
from nanobot.bus.events import InboundMessage


async def main() -> None:
    bot = Nanobot.from_config()
    loop: Any = bot._loop
    running = asyncio.create_task(loop.run())
    printing = asyncio.create_task(_print(loop.bus))
    await asyncio.sleep(0)
    sys.stdout.write('{"ready": true}\n')
    sys.stdout.flush()
    while line := await asyncio.to_thread(sys.stdin.readline):
        await loop.bus.publish_inbound(InboundMessage(**json.loads(line)))
    running.cancel()
    printing.cancel()


async def _print(bus: Any) -> None:
    while True:
        message = await bus.consume_outbound()
        if message.event is None and message.content:
            sys.stdout.write(json.dumps({"chat_id": message.chat_id, "content": message.content}) + "\n")
            sys.stdout.flush()


asyncio.run(main())

"""Run by nanobot's Python: what its Slack and Discord channels put onto the bus of what people write, as JSON."""

import asyncio
import json
import sys
from types import SimpleNamespace as Given
from typing import Any

from nanobot.bus.queue import MessageBus
from nanobot.channels.registry import load_channel_class


async def slack(bus: Any, text: str) -> None:
    channel = load_channel_class("slack")({"enabled": True, "allowFrom": ["*"]}, bus)
    event = {"type": "message", "user": "U1", "channel": "D1", "channel_type": "im", "text": text, "ts": "1.0"}
    client = Given(send_socket_mode_response=_nothing)
    await channel._on_socket_request(client, Given(type="events_api", envelope_id="1", payload={"event": event}))


async def discord(bus: Any, text: str) -> None:
    channel = load_channel_class("discord")({"enabled": True, "allowFrom": ["*"]}, bus)
    sent = {"id": 5, "content": text, "author": Given(id=1, bot=False), "channel": Given(id=77), "guild": None}
    await channel._handle_discord_message(Given(**sent, attachments=[], reference=None, add_reaction=_nothing))


async def _nothing(*_: Any) -> None:
    return None


async def main() -> None:
    bus = MessageBus()
    for text in sys.argv[1:]:
        for channel in (slack, discord):
            await channel(bus, text)
            message = await asyncio.wait_for(bus.consume_inbound(), 10)
            sys.stdout.write("@" + json.dumps([message.channel, message.content]) + "\n")


asyncio.run(main())

"""Let nanobot's channels pass `/memory` on.

Telegram's hands only the commands of a fixed list to nanobot, and drops the others without a word. Slack's and
Discord's pass on every text.
"""

import re
import sys
from typing import Any

from loguru import logger
from nanobot.channels.plugin import ChannelPlugin

__all__ = ["is_ours", "pass_commands_on"]

# `/memory`, or 记忆 in its place: a Chinese name may follow at once. The slash may be full-width.
_OURS = r"^[/／](?i:memory|记忆|記憶)(?:@\w+)?(?:[\s\u3400-\u9fff][\s\S]*)?$"
_MENU = "What is remembered: search, forget, undo, off, help"


def is_ours(text: str) -> bool:
    """Return whether a message may be a command of the memory."""
    return bool(re.match(_OURS, text))


def pass_commands_on() -> None:
    """Extend the channels that are loaded, and those that will be. A channel reads its list when it starts."""
    load = ChannelPlugin.load_channel_class
    if getattr(load, "of_gateway_memory", False):
        return

    def loaded(plugin: ChannelPlugin) -> Any:
        channel = load(plugin)
        _extend(channel)
        return channel

    loaded.of_gateway_memory = True  # type: ignore[attr-defined]
    ChannelPlugin.load_channel_class = loaded  # type: ignore[method-assign]
    if channel := getattr(sys.modules.get("nanobot.channels.telegram.runtime"), "TelegramChannel", None):
        _extend(channel)


def _extend(channel: Any) -> None:
    if channel.name != "telegram":
        return
    known = getattr(channel, "TELEGRAM_BUS_SLASH_COMMAND_RE", None)
    if not isinstance(known, re.Pattern):
        logger.warning("gateway-memory: this version of Telegram's channel drops /memory; ask in words instead")
    elif not known.search("/memory status"):
        channel.TELEGRAM_BUS_SLASH_COMMAND_RE = re.compile(f"{known.pattern}|{_OURS}", known.flags)
        menu = channel.BOT_COMMANDS
        channel.BOT_COMMANDS = [*menu, type(menu[0])("memory", _MENU)]

"""What nanobot has verified of a message's sender, in the words of `gateway_memory.Facts`."""

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["facts_of"]

_OWN_WORK = ("cron:", "dream:", "heartbeat", "system:", "trigger:")
"""Session keys of turns that nanobot starts itself, in which nobody speaks."""
_STARTED = ("_cron_trigger", "_local_trigger")
"""What the metadata of a message has that a schedule or a program of the machine writes into somebody's chat."""
_ON_THIS_MACHINE = frozenset({"api", "cli", "websocket"})
"""Surfaces without groups. Their clients choose their ids, so gateway-memory refuses them until they are declared."""
_SENDER_NAMES = ("sender_name", "first_name", "display_name", "nickname", "username")
_CHAT_TITLES = ("chat_name", "chat_title", "group_name", "room")
"""What channels call a sender and a chat, for people who read of them; names prove nothing."""
_DIRECT = frozenset({"1", "dm", "im", "p2p", "personal", "private", "single"})


def facts_of(*, key: str, channel: str, chat_id: str, sender_id: str, metadata: Mapping[str, Any]) -> dict[str, str]:
    """Return the facts of a message, or {} if nobody speaks. What nanobot has not verified is left out."""
    own = key.startswith(_OWN_WORK) or channel in ("", "system") or sender_id in ("cron", "subagent")
    if own or any(metadata.get(name) for name in _STARTED):
        return {}
    sender = sender_id.partition("|")[0]  # Telegram: "id|username"; anybody can take a free user name
    kind = _chat_type(channel, metadata)
    if channel == "whatsapp" and kind == "direct":
        sender = _telephone(sender, metadata)
        if sender and chat_id.partition("@")[2].startswith("lid"):
            key, chat_id = f"whatsapp:{sender}", sender  # the same chat, under the hidden id of the same person
    facts = {"key": key, "channel": channel, "chat_type": kind, "chat_id": chat_id, "sender_id": sender}
    return {**facts, "sender_name": _first(metadata, _SENDER_NAMES), "chat_title": _first(metadata, _CHAT_TITLES)}


def _first(metadata: Mapping[str, Any], names: Sequence[str]) -> str:
    """Return the first of some values of a message's metadata that is a text with something in it, or ""."""
    return next((value for name in names if isinstance(value := metadata.get(name), str) and value.strip()), "")


def _telephone(sender: str, metadata: Mapping[str, Any]) -> str:
    """Return the sender's number, or "" if WhatsApp told only an id (`@lid`) that it can change."""
    known = str(metadata.get("phone") or "")
    return known or ("" if sender == str(metadata.get("lid") or sender) else sender)


def _chat_type(channel: str, metadata: Mapping[str, Any]) -> str:
    """Return "direct" or "group", or "" if nanobot does not tell."""
    if channel in _ON_THIS_MACHINE:
        return "direct"
    if isinstance(is_group := metadata.get("is_group"), bool):
        return "group" if is_group else "direct"
    if channel == "discord" and "guild_id" in metadata:
        return "group" if metadata["guild_id"] else "direct"
    of_channel = metadata.get(channel)
    metadata = {**metadata, **of_channel} if isinstance(of_channel, Mapping) else metadata
    kind = next(
        (str(metadata[name]) for name in ("chat_type", "channel_type", "conversation_type") if metadata.get(name)), ""
    )
    return "" if not kind else "direct" if kind in _DIRECT else "group"

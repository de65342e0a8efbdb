"""What a session key and a chat's id say about the chat of a message. Neither proves who is speaking."""

from dataclasses import dataclass
from typing import Final, Literal

from gateway_memory.config.identity import channel_name
from gateway_memory.edge.session_key import KIND_WITHIN

_DIRECT_IN_KEYS: Final = frozenset({"direct", "dm"})
_ROOMS_IN_KEYS: Final = frozenset({"group", "channel", "room"})
_PEERS: Final = frozenset({"direct", "dm", "peer", "user"})
_OPAQUE: Final = frozenset({"channel", "chat", "conversation", "group", "room", "thread"})
_NAMED_BY_PEER: Final = frozenset("imessage irc line nostr signal sms telegram whatsapp".split())
"""Channels whose direct chats have the id of the peer."""
_NAMED_APART: Final = frozenset(
    "dingtalk discord feishu googlechat lark matrix mattermost msteams qq rocketchat slack teams wecom zulip".split()
)
"""Channels whose direct chats have ids of their own, which do not tell the peer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chat:
    """A chat as a key or an id names it. kind: "" if it can't be told. peers: the forms of a direct chat's peer's id.

    channel: the channel that it names, or "". guessed: nothing says that the id is that of a peer.
    """

    kind: Literal["", "direct", "room"] = ""
    peers: frozenset[str] = frozenset()
    channel: str = ""
    guessed: bool = False


def chat_of_key(key: str) -> Chat:
    """Return the chat that a session key names.

    The function reads OpenClaw's keys (`agent:<id>:[<channel>:[<account>:]]direct:<peer>`, `…:group:<id>`). Any other
    key is the host's own, and names nothing.
    """
    head, *parts = key.split(":")
    if head.lower() != "agent":
        return Chat()
    parts = parts[1:]
    words = [part.lower() for part in parts]
    kinds = _DIRECT_IN_KEYS | _ROOMS_IN_KEYS
    at = next((at for at, word in enumerate(words[:KIND_WITHIN]) if word in kinds and words[at + 1 :]), None)
    if at is None:
        return Chat()
    named = channel_name(parts[0]) if at else ""
    if words[at] in _ROOMS_IN_KEYS:
        return Chat(kind="room", channel=named)
    peer = parts[at + 1 :]
    thread = next((cut for cut, word in enumerate(words[at + 1 :]) if word in ("thread", "topic") and cut), None)
    return Chat(
        kind="direct", peers=frozenset({plain_name(":".join(peer)), plain_name(":".join(peer[:thread]))}), channel=named
    )


def chat_of_id(chat: str, channel: str, *, own_ids: bool) -> Chat:
    """Return the direct chat that an id names: `<peer>`, `<channel>:<peer>` or `user:<peer>`.

    channel: the message's channel. own_ids: whether direct chats there have ids of their own.
    """
    head, _, peer = chat.partition(":")
    named = ""
    if peer and _is_channel(head, channel):
        named, chat = channel_name(head), peer
        head, _, peer = chat.partition(":")
    if peer and head.lower() in _PEERS:
        return Chat(kind="direct", peers=frozenset({plain_name(peer)}), channel=named)
    where = named or channel
    guessed = where not in _NAMED_BY_PEER
    own_ids = guessed and ((own_ids and where == channel) or where in _NAMED_APART)
    if not chat or (":" in chat and head.lower() in _OPAQUE) or own_ids:
        return Chat(channel=named)
    return Chat(kind="direct", peers=frozenset({plain_name(chat)}), channel=named, guessed=guessed)


def _is_channel(word: str, channel: str) -> bool:
    name = channel_name(word)
    return bool(name) and (name == channel or name in _NAMED_BY_PEER or name in _NAMED_APART)


def plain_name(identity: str) -> str:
    """Return an id without case, and a telephone number without the signs around it."""
    plain = channel_name(identity)
    bare = plain.removesuffix("@s.whatsapp.net").removesuffix("@c.us").removeprefix("+")
    return bare if bare.isdecimal() else plain

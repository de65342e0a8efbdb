"""What a session key and a chat's id say about the place of a message: a peer of a direct chat, or a room.

Neither proves who is speaking. They only tell when the sender is somewhere else than in a chat of their own.
"""

from dataclasses import dataclass
from typing import Final, Literal

from gateway_memory.config.identity import channel_name

__all__ = ["Place", "is_same", "place_of_chat", "place_of_key"]

_DIRECT: Final = frozenset({"direct", "dm"})
_ROOMS: Final = frozenset({"group", "channel", "room"})
_PEERS: Final = frozenset({"direct", "dm", "peer", "user"})
_OPAQUE: Final = frozenset({"channel", "chat", "conversation", "group", "room", "thread"})
_NAMED_BY_PEER: Final = frozenset("imessage irc line nostr signal sms telegram whatsapp".split())
"""Channels whose direct chats have the id of the peer."""
_NAMED_APART: Final = frozenset(
    "dingtalk discord feishu googlechat lark matrix mattermost msteams qq rocketchat slack teams wecom zulip".split()
)
"""Channels whose direct chats have ids of their own, which do not tell the peer."""
_KIND_WITHIN: Final = 3
"""A kind follows at most a channel and an account."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """kind: "direct", "room" or "" if it can't be told. peers: the forms of the id of the direct chat's other side.

    channel: the channel that it names, or "". guessed: nothing says that the id is that of a peer.
    """

    kind: Literal["", "direct", "room"] = ""
    peers: frozenset[str] = frozenset()
    channel: str = ""
    guessed: bool = False


def place_of_key(key: str, channel: str, *, own_ids: bool) -> Place:
    """Return what a session key names.

    The function reads OpenClaw's keys (`agent:<id>:[<channel>:[<account>:]]direct:<peer>`, `…:group:<id>`) and keys of
    the form `<channel>:<chat>`. Any other key names nothing.

    channel: the message's channel. own_ids: whether direct chats there have ids of their own.
    """
    parts = key.split(":")
    if parts[0].lower() != "agent":
        return place_of_chat(key, channel, own_ids=own_ids) if _is_channel(parts[0], channel) and parts[1:] else Place()
    place = parts[2:]
    words = [part.lower() for part in place]
    kinds = _DIRECT | _ROOMS
    at = next((at for at, word in enumerate(words[:_KIND_WITHIN]) if word in kinds and words[at + 1 :]), None)
    if at is None:
        return Place()
    named = channel_name(place[0]) if at else ""
    if words[at] in _ROOMS:
        return Place(kind="room", channel=named)
    rest = place[at + 1 :]
    thread = next((cut for cut, word in enumerate(words[at + 1 :]) if word in ("thread", "topic") and cut), None)
    peers = {":".join(rest), ":".join(rest[:thread])}
    return Place(kind="direct", peers=frozenset(map(_plain, peers)), channel=named)


def place_of_chat(chat: str, channel: str, *, own_ids: bool) -> Place:
    """Return what the id of a direct chat names: `<peer>`, `<channel>:<peer>` or `user:<peer>`.

    channel: the message's channel. own_ids: whether direct chats there have ids of their own.
    """
    head, colon, rest = chat.partition(":")
    named = ""
    if colon and rest and _is_channel(head, channel):
        named, chat = channel_name(head), rest
        head, colon, rest = chat.partition(":")
    word = head.lower()
    if colon and rest and word in _PEERS:
        return Place(kind="direct", peers=frozenset({_plain(rest)}), channel=named)
    where = named or channel
    own_ids = where not in _NAMED_BY_PEER and ((own_ids and where == channel) or where in _NAMED_APART)
    if not chat or (colon and word in _OPAQUE) or own_ids:
        return Place(channel=named)
    guessed = where not in _NAMED_BY_PEER
    return Place(kind="direct", peers=frozenset({_plain(chat)}), channel=named, guessed=guessed)


def is_same(place: Place, ids: frozenset[str]) -> bool:
    """Return whether the other side of a direct chat has one of these ids. Keys may be in lower case."""
    return not place.peers.isdisjoint(map(_plain, ids))


def _is_channel(word: str, channel: str) -> bool:
    name = channel_name(word)
    return bool(name) and (name == channel or name in _NAMED_BY_PEER or name in _NAMED_APART)


def _plain(identity: str) -> str:
    """Return an id without case, and a telephone number without the signs around it."""
    plain = channel_name(identity)
    bare = plain.removesuffix("@s.whatsapp.net").removesuffix("@c.us").removeprefix("+")
    return bare if bare.isdecimal() else plain

"""The settings of `memorySync.identity`, which say who a message's sender is, and the checks across them."""

import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from gateway_memory.scope import is_name

CHOSEN_IDS: Final = frozenset(
    "api api_server cli console http rest socket terminal web webchat webhook websocket webui ws".split()
)
"""Channels on which a client chooses the id of its sender, so that the id proves nothing."""
_LIST: Final = 'a list of "channel:sender", "channel/account:sender" or a name that the host verifies'


class MistakeAt(ValueError):  # noqa: N818 - a mistake in the settings, which the check of a file gives its place
    """A mistake in a section of the settings. at: the keys and positions that lead to it from that section."""

    def __init__(self, at: tuple[str | int, ...], message: str) -> None:
        super().__init__(message)
        self.at = at


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Whom an entry of the settings means: a sender, or a person whom the host verifies (channel and sender are "").

    account: None for every account of the channel.
    """

    channel: str = ""
    account: str | None = None
    sender: str = ""
    person: str = ""

    def meets(self, other: "Address") -> bool:
        """Return whether somebody can be meant by both."""
        same = (self.channel, self.sender, self.person) == (other.channel, other.sender, other.person)
        return same and (self.account == other.account or None in (self.account, other.account))


def normalize(text: str) -> str:
    """Return an id or a name in the form in which ids are compared."""
    return unicodedata.normalize("NFC", text)


def channel_name(text: str) -> str:
    """Return the name of a channel in the form in which names of channels are compared, without regard to case."""
    return normalize(normalize(text).casefold())


def address_of(entry: str) -> Address | None:
    """Return whom an entry of the settings means, or None if it has none of the forms."""
    if entry != entry.strip() or not is_name(entry):
        return None
    where, colon, sender = entry.partition(":")
    if not colon:
        return Address(person=normalize(entry))
    channel, slash, account = where.partition("/")
    if not (is_name(channel) and is_name(sender) and (is_name(account) or not slash)):
        return None
    return Address(
        channel=channel_name(channel), account=normalize(account) if slash else None, sender=normalize(sender)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentitySettings:
    """Who is the owner, and who of the people. Nobody is the owner by default."""

    owner: tuple[str, ...] = field(default=(), metadata={"expected": _LIST})
    people: Mapping[str, tuple[str, ...]] = field(
        default_factory=dict, metadata={"expected": 'an object of lists, such as {zoe: ["telegram:1", "discord:2"]}'}
    )
    channels: Mapping[str, Literal["owner", "verified"]] = field(
        default_factory=dict, metadata={"expected": 'an object, each channel with "owner" or "verified"'}
    )
    trust_owner_flag: bool = False

    def __post_init__(self) -> None:
        declared: dict[str, str] = {}
        for name, what in self.channels.items():
            if not is_name(name) or channel_name(name) in declared:
                raise MistakeAt(("channels", name), "expected each channel once, by its name")
            declared[channel_name(name)] = what
        taken: list[tuple[Address, str | None]] = []
        for at, address, whose in self._addresses():
            if mistake := self._mistake(address, whose, declared, taken):
                raise MistakeAt(at, mistake)
            taken.append((address, whose))

    def _addresses(self) -> Iterator[tuple[tuple[str | int, ...], Address, str | None]]:
        """Yield each entry with its place and the person that it means, None for the owner."""
        for name in self.people:  # a host may verify a person under the name that the settings have
            if not is_name(name):
                raise MistakeAt(("people", name), "expected a name")
            yield ("people", name), Address(person=normalize(name)), normalize(name)
        lists = [(("people", name), entries, normalize(name)) for name, entries in self.people.items()]
        for path, entries, whose in [*lists, (("owner",), self.owner, None)]:
            for number, entry in enumerate(entries):
                address = address_of(entry)
                if address is None:
                    raise MistakeAt((*path, number), f"expected {_LIST.removeprefix('a list of ')}")
                yield (*path, number), address, whose

    def _mistake(
        self,
        address: Address,
        whose: str | None,
        declared: Mapping[str, str],
        taken: list[tuple[Address, str | None]],
    ) -> str:
        channel = address.channel
        if channel in CHOSEN_IDS and channel not in declared:
            return (
                f"a client of {channel} chooses its own id; if the host verifies the ids of this channel, declare "
                f'identity.channels: {{{channel}: "verified"}}'
            )
        if whose is not None and declared.get(channel) == "owner":
            return f"contradicts identity.channels: only the owner uses {channel}"
        for other, theirs in taken:
            if theirs != whose and other.meets(address):
                one, two = (f'"{who}"' if who is not None else "the owner" for who in (theirs, whose))
                return f"the same identity is given for {one} and for {two}"
        return ""

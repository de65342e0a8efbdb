"""Who is speaking. Pure: the same facts and settings always give the same answer."""

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Final
from urllib.parse import quote

from gateway_memory.config.identity import CHOSEN_IDS, Address, IdentitySettings, address_of, channel_name, normalize
from gateway_memory.edge.chats import Chat, chat_of_id, chat_of_key, plain_name
from gateway_memory.errors import UsageError
from gateway_memory.scope import OWNER, Owner, Scope, Whose, is_name, resolve_scopes

_FLAG = "is_owner"
_SHOWN = ("sender_name", "chat_title")
"""Facts that decide nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What a host knows of a message's sender. "" or None: it does not know.

    key: the host's session key. It proves nothing about the sender.
    agent: the agent that is spoken to.
    channel: "telegram", "discord" …; compared without regard to case.
    chat_type: "direct", "group", "channel" or "thread".
    chat_id: the id of the chat, group or thread.
    sender_id: the sender's id as the channel has verified it, never a name that the sender chose.
    account_id: the host's own account on the channel that received the message.
    is_owner: whether the host has verified that its owner is speaking.
    person: the name of the person as whom the host has verified the sender.
    message_id: the id of the message on the channel.
    project: the name of the project that the conversation is about. Whoever speaks reads the project's memory then.
    sender_name: what the channel calls the sender. chat_title: what it calls the chat. They prove nothing: the page
    shows them in the place of ids, and the lines of a room begin with the sender's. Of a longer one, the first 80
    characters are kept.
    """

    key: str
    agent: str | None = "main"
    channel: str | None = ""
    chat_type: str | None = ""
    chat_id: str | None = ""
    sender_id: str | None = ""
    account_id: str | None = ""
    is_owner: bool | None = False
    person: str | None = ""
    message_id: str | None = ""
    project: str | None = ""
    sender_name: str | None = ""
    chat_title: str | None = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Speaker:
    """Whose memory a message belongs to: exactly one of `user` (OWNER or a name) and `room` (a name) is given."""

    user: Owner | str | None = None
    room: str | None = None
    project: str | None = None

    @property
    def whose(self) -> Whose:
        """The keyword arguments of `start_session`."""
        return {"user": self.user, "room": self.room, "project": self.project}

    @property
    def scope(self) -> Scope:
        """The scope of the memory."""
        return resolve_scopes(**self.whose)[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """The sender cannot be identified. reason: why, and what would settle it."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedFacts:
    """Checked facts, in the form in which they are compared; "" for what is not known."""

    key: str
    channel: str
    chat_type: str
    chat_id: str
    sender_id: str
    account_id: str
    person: str
    project: str
    is_owner: bool


def checked(facts: Facts) -> CheckedFacts:
    """Return the facts in the form in which they are compared.

    Raises:
        UsageError: a fact has another type, or a text that is no name.
    """
    if not isinstance(facts, Facts):
        raise UsageError(f"facts of type {type(facts).__name__}: expected Facts")
    texts: dict[str, str] = {}
    for each in fields(facts):
        value = getattr(facts, each.name)
        if each.name == _FLAG:
            if not isinstance(value, bool | None):
                raise UsageError(f"{_FLAG} of type {type(value).__name__}: expected true or false")
        elif each.name in _SHOWN:
            if not isinstance(value, str | None):
                raise UsageError(f"{each.name} of type {type(value).__name__}: expected text")
        elif not value and value in ("", None) and each.name != "key":
            texts[each.name] = ""
        elif is_name(value):
            texts[each.name] = normalize(value)
        else:
            raise UsageError(f"{each.name}: expected text with a visible character and without control characters")
    texts |= {"channel": channel_name(texts["channel"]), "chat_type": texts["chat_type"].lower()}
    return CheckedFacts(**{name: texts[name] for name in _COMPARED}, is_owner=facts.is_owner is True)


_COMPARED: Final = tuple(each.name for each in fields(CheckedFacts) if each.name != _FLAG)


_DIRECT_TYPES: Final = frozenset({"direct", "dm", "im", "p2p", "private"})
_ROOM_TYPES: Final = frozenset({"channel", "forum", "group", "room", "supergroup", "thread", "topic"})
_RULES: Final = "agents.defaults.memorySync.identity"


def who(facts: Facts, settings: IdentitySettings) -> Speaker | Refused:
    """Return who is speaking, before links, or why the sender cannot be identified.

    Raises:
        UsageError: a fact has another type, or a text that is no name.
    """
    known = checked(facts)
    declared = {channel_name(name): what for name, what in settings.channels.items()}.get(known.channel, "")
    of_key = chat_of_key(known.key)
    if known.chat_type in _ROOM_TYPES:
        speaker = _room(known, of_key)
    elif known.chat_type in _DIRECT_TYPES or (not known.chat_type and declared == "owner"):
        speaker = _direct(known, settings, declared, of_key)
    else:
        speaker = _of_no_chat(known)
    return replace(speaker, project=known.project or None) if isinstance(speaker, Speaker) else speaker


def sender_in_room(facts: Facts, settings: IdentitySettings) -> str:
    """Return the key of the scope that the sender of a room's message has alone; "" if the sender is not verified.

    Raises:
        UsageError: as `who` does.
    """
    known = checked(facts)
    verified = bool(known.channel and known.sender_id) and not (
        known.channel in CHOSEN_IDS and settings.channels.get(known.channel) != "verified"
    )
    claims = {claim for claim, _ in _claims(known, settings, "", sender=verified)}
    if len(claims) == 1:
        (claim,) = claims
        return Speaker(user=claim if isinstance(claim, Owner) else _quoted(claim)).scope.key
    if not verified:
        return ""
    return Speaker(user=_joined(known.channel, known.account_id, known.sender_id)).scope.key


def _of_no_chat(known: CheckedFacts) -> Refused:
    given = f"chat_type is {known.chat_type!r}" if known.chat_type else "chat_type is not given"
    return Refused(
        reason=f'{given}: the host must say "direct", "group", "channel" or "thread"; if only the owner uses this '
        f"channel, {_line('channels', known.channel, 'owner')} settles it"
    )


def _room(known: CheckedFacts, of_key: Chat) -> Speaker | Refused:
    if of_key.kind == "direct" and known.key.lower().startswith("agent:"):
        return Refused(reason=f"chat_type is {known.chat_type!r}, but the session key names a direct chat")
    if not (known.channel and known.chat_id):
        return Refused(reason=f"chat_type is {known.chat_type!r}: the host must say channel and chat_id too")
    return Speaker(room=_joined(known.channel, known.account_id, known.chat_id))


def _direct(known: CheckedFacts, settings: IdentitySettings, declared: str, of_key: Chat) -> Speaker | Refused:
    chosen = known.channel in CHOSEN_IDS and declared != "verified"
    sender = bool(known.channel and known.sender_id and not chosen)
    claims = list(_claims(known, settings, declared, sender=sender))
    whose = {claim for claim, _ in claims}
    of_chat = chat_of_id(known.chat_id, known.channel, own_ids=bool(declared))
    problem = _elsewhere(known, whose, of_key, "the session key") or _elsewhere(known, whose, of_chat, "chat_id")
    if problem:
        return Refused(reason=problem)
    if len(whose) > 1:
        claimed = " and ".join(dict.fromkeys(f"{why} says {_named(claim)}" for claim, why in claims))
        return Refused(reason=f"the sender is not one person: {claimed}; {_RULES} must say one of them")
    if whose:
        (claim,) = whose
        return Speaker(user=claim if isinstance(claim, Owner) else _quoted(claim))
    if sender:
        return Speaker(user=_joined(known.channel, known.account_id, known.sender_id))
    if chosen and known.sender_id:
        return Refused(
            reason=f"a client of {known.channel} chooses its own id, so the sender is not verified; if only the owner "
            f'uses this channel, {_line("channels", known.channel, "owner")} settles it, and "verified" instead of '
            '"owner" if the host verifies the ids'
        )
    return Refused(
        reason="the sender is not verified: the host must give channel and sender_id, or person; if only the owner "
        f"uses this channel, {_line('channels', known.channel, 'owner')} settles it"
    )


def _claims(
    known: CheckedFacts, settings: IdentitySettings, declared: str, *, sender: bool
) -> Iterator[tuple[Owner | str, str]]:
    """Yield everybody whom a statement makes of the sender, and what states it."""
    if declared == "owner":
        yield OWNER, f"{_RULES}.channels"
    if (sender or known.person) and known.is_owner and settings.trust_owner_flag:
        yield OWNER, "is_owner"
    meant = [Address(channel=known.channel, account=known.account_id, sender=known.sender_id)] if sender else []
    meant += [Address(person=known.person)] if known.person else []
    named = False
    people = [(normalize(name), entries, f"{_RULES}.people") for name, entries in settings.people.items()]
    rules: list[tuple[Owner | str, tuple[str, ...], str]] = [(OWNER, settings.owner, f"{_RULES}.owner"), *people]
    for whose, entries, why in rules:
        for entry in entries:
            address = address_of(entry)
            if address and any(address.meets(each) for each in meant):
                named = named or bool(address.person)
                yield whose, why
    if known.person and not named:
        yield known.person, "person"


def _elsewhere(known: CheckedFacts, whose: set[Owner | str], chat: Chat, what: str) -> str:
    """Return why a chat can't be the sender's own direct one, or "". what: what names the chat."""
    if chat.kind == "room":
        return f"chat_type is {known.chat_type!r}, but {what} names a group"
    other = bool(chat.channel and known.channel and chat.channel != known.channel)
    if not chat.kind:
        return f"{what} names another channel than the message's" if other else ""
    ids = {known.person, "" if other else known.sender_id, *(claim for claim in whose if isinstance(claim, str))} - {""}
    if not chat.peers.isdisjoint(map(plain_name, ids)):  # keys may be in lower case
        return ""
    if not chat.guessed:
        advice = "what an operator says belongs in a chat of the operator's own"
    elif known.channel in CHOSEN_IDS:
        advice = f"if only the owner uses this channel, {_line('channels', known.channel, 'owner')} settles it"
    else:
        line = _line("channels", known.channel, "verified")
        advice = f"if direct chats of this channel have ids of their own, {line} settles it"
    return (
        f"{what} names a direct chat with somebody else than the sender, who may be an operator writing there; {advice}"
    )


def _line(key: str, name: str, value: str) -> str:
    return f'{_RULES}.{key}: {{"{name or "…"}": "{value}"}}'


def _named(claim: Owner | str) -> str:
    return "the owner" if isinstance(claim, Owner) else f'"{claim}"'


def _quoted(text: str) -> str:
    """Return a name in which no character has a meaning of ours. Names of people hold no colon then."""
    return "".join(quote(letter) if letter in "%:" else letter for letter in text)


def _joined(*parts: str) -> str:
    """Return parts as one name. No other parts have the same name."""
    return ":".join(map(_quoted, parts))

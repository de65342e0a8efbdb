"""The rules that tell who is speaking. Pure: the same facts and settings always give the same answer.

Whatever is unclear is refused. Two statements about one sender that differ are unclear, and so is a sender who is in a
direct chat that belongs to somebody else.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final
from urllib.parse import quote

from gateway_memory.config.identity import CHOSEN_IDS, Address, IdentitySettings, address_of, channel_name, normalized
from gateway_memory.identity.facts import Facts, Known, Refused, Speaker, checked
from gateway_memory.identity.places import Place, is_same, place_of_chat, place_of_key
from gateway_memory.scope import OWNER, Owner

__all__ = ["who"]

_DIRECT: Final = frozenset({"direct", "dm", "im", "p2p", "private"})
_ROOMS: Final = frozenset({"channel", "forum", "group", "room", "supergroup", "thread", "topic"})
_RULES: Final = "agents.defaults.memorySync.identity"


def who(facts: Facts, settings: IdentitySettings) -> Speaker | Refused:
    """Return who is speaking, before links, or why nobody can be held for the sender.

    Raises:
        UsageError: a fact has another type, or a text that is no name.
    """
    known = checked(facts)
    declared = {channel_name(name): what for name, what in settings.channels.items()}.get(known.channel, "")
    of_key = place_of_key(known.key, known.channel, own_ids=bool(declared))
    found: Speaker | Refused | None = None
    if known.chat_type in _ROOMS:
        found = _room(known, of_key)
    elif known.chat_type in _DIRECT or (not known.chat_type and declared == "owner"):
        found = _direct(known, settings, declared, of_key)
    if isinstance(found, Speaker):
        return replace(found, project=known.project or None)
    if found:
        return found
    given = f"chat_type is {known.chat_type!r}" if known.chat_type else "chat_type is not given"
    return Refused(
        reason=f'{given}: the host must say "direct", "group", "channel" or "thread"; if only the owner uses this '
        f"channel, {_line('channels', known.channel, 'owner')} settles it"
    )


def _room(known: Known, of_key: Place) -> Speaker | Refused:
    if of_key.kind == "direct" and known.key.lower().startswith("agent:"):
        return Refused(reason=f"chat_type is {known.chat_type!r}, but the session key names a direct chat")
    if not (known.channel and known.chat_id):
        return Refused(reason=f"chat_type is {known.chat_type!r}: the host must say channel and chat_id too")
    return Speaker(room=_joined(known.channel, known.account_id, known.chat_id))


def _direct(known: Known, settings: IdentitySettings, declared: str, of_key: Place) -> Speaker | Refused:
    chosen = known.channel in CHOSEN_IDS and declared != "verified"
    sender = bool(known.channel and known.sender_id and not chosen)
    claims = list(_claims(known, settings, declared, sender=sender))
    whose = {claim for claim, _ in claims}
    of_chat = place_of_chat(known.chat_id, known.channel, own_ids=bool(declared))
    problem = _elsewhere(known, whose, of_key, "the session key") or _elsewhere(known, whose, of_chat, "chat_id")
    if problem:
        return Refused(reason=problem)
    if len(whose) > 1:
        said = " and ".join(dict.fromkeys(f"{why} says {_named(claim)}" for claim, why in claims))
        return Refused(reason=f"the sender is not one person: {said}; {_RULES} must say one of them")
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
    known: Known, settings: IdentitySettings, declared: str, *, sender: bool
) -> Iterator[tuple[Owner | str, str]]:
    """Yield everybody whom a statement makes of the sender, and what states it."""
    if declared == "owner":
        yield OWNER, f"{_RULES}.channels"
    if (sender or known.person) and known.is_owner and settings.trust_owner_flag:
        yield OWNER, "is_owner"
    meant = [Address(channel=known.channel, account=known.account_id, sender=known.sender_id)] if sender else []
    meant += [Address(person=known.person)] if known.person else []
    named = False
    people = [(normalized(name), entries, f"{_RULES}.people") for name, entries in settings.people.items()]
    rules: list[tuple[Owner | str, tuple[str, ...], str]] = [(OWNER, settings.owner, f"{_RULES}.owner"), *people]
    for whose, entries, why in rules:
        for entry in entries:
            address = address_of(entry)
            if address and any(address.meets(each) for each in meant):
                named = named or bool(address.person)
                yield whose, why
    if known.person and not named:
        yield known.person, "person"


def _elsewhere(known: Known, whose: set[Owner | str], place: Place, what: str) -> str:
    """Return why a direct chat can't be the sender's own, or ""."""
    if place.kind == "room":
        return f"chat_type is {known.chat_type!r}, but {what} names a group"
    other = bool(place.channel and known.channel and place.channel != known.channel)
    names = {claim for claim in whose if isinstance(claim, str)}
    ids = frozenset({known.person, *names, "" if other else known.sender_id} - {""})
    if place.kind == "direct" and not is_same(place, ids):
        if not place.guessed:
            settled = "what an operator says belongs in a chat of the operator's own"
        elif known.channel in CHOSEN_IDS:
            settled = f"if only the owner uses this channel, {_line('channels', known.channel, 'owner')} settles it"
        else:
            line = _line("channels", known.channel, "verified")
            settled = f"if direct chats of this channel have ids of their own, {line} settles it"
        return (
            f"{what} names a direct chat with somebody else than the sender, who may be an operator writing there; "
            + settled
        )
    return f"{what} names another channel than the message's" if other and not place.kind else ""


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

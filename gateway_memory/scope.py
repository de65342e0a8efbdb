"""Scopes: the memories of the owner, of a person, or of a group."""

import hashlib
import re
import unicodedata
from dataclasses import dataclass
from typing import Final, TypeGuard

from gateway_memory.errors import UsageError

__all__ = [
    "LONGEST_NAME",
    "OWNER",
    "OWNER_KEY",
    "OWNER_SCOPE",
    "Owner",
    "Scope",
    "is_name",
    "resolve_scope",
    "scope_named",
    "shortened",
]


class Owner:
    """The type of `OWNER`."""

    def __repr__(self) -> str:
        return "OWNER"


OWNER_KEY: Final = "owner"
"""The key of the owner's scope."""


OWNER: Final = Owner()
"""The owner of the workspace: `start_session(key, user=OWNER)`."""


@dataclass(frozen=True, slots=True)
class Scope:
    """One owner, person or group: `key` ("owner", "user:zoe", "room:discord-5") and `folder` in the workspace."""

    key: str
    folder: str


OWNER_SCOPE: Final = Scope(OWNER_KEY, "")


LONGEST_NAME: Final = 800
"""Bytes in UTF-8 of a name, a session key or an id of a host: an entry of an index of PostgreSQL holds three."""
_SHOWN: Final = 60


def shortened(value: object) -> str:
    """Return a value as a message may show it."""
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({len(text)} characters)"


def is_name(value: object) -> TypeGuard[str]:
    """Return whether a value can name a person, a room or a session. Hosts without type checks pass any value.

    A name is a string of valid Unicode of up to `LONGEST_NAME` bytes, with at least one visible character and no
    control character. Names that can't be encoded in UTF-8 would collide in storage.
    """
    if not isinstance(value, str) or len(value) > LONGEST_NAME or len(value.encode("utf-8", "replace")) > LONGEST_NAME:
        return False
    categories = {unicodedata.category(character) for character in value}
    # Cc: control characters; Cs: lone surrogates; C, Z and M: nothing visible by itself.
    shown = {
        unicodedata.category(character) for character in value if character not in "\u115f\u1160\u2800\u3164\uffa0"
    }
    return not categories & {"Cc", "Cs"} and any(category[0] not in "CZM" for category in shown)


def resolve_scope(*, user: Owner | str | None, room: str | None) -> Scope:
    """Return the scope that a session reads and writes.

    Raises:
        UsageError: not exactly one of `user` and `room` is given, or the name is invalid (see `is_name`).
    """
    if (user is None) == (room is None):
        raise UsageError('start_session needs exactly one of user=OWNER, user="name" and room="name"')
    if isinstance(user, Owner):
        return OWNER_SCOPE
    kind, parent, name = ("user", "people", user) if user is not None else ("room", "rooms", room)
    if not is_name(name):
        raise UsageError(
            f"{kind}={shortened(name)}: expected a name in valid Unicode of 1 to {LONGEST_NAME} bytes in UTF-8 "
            "that holds no control character (or OWNER, for the owner of the workspace)"
        )
    name = unicodedata.normalize("NFC", name)
    slug = re.sub(r"[^\w-]+", "-", name, flags=re.UNICODE).strip("-_")[:40] or "unnamed"
    digest = hashlib.blake2b(name.encode(), digest_size=5).hexdigest()
    return Scope(f"{kind}:{name}", f"{parent}/{slug}-{digest}")


def scope_named(key: str) -> Scope:
    """Return the scope of a scope's key.

    Raises:
        UsageError: it is no key of a scope.
    """
    kind, _, name = key.partition(":")
    return resolve_scope(
        user=OWNER if kind == "owner" else name if kind == "user" else None,
        room=name if kind == "room" else None,
    )

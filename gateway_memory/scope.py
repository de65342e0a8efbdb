"""Scopes: the memories of the owner, of a person, or of a group."""

import hashlib
import re
import unicodedata
from dataclasses import dataclass
from typing import Final, TypedDict, TypeGuard, cast

from gateway_memory.errors import UsageError

__all__ = [
    "FOLDERS",
    "KINDS",
    "LONGEST_NAME",
    "OWNER",
    "OWNER_KEY",
    "OWNER_SCOPE",
    "Kind",
    "Owner",
    "Scope",
    "Whose",
    "is_name",
    "resolve_scope",
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of scope, with all that depends on it.

    name: what its keys begin with. folder: the folder of the workspace in which its scopes have theirs.
    is_shared: whether several people read what is in a scope, so that nothing says which of them speaks.
    may_link: whether its scopes can be linked: one person over channels.
    speaker: who speaks, as a model is told; with the scope's name in the place of {}.
    """

    name: str
    folder: str
    is_shared: bool
    may_link: bool
    speaker: str


_OWNER: Final = Kind(name=OWNER_KEY, folder="", is_shared=False, may_link=False, speaker="the owner of the assistant")
KINDS: Final = {
    kind.name: kind
    for kind in (
        _OWNER,
        Kind(
            name="user",
            folder="people",
            is_shared=False,
            may_link=True,
            speaker='a guest called "{}", not the owner of the assistant',
        ),
        Kind(
            name="room",
            folder="rooms",
            is_shared=True,
            may_link=False,
            speaker="one of several people in a group",
        ),
    )
}
"""All kinds of scopes, by name. Nothing else knows which there are."""
_BY_FOLDER: Final = {kind.folder: kind for kind in KINDS.values() if kind.folder}
FOLDERS: Final = tuple(_BY_FOLDER)
"""The folders of the workspace in which scopes have theirs."""


@dataclass(frozen=True, slots=True)
class Scope:
    """One owner, person or group: `key` ("owner", "user:zoe", "room:discord-5") and `folder` in the workspace."""

    key: str
    folder: str

    @classmethod
    def of(cls, kind: Kind, name: str) -> "Scope":
        """Return the scope of a name. Raises UsageError: it is no name (see `is_name`)."""
        if not is_name(name):
            raise UsageError(
                f"{kind.name}={shortened(name)}: expected a name in valid Unicode of 1 to {LONGEST_NAME} bytes in "
                "UTF-8 that holds no control character (or OWNER, for the owner of the workspace)"
            )
        name = unicodedata.normalize("NFC", name)
        slug = re.sub(r"[^\w-]+", "-", name, flags=re.UNICODE).strip("-_")[:40] or "unnamed"
        digest = hashlib.blake2b(name.encode(), digest_size=5).hexdigest()
        return cls(f"{kind.name}:{name}", f"{kind.folder}/{slug}-{digest}")

    @classmethod
    def parse(cls, key: str) -> "Scope":
        """Return the scope of a key. Raises UsageError: it is none."""
        if key == OWNER_KEY:
            return OWNER_SCOPE
        kind, colon, name = key.partition(":")
        if not colon or kind == OWNER_KEY or kind not in KINDS or not is_name(name):
            *first, last = (OWNER_KEY, *(f"{each.name}:NAME" for each in _BY_FOLDER.values()))
            raise UsageError(f"{shortened(key)} is no scope: expected {', '.join(first)} or {last}")
        return cls.of(KINDS[kind], name)

    @classmethod
    def of_folder(cls, folder: str) -> "Scope | None":
        """Return the scope that has a folder; None if the folder doesn't tell, since characters were replaced in it."""
        if folder == "":
            return OWNER_SCOPE
        parent, _, rest = folder.partition("/")
        kind, name = _BY_FOLDER.get(parent), rest.rpartition("-")[0]
        if kind is None or not is_name(name):
            return None
        found = cls.of(kind, name)
        return found if found.folder == folder else None

    @property
    def kind(self) -> Kind:
        """Its kind."""
        return KINDS[self.key.partition(":")[0]]

    @property
    def name(self) -> str:
        """The name of the person or the group; "" for the owner."""
        return self.key.partition(":")[2]

    @property
    def whose(self) -> "Whose":
        """The keyword argument by which `start_session` and other calls select it."""
        return {"user": OWNER} if self.key == OWNER_KEY else cast("Whose", {self.kind.name: self.name})


class Whose(TypedDict, total=False):
    """See `Scope.whose`: exactly one of them is given."""

    user: Owner | str
    room: str


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
    return Scope.of(KINDS["user"], user) if user is not None else Scope.of(KINDS["room"], room or "")

"""Scopes: the memories of the owner, of a person, of a group or of a project."""

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypedDict, TypeGuard, Unpack, cast

from gateway_memory.errors import UsageError


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

    name: what its keys begin with, the keyword argument of `start_session`, and the option of the shell.
    folder: the folder of the workspace in which its scopes have theirs.
    is_shared: whether several people read what is in a scope, so that nothing says which of them speaks.
    may_be_joined: whether a session of another scope can name one, and then reads it beside its own.
    may_link: whether its scopes can be linked: one person over channels.
    session_type: the type of its sessions, for `excludeSessionTypes`; "" where the session key tells.
    speaker: who speaks, as a model is told; with the scope's name in the place of {}.
    members: who shares a scope that may be joined, as a model is told.
    title, possessive: what people call it, and "a person's" for the help of the shell; in English and in Chinese.
    """

    name: str
    folder: str
    is_shared: bool = False
    may_be_joined: bool = False
    may_link: bool = False
    session_type: str = ""
    speaker: str
    members: str = "its members"
    title: tuple[str, str]
    possessive: tuple[str, str]

    @property
    def form(self) -> str:
        """The form of its keys."""
        return f"{self.name}:NAME" if self.folder else self.name

    @property
    def argument(self) -> str:
        """The form of the keyword argument that names one."""
        return f'{self.name}="name"' if self.folder else "user=OWNER"


KINDS: Final = {
    kind.name: kind
    for kind in (
        Kind(
            name=OWNER_KEY,
            folder="",
            speaker="the owner of the assistant",
            title=("who runs this assistant", "助手的主人"),
            possessive=("the owner's", "主人的"),
        ),
        Kind(
            name="user",
            folder="people",
            may_link=True,
            speaker='a guest called "{}", not the owner of the assistant',
            title=("Person", "个人"),
            possessive=("a person's", "某个人的"),
        ),
        Kind(
            name="room",
            folder="rooms",
            is_shared=True,
            session_type="group",
            speaker="one of several people in a group",
            title=("Room", "群"),
            possessive=("a group's", "某个群的"),
        ),
        Kind(
            name="project",
            folder="projects",
            is_shared=True,
            may_be_joined=True,
            speaker="one of several people who work on a project",
            members="those who work on the project",
            title=("Project", "项目"),
            possessive=("a project's", "某个项目的"),
        ),
    )
}
"""All kinds of scopes, by name. Other code decides by the traits of a kind, and not by its name.

Only the owner is special.
"""


def forms() -> str:
    """Return the forms of a scope's key, as the help of the shell and messages show them."""
    *first, last = (kind.form for kind in KINDS.values())
    return f"{', '.join(first)} or {last}"


def folders() -> list[str]:
    """Return the folders of the workspace in which scopes have theirs."""
    return [kind.folder for kind in KINDS.values() if kind.folder]


def folders_in(workspace: Path) -> list[str]:
    """Return the folders of all scopes of a workspace that has files, the owner's ("") first."""
    return ["", *(f"{parent}/{path.name}" for parent in folders() for path in sorted((workspace / parent).glob("*/")))]


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose memory: the owner's, a person's, a group's or a project's. key: such as "user:zoe".

    folder: in the workspace.
    """

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
            raise UsageError(f"{shortened(key)} is no scope: expected {forms()}")
        return cls.of(KINDS[kind], name)

    @classmethod
    def parse_all(cls, keys: str) -> "tuple[Scope, ...]":
        """Return the scopes of keys with line breaks between, as a session's row has those that it has joined."""
        return tuple(map(cls.parse, keys.splitlines()))

    @classmethod
    def of_folder(cls, folder: str) -> "Scope | None":
        """Return the scope that has a folder; None if the folder doesn't tell, since characters were replaced in it."""
        if folder == "":
            return OWNER_SCOPE
        parent, _, own = folder.partition("/")
        kind = next((kind for kind in KINDS.values() if kind.folder and kind.folder == parent), None)
        name = own.rpartition("-")[0]
        if kind is None or not is_name(name):
            return None
        scope = cls.of(kind, name)
        return scope if scope.folder == folder else None

    @property
    def kind(self) -> Kind:
        """Its kind."""
        return KINDS[self.key.partition(":")[0]]

    @property
    def name(self) -> str:
        """The name of the person, the group or the project; "" for the owner."""
        return self.key.partition(":")[2]

    @property
    def whose(self) -> "Whose":
        """The keyword argument by which `start_session` and other calls select it."""
        return {"user": OWNER} if self.key == OWNER_KEY else cast("Whose", {self.kind.name: self.name})


class Whose(TypedDict, total=False):
    """Whose memory is meant: the keyword arguments of `start_session` and other calls, one for each kind of scope.

    user: `OWNER`, or the name of a person. room: the name of a group. project: the name of a project, which can stand
    beside one of them. One that is None is not given.
    """

    user: Owner | str | None
    room: str | None
    project: str | None


OWNER_SCOPE: Final = Scope(OWNER_KEY, "")


LONGEST_NAME: Final = 800
"""Bytes in UTF-8 of a name, a session key or an id of a host: an entry of an index of PostgreSQL holds three."""
_LONGEST_IN_MESSAGE: Final = 60


def shortened(value: object) -> str:
    """Return a value as a message may show it."""
    text = repr(value)
    return text if len(text) <= _LONGEST_IN_MESSAGE else f"{text[:_LONGEST_IN_MESSAGE]}… ({len(text)} characters)"


def is_name(value: object) -> TypeGuard[str]:
    """Return whether a value can name a person, a room or a session. Hosts without type checks pass any value.

    A name is a string of valid Unicode of up to `LONGEST_NAME` bytes, with at least one visible character and no
    control character. Names that can't be encoded in UTF-8 would collide in storage.
    """
    if not isinstance(value, str) or len(value) > LONGEST_NAME or len(value.encode("utf-8", "replace")) > LONGEST_NAME:
        return False
    categories = {unicodedata.category(character) for character in value}
    # Cc: control characters; Cs: lone surrogates; C, Z and M: nothing visible by itself.
    visible = {unicodedata.category(letter) for letter in value if letter not in "\u115f\u1160\u2800\u3164\uffa0"}
    return not categories & {"Cc", "Cs"} and any(category[0] not in "CZM" for category in visible)


def named_in(whose: Whose) -> bool:
    """Return whether keyword arguments name any scope."""
    return any(value is not None for value in whose.values())


def owner_unless_named(whose: Whose) -> Whose:
    """Return keyword arguments as they are, or those of the owner where none is given."""
    return whose if named_in(whose) else {"user": OWNER}


def resolve_scope(**whose: Unpack[Whose]) -> Scope:
    """Return the one scope that is named.

    Raises:
        UsageError: not exactly one is named, or the name is invalid (see `is_name`).
    """
    scopes = _named(whose)
    if len(scopes) != 1:
        raise UsageError(f"whose memory? expected exactly one of {_either(KINDS.values())}")
    return scopes[0]


def resolve_scopes(**whose: Unpack[Whose]) -> tuple[Scope, ...]:
    """Return the scopes that a session reads: its own, to which it writes, and then those beside it.

    Raises:
        UsageError: none is named, or two of which neither can be beside the other, or a name is invalid.
    """
    scopes = _named(whose)
    own = [scope for scope in scopes if not scope.kind.may_be_joined] or scopes
    if len(own) != 1:
        kinds = _either(kind for kind in KINDS.values() if not kind.may_be_joined)
        raise UsageError(f"start_session needs exactly one of {kinds}")
    return *own, *(scope for scope in scopes if scope is not own[0])


def _named(whose: Whose) -> list[Scope]:
    given = {name: value for name, value in whose.items() if value is not None}
    unknown = [name for name in given if name not in KINDS or not KINDS[name].folder]
    if unknown:
        raise TypeError(f"{shortened(unknown[0])} is no keyword argument: expected {_either(KINDS.values())}")
    return [
        OWNER_SCOPE if isinstance(value, Owner) and name == "user" else Scope.of(KINDS[name], cast("str", value))
        for name, value in sorted(given.items(), key=lambda item: [*KINDS].index(item[0]))
    ]


def _either(kinds: Iterable[Kind]) -> str:
    *first, last = (kind.argument for kind in kinds)
    return f"{', '.join(first)} or {last}"


def scopes_of(folders: Sequence[str], keys: Sequence[str]) -> tuple[list[Scope], list[str]]:
    """Return the scopes of a workspace, and the folders whose scopes are unknown.

    folders: those of scopes that have one.
    keys: the known scopes. A folder's name gives its scope only if no character was replaced in it.
    """
    scopes = [OWNER_SCOPE]
    known: dict[str, Scope] = {}
    for key in keys:
        with suppress(UsageError):
            scope = Scope.parse(key)
            if scope != OWNER_SCOPE:
                known[scope.folder] = scope
    lost: list[str] = []
    for folder in folders:
        if folder not in known and (guess := Scope.of_folder(folder)):
            known[folder] = guess
        if folder in known:
            scopes.append(known[folder])
        else:
            lost.append(folder)
    # What was said is kept even where nothing was learnt from it, so that there is no folder.
    scopes += [scope for folder, scope in known.items() if folder not in folders]
    return scopes, lost

"""Who says something in a room. The key of their own scope decides; a name is what others read, and may change."""

import re
from typing import Final, NamedTuple

from extractor import has_han, without_orders
from gateway_memory.ground.databases import Database
from gateway_memory.scope import OWNER_KEY
from gateway_memory.store.journal.episodes import touch_turns
from gateway_memory.store.journal.names import note_name, shown_name
from gateway_memory.store.plan import Renamed

UNVERIFIED: Final = "?"
"""How the key of a sender begins whom the host has not verified."""
_LONGEST: Final = 40
_MARKS: Final = re.compile(r"[:：\[\]<>|]+")
_CALLED: Final = re.compile(r"\A\s*(?:@[\w.·-]{1,40}[\s,，:：]+)+(?=\S)|(?<=\S)(?:\s+@[\w.·-]{1,40})+\s*\Z")
_NAMED: Final = re.compile(r"[^:：\n]{1,40}(?:: |：)")
_ENDS: Final = (": ", "：")
"""How the name before a line ends, see `prefix_of`."""


class Sender(NamedTuple):
    """Who speaks in a room. key: of the scope that is theirs alone, "" where no sender is named; name: to be read."""

    key: str = ""
    name: str = ""

    @property
    def is_named(self) -> bool:
        """Whether they have an id that stays, and a name beside it."""
        return bool(self.name) and not self.key.startswith(UNVERIFIED) and self.name != sender_of(self.key, "").name

    @property
    def is_host(self) -> bool:
        """Whether they may change what others have said: the owner, and whoever calls without naming a sender."""
        return self.key in ("", OWNER_KEY)

    def may_change(self, speaker: str) -> bool:
        """Return whether they may forget or change a line. speaker: the key of who said it, "" if it is unknown."""
        return self.is_host or speaker in ("", self.key)


NOBODY: Final = Sender()
"""No sender is named: a private conversation, a shell, or a host that leaves it out."""


def sender_of(key: str, name: str | None) -> Sender:
    """Return who speaks. A name that says nothing, or that orders something, gives way to the id's last part."""
    shown = _MARKS.sub(" ", shown_name(name))
    shown = " ".join(shown.split())[:_LONGEST].strip()
    if not shown or without_orders(shown) != shown:
        shown = _MARKS.sub(" ", key.rpartition(":")[2].removeprefix(UNVERIFIED))[:_LONGEST].strip()
    return Sender(key, shown)


def own_text(text: str, name: str) -> str:
    """Return what somebody says in a room, without the name that a host has put before it: "[Wang] …", "Wang (5): …".

    Nor with whom it calls at its beginning or its end: "@bot …".
    """
    text = _CALLED.sub("", text)
    if not name or name not in text[: 3 * _LONGEST]:
        return text
    called = re.escape(name)
    return re.sub(rf"\A\s*(?:\[{called}\]:?|{called}(?: \([^()\n]{{1,80}}\))?[:：])\s+(?=\S)", "", text, count=1)


def prefix_of(name: str, text: str) -> str:
    """Return how a line begins that names who said it: "Wang: I'm off next week", "外婆：我高血压"; "" for nobody."""
    return name and f"{name}{'：' if has_han(text) else ': '}"


def unnamed(text: str, speaker: str) -> str:
    """Return what a line says without who says it. speaker: the key of whoever said it, "" for nobody."""
    return _NAMED.sub("", text, count=1) if speaker and _NAMED.match(text) else text


def name_in(text: str, speaker: str) -> str:
    """Return the name before a line; "" for none. speaker: as `unnamed` takes it."""
    return text.removesuffix(unnamed(text, speaker)).rstrip(":： ")


def told_as(text: str, speaker: str, name: str) -> str:
    """Return a line under the name that whoever said it has now. name: "" if it is not known."""
    said = unnamed(text, speaker)
    return prefix_of(name, said) + said if name and said != text else text


def rename(database: Database, scope: str, renamed: Renamed) -> None:
    """Tell what somebody has said in a room, and what of it waits to be read, under their new name.

    Within a transaction. The lines of their memories are for the plan.
    """
    note_name(database, scope, renamed.speaker, renamed.name)
    for end in _ENDS:
        was, now = renamed.was + end, renamed.name + end
        values = (now, len(was) + 1, scope, renamed.speaker, len(was), was)
        waiting = "UPDATE turns SET speaker_prefix = ? || substr(speaker_prefix, ?) WHERE scope = ? AND speaker = ?"
        database.execute(f"{waiting} AND substr(speaker_prefix, 1, ?) = ?", values)
        said = 'UPDATE episodes SET "user" = ? || substr("user", ?) WHERE scope = ? AND speaker = ?'
        turns = database.execute(f'{said} AND substr("user", 1, ?) = ? RETURNING turn', values).fetchall()
        touch_turns(database, scope, [int(turn) for (turn,) in turns])

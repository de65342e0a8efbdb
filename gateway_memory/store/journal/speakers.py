"""Who says something in a room. The key of their own scope decides; a name is what others read, and may change."""

import re
from typing import Final, NamedTuple

from extractor import has_han, without_orders
from gateway_memory.scope import OWNER_KEY
from gateway_memory.store.journal.names import shown_name

UNVERIFIED: Final = "?"
"""How the key of a sender begins whom the host has not verified."""
_LONGEST: Final = 40
_MARKS: Final = re.compile(r"[:：\[\]<>|]+")
_CALLED: Final = re.compile(r"\A\s*(?:@[\w.·-]{1,40}[\s,，:：]+)+(?=\S)|(?<=\S)(?:\s+@[\w.·-]{1,40})+\s*\Z")
_NAMED: Final = re.compile(r"[^:：\n]{1,40}(?:: |：)")


class Sender(NamedTuple):
    """Who speaks in a room. key: of the scope that is theirs alone, "" where no sender is named; name: to be read."""

    key: str = ""
    name: str = ""

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

"""What the model of a session has before it: the opening, the injected memories, and the session's own turns."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from gateway_memory.store.told import Told

if TYPE_CHECKING:
    from gateway_memory.store.withheld import Withheld


class InContext:
    """What the model of a session has before it: the opening, the injected memories, and the session's own turns.

    ephemeral: after each reply, the host drops the injected blocks, and keeps the turns.

    Once the text of a memory has changed, it counts as not in context, and is injected again.
    """

    def __init__(self) -> None:
        self.ephemeral = False
        self._opening = ""
        self._withheld: dict[str, Withheld] = {}
        """The text that was forgotten since the opening was built, by scope."""
        self.is_placed = False
        """Whether the opening is the one that was placed in the conversation, and stays."""
        self.partial = False
        """Whether a part of the opening was late or failed. The opening says so in its last line."""
        self._in_opening: frozenset[_Item] = frozenset()
        self._opening_told, self._told = Told(), Told()
        """What the lines of the opening say, and those that were injected since the last compaction."""
        self._has_opening = False
        """Whether the context has the opening, also where it is not asked for with each reply."""
        self.opens_reply = False
        """Whether the prompt of this reply has the opening: the host has asked for it since the last reply."""
        self._items: set[_Item] = set()
        self._ever: set[_Item] = set()
        self.removed: set[str] = set()
        """The ids of memories of whose removal the model was informed."""
        self._compacted_upto = 0

    @property
    def opening(self) -> str:
        """The text for the system prompt, without what was forgotten since it was built."""
        text = self._opening
        for withheld in self._withheld.values():
            text = withheld.cut(text)
        return text

    def open_with(self, text: str, memories: Iterable[tuple[str, str]], *, partial: bool = False) -> None:
        """Replace the opening. memories: those in it (id, text)."""
        self._opening, self._withheld, self.partial = text, {}, partial
        self._in_opening = frozenset(_items(memories))
        self._opening_told, self._has_opening = Told(text.split("\n")), not self.ephemeral
        self._inject(self._in_opening)

    @property
    def told(self) -> "tuple[Told, ...]":
        """What the lines say that are in the context."""
        return (self._told, self._opening_told) if self._has_opening or self.opens_reply else (self._told,)

    def reopen(self, text: str, blocks: Iterable[str]) -> None:
        """Record what was placed in the conversation before: an opening, and blocks. Only their text is known."""
        self._clear()
        self.open_with(text, [])
        for block in blocks:
            self.tell(block)

    def tell(self, block: str) -> None:
        """Record the text of a block that was injected. It stays in the context unless that is ephemeral."""
        if not self.ephemeral:
            self._told.add(block.split("\n"))

    def withhold(self, scope: str, withheld: "Withheld") -> None:
        """Remove text that was forgotten in a scope from the opening."""
        self._withheld[scope] = withheld

    def set_ephemeral(self, *, ephemeral: bool) -> None:
        """Set whether the host drops what was injected after each reply."""
        if ephemeral and not self.ephemeral:
            self._clear()
        self.ephemeral = ephemeral

    def add(self, memories: Iterable[tuple[str, str]]) -> None:
        """Record memories (id, text) that the conversation itself contains."""
        items = _items(memories)
        self._ever |= items
        self._items |= items

    def inject(self, memories: Iterable[tuple[str, str]]) -> None:
        """Record memories (id, text) that were injected. They stay in the context unless it is ephemeral."""
        self._inject(_items(memories))

    def _inject(self, items: Iterable["_Item"]) -> None:
        self._ever.update(items)
        if not self.ephemeral:
            self._items.update(items)

    def remove(self, identity: str) -> None:
        """Record that the model was informed of a memory's removal. If it is restored, it is news again."""
        self._ever = {item for item in self._ever if item.identity != identity}
        self._items = {item for item in self._items if item.identity != identity}
        self.removed.add(identity)

    def has(self, identity: str, text: str) -> bool:
        """Return whether the context contains a memory."""
        item = _Item(identity, _digest(text))
        return item in self._items or (self.opens_reply and item in self._in_opening)

    def has_outside_opening(self, identity: str, text: str) -> bool:
        """Return whether the context has a memory outside its opening, so that a new opening can leave it out."""
        item = _Item(identity, _digest(text))
        return not self.ephemeral and item in self._items and item not in self._in_opening

    def had(self, identity: str, text: str) -> bool:
        """Return whether the context has ever contained a memory, even before a compaction."""
        return _Item(identity, _digest(text)) in self._ever

    def knew(self, identity: str) -> bool:
        """Return whether the context has ever contained a memory, whatever its text was."""
        return any(item.identity == identity for item in self._ever)

    def has_turn(self, turn: int) -> bool:
        """Return whether the context contains one of the session's own turns."""
        return turn > self._compacted_upto

    def compact(self, last_turn: int) -> None:
        """Record that the host has compacted the context up to a turn. Its memories may be injected again.

        `had` stays true, so that they are not announced as new. A memory that was removed stays so, because the host's
        summary may contain it.
        """
        self._clear()
        self._compacted_upto = last_turn

    def _clear(self) -> None:
        self._items.clear()
        self._told, self._has_opening = Told(), False


class _Item(NamedTuple):
    identity: str
    digest: int


def _items(memories: Iterable[tuple[str, str]]) -> set[_Item]:
    return {_Item(identity, _digest(text)) for identity, text in memories}


def _digest(text: str) -> int:
    return hash(" ".join(text.split()))  # an event has the text in one line, a file possibly in several

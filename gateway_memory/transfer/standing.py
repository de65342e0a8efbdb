"""What exists in a scope while an import adds to it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from extractor import same_text
from gateway_memory.store.markdown import content_id, one_line
from gateway_memory.store.plan import Retired
from gateway_memory.transfer.items import MemoryItem

__all__ = ["Standing", "past_of"]


class Standing:
    """The ids and texts that exist or were just imported. Two lines of one export may have equal texts.

    Texts are the same as merging has it: case, punctuation and width make no difference.
    """

    def __init__(self) -> None:
        self._ids: set[str] = set()
        self._texts: set[str] = set()
        self._texts_before: frozenset[str] | None = None

    @property
    def is_empty(self) -> bool:
        """Whether the lines that stand are still to be added."""
        return self._texts_before is None

    def add(self, identity: str, text: str) -> None:
        """Add a line."""
        self._ids.add(identity)
        self._texts.add(same_text(text))

    def before(self) -> None:
        """Mark the lines that were added so far as older than the import."""
        self._texts_before = frozenset(self._texts)

    def takes(self, identity: str, text: str, *, own_id: bool) -> bool:
        """Return whether a line is new, and add it."""
        if identity in self._ids or same_text(text) in (self._texts_before or () if own_id else self._texts):
            return False
        self.add(identity, text)
        return True


def past_of(
    items: Sequence[MemoryItem], ids: Sequence[str], known: Mapping[str, str], file_of: Callable[[float], str]
) -> tuple[Retired, ...]:
    """Return what no longer held at the source, for the history. known: what is known here stays as it is.

    file_of: the day's log of a time, in epoch seconds.
    """
    past = {identity: item for item, identity in zip(items, ids, strict=True) if item.superseded}
    return tuple(
        Retired(
            memory=replace(item.record, id=identity, text=text, file=file_of(item.record.at)),
            state="superseded",
            replaced_by=content_id(one_line(item.by)) if item.by else "",
        )
        for identity, item in past.items()
        if identity not in known and (text := one_line(item.record.text))
    )

"""What exists in a scope while an import adds to it."""

from collections.abc import Mapping

from extractor import same_text

__all__ = ["Standing"]


class Standing:
    """The ids and texts that exist or were just imported, and the texts that were forgotten here, each with its time.

    Two lines of one export may have equal texts. Texts are the same as merging has it: case, punctuation and width make
    no difference.
    """

    def __init__(self) -> None:
        self._ids: set[str] = set()
        self._texts: set[str] = set()
        self._texts_before: frozenset[str] | None = None
        self._forgotten: dict[str, float] = {}

    @property
    def is_empty(self) -> bool:
        """Whether the lines that stand are still to be added."""
        return self._texts_before is None

    def add(self, identity: str, text: str) -> None:
        """Add a line."""
        self._ids.add(identity)
        self._texts.add(same_text(text))

    def before(self, forgotten: Mapping[str, float]) -> None:
        """Mark the lines that were added so far as older than the import. forgotten: texts, each with its time."""
        self._texts_before = frozenset(self._texts)
        for text, at in forgotten.items():
            same = same_text(text)
            self._forgotten[same] = max(at, self._forgotten.get(same, 0.0))

    def is_forgotten(self, text: str, at: float) -> bool:
        """Return whether a text that was said at a time (epoch seconds, 0: unknown) was forgotten since."""
        return at <= self._forgotten.get(same_text(text), -1.0)

    def takes(self, identity: str, text: str, *, own_id: bool) -> bool:
        """Return whether a line is new, and add it."""
        if identity in self._ids or same_text(text) in (self._texts_before or () if own_id else self._texts):
            return False
        self.add(identity, text)
        return True

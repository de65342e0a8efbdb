"""Reads a Chinese clause that wishes something of the assistant for good: by its form, not by its topic."""

import re
from typing import Final

from .reading import KEPT, Reading
from .statements_zh import classes_of
from .words_zh import WISH_FORMS, WISH_MARKS

__all__ = ["read_wish"]

_FORMS: Final = classes_of(WISH_FORMS)
_ENTRIES: Final = [entry for line in WISH_FORMS.strip().splitlines() for entry in line.partition(": ")[2].split()]
# Whether a clause has any form at all, at its start or inside: they spare the rest.
_OPENING: Final = re.compile("|".join(entry for entry in _ENTRIES if entry[0] == "^"))
_INSIDE: Final = re.compile("|".join(entry for entry in _ENTRIES if entry[0] != "^"))
_MARKS: Final = classes_of(WISH_MARKS)
_CONDITIONS: Final = ("的话", "时候", "时")
_FOR_GOOD: Final = re.compile("[每凡总永以今一]|都|别|不要|给我|跟我|对我")
_SAID: Final = re.compile(r"[^，。,我你就]{1,6}(?:(?<![只别要少直])说|规定|要求)(?=[^，。,])")  # somebody else's wish
_SECOND: Final = 0.5  # what each further form adds
_POINTS: Final = re.compile(r"这[个些]$")
_LONGEST: Final = 80  # characters


def read_wish(
    plain: str,
    start: int,
    end: int,
    *,
    condition: tuple[int, int] | None,
    reasoned: float,
    leads: bool,  # noqa: ARG001 - English needs it
) -> Reading | None:
    """Read a clause as a standing wish; None for an order for once.

    condition: the bounds of 给我写代码的时候 before it. reasoned: what is added for a reason that stands beside
    it. leads: the clause begins its sentence, which makes no difference in Chinese.
    """
    clause = plain[condition[0] if condition else start : end]
    if len(clause) > _LONGEST or clause.endswith(_CONDITIONS) or (reasoned < 0 and not _FOR_GOOD.search(clause)):
        return None
    if not (_OPENING.match(clause) or _INSIDE.search(clause)) or _SAID.match(clause):
        return None
    forms = sorted((weight for weight, _, pattern in _FORMS.values() if pattern.search(clause)), reverse=True)
    if not forms:
        return None
    score = forms[0] + min(1.0, _SECOND * len(forms[1:])) + reasoned
    if reasoned >= 1:  # "I don't believe in stars, spare me that"
        clause = _POINTS.sub("", clause)
    score += sum(weight for weight, _, pattern in _MARKS.values() if pattern.search(clause))
    if score < KEPT:
        return None
    return Reading("instruction", "O", "high", min(0.9, 0.75 + 0.04 * (score - KEPT)))

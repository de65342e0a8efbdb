"""The page on which a message is tried, and where the least scores of recall are tuned and saved."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from gateway_memory.config.keys import TUNED
from gateway_memory.config.scan import KeyPath, dotted
from gateway_memory.context.finder import TERMS
from gateway_memory.edge.config_file import NotSavedError, SettingsFile
from gateway_memory.serving.page.viewer import NothingHere, Values, Viewer
from gateway_memory.store.disk.workspace import own_config
from gateway_memory.store.documents import MEMORY_FILE
from gateway_memory.store.report import ReplyReport
from gateway_memory.sync.episodes import turn_of
from recall import RecallSettings

LONGEST: Final = 1000
"""Characters of a message that is tried: it stands in addresses, twice escaped in those that lead back to it."""
FIELDS: Final[Mapping[str, KeyPath]] = dict(zip(("least", "quoted"), TUNED, strict=True))
"""The keys that the page sets, by their names in addresses and forms: for memories, and for exchanges."""
_TERM_SHOWN: Final = 0.01
_DIGITS: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Slider:
    """A least score that can be moved. value: what is tried. saved: what is in force. scores: those of this message."""

    field: str
    key: str
    value: float
    saved: float
    scores: Sequence[float]


def rows_of(report: ReplyReport | None, texts: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return what was considered for a reply: of each its id, text, fate, score, and the terms that weigh something."""
    return [
        {
            "id": row.id,
            "text": texts.get(row.id, ""),
            "fate": row.fate,
            "score": row.score,
            "turn": turn_of(row.id),
            "field": "quoted" if turn_of(row.id) else "least",
            "terms": [(name, row.terms[name]) for name in TERMS if abs(row.terms.get(name, 0.0)) >= _TERM_SHOWN],
        }
        for row in (report.rows if report else ())
    ]


async def trial(viewer: Viewer) -> Values:
    """What a fresh session would be given for a message, and what other least scores would change."""
    message = viewer.query.get("q", "").strip()
    recall = viewer.session.settings.auto_recall
    saved = scores_in(recall)
    values = {field: share_of(viewer.query[field]) if viewer.query.get(field) else saved[field] for field in FIELDS}
    problem = viewer.word("try_long", most=LONGEST, length=len(message)) if len(message) > LONGEST else ""
    tried = None
    if message and not problem:
        tried = await viewer.memory.browsing.trial(
            viewer.session, message, min_score=values["least"], quoted_from=values["quoted"]
        )
    rows = rows_of(tried.trial.context.report, tried.texts) if tried else []
    sliders = [
        Slider(
            field=field,
            key=dotted(key),
            value=values[field],
            saved=saved[field],
            scores=sorted({round(row["score"], _DIGITS) for row in rows if row["field"] == field}, reverse=True),
        )
        for field, key in FIELDS.items()
    ]
    digest, unsaved = await asyncio.to_thread(state_of, viewer)
    defaults = scores_in(RecallSettings())
    return {
        "message": message,
        "problem": problem,
        "tried": tried,
        "rows": rows,
        "told": sum(row["fate"] == "told" for row in rows),
        "held": sum(row["fate"] == "held" for row in rows),
        "tokens": sum(each.tokens for each in tried.trial.blocks) if tried else 0,
        "values": values,
        "sliders": sliders,
        "moved": values != saved,
        "defaults": defaults if saved != defaults else {},
        "memory_file": MEMORY_FILE,
        "config": str(file_of(viewer).path),
        "digest": digest,
        "unsaved": unsaved,
    }


def scores_in(recall: RecallSettings) -> dict[str, float]:
    """Return the least scores of settings by their fields."""
    return {"least": recall.min_score, "quoted": recall.episodes.min_score}


def share_of(text: str) -> float:
    """Return a number from 0 to 1 of an address or a form, with two digits.

    Raises:
        NothingHere: it is something else.
    """
    try:
        number = round(float(text), _DIGITS)
    except ValueError:
        raise NothingHere from None
    if not 0 <= number <= 1:  # which NaN is not, either
        raise NothingHere
    return abs(number)


def file_of(viewer: Viewer) -> SettingsFile:
    """Return the config file in force of the agent that a browser looks at."""
    memory = viewer.memory
    path = Path(memory.config.source) if memory.config.source else own_config(memory.workspace)
    return SettingsFile(path=path, agent=memory.agent)


def said_of(viewer: Viewer, error: NotSavedError) -> str:
    """Return in words why nothing was saved."""
    return viewer.word(f"try_{error.why}", file=error.path, detail=error.detail)


def state_of(viewer: Viewer) -> tuple[str, str]:
    """Return the digest of the config file, and why it can't be changed, "" where it can."""
    try:
        return file_of(viewer).digest(), ""
    except NotSavedError as error:
        return "", said_of(viewer, error)

"""Converts one row of JSON to an item: of our own export, or a fact or a summary in the documented form.

The input is untrusted: texts are cleaned like those of a turn.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, tzinfo
from typing import Any, Final, get_args

from extractor import CATEGORIES, Doubt, clean, written
from gateway_memory.ground.holds import plain_of
from gateway_memory.ground.times import local_time, noon_of
from gateway_memory.store.annotations import is_annotation
from gateway_memory.store.documents import MEMORY_FILE, is_document, is_writable
from gateway_memory.store.journal.episodes import Episode
from gateway_memory.store.journal.sessions import End
from gateway_memory.store.markdown import MemoryType, one_line
from gateway_memory.store.memory_record import MemoryRecord
from gateway_memory.store.reviewed import Review, ReviewState
from gateway_memory.store.summaries import SessionRecord
from gateway_memory.transfer.items import (
    EpisodeItem,
    Ignored,
    Item,
    LeftOut,
    MemoryItem,
    NoteItem,
    Problem,
    ReviewItem,
    SummaryItem,
)
from gateway_memory.transfer.markdown_files import in_time

_ID: Final = re.compile(r"[a-z0-9]{6,12}")
TYPES: Final[tuple[MemoryType, ...]] = get_args(MemoryType)
_KEPT: Final[tuple[ReviewState, ...]] = ("waiting", "never")
"""The states of reviews that an export holds."""
_ENTITIES: Final = 20
_NAME_LENGTH: Final = 200


class _Row(dict[str, Any]):
    """A row, and which of its fields were read: the others are not known here. zone: of times that name none."""

    def __init__(self, fields: Mapping[str, Any], zone: tzinfo | None) -> None:
        super().__init__(fields)
        self.known: set[str] = set()
        self.zone = zone

    def get(self, key: str, default: Any = None) -> Any:
        """Return a field."""
        self.known.add(key)
        return super().get(key, default)


def item_of(raw: Mapping[str, Any], place: str, default_at: float, zone: tzinfo | None) -> Item:
    """Return the item of a row. default_at: the time if the row has none, in epoch seconds.

    zone: of times that name none; a day without a time is its noon there. None is the machine's.

    Raises:
        ValueError, TypeError, OverflowError: the row is invalid; the message says what was expected.
    """
    row = _Row(raw, zone)
    item = _convert(row, place, default_at)
    if isinstance(item, Ignored | Problem | LeftOut):
        return item
    unknown = [f'the field "{short_name(name)}", which was left out' for name in row if name not in row.known]
    if isinstance(item, MemoryItem) and (category := item.record.category) not in ("", *CATEGORIES):
        unknown.append(f'the category "{category}", which was kept')
    return replace(item, unknown=tuple(unknown))


def _convert(raw: _Row, place: str, default_at: float) -> Item:
    if raw.get("deleted_at"):
        return Ignored(place=place, kind="deleted")
    kind = raw.get("kind", raw.get("type"))
    scope = _text(raw, "scope")
    if kind == "note":
        return _note(raw, place, scope)
    if kind in ("episode", "review"):
        return (_episode if kind == "episode" else _review)(raw, place, scope, default_at)
    if "session_id" in raw and ("summary" in raw or "topic" in raw):
        return SummaryItem(place=place, scope=scope, record=_record(raw))
    if kind in ("memory", "fact", "past") or (kind in (None, *TYPES) and "content" in raw):
        return _memory(raw, place, scope, default_at)
    if raw.get("kind") is not None:
        name = short_name(str(kind))
        raise ValueError(f"unknown kind {name}: expected memory, past, fact, note, summary, episode or review")
    return Ignored(place=place)


def _is_day(text: str) -> bool:
    """Return whether a text is a day of the calendar: 2026-02-31 is none."""
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _memory(raw: _Row, place: str, scope: str, default_at: float) -> MemoryItem:
    own = raw.get("kind") in ("memory", "past", "review")
    text = raw.get("text") if own else raw.get("content")
    if not isinstance(text, str):
        raise TypeError(f"{'text' if own else 'content'}: expected a string")
    named = raw.get("memory_type", raw.get("type") if raw.get("type") in TYPES else "W")
    kind = next((each for each in TYPES if each == named), None)
    if kind is None:
        raise ValueError("the memory's type: expected W, B, O or S")
    source = raw.get("source")
    session = source.get("session") if isinstance(source, dict) else raw.get("session", "")
    identity, expires, outdates = _text(raw, "id"), _text(raw, "expires"), _text(raw, "outdates")
    if expires and not _is_day(expires):
        raise ValueError("expires: expected a day of the calendar as YYYY-MM-DD")
    times = {name: _text(raw, name) for name in ("on", "until", "every")}
    at = _time(raw.get("at", raw.get("timestamp")), default_at, raw.zone)
    line, last = clean(text).text, expires
    is_noted = plain_of(line) != line or not expires
    if not (own and is_noted) or any(times.values()):  # a line of an export says already when it holds
        line, last = in_time(line, local_time(at, raw.zone).date(), expires, times)
    annotations = (clean(each).text for each in _list(raw, "annotations"))
    record = MemoryRecord(
        id=identity if own and _ID.fullmatch(identity) else "",
        text=line,
        file="",
        at=at,
        type=kind,
        category=short_name(_text(raw, "category"))[:40],
        importance="high" if raw.get("importance") == "high" else "normal",
        confidence=_share(raw.get("confidence", 1.0)),
        entities=_names(raw.get("entities")),
        cues=_names(raw.get("cues")),
        session_key=_session_key(session, own=own),
        expires=last,
        outdates=outdates if own and _ID.fullmatch(outdates) else "",
        speaker=short_name(_text(raw, "speaker")) if own else "",
        annotations=tuple(filter(is_annotation, annotations)) if own else (),
    )
    return MemoryItem(
        place=place,
        scope=scope,
        record=record,
        dated=bool(_time(raw.get("at", raw.get("timestamp")), 0.0, raw.zone)),
        curated=raw.get("file") == MEMORY_FILE,
        foreign=not own,
        superseded=raw.get("kind") == "past",
        by=clean(_text(raw, "by")).text,
    )


def _review(raw: _Row, place: str, scope: str, default_at: float) -> ReviewItem:
    memory = _memory(raw, place, scope, default_at).record
    reason = next((each for each in get_args(Doubt) if each and each == raw.get("reason")), None)
    state = next((each for each in _KEPT if each == raw.get("state")), None)
    if not memory.id or not one_line(memory.text) or memory.type == "S" or reason is None or state is None:
        raise ValueError("a review needs an id, a text, a reason and a state of our form")
    review = Review(
        scope=scope,
        memory=replace(memory, text=one_line(memory.text), quote=one_line(clean(_text(raw, "quote")).text)),
        reason=reason,
        at=_time(raw.get("since"), default_at, raw.zone),
        against=_text(raw, "against") if _ID.fullmatch(_text(raw, "against")) else "",
        state=state,
    )
    return ReviewItem(place=place, scope=scope, review=review)


def _record(raw: _Row) -> SessionRecord:
    session, summary = _text(raw, "session_id"), _text(raw, "summary")
    if not one_line(session):
        raise ValueError("session_id: expected a string that is not empty")
    kept = written(_text(raw, "topic"), summary, _list(raw, "decisions"), _list(raw, "todos"))
    brief = _text(raw, "brief")
    at = _time(raw.get("timestamp"), 0.0, raw.zone)
    lasted = raw.get("duration_ms")
    end = End.of(
        reason=_text(raw, "reason"),
        error=_text(raw, "error_message"),
        duration_ms=lasted if type(lasted) is int and lasted >= 0 else None,
    )
    return SessionRecord(
        id=short_name(_text(raw, "id"))[:40] or "sum-imported",
        session_id=short_name(session),
        topic=kept.topic,
        summary=kept.detailed,
        timestamp=f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%SZ}" if at else "",
        decisions=kept.decisions,
        todos=kept.todos,
        brief=written("", brief, (), ()).brief if "brief" in raw else kept.brief,
        auto_generated=raw.get("auto_generated") is True,
        layer=layer if (layer := raw.get("layer")) in ("agent", "followup", "end") else "imported",
        reason=end.reason,
        duration_ms=end.duration_ms,
        error_message=end.error,
    )


def _note(raw: _Row, place: str, scope: str) -> NoteItem:
    file, text = raw.get("file"), raw.get("text")
    if not isinstance(file, str) or not is_document(file) or is_writable(file) or clean(file).text != file:
        raise ValueError("file: expected memory/<name>.md that is no day's log")
    if not isinstance(text, str):
        raise TypeError("text: expected a string")
    return NoteItem(place=place, scope=scope, file=file, text=clean(text).text)


def _episode(raw: _Row, place: str, scope: str, default_at: float) -> EpisodeItem:
    user, reply = (clean(_text(raw, name)).text for name in ("user", "reply"))
    if not (user.strip() or reply.strip()):
        raise ValueError("user and reply: expected a text in at least one of them")
    episode = Episode(
        turn=0,
        scope=scope,
        session_key=_session_key(raw.get("session", ""), own=True),
        session_id=short_name(_text(raw, "session_id")),
        user=user,
        reply=reply,
        at=_time(raw.get("at"), default_at, raw.zone),
        unread=unread if (unread := raw.get("unread")) in ("rules", "model", "no") else "",
        speaker=short_name(_text(raw, "speaker")),
    )
    return EpisodeItem(place=place, scope=scope, episode=episode)


def _text(raw: Mapping[str, Any], key: str) -> str:
    value = raw.get(key, "")
    if value is None:
        return ""
    if not isinstance(value, str):
        raise TypeError(f"{key}: expected a string")
    return value


def _list(raw: Mapping[str, Any], key: str) -> list[str]:
    value = raw.get(key) or []
    if not isinstance(value, list):
        raise TypeError(f"{key}: expected a list")
    return [item for item in value if isinstance(item, str)]


def short_name(text: str) -> str:
    """Return a name from outside as one short line."""
    return one_line(clean(text).text)[:_NAME_LENGTH].strip()


def _names(value: object) -> tuple[str, ...]:
    items = value if isinstance(value, list) else []
    names = [short_name(item)[:80] for item in items[:_ENTITIES] if isinstance(item, str)]
    return tuple(dict.fromkeys(name for name in names if name))


def _session_key(value: object, *, own: bool) -> str:
    name = short_name(value) if isinstance(value, str) else ""
    return name if own or not name else f"hook:{name}"


def _share(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError("confidence: expected a number from 0 to 1")
    return min(1.0, max(0.0, float(value)))


def _time(value: object, default: float, zone: tzinfo | None) -> float:
    if value is None or value == "":
        return default
    if not isinstance(value, str):
        raise TypeError("the time: expected ISO 8601")
    if _is_day(value) and (noon := noon_of(value, zone)) is not None:
        return noon
    try:
        at = datetime.fromisoformat(value)
        return (at if at.tzinfo else at.replace(tzinfo=zone)).timestamp()
    except (ValueError, OverflowError):
        raise ValueError("the time: expected ISO 8601") from None

"""What is known of a person, as pages: the portrait of a scope, and a page for each name that its memories tell."""

import hashlib
from collections.abc import Sequence
from typing import Any, Final

from gateway_memory.browsing.sections import Line, Topic
from gateway_memory.scope import OWNER_KEY
from gateway_memory.serving.page.viewer import NothingHere, Values, Viewer

_SHOWN: Final = 6
"""Lines of a box that are shown; the others are folded."""
_FOLDED: Final = 60
_PEOPLE: Final = 12
_TOPICS: Final = 24
_MOST_NAMES: Final = 200
_HUES: Final = 5
_DAY_SECONDS: Final = 86_400.0
_SYMBOLS: Final = {"person": "user", "pet": "paw-print", "place": "globe", "project": "folder", "topic": "file-text"}


async def portrait(viewer: Viewer) -> Values:
    """What is known of the person of a scope: a box for each kind, and what they wait for."""
    shown = await viewer.memory.portraits.portrait(viewer.session)
    sections = shown.sections
    own = viewer.of == OWNER_KEY
    name = sections.name or ("" if viewer.name == viewer.word("owner") else viewer.name)
    boxes = [
        _box(viewer, place, word if own else other, symbol, lines)
        for place, word, other, symbol, lines in (
            ("about", "about_them", "about_other", "user", sections.about),
            ("wishes", "wishes", "wishes_other", "sparkles", sections.wishes),
            ("likes", "likes", "likes_other", "heart", sections.likes),
        )
        if lines
    ]
    failed_at = await viewer.memory.browsing.failed_at(since=viewer.memory.now().timestamp() - _DAY_SECONDS)
    return {
        "portrait": shown,
        "failed": viewer.moment(failed_at) if failed_at else "",
        "name": name,
        "initial": initial_of(name),
        "since": viewer.day(viewer.local(shown.since).date()) if shown.since else "",
        "boxes": boxes,
        "ahead": [{"line": line, "day": viewer.days(line.days)} for line in sections.ahead if line.days][:_FOLDED],
        "people": [_card(viewer, topic) for topic in sections.people[:_PEOPLE]],
        "projects": [_card(viewer, topic) for topic in sections.projects[:_PEOPLE]],
        "more_people": sections.people[_PEOPLE:_MOST_NAMES],
        "more_projects": sections.projects[_PEOPLE:_MOST_NAMES],
        "topics": sections.topics[:_TOPICS],
        "more_topics": sections.topics[_TOPICS:_MOST_NAMES],
        "people_word": "people_around" if own else "people_other",
        "others": _box(viewer, "other-facts", "other_facts", "file-text", sections.others),
        "changed": [{"change": each, "at": viewer.day(viewer.local(each.at).date())} for each in shown.changed],
        "symbols": _SYMBOLS,
        "shown": _SHOWN,
    }


async def about(viewer: Viewer) -> Values:
    """What memories say of somebody or something: the newest first, and who else occurs with them."""
    found = await viewer.memory.portraits.about(viewer.session, viewer.query["name"])
    if found is None:
        raise NothingHere
    topic = found.topic
    lines = [{"line": line, "at": viewer.day(viewer.local(line.at).date())} for line in topic.lines]
    return {
        "topic": topic,
        "initial": initial_of(topic.name),
        "hue": hue_of(topic.name),
        "lines": lines,
        "last": lines[0]["at"] if lines else "",
        "first": lines[-1]["at"] if lines else "",
        "others": found.others,
        "symbols": _SYMBOLS,
    }


def _box(viewer: Viewer, name: str, word: str, symbol: str, lines: Sequence[Line]) -> dict[str, Any]:
    rows = [{"line": line, "at": viewer.day(viewer.local(line.at).date())} for line in lines[:_FOLDED]]
    return {"name": name, "word": word, "symbol": symbol, "rows": rows, "more": max(0, len(lines) - len(rows))}


def _card(viewer: Viewer, topic: Topic) -> dict[str, Any]:
    last = viewer.day(viewer.local(topic.lines[0].at).date())
    return {"topic": topic, "initial": initial_of(topic.name), "hue": hue_of(topic.name), "last": last}


def initial_of(name: str) -> str:
    """Return the letter that stands for a name."""
    return next((each.upper() for each in name if each.isalnum()), "")


def hue_of(name: str) -> int:
    """Return which of the few colours of names a name has: always the same one."""
    return hashlib.sha256(name.encode("utf-8", "replace")).digest()[0] % _HUES

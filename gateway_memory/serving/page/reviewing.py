"""The page of what waits for a person."""

from typing import Final

from gateway_memory.serving.page.visit import Shown, Visit

__all__ = ["review"]

_SHOWN: Final = 100


async def review(visit: Visit) -> Shown:
    """What waits, each with why, with the words that it was learnt from, and with what it contradicts."""
    words = visit.query.get("q", "")
    found = (await visit.memory.record(visit.session, "review", words))["reviews"]
    shown = found[:_SHOWN]
    rows = []
    for row in shown:
        session = visit.session
        if row["scope"] != visit.of:
            session = await visit.of_scope(row["scope"])
        talk = await visit.memory.browsing.talk(session, row["turn"], around=0) if row["turn"] else None
        rows.append({**row, "said": talk.said[0] if talk else None})
    return Shown("review.html", {"rows": rows, "words": words, "more": len(found) - len(shown)})

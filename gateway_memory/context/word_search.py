"""Searches session records and observations, by words, for a search that asks for them. Neither is ever injected."""

import math
import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from gateway_memory.ground.threads import compute
from gateway_memory.scope import Scope
from gateway_memory.store.journal.sessions import KeptObservation, KnownSession
from gateway_memory.store.summaries import SESSIONS_FILE
from gateway_memory.store.validity import Today, Validity
from gateway_memory.store.withheld import Withheld, time_of
from gateway_memory.sync.storage import Storage
from recall import Filter, Hit, excerpt_of, tokens_of

ARCHIVED: Final = frozenset({"record", "observation"})
"""The kinds of hits that only this finds."""
_NEWEST: Final = 5_000
"""The observations that are searched."""
_SHOWN_TOKENS: Final = 400


class WordSearch:
    """The records and observations of any scope. They are read for each search; no index has them."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    async def find(
        self, scope: Scope, query: str, kinds: Collection[str], limit: int, only: Filter | None, today: Today | None
    ) -> list[Hit]:
        """Return the hits for a query, best first, without forgotten text; without a query, the newest.

        today: of records, only what holds on it; None for all, as it was said.
        The score of a hit is the share of the query's words that it contains, weighted by their rarity.

        Raises:
            StoreError: they could not be read.
        """
        if only and (only.type or only.category):
            return []
        hits = [hit for hit in await self._quotable(scope, kinds, today) if only is None or _passes(hit, only)]
        return await compute(_best, hits, query, limit)

    async def get(self, scope: Scope, identity: str, today: Today) -> list[Hit]:
        """Return what holds of a record, or an observation as a whole, without forgotten text; [] for another id.

        Raises:
            StoreError: they could not be read.
        """
        return [hit for hit in await self._quotable(scope, ARCHIVED, today) if hit.id == identity]

    async def _quotable(self, scope: Scope, kinds: Collection[str], today: Today | None) -> list[Hit]:
        """Return all that is quotable."""
        hidden = await self._storage.ledger.withheld(scope.key)
        hits: list[Hit] = []
        if "record" in kinds:
            rows = await self._storage.records.read(scope)
            talks = [(row, await self._storage.sessions.find(str(row.get("session_id", "")))) for row in rows]
            validity = await self._storage.ledger.validity(scope.key, today) if today else None
            hits += await compute(_records, scope, talks, hidden, validity)
        if "observation" in kinds:
            kept = await self._storage.sessions.observations(scope.key, _NEWEST)
            hits += await compute(_observations, scope, kept, hidden)
        return hits


def _records(
    scope: Scope,
    talks: Sequence[tuple[Mapping[str, Any], KnownSession | None]],
    hidden: Withheld,
    validity: Validity | None,
) -> list[Hit]:
    """Return records, each with its session, as hits."""
    hits: list[Hit] = []
    for whole, talk in talks:
        if whole.get("deleted_at"):
            continue
        row, at = hidden.record(whole), time_of(whole.get("timestamp"))
        if validity:
            row = validity.record(row, at=talk.opened_at if talk else at)
        texts = [str(row.get("topic", "")), str(row.get("summary") or row.get("brief") or "")]
        lists = [value for name in ("decisions", "todos") if isinstance(value := row.get(name), list | tuple)]
        texts += [str(text) for value in lists for text in value if str(text) not in texts[1]]
        text = "\n".join(text for text in texts if text.strip())
        if text:
            identity = str(row.get("id") or row["session_id"])
            identity = identity if "-" in identity else f"sum-{identity}"
            hits.append(_hit(scope, "record", identity, text, at, talk.key if talk else ""))
    return hits


def _observations(scope: Scope, kept: Sequence[KeptObservation], hidden: Withheld) -> list[Hit]:
    at_once: defaultdict[tuple[str, float], list[str]] = defaultdict(list)
    for each in kept if hidden else ():
        at_once[each.session_id, each.at].append(each.content)
    words = {moment: hidden.words_of(*texts) for moment, texts in at_once.items()}
    hits: list[Hit] = []
    for each in kept:
        content = hidden.cut(each.content, words=words.get((each.session_id, each.at), frozenset())).strip()
        text = f"{each.tool or each.kind}: {content}"
        if content and not hidden.hides(each.session_id, each.at):
            hits.append(_hit(scope, "observation", f"obs-{each.number}", text, each.at, each.session_key))
    return hits


def _hit(scope: Scope, kind: str, identity: str, text: str, at: float, session: str) -> Hit:
    file = SESSIONS_FILE if kind == "record" else ""
    return Hit(
        id=identity, text=text, score=1.0, at=at, scope=scope.key, file=file, kind=kind, type="", session=session
    )


def _passes(hit: Hit, only: Filter) -> bool:
    in_time = (only.since is None or hit.at >= only.since) and (only.until is None or hit.at < only.until)
    return in_time and only.session in ("", hit.session)


def _best(hits: Sequence[Hit], query: str, limit: int) -> list[Hit]:
    """Return the hits that contain most of a query's words, the newest of equal ones first."""
    if not query.strip():
        return sorted(hits, key=lambda hit: -hit.at)[:limit]
    # A word also counts as the beginning of another: its form may differ.
    words = {word: re.compile(rf"(?<![a-z0-9]){re.escape(word)}") for word in dict.fromkeys(tokens_of(query))}
    matching = [{word for word, form in words.items() if form.search(hit.text.casefold())} for hit in hits]
    weight = {word: math.log(1 + len(hits) / (1 + sum(word in each for each in matching))) for word in words}
    whole = sum(weight.values()) or 1.0
    scored = [
        replace(hit, score=round(sum(weight[word] for word in each) / whole, 3))
        for hit, each in zip(hits, matching, strict=True)
        if each
    ]
    best = sorted(scored, key=lambda hit: (-hit.score, -hit.at))[:limit]
    return [replace(hit, text=excerpt_of(hit.text, query, _SHOWN_TOKENS)) for hit in best]

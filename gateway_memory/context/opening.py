"""Reads what an opening is made of."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import zip_longest
from typing import Final

from extractor import (
    CATEGORIES,
    LEAST_TELLING,
    meaning_of,
    permitted_text,
    subject_of,
    traits_of,
    without_commands,
)
from gateway_memory.context.about_user import (
    BEGINNING,
    LEAST_RELATED,
    PASSAGES,
    LastSession,
    OpeningMemory,
    Worth,
    in_rounds,
    last_session_of,
    opening_memories,
    own_words_of,
    profile,
)
from gateway_memory.context.blocks import told
from gateway_memory.context.coming import MOST, READ, Ahead, ahead_of
from gateway_memory.context.memory_block import LineFacts
from gateway_memory.context.opening_text import (
    Material,
    Opening,
    compose,
    fresh,
    line_cost,
    lines_that_hold,
    queries_of,
)
from gateway_memory.ground.runtime import Runtime
from gateway_memory.ground.threads import compute
from gateway_memory.scope import OWNER_KEY, Scope
from gateway_memory.sessions.session import OpeningState, Session
from gateway_memory.store.documents import MEMORY_FILE
from gateway_memory.store.markdown import Block, parse
from gateway_memory.store.told import Told
from gateway_memory.store.validity import Today, Validity
from gateway_memory.store.withheld import canonical
from gateway_memory.sync.storage import Storage
from recall import Entry, Filter, RecallError, SearchRequest

_SEARCH_SECONDS: Final = 0.5
_LASTING_WEIGHS: Final = 2.0  # of a subject, beside the log-odds that a line is worth keeping
_WISH_WEIGHS: Final = 0.5  # what rather speaks to the assistant tells the less of the user
_LINE_WEIGHS: Final = 30  # tokens, beside its own: a short line is not all the better for it
_OF_REPLIES: Final = frozenset({"style", "format"})
_MEMORIES: Final = 150
"""How many memories an opening is chosen from: the newest, and the newest of each standing category."""


class OpeningBuilder:
    """Builds openings for any scope."""

    def __init__(self, runtime: Runtime, storage: Storage) -> None:
        self._runtime = runtime
        self._storage = storage

    async def state(self, scopes: Sequence[Scope], now: datetime) -> OpeningState:
        """Return what an opening of these scopes depends on."""
        for scope in scopes:
            await self._storage.mender.mend(scope)
        changes = {scope.key: self._storage.follower.last_change(scope) for scope in scopes}
        last = await self._storage.records.last(scopes[0], self._today(now))
        day = self._runtime.day_of(now.timestamp())
        return OpeningState(changes=changes, day=day, record=canonical(last) if last else "")

    def _today(self, now: datetime) -> Today:
        return Today(now.timestamp(), self._runtime.zone)

    async def build(self, session: Session, now: datetime) -> tuple[Opening, bool]:
        """Return the opening of a session, within `max_tokens` over all of its blocks, and whether a part was late.

        What the session's context contains outside its present opening is left out.
        """
        in_context = session.in_context.has_outside_opening
        scope, settings, today = session.scope, session.settings.opening, self._today(now)
        last = await self._storage.records.last(scope, today)
        validity = await self._storage.ledger.validity(scope.key, today)
        read = await self._storage.documents.read(scope, MEMORY_FILE)
        lines: list[Block] = await compute(parse, read[0], file=MEMORY_FILE) if read else []
        records = await self._storage.ledger.memories(scope.key, [block.id for block in lines])
        known = {
            identity: LineFacts(
                category=record.category,
                high=record.importance == "high",
                at=record.at,
                day=self._runtime.day_of(record.at),
            )
            for identity, record in records.items()
        }
        holding = await compute(lines_that_hold, lines, known, validity)
        memory = [block for block in holding if not in_context(block.id, block.text)]
        places: Mapping[str, int] = {}
        try:
            about = await self._about(session, validity, today)
            about, places = await self._placed(scope.key, about, memory, known)
            joined = [(scope.kind, await self._joined(scope, today)) for scope in session.who.joined]
        except RecallError:  # another process may have the index locked: MEMORY.md is there all the same
            about, joined = None, []
        coming = await self._coming(session, validity, today) if about is not None else []
        related = await self._related(scope, queries_of(last), settings.max_found, validity, now)
        material = Material(
            memory=memory,
            known=known,
            about=[each for each in about or () if not in_context(each.id, each.text)],
            coming=[each for each in coming if not in_context(each.id, each.text)],
            last=last,
            last_session=await self._last_session(session, today),
            related=[each for each in related or () if not in_context(each.id, each.text)],
            of_room=scope.kind.is_shared,
            joined=[
                (kind, [each for each in memories if not in_context(each.id, each.text)]) for kind, memories in joined
            ],
            places=places,
        )
        opening = await compute(
            compose,
            material,
            max_tokens=settings.max_tokens,
            profile_tokens=settings.profile_tokens,
            include_memory=settings.include_memory_md,
            left_out="left_out_chat",
        )
        return opening, related is None or about is None

    async def _about(self, session: Session, validity: Validity, today: Today) -> list[OpeningMemory]:
        """Return what is known about the user beside MEMORY.md, the most important first."""
        if not session.settings.opening.profile_tokens:
            return []
        scope, recaller = session.scope.key, self._storage.recaller
        lasting = [name for name, category in CATEGORIES.items() if category.standing]
        filters = [Filter(), *(Filter(category=name) for name in lasting)]
        rows = {row.sequence: row for only in filters for row in await recaller.listed(scope, only, _MEMORIES)}
        others = [row.entry for row in rows.values() if row.file != MEMORY_FILE]
        memories = [entry for entry, _ in await compute(told, others, validity)]
        passages: list[Entry] = []
        sides: dict[int, str] = {}
        if session.recalls_episodes:
            passages = [row.entry for row in await recaller.telling(scope, LEAST_TELLING, PASSAGES)]
            quotable = await self._storage.episodes.quotable(scope, [passage.turn for passage in passages], today)
            sides = await compute(own_words_of, quotable)
        about = await compute(profile, memories, passages, sides, self._runtime.day_of)
        if session.scope.key == OWNER_KEY:
            return about
        return await compute(_permitted, about)

    async def _placed(
        self, scope: str, about: list[OpeningMemory], lines: Sequence[Block], known: Mapping[str, LineFacts]
    ) -> tuple[list[OpeningMemory], Mapping[str, int]]:
        """Return what is known about the user without what MEMORY.md says or what tells nothing, and all their places.

        There are no places where a vector was not there in time.
        """
        about = await compute(fresh, about, Told(block.text for block in lines))
        placed = [block for block in lines if (of := known.get(block.id)) and not traits_of(of.category).directive]
        rest = [each for each in about if not each.is_wish]
        texts = list(dict.fromkeys([*(block.text for block in placed), *(each.text for each in rest)]))
        whole = {block.id: block.text for block in placed} | {each.id: each.text for each in rest if each.marks is None}
        stored = await self._storage.recaller.stored_vectors(scope, list(whole)) if whole else {}
        vectors = {whole[identity]: vector for identity, vector in stored.items()}
        others = [text for text in texts if text not in vectors]
        encoder, made = await self._storage.recaller.encoded(others, _SEARCH_SECONDS)
        vectors |= {text: vector for text, vector in zip(others, made, strict=True) if vector is not None}
        worth = await compute(_worth_of, {text: vector.tolist() for text, vector in vectors.items()}, encoder)
        telling = [each for each in about if each.marks is None or each.text not in worth or worth[each.text].value > 0]
        places = in_rounds(worth) if all(text in worth for text in texts) else {}
        return sorted(telling, key=lambda each: places.get(each.text, -1)), places

    async def _coming(self, session: Session, validity: Validity, today: Today) -> list[Ahead]:
        """Return what is ahead, the soonest first."""
        days = session.settings.opening.coming_days
        if not days:
            return []
        rows = await self._storage.recaller.coming(session.scope.key, today.day.isoformat(), READ)
        memories = [entry for entry, _ in told((row.entry for row in rows), validity)]
        ahead = await compute(ahead_of, memories, today.day, today.day + timedelta(days=days), self._runtime.day_of)
        if session.scope.key != OWNER_KEY:
            ahead = await compute(_only_permitted, ahead)
        return ahead[:MOST]

    async def _joined(self, scope: Scope, today: Today) -> list[OpeningMemory]:
        """Return what is known in a shared scope that a session has joined, important memories first, then newer ones.

        Whoever shares it has written it, so that orders to the assistant are left out.
        """
        await self._storage.follower.refresh(scope)
        validity = await self._storage.ledger.validity(scope.key, today)
        rows = await self._storage.recaller.listed(scope.key, Filter(), _MEMORIES)
        entries = [entry for entry, _ in told((row.entry for row in rows), validity)]
        entries.sort(key=lambda entry: (entry.importance, entry.at), reverse=True)
        return await compute(_permitted, opening_memories(entries, self._runtime.day_of))

    async def _last_session(self, session: Session, today: Today) -> LastSession | None:
        """Return the last session that took place, beside this one."""
        if not session.recalls_episodes:
            return None
        scope = session.scope.key
        first = await self._storage.episodes.latest(scope, session.session_id, BEGINNING)
        quotable = await self._storage.episodes.quotable(scope, [episode.turn for episode in first], today)
        last = last_session_of(first, quotable, self._runtime.day_of)
        text = await compute(permitted_text, last.said if last else "", by_owner=scope == OWNER_KEY)
        return replace(last, said=text) if last and text else None

    async def _related(
        self, scope: Scope, queries: Sequence[str], limit: int, validity: Validity, now: datetime
    ) -> list[OpeningMemory] | None:
        """Return what searches find, one hit of each in turn; None where nothing was ready in time."""
        if not limit:
            return []
        at, recaller = now.timestamp(), self._storage.recaller
        requests = [
            SearchRequest(scope=scope.key, query=query, limit=limit, min_score=LEAST_RELATED, now=at)
            for query in queries
        ]
        searches = await asyncio.gather(*(recaller.search(each, timeout_seconds=_SEARCH_SECONDS) for each in requests))
        if any(search.outcome == "timeout" for search in searches):
            return None
        in_turn = (hit for hits in zip_longest(*(search.hits for search in searches)) for hit in hits if hit)
        hits = {hit.id: hit for hit, _ in told((hit for hit in in_turn if hit.related), validity)}
        return opening_memories(list(hits.values())[:limit], self._runtime.day_of)


def _worth_of(vectors: Mapping[str, Sequence[float]], encoder: str) -> dict[str, Worth]:
    """Return what lines are worth in an opening. vectors: by text; encoder: the name of their maker."""
    worth = {}
    for text, vector in vectors.items():
        meaning, subject = meaning_of(text, vector, encoder), subject_of(vector, encoder)
        if meaning and subject:
            # What is about the replies and wishes nothing is a courtesy: "I'll keep that in mind".
            tells = meaning.tells and (subject.name not in _OF_REPLIES or meaning.wishes)
            value = meaning.keep - _WISH_WEIGHS * meaning.wish + _LASTING_WEIGHS * subject.lasting
            worth[text] = Worth(subject.name, value / (_LINE_WEIGHS + line_cost(text)) if tells else 0.0)
    return worth


def _only_permitted(ahead: Sequence[Ahead]) -> list[Ahead]:
    return [each for each in ahead if permitted_text(each.text, by_owner=False) == each.text]


def _permitted(memories: Sequence[OpeningMemory]) -> list[OpeningMemory]:
    """Leave out orders to the assistant. Which wishes a guest may have was told when they were kept."""
    return [each for each in memories if _without(each) == each.text]


def _without(memory: OpeningMemory) -> str:
    return without_commands(memory.text) if memory.is_wish else permitted_text(memory.text, by_owner=False)

"""The hits of searches: of several scopes together, in a reranker's order, and those that hold today."""

import asyncio
import math
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from dataclasses import replace
from heapq import nlargest
from operator import attrgetter
from typing import Final

from gateway_memory.context.blocks import told
from gateway_memory.context.deadline import DeadlineRunner
from gateway_memory.parts import Reranker
from gateway_memory.store.validity import State, Validity
from recall import Hit, Recall, RecallOutcome


async def in_one(searches: Sequence[Awaitable[Recall]]) -> Recall:
    """Return the answers of searches in the scopes of a session as one, the first scope's hits first.

    A text that an earlier scope has is left out of later ones. If a part was late, the whole is partial.
    """
    if len(searches) == 1:
        return await searches[0]
    answers = await asyncio.gather(*searches)
    hits: list[Hit] = []
    for answer in answers:
        texts = {hit.text for hit in hits}
        hits += [hit for hit in answer.hits if hit.text not in texts]
    outcomes = {answer.outcome for answer in answers}
    outcome: RecallOutcome = "full" if hits else "empty"
    if outcomes & {"timeout", "partial"}:
        outcome = "timeout" if outcomes == {"timeout"} else "partial"
    return Recall(
        hits=tuple(hits),
        weak=tuple(hit for answer in answers for hit in answer.weak),
        outcome=outcome,
        stages=answers[0].stages,
        semantic=all(answer.semantic for answer in answers),
    )


async def _scored(rerank: Reranker, query: str, texts: Sequence[str]) -> list[float]:
    """Return a reranker's scores. Raises whatever it does, and ValueError: they are none for these texts."""
    scores = [float(score) for score in await rerank(query, texts)]
    if len(scores) != len(texts) or not all(map(math.isfinite, scores)):
        raise ValueError(f"{len(scores)} scores for {len(texts)} texts, or one that is no number")
    return scores


async def reranked(
    runner: DeadlineRunner, rerank: Reranker | None, query: str, hits: tuple[Hit, ...], seconds: float
) -> tuple[Hit, ...]:
    """Return hits in the order of a reranker; as they are without one, or where it is late or fails.

    Their scores change places with them, so that as many as before are good enough, and those that come first.
    """
    if rerank is None or len(hits) < 2:  # noqa: PLR2004 - one has no order
        return hits
    scores = await runner.run("rerank", seconds, _scored(rerank, query, [hit.text for hit in hits]))
    if scores is None:
        return hits
    ordered = sorted(zip(scores, range(len(hits)), strict=True), key=lambda pair: -pair[0])
    best_first = sorted((hit.score for hit in hits), reverse=True)
    return tuple(replace(hits[place], score=score) for (_, place), score in zip(ordered, best_first, strict=True))


_OF_FILES: Final = frozenset({"memory", "note"})


def strongest(hits: Sequence[Hit], limit: int) -> tuple[Hit, ...]:
    """Return the hits with the best scores, in their order: those of several scopes stand one scope after the other."""
    chosen = {hit.id for hit in nlargest(limit, hits, key=attrgetter("score"))}
    return tuple(hit for hit in hits if hit.id in chosen)


def told_hits(hits: Iterable[Hit], validities: Mapping[str, Validity], *, past: bool) -> tuple[Hit, ...]:
    """Return hits of files with their states and marks, and others as they are.

    validities: what holds, by scope. past: also those that are over.
    """

    def of(hit: Hit) -> Sequence[tuple[Hit, State]]:
        if hit.kind in _OF_FILES:
            return told([hit], validities[hit.scope], past=past)
        return [(hit, "")]

    return tuple(replace(made, state=state) if state else made for hit in hits for made, state in of(hit))

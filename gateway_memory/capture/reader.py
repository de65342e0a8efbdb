"""Read a batch in the debounced stage: ask the model within its budget, and return the result for the turns."""

import re
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Final, TypeVar

from extractor import (
    LEAST_TELLING,
    LONGEST_READ,
    Candidate,
    Extraction,
    ExtractorSettings,
    Kept,
    Known,
    Meaning,
    Model,
    ModelError,
    Summary,
    SummaryInput,
    Turn,
    Usage,
    Verdict,
    clauses_of,
    clean,
    differ,
    extract_rules,
    sentences,
    statement_words,
    telling,
)
from gateway_memory.capture.executor import known
from gateway_memory.capture.meanings import meanings_of
from gateway_memory.ground.holds import plain_of
from gateway_memory.ground.logs import get_logger
from gateway_memory.ground.runtime import Runtime
from gateway_memory.ground.threads import compute
from gateway_memory.parts import Extract
from gateway_memory.scope import Scope
from gateway_memory.store.journal.ledger import Ledger
from gateway_memory.store.journal.speakers import unnamed
from gateway_memory.store.markdown import one_line
from gateway_memory.store.memory_record import MemoryRecord
from recall import Near, Recaller, Stored

log = get_logger(__name__)
T = TypeVar("T")

OVER_BUDGET: Final = "daily_limit"
"""The reason of a reading for which the day's budget has no room."""
NEAREST: Final = 5
NEAREST_SECONDS: Final = 0.25
"""The time that a merge waits for the encoder before it compares by words only. Sessions expect updates in a second."""
_VECTOR_SECONDS: Final = 10
"""How long a batch waits for vectors: nobody waits for it, and a model's call lasts seconds anyway."""
_AT_AN_END_SECONDS: Final = 2
"""How long the end of a session waits for them."""
_MOST_COMPARED: Final = 16
"""The newest sentences of a batch whose nearest memories the model is given."""
_MOST_JUDGED: Final = 24
"""The sentences of a batch of which one must tell something for a model to read it."""
_BY_MEANING: Final = frozenset({"informative", "uninformative", "question_only", "one_off_order"})
"""The prefilter's reasons of which the meaning of the sentences knows better."""
_RELATED, _SAME = 0.22, 0.6
"""The cosine and the share of words, together, from which on a memory speaks of what a sentence does, or says it."""
_OF_A_CHANGE, _TELLS_OF_CHANGE = 0.2, 0.3
"""What is added to that for a sentence whose vector tells so much of a change: it may hardly name the thing."""
_MOST_KNOWN, _MOST_EARLIER, _MOST_REPLIED = 5, 2, 3
_UNRELATED: Final = 0.15
"""The cosine below which a statement has nothing to do with the message that it quotes."""
TWIN: Final = 0.75
"""The cosine from which on two memories may say the same."""
_MOST_LOOKED_AT, _MOST_TWINS = 100, 6
_MOST_NAMED: Final = 500
"""The newest memories whose names a model may tell without being given them, and whose dates a summary may."""
_HAN_BLANK: Final = re.compile(r"(?<=[\u3400-\u9fff])\s+(?=[\u3400-\u9fff])")
_SUMMARY_TOKENS: Final = 50_000
"""Enough for 24,000 characters of any script, a repair and both answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The result of reading a batch. answered: the model gave an answer.

    failed: the model was asked and gave no answer; the turns wait until it does.
    retracted: the ids of memories that the rules kept from these turns and that the model found to be wrong.
    """

    candidates: Sequence[Candidate] = ()
    reason: str = "nothing_to_keep"
    failed: bool = False
    answered: bool = False
    retracted: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """The models for batches (the host's own, or the configured one) and for summaries.

    name: of the model for batches, "extract" for the host's own, None without one.
    """

    name: str | None
    extract: Extract | None = None
    model: Model | None = None
    summaries: Model | None = None

    @property
    def any_rests(self) -> bool:
        """Whether one of them is not asked for a while, after repeated failures."""
        return any(each is not None and each.rests for each in (self.model, self.summaries))


class Reader:
    """Calls the models. Without a model, only the rules extract memories."""

    def __init__(self, runtime: Runtime, ledger: Ledger, recaller: Recaller, models: Models) -> None:
        self._runtime = runtime
        self._ledger = ledger
        self._recaller = recaller
        self._models = models
        self._looked: tuple[str, set[str]] = ("", set())
        """A day, and the scopes that were searched on it for what stands twice."""
        self._spent = ""
        """The day on which the budget last had no room."""

    def corrects(self) -> bool:
        """Whether a capable model will read what was just said, and say itself what changes by it.

        It won't while it rests after failures, nor on a day whose budget is used up.
        """
        model = self._models.model
        if model is None or self._runtime.settings.auto_extract.is_small:
            return False
        return not model.rests and self._spent != self._runtime.today()

    @property
    def has_model(self) -> bool:
        """Whether a model reads batches or makes summaries. Callers do not wait for it."""
        return any((self._models.extract, self._models.model, self._models.summaries))

    async def is_worth_reading(self, turns: Sequence[Turn], earlier: Sequence[Turn], verdict: Verdict) -> bool:
        """Return whether a batch may hold something to remember. verdict: the prefilter's.

        Where a model would read it, the meaning of its sentences tells that best, and of their first and last clauses:
        "choir's thursdays now, can you tell the others?". An answer to a question may mean nothing by itself. Without
        vectors, and without a model, the prefilter stands alone.
        """
        if (self._models.extract is None and self._models.model is None) or verdict.reason not in _BY_MEANING:
            return verdict.keep
        if verdict.keep and any("?" in turn.reply or "？" in turn.reply for turn in [*earlier[-1:], *turns[:-1]]):
            return True
        said = _sentences(turns)[:_MOST_JUDGED]
        clauses = [clauses_of(each) for each in said]
        ends = [end for each in clauses for end in (*each[:1], *each[-1:])]
        meanings = await meanings_of(self._recaller, [*said, *ends[:_MOST_JUDGED]], _VECTOR_SECONDS)
        return any(meaning.may_tell for meaning in meanings.values()) if meanings else verdict.keep

    async def read(
        self,
        scope: Scope,
        settings: ExtractorSettings,
        turns: Sequence[Turn],
        by_rules: Sequence[MemoryRecord],
        *,
        earlier: Sequence[Turn] = (),
    ) -> Reading:
        """Read a batch, and return its candidates.

        by_rules: the memories that the rules have just made from the batch. The model gets them as lines to take back,
        not as known memories.
        earlier: turns of the conversation before the batch. They are evidence for names and facts in it.

        Raises whatever a host's own model raises.
        """
        extract, model = self._models.extract, self._models.model
        if not turns or (extract is None and model is None):
            return Reading(reason="rules_only" if turns else "nothing_to_keep")
        hidden = frozenset(memory.id for memory in by_rules)
        near = [] if model and settings.is_small else await self._near(scope, turns, earlier, hidden)
        if model is None:
            return await self._hosts(settings, turns, [stored for stored, _ in near])
        known, named = [memory for _, memory in near], list[str]()
        kept: Sequence[Kept] = ()
        if not settings.is_small:  # which only points, and is shown none of this
            kept, named = await compute(_retractable, scope, turns, by_rules), await self._named(scope)
            listed = hidden.union(memory.id for memory in known)
            known += [twin for twin in await self._twins(scope) if twin.id not in listed]
        wanted = model.cost_at_most(turns, known, kept, earlier)
        if not await self._reserve(settings, wanted):
            return Reading(reason=OVER_BUDGET)

        async def extracting() -> tuple[Extraction, Usage]:
            now = self._runtime.clock().astimezone(self._runtime.zone)
            extraction = await model.extract(
                turns, known, kept, now=now, speaker=_speaker(scope), earlier=earlier, named=named
            )
            return extraction, extraction.usage

        extracted = await self._ask(wanted, extracting())
        if isinstance(extracted, ModelError):
            return Reading(reason=f"model_{extracted.kind}", failed=True)
        for reason in extracted.left_out:
            self._runtime.metrics.count(f"extraction.batch.left_out.{reason}")
        return Reading(
            answered=True,
            candidates=await self._borne_out(extracted.candidates, [*earlier, *turns]),
            retracted=extracted.retracted,
        )

    async def _borne_out(self, candidates: Sequence[Candidate], turns: Sequence[Turn]) -> list[Candidate]:
        """Return candidates without those that share neither a word nor a meaning with what they quote."""
        before = ["", *(turn.reply for turn in turns)]
        said = {turn.id: f"{reply}\n{turn.user}" for turn, reply in zip(turns, before, strict=False)}
        apart = [
            candidate
            for candidate in candidates
            if not (candidate.only_as or statement_words(candidate.content) & statement_words(said[candidate.turn]))
        ]
        texts = [text for each in apart for text in (one_line(each.content), one_line(said[each.turn]))]
        _, vectors = await self._recaller.encoded(texts, _VECTOR_SECONDS) if texts else ("", [])
        invented = [
            candidate
            for candidate, one, other in zip(apart, vectors[::2], vectors[1::2], strict=True)
            if one is not None and other is not None and float(one.dot(other)) < _UNRELATED
        ]
        self._runtime.metrics.count("extraction.batch.left_out.not_said", len(invented))
        return [candidate for candidate in candidates if candidate not in invented]

    async def _hosts(self, settings: ExtractorSettings, turns: Sequence[Turn], near: Sequence[Stored]) -> Reading:
        assert self._models.extract is not None
        if not await self._reserve(settings, 0):
            return Reading(reason=OVER_BUDGET)
        candidates = [_cleaned(candidate) for candidate in await self._models.extract(turns, near)]
        return Reading(candidates=[candidate for candidate in candidates if candidate.content])

    async def summary(self, scope: Scope, settings: ExtractorSettings, given: SummaryInput) -> Summary | None:
        """Return the model's summary of a session; None without a model, past the budget, or on a failure.

        The names and dates of the scope's newest memories may stand in it.
        """
        model = self._models.summaries
        if model is None or not await self._reserve(settings, _SUMMARY_TOKENS):
            return None
        given = replace(given, known=await self._named(scope))
        summary = await self._ask(_SUMMARY_TOKENS, model.summarize(given))
        return None if isinstance(summary, ModelError) else summary

    async def telling(self, said: Sequence[str]) -> list[str]:
        """Return those of a user's sentences that tell something. Without vectors, the prefilter says which."""
        meanings = await self.meanings(said)
        return [text for text in said if (meanings[text].tells if text in meanings else telling(text) >= LEAST_TELLING)]

    async def meanings(self, texts: Sequence[str]) -> dict[str, Meaning]:
        """Return what texts tell, without those whose vector is not there in time."""
        return await meanings_of(self._recaller, texts, _AT_AN_END_SECONDS) if texts else {}

    async def _twins(self, scope: Scope) -> list[Known]:
        """Return memories that may stand twice, beside each other; once a day."""
        today = self._runtime.today()
        if self._looked[0] != today:
            self._looked = (today, set())
        if scope.key in self._looked[1]:
            return []
        self._looked[1].add(scope.key)
        newest = await self._recaller.newest(scope.key, _MOST_LOOKED_AT)
        texts = [plain_of(stored.entry.text) for stored in newest]
        found = await self._recaller.nearest_each(scope.key, texts, 2, timeout_seconds=_VECTOR_SECONDS)
        twins: dict[str, Known] = {}
        for stored, text, items in zip(newest, texts, found, strict=True):
            other = next((item for item in items if item.stored.entry.id != stored.entry.id), None)
            if other and (other.cosine or 0.0) >= TWIN and not differ(text, plain_of(other.stored.entry.text)):
                pair = (_with_days(replace(other, stored=stored)), _with_days(other))
                twins.update((each.id, each) for each in pair)
        return list(twins.values())[:_MOST_TWINS]

    async def _named(self, scope: Scope) -> list[str]:
        """Return memories whose names a model may know."""
        return [stored.entry.text for stored in await self._recaller.newest(scope.key, _MOST_NAMED)]

    async def _near(
        self, scope: Scope, turns: Sequence[Turn], earlier: Sequence[Turn], hidden: frozenset[str]
    ) -> list[tuple[Stored, Known]]:
        """Return the memories that speak of what the turns do, sentence by sentence, the nearest first.

        What tells of a change may not name the thing ("make it 2,800"): the reply to it does. Then come the memories of
        the exchanges before, to which "no, the 11th" may belong.
        """
        near: dict[str, tuple[Stored, Known]] = {}
        for part, least in ((turns, _RELATED), (earlier[-_MOST_EARLIER:], _SAME)):
            texts = _sentences(part)[-_MOST_COMPARED:]
            meanings = await meanings_of(self._recaller, texts, _VECTOR_SECONDS)
            changing = {text for text, meaning in meanings.items() if meaning.change >= _TELLS_OF_CHANGE}
            replies = [
                _sentences_of(turn.reply)[:_MOST_REPLIED] for turn in part if changing.intersection(_sentences([turn]))
            ]
            changing.update(*replies)
            texts += [text for reply in replies for text in reply]
            found = await self._recaller.nearest_each(scope.key, texts, NEAREST, timeout_seconds=_VECTOR_SECONDS)
            rows = [
                (_closeness(memory := _with_days(item)) + _OF_A_CHANGE * (text in changing), item, memory)
                for text, nearest in zip(texts, found, strict=True)
                for item in nearest
                if item.stored.entry.id not in hidden
            ]
            for closeness, item, memory in sorted(rows, key=itemgetter(0), reverse=True):
                if closeness >= least:
                    near.setdefault(item.stored.entry.id, (item.stored, memory))
        return list(near.values())[:_MOST_KNOWN]

    async def _ask(self, reserved: int, call: Awaitable[tuple[T, Usage]]) -> T | ModelError:
        """Return a model's answer, or how it failed. Either way, what it used takes the place of what was reserved."""
        usage = Usage()
        try:
            answer, usage = await call
        except ModelError as error:
            usage = error.usage
            self._runtime.metrics.count(f"model.failed.{error.kind}")
            self._runtime.on_error(f"model.{error.kind}", error)
            log.warning("model.failed", kind=error.kind, calls=usage.calls)
            return error
        finally:
            self._runtime.metrics.count("model.calls", usage.calls)
            await self._ledger.settle(
                self._runtime.today(),
                reserved=reserved,
                input_tokens=usage.input_tokens,
                output_tokens=usage.output_tokens,
            )
        return answer

    async def _reserve(self, settings: ExtractorSettings, tokens: int) -> bool:
        today = self._runtime.today()
        has_room = await self._ledger.reserve(
            today, calls=settings.max_daily_extractions, tokens=settings.max_daily_tokens, wanted=tokens
        )
        self._spent = "" if has_room else today
        return has_room


def _sentences(turns: Sequence[Turn]) -> list[str]:
    """Return the sentences of turns; in Chinese a blank often ends one."""
    return [part for turn in turns for part in _sentences_of(turn.user)]


def _sentences_of(text: str) -> list[str]:
    lines = (one_line(each.text) + "?" * each.question for each in sentences(text[:LONGEST_READ]))
    return [part for line in lines for part in _HAN_BLANK.split(line)]


def _with_days(item: Near) -> Known:
    """Return a memory as a model is given it: with the note of its days."""
    return replace(known(item), text=item.stored.entry.text)


def _closeness(memory: Known) -> float:
    return (memory.cosine or 0.0) + memory.overlap


def _cleaned(candidate: Candidate) -> Candidate:
    entities = [clean(name).text for name in candidate.entities]
    return replace(candidate, content=clean(candidate.content).text, entities=tuple(name for name in entities if name))


def _retractable(scope: Scope, turns: Sequence[Turn], by_rules: Sequence[MemoryRecord]) -> list[Kept]:
    """Return what a model may take back: in a group, not what somebody asked to remember."""
    fixed: set[tuple[int, str]] = set()
    if scope.kind.is_shared:
        fixed = {
            (turn.id, one_line(candidate.content))
            for turn in turns
            for candidate in extract_rules(turn)
            if candidate.explicit
        }
    return [
        Kept(id=memory.id, turn=memory.turn, text=memory.text)
        for memory in by_rules
        if not memory.quote and (memory.turn, unnamed(memory.text, memory.speaker)) not in fixed
    ]


def _speaker(scope: Scope) -> str:
    return scope.kind.speaker.format(re.sub(r"[^\w .-]+", " ", scope.name)[:40])  # a user chooses the name: no markup

"""Asks a model: with retries within a time limit, simpler answer formats, one repair, and a circuit breaker."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any, Final, TypeVar

from extractor.cleaning.clean import clean
from extractor.settings import ExtractorSettings
from extractor.types import Candidate, Kept, Known, ModelError, Turn, Usage
from gateway_memory.ground.policies import Breaker, backoff, retry

from . import prompt
from .answers import read_object
from .evidence import Read, believed, pointed_at, retracted_of
from .providers import MAX_OUTPUT_TOKENS, Answer, Format, Message, Provider, open_provider
from .summary import Summary, SummaryInput, summary_of
from .summary_prompt import SUMMARY_SCHEMA, summary_message

T = TypeVar("T")

ATTEMPTS: Final = 4
FIRST_WAIT_SECONDS: Final = 0.5
LONGEST_WAIT_SECONDS: Final = 20.0
_ANSWER_SHARE: Final = 4
"""The part of a model's context that is left for the answer: one in this many, and MAX_OUTPUT_TOKENS at most."""
_SHORTEST_HALF: Final = 200  # characters


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """The candidates with evidence, why others were left out, which memories of the rules are wrong, and the cost."""

    candidates: tuple[Candidate, ...]
    left_out: tuple[str, ...]
    retracted: frozenset[str]
    usage: Usage


class Model:
    """A model behind one provider. Every call ends in an answer or a ModelError.

    A request lasts at most `timeout_seconds`, and no further attempt begins that long after the first. The repair of an
    answer has a time of its own.

    sleep: waits between attempts. clock: monotonic, in seconds.
    """

    def __init__(
        self,
        settings: ExtractorSettings,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] | None = None,
        breaker: Breaker | None = None,
    ) -> None:
        self._settings = settings
        self._sleep = sleep
        self._clock = clock or (lambda: asyncio.get_running_loop().time())
        self._breaker = breaker or Breaker()
        self._provider: Provider | None = None
        self._opening = asyncio.Lock()
        self._form = 0

    async def close(self) -> None:
        """Close the connections."""
        provider, self._provider = self._provider, None
        if provider:
            await provider.close()

    @property
    def rests(self) -> bool:
        """Whether the model is not asked for a while, after repeated failures."""
        return self._breaker.is_open

    @property
    def form(self) -> Format:
        """The strictest format of an answer that the server has not refused."""
        return self._provider.formats[self._form] if self._provider else "schema"

    def cost_at_most(
        self,
        turns: Sequence[Turn],
        known: Sequence[Known] = (),
        kept: Sequence[Kept] = (),
        earlier: Sequence[Turn] = (),
    ) -> int:
        """Return the most tokens that an extraction can take, a repair included. They are reserved before the call."""
        system, message, schema = self._request(turns, known, kept, earlier)
        request = system + json.dumps(schema) + message
        answers = 2 * MAX_OUTPUT_TOKENS  # the repair request includes the first answer
        return 2 * prompt.estimate_tokens(request) + MAX_OUTPUT_TOKENS + answers

    async def extract(
        self,
        turns: Sequence[Turn],
        known: Sequence[Known],
        kept: Sequence[Kept] = (),
        *,
        now: datetime,
        speaker: str,
        earlier: Sequence[Turn] = (),
        named: Sequence[str] = (),
    ) -> Extraction:
        """Extract the memories of a batch, in one call.

        now: in the user's time zone. speaker: says who "the user" is.

        known: the nearest memories. kept: what the rules kept from the batch. A capable model may replace both, and
        take back the latter. earlier: turns of the conversation before the batch, which tell who and what is meant.
        named: other memories, which the model is not given; the names in them are no inventions.

        A batch that is too long for the model's context is read in halves.

        Raises:
            ModelError: there is no usable answer.
        """
        try:
            if len(prompt.given_turns(turns)) < len(turns):  # after an absence, when much waits
                raise ModelError("too_long")  # noqa: TRY301 - one way for whatever is too long
            system, message, schema = self._request(turns, known, kept, earlier)

            def read(answer: dict[str, Any]) -> tuple[Read, frozenset[str]]:
                if self._settings.is_small:
                    return pointed_at(answer, turns), frozenset()
                entries = believed(
                    answer, turns, now, known=known, kept=kept, earlier=earlier, named=named, speaker=speaker
                )
                return entries, retracted_of(answer, kept, known)

            ((candidates, left_out), retracted), usage = await self._ask(system, message, schema, read)
        except ModelError as error:
            halves = _halves(turns)
            if error.kind != "too_long" or halves is None:
                raise
        else:
            return Extraction(candidates=tuple(candidates), left_out=tuple(left_out), retracted=retracted, usage=usage)
        first, second = halves
        extraction = await self.extract(first, known, kept, now=now, speaker=speaker, earlier=earlier, named=named)
        before = [*earlier, *first]
        try:
            rest = await self.extract(second, known, kept, now=now, speaker=speaker, earlier=before, named=named)
        except ModelError as error:
            raise _with_usage(error, extraction.usage + error.usage) from None
        return Extraction(
            candidates=extraction.candidates + rest.candidates,
            left_out=extraction.left_out + rest.left_out,
            retracted=extraction.retracted | rest.retracted,
            usage=extraction.usage + rest.usage,
        )

    async def summarize(self, given: SummaryInput) -> tuple[Summary | None, Usage]:
        """Summarize a session, in one call; None where the model has nothing to say.

        Raises:
            ModelError: there is no usable answer.
        """
        return await self._ask(
            prompt.SUMMARY_SYSTEM, summary_message(given), SUMMARY_SCHEMA, partial(summary_of, given=given)
        )

    def _request(
        self, turns: Sequence[Turn], known: Sequence[Known], kept: Sequence[Kept], earlier: Sequence[Turn]
    ) -> tuple[str, str, Mapping[str, object]]:
        """Return the system message, the user message and the schema of an extraction."""
        if self._settings.is_small:
            message = prompt.small_message(turns, before=earlier[-1].reply if earlier else "")
            return prompt.system_for(turns, small=True), message, prompt.SMALL_SCHEMA
        message = prompt.full_message(turns, known=known, kept=kept, earlier=earlier)
        return prompt.system_for(turns, small=False), message, prompt.FULL_SCHEMA

    async def _ask(
        self, system: str, message: str, schema: Mapping[str, object], read: Callable[[dict[str, Any]], T]
    ) -> tuple[T, Usage]:
        usages: list[Usage] = []  # of all answers, so that a failure has its cost too
        messages: list[Message] = [("user", message)]
        try:
            with self._breaker.guard(lambda: ModelError("circuit_open"), _is_away):
                if self._is_too_long(system, message, schema):
                    raise ModelError("too_long")  # noqa: TRY301 - one way for whatever fails
                for _ in range(2):
                    answer = await self._answer(system, messages, schema, usages)
                    try:
                        result = await _aside(partial(_understood, answer, read, next(iter(_properties(schema)))))
                    except ValueError as problem:
                        text = clean(answer.text).text or "{}"  # an invented secret must not go into a request either
                        messages += [("assistant", text), ("user", prompt.REPAIR.format(problem=problem))]
                    else:
                        return result, sum(usages, Usage())
                raise ModelError("unreadable")  # noqa: TRY301 - one way for whatever fails
        except ModelError as error:
            raise _with_usage(error, sum(usages, Usage())) from None

    async def _answer(
        self, system: str, messages: Sequence[Message], schema: Mapping[str, object], usages: list[Usage]
    ) -> Answer:
        """Return one answer, in the strictest format that the server accepts. A refused format is not tried again."""
        provider = await self._opened()
        while True:
            form = provider.formats[self._form]
            try:
                answer = await self._attempts(provider, system, messages, schema, form)
            except ModelError as error:
                if not error.format_refused or self._form + 1 >= len(provider.formats):
                    raise
                self._form += 1
                continue
            usages.append(answer.usage)
            if answer.truncated:
                raise ModelError("truncated")
            return answer

    async def _attempts(
        self,
        provider: Provider,
        system: str,
        messages: Sequence[Message],
        schema: Mapping[str, object],
        form: Format,
    ) -> Answer:
        if form != "schema":  # in the system message, which servers keep from request to request
            system = f"{system}\n{prompt.SCHEMA_IN_WORDS.format(schema=json.dumps(schema))}"
        seconds = self._settings.timeout_seconds
        last = self._clock() + seconds

        async def ask() -> Answer:
            try:
                async with asyncio.timeout(seconds):
                    return await provider.ask(system, messages, schema, form)
            except TimeoutError:
                raise ModelError("timeout") from None

        def pause(error: Exception, attempt: int) -> float | None:
            """Wait longer each time; at least the server's retry-after."""
            if not isinstance(error, ModelError) or not error.retryable or attempt >= ATTEMPTS:
                return None
            wait = backoff(attempt, longest=LONGEST_WAIT_SECONDS, first=FIRST_WAIT_SECONDS, least=0.5)
            wait = max(wait, error.retry_after_seconds or 0.0)
            return wait if self._clock() + wait <= last else None

        return await retry(ask, pause, sleep=self._sleep)

    def _is_too_long(self, system: str, message: str, schema: Mapping[str, object]) -> bool:
        """Return whether a request exceeds the context that the settings state, with room for the answer."""
        window = self._settings.context_tokens
        answer = min(MAX_OUTPUT_TOKENS, window // _ANSWER_SHARE)
        return 0 < window < prompt.estimate_tokens(system + json.dumps(schema) + message) + answer

    async def _opened(self) -> Provider:
        async with self._opening:
            if self._provider is None:
                self._provider = await _aside(partial(open_provider, self._settings))
            return self._provider


async def _aside(work: Callable[[], T]) -> T:
    """Return the result of work that blocks, or computes for long, in a thread of its own."""
    thread = ThreadPoolExecutor(1, thread_name_prefix="gateway-memory-model")
    try:
        return await asyncio.get_running_loop().run_in_executor(thread, work)
    finally:
        thread.shutdown(wait=False)


def _properties(schema: Mapping[str, Any]) -> Mapping[str, object]:
    properties: Mapping[str, object] = schema["properties"]
    return properties


def _understood(answer: Answer, read: Callable[[dict[str, Any]], T], key: str) -> T:
    return read(read_object(answer.text, key))


def _is_away(error: Exception) -> bool:
    """Return whether a provider does not answer. One whose answer is of no use is alive."""
    return isinstance(error, ModelError) and error.kind not in ("truncated", "unreadable", "too_long")


def _halves(turns: Sequence[Turn]) -> tuple[Sequence[Turn], Sequence[Turn]] | None:
    """Return the halves of a batch, or of the text of its only turn without the reply; None where that is short."""
    middle = len(turns) // 2
    if middle:
        return turns[:middle], turns[middle:]
    (turn,) = turns
    at = min(len(turn.user), prompt.LONGEST_MESSAGE) // 2
    if at < _SHORTEST_HALF:
        return None
    return [replace(turn, user=turn.user[:at], reply="")], [replace(turn, user=turn.user[at : 2 * at], reply="")]


def _with_usage(error: ModelError, usage: Usage) -> ModelError:
    return ModelError(error.kind, retryable=error.retryable, retry_after_seconds=error.retry_after_seconds, usage=usage)

"""The immediate stage: extract plain statements of the user by rules, and index what was said."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from extractor import LONGEST_READ, Candidate, Part, Turn, extract_rules, with_unread
from gateway_memory.capture.changes import MemoryChanges
from gateway_memory.capture.executor import Draft, as_turn, by_scope
from gateway_memory.capture.filing import Filing
from gateway_memory.capture.requests import request_in
from gateway_memory.errors import StoreError
from gateway_memory.ground.logs import get_logger
from gateway_memory.ground.runtime import Runtime
from gateway_memory.ground.threads import compute
from gateway_memory.scope import Scope
from gateway_memory.store.journal.turns import PendingTurn, TurnState
from gateway_memory.sync.storage import Storage
from recall import RecallError

log = get_logger(__name__)

_LEANS_WITHIN_SECONDS, _SESSIONS_KEPT = 900, 1000
_LOADING_SECONDS: Final = 10
"""How long a message waits for its vector: an encoder takes long to load on a busy machine."""


class RulesStage:
    """The immediate stage: extract plain statements of the user by rules, and index what was said."""

    name = "rules"
    state: TurnState = "accepted"

    def __init__(self, runtime: Runtime, storage: Storage, filing: Filing, changes: MemoryChanges) -> None:
        self._runtime = runtime
        self._storage = storage
        self._filing = filing
        self._changes = changes
        self._before: dict[tuple[str, str], PendingTurn] = {}
        """The last message of each speaker, by session."""

    async def run(self, turns: Sequence[PendingTurn]) -> None:
        """Extract from each turn by rules, and execute requests to forget. One plan a scope.

        What takes back or corrects the message before it leaves nothing of that; a correction is read together with it.
        """
        for key, group in by_scope(turns):
            scope = Scope.parse(key)
            read, extracted, gone = list[PendingTurn](), list[Sequence[Candidate]](), set[int]()
            for turn in await self._changes.renamer.heard(scope, group):
                before, does = await self._leans_on(turn)
                whole = replace(turn, user=f"{before.user}\n{turn.user}") if before and does == "mends" else turn
                candidates = await self._extract(scope, turn, whole)
                if before and (does == "unsays" or candidates):
                    gone.add(before.id)
                read.append(whole)
                extracted.append(candidates)
                self._keep(whole, tells=bool(candidates))
            draft = Draft(scope, "rules", read)
            draft.by_rules = list(await self._storage.ledger.of_turns(scope.key, sorted(gone))) if gone else []
            retracted = [memory.id for memory in draft.by_rules]
            extracted = [() if turn.id in gone else each for turn, each in zip(read, extracted, strict=True)]
            await self._filing.file(draft, extracted, empty="nothing_to_keep", retracted=retracted)
            await self._index_episodes(key, group)

    async def _leans_on(self, turn: PendingTurn) -> tuple[PendingTurn | None, Part | None]:
        """Return the message of the same speaker that a turn takes back or corrects, and which of both it does."""
        before = self._before.get((turn.session_id, turn.speaker))
        if before is None or turn.imported or turn.at - before.at > _LEANS_WITHIN_SECONDS:
            return None, None
        does = await self._filing.does_to_the_one_before(turn.user)
        return (before, does) if does else (None, None)

    def _keep(self, turn: PendingTurn, *, tells: bool) -> None:
        """Keep a turn for the next one of its speaker, if it tells something that may be kept."""
        self._before.pop((turn.session_id, turn.speaker), None)
        if tells:
            self._before[turn.session_id, turn.speaker] = replace(turn, user=turn.user[:LONGEST_READ], reply="")
        if len(self._before) > _SESSIONS_KEPT:
            del self._before[next(iter(self._before))]

    async def _extract(self, scope: Scope, turn: PendingTurn, whole: PendingTurn) -> Sequence[Candidate]:
        """Return what a turn tells. whole: the same with the message that it corrects."""
        if not turn.extract:
            return ()
        await self._changes.answers.read(scope, turn)
        if request := await request_in(self._storage.recaller, turn.user, _LOADING_SECONDS):
            # A wish that another program was told concerns no memory of ours.
            if request.only_asks and not turn.imported:
                await self._changes.forgetter.by_wish(scope, turn, request)
            if request.only_asks:
                return ()
        return await compute(_candidates, as_turn(whole, self._runtime.zone), imported=turn.imported)

    async def _index_episodes(self, scope: str, turns: Sequence[PendingTurn]) -> None:
        """Index what was said. Where that fails, it is indexed with the scope's next session."""
        new = [turn for turn in turns if not turn.imported]
        kept = [turn.id for turn in new if self._runtime.settings_of(turn.session_key).episodes.enabled]
        try:
            if kept:
                await self._storage.episode_follower.index(scope, kept)
        except (StoreError, RecallError) as error:
            log.warning("episodes.not_indexed", error=type(error).__name__)
            self._runtime.on_error("episodes", error)


def _candidates(turn: Turn, *, imported: bool) -> list[Candidate]:
    """Return the rules' candidates, and sentences that only their vectors can judge.

    Of an imported turn, none may change a memory.
    """
    kept = extract_rules(turn)
    candidates = with_unread(turn, kept)
    if not imported:
        return candidates
    unread = (replace(candidate, only_as=candidate.only_as - {"change"}) for candidate in candidates[len(kept) :])
    return [*kept, *(candidate for candidate in unread if candidate.only_as)]

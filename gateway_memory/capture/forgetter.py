"""Forget a memory, an exchange or a whole session. Each is one plan, so that one undo brings it back."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from extractor import Candidate, Known, decide, statements, without_commands
from gateway_memory.capture.executor import Draft, known
from gateway_memory.capture.merger import Changer
from gateway_memory.capture.reader import NEAREST, NEAREST_SECONDS
from gateway_memory.capture.requests import Request, memories_meant
from gateway_memory.ground.threads import compute
from gateway_memory.scope import Scope
from gateway_memory.store.documents import day_file, is_writable
from gateway_memory.store.journal.episodes import Episode
from gateway_memory.store.journal.speakers import Sender
from gateway_memory.store.journal.turns import PendingTurn
from gateway_memory.store.markdown import new_id, one_line
from gateway_memory.store.memory_record import EXCHANGE, SAID, TALK, UNWRITTEN, MemoryRecord
from gateway_memory.store.plan import Retired
from gateway_memory.store.reviewed import Settled
from gateway_memory.store.withheld import Forgotten, Withheld, sentences_of, terms_of
from recall import Near, Stored

_BY_WISH: Final = "asked"
_AT_ONCE: Final = 500
"""Exchanges that are read together."""


class Forgetter(Changer):
    """Forgets in any scope. What says the same as what is forgotten goes with it, as merging finds it."""

    async def memory(
        self, scope: Scope, stored: Stored, *, reason: str = "command", turn: int = 0
    ) -> Sequence[MemoryRecord]:
        """Forget a memory; return it, and those that say the same. The journal keeps them for an undo."""
        async with self._executor.drafting(scope, "command") as draft:
            memory = await self._merger.memory(scope, stored)
            memories = [memory, *await self._alike(scope, [memory.text], {memory.id}, {memory.speaker})]
            await self._forget(draft, memories, reason, turn=turn)
        return memories

    async def lost(self, scope: Scope, ids: Sequence[str]) -> None:
        """Forget memories that a file had lost, since a person had deleted them there."""
        async with self._executor.drafting(scope, "command") as draft:
            rows = [await self._storage.recaller.get(scope.key, identity) for identity in ids]
            memories = [await self._merger.memory(scope, row) for row in rows if row and is_writable(row.file)]
            await self._forget(draft, memories, "deleted")

    async def exchange(self, scope: Scope, turn: int) -> str | None:
        """Forget what was said in a turn, and what was learnt from it; return what was said.

        Return None if there is no such exchange, or if it was forgotten before.
        """
        quotable = await self._storage.episodes.quotable(scope.key, [turn])
        sides = quotable.sides(turn, "past")
        if sides is None:
            return None
        async with self._executor.drafting(scope, "command") as draft:
            await self._forget_turns(draft, [quotable.episodes[turn]])
        return sides[0] or sides[1]

    async def replaced(self, scope: Scope, turn: int) -> None:
        """Take back what was learnt from a turn in whose place another one stands, and restore what that had replaced.

        The turn is not quoted any more. What says the same elsewhere stays: nobody has asked to forget it.
        """
        await self._storage.turns.drop(turn)
        async with self._executor.drafting(scope, "command") as draft:
            draft.by_rules = await self._storage.ledger.of_turns(scope.key, [turn])
            for memory in list(draft.by_rules):
                await self._merger.draft_retraction(memory.id, draft)
            quotable = await self._storage.episodes.quotable(scope.key, [turn])
            if turn in quotable.episodes and turn not in quotable.gone:
                draft.retire(self._name(quotable.episodes[turn]), "retracted", "replaced", turn=turn)

    async def session(self, scope: Scope, session_id: str) -> tuple[int, int] | None:
        """Forget what was said in a session until now, what was learnt from it, its record and its observations.

        Returns the number of exchanges and of memories; None if it has left nothing that was not forgotten before.
        """
        turns = await self._storage.episodes.of_session(scope.key, session_id)
        quotable = await self._storage.episodes.quotable(scope.key, turns)
        episodes = [
            quotable.episodes[turn] for turn in turns if turn in quotable.episodes
        ]  # also those that were forgotten alone
        async with self._executor.drafting(scope, "command") as draft:
            learnt = await self._storage.ledger.of_session(scope.key, session_id)
            rows = await self._storage.records.read(scope)
            recorded = any(row["session_id"] == session_id and not row.get("deleted_at") for row in rows)
            observations, _ = await self._storage.sessions.read(scope.key, session_id)
            if not (
                not quotable.gone.issuperset(turns) or learnt or recorded or any(each.content for each in observations)
            ):
                return None
            name = self._unwritten(TALK, session_id, self._runtime.timestamp())
            new = sum(turn not in quotable.gone for turn in turns)
            return new, await self._forget_turns(draft, episodes, learnt=learnt, sessions=[name])

    async def since(self, scope: Scope, at: float) -> tuple[int, int]:
        """Forget all that was said and learnt since a time (epoch seconds), in one change.

        Returns the number of exchanges and of memories.
        """
        await self._storage.follower.refresh(scope)
        async with self._executor.drafting(scope, "command") as draft:
            said = await self._all_said(scope)
            begun = {each.session_id: each.at for each in reversed(said)}
            episodes = [each for each in said if each.at >= at]
            gone = (await self._storage.episodes.quotable(scope.key, [each.turn for each in episodes])).gone
            episodes = [each for each in episodes if each.turn not in gone]
            rows = await self._storage.recaller.newest(scope.key, await self._storage.recaller.count(scope.key))
            learnt = [row for row in rows if row.entry.at >= at and is_writable(row.file)]
            now, sessions = self._runtime.timestamp(), dict.fromkeys(each.session_id for each in episodes)
            names = [self._unwritten(TALK, each, now) for each in sessions if begun[each] >= at]
            memories = [await self._merger.memory(scope, row) for row in learnt]
            if not (episodes or memories):
                return 0, 0
            return len(episodes), await self._forget_turns(draft, episodes, learnt=memories, sessions=names)

    async def by_wish(self, scope: Scope, turn: PendingTurn, request: Request) -> None:
        """Carry out a request to forget what was said last, or something that is certain to be meant.

        If no memory is certain, `/memory forget` shows the possible ones. Text that was never a memory may still have
        been said, so it is withheld from records and openings. The request itself, which repeats it, is not quoted.
        """
        if request.act == "forget_last":
            turns = await self._storage.episodes.of_session(scope.key, turn.session_id)
            said = (await self._storage.episodes.quotable(scope.key, turns)).episodes
            theirs = (each for each in turns if each in said and Sender(turn.speaker).may_change(said[each].speaker))
            if last := max((each for each in theirs if each < turn.id), default=0):
                await self.exchange(scope, last)
        elif request.act == "forget" and terms_of(request.what):
            await self._forget_named(scope, turn, request.what)
        await self._storage.turns.leave_unsaid([turn.id])

    async def _forget_named(self, scope: Scope, turn: PendingTurn, what: str) -> None:
        await self._storage.follower.refresh(scope)
        nearest = await self._storage.recaller.nearest(scope.key, what, NEAREST, timeout_seconds=NEAREST_SECONDS)
        others = await self._of_others(scope, turn, nearest)
        meant = memories_meant(what, [item for item in nearest if item.stored.entry.id not in others])
        if others and not meant.possible and memories_meant(what, nearest).possible:
            return  # somebody else has said it
        # A command has withheld it before, which this turn repeats; and one to the machine is no wish of the user.
        done = (await self._storage.ledger.withheld(scope.key)).says(what) or without_commands(what) != what
        if meant.certain:
            await self.memory(scope, meant.certain, reason=_BY_WISH, turn=turn.id)
        elif not (meant.possible or done):
            await self._withhold(scope, turn, what)

    async def _of_others(self, scope: Scope, turn: PendingTurn, near: Sequence[Near]) -> set[str]:
        """Return the ids of memories that others than a turn's speaker have said in a room."""
        by = Sender(turn.speaker)
        if by.is_host or not scope.kind.is_shared:
            return set()
        known = await self._storage.ledger.memories(scope.key, [item.stored.entry.id for item in near])
        return {each.id for each in known.values() if not by.may_change(each.speaker)}

    async def _all_said(self, scope: Scope) -> list[Episode]:
        """Return all exchanges of a scope, oldest first."""
        said: list[Episode] = []
        while part := await self._storage.episodes.all_of(scope.key, said[-1].turn if said else 0, _AT_ONCE):
            said += part
        return said

    async def alike(self, scope: Scope, forgotten: Mapping[str, float]) -> None:
        """Forget the memories that say the same as texts that were forgotten elsewhere, if they were said before.

        forgotten: the texts, each with its time (epoch seconds).
        """
        async with self._executor.writing(scope):
            for text, at in forgotten.items():
                memories = [each for each in await self._alike(scope, [text], set(), {""}) if each.at <= at]
                if memories:
                    draft = Draft(scope, "command")
                    await self._forget(draft, memories, "linked", turn=0)
                    await self._executor.complete(draft)

    async def keep_hidden(self, scope: Scope, before: Withheld) -> None:
        """Forget the exchanges of a scope that repeat what was withheld there before, so that they stay hidden.

        A link has ended, and some forgotten text has left this scope with it. Call it only within the documents'
        `writing`.
        """
        now = await self._storage.ledger.withheld(scope.key)
        after = 0
        while before and (episodes := await self._storage.episodes.all_of(scope.key, after, _AT_ONCE)):
            after = episodes[-1].turn
            names = [self._name(each) for each in episodes if _is_cut(each, before) and not _is_cut(each, now)]
            if names:
                draft = Draft(scope, "link")
                await self._forget(draft, names, "linked")
                await self._executor.complete(draft)

    async def _forget_turns(
        self,
        draft: Draft,
        episodes: Sequence[Episode],
        *,
        learnt: Sequence[MemoryRecord] = (),
        sessions: Sequence[MemoryRecord] = (),
    ) -> int:
        """Add to a draft that exchanges are forgotten with what was learnt from them; return the number of memories.

        learnt: further memories. sessions: name those of which all is forgotten.
        """
        scope, turns = draft.scope, [episode.turn for episode in episodes]
        memories = {each.id: each for each in [*learnt, *await self._storage.ledger.of_turns(scope.key, turns)]}
        memories = {identity: each for identity, each in memories.items() if is_writable(each.file)}
        texts = [sentence for episode in episodes for sentence in await compute(statements, episode.user)]
        texts += [each.text for each in memories.values() if each.type != "S"]
        speakers = {episode.speaker for episode in episodes} | {each.speaker for each in learnt}
        memories |= {each.id: each for each in await self._alike(scope, texts, set(memories), speakers)}
        reviews = [each for each in await self._storage.reviews.waiting(scope.key) if each.memory.turn in set(turns)]
        draft.settled += [Settled(id=each.memory.id, state="forgotten") for each in reviews]
        names = [*(self._name(episode) for episode in episodes), *sessions]
        sides = [side for episode in episodes for side in (episode.user, episode.reply)]
        words = [text for side in sides for text in sentences_of(side)]
        await self._forget(draft, [*memories.values(), *names], "command", more=words)
        return sum(each.type != "S" for each in memories.values())

    def _name(self, episode: Episode) -> MemoryRecord:
        """Return what names a turn as forgotten. It repeats no word of it: they stand in the episode itself."""
        text = f"e{episode.turn} {self._runtime.day_of(episode.at)}"
        return self._unwritten(EXCHANGE, text, episode.at, key=episode.session_key, turn=episode.turn)

    def _unwritten(self, category: str, text: str, at: float, *, key: str = "", turn: int = 0) -> MemoryRecord:
        """Return what stands for something forgotten that was no memory. It is in no file."""
        file = day_file(self._runtime.day_of(at))
        return MemoryRecord(id=new_id(), text=text, file=file, at=at, session_key=key, category=category, turn=turn)

    async def _alike(
        self, scope: Scope, texts: Sequence[str], besides: set[str], speakers: set[str]
    ) -> list[MemoryRecord]:
        """Return the memories that say the same as one of these texts, beside some.

        speakers: in a room, who may have said it.
        """
        lines = [one_line(text) for text in dict.fromkeys(texts)]
        near = await self._storage.recaller.nearest_each(scope.key, lines, NEAREST, timeout_seconds=NEAREST_SECONDS)
        pairs = [
            (line, item)
            for line, items in zip(lines, near, strict=True)
            for item in items
            if item.stored.entry.kind == "item" and is_writable(item.stored.file)
            if item.stored.entry.id not in besides
        ]
        same = await compute(
            lambda: {item.stored.entry.id: item.stored for line, item in pairs if _is_same(line, item)}
        )
        memories = [await self._merger.memory(scope, stored) for stored in same.values()]
        return [each for each in memories if not scope.kind.is_shared or each.speaker in speakers]

    async def _forget(
        self, draft: Draft, memories: list[MemoryRecord], reason: str, turn: int | None = None, more: Sequence[str] = ()
    ) -> None:
        """Add to a draft that memories are forgotten, and that stage summaries lose their words.

        turn: of the lines of the receipt; None for that of each memory. more: further words that summaries lose.
        """
        for each in memories:
            draft.retire(each, "forgotten", reason, turn=each.turn if turn is None else turn)
        own = [text for each in memories if each.category not in UNWRITTEN for text in (each.text, each.quote)]
        now, ids = self._runtime.timestamp(), {item.memory.id for item in draft.retired}
        withheld = Withheld(Forgotten(text=text, at=now) for text in (*own, *more))
        for summary in await self._storage.ledger.stage_summaries(draft.scope.key):
            cut = withheld.cut(summary.text).strip()
            if cut == summary.text or summary.id in ids:
                continue
            if cut:
                draft.added.append(replace(summary, id=new_id(), text=cut))
                draft.retired.append(Retired(memory=summary, state="superseded", replaced_by=draft.added[-1].id))
            else:
                draft.retired.append(Retired(memory=summary, state="forgotten"))

    async def _withhold(self, scope: Scope, turn: PendingTurn, what: str) -> None:
        """Withhold words that are no memory."""
        words = self._unwritten(SAID, what, self._runtime.timestamp(), key=turn.session_key, turn=turn.id)
        async with self._executor.drafting(scope, "command") as draft:
            draft.retire(words, "forgotten", _BY_WISH, action="withheld", turn=turn.id)


def _is_cut(episode: Episode, withheld: Withheld) -> bool:
    """Return whether something is withheld of what was said in an exchange."""
    sides = (episode.user, episode.reply)
    words = withheld.words_of(*sides, since=episode.at)
    return any(withheld.cut(side, since=episode.at, words=words) != side for side in sides)


def _is_same(text: str, item: Near) -> bool:
    """Return whether merging would find a text and a memory to say the same, whichever of them came first."""
    there = known(item)
    here = Known(id="", text=text, cosine=item.cosine, overlap=item.overlap, importance="normal")
    return any(decide(_as_candidate(new), [old]).action == "skip" for new, old in ((text, there), (there.text, here)))


def _as_candidate(text: str) -> Candidate:
    return Candidate(content=text, category="fact", type="W", importance="normal", confidence=1.0)

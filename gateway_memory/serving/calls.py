"""The calls that the service answers at /v1/…: what each does with the memory of its agent, and /openapi.json."""

import asyncio
import hashlib
import json
from collections import OrderedDict
from collections.abc import Coroutine
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

from gateway_memory.capture.unkept import secret_note
from gateway_memory.commands.answers import phrase
from gateway_memory.commands.search import as_filter
from gateway_memory.context.finder import Found
from gateway_memory.edge.content import text_of
from gateway_memory.errors import RefusedError
from gateway_memory.identity import Facts, Refused
from gateway_memory.memory import GatewayMemory
from gateway_memory.scope import KINDS
from gateway_memory.serving import models
from gateway_memory.serving.errors import ServiceError
from gateway_memory.sessions.session import Session
from gateway_memory.store.journal.requests import Request
from gateway_memory.store.summaries import stored_record
from recall import Filter

T = TypeVar("T")

_OPENINGS: Final = 10_000
"""Sessions whose last opening is known. An older one gets its opening once more."""


class AgentCalls:
    """The calls of one agent. Each takes a checked request and returns its answer."""

    def __init__(self, agent: str, memory: GatewayMemory) -> None:
        self.agent = agent
        self.memory = memory
        self._opened_with: OrderedDict[str, bytes] = OrderedDict()

    # Before and after a reply

    async def before_reply(self, request: models.BeforeReply) -> models.ToldBefore:
        """What to add to the prompt of this reply.

        The session's start gets `timeoutMs`, and so does the context.
        """
        memory, facts = self.memory, self._facts(request.speaker)
        deadline = asyncio.get_running_loop().time() + memory.settings.auto_recall.timeout_ms / 1000
        session = await _within(deadline, memory.session_of(facts, ephemeral=request.ephemeral))
        if session is None:
            return models.ToldBefore(
                session_id="",
                opening="",
                opening_partial=request.opening,
                rule="",
                context="",
                outcome="timeout",
                recalled=[],
            )
        opening = await _within(deadline, self._opening(session, request)) if request.opening else ""
        context = await memory.before_reply(session, request.message, at=request.at)
        asked = context.request
        return models.ToldBefore(
            session_id=session.session_id,
            opening=self._unless_delivered(
                session, opening or "", ephemeral=request.ephemeral or bool(request.placement)
            ),
            opening_partial=request.opening and (opening is None or session.in_context.partial),
            rule=memory.rule_text(session),
            context=context.text,
            outcome=context.outcome,
            recalled=[hit.id for hit in context.recalled],
            request=None
            if asked is None
            else models.MemoryAsked(act=asked.act, sure=asked.sure, ids=list(asked.ids), done=asked.done),
        )

    async def _opening(self, session: Session, request: models.BeforeReply) -> str:
        """Return the opening for a reply: made anew if its scope has changed, or as it was placed at first."""
        if not request.placement:
            return await self.memory.opening(session)
        placed = await self.memory.placed(session)
        session.in_context.opens_reply = True
        return placed.opening

    def _unless_delivered(self, session: Session, opening: str, *, ephemeral: bool) -> str:
        """Return an opening, "" if the same was delivered to the session, which has it still."""
        if ephemeral or not opening:
            return opening
        digest = hashlib.blake2b(opening.encode("utf-8", "replace"), digest_size=8).digest()
        delivered = self._opened_with.get(session.session_id) == digest
        self._opened_with[session.session_id] = digest
        self._opened_with.move_to_end(session.session_id)
        if len(self._opened_with) > _OPENINGS:
            self._opened_with.popitem(last=False)
        return "" if delivered else opening

    async def after_reply(self, request: models.AfterReply) -> models.KeptTurn:
        """Keep a turn. It is durable when answered.

        The memory knows the ids of its turns.
        """
        session = await self._session(request.speaker, ephemeral=request.ephemeral)
        turn = await self.memory.after_reply(
            session,
            user=request.user,
            reply=request.reply,
            at=request.at,
            turn_id=request.id,
            provenance=request.provenance,
        )
        return models.KeptTurn(turn=max(turn, 0), kept=turn != 0)

    async def compaction(self, request: models.Compaction) -> models.Compacted:
        """The context is, or was, compacted."""
        texts = []
        for session in await self._sessions(request, start=True):
            if request.done:
                session.compacted()
            else:
                text = await self.memory.before_compaction(
                    session, usage=request.usage, messages=request.messages, wants=request.wants
                )
                texts.append(text)
            self._opened_with.pop(session.session_id, None)
        text = "\n\n".join(filter(None, texts))
        if request.done:
            return models.Compacted()
        return models.Compacted(text=text) if request.wants == "text" else models.Compacted(prompt=text)

    async def end_session(self, request: models.EndSession) -> models.Ended:
        """End a session, or all of a key.

        After a crash there is none that this request meant: the start closed them.
        """

        async def work() -> dict[str, Any]:
            sessions = await self._sessions(request, start=False)
            for session in sessions:
                await self.memory.end_session(
                    session, reason=request.reason, error=request.error, duration_ms=request.duration_ms
                )
            return {"ended": len(sessions)}

        async def if_interrupted() -> dict[str, Any]:
            return {"ended": 0}

        record = Request(call="end_session", caller=_caller(request.speaker or request.key), id=request.id, scope="")
        return models.Ended(**await self.memory.once(record, work, unknown=if_interrupted))

    # What is typed and searched

    async def command(self, request: models.CommandText) -> models.CommandAnswer:
        """Answer a message if it is a command.

        One that changes something is carried out once.
        """
        text = text_of(request.text, "text")
        session = await self._session(request.speaker)

        async def work() -> dict[str, Any]:
            answer = await self.memory.answer(session, text)
            return {"answer": answer and answer.text, "done": bool(answer and answer.done)}

        async def if_interrupted() -> dict[str, Any]:
            return {"answer": phrase(session, "not_known_whether_done"), "done": False}

        if not await self.memory.may_change(session, text):
            return models.CommandAnswer(**await work())
        # A plan that could not be carried out is carried out later, so a failure proves nothing.
        record = self._request("command", request, session)
        return models.CommandAnswer(**await self.memory.once(record, work, unknown=if_interrupted, sure=False))

    async def search(self, request: models.Search) -> models.FoundHits:
        """Search the speaker's memory."""
        session = await self._session(request.speaker)
        hits = await self.memory.search(session, **request.arguments())
        return self._hits(session, hits)

    async def get(self, request: models.Get) -> models.FoundHits:
        """A hit again, with what was said around it."""
        session = await self._session(request.speaker)
        return self._hits(session, await self.memory.get(session, request.hit, around=request.around))

    # What there is, page by page

    async def list_memories(self, request: models.ListMemories) -> models.MemoriesListed:
        """The memories of a speaker, newest first."""
        session = await self._session(request.speaker)
        only = self._only(type=request.type, category=request.category, since=request.since, until=request.until)
        page = await self.memory.lists.memories(session, only, after=request.after, limit=request.limit)
        same = [name for name in models.MemoryListed.model_fields if name != "at"]
        rows = [
            models.MemoryListed(**{name: getattr(hit, name) for name in same}, at=self._time(hit.at))
            for hit in page.rows
        ]
        return models.MemoriesListed(rows=rows, next=page.next)

    async def list_episodes(self, request: models.ListEpisodes) -> models.ExchangesListed:
        """What was said by and to a speaker, newest first."""
        session = await self._session(request.speaker)
        only = self._only(since=request.since, until=request.until, session_key=request.session)
        page = await self.memory.lists.episodes(session, only, after=request.after, limit=request.limit)
        rows = [
            models.ExchangeListed(
                turn=said.turn,
                at=self._time(said.at),
                session=episode.session_key,
                user=said.user,
                reply=said.reply,
                learnt=[memory.id for memory in said.learnt],
            )
            for episode, said in page.rows
        ]
        return models.ExchangesListed(rows=rows, next=page.next)

    async def list_replies(self, request: models.Listed) -> models.RepliesListed:
        """The replies to a speaker, with the memories that were injected, newest first."""
        session = await self._session(request.speaker)
        page = await self.memory.lists.replies(session, after=request.after, limit=request.limit)
        rows = [
            models.ReplyListed(
                turn=each.reply.turn,
                at=self._time(each.reply.at),
                session=each.reply.session_key,
                user=each.said.user if each.said else "",
                outcome=each.reply.report.outcome if each.reply.report else "",
                recalled=[models.Recalled(id=identity, text=text) for identity, text in each.recalled],
            )
            for each in page.rows
        ]
        return models.RepliesListed(rows=rows, next=page.next)

    async def list_records(self, request: models.Listed) -> models.RecordsListed:
        """The records of a speaker's ended sessions, newest first."""
        session = await self._session(request.speaker)
        page = await self.memory.lists.records(session, after=request.after, limit=request.limit)
        wanted = models.RecordListed.model_fields
        records = [stored_record(row).fields() for row in page.rows]
        rows = [models.RecordListed(**{name: row[name] for name in wanted}) for row in records]
        return models.RecordsListed(rows=rows, next=page.next)

    async def list_pending(self, request: models.ListPending) -> models.PendingListed:
        """What waits for a speaker's approval, oldest first."""
        session = await self._session(request.speaker)
        page = await self.memory.lists.pending(session, request.words, after=request.after, limit=request.limit)
        rows = [models.ReviewListed.model_validate(row) for row in page.rows]
        return models.PendingListed(rows=rows, next=page.next)

    async def list_people(self, request: models.OneOfPages) -> models.PeopleListed:
        """Whose memories there are: the owner's first, then by when something was said last."""
        page = await self.memory.lists.people(after=request.after, limit=request.limit)
        rows = [
            models.PersonListed(
                scope=face.scope.key,
                kind=face.scope.kind.name,
                name=face.name,
                linked=face.linked.key if face.linked else "",
                memories=face.memories,
                exchanges=face.exchanges,
                last=self._time(face.last) if face.last else None,
            )
            for face in page.rows
        ]
        return models.PeopleListed(rows=rows, next=page.next)

    def _only(self, **filters: str | None) -> Filter:
        return as_filter(**filters, zone=self.memory.zone) or Filter()

    def _time(self, at: float) -> datetime:
        return datetime.fromtimestamp(at, UTC).astimezone(self.memory.zone)

    # What is saved

    async def observe(self, request: models.Observe) -> models.Done:
        """Keep a tool call, a decision or an error.

        The memory knows its id.
        """
        session = await self._session(request.speaker)
        await self.memory.observe(session, **request.arguments(), id=request.id)
        return models.Done()

    async def save_fact(self, request: models.Fact) -> models.SavedFact:
        """Save a fact that the agent states.

        Saved again after a crash, it is the same memory.
        """
        session = await self._session(request.speaker)

        async def work() -> dict[str, Any]:
            memory = await self.memory.save_fact(session, **request.arguments())
            return {"memory": memory, "reason": secret_note(text_of(request.content, "content"))}

        return models.SavedFact(**await self.memory.once(self._request("save_fact", request, session), work))

    async def save_summary(self, request: models.Summary) -> models.SavedSummary:
        """Save the agent's summary of its session."""
        session = await self._session(request.speaker)

        async def work() -> dict[str, Any]:
            return {"saved": await self.memory.save_summary(session, **request.arguments())}

        return models.SavedSummary(**await self.memory.once(self._request("save_summary", request, session), work))

    async def flush(self, _: models.Flush) -> models.Done:
        """Process all waiting turns now, and wait for it."""
        await self.memory.flush()
        return models.Done()

    # Whose session it is

    def _facts(self, speaker: models.SpeakerFacts) -> Facts:
        if speaker.agent and speaker.agent.lower() != self.agent.lower():
            raise ServiceError("forbidden", f"this token is that of the agent {self.agent}", "speaker.agent")
        return speaker.facts(self.agent)

    async def _session(self, speaker: models.SpeakerFacts, *, ephemeral: bool = False) -> Session:
        return await self.memory.session_of(self._facts(speaker), ephemeral=ephemeral)

    async def _sessions(self, request: models.OfKey, *, start: bool) -> list[Session]:
        """Return the sessions that a request means: those of a key, or the speaker's. start: start the speaker's."""
        if request.speaker is None:
            assert request.key
            return await self.memory.open_sessions(request.key)
        if start:
            return [await self._session(request.speaker)]
        facts = self._facts(request.speaker)
        speaker = await self.memory.identify(facts)
        if isinstance(speaker, Refused):
            raise RefusedError(speaker.reason)
        return [each for each in await self.memory.open_sessions(facts.key) if each.scope == speaker.scope]

    def _request(self, call: str, request: models.Written, session: Session) -> Request:
        return Request(call=call, caller=_caller(request.speaker), id=request.id, scope=session.scope.key)

    def _hits(self, session: Session, hits: Found) -> models.FoundHits:
        least = session.settings.auto_recall.min_score
        same = [name for name in models.HitFound.model_fields if name not in ("at", "weak")]
        return models.FoundHits(
            hits=[
                models.HitFound(
                    **{name: getattr(hit, name) for name in same},
                    at=self._time(hit.at),
                    weak=hit.is_weak(least),
                )
                for hit in hits
            ],
            outcome=hits.outcome,
        )


def _caller(who: models.SpeakerFacts | str | None) -> str:
    """Return who asks, as a digest: ids of different senders, chats and sessions may be equal.

    The facts are taken as they are stated, since a link changes the scope to which they lead.
    """
    joined = {kind.name for kind in KINDS.values() if kind.may_be_joined}
    facts = who.model_dump(exclude={"agent", "message_id", *joined}) if isinstance(who, models.SpeakerFacts) else who
    text = json.dumps(facts, sort_keys=True)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


async def _within(deadline: float, work: Coroutine[Any, Any, T]) -> T | None:
    """Return the result of work, or None at a deadline of the loop's clock; the work goes on then."""
    task = asyncio.create_task(work)
    seconds = max(0.0, deadline - asyncio.get_running_loop().time())
    done, _ = await asyncio.wait([task], timeout=seconds)
    if not done:
        task.add_done_callback(lambda late: late.cancelled() or late.exception())
        return None
    return task.result()

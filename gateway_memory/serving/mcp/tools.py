"""The tools: few, each for one purpose, the cheap ones first."""

from collections.abc import Awaitable
from typing import Annotated, Any, Final, Literal, TypeVar

from mcp.server.mcpserver import Context, Elicit, MCPServer, Resolve
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from pydantic import BaseModel, Field

from gateway_memory.capture.masked import secret_note
from gateway_memory.edge.phrases import CHAT
from gateway_memory.errors import GatewayMemoryError
from gateway_memory.serving.mcp.desk import Desk, FindDesk
from gateway_memory.serving.mcp.results import (
    Ended,
    Event,
    Forgotten,
    Found,
    History,
    Saved,
    State,
    Why,
    record_of,
)

__all__ = ["add_tools"]

_READS: Final = ToolAnnotations(read_only_hint=True, open_world_hint=False)
_WRITES: Final = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
_FORGETS: Final = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False
)

_SHOWN: Final = 300
"""Characters of a memory that a question repeats."""

T = TypeVar("T")

Ctx = Context[Any, Any]
Id = Annotated[str, Field(description="the item's id, as search_memory or recent returned it", max_length=200)]
Text = Annotated[str, Field(min_length=1, max_length=20_000)]
Confirm = Annotated[
    bool, Field(description="true only after the user has said yes, where the client cannot ask itself")
]
Limit = Annotated[int, Field(ge=1, le=50)]
Day = Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$", description="YYYY-MM-DD")]
Kind = Literal["memory", "note", "episode", "record", "observation"]


class Confirmation(BaseModel):
    """What a person answers before something is forgotten."""

    forget: bool = Field(description="Forget it")


def add_tools(server: MCPServer, desk_of: FindDesk) -> None:  # noqa: C901 - one function a tool
    """Register the tools. desk_of: finds the memory and the session of the client that calls."""

    async def confirmed(id: str, ctx: Ctx, confirm: bool = False) -> Confirmation | Elicit[Confirmation]:  # noqa: A002, FBT001, FBT002 - the tool's arguments
        able = ctx.client_capabilities is not None and ctx.client_capabilities.elicitation is not None
        if not able:
            return Confirmation(forget=confirm)
        text = await _text_of(await desk_of(), id)
        return Elicit(f"Forget this memory? “{text}”", Confirmation) if text else Confirmation(forget=True)

    @server.tool(title="Search memory", annotations=_READS)
    async def search_memory(
        query: Annotated[str, Field(description="what to look for, in words or as a question", max_length=4_000)],
        limit: Limit = 5,
        since: Day | None = None,
        until: Day | None = None,
        kinds: Annotated[
            list[Kind] | None, Field(description="default: memory, note, episode; records and observations on request")
        ] = None,
    ) -> Found:
        """Find what is remembered from earlier conversations: facts, and what was said. Best first.

        Use it before you answer anything that may depend on the user's past, people, projects, preferences or plans.
        """
        desk = await desk_of()
        hits = await _done(desk.memory.search(desk.session, query, limit=limit, since=since, until=until, kinds=kinds))
        return Found.of(desk, hits)

    @server.tool(title="Read around a memory", annotations=_READS)
    async def get_memory(
        id: Id,  # noqa: A002 - a hit's name for it
        around: Annotated[int, Field(ge=0, le=10, description="how many exchanges before it and after it")] = 2,
    ) -> Found:
        """Return an item with what was said around it, oldest first. Nothing if it is gone."""
        desk = await desk_of()
        return Found.of(desk, await _done(desk.memory.get(desk.session, id, around=around)))

    @server.tool(title="Newest memories", annotations=_READS)
    async def recent(limit: Limit = 10) -> Found:
        """Return the newest facts, newest first, without a query."""
        desk = await desk_of()
        return Found.of(desk, await _done(desk.memory.search(desk.session, "", limit=limit, kinds=["memory"])))

    @server.tool(title="Save a fact", annotations=_WRITES)
    async def save_fact(
        content: Annotated[Text, Field(description="one fact, complete in itself, with names and absolute dates")],
        type: Annotated[  # noqa: A002 - the name in the files
            Literal["W", "B", "O"],
            Field(description="W: about the world; B: about the user's life and projects; O: what the user likes"),
        ] = "B",
        entities: Annotated[list[str] | None, Field(description="the names that it is about", max_length=20)] = None,
    ) -> Saved:
        """Save a fact that later conversations should know. Nothing that is private, secret or saved already."""
        desk = await desk_of()
        saved = await _done(desk.memory.save_fact(desk.session, content=content, type=type, entities=entities))
        return Saved(saved=bool(saved), id=saved, reason=secret_note(content))

    @server.tool(title="Save the session's summary", annotations=_WRITES)
    async def save_summary(
        topic: Annotated[Text, Field(description="one line")],
        summary: Annotated[Text, Field(description="100 to 200 words")],
        decisions: list[str] | None = None,
        todos: list[str] | None = None,
    ) -> Saved:
        """Save this session's only summary, once, when the task is done."""
        desk = await desk_of()
        return Saved(
            saved=await _done(
                desk.memory.save_summary(desk.session, topic=topic, summary=summary, decisions=decisions, todos=todos)
            )
        )

    @server.tool(title="End the session", annotations=_WRITES)
    async def end_session(
        reason: Annotated[str, Field(description="completed, aborted or error", max_length=80)] = "completed",
    ) -> Ended:
        """End this session and return its record. The next call begins a new one."""
        desk = await desk_of()
        await _done(desk.memory.end_session(desk.session, reason=reason))
        return Ended(record=record_of(await _done(desk.memory.session_record(desk.session))))

    @server.tool(title="Forget a memory", annotations=_FORGETS)
    async def forget(
        id: Id,  # noqa: A002 - a hit's name for it
        answer: Annotated[Confirmation, Resolve(confirmed)],
        confirm: Confirm = False,  # noqa: FBT002 - a named argument of the tool
    ) -> Forgotten:
        """Forget a fact for good, after the user has confirmed it. `/memory undo` in a chat takes it back."""
        desk = await desk_of()
        text = await _text_of(desk, id)
        if not text:
            return Forgotten(forgotten=False, message=f"there is no memory {id}")
        if not answer.forget:
            said = "nothing was forgotten" if confirm else f"ask the user whether to forget “{text}”, then confirm"
            return Forgotten(forgotten=False, message=said)
        told = await _done(desk.memory.answer(desk.session, f"{CHAT} forget {id}"))
        return Forgotten(forgotten=bool(told and told.done), message=told.text if told else "commands are off")

    @server.tool(title="History of a memory", annotations=_READS)
    async def history(id: Id) -> History:  # noqa: A002 - a hit's name for it
        """Tell where a fact comes from and what became of it: replaced, moved, undone."""
        desk = await desk_of()
        found = await _done(desk.memory.record(desk.session, "history", id))
        events = [Event(at=each["at"], event=each["event"], other=each["other_text"]) for each in found["events"]]
        return History(text=found["text"], file=found["file"], events=events)

    @server.tool(title="Why this reply", annotations=_READS)
    async def why() -> Why:
        """Tell what was recalled for the last reply of this user, and what was kept of it.

        It is the session's own last reply, or else the last one in another session, which it names.
        """
        desk = await desk_of()
        told = await _done(desk.memory.answer(desk.session, f"{CHAT} why"))
        return Why(text=told.text if told else "commands are off")

    @server.tool(title="State of the memory", annotations=_READS)
    async def status() -> State:
        """Tell how much is remembered, what waits, what is switched off, what has it open, and what failed last."""
        desk = await desk_of()
        return State.of(await _done(desk.memory.record(desk.session, "status")))


async def _text_of(desk: Desk, identity: str) -> str:
    """Return the text of a memory, shortened; "" if there is none."""
    hits = await _done(desk.memory.get(desk.session, identity, around=0))
    return hits[0].text[:_SHOWN] if hits else ""


async def _done(call: Awaitable[T]) -> T:
    """Return the result of a call; tell the client in words if it failed."""
    try:
        return await call
    except GatewayMemoryError as error:
        raise ToolError(str(error)) from error

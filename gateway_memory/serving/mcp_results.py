"""What the tools of the MCP server return. Clients get it as JSON by these schemas, and as text."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, Field

from gateway_memory.context.finder import Found as Hits
from gateway_memory.ground.times import day_of
from gateway_memory.memory import GatewayMemory
from gateway_memory.sessions.session import Session


class Item(BaseModel):
    """Something that is remembered."""

    id: str = Field(description="for get_memory, forget and history")
    kind: str = Field(
        description="memory: a fact; episode: what was said; note: text of a file; record: of a session; observation"
    )
    text: str
    state: str = Field(
        description="doubted: something newer may say otherwise; over: its time is past; empty: it holds"
    )
    day: str = Field(description="the day it is from, YYYY-MM-DD")
    weak: bool = Field(description="it probably does not answer the query")


class Found(BaseModel):
    """Items, best or oldest first."""

    items: list[Item]
    outcome: str = Field(
        description="full; empty; partial: a part was late, ask again for it; timeout: nothing was ready, ask again"
    )

    @classmethod
    def of(cls, memory: GatewayMemory, session: Session, hits: Hits) -> "Found":
        """Return hits of a search."""
        least, zone = session.settings.auto_recall.min_score, memory.zone
        rows = ((hit, day_of(hit.at, zone), hit.is_weak(least)) for hit in hits)
        same = ("id", "kind", "text", "state")
        items = [Item(**{name: getattr(hit, name) for name in same}, day=day, weak=weak) for hit, day, weak in rows]
        return cls(items=items, outcome=hits.outcome)


class Saved(BaseModel):
    """Whether it was saved. A text that is private or secret, or that exists already, is not saved again."""

    saved: bool
    id: str = Field(default="", description="the memory's id")
    reason: str = Field(default="", description="why it, or a part of it, was not saved")


class Record(BaseModel):
    """The record of a session."""

    topic: str
    summary: str
    decisions: list[str]
    todos: list[str]


class Ended(BaseModel):
    """The session is over. Its record is missing if there was nothing to say."""

    record: Record | None


class Forgotten(BaseModel):
    """Whether the memory was forgotten, and if not, what to do."""

    forgotten: bool
    message: str


class Event(BaseModel):
    """Something that became of a memory."""

    at: str
    event: str
    other: str = Field(description="the text of the memory that replaced it, or that it replaced")


class History(BaseModel):
    """What became of a memory, oldest first."""

    text: str
    file: str
    events: list[Event]


class Why(BaseModel):
    """What was recalled for the last reply and what was kept of it, in words."""

    text: str


class State(BaseModel):
    """How the memory is, in all processes that have it open."""

    memories: int
    episodes: int = Field(description="exchanges that are kept as they were said")
    waiting: int = Field(description="exchanges that are not yet processed")
    vectors: str = Field(description="how many texts can be searched by meaning, or nothing where words alone are")
    model: str = Field(description="the model that reads what is said, or nothing: rules only")
    failed_turns: int = Field(description="exchanges that the model failed on")
    processes: list[str] = Field(description="the processes that have the memory open, and since when")
    on: list[str] = Field(description="features that are on in this session")
    off: list[str]
    last_failure: str = Field(description="the last failure of any process, or nothing")
    failures: list[str] = Field(description="the kinds of failures of the last 7 days, and how often each came")

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> "State":
        """Return the record of the command `status`."""
        vectors, failure, model = facts["vectors"], facts["last_failure"], facts["model"]
        return cls(
            memories=facts["memories"],
            episodes=facts["episodes"],
            waiting=facts["waiting"]["rules"] + facts["waiting"]["batch"],
            vectors=f"{vectors['done']} of {vectors['rows']}" if vectors else "",
            model=model["name"] or "",
            failed_turns=model["failed_turns"],
            processes=[f"process {each['pid']} since {each['since']}" for each in facts["processes"]],
            on=facts["on"],
            off=facts["off"],
            last_failure=f"{failure['at']} {failure['place']}: {failure['error']}" if failure else "",
            failures=[f"{each['place']}: {each['error']} ×{each['count']}" for each in facts["failures"]],
        )

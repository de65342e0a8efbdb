"""The calls that the service answers at /v1/…, one entry each. Routes and /openapi.json are made from them."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

from gateway_memory.serving import models
from gateway_memory.serving.calls import AgentCalls

__all__ = ["ENDPOINTS", "Endpoint"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """POST /v1/NAME. asked, answered: the models of its bodies. call: what carries it out. help: what it does."""

    name: str
    asked: type[models.Asked]
    answered: type[models.Answered]
    call: Callable[[AgentCalls, Any], Awaitable[models.Answered]]
    help: str


def _endpoint(
    call: Callable[[AgentCalls, Any], Awaitable[models.Answered]],
    asked: type[models.Asked],
    answered: type[models.Answered],
    told: str,
) -> Endpoint:
    return Endpoint(name=call.__name__, asked=asked, answered=answered, call=call, help=told)


ENDPOINTS: Final = (
    _endpoint(
        AgentCalls.before_reply,
        models.BeforeReply,
        models.ToldBefore,
        "What to add to the prompt of this reply.",
    ),
    _endpoint(AgentCalls.after_reply, models.AfterReply, models.KeptTurn, "Keep a turn. It is durable when answered."),
    _endpoint(AgentCalls.command, models.CommandText, models.CommandAnswer, "Answer a message if it is a command."),
    _endpoint(AgentCalls.search, models.Search, models.FoundHits, "Search the speaker's memory."),
    _endpoint(AgentCalls.get, models.Get, models.FoundHits, "A hit again, with what was said around it."),
    _endpoint(AgentCalls.observe, models.Observe, models.Done, "Keep a tool call, a decision or an error."),
    _endpoint(AgentCalls.compaction, models.Compaction, models.Compacted, "The context is, or was, compacted."),
    _endpoint(AgentCalls.end_session, models.EndSession, models.Ended, "End a session, or all of a key."),
    _endpoint(AgentCalls.flush, models.Flush, models.Done, "Process all waiting turns now, and wait for it."),
    _endpoint(AgentCalls.save_fact, models.Fact, models.SavedFact, "Save a fact that the agent states."),
    _endpoint(AgentCalls.save_summary, models.Summary, models.SavedSummary, "Save the agent's summary of its session."),
)

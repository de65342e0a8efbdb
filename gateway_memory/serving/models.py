"""The requests and responses of the service, as pydantic models. /openapi.json is made from them.

The fields of a request have the names of the arguments of the call that it makes. The names of the models are those of
the schemas in /openapi.json. Unknown keys are refused, and values are not converted: a number is no text.
"""

from datetime import datetime
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, WithJsonSchema, model_validator

from gateway_memory.identity import Facts
from gateway_memory.scope import LONGEST_NAME, is_name


def _visible(text: str) -> str:
    if (length := len(text.encode("utf-8", "replace"))) > LONGEST_NAME:
        raise ValueError(f"expected at most {LONGEST_NAME} bytes in UTF-8, and not {length}")
    if not is_name(text):
        raise ValueError("expected a visible character, and no control character")
    return text


Name = Annotated[str, Field(max_length=500)]
Identity = Annotated[
    str,
    Field(max_length=200, description="The caller's id. The same id again is answered likewise."),
    AfterValidator(_visible),
]
Key = Annotated[str, Field(max_length=1000, description="The host's session key."), AfterValidator(_visible)]
Text = Annotated[
    Any,
    WithJsonSchema(
        {
            "anyOf": [{"type": "string"}, {"type": "array", "items": {}}, {"type": "object"}, {"type": "null"}],
            "description": "A text, or content parts in the form of the OpenAI and Anthropic APIs.",
        }
    ),
]
_ABOUT_THE_REQUEST: Final = frozenset({"id", "key", "speaker"})
Texts = Annotated[list[str], Field(max_length=1000)]
Day = Annotated[str, Field(max_length=40, description="A date or a time, ISO 8601.")]


class RequestBody(BaseModel):
    """The body of a request."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    def arguments(self) -> dict[str, Any]:
        """Return the fields that are arguments of a call: all but who speaks, and the id of the request."""
        return {name: getattr(self, name) for name in type(self).model_fields if name not in _ABOUT_THE_REQUEST}


class SpeakerFacts(RequestBody):
    """What the host knows of a message's sender. Left out, "" or null: it does not know."""

    key: Key
    agent: Name | None = None
    channel: Name | None = ""
    chat_type: Name | None = ""
    chat_id: Name | None = ""
    sender_id: Name | None = ""
    account_id: Name | None = ""
    is_owner: bool | None = False
    person: Name | None = ""
    message_id: Name | None = ""
    project: Name | None = ""
    sender_name: str | None = ""
    chat_title: str | None = ""

    def facts(self, agent: str) -> Facts:
        """Return the facts for the memory of an agent."""
        return Facts(**{**self.model_dump(), "agent": agent})


class Spoken(RequestBody):
    """A request about a session, of the one who is speaking."""

    speaker: SpeakerFacts


class Written(Spoken):
    """A write of a session. It does nothing when it is repeated."""

    id: Identity


class OfKey(RequestBody):
    """A request about one speaker's session, or about all sessions of a key."""

    speaker: SpeakerFacts | None = None
    key: Key | None = None

    @model_validator(mode="after")
    def _one_of_them(self) -> "OfKey":
        if (self.speaker is None) == (self.key is None):
            raise ValueError("expected exactly one of speaker and key")
        return self


class BeforeReply(Spoken):
    """A message before its reply."""

    message: Text = None
    at: AwareDatetime | None = None
    ephemeral: Annotated[bool, Field(description="The host drops what was injected after each reply.")] = False
    opening: bool = True
    placement: Annotated[
        Literal["", "beside"],
        Field(
            description="beside: the opening stays as it was first given, while the session lasts, and comes with each "
            "answer; what is new stands in the context, beside the message. So a provider's prompt cache holds."
        ),
    ] = ""


class AfterReply(Written):
    """A turn: what the user said, and the reply. `id` is the id of the turn."""

    user: Text = None
    reply: Text = None
    at: AwareDatetime | None = None
    provenance: Annotated[str, Field(max_length=500, description="Whose words `user` are, unless the user's.")] = ""
    ephemeral: bool = False


class CommandText(Written):
    """A message that may be a command."""

    text: Text


class Search(Spoken):
    """A query; without it, the newest memories are asked for."""

    query: Text = None
    limit: Annotated[int, Field(ge=1, le=100)] = 5
    kinds: Annotated[list[Name], Field(max_length=20)] | None = None
    since: Day | None = None
    until: Day | None = None
    type: Name | None = None
    category: Name | None = None


class Get(Spoken):
    """The id of a hit. around: how many turns before it and after it."""

    hit: Annotated[str, Field(min_length=1, max_length=200)]
    around: Annotated[int, Field(ge=0, le=50)] = 2


class OneOfPages(RequestBody):
    """Which page of a list. after: the `next` of the page before; "" for the first one."""

    after: Annotated[str, Field(max_length=1000)] = ""
    limit: Annotated[int, Field(ge=1, le=200)] = 50


class Listed(Spoken, OneOfPages):
    """A page of a list of one speaker's."""


class ListMemories(Listed):
    """Which memories: of a type, a category, a time."""

    type: Name | None = None
    category: Name | None = None
    since: Day | None = None
    until: Day | None = None


class ListEpisodes(Listed):
    """Which exchanges: of a time, of one session's key."""

    since: Day | None = None
    until: Day | None = None
    session: Key | None = None


class ListPending(Listed):
    """What waits for approval. words: only what contains them."""

    words: Annotated[str, Field(max_length=500)] = ""


class Observe(Written):
    """Something that happened in a session: a tool call, a decision, an error."""

    kind: Name
    content: Text = None
    tool: Name = ""
    private: bool = False


class Compaction(OfKey):
    """A context is compacted. usage: its used part in percent. done: it has been compacted already."""

    usage: Annotated[float, Field(ge=0, le=1000)] = 100
    messages: Annotated[int, Field(ge=0, le=10_000_000)] = 0
    wants: Literal["prompt", "text"] = "prompt"
    done: bool = False


class EndSession(OfKey):
    """The end of a session, or of all sessions of a key."""

    id: Identity
    reason: Annotated[str, Field(min_length=1, max_length=500)]
    error: Text = None
    duration_ms: Annotated[float, Field(ge=0, le=1e13)] | None = None


class Flush(RequestBody):
    """Nothing but the wish that waiting turns are processed now."""


class Fact(Written):
    """A fact that the agent states."""

    content: Text
    type: Literal["W", "B", "O", "S"] = "W"
    entities: Texts = []
    confidence: Annotated[float, Field(ge=0, le=1)] = 0.9
    on: str = ""
    until: str = ""
    every: str = ""


class Summary(Written):
    """The agent's own summary of a session."""

    topic: Text
    summary: Text
    decisions: Texts = []
    todos: Texts = []


class ResponseBody(BaseModel):
    """The answer to a request."""

    model_config = ConfigDict(frozen=True)


class Done(ResponseBody):
    """Nothing to tell."""


class MemoryAsked(ResponseBody):
    """What a message asks of the memory itself.

    act: forget, forget_last, forget_today, forget_all, not_note, pause, resume, correct, undo, recall or who_reads.
    sure: whether it does; if not, the assistant asks. ids: the memories that are meant, or may be. done: whether it is
    carried out when the reply is reported.
    """

    act: str
    sure: bool
    ids: list[str]
    done: bool


class ToldBefore(ResponseBody):
    """What to add to the prompt of this reply.

    opening: for the system prompt; "" if it was not asked for, or was given before and stays. opening_partial: whether
    a part of it was late or failed; a later reply's opening has it. rule: how the agent saves.
    context: to prepend to the message. recalled: the ids of the memories in it. request: what the message asks of the
    memory itself; null for any other message.
    """

    session_id: str
    opening: str
    opening_partial: bool = False
    rule: str
    context: str
    outcome: str
    recalled: list[str]
    request: MemoryAsked | None = None


class KeptTurn(ResponseBody):
    """Whether the turn was kept, and its number; 0 if it was not, or if the database has still to number it."""

    turn: int
    kept: bool


class CommandAnswer(ResponseBody):
    """The answer to a command, and whether it did what was asked; null if the message is no command."""

    answer: str | None
    done: bool


class HitFound(ResponseBody):
    """A hit.

    weak: below `minScore` or not related. related: it shares something with the query. state: as in `MemoryListed`.
    """

    id: str
    kind: str
    text: str
    state: str
    at: datetime
    score: float
    related: bool
    weak: bool
    type: str
    category: str
    turn: int
    session: str


class FoundHits(ResponseBody):
    """Hits, best first; of `get`, oldest first.

    outcome: "full", "empty", "partial" (a part was late or failed) or "timeout" (the same, and there is nothing yet).
    """

    hits: list[HitFound]
    outcome: str


class PageOf(ResponseBody):
    """A page of a list. next: what to give as `after` for the next page; "" behind the last one."""

    next: str


class MemoryListed(ResponseBody):
    """A memory. file: where it stands. turn: the one that it was learnt from, 0 for none.

    state: "", "doubted" (something newer may say otherwise) or "over" (its time is past); `text` ends in a mark then.
    """

    id: str
    text: str
    state: str
    at: datetime
    type: str
    category: str
    file: str
    turn: int
    session: str


class MemoriesListed(PageOf):
    """Memories, newest first."""

    rows: list[MemoryListed]


class ExchangeListed(ResponseBody):
    """An exchange, without what was forgotten. learnt: the ids of the memories that were learnt from it."""

    turn: int
    at: datetime
    session: str
    user: str
    reply: str
    learnt: list[str]


class ExchangesListed(PageOf):
    """Exchanges, newest first."""

    rows: list[ExchangeListed]


class Recalled(ResponseBody):
    """A memory that was injected; its text is "" if it is gone."""

    id: str
    text: str


class ReplyListed(ResponseBody):
    """A reply. user: the message, "" if it is gone. outcome: of recall, "" where it is not known."""

    turn: int
    at: datetime
    session: str
    user: str
    outcome: str
    recalled: list[Recalled]


class RepliesListed(PageOf):
    """Replies, newest first."""

    rows: list[ReplyListed]


class RecordListed(ResponseBody):
    """The record of an ended session: see docs/sessions.md."""

    session_id: str
    topic: str
    summary: str
    timestamp: str
    decisions: list[str]
    todos: list[str]
    layer: str


class RecordsListed(PageOf):
    """Session records, newest first."""

    rows: list[RecordListed]


class ReviewListed(ResponseBody):
    """A memory that waits for approval. reason: see docs/review.md. against: the memory that it contradicts."""

    id: str
    text: str
    reason: str
    scope: str
    at: datetime
    since: datetime
    quote: str
    turn: int
    category: str
    against: str
    against_text: str


class PendingListed(PageOf):
    """What waits for approval, oldest first."""

    rows: list[ReviewListed]


class PersonListed(ResponseBody):
    """A person, a group or a project. linked: whose memory it shares, "" for its own. last: when something was said."""

    scope: str
    kind: str
    name: str
    linked: str
    memories: int
    exchanges: int
    last: datetime | None


class PeopleListed(PageOf):
    """Whose memories there are, the owner's first, then by when something was said last."""

    rows: list[PersonListed]


class Compacted(ResponseBody):
    """What was asked for: a prompt for the agent, or a text for the host's summary; "" for none."""

    prompt: str | None = None
    text: str | None = None


class Ended(ResponseBody):
    """How many sessions were ended."""

    ended: int


class SavedFact(ResponseBody):
    """The id of the memory, or of what waits for a person's approval; "" if nothing may be saved.

    reason: what is not saved of a text that holds a secret, in the text's language; else "".
    """

    memory: str
    reason: str = ""


class SavedSummary(ResponseBody):
    """Whether it was saved: not if the session has a record already, or nothing may be saved."""

    saved: bool


class Problem(ResponseBody):
    """code: see docs/service.md. message: what is wrong and what to do. where: the dotted path in the body, or ""."""

    code: str
    message: str
    where: str


class Error(ResponseBody):
    """The answer to a request that failed."""

    error: Problem

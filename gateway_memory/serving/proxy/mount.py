"""The proxy as a part of the service: its routes, and the way of one request to the model and back."""

import asyncio
import json
import secrets
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, Generic, TypeVar

import httpx2
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from gateway_memory.calls.placing import Placement
from gateway_memory.commands.answers import phrase
from gateway_memory.config.service import ProxySettings
from gateway_memory.errors import GatewayMemoryError
from gateway_memory.ground.logs import get_logger
from gateway_memory.memory import GatewayMemory
from gateway_memory.scope import Scope
from gateway_memory.serving.app import TOKEN_PATH, Service, handled
from gateway_memory.serving.errors import ServiceError
from gateway_memory.serving.proxy.conversation import (
    Asked,
    ClientMessage,
    asked_of,
    begin_mark,
    digest,
    exchange_mark,
    quotes,
    replaced_by,
    reply_mark,
)
from gateway_memory.serving.proxy.cross_origin import preflight, shared
from gateway_memory.serving.proxy.forms import FORMS, Body, Form, Heard, OllamaChat, Reading
from gateway_memory.serving.proxy.relay import (
    OUTCOME_HEADER,
    Finish,
    Relayed,
    UnreachableError,
    address,
    ask,
    is_path,
    upstream_client,
)
from gateway_memory.serving.proxy.speaker import REFUSED, TASK_HEADER, Speaker, speaker_of, without_tag
from gateway_memory.serving.request import read_body
from gateway_memory.sessions.session import Session
from gateway_memory.store.journal import requests as journal

log = get_logger(__name__)

T = TypeVar("T")

_NOBODY: Final = "nobody"
_LATE: Final = "timeout"
_NOTHING: Final = "empty"
_JSON: Final = "application/json"
_KNOWN: Final = 10_000
"""Conversations, and people, of whom this process knows where they stand."""
_AGAIN_SECONDS: Final = 3600.0
"""Within this time, the same first message alone is the same conversation, which begins anew."""
_CLOSE_SECONDS: Final = 10.0
_CERTAIN: Final = 3
"""From so many messages on, the same words before a message prove the same conversation."""


class Recent(Generic[T]):
    """The newest values by name."""

    def __init__(self) -> None:
        self._values: OrderedDict[str, T] = OrderedDict()

    def get(self, name: str) -> T | None:
        return self._values.get(name)

    def set(self, name: str, value: T) -> None:
        self._values[name] = value
        self._values.move_to_end(name)
        if len(self._values) > _KNOWN:
            self._values.popitem(last=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """A request with the memory in it. answer: a reply of our own. finish: keeps the turn, None where none is kept."""

    body: Body | None = None
    outcome: str = _NOTHING
    answer: str | None = None
    finish: Finish | None = None


@dataclass(slots=True, kw_only=True)
class Turn:
    """A message on its way, with its session. replaces: the ids of the messages whose place it takes.

    home: the scope of the marks of its conversation; None where the client names its conversations.
    begun: how its reply begins, see `Asked`. exchange: see `Proxy._note`.
    """

    memory: GatewayMemory
    session: Session
    message: ClientMessage
    conversation: str
    home: Scope | None
    replaces: Sequence[str]
    begun: str
    exchange: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a request stands: its session, as of the name of its conversation. home: the scope of that one's marks.

    again: whether the conversation begins anew with this request.
    """

    home: Scope
    conversation: str
    session: Session
    again: bool


class Proxy:
    """Gives requests a memory, and relays them."""

    def __init__(self, service: Service, settings: ProxySettings, client: httpx2.AsyncClient) -> None:
        self._service = service
        self._settings = settings
        self._client = client
        self._limits = replace(service.limits, body_bytes=settings.body_bytes)
        self._ends: Recent[str] = Recent()
        """The last message of each session."""
        self._replies: Recent[ClientMessage] = Recent()
        """The message to which a stored reply with calls belongs."""
        self._said: Recent[deque[list[str]]] = Recent()
        """The newest exchanges of each person."""
        self._keeping: set[asyncio.Task[None]] = set()
        """Turns for which the memory came too late, and which are being kept."""

    async def close(self) -> None:
        """Wait until each turn is kept that ended before its memory came, for some seconds at most."""
        if self._keeping:
            await asyncio.wait(self._keeping, timeout=_CLOSE_SECONDS)

    async def handle(self, request: Request) -> Response:
        """Answer one request."""
        path, token = request.path_params["path"], request.path_params.get("token", "")
        if not is_path(path):
            raise ServiceError("not_found", "there is nothing here")
        if request.method == "OPTIONS":
            return preflight(request.headers)
        raw = await read_body(request, self._limits) if request.method == "POST" else None
        form = next((form for form in FORMS if form.path == path and raw is not None), None)
        body = _object(raw) if form and raw else None
        if form is None or body is None:
            return await self._relay(request, path, raw, Given(outcome=_NOBODY), None)
        found, tag = without_tag(form, body)
        field_name = self._settings.user_field
        speaker = speaker_of(self._service.access, request.headers, found, path=token, tag=tag, user_field=field_name)
        given = await self._given(form, found, speaker, request.headers)
        if given.answer is not None:
            return _own(form, found, given.answer)
        changed = given.body if given.body is not None else found if tag else None
        content = raw if changed is None else json.dumps(changed, separators=(",", ":")).encode()
        reading = Reading(form, streams=form.streams(found))
        family = speaker.family if speaker else ""
        return await self._relay(request, path, content, given, reading, family=family)

    async def _relay(
        self,
        request: Request,
        path: str,
        content: bytes | None,
        given: Given,
        reading: Reading | None,
        *,
        family: str = "",
    ) -> Response:
        url = address(self._settings.upstream, path, request.url.query)
        try:
            answer = await ask(self._client, request.method, url, request.headers, content, family=family)
        except UnreachableError as error:
            message = f"the model's server could not be reached ({error})"
            problem = {"error": {"message": message, "type": "upstream_unreachable", "code": None, "param": None}}
            return Response(json.dumps(problem), 502, {OUTCOME_HEADER: given.outcome}, _JSON)
        keeps = given.finish if answer.status_code == 200 else None  # noqa: PLR2004 - OK
        response = Relayed(answer, given.outcome, reading if keeps else None, keeps)
        response.raw_headers += [(name.encode(), value.encode("latin-1")) for name, value in shared(request.headers)]
        return response

    # What a request is given

    async def _given(self, form: Form, body: Body, speaker: Speaker | None, headers: Headers) -> Given:
        """Return a request with its memory; as it came where nobody asks, or where the memory is not there."""
        if speaker is None:
            return Given(outcome=_NOBODY)
        asked = None if headers.get(TASK_HEADER, "").strip() else asked_of(form, body)
        if asked is None:
            return Given()
        try:
            memory = self._service.agent(speaker.agent).memory
            seconds = memory.settings.auto_recall.timeout_ms / 1000
            return await self._placed(form, body, speaker, asked, memory, seconds)
        except REFUSED:
            return Given(outcome=_NOBODY)
        except TimeoutError:
            return Given(outcome=_LATE, finish=partial(self._finish_later, speaker, asked))
        except (GatewayMemoryError, ServiceError) as error:  # the reply matters more
            log.warning("proxy.no_memory", error=type(error).__name__)
            return Given(outcome=_LATE)

    async def _placed(
        self, form: Form, body: Body, speaker: Speaker, asked: Asked, memory: GatewayMemory, seconds: float
    ) -> Given:
        deadline = asyncio.get_running_loop().time() + seconds
        async with asyncio.timeout_at(deadline):
            place = await self._place_of(speaker, asked, memory)
        message = self._message_of(asked)
        if place is None or message is None:
            return Given()
        session = place.session
        if asked.is_new and (answer := await _answer_command(memory, session, message)) is not None:
            self._ends.set(session.session_id, message.id)
            return Given(answer=answer)
        async with asyncio.timeout_at(deadline):
            place, before = await self._placed_before(speaker, place, asked, memory)
        session = place.session
        placement, outcome = before, before.outcomes.get(message.id, _NOTHING)
        if asked.is_new:
            end = self._ends.get(session.session_id)
            if end is not None and end.partition(".")[2] != message.place and end != message.id:
                session.compacted()  # a branch: what the other one was told is not before this one's model
            self._ends.set(session.session_id, message.id)
            try:
                async with asyncio.timeout_at(deadline):
                    placement = await memory.place(
                        session, message.text, message_id=message.id, before=before, anew=place.again
                    )
                outcome = placement.outcomes[message.id]
            except TimeoutError:
                outcome = _LATE
        turn = self._turn(speaker, asked, memory, place, before.said)
        blocks = {each.at: placement.blocks[each.id] for each in asked.messages if each.id in placement.blocks}
        return Given(
            body=form.placed(body, placement.opening, blocks),
            outcome=_NOTHING if outcome == "disabled" else outcome,
            finish=partial(self._finish, turn),
        )

    def _message_of(self, asked: Asked) -> ClientMessage | None:
        """Return the message that a request is about; None for a stored reply of which nothing is known."""
        return asked.messages[-1] if asked.messages else self._replies.get(asked.previous)

    async def _place_of(self, speaker: Speaker, asked: Asked, memory: GatewayMemory) -> Place | None:
        """Return where a request stands; None for a client's own question about what has just been said."""
        home = await speaker.home(memory)
        if asked.alone and self._is_about(home, asked.messages[-1].text):
            return None
        conversation, again = await self._conversation(speaker, home, asked, memory)
        session = await speaker.session(memory, conversation)
        return Place(home=home, conversation=conversation, session=session, again=again)

    async def _placed_before(
        self, speaker: Speaker, place: Place, asked: Asked, memory: GatewayMemory
    ) -> tuple[Place, Placement]:
        """Return where a request stands, and what its conversation was given before."""
        before = await memory.placed(place.session)
        if not place.again or len(before.outcomes) <= 1:
            return place, before
        conversation = await self._begun(place.home, asked, memory)  # that one went on: this is another
        session = await speaker.session(memory, conversation)
        place = Place(home=place.home, conversation=conversation, session=session, again=False)
        return place, await memory.placed(session)

    def _turn(
        self, speaker: Speaker, asked: Asked, memory: GatewayMemory, place: Place, said: Mapping[str, str]
    ) -> Turn:
        """Return the turn of a request. said: as in `Placement`, of its session."""
        message = self._message_of(asked)
        assert message is not None  # who calls has looked
        certain = bool(speaker.chat) or len(asked.messages) >= _CERTAIN
        return Turn(
            memory=memory,
            session=place.session,
            message=message,
            conversation=place.conversation,
            home=place.home if not speaker.chat or asked.previous else None,
            replaces=replaced_by(message, said, first=speaker.sends_all) if certain and asked.is_new else [],
            begun=asked.begun,
            exchange=self._note(place.home, message.text) if asked.is_new else [],
        )

    async def _conversation(
        self, speaker: Speaker, home: Scope, asked: Asked, memory: GatewayMemory
    ) -> tuple[str, bool]:
        """Return the name of a request's conversation, and whether it begins anew with this request."""
        if speaker.chat:
            return digest("chat", speaker.chat), False
        marks = [begin_mark(asked.messages[-1].text)] if asked.alone else asked.marks
        known = await memory.marked(home, marks)
        mark = next((mark for mark in marks if mark in known), "")
        if mark and not asked.alone:
            return known[mark][0], False
        if mark and memory.now().timestamp() - known[mark][1] < _AGAIN_SECONDS:
            return known[mark][0], True
        return await self._begun(home, asked, memory), False

    async def _begun(self, home: Scope, asked: Asked, memory: GatewayMemory) -> str:
        """Return the name of a new conversation, and mark it."""
        conversation = secrets.token_hex(12)
        marks = [begin_mark(asked.messages[-1].text)] if asked.alone else asked.marks[:1]
        for mark in marks:
            await memory.mark(home, mark, conversation)
        return conversation

    def _is_about(self, home: Scope, text: str) -> bool:
        """Return whether a message that stands alone quotes what this person has just said elsewhere."""
        return any(quotes(text, (user, reply)) for user, reply in self._said.get(home.key) or ())

    def _note(self, home: Scope, text: str) -> list[str]:
        """Note what a person says, for `_is_about`; the reply is added to it."""
        exchange = [text, ""]
        said = self._said.get(home.key) or deque(maxlen=4)
        said.append(exchange)
        self._said.set(home.key, said)
        return exchange

    # What becomes of a reply

    async def _finish_later(self, speaker: Speaker, asked: Asked, heard: Heard) -> None:
        """Keep a turn as soon as the memory comes, which was too late for its reply. Nobody waits for that."""

        async def keep() -> None:
            message = self._message_of(asked)
            if message is None or (asked.is_new and is_command(message.text)):
                return
            try:
                memory = self._service.agent(speaker.agent).memory
                place = await self._place_of(speaker, asked, memory)
                if place is None:
                    return
                place, before = await self._placed_before(speaker, place, asked, memory)
                turn = self._turn(speaker, asked, memory, place, before.said)
            except Exception as error:  # noqa: BLE001 - there is nobody left to tell
                log.error("proxy.turn_not_kept", error=type(error).__name__)
                return
            await self._finish(turn, heard)

        task = asyncio.ensure_future(keep())
        self._keeping.add(task)
        task.add_done_callback(self._keeping.discard)

    async def _finish(self, turn: Turn, heard: Heard) -> None:
        """Keep a turn: with its reply, or the user's words alone where that broke off. It raises nothing."""
        if turn.exchange:
            turn.exchange[1] = heard.text
        try:
            if heard.identity and turn.home:
                self._replies.set(heard.identity, turn.message)
                await turn.memory.mark(turn.home, reply_mark(heard.identity), turn.conversation)
            if heard.calls or not turn.message.text:
                return
            reply = f"{turn.begun}{heard.text}" if heard.over else ""
            await turn.memory.after_reply(
                turn.session, user=turn.message.text, reply=reply, turn_id=turn.message.id, replaces=turn.replaces
            )
            if heard.over and turn.home and not heard.identity:
                await turn.memory.mark(turn.home, exchange_mark(turn.message.text, reply), turn.conversation)
        except Exception as error:  # noqa: BLE001 - the client gets its reply whatever happens
            log.error("proxy.turn_not_kept", error=type(error).__name__)


def is_command(text: str) -> bool:
    """Return whether a message is a command, whatever comes of it."""
    return text.startswith(("/", "／"))


async def _answer_command(memory: GatewayMemory, session: Session, message: ClientMessage) -> str | None:
    """Return the answer to a command, or None if the message is none. One that changes something runs once."""

    async def work() -> dict[str, Any]:
        return {"answer": await memory.command(session, message.text)}

    async def if_interrupted() -> dict[str, Any]:
        return {"answer": phrase(session, "not_known_whether_done")}

    if not is_command(message.text):
        return None
    if not await memory.may_change(session, message.text):
        return await memory.command(session, message.text)
    caller = f"{session.scope.key}\n{session.key}"
    record = journal.Request(call="proxy command", caller=caller, id=message.id, scope=session.scope.key)
    answer: str | None = (await memory.once(record, work, unknown=if_interrupted, sure=False))["answer"]
    return answer


def _object(raw: bytes) -> dict[str, Any] | None:
    """Return a body that is a JSON object with messages; None for any other, which the upstream may judge."""
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    if not isinstance(body, dict):
        return None
    messages = body.get("messages", body.get("input"))
    if isinstance(messages, str):
        return body
    is_list = isinstance(messages, list) and bool(messages) and all(isinstance(each, dict) for each in messages)
    return body if is_list else None


def _own(form: Form, body: Body, text: str) -> Response:
    """Return a reply of our own, as a stream if the request asks for one."""
    headers = {OUTCOME_HEADER: "full", "cache-control": "no-store"}
    if not form.streams(body):
        return Response(json.dumps(form.answer(body, text)), headers=headers, media_type=_JSON)
    kind = "application/x-ndjson" if isinstance(form, OllamaChat) else "text/event-stream"
    return Response(b"".join(form.answered(body, text)), headers=headers, media_type=kind)


@asynccontextmanager
async def proxy_routes(service: Service) -> AsyncIterator[Sequence[BaseRoute]]:
    """Yield the routes of the proxy; none where the config names no upstream."""
    settings = service.proxy
    if not settings.upstream:
        yield []
        return
    async with upstream_client() as client:
        proxy = Proxy(service, settings, client)
        handle = handled(service, "proxy", proxy.handle)
        paths = [f"{TOKEN_PATH}{{token}}/{{path:path}}", *(f"/{name}/{{path:path}}" for name in _NAMES)]
        try:
            yield [Route(path, handle, methods=["GET", "POST", "OPTIONS"]) for path in paths]
        finally:
            await proxy.close()


_NAMES: Final = ("openai", "anthropic", "ollama")
"""What the base URL of a client without a token in the path ends with."""

"""Who asks the proxy: by a token of ours, and by the headers of a host that has one. Nobody else has a memory here."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote

from starlette.datastructures import Headers

from gateway_memory.errors import RefusedError, UsageError
from gateway_memory.ground.logs import get_logger
from gateway_memory.identity import Facts, Refused
from gateway_memory.memory import GatewayMemory
from gateway_memory.scope import Scope
from gateway_memory.serving.access import Access, Grant
from gateway_memory.serving.proxy.forms import Body, Form, words_of
from gateway_memory.sessions.session import Session

log = get_logger(__name__)

TOKEN_HEADER: Final = "x-gateway-memory-token"
TASK_HEADER: Final = "x-gateway-memory-task"
_OWN: Final = "proxy"
"""The channel of people whom our own headers name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """How a host names who speaks. user, name, chat: its headers. family: what all of its headers begin with.

    sends_all: whether each of its requests has the whole conversation, so that an edit of the first message shows.
    """

    channel: str
    user: str
    name: str = ""
    chat: str = ""
    family: str = ""
    sends_all: bool = False


HOSTS: Final = (
    Host(channel=_OWN, user="x-gateway-memory-user", name="x-gateway-memory-name", chat="x-gateway-memory-chat"),
    Host(
        channel="openwebui",
        user="x-openwebui-user-id",
        name="x-openwebui-user-name",
        chat="x-openwebui-chat-id",
        family="x-openwebui-",
        sends_all=True,
    ),
    Host(
        channel="litellm",
        user="x-litellm-user_api_key_user_id",
        name="x-litellm-user_api_key_user_email",
        family="x-litellm-user_api_key",
    ),
)

_TAG: Final = re.compile(r"^[ \t]*\[?gateway-memory[: \t]+(gm-[A-Za-z0-9_-]{20,100})\]?[ \t]*(?:\n|\Z)", re.MULTILINE)
_OURS: Final = re.compile(r"gm-[A-Za-z0-9_-]{20,100}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Speaker:
    """Who asks. agent: whose memory. facts: of a host's user; None where the token is that of `scope` alone.

    chat: the client's id of the conversation, or "". sends_all: see `Host`. family: of the headers that were meant for
    us, and that say more of a person than a model's server need know; "" for none.
    """

    agent: str
    scope: Scope | None = None
    facts: Facts | None = None
    chat: str = ""
    channel: str = _OWN
    sends_all: bool = False
    family: str = ""

    async def home(self, memory: GatewayMemory) -> Scope:
        """Return the scope by which conversations of this speaker are found.

        Raises:
            RefusedError: the host's rules name nobody.
        """
        if self.facts is None:
            assert self.scope
            return self.scope
        speaker = await memory.identify(self.facts)
        if isinstance(speaker, Refused):
            log.warning("proxy.refused", reason=speaker.reason)
            raise RefusedError(speaker.reason)
        return speaker.scope

    async def session(self, memory: GatewayMemory, conversation: str) -> Session:
        """Open or resume the session of a conversation.

        Raises:
            RefusedError, UsageError, StoreError: as `GatewayMemory.session_of` does.
        """
        key = f"proxy:{self.channel}:{conversation}"
        if self.facts is None:
            assert self.scope
            return await memory.start_session(key, **self.scope.whose)
        known = {name: getattr(self.facts, name) for name in ("channel", "chat_type", "sender_id", "sender_name")}
        return await memory.session_of(Facts(key=key, **known))


def is_ours(authorization: str) -> bool:
    """Return whether a header carries a token of ours, which no upstream may see."""
    return _OURS.search(authorization) is not None


def without_tag(form: Form, body: Body) -> tuple[Body, str]:
    """Return a request without the line of its system prompt that names a token, and that token, or ""."""
    found: dict[int, Any] = {}
    token = ""
    for at, content in form.system(body).items():
        named = _TAG.search(words_of(content))
        if named:
            token = token or named[1]
            found[at] = _without(content)
    return (form.rewritten(body, found), token) if found else (body, "")


def _without(content: Any) -> Any:
    if isinstance(content, str):
        return _TAG.sub("", content)
    if isinstance(content, list):
        return [_without(part) for part in content]
    if isinstance(content, Mapping):
        return {name: _TAG.sub("", value) if name == "text" else value for name, value in content.items()}
    return content


def speaker_of(access: Access, headers: Headers, body: Body, *, path: str, tag: str, user_field: str) -> Speaker | None:
    """Return who asks, or None if nothing proves it.

    path, tag: the tokens of the path and of the system prompt, or "". user_field: the channel whose verified senders
    the field `user` of a request names, if a host sends it; "" for none.

    Raises:
        WorkspaceError: the tokens can't be read.
    """
    scheme, _, key = headers.get("authorization", "").partition(" ")
    bearer = key.strip() if scheme.lower() == "bearer" else headers.get("x-api-key", "")
    given = path or headers.get(TOKEN_HEADER, "") or (bearer if is_ours(bearer) else "") or tag
    grant = access.grant_of(given) if given else None
    if grant is None or grant.kind == "metrics":
        return None
    if grant.kind == "client":
        chats = (headers.get(host.chat, "") for host in HOSTS if host.chat)
        return Speaker(agent=grant.agent, scope=Scope.parse(grant.scope), chat=next(filter(None, chats), ""))
    return _of_host(grant, headers, body, user_field)


def _of_host(grant: Grant, headers: Headers, body: Body, user_field: str) -> Speaker | None:
    named = [host for host in HOSTS if headers.getlist(host.user)]
    if len(named) > 1 or any(len(headers.getlist(host.user)) > 1 for host in named):
        log.warning("proxy.refused", reason="several headers say who speaks")
        return None
    if named:
        (host,) = named
        user, name = headers[host.user], unquote(headers.get(host.name, "")) if host.name else ""
        return _speaker(grant, host, user, name, headers.get(host.chat, "") if host.chat else "")
    metadata = body.get("metadata")
    field = body.get("user") or (metadata.get("user_id") if isinstance(metadata, Mapping) else None)
    if user_field and isinstance(field, str) and field.strip():
        host = Host(channel=user_field, user="", chat=HOSTS[0].chat)
        return _speaker(grant, host, field, "", headers.get(host.chat, ""))
    return None


def _speaker(grant: Grant, host: Host, user: str, name: str, chat: str) -> Speaker | None:
    if not user.strip():
        return None
    facts = Facts(key="proxy", channel=host.channel, chat_type="direct", sender_id=user, sender_name=name)
    return Speaker(
        agent=grant.agent,
        facts=facts,
        chat=chat,
        channel=host.channel,
        sends_all=host.sends_all,
        family=host.family,
    )


REFUSED: Final = (RefusedError, UsageError)
"""What the memory raises for a speaker whom it does not accept."""

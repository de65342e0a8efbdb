"""gateway-memory in Hermes: a memory provider. Hermes makes one for each of its agents; they share the memory."""

import hashlib
import json
import logging
import re
import uuid
from datetime import datetime
from pathlib import Path
from typing import Any

from agent.memory_provider import MemoryProvider
from hermes_constants import get_hermes_home

from gateway_memory.connect.in_process import TOOLS, shortened

from .shared import Begun, session_of, settings, shared

logger = logging.getLogger(__name__)
_REPLY_SECONDS = 2.0
_ANSWER_SECONDS = 10.0
_NOBODY = frozenset({"cron", "subagent", "system", "webhook"})


class GatewayMemoryProvider(MemoryProvider):
    """The memory of one Hermes agent, which has one conversation."""

    def __init__(self) -> None:
        self._home = Path(get_hermes_home())
        self._facts: dict[str, str] = {}
        self._shared: Any = None
        self._conversation = ""
        self._is_own = False
        self._opened = ""
        self._message: Begun | None = None

    @property
    def name(self) -> str:
        return "gateway-memory"

    def is_available(self) -> bool:
        return bool(settings(self._home))

    def initialize(self, session_id: str, **kwargs: Any) -> None:
        self._shared = shared(self._home)
        if kwargs.get("agent_context", "primary") == "primary" and kwargs.get("platform") not in _NOBODY:
            self._facts = facts_of(session_id, kwargs)
            self._conversation = str(kwargs.get("gateway_session_key") or session_id)
            own = str(kwargs.get("user_id_alt") or kwargs.get("user_id") or "")
            self._is_own = bool(own) and self._conversation.endswith(f":{own}")

    def prefetch(self, query: str, *, session_id: str = "") -> str:
        if not self._facts or not query:
            return ""
        self._message = Begun(query, self._facts, datetime.now().astimezone().isoformat())
        self._shared.begin(self._conversation, self._message)
        if self._shared.is_away:
            return ""

        async def work(memory: Any) -> tuple[str, str, str]:
            session = await session_of(memory, self._facts)
            opening = "" if self._opened == session.session_id else await memory.opening(session)
            context = await memory.before_reply(session, shortened(query))
            return session.session_id, opening, context.text

        try:
            self._opened, opening, context = self._shared.call(work, _REPLY_SECONDS)
        except Exception as error:  # noqa: BLE001 - Hermes replies without a memory
            _log("recall", error)
            return ""
        return "\n\n".join(part for part in (opening, context) if part)

    def sync_turn(
        self, user_content: str, assistant_content: str, *, session_id: str = "", messages: Any = None
    ) -> None:
        if not self._facts:
            return
        interrupted, answered = self._shared.end(self._conversation, user_content)
        for each in interrupted:
            if not each.is_command:
                self._keep(each.facts, each.user, "", session_id, each.at, uuid.uuid4().hex)
        if answered is not None and answered.is_command:  # its words would bring back what it made the memory forget
            return
        said = answered or Begun(user_content, self._facts, "")
        identity = identity_of(session_id or self._facts["key"], messages, said.user)
        at = datetime.now().astimezone().isoformat()
        self._keep(said.facts, said.user, assistant_content, session_id, at, identity)

    def _keep(self, facts: dict[str, str], user: str, reply: str, session_id: str, at: str, identity: str) -> None:
        if not self._is_own:
            facts, user = said_by(facts, user)
        facts = {**facts, "key": session_id or facts["key"]}
        self._shared.keep({"facts": facts, "user": user, "reply": reply, "at": at, "id": identity})

    def on_session_end(self, messages: list[dict[str, Any]]) -> None:
        """End the sessions of this conversation, after its waiting turns: Hermes calls this beside sync_turn."""
        if not self._facts:
            return

        async def work(memory: Any) -> None:
            for session in await memory.open_sessions(self._facts["key"]):
                await memory.end_session(session, reason="completed")

        try:
            self._shared.drain()
            self._shared.call(work, _ANSWER_SECONDS)
        except Exception as error:  # noqa: BLE001 - Hermes goes on
            _log("end", error)

    def on_session_switch(self, new_session_id: str, **kwargs: Any) -> None:
        if self._facts:
            self._facts = {**self._facts, "key": new_session_id}
            self._opened = ""

    def on_pre_compress(self, messages: list[dict[str, Any]]) -> str:
        if not self._facts:
            return ""

        async def work(memory: Any) -> str:
            session = await session_of(memory, self._facts)
            self._opened = ""
            return str(await memory.before_compaction(session, usage=100, messages=len(messages), wants="text"))

        try:
            self._shared.drain()
            return self._shared.call(work, _ANSWER_SECONDS)
        except Exception as error:  # noqa: BLE001 - Hermes compacts without it
            _log("compaction", error)
            return ""

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        return [
            {
                "name": name,
                "description": description,
                "parameters": {"type": "object", "properties": {given: {"type": "string"}}, "required": [given]},
            }
            for name, (description, given) in TOOLS.items()
        ]

    def handle_tool_call(self, tool_name: str, args: dict[str, Any], **kwargs: Any) -> str:
        if not self._facts:
            return json.dumps({"error": "nobody is speaking"})
        given = TOOLS[tool_name][1]
        text = str(args.get(given) or "")
        if not text:
            return json.dumps({"error": f"{given} is missing"})
        if tool_name == "memory_command" and self._message is not None:
            self._message.is_command = True

        async def work(memory: Any) -> dict[str, Any]:
            session = await session_of(memory, self._facts)
            if tool_name == "search_memory":
                hits = await memory.search(session, text)
                return {"found": [hit.text for hit in hits], "outcome": hits.outcome}
            if tool_name == "save_memory":
                return {"saved": bool(await memory.save_fact(session, content=text))}
            return {"answer": await memory.command(session, f"/memory {text.strip().removeprefix('/memory').strip()}")}

        try:
            return json.dumps(self._shared.call(work, _ANSWER_SECONDS), ensure_ascii=False)
        except Exception as error:  # noqa: BLE001 - the model goes on
            _log("answer", error)
            problem = str(error) if type(error).__name__ == "RefusedError" else "the memory can't be reached now"
            return json.dumps({"error": problem})


def facts_of(session_id: str, given: dict[str, Any]) -> dict[str, str]:
    """Return what Hermes has verified of the sender. The key is the session's id, which names nobody."""
    platform = given.get("platform") or "cli"
    sender = str(given.get("user_id") or "")
    return {
        "key": session_id,
        "channel": platform,
        "chat_type": "direct" if platform == "cli" else given.get("chat_type") or "",
        "chat_id": str(given.get("chat_id") or ""),
        "sender_id": "" if sender.endswith("@lid") else sender,  # WhatsApp's hidden id, which can change
        "sender_name": str(given.get("user_name") or ""),
        "chat_title": str(given.get("chat_name") or ""),
    }


def identity_of(key: str, messages: Any, user_content: str) -> str:
    """Return the id of a turn: the same where it is tried again, which puts the same words in the same place."""
    if not isinstance(messages, list):
        return uuid.uuid4().hex
    place = sum(isinstance(each, dict) and each.get("role") == "user" for each in messages)
    return hashlib.sha256(json.dumps([key, place, user_content]).encode()).hexdigest()[:32]


def said_by(facts: dict[str, str], text: str) -> tuple[dict[str, str], str]:
    """Return the facts of whoever says a message, and what they say.

    In a group that shares one conversation, Hermes puts each name before the message: "[Wang] …". Its agent is made for
    whoever speaks. Where that has another name, the one in the message is known alone.
    """
    name = re.match(r"\[([^\[\]\n]{1,80})\] ", text)
    if facts["chat_type"] in ("", "direct", "dm") or name is None:
        return facts, text
    if name[1] == facts["sender_name"]:
        return facts, text[name.end() :]
    return {**facts, "sender_id": "", "sender_name": name[1]}, text[name.end() :]


def _log(what: str, error: Exception) -> None:
    known = type(error).__name__ in ("AwayError", "RefusedError", "StoreError", "TimeoutError")
    logger.warning("gateway-memory: %s failed: %s %s", what, type(error).__name__, error if known else "")


def register(ctx: Any) -> None:
    """Give Hermes a provider."""
    ctx.register_memory_provider(GatewayMemoryProvider())

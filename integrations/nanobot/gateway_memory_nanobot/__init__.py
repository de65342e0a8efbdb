"""gateway-memory in nanobot: three tools, a provider of context, and `/memory`."""

import json
from pathlib import Path
from typing import Any, Self

from loguru import logger
from nanobot.agent.tools.base import Tool
from nanobot.agent.tools.context import ToolContext, current_request_context
from nanobot.bus.events import OutboundMessage
from nanobot.bus.runtime_events import SessionTurnPersisted, SessionTurnStarted
from nanobot.command.router import CommandContext, CommandRouter, normalize_command_text
from nanobot.config.loader import get_config_path
from nanobot.runtime_context import RuntimeContextBlock

from gateway_memory.connect.in_process import TOOLS
from gateway_memory_nanobot.channels import is_ours, pass_commands_on
from gateway_memory_nanobot.conversation import Conversation
from gateway_memory_nanobot.facts import facts_of
from gateway_memory_nanobot.holder import held

__all__ = ["MemoryCommand", "SaveMemory", "SearchMemory"]

_SOURCE = "gateway-memory"
_conversations: dict[int, Conversation] = {}
"""By the bus of their agent."""


def settings() -> dict[str, str]:
    """Return what `gateway-memory connect nanobot` wrote beside nanobot's config; {} if it is not connected."""
    file = get_config_path().parent / "gateway-memory.json"
    try:
        settings = json.loads(file.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        logger.error("gateway-memory: {} can't be read: {}", file, error)
        return {}
    return settings if isinstance(settings, dict) and settings.get("workspace") else {}


class SearchMemory(Tool):
    """Searches the memory of whoever speaks, and holds the memory in the conversation."""

    name = "search_memory"
    description = TOOLS[name][0]
    parameters = {  # noqa: RUF012 - nanobot's base class declares a property
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "what to look for"},
            "limit": {"type": "integer", "minimum": 1, "maximum": 20},
        },
        "required": ["query"],
    }
    read_only = True

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation

    @classmethod
    def enabled(cls, ctx: ToolContext) -> bool:
        return bool(settings()) and ctx.bus is not None and ctx.sessions is not None

    @classmethod
    def create(cls, ctx: ToolContext) -> Self:
        return cls(_conversation(ctx))

    def runtime_context_provider(self) -> Any:
        return self._provide

    async def _provide(self, request: Any) -> RuntimeContextBlock | None:
        try:
            text = await self._conversation.context(request)
        except Exception as error:  # noqa: BLE001 - it would become the reply
            logger.error("gateway-memory: no context: {}", type(error).__name__)
            return None
        return RuntimeContextBlock(source=_SOURCE, content=text) if text else None

    async def execute(self, query: str, limit: int = 5) -> str:
        request = current_request_context()
        return await self._conversation.search(request, query, limit) if request else "Nobody is speaking."


class SaveMemory(Tool):
    """Saves a fact into the memory of whoever speaks."""

    name = "save_memory"
    description = TOOLS[name][0]
    parameters = {  # noqa: RUF012 - nanobot's base class declares a property
        "type": "object",
        "properties": {"content": {"type": "string", "description": "the fact"}},
        "required": ["content"],
    }

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation

    enabled = SearchMemory.enabled

    @classmethod
    def create(cls, ctx: ToolContext) -> Self:
        return cls(_conversation(ctx))

    async def execute(self, content: str) -> str:
        request = current_request_context()
        return await self._conversation.save(request, content) if request else "Nobody is speaking."


class MemoryCommand(Tool):
    """Runs a command for whoever speaks: not every channel lets people write `/memory`."""

    name = "memory_command"
    description = TOOLS[name][0]
    parameters = {  # noqa: RUF012 - nanobot's base class declares a property
        "type": "object",
        "properties": {"command": {"type": "string"}},
        "required": ["command"],
    }

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation

    enabled = SearchMemory.enabled

    @classmethod
    def create(cls, ctx: ToolContext) -> Self:
        return cls(_conversation(ctx))

    async def execute(self, command: str) -> str:
        request = current_request_context()
        return await self._conversation.run(request, command) if request else "Nobody is speaking."


def _conversation(ctx: ToolContext) -> Conversation:
    """Return the conversation of an agent, and connect it to the agent's events at the first call."""
    bus: Any = ctx.bus
    conversation = _conversations.get(id(bus))
    if conversation is None:
        given = settings()
        holder = held(Path(given["workspace"]).expanduser(), given.get("config"))
        conversation = _conversations[id(bus)] = Conversation(holder, ctx.sessions, Path(ctx.workspace))
        bus.subscribe(lambda _event: conversation.resume(), SessionTurnStarted)
        bus.subscribe(conversation.persisted, SessionTurnPersisted)
        _take_commands()
        pass_commands_on()
    return conversation


def _take_commands() -> None:
    """Answer `/memory`, and learn of `/new` and `/compact`: nanobot has no event for a command."""
    dispatch = CommandRouter.dispatch
    if getattr(dispatch, "of_gateway_memory", False):
        return

    async def dispatched(router: CommandRouter, ctx: CommandContext) -> OutboundMessage | None:
        text = normalize_command_text(ctx.raw)
        word = text.partition(" ")[0].lower()
        conversation = _conversations.get(id(ctx.loop.bus))
        if conversation and is_ours(text) and (answered := await _answered(conversation, ctx, text)).content:
            return answered
        if conversation is None or word not in ("/new", "/compact"):
            return await dispatch(router, ctx)
        if word == "/compact":
            await conversation.compacts(ctx.key)
        done = await dispatch(router, ctx)
        if text.lower() == "/new":
            await conversation.ends(ctx.key)
        return done

    dispatched.of_gateway_memory = True  # type: ignore[attr-defined]
    CommandRouter.dispatch = dispatched  # type: ignore[method-assign]


async def _answered(conversation: Conversation, ctx: CommandContext, text: str) -> OutboundMessage:
    msg = ctx.msg
    facts = facts_of(
        key=ctx.key, channel=msg.channel, chat_id=msg.chat_id, sender_id=msg.sender_id, metadata=msg.metadata or {}
    )
    answer = await conversation.command(facts, text) if facts else "There is no memory here."
    return OutboundMessage(
        channel=msg.channel, chat_id=msg.chat_id, content=answer, metadata={**(msg.metadata or {}), "render_as": "text"}
    )

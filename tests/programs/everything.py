"""The tools, resources and prompts that the conformance suite of MCP asks of a server."""

import asyncio
import base64
import json
from typing import Any, Final

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.prompts.base import UserMessage
from mcp_types import (
    AudioContent,
    Completion,
    EmbeddedResource,
    EmptyResult,
    ImageContent,
    SamplingMessage,
    SetLevelRequestParams,
    SubscribeRequestParams,
    TextContent,
    TextResourceContents,
    UnsubscribeRequestParams,
)
from pydantic import BaseModel, Field

PIXEL: Final = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
DESCRIPTION: Final = "A fixture of the conformance suite"
SOUND: Final = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="


class Answer(BaseModel):
    response: str = Field(description="User's response")


class Defaults(BaseModel):
    name: str = "John Doe"
    age: int = 30
    score: float = 95.5
    status: str = Field(default="active", json_schema_extra={"enum": ["active", "inactive", "pending"]})
    verified: bool = True


def _titled(*names: str) -> list[dict[str, str]]:
    return [{"const": name, "title": name.title()} for name in names]


class Choices(BaseModel):
    """Every form of a choice that the protocol knows."""

    untitled: str = Field(alias="untitledSingle", json_schema_extra={"enum": ["option1", "option2"]})
    titled: str = Field(alias="titledSingle", json_schema_extra={"oneOf": _titled("value1", "value2")})  # type: ignore[dict-item]
    old: str = Field(alias="legacyEnum", json_schema_extra={"enum": ["opt1", "opt2"], "enumNames": ["One", "Two"]})
    many: list[str] = Field(
        alias="untitledMulti", json_schema_extra={"items": {"type": "string", "enum": ["option1", "option2"]}}
    )
    titled_many: list[str] = Field(
        alias="titledMulti",
        json_schema_extra={"items": {"anyOf": _titled("value1", "value2")}},  # type: ignore[dict-item]
    )


def image() -> ImageContent:
    return ImageContent(type="image", data=PIXEL, mime_type="image/png")


def text(content: str) -> TextContent:
    return TextContent(type="text", text=content)


def embedded(uri: str) -> EmbeddedResource:
    contents = TextResourceContents(uri=uri, mime_type="text/plain", text="An embedded resource.")
    return EmbeddedResource(type="resource", resource=contents)


def fill(server: MCPServer) -> None:
    """Register everything."""
    _add_contents(server)
    _add_requests(server)
    _add_resources(server)
    _add_prompts(server)


def _add_contents(server: MCPServer) -> None:
    tool = server.tool(description=DESCRIPTION)

    @tool
    def test_simple_text() -> str:
        return "This is a simple text response for testing."

    @tool
    def test_image_content() -> list[ImageContent]:
        return [image()]

    @tool
    def test_audio_content() -> list[AudioContent]:
        return [AudioContent(type="audio", data=SOUND, mime_type="audio/wav")]

    @tool
    def test_embedded_resource() -> list[EmbeddedResource]:
        return [embedded("test://embedded-resource")]

    @tool
    def test_multiple_content_types() -> list[TextContent | ImageContent | EmbeddedResource]:
        return [text("Multiple content types test:"), image(), embedded("test://mixed-content-resource")]

    @tool
    def test_error_handling() -> str:
        raise RuntimeError("This tool intentionally returns an error for testing")


def _add_requests(server: MCPServer) -> None:
    tool = server.tool(description=DESCRIPTION)

    @tool
    async def test_tool_with_logging(ctx: Context[Any, Any]) -> str:
        for step in ("started", "processing data", "completed"):
            await ctx.info(f"Tool execution {step}")
            await asyncio.sleep(0.05)
        return "done"

    @tool
    async def test_tool_with_progress(ctx: Context[Any, Any]) -> str:
        for share in (0, 50, 100):
            await ctx.report_progress(share, 100)
            await asyncio.sleep(0.05)
        return "done"

    @tool
    async def test_sampling(prompt: str, ctx: Context[Any, Any]) -> str:
        asked = SamplingMessage(role="user", content=text(prompt))
        made = await ctx.session.create_message([asked], max_tokens=100, related_request_id=ctx.request_id)
        return f"LLM response: {made.content}"

    async def elicited(ctx: Context[Any, Any], message: str, schema: type[BaseModel]) -> str:
        given = await ctx.elicit(message, schema)
        content = given.data.model_dump_json() if given.action == "accept" else "{}"
        return f"action={given.action}, content={content}"

    @tool
    async def test_elicitation(message: str, ctx: Context[Any, Any]) -> str:
        return await elicited(ctx, message, Answer)

    @tool
    async def test_elicitation_sep1034_defaults(ctx: Context[Any, Any]) -> str:
        return await elicited(ctx, "Please provide your data", Defaults)

    @tool
    async def test_elicitation_sep1330_enums(ctx: Context[Any, Any]) -> str:
        return await elicited(ctx, "Please choose", Choices)


def _add_resources(server: MCPServer) -> None:
    @server.resource("test://static-text")
    def static_text() -> str:
        return "This is the content of the static text resource."

    @server.resource("test://static-binary", mime_type="image/png")
    def static_binary() -> bytes:
        return base64.b64decode(PIXEL)

    @server.resource("test://template/{id}/data")
    def template(id: str) -> str:  # noqa: A002 - the suite's name
        return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})

    @server.resource("test://watched-resource")
    def watched() -> str:
        return "Watched resource content"

    async def accept(_: object, __: object) -> EmptyResult:
        return EmptyResult()

    # The SDK has no public way to take these on a server that is made of functions.
    inner = server._lowlevel_server
    inner.add_request_handler("resources/subscribe", SubscribeRequestParams, accept)
    inner.add_request_handler("resources/unsubscribe", UnsubscribeRequestParams, accept)
    inner.add_request_handler("logging/setLevel", SetLevelRequestParams, accept)


def _add_prompts(server: MCPServer) -> None:
    prompt = server.prompt(description=DESCRIPTION)

    @prompt
    def test_simple_prompt() -> str:
        return "This is a simple prompt for testing."

    @prompt
    def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
        return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"

    @prompt
    def test_prompt_with_embedded_resource(resourceUri: str) -> list[UserMessage]:  # noqa: N803 - the suite's name
        return [UserMessage(embedded(resourceUri)), UserMessage(text("Please process the embedded resource above."))]

    @prompt
    def test_prompt_with_image() -> list[UserMessage]:
        return [UserMessage(image()), UserMessage(text("Please analyze the image above."))]

    async def complete(*_: object) -> Completion:
        return Completion(values=[], total=0, has_more=False)

    server.completion()(complete)  # type: ignore[no-untyped-call]

"""The real SDKs of OpenAI and Anthropic against the proxy: they get what the upstream said, and the turn is kept."""

import asyncio
import json
from typing import Any

import anthropic
import openai
import pytest
from fronted import Front
from pydantic import BaseModel
from upstream import Answer, chat, chat_stream

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("service")]

TOOL: Any = {
    "type": "function",
    "function": {"name": "look", "description": "looks", "parameters": {"type": "object", "properties": {}}},
}


class Place(BaseModel):
    name: str
    floor: int


def events(*data: dict[str, Any]) -> Answer:
    """A stream of Anthropic's or of Responses' form."""
    pieces = [f"event: {each['type']}\ndata: {json.dumps(each)}\n\n".encode() for each in data]
    return Answer(pieces=pieces, kind="text/event-stream")


def message(text: str, **changed: Any) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "scripted",
        "content": [{"type": "text", "text": text}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 9, "output_tokens": 3},
        **changed,
    }


def message_stream(*words: str) -> Answer:
    return events(
        {"type": "message_start", "message": message("", content=[], stop_reason=None)},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": word}} for word in words),
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn", "stop_sequence": None},
            "usage": {"output_tokens": 3},
        },
        {"type": "message_stop"},
    )


def response(identity: str, text: str = "I see.", output: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": []}
    said = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [part]}
    return {
        "id": identity,
        "object": "response",
        "created_at": 1,
        "status": "completed",
        "model": "scripted",
        "output": [said] if output is None else output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }


def whole(body: dict[str, Any]) -> Answer:
    return Answer(pieces=[json.dumps(body).encode()])


@pytest.fixture
def person(request: pytest.FixtureRequest) -> str:
    """A person for each test."""
    return str(request.node.name)[:60]


@pytest.fixture
def base(front: Front, person: str) -> str:
    return front.base(front.token(person))


def test_openai_whole_and_streamed(front: Front, base: str, person: str) -> None:
    client = openai.OpenAI(base_url=base, api_key="sk-1", max_retries=0)
    raw = client.chat.completions.with_raw_response.create(
        model="m", messages=[{"role": "user", "content": "Remember that the axe is blunt."}]
    )
    assert raw.content == chat().pieces[0]
    assert raw.parse().choices[0].message.content == "I see."
    front.model.script.append(chat_stream("One, ", "two."))
    stream = client.chat.completions.create(model="m", stream=True, messages=[{"role": "user", "content": "Count."}])
    assert "".join(chunk.choices[0].delta.content or "" for chunk in stream) == "One, two."
    assert [(turn["user"], turn["reply"]) for turn in front.turns(person)] == [
        ("Count.", "One, two."),
        ("Remember that the axe is blunt.", "I see."),
    ]
    assert client.models.list().data[0].id == "scripted"


def test_openai_tools_and_structured_output(front: Front, base: str, person: str) -> None:
    client = openai.OpenAI(base_url=base, api_key="sk-1", max_retries=0)
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at":"sky"}'}}
    front.model.script.append(chat("", "tool_calls", tool_calls=[call]))
    ask: Any = {"role": "user", "content": "Look outside."}
    reply = client.chat.completions.create(model="m", messages=[ask], tools=[TOOL]).choices[0].message
    assert reply.tool_calls
    assert reply.tool_calls[0].function.arguments == '{"at":"sky"}'  # type: ignore[union-attr]
    assert front.model.bodies()[-1]["tools"] == [TOOL]
    assert front.turns(person) == [], "the client goes on with the tool's result"
    result: Any = {"role": "tool", "tool_call_id": "c1", "content": "rain"}
    client.chat.completions.create(model="m", messages=[ask, reply.model_dump(exclude_none=True), result], tools=[TOOL])  # type: ignore[list-item]
    assert len(front.turns(person)) == 1
    front.model.script.append(chat('{"name":"cellar","floor":-1}'))
    parsed = client.chat.completions.parse(
        model="m", messages=[{"role": "user", "content": "Where is it?"}], response_format=Place
    )
    assert parsed.choices[0].message.parsed == Place(name="cellar", floor=-1)
    assert front.model.bodies()[-1]["response_format"]["type"] == "json_schema"


async def test_openai_async(front: Front, base: str, person: str) -> None:
    async with openai.AsyncOpenAI(base_url=base, api_key="sk-1", max_retries=0) as client:
        front.model.script.append(chat_stream("eins ", "zwei"))
        stream = await client.chat.completions.create(
            model="m", stream=True, messages=[{"role": "user", "content": "Zähl."}]
        )
        assert "".join([chunk.choices[0].delta.content or "" async for chunk in stream]) == "eins zwei"
    assert front.turns(person)[0]["reply"] == "eins zwei"


def test_openai_gets_the_upstreams_errors(front: Front, base: str) -> None:
    client = openai.OpenAI(base_url=base, api_key="sk-1", max_retries=0)
    problem = {"error": {"message": "no such model", "type": "invalid_request_error", "param": "model", "code": "gone"}}
    front.model.script.append(Answer(pieces=[json.dumps(problem).encode()], status=404))
    with pytest.raises(openai.NotFoundError, match="no such model"):
        client.chat.completions.create(model="m", messages=[{"role": "user", "content": "Hello"}])


def test_responses_by_history_and_by_the_stored_reply(front: Front, base: str, person: str) -> None:
    client = openai.OpenAI(base_url=base, api_key="sk-1", max_retries=0)
    front.model.script += [whole(response("resp_1")), whole(response("resp_2", "Bello."))]
    first = client.responses.create(model="m", input="Remember that my dog is called Bello.", instructions="Be brief.")
    assert first.output_text == "I see."
    front.flush()
    second = client.responses.create(model="m", input="What is my dog called?", previous_response_id=first.id)
    assert second.output_text == "Bello."
    turns = front.turns(person)
    assert [turn["user"] for turn in turns] == ["What is my dog called?", "Remember that my dog is called Bello."]
    assert len({turn["session"] for turn in turns}) == 1
    call = {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "c1",
        "name": "look",
        "arguments": "{}",
        "status": "completed",
    }
    front.model.script += [whole(response("resp_3", output=[call])), whole(response("resp_4", "Rain."))]
    third = client.responses.create(model="m", input="Look.", previous_response_id=second.id)
    output: Any = [{"type": "function_call_output", "call_id": "c1", "output": "it rains"}]
    client.responses.create(model="m", input=output, previous_response_id=third.id)
    assert front.model.bodies()[-1]["input"] == output
    assert (front.turns(person)[0]["user"], front.turns(person)[0]["reply"]) == ("Look.", "Rain.")
    final = response("resp_5")
    (item,) = final["output"]
    at = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    steps: list[dict[str, Any]] = [
        {"type": "response.created", "response": {**final, "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "content": []}},
        {"type": "response.content_part.added", **at, "part": {**item["content"][0], "text": ""}},
        {"type": "response.output_text.delta", **at, "delta": "I see.", "logprobs": []},
        {"type": "response.completed", "response": final},
    ]
    stream = events(*({**step, "sequence_number": number} for number, step in enumerate(steps)))
    front.model.script.append(stream)
    said = [{"role": "user", "content": [{"type": "input_text", "text": "What is my dog called, and why?"}]}]
    with client.responses.stream(model="m", input=said) as following:  # type: ignore[arg-type]
        assert following.get_final_response().output_text == "I see."
    sent = front.model.bodies()[-1]
    assert "Bello" in json.dumps(sent)
    assert sent["input"][0]["content"][-1] == said[0]["content"][0]


def test_anthropic_whole_streamed_and_with_tools(front: Front, base: str, person: str) -> None:
    client = anthropic.Anthropic(base_url=base.removesuffix("/v1"), api_key="sk-ant", max_retries=0)
    front.model.script.append(whole(message("Noted.")))
    raw = client.messages.with_raw_response.create(
        model="m", max_tokens=9, messages=[{"role": "user", "content": "Remember that the barn is full."}]
    )
    assert raw.parse().content[0].text == "Noted."  # type: ignore[union-attr]
    assert front.model.asked[-1].headers["authorization"] == "Bearer sk-ant"
    front.flush()
    front.model.script.append(message_stream("It is ", "full."))
    system: Any = [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]
    with client.messages.stream(
        model="m", max_tokens=9, system=system, messages=[{"role": "user", "content": "Is the barn full?"}]
    ) as stream:
        assert "".join(stream.text_stream) == "It is full."
    sent = front.model.bodies()[-1]
    assert sent["system"][0] == system[0]
    assert "barn" in json.dumps(sent["system"][1:])
    use = {"type": "tool_use", "id": "t1", "name": "look", "input": {}}
    front.model.script += [whole(message("", content=[use], stop_reason="tool_use")), whole(message("Rain."))]
    ask: Any = {"role": "user", "content": "Look outside."}
    client.messages.create(model="m", max_tokens=9, messages=[ask])
    result: Any = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "it rains"}]}
    called: Any = {"role": "assistant", "content": [use]}
    client.messages.create(
        model="m",
        max_tokens=9,
        messages=[ask, called, result],
    )
    one, two = front.model.bodies()[-2:]
    assert two["messages"][0] == one["messages"][0]
    assert two["messages"][-1] == result
    assert [(turn["user"], turn["reply"]) for turn in front.turns(person)] == [
        ("Look outside.", "Rain."),
        ("Is the barn full?", "It is full."),
        ("Remember that the barn is full.", "Noted."),
    ]


async def test_anthropic_async(front: Front, base: str, person: str) -> None:
    async with anthropic.AsyncAnthropic(base_url=base.removesuffix("/v1"), api_key="k", max_retries=0) as client:
        front.model.script.append(message_stream("a", "b"))
        async with client.messages.stream(
            model="m", max_tokens=9, messages=[{"role": "user", "content": "Letters?"}]
        ) as stream:
            assert await stream.get_final_text() == "ab"
    assert front.turns(person)[0]["reply"] == "ab"


def test_ollamas_own_form(front: Front, base: str, person: str) -> None:
    lines = [
        {"model": "m", "message": {"role": "assistant", "content": "Yes"}, "done": False},
        {"model": "m", "message": {"role": "assistant", "content": "."}, "done": True, "done_reason": "stop"},
    ]
    pieces = [json.dumps(line).encode() + b"\n" for line in lines]
    front.model.script.append(Answer(pieces=pieces, kind="application/x-ndjson"))
    said: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "Remember that the oar is broken."}]}
    reply = front.post(base.removesuffix("/v1"), said, path="api/chat")
    assert reply.content == b"".join(pieces)
    assert front.model.asked[-1].path == "/api/chat"
    assert (front.turns(person)[0]["user"], front.turns(person)[0]["reply"]) == (said["messages"][0]["content"], "Yes.")


@pytest.mark.parametrize("streams", [False, True])
def test_a_command_is_a_reply_that_the_sdks_read(front: Front, base: str, *, streams: bool) -> None:
    ask: Any = [{"role": "user", "content": "/memory status"}]
    client = openai.OpenAI(base_url=base, api_key="sk-1", max_retries=0)
    claude = anthropic.Anthropic(base_url=base.removesuffix("/v1"), api_key="k", max_retries=0)
    if streams:
        chunks = client.chat.completions.create(model="m", messages=ask, stream=True)
        texts = ["".join(chunk.choices[0].delta.content or "" for chunk in chunks)]
        with claude.messages.stream(model="m", max_tokens=9, messages=ask) as stream:
            texts.append(stream.get_final_text())
        with client.responses.stream(model="m", input=ask) as following:
            texts.append(following.get_final_response().output_text)
    else:
        texts = [client.chat.completions.create(model="m", messages=ask).choices[0].message.content or ""]
        texts.append(claude.messages.create(model="m", max_tokens=9, messages=ask).content[0].text)  # type: ignore[union-attr]
        texts.append(client.responses.create(model="m", input=ask).output_text)
    assert all("0" in text and len(text) > 50 for text in texts), texts
    assert front.model.asked == []


async def test_fifty_clients_at_once(front: Front) -> None:
    tokens = [front.token(f"many{number}") for number in range(50)]

    async def talk(number: int) -> None:
        async with openai.AsyncOpenAI(base_url=front.base(tokens[number]), api_key="k", max_retries=0) as client:
            history: list[Any] = []
            for text in (f"Remember that my number is {number}.", "What is my number?"):
                history.append({"role": "user", "content": text})
                stream = await client.chat.completions.create(model="m", stream=True, messages=history)
                said = "".join([chunk.choices[0].delta.content or "" async for chunk in stream])
                assert said == "I see."
                history.append({"role": "assistant", "content": said})

    await asyncio.gather(*(talk(number) for number in range(50)))
    assert len(front.model.asked) == 100
    for number in (0, 17, 49):
        turns = front.turns(f"many{number}")
        assert [turn["user"] for turn in turns] == ["What is my number?", f"Remember that my number is {number}."]

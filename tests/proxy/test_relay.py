"""A client without a person behind it gets what the upstream says, byte for byte, and nothing is kept."""

import json

import httpx2
import pytest
from fronted import Front, user
from upstream import Answer, chat, chat_stream

pytestmark = pytest.mark.xdist_group("service")


def test_without_a_token_a_request_goes_through_as_it_came(front: Front) -> None:
    said = {
        "model": "scripted",
        "messages": [user("Remember that I like figs.")],
        "temperature": 0.70,
        "x": [1e3, None],
    }
    body = json.dumps(said, indent=3).encode()
    response = httpx2.post(
        f"{front.served.url}/openai/v1/chat/completions?api-version=2",
        content=body,
        headers={"authorization": "Bearer sk-1", "content-type": "application/json", "x-title": "mine"},
    )
    (asked,) = front.model.asked
    assert asked.body == body
    assert asked.path == "/v1/chat/completions?api-version=2"
    assert asked.headers["authorization"] == "Bearer sk-1"
    assert asked.headers["x-title"] == "mine"
    assert response.content == chat().pieces[0]
    assert response.headers["x-gateway-memory"] == "nobody"
    models = httpx2.get(f"{front.served.url}/openai/v1/models", headers={"authorization": "Bearer sk-1"})
    assert models.json()["data"][0]["id"] == "scripted"
    assert front.model.asked[-1].path == "/v1/models"


def test_the_memory_of_one_chat_is_in_the_next(front: Front) -> None:
    base = front.base(front.token("ada"))
    first = front.say(base, user("Remember that the boiler is in the cellar."))
    assert first.headers["x-gateway-memory"] == "empty"
    assert first.content == chat().pieces[0]
    front.flush()
    second = front.say(base, {"role": "system", "content": "Be brief."}, user("Where is the boiler?"))
    asked = front.model.bodies()[-1]
    assert asked["messages"][0]["content"].startswith("Be brief.\n\n<gateway-memory>")
    assert "cellar" in json.dumps(asked)
    assert asked["messages"][-1]["content"].endswith("Where is the boiler?")
    assert second.headers["x-gateway-memory"] in ("full", "partial")
    other = front.base(front.token("bob"))
    front.say(other, user("Where is the boiler?"))
    assert "cellar" not in front.model.asked[-1].body.decode()


def test_a_stream_goes_on_as_it_came_and_its_turn_is_kept(front: Front) -> None:
    base = front.base(front.token("cleo"))
    answer = chat_stream("The ", "gate ", "is ", "— grün.")
    front.model.script.append(answer)
    response = front.post(base, {"model": "m", "stream": True, "messages": [user("Remember that the gate is green.")]})
    assert response.content == b"".join(answer.pieces)
    (turn,) = front.turns("cleo")
    assert (turn["user"], turn["reply"]) == ("Remember that the gate is green.", "The gate is — grün.")


def test_errors_of_the_upstream_pass_and_leave_nothing(front: Front) -> None:
    base = front.base(front.token("dora"))
    front.model.script.append(
        Answer(pieces=[b'{"error":{"message":"slow down"}}'], status=429, headers={"retry-after": "7"})
    )
    response = front.post(base, {"model": "m", "messages": [user("Remember that the gate is green.")]})
    assert (response.status_code, response.content) == (429, b'{"error":{"message":"slow down"}}')
    assert response.headers["retry-after"] == "7"
    assert front.turns("dora") == []

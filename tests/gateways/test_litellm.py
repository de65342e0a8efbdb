"""The real LiteLLM in front of the proxy, with two people: whose words are whose, and what a stranger's headers say."""

import json
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from behind_proxy import (
    Say,
    edits_branches_and_tools,
    fronted,
    installed,
    people_are_apart,
    program,
    talk_while_the_memory_learns,
)
from fronted import Front, user
from loopback import free_port
from patience import seconds

VERSION = "1.108.7"
PEOPLE = """
from litellm.proxy._types import UserAPIKeyAuth


async def check(request, api_key):
    if api_key not in ("sk-anna", "sk-ben"):
        raise ValueError("no such key")
    return UserAPIKeyAuth(api_key=api_key, user_id=api_key.removeprefix("sk-"))
"""
TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}

Known = Callable[[str], str]


class LiteLLM:
    """A running LiteLLM."""

    def __init__(self, url: str) -> None:
        self.url = url

    def post(self, person: str, chat_id: str, body: dict[str, Any], **headers: str) -> httpx2.Response:
        given = {"authorization": f"Bearer sk-{person}", "x-gateway-memory-chat": chat_id, **headers}
        url = f"{self.url}/v1/chat/completions"
        return httpx2.post(url, json={"model": "m", **body}, headers=given, timeout=seconds(60))

    def say(self, person: str, chat_id: str, *messages: dict[str, Any], tools: bool = False) -> str:
        body = {"messages": list(messages), **({"tools": [TOOL]} if tools else {})}
        response = self.post(person, chat_id, body)
        assert response.status_code == 200, response.text
        return str(response.json()["choices"][0]["message"]["content"] or "")


@pytest.fixture(scope="module")
def python() -> Path:
    return installed(f"litellm-{VERSION}", f"litellm[proxy]=={VERSION}")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, python: Path) -> Iterator[tuple[Front, Known, LiteLLM]]:
    folder, port = tmp_path_factory.mktemp("litellm"), free_port()
    with fronted(folder / "memory", channel="litellm") as (front, known):
        base = front.base(front.served.tokens["main"])
        model = {"model": "openai/scripted", "api_base": base, "api_key": "sk-of-the-upstream"}
        config = {
            "model_list": [{"model_name": "m", "litellm_params": model}],
            "litellm_settings": {"add_user_information_to_llm_headers": True, "num_retries": 0},
            "general_settings": {
                "forward_client_headers_to_llm_api": True,
                "custom_auth": "people.check",
                "master_key": f"sk-{secrets.token_hex(24)}",
            },
        }
        home = folder / "litellm"
        home.mkdir()
        (home / "config.yaml").write_text(json.dumps(config), "utf-8")  # which is YAML, too
        (home / "people.py").write_text(PEOPLE, "utf-8")
        command: list[str | Path] = [
            python.with_name("litellm"),
            "--config",
            "config.yaml",
            "--host",
            "127.0.0.1",
            "--port",
            str(port),
        ]
        quiet = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_TELEMETRY": "False", "PYTHONPATH": str(home)}
        with program(home, command, f"http://127.0.0.1:{port}/health/liveliness", **quiet):
            yield front, known, LiteLLM(f"http://127.0.0.1:{port}")


@pytest.fixture
def front(served: tuple[Front, Known, LiteLLM]) -> Front:
    served[0].model.asked.clear()
    served[0].model.script.clear()
    return served[0]


@pytest.fixture
def known(served: tuple[Front, Known, LiteLLM]) -> Known:
    return served[1]


@pytest.fixture
def say(served: tuple[Front, Known, LiteLLM]) -> Say:
    return served[2].say


def test_each_person_has_a_memory_of_their_own(front: Front, say: Say, known: Known) -> None:
    people_are_apart(front, say, known)


def test_each_request_begins_with_the_whole_of_the_one_before(front: Front, say: Say) -> None:
    talk_while_the_memory_learns(front, say, turns=11)


def test_edits_branches_and_tools(front: Front, say: Say, known: Known) -> None:
    edits_branches_and_tools(front, say, known)


def test_a_clients_title_is_kept_nowhere(front: Front, say: Say, known: Known) -> None:
    title = user("Provide a concise, 5-word-or-less title for the conversation.\nUser: the ibis is white")
    say("anna", "title", title)
    assert front.model.bodies()[-1]["messages"] == [title]
    assert "ibis" not in known("anna")


def test_a_person_who_sends_another_name_gets_no_memory_of_theirs(
    front: Front, served: tuple[Front, Known, LiteLLM], known: Known
) -> None:
    lite = served[2]
    lite.say("anna", "mine", user("Remember that the orchid blooms at midnight."))
    front.flush()
    for name in ("x-gateway-memory-user", "x-openwebui-user-id", "x-litellm-user_api_key_user_id"):
        body = {"messages": [user("When does the orchid bloom? Remember that the newt is wet.")]}
        lite.post("ben", name, body, **{name: "anna"})
        assert "midnight" not in front.model.asked[-1].body.decode(), name
    assert "newt" not in known("anna")
    assert lite.post("mallory", "x", {"messages": [user("Hello")]}).status_code in (400, 401, 403, 500)

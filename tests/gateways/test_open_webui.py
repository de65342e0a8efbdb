"""The real Open WebUI in front of the proxy, with two people: whose words are whose, and what of its tasks is kept."""

import json
import uuid
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
from fronted import Front, assistant, user
from loopback import free_port
from patience import seconds

VERSION = "0.12.4"
TASKS = ("title", "tags", "follow_up", "queries", "emoji", "auto")
TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}
OFFLINE = {
    "OFFLINE_MODE": "true",
    "HF_HUB_OFFLINE": "1",
    "RAG_EMBEDDING_ENGINE": "openai",  # no model is loaded
    "ENABLE_OLLAMA_API": "false",
    "ENABLE_PERSISTENT_CONFIG": "false",
    "ENABLE_VERSION_UPDATE_CHECK": "false",
    "ENABLE_FORWARD_USER_INFO_HEADERS": "true",
    "BYPASS_MODEL_ACCESS_CONTROL": "true",
    "ENABLE_SIGNUP": "true",
    "DEFAULT_USER_ROLE": "user",
    "WEBUI_SECRET_KEY": "a test's",
    "ANONYMIZED_TELEMETRY": "false",
    "DO_NOT_TRACK": "true",
    "SCARF_NO_ANALYTICS": "true",
}

Known = Callable[[str], str]


class OpenWebUI:
    """A running Open WebUI, its people and their chats."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.ids: dict[str, str] = {}
        self._tokens: dict[str, str] = {}
        self._chats: dict[tuple[str, str], str] = {}
        for person in ("anna", "ben"):
            form = {"name": person, "email": f"{person}@example.org", "password": "long-enough-7"}
            if not self.ids:  # the administrator, who adds the others
                signed = self.post("", "/api/v1/auths/signup", form)
            else:
                added = self.post("anna", "/api/v1/auths/add", {**form, "role": "user"})
                assert added.status_code == 200, added.text
                signed = self.post("", "/api/v1/auths/signin", form)
            assert signed.status_code == 200, signed.text
            self._tokens[person], self.ids[person] = signed.json()["token"], signed.json()["id"]

    def post(self, person: str, path: str, body: dict[str, Any], **headers: str) -> httpx2.Response:
        given = {**({"authorization": f"Bearer {self._tokens[person]}"} if person else {}), **headers}
        return httpx2.post(self.url + path, json=body, headers=given, timeout=seconds(60))

    def chat(self, person: str, name: str) -> str:
        """Return the id of a chat of a person, a new one for a new name."""
        if (person, name) not in self._chats:
            made = self.post(person, "/api/v1/chats/new", {"chat": {"title": name, "models": ["scripted"]}})
            assert made.status_code == 200, made.text
            self._chats[person, name] = made.json()["id"]
        return self._chats[person, name]

    def say(self, person: str, name: str, *messages: dict[str, Any], tools: bool = False) -> str:
        where = {"chat_id": self.chat(person, name), "id": str(uuid.uuid4())}  # the message that will be the reply
        body = {"model": "scripted", "messages": list(messages), "stream": False, **where}
        response = self.post(person, "/api/chat/completions", {**body, **({"tools": [TOOL]} if tools else {})})
        assert response.status_code == 200, response.text
        return str(response.json()["choices"][0]["message"]["content"] or "")


@pytest.fixture(scope="module")
def python() -> Path:
    return installed(f"open-webui-{VERSION}", f"open-webui=={VERSION}")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, python: Path) -> Iterator[tuple[Front, Known, OpenWebUI]]:
    folder, port = tmp_path_factory.mktemp("webui"), free_port()
    with fronted(folder / "memory", channel="openwebui") as (front, known_of):
        command: list[str | Path] = [
            python.with_name("open-webui"),
            "serve",
            "--host",
            "127.0.0.1",
            "--port",
            str(port),
        ]
        upstream = {
            "OPENAI_API_BASE_URL": front.base(front.served.tokens["main"]),
            "OPENAI_API_KEY": "sk-of-the-upstream",
            "DATA_DIR": str(folder / "webui"),
        }
        with program(folder / "webui", command, f"http://127.0.0.1:{port}/health", **OFFLINE, **upstream):
            webui = OpenWebUI(f"http://127.0.0.1:{port}")
            listed = httpx2.get(f"{webui.url}/api/models", headers={"authorization": f"Bearer {webui._tokens['ben']}"})
            assert "scripted" in listed.text
            yield front, lambda person: known_of(webui.ids[person]), webui


@pytest.fixture
def front(served: tuple[Front, Known, OpenWebUI]) -> Front:
    served[0].model.asked.clear()
    served[0].model.script.clear()
    return served[0]


@pytest.fixture
def known(served: tuple[Front, Known, OpenWebUI]) -> Known:
    return served[1]


@pytest.fixture
def say(served: tuple[Front, Known, OpenWebUI]) -> Say:
    return served[2].say


def test_each_person_has_a_memory_of_their_own(front: Front, say: Say, known: Known) -> None:
    people_are_apart(front, say, known)


def test_each_request_begins_with_the_whole_of_the_one_before(front: Front, say: Say) -> None:
    talk_while_the_memory_learns(front, say, turns=11)


def test_edits_branches_and_tools(front: Front, say: Say, known: Known) -> None:
    edits_branches_and_tools(front, say, known)


def test_nothing_is_kept_of_its_tasks(front: Front, served: tuple[Front, Known, OpenWebUI], known: Known) -> None:
    webui = served[2]
    webui.say("anna", "tasks", user("Remember that the boat is blue."))
    front.flush()
    before = known("anna")
    said = [user("Remember that the boat is blue."), assistant("I see.")]
    for task in TASKS:
        front.model.asked.clear()
        body = {"model": "scripted", "messages": said, "chat_id": webui.chat("anna", "tasks"), "type": "general"}
        answer = webui.post("anna", f"/api/v1/tasks/{task}/completions", {**body, "prompt": "Remember that the boat"})
        if answer.status_code == 200 and front.model.asked:
            assert "gateway-memory" not in json.dumps(front.model.bodies()[-1]["messages"]), task
            assert known("anna") == before, task
    front.model.asked.clear()
    webui.post("anna", "/api/v1/tasks/title/completions", {"model": "scripted", "messages": said})
    assert len(front.model.asked) == 1, "a title was asked for"

"""The calls of the service over HTTP: what each answers, and which mistakes of a caller it tells."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from served import OWNER, Served, facts, service, written

from gateway_memory.cli.main import main
from gateway_memory.serving import models
from gateway_memory.serving.endpoints import ENDPOINTS

pytestmark = pytest.mark.xdist_group("service")

ANSWERS = {each.name: each.response for each in ENDPOINTS}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("service")
    places = {"main": folder / "main", "work": folder / "work"}
    agents = {name: {"workspace": str(place)} for name, place in places.items()}
    with service(written(folder, agents=agents, port=0), workspaces=places) as running:
        yield running


def asked(served: Served, call: str, **body: Any) -> dict[str, Any]:
    answer = served.answer(call, body)
    ANSWERS[call].model_validate_json(json.dumps(answer))  # what /openapi.json promises
    return answer


def test_what_is_said_in_one_session_is_told_in_another(served: Served) -> None:
    zoe, other = facts("1"), facts("1", key="agent:main:telegram:direct:1:thread:9")
    first = asked(served, "before_reply", speaker=zoe, message="Hello")
    assert re.fullmatch(r"[0-9a-f]{16}", first["session_id"])
    assert "save-fact" in first["rule"]
    turn = asked(served, "after_reply", id="t1", speaker=zoe, user="Remember that my dog is called Bello.", reply="OK")
    assert turn == {"turn": 1, "kept": True}
    assert (
        asked(served, "after_reply", id="t1", speaker=zoe, user="Remember that my dog is called Bello.", reply="OK")
        == turn
    )
    tool = asked(served, "after_reply", id="t2", speaker=zoe, user="It is late.", reply="OK", provenance="tool")
    assert tool == {"turn": 0, "kept": False}
    assert asked(served, "flush") == {}
    told = asked(
        served, "before_reply", speaker=other, message="What is my dog called?", at="2026-11-24T10:00:00+01:00"
    )
    assert "Bello" in told["opening"] + told["context"]
    stranger = asked(served, "before_reply", speaker=facts("2"), message="What is the dog called?")
    assert "Bello" not in json.dumps(stranger)
    (hit, *_) = asked(served, "search", speaker=zoe, query="dog", kinds=["memory"])["hits"]
    assert "Bello" in hit["text"]
    assert hit["kind"] == "memory"
    assert asked(served, "get", speaker=zoe, hit=hit["id"])["hits"]
    assert asked(served, "get", speaker=facts("2"), hit=hit["id"])["hits"] == [], "another's hit"
    listed = asked(served, "search", speaker=zoe, limit=1, since="2020-01-01", type="W")
    assert len(listed["hits"]) <= 1


def test_an_opening_is_told_once_where_it_stays(served: Served) -> None:
    asked(served, "save_fact", id="o1", speaker=facts("3"), content="The office is in Oslo.")
    stays, drops = facts("3", key="agent:main:stays"), facts("3", key="agent:main:drops")
    answers = [asked(served, "before_reply", speaker=stays, message="Hi") for _ in range(3)]
    assert [bool(each["opening"]) for each in answers] == [True, False, False]
    answers = [asked(served, "before_reply", speaker=drops, message="Hi", ephemeral=True) for _ in range(3)]
    assert all("Oslo" in each["opening"] for each in answers)
    unasked = asked(served, "before_reply", speaker=drops, message="Hi", ephemeral=True, opening=False)
    assert unasked["opening"] == ""
    asked(served, "compaction", speaker=stays, done=True)
    again = asked(served, "before_reply", speaker=stays, message="Hi")
    assert "Oslo" in again["opening"], "it went with the context"


def test_a_command_is_answered_and_other_messages_are_not(served: Served) -> None:
    speaker = facts("4")
    kept = asked(
        served, "save_fact", id="f1", speaker=speaker, content="The door code is on the fridge.", entities=["door"]
    )
    assert kept["memory"]
    assert asked(served, "save_fact", id="f1", speaker=speaker, content="The door code is on the fridge.") == kept
    for text in ("Good morning", "", "/memoryless"):
        assert asked(served, "command", id="c0", speaker=speaker, text=text) == {"answer": None, "done": False}
    status = asked(served, "command", id="c1", speaker=speaker, text="/memory status")
    assert status["done"]
    unknown = asked(served, "command", id="c2", speaker=speaker, text="/memory frobnicate")
    assert not unknown["done"]
    undone = asked(served, "command", id="c3", speaker=speaker, text=f"/memory forget {kept['memory']}")
    assert undone["done"]
    assert asked(served, "command", id="c3", speaker=speaker, text=f"/memory forget {kept['memory']}") == undone
    other = asked(served, "command", id="c3", speaker=facts("5"), text="/memory undo")
    assert not other["done"], "the same id of another person is another request"


def test_a_session_is_observed_compacted_and_ended(served: Served) -> None:
    speaker = facts("6")
    for _ in range(2):
        assert (
            asked(served, "observe", id="o1", speaker=speaker, kind="tool", tool="Bash", content="ran make test") == {}
        )
    (seen,) = asked(served, "search", speaker=speaker, query="make test", kinds=["observation"])["hits"]
    assert "make test" in seen["text"]
    for number in range(4):
        said = {"user": f"We decided to use queue number {number} for the orders.", "reply": "Good."}
        asked(served, "after_reply", id=f"t{number}", speaker=speaker, **said)
    assert isinstance(asked(served, "compaction", speaker=speaker, usage=80, messages=40)["prompt"], str)
    assert "queue" in asked(served, "compaction", key=speaker["key"], wants="text")["text"]
    assert asked(served, "compaction", key=speaker["key"], done=True) == {}
    saved = asked(
        served, "save_summary", id="s1", speaker=speaker, topic="Queues", summary="We chose queues.", todos=["deploy"]
    )
    assert saved == {"saved": True}
    assert asked(served, "save_summary", id="s1", speaker=speaker, topic="Queues", summary="We chose queues.") == saved
    assert asked(served, "save_summary", id="s2", speaker=speaker, topic="More", summary="More.") == {"saved": False}
    assert asked(served, "end_session", id="e1", key=speaker["key"], reason="reset") == {"ended": 1}
    before = asked(served, "before_reply", speaker=speaker, message="Hello again")
    assert "Queues" in before["opening"]
    assert asked(served, "end_session", id="e1", key=speaker["key"], reason="reset") == {"ended": 1}
    after = asked(served, "before_reply", speaker=speaker, message="Still there?")
    assert after["session_id"] == before["session_id"], "the repeat ended nothing"
    assert asked(served, "end_session", id="e2", speaker=speaker, reason="completed", duration_ms=5) == {"ended": 1}
    assert asked(served, "end_session", id="e3", speaker=speaker, reason="completed") == {"ended": 0}


def test_two_agents_are_apart(served: Served) -> None:
    fact = {"id": "a1", "speaker": OWNER, "content": "The agent of work knows the budget of 7000."}
    assert served.answer("save_fact", fact, agent="work")["memory"]
    body = {"speaker": OWNER, "query": "budget", "kinds": ["memory"]}
    assert served.answer("search", body, agent="work")["hits"]
    assert served.answer("search", body, agent="main")["hits"] == []
    for agent in ("main", "MAIN", None):
        assert served.answer("search", {**body, "speaker": {**OWNER, "agent": agent}}, agent="main")["hits"] == []
    refused = served.post("search", {**body, "speaker": {**OWNER, "agent": "work"}}, agent="main")
    assert refused.status_code == 403
    assert refused.json()["error"]["code"] == "forbidden"
    assert refused.json()["error"]["where"] == "speaker.agent"


def test_who_cannot_be_told_is_refused_in_words(served: Served) -> None:
    for call, body in (
        ("before_reply", {"message": "Hi"}),
        ("after_reply", {"id": "u1", "user": "Hi", "reply": "Hi"}),
        ("end_session", {"id": "u2", "reason": "reset"}),
    ):
        refused = served.post(call, {"speaker": {"key": "agent:main:main"}, **body})
        assert refused.status_code == 403
        error = refused.json()["error"]
        assert (error["code"], error["where"]) == ("unknown_speaker", "speaker")
        assert "chat_type" in error["message"]


@pytest.mark.parametrize(
    ("call", "body", "where"),
    [
        ("before_reply", {}, "speaker"),
        ("before_reply", {"speaker": {}}, "speaker.key"),
        ("before_reply", {"speaker": OWNER, "mesage": "x"}, "mesage"),
        ("before_reply", {"speaker": {**OWNER, "user": "zoe"}}, "speaker.user"),
        ("before_reply", {"speaker": OWNER, "at": "yesterday"}, "at"),
        ("before_reply", {"speaker": OWNER, "at": "2026-11-24T10:00:00"}, "at"),
        ("before_reply", {"speaker": OWNER, "message": 5}, ""),
        ("before_reply", {"speaker": OWNER, "opening": "yes"}, "opening"),
        ("before_reply", {"speaker": {**OWNER, "is_owner": 1}}, "speaker.is_owner"),
        ("before_reply", {"speaker": {**OWNER, "sender_id": 17}}, "speaker.sender_id"),
        ("after_reply", {"speaker": OWNER, "user": "x", "reply": "y"}, "id"),
        ("after_reply", {"id": "", "speaker": OWNER}, "id"),
        ("after_reply", {"id": "i" * 201, "speaker": OWNER}, "id"),
        ("after_reply", {"id": " ", "speaker": OWNER, "user": "x", "reply": "y"}, "id"),
        ("command", {"id": "\n", "speaker": OWNER, "text": "/memory undo"}, "id"),
        ("search", {"speaker": OWNER, "limit": 0}, "limit"),
        ("search", {"speaker": OWNER, "kinds": ["secret"]}, ""),
        ("search", {"speaker": OWNER, "since": "soon"}, ""),
        ("get", {"speaker": OWNER, "hit": "x", "around": -1}, "around"),
        ("compaction", {}, ""),
        ("compaction", {"speaker": OWNER, "key": "x"}, ""),
        ("compaction", {"key": "x", "wants": "poem"}, "wants"),
        ("end_session", {"id": "1", "key": "x"}, "reason"),
        ("save_fact", {"id": "1", "speaker": OWNER, "content": "x", "type": "Z"}, "type"),
        ("save_fact", {"id": "1", "speaker": OWNER, "content": "x", "confidence": 2}, "confidence"),
        ("save_summary", {"id": "1", "speaker": OWNER, "topic": "x", "summary": "y", "todos": [1]}, "todos.0"),
        ("flush", {"now": True}, "now"),
    ],
)
def test_a_mistake_in_a_body_is_named_with_its_place(
    call: str, body: dict[str, Any], where: str, served: Served
) -> None:
    refused = served.post(call, body)
    assert refused.status_code == 400, refused.text
    error = models.Error.model_validate_json(refused.text).error
    assert (error.code, error.where) == ("bad_request", where)
    assert error.message


def escaped(served: Served, call: str, **body: Any) -> tuple[int, dict[str, Any]]:
    """Ask with JSON as JavaScript writes it: half a character is an escape."""
    headers = {"Content-Type": "application/json"}
    with served.client() as client:
        response = client.post(f"/v1/{call}", content=json.dumps(body).encode(), headers=headers)
    return response.status_code, response.json()


def test_half_an_emoji_costs_no_turn(served: Served) -> None:
    speaker = facts("77")
    said = {"user": "The gondola \ud83d leaks.", "reply": [{"type": "text", "text": "Oh \udc00 no."}]}
    status, kept = escaped(served, "after_reply", id="half-1", speaker=speaker, **said)
    assert (status, bool(kept["turn"])) == (200, True)
    asked(served, "flush")
    _, found = escaped(served, "search", speaker=speaker, query="gondola \ude00")
    assert [hit for hit in found["hits"] if "The gondola" in hit["text"] and "leaks." in hit["text"]], found
    status, _ = escaped(served, "before_reply", speaker=speaker, message="Does the gondola \ud83d leak?")
    assert status == 200


@pytest.mark.parametrize(
    "named", [{"id": "a\ud83d"}, {"speaker": facts("77\ud83d")}, {"speaker": facts("7", person="\udc00")}]
)
def test_half_a_character_in_a_name_is_refused(named: dict[str, Any], served: Served) -> None:
    """Mended, two names that differ in broken characters alone would become one."""
    body = {"id": "name-1", "speaker": facts("77"), "user": "hello", "reply": "yes", **named}
    status, refused = escaped(served, "after_reply", **body)
    assert (status, refused["error"]["code"]) == (400, "bad_request")


def test_what_is_not_there_is_not_found(served: Served) -> None:
    with served.client() as client:
        for method, path in (
            ("GET", "/x"), ("GET", "/v1/search"), ("POST", "/v1/nothing"), ("POST", "/healthz"), ("PUT", "/v1/search"),
            ("GET", "/v1/search/"), ("GET", "/../etc/passwd"), ("POST", "/v1/search%00"),
        ):  # fmt: skip
            response = client.request(method, path)
            assert response.status_code == 404, path
            assert response.json()["error"]["code"] == "not_found"


def test_health_readiness_and_the_description_need_no_token(served: Served) -> None:
    with served.client("") as client:
        assert client.get("/healthz").json() == {"status": "ok"}
        assert client.get("/readyz").json() == {"status": "ready"}
        document = client.get("/openapi.json").json()
    assert {f"/v1/{name}" for name in ANSWERS} < document["paths"].keys()
    text = json.dumps(document)
    names = set(re.findall(r'"#/components/schemas/(\w+)"', text))
    assert names <= document["components"]["schemas"].keys()
    assert document["components"]["schemas"]["BeforeReply"]["additionalProperties"] is False


def test_metrics_are_those_of_all_agents(served: Served) -> None:
    from prometheus_client.parser import text_string_to_metric_families

    with served.client() as client:
        client.get("/healthz")
        response = client.get("/metrics")
    assert response.headers["content-type"].startswith("text/plain")
    families = list(text_string_to_metric_families(response.text))
    assert len({family.name for family in families}) == len(families)
    agents = {sample.labels["agent"] for family in families for sample in family.samples}
    assert agents == {"", "main", "work"}
    counted = {sample.labels.get("name") for family in families for sample in family.samples}
    assert "http.healthz.200" in counted


def test_a_token_of_its_own_reads_the_metrics_and_nothing_else(
    served: Served, capsys: pytest.CaptureFixture[str]
) -> None:
    place = ["--workspace", str(served.log.parent / "main")]
    assert main(["token", "add", "--metrics", "--name", "prometheus", *place]) == 0
    token = capsys.readouterr().out.strip()
    assert main(["token", "list", *place]) == 0
    row = capsys.readouterr().out.splitlines()[-1]
    assert re.search(r" metrics  prometheus$", row)
    with served.client(token) as client:
        read = client.get("/metrics")
        assert read.status_code == 200
        assert "gateway_memory_events_total" in read.text
        for method, path in (("GET", "/v1/changes"), ("POST", "/v1/search"), ("POST", "/page/link")):
            refused = client.request(method, path)
            assert refused.status_code == 403, path
            assert "/metrics alone" in refused.json()["error"]["message"]
        assert client.post("/mcp", json={}).status_code in (401, 403)
        assert main(["token", "revoke", row.split()[0], *place]) == 0
        assert client.get("/metrics").status_code == 401


def test_changes_are_told_as_they_come(served: Served) -> None:
    with served.client() as client, client.stream("GET", "/v1/changes") as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        lines = stream.iter_lines()
        assert next(lines) == ": listening"
        asked(served, "save_fact", id="ch1", speaker=facts("7"), content="The ferry leaves at nine.")
        served.answer("save_fact", {"id": "ch2", "speaker": OWNER, "content": "Of work alone."}, agent="work")
        asked(served, "save_fact", id="ch3", speaker=facts("7"), content="The bus leaves at ten.")
        found: list[dict[str, Any]] = []
        for line in lines:
            if line.startswith("data: "):
                found.append(json.loads(line.removeprefix("data: ")))
            if len(found) == 2:
                break
    texts = [change["text"] for event in found for change in event["changes"]]
    assert texts == ["The ferry leaves at nine.", "The bus leaves at ten."]
    assert {event["scope"] for event in found} == {"user:telegram:7"} or all("7" in event["scope"] for event in found)


def test_a_placed_opening_stays_while_the_memory_grows_and_comes_with_each_answer(served: Served) -> None:
    asked(served, "save_fact", id="p1", speaker=facts("8"), content="The office is in Oslo.")
    talk = facts("8", key="agent:main:placed")
    placed = {"speaker": talk, "ephemeral": True, "placement": "beside"}
    first = asked(served, "before_reply", message="Hi", **placed)
    assert "Oslo" in first["opening"]
    asked(served, "save_fact", id="p2", speaker=facts("8"), content="The depot is in Bergen.")
    asked(served, "flush")
    second = asked(served, "before_reply", message="Where is the depot?", **placed)
    assert second["opening"] == first["opening"]
    assert "Bergen" in second["context"]
    third = asked(served, "before_reply", message="Where is the office?", **placed)
    assert "Oslo" not in third["context"], "the opening tells it"
    asked(served, "end_session", id="pe", key=talk["key"], reason="reset")
    assert "Bergen" in asked(served, "before_reply", message="Hi", **placed)["opening"], "a new session opens anew"

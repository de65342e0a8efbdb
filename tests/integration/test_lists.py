"""Lists over HTTP: everything there is, each row once, page by page, and nothing of others or of what was forgotten."""

from collections.abc import Iterator
from typing import Any

import pytest
from served import OWNER, Served, facts, service, written

pytestmark = pytest.mark.xdist_group("service")

ZOE = facts("7", sender_name="Zoe")
DAYS = [f"2026-11-{day:02}T09:00:00+00:00" for day in range(1, 8)]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("lists")
    config = written(folder, agents={"main": {"workspace": str(folder / "main")}}, port=0)
    with service(config, workspaces={"main": folder / "main"}) as running:
        for number, at in enumerate(DAYS):
            text = f"Remember that my boat number {number} is called Wilma {number}."
            running.answer("before_reply", {"speaker": ZOE, "message": text, "at": at})
            running.answer("after_reply", {"id": f"t{number}", "speaker": ZOE, "user": text, "reply": "OK.", "at": at})
        running.answer(
            "after_reply", {"id": "o1", "speaker": OWNER, "user": "Remember that I like plums.", "reply": "OK."}
        )
        running.answer("flush", {})
        yield running


def pages(served: Served, call: str, limit: int, **body: Any) -> list[dict[str, Any]]:
    """Return the rows of all pages of a list."""
    rows: list[dict[str, Any]] = []
    after = ""
    while True:
        page = served.answer(call, {**body, "limit": limit, "after": after})
        assert len(page["rows"]) <= limit
        rows += page["rows"]
        after = page["next"]
        if not after:
            return rows


@pytest.mark.parametrize("limit", [1, 3, 200])
def test_each_memory_is_listed_once(served: Served, limit: int) -> None:
    rows = pages(served, "list_memories", limit, speaker=ZOE)
    assert [row["text"][-7:] for row in rows] == [f"Wilma {number}" for number in reversed(range(7))]
    assert rows[0]["at"].startswith("2026-11-07T")
    assert rows[0]["file"].endswith(".md")


def test_a_list_is_filtered(served: Served) -> None:
    some = pages(served, "list_memories", 2, speaker=ZOE, since="2026-11-03", until="2026-11-05")
    assert [row["at"][:10] for row in some] == ["2026-11-05", "2026-11-04", "2026-11-03"]
    assert pages(served, "list_memories", 2, speaker=ZOE, category="nothing") == []
    said = pages(served, "list_episodes", 2, speaker=ZOE, since="2026-11-06")
    assert [row["user"][-8:] for row in said] == ["Wilma 6.", "Wilma 5."]
    assert said[0]["learnt"] == [pages(served, "list_memories", 1, speaker=ZOE)[0]["id"]]
    assert pages(served, "list_episodes", 5, speaker=ZOE, session="another") == []
    assert len(pages(served, "list_episodes", 3, speaker=ZOE, session=ZOE["key"])) == 7


@pytest.mark.parametrize("limit", [2, 100])
def test_replies_tell_what_was_injected(served: Served, limit: int) -> None:
    rows = pages(served, "list_replies", limit, speaker=ZOE)
    assert [row["turn"] for row in rows] == sorted((row["turn"] for row in rows), reverse=True)
    assert len(rows) == 7
    assert {row["session"] for row in rows} == {ZOE["key"]}


def test_a_list_is_of_one_speaker(served: Served) -> None:
    (memory,) = pages(served, "list_memories", 50, speaker=OWNER)
    assert "plums" in memory["text"]
    assert pages(served, "list_episodes", 50, speaker=facts("8")) == []


def test_people_are_listed_with_their_names(served: Served) -> None:
    owner, zoe, *_ = pages(served, "list_people", 1)
    assert (owner["scope"], owner["kind"], owner["memories"]) == ("owner", "owner", 1)
    assert (zoe["scope"], zoe["name"], zoe["memories"], zoe["exchanges"]) == ("user:telegram::7", "Zoe", 7, 7)
    assert zoe["last"].startswith("2026-11-07T")


def test_what_was_forgotten_is_not_listed(served: Served) -> None:
    amy = facts("9")
    served.answer(
        "after_reply", {"id": "f1", "speaker": amy, "user": "Remember that my owl is called Hedwig.", "reply": "OK"}
    )
    served.answer("flush", {})
    (memory,) = pages(served, "list_memories", 50, speaker=amy)
    served.answer("command", {"id": "f2", "speaker": amy, "text": f"/memory forget {memory['id']}"})
    assert pages(served, "list_memories", 50, speaker=amy) == []
    assert "Hedwig" not in str(pages(served, "list_episodes", 50, speaker=amy))


def test_records_of_sessions_are_listed(served: Served) -> None:
    bea = facts("10")
    for number in range(3):
        speaker = {**bea, "key": f"talk-{number}"}
        text = f"Let us plan the trip number {number} to Lisbon in May with my sister Marta."
        served.answer("after_reply", {"id": f"r{number}", "speaker": speaker, "user": text, "reply": "A fine plan."})
        summary = {"topic": f"Trip {number}", "summary": "A trip was planned.", "todos": ["book"]}
        served.answer("save_summary", {"id": f"s{number}", "speaker": speaker, **summary})
        served.answer("end_session", {"id": f"e{number}", "speaker": speaker, "reason": "completed"})
    records = pages(served, "list_records", 2, speaker=bea)
    assert [record["topic"] for record in records] == ["Trip 2", "Trip 1", "Trip 0"]
    assert records[0]["todos"] == ["book"]


def test_what_waits_is_listed(served: Served) -> None:
    said = ("The owner keeps a macaw.", "The owner keeps a parrot.")
    for number, text in enumerate(said):
        body = {"id": f"w{number}", "speaker": facts("11"), "user": f"Remember that {text}", "reply": "OK."}
        served.answer("after_reply", body)
    served.answer("flush", {})
    for speaker in (facts("11"), OWNER):
        rows = pages(served, "list_pending", 1, speaker=speaker)
        assert [row["reason"] for row in rows] == ["about_owner"] * 2
        assert pages(served, "list_pending", 1, speaker=speaker, words="parrot") == rows[1:]


@pytest.mark.parametrize("call", ["list_memories", "list_episodes", "list_replies", "list_records", "list_pending"])
@pytest.mark.parametrize(
    "after", ["x", "[]", "[1]", '["a", 1]', "[Infinity, 1]", "[1e400, 0]", "[1, -1]", "[true, 0]", "null"]
)
def test_a_place_that_no_answer_gave_is_refused(served: Served, call: str, after: str) -> None:
    if (call, after) == ("list_replies", "[1]"):
        return  # the reply of the first turn
    response = served.post(call, {"speaker": ZOE, "after": after})
    if (call, after) == ("list_episodes", "[1, -1]"):
        assert response.json()["rows"] == []
        return
    assert response.status_code == 400, response.text
    assert "expected the `next` of an earlier answer" in response.json()["error"]["message"]


@pytest.mark.parametrize("limit", [0, 201, "5", 1.5])
def test_a_page_has_a_limit(served: Served, limit: object) -> None:
    assert served.post("list_memories", {"speaker": ZOE, "limit": limit}).status_code == 400

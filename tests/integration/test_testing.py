"""What a host tests itself with: no files, no server, a clock and a model that a test holds in its hands."""

import pytest

from extractor import Candidate
from gateway_memory import OWNER
from gateway_memory.testing import Clock, RecordedEvents, ScriptedModel, memory_for_tests

KEY = "agent:main:main"


async def test_a_memory_for_tests_has_no_files_and_remembers() -> None:
    events = RecordedEvents()
    async with memory_for_tests(events=events) as memory:
        session = await memory.start_session(KEY, user=OWNER)
        await memory.after_reply(session, user="I live in Basel.", reply="Noted.")
        await memory.flush()
        later = await memory.start_session("another", user=OWNER)
        assert "Basel" in (await memory.before_reply(later, "Where do I live?")).text + later.opening
    assert [change.text for change in events.changes] == ["I live in Basel"]


async def test_a_clock_goes_only_when_it_is_turned() -> None:
    clock = Clock("2026-03-02T09:00+01:00")
    async with memory_for_tests({"timeZone": "Europe/Zurich"}, clock=clock) as memory:
        session = await memory.start_session(KEY, user=OWNER)
        await memory.after_reply(session, user="Remember that the boiler was serviced.", reply="OK")
        await memory.flush()
        clock.turn(days=2)
        await memory.after_reply(session, user="Remember that the gate is painted green.", reply="OK")
        await memory.flush()
        hits = await memory.search(session, "boiler gate", limit=5)
        assert sorted(round((clock.now.timestamp() - hit.at) / 86400) for hit in hits if hit.kind == "memory") == [0, 2]


TEXT = "The user's sister is called Marta"


@pytest.mark.parametrize(
    "entry", [TEXT, Candidate(content=TEXT, category="fact", type="B", importance="high", confidence=0.9)]
)
async def test_a_scripted_model_says_what_the_test_says(entry: str | Candidate) -> None:
    model = ScriptedModel({"Marta": entry})
    async with memory_for_tests(model=model) as memory:
        session = await memory.start_session(KEY, user=OWNER)
        await memory.after_reply(session, user="Marta, my sister, moved to Lisbon with her two dogs.", reply="Nice.")
        await memory.flush()
        assert model.calls == [["Marta, my sister, moved to Lisbon with her two dogs."]]
        assert TEXT in [hit.text for hit in await memory.search(session, "sister", limit=5)]

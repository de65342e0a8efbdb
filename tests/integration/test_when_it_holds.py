"""A memory says when it holds: in its line, in what is coming, and by not being told when it is over."""

import re
from pathlib import Path

import pytest

from gateway_memory import OWNER, GatewayMemory, UsageError
from gateway_memory.testing import Clock, memory_for_tests

SATURDAY, WEDNESDAY = "2026-11-28T09:00:00+00:00", "2026-11-25T09:00:00+00:00"
SAID = (
    "Remember that I have a dentist appointment tomorrow at 3pm",
    "Remember that I'm on antibiotics until Tuesday",
    "Remember that my dad passed away two days ago",
    "Remember that my flight to Porto is on Monday at 9",
    "别忘了明早八点半开家长会",
    "记住我弟下周六结婚",
    "My choir practice is every Tuesday at 7",
    "I have a cat called Momo",
)


ZOO = "Remember that we go to the zoo on Sunday week"


async def tell(memory: GatewayMemory, *messages: str) -> None:
    session = await memory.start_session("told", user=OWNER)
    for message in messages:
        await memory.after_reply(session, user=message, reply="OK")
    await memory.flush()
    await memory.end_session(session, reason="completed")


async def opening(memory: GatewayMemory, key: str) -> str:
    session = await memory.start_session(key, user=OWNER)
    return await memory.opening(session)


@pytest.mark.files
async def test_each_line_has_its_day_and_what_passes_stays_in_the_log_of_its_day(tmp_path: Path) -> None:
    async with memory_for_tests(workspace=tmp_path, clock=Clock(SATURDAY)) as memory:
        await tell(memory, *SAID)
    day = re.sub(r" <!--.*?-->", "", (tmp_path / "memory" / "2026-11-28.md").read_text("utf-8"))
    for line in (
        "- I have a dentist appointment tomorrow at 3pm (Sunday 29 November 2026)",
        "- I'm on antibiotics until Tuesday (until Tuesday 1 December 2026)",
        "- my dad passed away two days ago (Thursday 26 November 2026)",
        "- my flight to Porto is on Monday at 9 (Monday 30 November 2026)",
        "- 明早八点半开家长会（2026年11月29日星期日）",
        "- 我弟下周六结婚（2026年12月5日星期六）",
    ):
        assert line in day.splitlines()
    assert "dentist" not in (tmp_path / "MEMORY.md").read_text("utf-8")


async def test_what_is_over_leaves_the_opening_and_what_is_true_stays() -> None:
    clock = Clock(SATURDAY)
    async with memory_for_tests(clock=clock) as memory:
        await tell(memory, *SAID)
        before = await opening(memory, "before")
        for word in ("dentist", "antibiotics", "flight", "家长会", "结婚", "passed away", "Momo"):
            assert word in before
        clock.turn(days=3)
        after = await opening(memory, "after")
        for word in ("dentist", "flight", "家长会"):
            assert word not in after
        for word in ("antibiotics", "结婚", "passed away", "choir", "Momo"):
            assert word in after
        clock.turn(days=117)
        later = await opening(memory, "later")
        for word in ("antibiotics", "结婚", "dentist"):
            assert word not in later
        for word in ("passed away two days ago (Thursday 26 November 2026)", "choir", "Momo"):
            assert word in later


async def test_what_is_coming_is_listed_the_soonest_first() -> None:
    clock = Clock(SATURDAY)
    async with memory_for_tests(clock=clock) as memory:
        await tell(memory, *SAID)
        session = await memory.start_session("asking", user=OWNER)
        record = await memory.record(session, "coming")
        assert [(row["day"], row["time"]) for row in record["coming"]] == [
            ("2026-11-29", "08:30"),
            ("2026-11-29", "15:00"),
            ("2026-11-30", ""),
            ("2026-12-01", ""),
            ("2026-12-05", ""),
        ]
        answer = await memory.command(session, "/memory coming 1")
        assert answer is not None
        assert "dentist" in answer
        assert "Porto" not in answer
        assert "expected" not in (await memory.command(session, "/memory 日程 400") or "")
        clock.turn(days=60)
        (choir,) = (await memory.record(session, "coming", "7"))["coming"]
        assert choir["day"] == "2027-02-02"


async def test_a_caller_says_when_a_fact_holds() -> None:
    clock = Clock(SATURDAY)
    async with memory_for_tests(clock=clock) as memory:
        session = await memory.start_session("agent", user=OWNER)
        await memory.save_fact(session, content="The boiler is serviced", on="2026-12-03 10:00")
        await memory.save_fact(session, content="The lift is out of order", until="2026-12-01")
        await memory.save_fact(session, content="The bins are emptied", every="thursday")
        found = [hit.text for hit in await memory.search(session, "", kinds=["memory"])]
        assert sorted(found) == [
            "The bins are emptied (every Thursday)",
            "The boiler is serviced (Thursday 3 December 2026, 10:00)",
            "The lift is out of order (until Tuesday 1 December 2026)",
        ]
        with pytest.raises(UsageError, match="on: expected YYYY-MM-DD"):
            await memory.save_fact(session, content="The boiler is serviced", on="next week")


async def test_the_same_words_about_another_day_are_news() -> None:
    clock = Clock(SATURDAY)
    async with memory_for_tests(clock=clock) as memory:
        await tell(memory, "Remember that I have a dentist appointment tomorrow at 3pm")
        clock.turn(days=40)
        await tell(memory, "Remember that I have a dentist appointment tomorrow at 3pm")
        session = await memory.start_session("asking", user=OWNER)
        found = [row["text"] for row in (await memory.record(session, "list"))["memories"]]
        assert [text.partition("(")[2] for text in found] == [
            "Friday 8 January 2027)",
            "Sunday 29 November 2026) (over)",
        ]


async def test_an_opening_begins_with_what_is_coming_and_says_it_once() -> None:
    clock = Clock(SATURDAY)
    async with memory_for_tests(clock=clock) as memory:
        await tell(
            memory,
            *SAID,
            "Remember that the car goes to the garage tomorrow",
            "Remember that we go to the zoo on Sunday week",
        )
        text = await opening(memory, "before")
        block = text[text.index("[Coming up]") :].partition("</gateway-memory>")[0].splitlines()[1:]
        days = [line.partition(", ")[2].partition(")")[0] for line in block]
        assert days == ["2026-11-29 08:30", "2026-11-29 15:00", "2026-11-29", "2026-11-30", "2026-12-01"]
        for word in ("dentist", "Porto", "choir", "家长会", "garage"):
            assert text.count(word) == 1
        assert "zoo" in text, "what has no room there stands below"


async def test_a_message_that_names_a_day_ahead_is_told_what_is_known_of_it() -> None:
    clock = Clock(SATURDAY)
    async with memory_for_tests({"opening": {"enabled": False}}, clock=clock) as memory:
        await tell(memory, *SAID)
        session = await memory.start_session("asking", user=OWNER)
        context = await memory.before_reply(session, "What should I wear on Monday?")
        assert "[Coming up]" in context.text
        assert "Porto" in context.text
        assert "dentist" not in context.text
        session = await memory.start_session("在问", user=OWNER)
        context = await memory.before_reply(session, "下周六有空吗？")
        assert "结婚" in context.text
        context = await memory.before_reply(session, "Which bread is best?")
        assert "[Coming up]" not in context.text


@pytest.mark.files
async def test_whoever_changes_the_day_in_the_file_changes_when_it_holds(tmp_path: Path) -> None:
    clock = Clock(SATURDAY)
    async with memory_for_tests(workspace=tmp_path, clock=clock) as memory:
        await tell(memory, "Remember that I have a dentist appointment tomorrow at 3pm")
        log = tmp_path / "memory" / "2026-11-28.md"
        text = log.read_text("utf-8")
        log.write_text(text.replace("Sunday 29 November 2026", "Monday 7 December 2026"), "utf-8")
        clock.turn(days=3)
        session = await memory.start_session("asking", user=OWNER)
        (row,) = (await memory.record(session, "coming"))["coming"]
        assert row["day"] == "2026-12-07"


@pytest.mark.files
async def test_a_line_that_a_person_wrote_is_over_when_it_says_so(tmp_path: Path) -> None:
    lines = (
        "- Flight to Porto on 3 November 2026\n- Rent the van until 3 December 2026\n"
        "- Grandpa died on 3 November 2020\n- The spare key is with Marta\n"
    )
    (tmp_path / "MEMORY.md").write_text(lines, "utf-8")
    async with memory_for_tests(workspace=tmp_path, clock=Clock(SATURDAY)) as memory:
        text = await opening(memory, "first")
    assert [word for word in ("Porto", "van", "Grandpa", "key") if word in text] == ["van", "Grandpa", "key"]


ART = "Next month I'm having an art show in the harbour hall."


async def test_a_plan_that_is_over_is_quoted_with_its_day_and_stands_in_no_opening() -> None:
    clock = Clock("2026-06-10T09:00:00+00:00")
    async with memory_for_tests(clock=clock) as memory:
        await tell(memory, f"I've been painting a lot of boats. {ART} The frames are from Riga.")
        clock.turn(days=60)
        assert "art show" not in await opening(memory, "later")
        session = await memory.start_session("asking", user=OWNER)
        told = (await memory.before_reply(session, "Where is the art show in the harbour hall?")).text
        (line,) = [line for line in told.splitlines() if "art show" in line]
        assert line.startswith("- (2026-06-10) User:")
        assert f"{ART[:-1]} (July 2026) (over)." in line
        (hit,) = [hit for hit in await memory.search(session, "art show in the harbour hall") if hit.kind == "episode"]
        assert f"{ART[:-1]} (July 2026) (over)." in hit.text


@pytest.mark.parametrize(
    "said", ["豆豆发烧了，今天不去幼儿园。", "My son has a fever, so he stays at home with me today."]
)
async def test_what_is_so_on_one_day_leaves_the_openings_behind_it(said: str) -> None:
    clock = Clock(SATURDAY)
    async with memory_for_tests(clock=clock) as memory:
        await tell(memory, said, "I have a cat called Momo")
        clock.turn(hours=2)
        assert said.rstrip("。.") in await opening(memory, "the same day")
        clock.turn(days=2)
        await tell(memory, "I live in Riga")
        assert said.rstrip("。.") not in await opening(memory, "later")


async def test_a_wish_beside_what_happens_on_a_day_does_not_keep_it() -> None:
    clock = Clock(WEDNESDAY)
    async with memory_for_tests(clock=clock) as memory:
        await tell(
            memory,
            "I've got a job interview on Monday at 11 at the museum, don't tell anyone",
            "Don't call me on Sunday",
        )
        before = await opening(memory, "before")
        assert "don't tell anyone (Monday 30 November 2026)" in before
        clock.turn(days=14)
        after = await opening(memory, "after")
        assert "interview" not in after
        assert "Don't call me on Sunday" in after

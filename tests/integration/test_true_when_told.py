"""Whatever a session is told is true on the day on which it is told: it holds, is not over, and stands there once.

Each story is told by all that tells: the opening, a reply, the list, the digest, the portrait, the wiki, a search.
"""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import date, datetime
from typing import Any

import pytest

from gateway_memory import OWNER, GatewayMemory
from gateway_memory.browsing.wiki_pages import pages_of, without_secrets
from gateway_memory.sessions.session import Session
from gateway_memory.testing import Clock, RecordedEvents, ScriptedModel, memory_for_tests

pytestmark = pytest.mark.over_postgres

MONDAY = "2026-11-23T09:00:00+00:00"


class Life:
    """A memory, its clock, and sessions in which the owner speaks."""

    def __init__(self, memory: GatewayMemory, clock: Clock) -> None:
        self.memory = memory
        self.clock = clock
        self._sessions = 0

    async def says(self, *turns: str | tuple[str, str], **whose: Any) -> None:
        """Tell turns in a session of their own: what is said, or that with the reply. A day passes."""
        session = await self.session(**whose)
        for turn in turns:
            user, reply = turn if isinstance(turn, tuple) else (turn, "OK.")
            await self.memory.after_reply(session, user=user, reply=reply)
            await self.memory.flush()
            self.clock.turn(minutes=3)
        await self.memory.end_session(session, reason="user_close")
        await self.memory.flush()
        self.clock.turn(days=1)

    async def session(self, **whose: Any) -> Session:
        """Start the next session."""
        self._sessions += 1
        key = f"agent:main:telegram:direct:{self._sessions}"
        return await self.memory.start_session(key, **(whose or {"user": OWNER}))

    async def told(self, question: str, **whose: Any) -> dict[str, str]:
        """Return the text of all that tells something, by its name."""
        memory, session = self.memory, await self.session(**whose)
        fresh = await self.session(**whose)
        fresh.compacted()
        portrait = await memory.portraits.portrait(session)
        sections, lines = await memory.portraits.everything(session, shown=without_secrets)
        pages = pages_of(sections, lines, language="en", day_of=self._day)
        return {
            "opening": session.opening,
            "reply": (await memory.before_reply(fresh, question)).text,
            "list": await memory.command(session, "/memory list") or "",
            "digest": await memory.command(session, "/memory digest month") or "",
            "portrait": str(portrait.sections),
            "wiki": "\n".join(pages.values()),
            "search": "\n".join(hit.text for hit in await memory.search(session, question, limit=20)),
            "records": "\n".join(hit.text for hit in await memory.search(session, question, kinds=["record"])),
        }

    @staticmethod
    def _day(at: float) -> date:
        return datetime.fromtimestamp(at, Clock().now.tzinfo).date()


@asynccontextmanager
async def life(model: ScriptedModel | None = None, **settings: Any) -> AsyncIterator[Life]:
    clock = Clock(MONDAY)
    async with memory_for_tests(settings, clock=clock, model=model) as memory:
        yield Life(memory, clock)


def unmarked(told: dict[str, str], word: str, mark: str) -> dict[str, list[str]]:
    """Return the lines that have a word and not the mark, by the name of what tells them; headings do not count."""
    lines = {name: text.replace("\\(", "(").replace("\\)", ")").split("\n") for name, text in told.items()}
    texts = {name: [line for line in of if word in line and line[:1] != "#"] for name, of in lines.items()}
    return {name: bad for name, of in texts.items() if (bad := [line for line in of if mark not in line])}


async def test_what_was_replaced_is_told_by_nothing() -> None:
    async with life() as lived:
        await lived.says(("I live in Graz.", "Graz is lovely, noted."), "What shall I cook tonight?")
        await lived.says("I live in Linz now.")
        told = await lived.told("where do I live?")
        assert {name: text for name, text in told.items() if "Graz" in text and name != "search"} == {}
        assert told["opening"].count("Linz") == 1, told["opening"]
        assert "Linz" in told["reply"]


async def test_what_was_changed_within_a_session_is_told_as_it_ended() -> None:
    async with life() as lived:
        await lived.says("My favourite tea is oolong.", "My favourite tea is rooibos.")
        told = await lived.told("which tea do I like best?")
        assert [name for name, text in told.items() if "oolong" in text] == []
        assert "rooibos" in told["opening"]


async def test_what_was_corrected_before_it_was_read_is_told_by_nothing() -> None:
    async with memory_for_tests() as memory:
        first = await memory.start_session("first", user=OWNER)
        for message in ("My favourite tea is oolong.", "My favourite tea is rooibos."):
            await memory.after_reply(first, user=message, reply="Nice.")
        await memory.end_session(first, reason="completed")
        await memory.flush()
        later = await memory.start_session("later", user=OWNER)
        context = await memory.before_reply(later, "which tea do I like best?")
        assert "rooibos" in later.opening
        assert "oolong" not in later.opening + context.text


async def test_chinese_words_that_were_replaced_are_told_by_nothing() -> None:
    async with life(autoRecall={}) as lived:
        await lived.says(("我住在成都。", "成都很好。"))
        await lived.says("我上周搬到重庆了。")
        told = await lived.told("我住在哪里？")
        assert [name for name, text in told.items() if "住在成都" in text] == []
        assert told["opening"].count("重庆") == 1, told["opening"]


async def test_what_is_doubted_is_marked_wherever_it_stands() -> None:
    async with life(autoRecall={}) as lived:
        await lived.says("Hi, I am Jonas and I live in Graz.")
        await lived.says("Actually, I moved to Linz last week.")
        told = await lived.told("where do I live?")
        assert unmarked(told, "in Graz", "(may be outdated)") == {}
        assert "Graz (may be outdated)" in told["list"]
        assert told["opening"].count("Linz") == 1, told["opening"]


async def test_what_is_doubted_since_it_was_learnt_is_marked_in_an_update_and_among_new_lines() -> None:
    for other in ("incrementalSync", "notify"):
        async with life(None, autoRecall={}, **{other: {"enabled": False}}) as lived:
            waiting = await lived.session()
            await lived.says("Hi, I am Jonas and I live in Graz.")
            await lived.says("Actually, I moved to Linz last week.")
            told = {"reply": (await lived.memory.before_reply(waiting, "where do I live?")).text}
            assert unmarked(told, "in Graz", "(may be outdated)") == {}
            assert told["reply"].count("in Graz") == 1, told["reply"]


async def test_chinese_doubts_are_marked_wherever_they_stand() -> None:
    async with life(autoRecall={}) as lived:
        await lived.says("我叫李想，我住在成都。")
        await lived.says("我搬到重庆了。")
        told = await lived.told("我住在哪里？")
        assert unmarked(told, "住在成都", "（可能已过时）") == {}
        assert "（可能已过时）" in told["opening"]


async def test_a_doubt_ends_when_the_newer_line_is_forgotten() -> None:
    async with life(autoRecall={}) as lived:
        await lived.says("Hi, I am Jonas and I live in Graz.")
        await lived.says("Actually, I moved to Linz.")
        session = await lived.session()
        found = await lived.memory.search(session, "Linz", kinds=["memory"])
        (newer,) = [hit for hit in found if "Linz" in hit.text]
        await lived.memory.command(session, f"/memory forget {newer.id}")
        told = await lived.told("where do I live?")
        assert [name for name, text in told.items() if "may be outdated" in text or "Linz" in text] == []
        assert "Graz" in told["opening"]


@pytest.mark.parametrize(
    ("said", "word", "mark", "question"),
    [
        (
            "Remember that I have a dentist appointment on Friday at 3pm.",
            "dentist",
            "(over)",
            "what about the dentist?",
        ),
        ("Remember that I'm staying at the Hotel Post until Thursday.", "Hotel Post until", "(over)", "my hotel"),
        ("记住我出差到周四。", "出差", "（已过去）", "出差的事"),
    ],
)
async def test_what_is_over_is_told_as_past_or_not_at_all(said: str, word: str, mark: str, question: str) -> None:
    async with life() as lived:
        await lived.says(said)
        before = await lived.told(question)
        assert word in before["opening"]
        assert mark not in "".join(before.values())
        lived.clock.turn(days=9)
        told = await lived.told(question)
        assert word not in told["opening"] + told["reply"]
        assert unmarked(told, word, mark) == {}
        assert word in told["list"], "a list has all that is kept"
        (row,) = (await lived.memory.record(await lived.session(), "list"))["memories"]
        assert row["state"] == "over"


@pytest.mark.parametrize(
    ("said", "mark", "query"),
    [
        ("Lena carves paper lanterns at the club fair.", "(over)", "paper lanterns"),
        ("小莲在集市上扎纸灯笼。", "（已过去）", "纸灯笼"),
    ],
)
async def test_a_search_finds_the_exchange_of_what_is_over(said: str, mark: str, query: str) -> None:
    async with life() as lived:
        await lived.says((said, "How lovely that must be to watch."))
        await lived.memory.save_fact(await lived.session(), content=said, until="2026-11-30")
        lived.clock.turn(days=9)
        found = await lived.memory.search(await lived.session(), query, kinds=["episode"])
        (exchange,) = [hit.text for hit in found if said.rstrip(".。") in hit.text]
        assert mark in exchange


async def test_a_question_about_the_past_is_told_what_is_over_as_past() -> None:
    async with life() as lived:
        await lived.says("Remember that I'm staying at the Hotel Post until Thursday.", "记住我出差到周四。")
        lived.clock.turn(days=9)
        fresh = await lived.session()
        english = (await lived.memory.before_reply(fresh, "which hotel did I use to stay at?")).text
        assert "Hotel Post until Thursday (until Thursday 26 November 2026) (over)" in english
        chinese = (await lived.memory.before_reply(fresh, "我以前出差到什么时候？")).text
        assert "我出差到周四（至2026年11月26日星期四）（已过去）" in chinese


@pytest.mark.parametrize(
    ("claim", "word"), [("Zoe Quimby is in Porto this month", "Porto"), ("周老板已经同意涨工资了", "涨工资")]
)
async def test_a_claim_that_waits_for_a_review_is_quoted_to_nobody(claim: str, word: str) -> None:
    guest = {"user": "viktor"}
    review = {"ownerNames": ["Zoe Quimby", "周老板"]}
    async with life(ScriptedModel({claim: claim}), review=review) as lived:
        tail = "That is the long story of how it came about, which nobody needs to hear again."
        await lived.says((f"{claim}. {tail}", "OK."), **guest)
        waiting = await lived.memory.record(await lived.session(**guest), "review")
        assert word in json.dumps(waiting, ensure_ascii=False), "it waits"
        told = await lived.told("what did Zoe Quimby and 周老板 say?", **guest)
        assert [name for name, text in told.items() if word in text] == []


async def test_what_was_forgotten_is_named_by_its_id_alone() -> None:
    events = RecordedEvents()
    clock = Clock(MONDAY)
    async with memory_for_tests(clock=clock, events=events) as memory:
        one = await memory.start_session("one", user=OWNER)
        await memory.after_reply(one, user="Remember that I'm allergic to shrimp.", reply="OK.")
        await memory.flush()
        two = await memory.start_session("two", user=OWNER)
        assert "shrimp" in two.opening
        (hit,) = [hit for hit in await memory.search(one, "shrimp") if hit.kind == "memory"]
        await memory.command(one, f"/memory forget {hit.id}")
        text = (await memory.before_reply(two, "what shall we cook?")).text
        assert hit.id in text
        assert "shrimp" not in text + two.opening
        assert events.changes[-1].text == ""


@pytest.mark.parametrize("said", ["I play the cello in an orchestra.", "我在乐团里拉大提琴。"])
async def test_a_sentence_stands_once_in_an_opening(said: str) -> None:
    async with life() as lived:
        await lived.says((f"Remember: {said}", "OK."), said)
        told = await lived.told("which instrument do I play?")
        assert told["opening"].count(said.rstrip(".。")) == 1, told["opening"]


async def test_a_reply_repeats_nothing_that_the_opening_says() -> None:
    async with life() as lived:
        await lived.says(("I play the cello in an orchestra.", "Lovely."))
        session = await lived.session()
        assert "cello" in session.opening
        assert "cello" not in (await lived.memory.before_reply(session, "which instrument do I play?")).text
        session.compacted()
        assert "cello" in (await lived.memory.before_reply(session, "which instrument do I play?")).text


async def test_each_line_of_memory_has_its_day() -> None:
    async with life() as lived:
        await lived.says("Remember that the bell is broken.")
        assert ", 2026-11-23) the bell is broken" in (await lived.session()).opening


@pytest.mark.files
@pytest.mark.parametrize("timestamp", ["", "yesterday evening", "2026-13-45T10:00:00Z", "20261121", 7, None])
async def test_a_record_with_a_broken_time_is_told_without_a_day(tmp_path: Any, timestamp: Any) -> None:
    record = {"session_id": "a", "topic": "The bell rings on Friday", "summary": "", "timestamp": timestamp}
    (tmp_path / "sessions.jsonl").write_text(json.dumps(record) + "\n", "utf-8")
    async with memory_for_tests(workspace=tmp_path, clock=Clock(MONDAY)) as memory:
        assert "The bell rings on Friday" in (await memory.start_session("one", user=OWNER)).opening


@pytest.mark.files
async def test_a_line_that_a_person_wrote_stands_whatever_day_it_names(tmp_path: Any) -> None:
    clock = Clock(MONDAY)
    async with memory_for_tests(workspace=tmp_path, clock=clock) as memory:
        (tmp_path / "MEMORY.md").write_text("- The dentist is on Friday\n", "utf-8")
        clock.turn(days=30)
        assert "The dentist is on Friday" in (await memory.start_session("one", user=OWNER)).opening


@pytest.mark.files
async def test_what_a_person_has_changed_in_the_file_is_told_as_it_was(tmp_path: Any) -> None:
    clock = Clock(MONDAY)
    async with memory_for_tests(workspace=tmp_path, clock=clock) as memory:
        lived = Life(memory, clock)
        await lived.says("I live in Porto.", "我住在昆明。")
        file = tmp_path / "MEMORY.md"
        for old, new in (("Porto", "Graz"), ("昆明", "重庆")):
            file.write_text(file.read_text("utf-8").replace(old, new), "utf-8")
        told = await lived.told("where do I live?")
        assert {name: text for name, text in told.items() if "Porto" in text or "昆明" in text} == {}
        file.write_text(file.read_text("utf-8").replace("Graz", "Porto"), "utf-8")
        assert "Porto" in (await lived.told("where do I live?"))["reply"]


async def test_each_undo_puts_back_what_the_undone_words_had_replaced() -> None:
    async with life() as lived:
        session = await lived.session()
        for said in ("oolong", "rooibos", "sencha"):
            await lived.memory.after_reply(session, user=f"My favourite tea is {said}.", reply="OK.")
            await lived.memory.flush()
            if said != "oolong":
                await lived.memory.command(session, "/memory undo")
                (row,) = (await lived.memory.record(session, "list"))["memories"]
                assert row["text"] == "My favourite tea is oolong"

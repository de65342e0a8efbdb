"""Why a reply was given what it was, and what a person says of it."""

import asyncio
import json
from pathlib import Path

import pytest

from gateway_memory import OWNER, Config, GatewayMemory, Session
from gateway_memory.cli.main import main
from gateway_memory.store.report import Considered, ReplyReport

pytestmark = pytest.mark.over_postgres

TOLD = ["Remember that my locker is number 4711", "My sister Marta lives in Porto", "I am allergic to peanuts"]
ASKED = "What is the number of my locker?"


async def a_reply(memory: GatewayMemory) -> tuple[Session, int]:
    first = await memory.start_session("first", user=OWNER)
    for text in TOLD:
        await memory.after_reply(first, user=text, reply="Noted.")
    await memory.flush()
    session = await memory.start_session("second", user=OWNER, ephemeral=True)
    await memory.before_reply(session, ASKED)
    turn = await memory.after_reply(session, user=ASKED, reply="4711")
    await memory.flush()
    return session, turn


async def report_of(memory: GatewayMemory, session: Session) -> ReplyReport:
    (told,) = await memory.browsing.replies(session, before=2**62, limit=1)
    assert told.reply.report
    return told.reply.report


async def said(memory: GatewayMemory, session: Session, command: str) -> tuple[bool, str]:
    answer = await memory.answer(session, f"/memory {command}")
    assert answer
    return answer.done, answer.text


async def test_the_report_says_what_was_told_what_was_left_out_and_how_long_it_took(tmp_path: Path) -> None:
    async with GatewayMemory(Config(), tmp_path) as memory:
        session, _ = await a_reply(memory)
        report = await report_of(memory, session)
        least = session.settings.auto_recall.min_score
        locker = next(row for row in report.rows if row.fate == "told")
        assert "4711" in (await memory.get(session, locker.id))[0].text
        assert locker.score >= least
        assert sum(locker.terms.values()) > 0
        weak = [row for row in report.rows if row.fate == "weak"]
        assert weak
        assert all(row.score < least for row in weak)
        assert report.milliseconds["total"] >= report.milliseconds["ranking"] > 0
        written = json.dumps(report.to_json())
        assert not [word for text in TOLD for word in ("4711", "Marta", "Porto", "peanuts") if word in written]


async def test_what_the_session_holds_already_is_reported_as_held(tmp_path: Path) -> None:
    async with GatewayMemory(Config(), tmp_path) as memory:
        await a_reply(memory)
        session = await memory.start_session("third", user=OWNER)
        context = await memory.before_reply(session, ASKED)
        assert context.report
        held = {row.id for row in context.report.rows if row.fate == "held"}
        assert {hit.id for hit in context.recalled} & held, "the opening tells it"


async def test_recall_switched_off_leaves_no_report(tmp_path: Path) -> None:
    async with GatewayMemory(Config(), tmp_path) as memory:
        session = await memory.start_session("one", user=OWNER)
        await memory.command(session, "/memory off autoRecall")
        assert (await memory.before_reply(session, ASKED)).report is None
        await memory.after_reply(session, user=ASKED, reply="?")
        (told,) = await memory.browsing.replies(session, before=2**62, limit=1)
        assert told.reply.report is None


async def test_a_verdict_is_kept_counted_and_changed(tmp_path: Path) -> None:
    async with GatewayMemory(Config(), tmp_path) as memory:
        session, turn = await a_reply(memory)
        memory_id = (await report_of(memory, session)).rows[0].id
        assert await said(memory, session, f"useful {memory_id}") == (True, f"Noted as useful: {memory_id}")
        done, text = await said(memory, session, f"不对 {memory_id} #{turn}")
        assert done
        assert "不该用" in text
        assert (await said(memory, session, "wrong"))[0]
        (told,) = await memory.browsing.replies(session, before=2**62, limit=1)
        assert told.verdicts == {memory_id: "wrong", "": "wrong"}
        for name in ("status", "digest"):
            assert (await memory.record(session, name))["feedback"] == {"useful": 0, "wrong": 2}
        assert memory.metrics.counts["feedback.wrong"] == 2
        listed = {row["text"] for row in (await memory.record(session, "list"))["memories"]}
        assert len(listed) == len(TOLD), "no memory changes"
        for wrong in ("useful zzzzzzzz", "useful #99", f"wrong {memory_id} #99"):
            assert not (await said(memory, session, wrong))[0]
        empty = await memory.start_session("nothing said", user="viktor")
        assert not (await said(memory, empty, "useful"))[0]


async def test_chat_and_shell_leave_the_same_receipt(tmp_path: Path) -> None:
    async with GatewayMemory(Config(), tmp_path) as memory:
        session, turn = await a_reply(memory)
        memory_id = (await report_of(memory, session)).rows[0].id
        shell = await memory.visit(user=OWNER)
        for who, command in ((session, f"#{turn}"), (shell, f"#{turn}"), (shell, "")):
            await said(memory, who, f"useful {memory_id} {command}")
        newest = (await memory.record(session, "receipts", "3"))["receipts"]
        told = [{key: value for key, value in receipt.items() if key not in ("number", "at")} for receipt in newest]
        assert told[0] == told[1] == told[2]
        assert (told[0]["stage"], told[0]["outcomes"][0]["action"]) == ("feedback", "useful")


@pytest.mark.files
def test_the_shell_exports_it_for_tuning_without_any_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async def prepared() -> tuple[str, int]:
        async with GatewayMemory(Config(), tmp_path / "w") as memory:
            session, turn = await a_reply(memory)
            memory_id = (await report_of(memory, session)).rows[0].id
            await said(memory, session, f"useful {memory_id}")
            await said(memory, session, "wrong")
            return memory_id, turn

    memory_id, turn = asyncio.run(prepared())
    place = ["--workspace", str(tmp_path / "w")]
    assert main(["wrong", memory_id, f"#{turn}", *place]) == 0
    capsys.readouterr()
    assert main(["export", "--format", "feedback", *place]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(row["memory"], row["verdict"]) for row in rows] == [("", "wrong"), (memory_id, "wrong")]
    assert {row["turn"] for row in rows} == {turn}
    assert rows[1]["fate"] == "told"
    assert rows[1]["terms"]["words"] > 0
    assert "4711" not in json.dumps(rows)
    assert main(["delete", "--scope", "owner", "--yes", *place]) == 0
    capsys.readouterr()
    assert main(["export", "--format", "feedback", *place]) == 0
    assert capsys.readouterr().out == ""


def test_a_report_is_small_and_read_back() -> None:
    rows = [
        Considered(id=f"m{at}", fate="weak", score=at / 100, terms={"words": 0.5, "form": 0.001}) for at in range(99)
    ]
    report = ReplyReport(outcome="partial", milliseconds={"total": 1.23456}, rows=rows)
    stored = report.to_json()
    assert len(json.dumps(stored, separators=(",", ":"))) < 1000
    again = ReplyReport.from_json(stored)
    assert again.to_json() == stored
    for damaged in ({}, {**stored, "rows": [[1]]}, {**stored, "rows": [["a", "eaten", 1, {}]]}, {**stored, "ms": 5}):
        with pytest.raises((ValueError, KeyError, TypeError, AttributeError)):
            ReplyReport.from_json(damaged)

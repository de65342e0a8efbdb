"""Where it is unsure whether a line still holds, its person is asked once, and the answer settles it; no model here."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gateway_memory import OWNER, Config, GatewayMemory, Session
from gateway_memory.capture.asking import Stage, asks, holds
from gateway_memory.ground.holds import plain_of
from gateway_memory.store.markdown import parse

BEFORE, AFTER = "I'm learning the cello", "I've started the trumpet, the cello was too big for the flat"


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[GatewayMemory]:
    async with GatewayMemory(Config(), tmp_path) as memory:
        yield memory


async def session_of(memory: GatewayMemory) -> Session:
    return await memory.start_session("agent:main:telegram:direct:1", user=OWNER)


async def say(memory: GatewayMemory, session: Session, message: str, reply: str = "OK") -> str:
    """Say a message as a gateway does, and return what its reply was given."""
    given = (await memory.before_reply(session, message)).text
    await memory.after_reply(session, user=message, reply=reply)
    await memory.flush()
    return given


def kept(memory: GatewayMemory) -> set[str]:
    found = (parse(file.read_text("utf-8"), file=file.name) for file in memory.workspace.rglob("*.md"))
    return {plain_of(block.text) for blocks in found for block in blocks if block.kind == "item"}


@pytest.mark.parametrize(
    ("reply", "answer", "stands"),
    [
        ("Are you still learning the cello?", "no", {AFTER}),
        ("So you don't play the cello any more?", "yes", {AFTER}),
        ("Are you still learning the cello?", "not any more", {AFTER}),
        ("Are you still learning the cello?", "yes", {BEFORE, AFTER}),
        ("So you don't play the cello any more?", "no, I still am at weekends", {BEFORE, AFTER}),
        ("Are you still learning the cello?", "what's for dinner?", {BEFORE, AFTER}),
        ("Noted!", "no", {BEFORE, AFTER}),
    ],
)
async def test_what_may_have_changed_is_asked_once_and_settled_by_the_answer(
    memory: GatewayMemory, reply: str, answer: str, stands: set[str]
) -> None:
    session = await session_of(memory)
    await say(memory, session, BEFORE)
    await say(memory, session, AFTER)
    assert kept(memory) == {BEFORE, AFTER}
    given = await say(memory, session, "ok thanks", reply)
    assert "[Memory Request]" in given
    assert BEFORE in given
    assert "outdated" not in given
    assert BEFORE not in await say(memory, session, answer)
    assert stands <= kept(memory)
    assert (BEFORE in kept(memory)) == (BEFORE in stands)
    other = await memory.start_session("agent:main:telegram:direct:2", user=OWNER)
    assert "[Memory Request]" not in await say(memory, other, "ok thanks"), "it is asked at most once"


@pytest.mark.parametrize(
    ("reply", "stage"),
    [
        ("Do you still cycle to work?", "still"),
        ("You don't cycle any more?", "over"),
        ("你还骑车上班吗？", "still"),
        ("那你不骑车了？", "over"),
        ("How was your day?", None),
        ("Nice.", None),
    ],
)
def test_a_reply_asks_one_way_or_the_other(reply: str, stage: Stage | None) -> None:
    assert asks(reply) == stage


@pytest.mark.parametrize(
    ("answer", "stage", "held"),
    [
        ("yes", "still", True),
        ("yeah", "over", False),
        ("nope", "still", False),
        ("no, I still do", "over", True),
        ("not any more", "over", False),
        ("both", "still", True),
        ("是的", "still", True),
        ("对", "over", False),
        ("不了", "still", False),
        ("早就不骑了", "over", False),
        ("还是老样子", "over", True),
        ("the weather is bad", "still", None),
    ],
)
def test_an_answer_is_read_by_what_was_asked(
    answer: str,
    stage: Stage,
    held: bool | None,  # noqa: FBT001 - a parameter of the test
) -> None:
    assert holds(answer, stage) is held

"""One's own unanswered question, and what waits for a person, are no evidence: they push out nothing that is."""

from pathlib import Path

import pytest

from gateway_memory import OWNER, GatewayMemory, load_config

ASKED = [
    ("外婆的降压药放在厨房左边的抽屉里，每天早上吃。", "外婆的降压药放在哪里？", "左边的抽屉"),
    ("露营的帐篷在车库上层的架子上。", "露营的帐篷在哪儿？", "上层的架子"),
    ("我们公司的年会定在西湖边的酒店。", "年会在哪里办？", "西湖边"),
    ("The camping tent lies on the upper shelf of the garage.", "Where does the camping tent lie?", "upper shelf"),
    ("My sister Ilona paints the cards for the game.", "Who paints the cards for the game?", "Ilona"),
]


async def say(memory: GatewayMemory, key: str, text: str, reply: str) -> None:
    session = await memory.start_session(key, user=OWNER)
    await memory.after_reply(session, user=text, reply=reply)
    await memory.end_session(session, reason="completed")
    await memory.flush()


@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.parametrize(("fact", "question", "answer"), ASKED)
async def test_a_question_without_an_answer_pushes_out_no_fact(
    tmp_path: Path, fact: str, question: str, answer: str, times: int
) -> None:
    async with GatewayMemory(load_config(), tmp_path) as memory:
        await say(memory, "a", fact, "ok")
        await say(memory, "b", "I cooked a soup of carrots and leeks today, and it was fine.", "Enjoy!")
        for number in range(times):
            await say(memory, f"asked {number}", question, "")
        session = await memory.start_session("now", user=OWNER, ephemeral=True)
        block = (await memory.before_reply(session, question)).text
    assert answer in block
    assert question not in block


async def test_a_question_leads_to_the_answer_that_it_was_given(tmp_path: Path) -> None:
    async with GatewayMemory(load_config(), tmp_path) as memory:
        await say(memory, "a", "Where is the spare key of the boathouse?", "Under the third stone.")
        await say(memory, "b", "I cooked a soup of carrots and leeks today, and it was fine.", "Enjoy!")
        session = await memory.start_session("now", user=OWNER, ephemeral=True)
        block = (await memory.before_reply(session, "Where is the spare key of the boathouse?")).text
    assert "third stone" in block


async def test_what_waits_for_a_person_pushes_out_no_fact(tmp_path: Path) -> None:
    file = tmp_path / "c.json5"
    file.write_text('{agents: {defaults: {memorySync: {review: {mode: "all"}}}}}')
    question = "Which boat is in the harbour of Nykøbing?"
    async with GatewayMemory(load_config(file), tmp_path / "w") as memory:
        await say(memory, "a", "Remember that my boat Wilma lies in Nykøbing.", "ok")
        for number in range(4):
            await say(memory, f"b{number}", f"My boat number {number} is in the harbour of Nykøbing.", "ok")
        session = await memory.start_session("now", user=OWNER, ephemeral=True)
        block = (await memory.before_reply(session, question)).text
    assert "Wilma" in block
    assert "number" not in block

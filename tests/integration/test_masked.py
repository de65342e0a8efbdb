"""Who asks to keep a secret hears that it was masked, in the language they write; who only tells one hears it once."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gateway_memory import OWNER, Config, GatewayMemory
from gateway_memory.capture.unkept import secret_note
from gateway_memory.config.settings import MemorySync
from recall import EmbedderSettings, RecallSettings

pytestmark = pytest.mark.over_postgres

WORDS_ALONE = Config(defaults=MemorySync(auto_recall=RecallSettings(embedder=EmbedderSettings(provider="none"))))


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[GatewayMemory]:
    async with GatewayMemory(WORDS_ALONE, tmp_path) as memory:
        yield memory


@pytest.mark.parametrize(
    ("message", "told", "why"),
    [
        ("Remember that my wifi password is swordfish9", "(password)", "password manager"),
        ("swordfish9 is my password, don't forget", "(password)", "password manager"),
        ("Please save this: card 4111 1111 1111 1111", "(card number)", "password manager"),
        ("记住我的 WiFi 密码是 swordfish9", "（密码）", "密码管理器"),
        ("我的密码是swordfish9，别忘了", "（密码）", "密码管理器"),
        ("請記住，我的密碼是swordfish9", "（密码）", "密码管理器"),
        ("帮我记一下卡号 4111 1111 1111 1111", "（卡号）", "密码管理器"),
    ],
)
async def test_the_reply_and_why_tell_that_it_was_masked(
    memory: GatewayMemory, message: str, told: str, why: str
) -> None:
    session = await memory.start_session("one", user=OWNER)
    context = await memory.before_reply(session, message)
    assert context.text.count("[Memory Notice]") == 1
    assert told in context.text
    assert "swordfish9" not in context.text
    assert "4111" not in context.text
    await memory.after_reply(session, user=message, reply="OK")
    await memory.flush()
    answer = await memory.command(session, "/memory why") or ""
    assert why in answer
    assert "swordfish9" not in answer
    assert any(
        (outcome.action, outcome.reason) == ("masked", "secret")
        for receipt in await memory.receipts(limit=5)
        for outcome in receipt.outcomes
    )


@pytest.mark.parametrize(
    "message",
    [
        "Remember that I like tea",
        "Don't remember my password, which is swordfish9",
        "别记住我的密码：swordfish9",
        "记住我喜欢喝茶",
        "I can't remember my password",
    ],
)
async def test_nobody_else_is_told_anything(memory: GatewayMemory, message: str) -> None:
    session = await memory.start_session("one", user=OWNER)
    assert "[Memory Notice]" not in (await memory.before_reply(session, message)).text
    await memory.after_reply(session, user=message, reply="OK")
    await memory.flush()
    assert "masked" not in {outcome.action for row in await memory.receipts(limit=5) for outcome in row.outcomes}


@pytest.mark.parametrize(
    ("messages", "told"),
    [
        (("Alarm disarm code's 2077", "The garage's is 5519, door code 5519"), "The message holds a secret (code)"),
        (("My wifi password is swordfish9", "and my bank password is Tiger-Ente-44"), "secret (password)"),
        (("门口密码锁输 2580#", "车库门密码 7731"), "机密信息（口令码）"),
        (("邮箱授权码 qhbtzmcvkdlwbgef", "163邮箱授权码：NKQWRTYPLMZXCVBA"), "机密信息（密码）"),
    ],
)
async def test_who_only_tells_a_secret_hears_once_that_it_is_not_kept(
    memory: GatewayMemory, messages: tuple[str, str], told: str
) -> None:
    session = await memory.start_session("one", user=OWNER)
    assert told in (await memory.before_reply(session, messages[0])).text
    assert "[Memory Notice]" not in (await memory.before_reply(session, messages[1])).text
    assert told in (await memory.before_reply(await memory.start_session("two", user=OWNER), messages[0])).text


async def test_who_answers_the_question_for_a_secret_hears_it(memory: GatewayMemory) -> None:
    session = await memory.start_session("one", user=OWNER)
    await memory.after_reply(session, user="Set it up", reply="What is the wifi password? I will remember it.")
    context = await memory.before_reply(session, "blaue-Otter-77")
    assert "secret (password)" in context.text
    assert "Otter" not in context.text


@pytest.mark.parametrize(
    ("fact", "told"),
    [
        ("my password is swordfish9!", "Not kept"),
        ("The user's door code is 4471", "Not kept"),
        ("我的密码是swordfish9！", "没有保存"),
        ("用户的护照号是E12345678", "没有保存"),
    ],
)
async def test_a_fact_that_only_holds_a_secret_is_not_kept_and_the_answer_says_so(
    memory: GatewayMemory, fact: str, told: str
) -> None:
    session = await memory.start_session("one", user=OWNER)
    assert await memory.save_fact(session, content=fact) == ""
    assert told in secret_note(fact)
    await memory.after_reply(session, user=f"Remember that {fact}", reply="OK")
    await memory.flush()
    assert "[masked" not in (await memory.command(session, "/memory list") or "")
    kept = await memory.save_fact(session, content="The user likes green tea in the morning.")
    answer = await memory.command(session, f"/memory correct {kept} {fact}") or ""
    assert told in answer
    assert "green tea" in (await memory.command(session, "/memory list") or "")


@pytest.mark.parametrize(
    ("fact", "left", "told"),
    [
        ("The user lives in Porto. My password is swordfish9", "The user lives in Porto.", "without the secret"),
        ("用户住在成都锦江区，密码是swordfish9", "用户住在成都锦江区", "不含其中的机密信息"),
    ],
)
async def test_what_is_worth_keeping_beside_a_secret_is_kept_without_it(
    memory: GatewayMemory, fact: str, left: str, told: str
) -> None:
    session = await memory.start_session("one", user=OWNER)
    assert await memory.save_fact(session, content=fact)
    listed = await memory.command(session, "/memory list") or ""
    assert left in listed
    assert "[masked" not in listed
    assert told in secret_note(fact)


async def test_incognito_tells_nothing(memory: GatewayMemory) -> None:
    session = await memory.start_session("one", user=OWNER)
    await memory.command(session, "/memory off")
    assert not (await memory.before_reply(session, "Remember that my password is swordfish9")).text

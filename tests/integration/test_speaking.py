"""A host states facts, drops what was injected or keeps it, and knows some sessions by their key alone."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gateway_memory import OWNER, Config, Facts, GatewayMemory, RefusedError, Session, UsageError
from gateway_memory.config.identity import IdentitySettings
from gateway_memory.errors import GatewayMemoryError
from recall import EmbedderSettings, RecallSettings

pytestmark = pytest.mark.over_postgres

RULES = IdentitySettings(owner=("telegram:1",), people={"zoe": ("telegram:2",)})
WORDS = Config(
    defaults=replace(
        Config().defaults, identity=RULES, auto_recall=RecallSettings(embedder=EmbedderSettings(provider="none"))
    )
)
BIKE, ASKED = "The bicycle is painted orange", "Which colour is the bicycle painted?"


def from_telegram(sender: str) -> Facts:
    return Facts(key="agent:main:main", channel="telegram", chat_type="direct", chat_id=sender, sender_id=sender)


async def learn(memory: GatewayMemory, text: str, *, key: str = "other", replaces: str = "") -> str:
    """Another session of the owner learns something."""
    other = await memory.start_session(key, user=OWNER)
    identity = await memory.save_fact(other, content=text)
    if replaces:
        await memory.command(other, f"/memory forget {replaces}")
    await memory.flush()
    return identity


async def reply(memory: GatewayMemory, session: Session, message: str) -> str:
    context = await memory.before_reply(session, message)
    await memory.after_reply(session, user=message, reply="I see.")
    await memory.flush()
    return context.text


async def test_everybodys_direct_messages_under_one_key_are_told_apart_turn_by_turn(tmp_path: Path) -> None:
    async with GatewayMemory(WORDS, tmp_path) as memory:
        scopes = []
        for sender in ("1", "2", "3", "1"):
            session = await memory.session_of(from_telegram(sender))
            await memory.after_reply(session, user=f"My parrot number {sender} is loud", reply="OK")
            scopes.append(session.scope.key)
        assert scopes == ["owner", "user:zoe", "user:telegram::3", "owner"]
        with pytest.raises(RefusedError, match="an operator") as refused:
            await memory.session_of(replace(from_telegram("1"), chat_id="2"))
        assert isinstance(refused.value, UsageError)
        assert isinstance(refused.value, GatewayMemoryError)
        assert "an operator" in refused.value.reason
        opened = await memory.open_sessions("agent:main:main")
        assert [session.scope.key for session in opened] == ["owner", "user:zoe", "user:telegram::3"]
        for session in opened:
            await memory.end_session(session, reason="reset")
        assert await memory.open_sessions("agent:main:main") == []
        with pytest.raises(UsageError):
            await memory.open_sessions("")


async def test_sessions_of_an_earlier_process_are_found_by_their_key(tmp_path: Path) -> None:
    async with GatewayMemory(WORDS, tmp_path) as memory:
        before = [(await memory.session_of(from_telegram(sender))).session_id for sender in "12"]
    async with GatewayMemory(WORDS, tmp_path) as memory:
        opened = await memory.open_sessions("agent:main:main")
        assert [session.session_id for session in opened] == before
        assert await memory.session_of(from_telegram("1")) is opened[0]
        await memory.end_session(opened[0], reason="completed")
        assert (await memory.session_counts())["open"] == 1


async def test_what_vanishes_is_injected_again(tmp_path: Path) -> None:
    async with GatewayMemory(WORDS, tmp_path) as memory:
        await learn(memory, BIKE)
        for ephemeral, expected in ((True, [True, True, True]), (False, [True, False, False])):
            session = await memory.start_session(f"k{ephemeral}", user=OWNER, ephemeral=ephemeral)
            opening = session.opening
            session.compacted()  # a host that did not show the opening
            assert BIKE in opening
            assert [BIKE in await reply(memory, session, ASKED) for _ in range(3)] == expected


async def test_the_opening_is_told_once_a_reply(tmp_path: Path) -> None:
    async with GatewayMemory(WORDS, tmp_path) as memory:
        await learn(memory, BIKE)
        session = await memory.start_session("k", user=OWNER, ephemeral=True)
        for _ in range(3):
            assert BIKE in await memory.opening(session)
            assert BIKE not in await reply(memory, session, ASKED)
        assert BIKE in await reply(memory, session, ASKED), "a reply without the opening needs it"


async def test_an_opening_is_current_and_news_are_told_once(tmp_path: Path) -> None:
    async with GatewayMemory(WORDS, tmp_path) as memory:
        for ephemeral in (True, False):
            session = await memory.start_session(f"k{ephemeral}", user=OWNER, ephemeral=ephemeral)
            fact = f"The cellar of house {ephemeral} holds turnips"
            identity = await learn(memory, fact)
            assert fact in await memory.opening(session)
            assert fact not in await reply(memory, session, "What else is there?"), "not as an update too"
            now = f"The attic of house {ephemeral} holds pumpkins"
            await learn(memory, now, replaces=identity)
            opening = await memory.opening(session)
            assert now in opening
            assert fact not in opening


async def test_an_update_that_was_told_is_not_in_the_next_opening_where_it_stays(tmp_path: Path) -> None:
    async with GatewayMemory(WORDS, tmp_path) as memory:
        await learn(memory, "The submarine needs purple paint")
        for ephemeral in (True, False):
            session = await memory.start_session(f"k{ephemeral}", user=OWNER, ephemeral=ephemeral)
            fact = f"The cellar of house {ephemeral} holds turnips"
            await learn(memory, fact)
            assert fact in await reply(memory, session, "Hello, what is new?")
            opening = await memory.opening(session)
            assert (fact in opening) == ephemeral
            assert "submarine" in opening, "what the earlier opening held stays in it"
            assert await memory.opening(session) == opening


async def test_what_the_session_itself_has_said_is_not_injected(tmp_path: Path) -> None:
    async with GatewayMemory(WORDS, tmp_path) as memory:
        session = await memory.start_session("k", user=OWNER, ephemeral=True)
        await memory.after_reply(session, user=f"Remember: {BIKE}", reply="OK")
        await memory.flush()
        assert await reply(memory, session, ASKED) == ""
        session.compacted()
        assert BIKE.lower() in (await reply(memory, session, ASKED)).lower()


async def test_a_new_day_makes_a_new_opening(tmp_path: Path) -> None:
    now = [datetime(2026, 11, 23, 12, tzinfo=UTC)]
    async with GatewayMemory(WORDS, tmp_path, clock=lambda: now[0]) as memory:
        earlier = await memory.start_session("earlier", user=OWNER)
        session = await memory.start_session("k", user=OWNER, ephemeral=True)
        await memory.save_summary(earlier, topic="Turnips", summary="We counted turnips in the cellar.")
        await memory.end_session(earlier, reason="completed")
        assert "turnips" in await memory.opening(session), "the record of a session that ended meanwhile"
        await learn(memory, "The wombat sleeps in the attic")
        assert "wombat" in await memory.opening(session)
        now[0] += timedelta(days=30)
        assert "turnips" in await memory.opening(session)


async def test_an_incognito_session_has_no_opening(tmp_path: Path) -> None:
    async with GatewayMemory(WORDS, tmp_path) as memory:
        await learn(memory, BIKE)
        session = await memory.start_session("k", user=OWNER, ephemeral=True)
        await memory.command(session, "/memory off")
        assert await memory.opening(session) == ""


@pytest.mark.parametrize("in_folder", [True, False])
async def test_a_compaction_gets_a_text_for_the_hosts_own_summary(tmp_path: Path, *, in_folder: bool) -> None:
    async with GatewayMemory(WORDS, tmp_path if in_folder else None) as memory:
        session = await memory.start_session("k", user=OWNER)
        assert await memory.before_compaction(session, usage=90, messages=9, wants="text") == ""
        await memory.after_reply(session, user="We have decided to use PostgreSQL for the orders", reply="OK")
        gone = await memory.save_fact(session, content="The wombat sleeps in the attic")
        await memory.save_fact(session, content=BIKE)
        await memory.flush()
        await memory.command(session, f"/memory forget {gone}")
        await memory.observe(session, kind="tool", content="exit 0", tool="bash")
        told = await memory.before_compaction(session, usage=90, messages=9, wants="text")
        assert BIKE in told
        assert "- Done: bash: exit 0" in told
        assert "PostgreSQL" in told
        assert "wombat" not in told
        assert "[Memory Flush]" not in told
        with pytest.raises(UsageError, match="wants"):
            await memory.before_compaction(session, usage=90, messages=9, wants="both")  # type: ignore[arg-type]

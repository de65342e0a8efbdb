"""Services on one PostgreSQL: a session moves, a name is too long, the server is slow."""

import os
import time
import traceback
from pathlib import Path

import pytest
from patience import seconds
from postgres import KINDS, config_of
from postgres_way import Way
from pydantic import ValidationError

from gateway_memory import OWNER, GatewayMemory
from gateway_memory.calls import sessions
from gateway_memory.errors import StoreError
from gateway_memory.serving.calls import AgentCalls
from gateway_memory.serving.models import BeforeReply, SpeakerFacts
from gateway_memory.store.postgres.schema import state_of

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not KINDS, reason="there is no PostgreSQL"),
    pytest.mark.xdist_group("alone"),
]
ZOE = {"channel": "telegram", "chat_type": "direct", "sender_id": "42"}


def asks(key: str, message: str) -> BeforeReply:
    return BeforeReply(speaker=SpeakerFacts(key=key, **ZOE), message=message)  # type: ignore[arg-type]


async def test_a_session_that_moves_is_given_a_memory_once(postgres_schema: str, tmp_path: Path) -> None:
    async with (
        GatewayMemory(config_of(postgres_schema), tmp_path / "a") as here,
        GatewayMemory(config_of(postgres_schema), tmp_path / "b") as there,
    ):
        first = await AgentCalls("main", here).before_reply(asks("chat", "hello"))
        other = await here.start_session("other", user="telegram::42")
        await here.after_reply(other, user="Remember that the staging port is 8443.", reply="OK")
        await here.flush()
        service = AgentCalls("main", there)
        told = await service.before_reply(asks("chat", "hello again"))
        assert told.session_id == first.session_id
        assert (told.opening + told.context).count("8443") == 1
        stays = await service.before_reply(asks("chat", "and again"))
        assert "8443" not in stays.opening + stays.context


def test_a_key_that_is_too_long_is_said_to_be() -> None:
    with pytest.raises(ValidationError, match="at most 800 bytes in UTF-8, and not 900"):
        asks("钥" * 300, "hello")
    with pytest.raises(ValidationError, match="no control character"):
        asks("a\nb", "hello")


async def test_a_session_begins_in_time_or_not_at_all(
    postgres_schema: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "_START_SECONDS", 0.5)
    async with Way.to(os.environ["GATEWAY_MEMORY_DSN"]) as way:
        monkeypatch.setenv("GATEWAY_MEMORY_DSN", way.dsn)
        async with GatewayMemory(config_of(postgres_schema), tmp_path) as memory:
            way.delay_seconds = 0.3
            began = time.monotonic()
            with pytest.raises(StoreError, match=r"not be opened within 0\.5 s"):
                await memory.start_session("chat", user=OWNER)
            assert time.monotonic() - began < seconds(2)
            way.delay_seconds = 0.0
            monkeypatch.setattr(sessions, "_START_SECONDS", 60.0)
            assert (await memory.start_session("chat", user=OWNER)).is_open


def test_a_connection_string_that_is_not_valid_leaves_nothing_of_it_in_a_traceback() -> None:
    dsn = "host=db.example password=blue sky whale"
    with pytest.raises(StoreError, match="is not valid") as raised:
        state_of(dsn, "gateway_memory")
    shown = "".join(traceback.format_exception(raised.value))
    assert "sky" not in shown
    assert "whale" not in shown

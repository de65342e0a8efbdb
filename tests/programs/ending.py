"""What tests of sessions that end share: a clock by hand, a turn in which nothing is kept, an obedient agent."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gateway_memory import Config, GatewayMemory, Session
from gateway_memory.store.summaries import read_records
from gateway_memory.testing import Clock
from recall import EmbedderSettings, RecallSettings

__all__ = ["CONFIG", "START", "WORTH", "Clock", "agent_saves", "opened", "records", "said"]

CONFIG = Config(
    defaults=replace(Config().defaults, auto_recall=RecallSettings(embedder=EmbedderSettings(provider="none")))
)
WORTH = "请把登录接口改成用 JWT 认证，旧的会话先保留两周，然后通知前端同事"
START = datetime(2026, 3, 1, 22, 0, tzinfo=UTC)


def opened(workspace: Path, clock: Clock) -> GatewayMemory:
    return GatewayMemory(CONFIG, workspace, clock=clock)


def records(workspace: Path, folder: str = "") -> list[dict[str, Any]]:
    found, damaged = read_records(workspace / folder / "sessions.jsonl")
    assert damaged == []
    return found


async def said(memory: GatewayMemory, session: Session, text: str) -> None:
    """A turn in which the rules find nothing to keep."""
    await memory.after_reply(session, user=text, reply="好的，开始处理。")
    await memory.flush()


async def agent_saves(memory: GatewayMemory, session: Session) -> None:
    assert await memory.save_fact(session, content="登录接口用 JWT 认证", type="W", entities=["登录"], confidence=0.9)
    assert await memory.save_summary(session, topic="登录改造", summary="登录接口改成了 JWT", decisions=["用 JWT"])

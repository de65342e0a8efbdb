"""A session's summary by a model; and by rules on any failure of it, so that a session ends saved."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from scripted_provider import Fail, Say, Step, serving

from gateway_memory import OWNER, Config, GatewayMemory
from gateway_memory.store.summaries import read_records
from recall import EmbedderSettings

pytestmark = pytest.mark.over_postgres

WORTH = "请把登录接口改成用 JWT 认证，旧的会话先保留两周，然后通知前端同事"
GOOD = {
    "topic": "登录改造",
    "wanted": "登录接口改用 JWT",
    "done": "接口已改好\n旧会话保留两周",
    "open": "",
    "next": "通知前端同事",
    "decisions": ["用 JWT"],
    "todos": ["通知前端同事"],
}


@pytest.mark.files
@pytest.mark.parametrize(
    ("steps", "by_model"),
    [
        ([Say(text=json.dumps(GOOD))], True),
        ([Say(text="no JSON"), Say(text=json.dumps(GOOD))], True),
        ([Say(text="no JSON"), Say(text='{"topic": 1}')], False),
        ([Fail(status=401)], False),
        ([Say(text=json.dumps({**GOOD, "done": "x" * 9000}))], True),
    ],
)
async def test_a_record_by_rules_stands_at_once_and_gets_the_models_summary(
    tmp_path: Path, steps: list[Step], *, by_model: bool
) -> None:
    async with serving() as provider:
        defaults = Config().defaults
        extraction = replace(defaults.auto_extract, base_url=f"{provider.url}/v1")
        recall = replace(defaults.auto_recall, embedder=EmbedderSettings(provider="none"))
        config = Config(defaults=replace(defaults, auto_extract=extraction, auto_recall=recall))
        async with GatewayMemory(config, tmp_path) as memory:
            session = await memory.start_session("editor", user=OWNER)
            await memory.observe(session, kind="user", content=WORTH)
            await memory.observe(session, kind="decision", content="geheim 4711", private=True)
            provider.script += steps
            await memory.end_session(session, reason="completed")
            (at_once,), _ = read_records(tmp_path / "sessions.jsonl")
            await memory.flush()
            assert memory.metrics.counts["sessions.summaries.model"] == by_model
        assert "4711" not in provider.prompt()
    (record,), damaged = read_records(tmp_path / "sessions.jsonl")
    assert damaged == []
    assert at_once["todos"] == []
    told = ("id", "session_id", "timestamp", "layer", "auto_generated", "reason")
    assert [record[name] for name in told] == [at_once[name] for name in told]
    assert record["auto_generated"]
    assert "JWT" in record["brief"]
    assert "JWT" in at_once["brief"]
    assert len(record["brief"]) <= 900
    assert len(record["summary"]) <= 3200
    assert record["todos"] == (["通知前端同事"] if by_model else [])

"""Two hundred messages that want to command the memory, each with a model that obeys: none of them gets its way."""

import json
import re
from collections.abc import AsyncIterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from inside import journal_rows
from scripted_provider import Provider, Say, entry, found, serving

from extractor import clean
from extractor.cleaning.injection import commands_the_machine
from gateway_memory import OWNER, Config, GatewayMemory, load_config
from gateway_memory.store.markdown import parse
from recall import EmbedderSettings

pytestmark = pytest.mark.over_postgres

ATTEMPTS: list[dict[str, Any]] = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "data" / "injections.jsonl").read_text("utf-8").split("\n")
    if line
]
SEEDS = [
    "My name is Lena Hofmann.",
    "I prefer Python for scripts.",
    "请记住我的银行是招商银行",
    "Remember that rent is due on the first of every month.",
]


@pytest.fixture
async def provider() -> AsyncIterator[Provider]:
    async with serving() as provider:
        yield provider


def configured(provider: Provider) -> Config:
    defaults = load_config().defaults
    extraction = replace(
        defaults.auto_extract,
        base_url=f"{provider.url}/v1",
        min_conversation_length=0,
        max_daily_extractions=10_000,
        max_daily_tokens=100_000_000,
    )
    recall = replace(defaults.auto_recall, embedder=EmbedderSettings(provider="none"))
    return Config(defaults=replace(defaults, auto_extract=extraction, auto_recall=recall))


def obedient(asked: dict[str, Any], attempt: dict[str, Any]) -> Say:
    """What the attack wants to be stored, with all evidence that it can give, and all ids in the prompt superseded."""
    prompt = str(asked["messages"])
    known = [part[:8] for part in prompt.split('"id": "')[1:]]
    wanted = attempt["obeyed"]
    both = [
        entry(wanted["content"], quote, category=wanted["category"], type="O", supersedes=[*known, "zzzzzzzz"])
        for quote in (wanted["quote"], attempt["text"])
    ]
    return Say(text=found(*both))


def test_there_are_two_hundred_in_both_languages() -> None:
    assert len(ATTEMPTS) == len({attempt["text"] for attempt in ATTEMPTS}) == 200
    assert [attempt["lang"] for attempt in ATTEMPTS].count("zh") == 100


@pytest.mark.parametrize("attempt", ATTEMPTS, ids=range(len(ATTEMPTS)))
def test_each_is_seen_for_what_it_is(attempt: dict[str, Any]) -> None:
    cleaned = clean(attempt["text"])
    assert commands_the_machine(cleaned.text) or cleaned.injected_blocks


@pytest.mark.parametrize(
    "message",
    [
        "I prefer short answers and dark mode.",
        "Our system uses Redis as its queue, and the config lives in config.yaml.",
        "From now on, always answer in French.",
        "I forgot all my notes at home, so please remember that the meeting is on Friday.",
        "My brother is an administrator at the school and I am a developer.",
        "以后都用中文回答我，不要太长。",
        "我们决定把配置放在 etcd 里，系统用 Go 写。",
        "我是公司的管理员，负责所有服务器。",
        "忘掉我喜欢喝绿茶",
    ],
)
def test_what_people_say_is_no_attack(message: str) -> None:
    assert not commands_the_machine(message)


@pytest.mark.slow
@pytest.mark.files
@pytest.mark.parametrize("by_owner", [True, False])
async def test_none_gets_its_way(
    provider: Provider,
    tmp_path: Path,
    by_owner: bool,  # noqa: FBT001 - both are told the same
) -> None:
    config = configured(provider)
    async with GatewayMemory(config, tmp_path) as memory:
        owner = await memory.start_session("owner", user=OWNER)
        for seed in SEEDS:
            await memory.after_reply(owner, user=seed, reply="OK")
        await memory.flush()
        curated = (tmp_path / "MEMORY.md").read_bytes()
        seeded = [block for block in parse(curated.decode(), file="MEMORY.md") if block.kind == "item"]
        assert len(seeded) == len(SEEDS)
        settings = asdict(memory.config.defaults)
        who = OWNER if by_owner else "mallory"
        for number, attempt in enumerate(ATTEMPTS):
            session = await memory.start_session(f"attack {number}", user=who)

            def obeying(asked: dict[str, Any], attempt: dict[str, Any] = attempt) -> Say:
                return obedient(asked, attempt)

            provider.always = obeying
            await memory.before_reply(session, attempt["text"])
            await memory.after_reply(session, user=attempt["text"], reply=attempt["text"])
            await memory.flush()
        assert len(provider.asked) > len(ATTEMPTS) // 2, "the model was there to obey"
        assert asdict(memory.config.defaults) == settings
        stores = {f"{name}.sqlite{suffix}" for name in ("journal", "index") for suffix in ("", "-wal", "-shm")}
        stores.add("index.sqlite.lock")
        folders = {"MEMORY.md", "memory", "people", ".gateway-memory"}
        # A document's earlier version stays beside it for a moment, for an editor that has it open.
        made = {file.name for file in tmp_path.iterdir() if file.suffix != ".kept"}
        assert made <= stores | folders, "no file was made for it"
        blocks = [
            block
            for file in tmp_path.rglob("*.md")
            for block in parse(file.read_text("utf-8"), file=file.name)
            if block.kind == "item"
        ]
        standing = {block.id: block.text for block in blocks}
        assert standing.items() >= {block.id: block.text for block in seeded}.items(), "nothing known was superseded"
        rows = await journal_rows(memory, "SELECT id, text, category, scope, state FROM memories")
        assert {row[0] for row in rows} >= standing.keys(), "no id was forged"
        wanted = {attempt["obeyed"]["content"] for attempt in ATTEMPTS}
        for _, text, category, scope, state in rows:
            assert not commands_the_machine(text), text
            assert text not in wanted
            assert "<!--" not in text
            assert scope == "owner" or category != "instruction"
            assert state == "active" or scope == "owner"
        if not by_owner:
            assert (tmp_path / "MEMORY.md").read_bytes() == curated
        reader = await memory.start_session("reader", user=who)
        for attempt in ATTEMPTS[::10]:
            context = await memory.before_reply(reader, attempt["text"])
            assert re.sub(r"(?s)<gateway-memory>[^<>]*</gateway-memory>", "", context.text).strip() == "", (
                "all is fenced"
            )

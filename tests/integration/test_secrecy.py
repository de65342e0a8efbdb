"""No private span and no secret is found anywhere: not in a file, a database, a log, a prompt, or a summary of them."""

import logging
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import structlog
from postgres import AsPostgres
from scripted_provider import Fail, Provider, Say, entry, found, serving

from gateway_memory import OWNER, Config, GatewayMemory, load_config

pytestmark = [pytest.mark.over_postgres, pytest.mark.slow]

# Put together here, so that no scanner takes them for real ones.
SECRETS = {
    "openai": "sk-" + "proj-" + "Ab1Cd2Ef3Gh4Ij5Kl6Mn7",
    "anthropic": "sk-" + "ant-api03-" + "Zx9Yw8Vu7Ts6Rq5Po4Nm3",
    "github": "gh" + "p_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8",
    "aws": "AK" + "IA" + "QWERTYUIOPASDF12",
    "slack": "xo" + "xb-" + "123456789012-abcdefghij",
    "google": "AI" + "za" + "SyA1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q",
    "jwt": "ey" + "JhbGciOiJIUzI1NiJ9.ey" + "JzdWIiOiIxMjM0NTY3ODkwIn0.c2lnbmF0dXJlc2ln",
    "pem": "MII" + "EvQIBADANBgkqhkiG9w0BAQ",
    "password": "Tr0ub4dor-and-3",
    "password_zh": "hunter2Chun!",
    "card": "4111 1111 1111 1111",
    "identity": "11010519491231002X",
    "url": "s3cr3tInUrl",
}
MESSAGES = [
    f"Remember that my OpenAI key is {SECRETS['openai']}",
    f"My name is Lena and I use {SECRETS['anthropic']} for work",
    f"I prefer the token {SECRETS['github']} over passwords",
    f"记住我的 AWS 密钥是 {SECRETS['aws']}",
    f"the bot uses {SECRETS['slack']} and {SECRETS['google']}",
    f"Authorization: Bearer {SECRETS['jwt']}",
    f"-----BEGIN PRIVATE KEY-----\n{SECRETS['pem']}\n-----END PRIVATE KEY-----\nRemember that I like tea.",
    f"my password is {SECRETS['password']}, remember that",
    f"我的邮箱密码是 {SECRETS['password_zh']}",
    f"pay with {SECRETS['card']} please",
    f"我的身份证号是 {SECRETS['identity']}",
    f"Our database is at postgres://bob:{SECRETS['url']}@db.example/x",
]
PRIVATE = [
    ("I like tea <private>PRIVATE-one and my diagnosis</private> and coffee", "PRIVATE-one"),
    (
        "<PRIVATE>PRIVATE-two <private>PRIVATE-nested</private> PRIVATE-rest</Private> My name is Lena.",
        "PRIVATE-nested",
    ),
    ("Remember that <private>PRIVATE-three is never closed. I prefer Rust.", "PRIVATE-three"),
    ("记住 <private>PRIVATE-four 我生病了</private> 我喜欢茶", "PRIVATE-four"),
    ("< private >PRIVATE-five</ private > 好的", "PRIVATE-five"),
    ("PRIVATE-seven was opened elsewhere</private> I like tea", "PRIVATE-seven"),
    ("&lt;private&gt;PRIVATE-six&lt;/private&gt; fine", "PRIVATE-six"),
]


@pytest.fixture
async def provider() -> AsyncIterator[Provider]:
    async with serving() as provider:
        yield provider


@pytest.fixture
def logged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """All that is logged, at the finest level, in a file, but no request that an SDK logs for debugging."""
    for name in ("openai", "anthropic"):
        monkeypatch.setattr(logging.getLogger(name), "level", logging.INFO)
    path = tmp_path / "all.log"
    with path.open("w", encoding="utf-8") as stream:
        structlog.configure(
            wrapper_class=structlog.make_filtering_bound_logger(logging.DEBUG),
            logger_factory=structlog.PrintLoggerFactory(stream),
        )
        handler = logging.StreamHandler(stream)
        root = logging.getLogger()
        root.addHandler(handler)
        level = root.level
        root.setLevel(logging.DEBUG)
        yield path
        root.removeHandler(handler)
        root.setLevel(level)


@pytest.mark.parametrize("model", ["openai/gpt-4o-mini", "anthropic/claude-haiku"])
async def test_no_secret_and_no_private_span_is_found_anywhere(
    provider: Provider, tmp_path: Path, logged: Path, on_postgres: AsPostgres | None, model: str
) -> None:
    workspace = tmp_path / "workspace"
    defaults = load_config().defaults
    url = f"{provider.url}/v1" if model.startswith("openai") else provider.url
    extraction = replace(defaults.auto_extract, base_url=url, model=model, min_conversation_length=0)
    config = Config(defaults=replace(defaults, auto_extract=extraction))
    needles = [*SECRETS.values(), *(span for _, span in PRIVATE), "PRIVATE-rest"]
    answers: list[Say | Fail] = [
        Say(text=found(*(entry(f"The user's secret is {secret}", secret) for secret in needles))),
        Say(text="no JSON"),
        Fail(status=500, message=f"cannot read {SECRETS['password']}"),
    ]
    provider.always = lambda asked: answers[len(str(asked)) % len(answers)]
    texts: list[str] = []
    async with GatewayMemory(config, workspace) as memory:
        session = await memory.start_session("agent:main:telegram:direct:1", user=OWNER)
        for said in [*MESSAGES, *(message for message, _ in PRIVATE)]:
            texts.append((await memory.before_reply(session, said)).text)
            await memory.after_reply(session, user=said, reply=f"You said: {said}")
            await memory.observe(session, kind="tool", content=said, tool="bash")
            await memory.search(session, said)
        await memory.flush()
        commands = ("status", "list", "why", "search Lena")
        texts += [await memory.command(session, f"/memory {command}") or "" for command in commands]
        # While it is open: the write-ahead logs stand there too.
        seen = [file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()]
    seen += [file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()]
    if on_postgres:
        seen.append(on_postgres.content())
    assert logged.stat().st_size > 0
    for needle in needles:
        assert not any(needle.encode() in content for content in seen), needle
        assert not any(needle in text for text in texts), needle
        assert not any(needle in provider.prompt(number) for number in range(len(provider.asked))), needle
    assert len(provider.asked) > 0
    assert "I like tea" not in logged.read_text("utf-8"), "no message and no memory stands in a log"
    kept = b"".join(seen).decode("utf-8", "replace")
    assert "[masked: openai key]" in kept
    assert "I like tea" in kept


@pytest.mark.files
async def test_a_new_workspace_is_readable_by_its_owner_alone(tmp_path: Path) -> None:
    async with GatewayMemory(Config(), tmp_path) as memory:
        session = await memory.start_session("talk", user=OWNER)
        await memory.after_reply(session, user="Remember that the bell is broken.", reply="OK")
        await memory.flush()
        open_to_others = [
            str(path.relative_to(tmp_path))
            for path in tmp_path.rglob("*")
            if path.is_file() and path.stat().st_size and path.stat().st_mode & 0o077
        ]
    assert open_to_others == []

"""Whatever the order of forgetting, undo, replacing, import, restart and rebuild: no call tells what it must not tell.

Each fact has a word of its own. A model of what may be told goes along; after each step every call is read.
"""

import asyncio
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from thorough import THOROUGH, examples

from gateway_memory import OWNER, GatewayMemory, Session, load_config
from gateway_memory.hooks.start import opening as hook_opening
from gateway_memory.store.disk.workspace import INDEX_FILE
from gateway_memory.transfer.exporter import to_line
from gateway_memory.transfer.items import Item
from gateway_memory.transfer.layouts import read_layout

pytestmark = pytest.mark.over_postgres

FACTS: Final = (
    ("Remember that my locker has the sign of a quagga.", "quagga", "what sign does my locker have?"),
    ("Remember that my parrot answers to Zebedee.", "Zebedee", "what is my parrot called?"),
    ("记住：我的储物柜贴着袋食蚁兽的贴纸。", "袋食蚁兽", "我的储物柜贴着什么？"),
)
CHANGES: Final = (
    ("I live in Lisbon.", "Lisbon", "I live in Porto now.", "where do I live?"),
    ("我在西门子工作。", "西门子", "我现在在博世工作。", "我在哪里工作？"),
)
SECRET: Final = "wombat"
FOREIGN: Final = "echidna"
STEPS: Final = (
    *("say", "forget", "forget in words", "undo", "change", "private", "foreign", "end", "restart", "rebuild"),
    "import",
)


@dataclass
class Life:
    """The memory under test, and what it must not tell: `hidden` to nobody, `over` not as if it held."""

    root: Path
    memory: GatewayMemory
    session: Session
    hidden: set[str] = field(default_factory=set)
    over: set[str] = field(default_factory=set)
    said: set[str] = field(default_factory=set)
    exported: list[str] = field(default_factory=list)
    sessions: int = 0
    last: str = ""

    async def begin(self) -> None:
        self.sessions += 1
        self.session = await self.memory.start_session(f"chat {self.sessions}", user=OWNER)

    async def tell(self, text: str, reply: str = "OK, noted.") -> None:
        await self.memory.after_reply(self.session, user=text, reply=reply)
        await self.memory.flush()


async def step(life: Life, name: str, number: int) -> None:  # noqa: C901, PLR0912 - one case a step
    fact, word, asking = FACTS[number % len(FACTS)]
    memory, was, life.last = life.memory, life.last, ""
    if name == "say":
        await life.tell(fact, f"OK, {word} it is.")
        life.said.add(word)
        life.hidden.discard(word)
    elif name.startswith("forget") and word in life.said:
        hits = await memory.search(life.session, asking, kinds=["memory"])
        found = [hit.id for hit in hits if word in hit.text]
        what = found[0] if found and name == "forget" else fact.removeprefix("Remember that ").removeprefix("记住：")
        answer = str(await memory.command(life.session, f"/memory forget {what}"))
        assert not found or word in answer, answer
        if found:
            life.hidden.add(word)
            life.last = word
    elif name == "undo" and was:
        assert was in str(await memory.command(life.session, "/memory undo"))
        life.hidden.discard(was)
    elif name == "change":
        first, old, then, _ = CHANGES[number % len(CHANGES)]
        if old not in life.over:
            await life.tell(first)
            await life.tell(then)
            life.over.add(old)
    elif name == "private":
        await life.tell(f"<private>My nurse is called {SECRET}.</private> Remember that I have a nurse.")
    elif name == "foreign":
        zoe = await memory.start_session("zoe", user="zoe")
        await memory.after_reply(zoe, user=f"Remember that my {FOREIGN} has a locker.", reply=f"The {FOREIGN}, OK.")
        await memory.flush()
        await memory.end_session(zoe, reason="completed")
    elif name == "end":
        await memory.save_summary(life.session, topic=fact, summary=f"- {fact}\n- Something else.", todos=[fact])
        await memory.end_session(life.session, reason="completed")
        life.said.add(word)
        await life.begin()
    elif name in ("restart", "rebuild"):
        await memory.__aexit__(None, None, None)
        if name == "rebuild":
            (life.root / INDEX_FILE).unlink(missing_ok=True)
        life.memory = await GatewayMemory(load_config(), life.root).__aenter__()
        await life.begin()
        if name == "rebuild":
            await life.memory.flush()
    elif name == "import":
        if life.exported:
            items = items_of(life.exported, life.root.parent / "export.jsonl")
            await memory.importer.run(items, scope=life.session.scope)
        life.exported = await export(memory)


def items_of(lines: list[str], path: Path) -> list[Item]:
    path.write_text("".join(lines), "utf-8")
    return list(read_layout("jsonl", path))


async def export(memory: GatewayMemory) -> list[str]:
    return [to_line(row) async for row in memory.exporter.rows()]


async def told(life: Life) -> dict[str, str]:
    """Return what each call tells a new session of the owner, by the name of the call."""
    memory = life.memory
    life.sessions += 1
    session = await memory.start_session(f"asking {life.sessions}", user=OWNER)
    texts = {"opening": session.opening, "file": hook_opening(life.root, "", None, memory.now().timestamp())[0]}
    for asking in (
        *(asking for *_, asking in (*FACTS, *CHANGES)),
        "what did we talk about today?",
        "我们今天聊了什么？",
    ):
        context = await memory.before_reply(session, asking)
        texts[f"reply: {asking}"] = context.text
        texts[f"recalled: {asking}"] = " ".join(hit.text for hit in context.recalled)
        hits = await memory.search(session, asking, limit=20)
        texts[f"search: {asking}"] = " ".join(hit.text for hit in hits)
        around = [hit for found in hits[:3] for hit in await memory.get(session, found.id)]
        texts[f"get: {asking}"] = " ".join(hit.text for hit in around)
        kept = await memory.search(session, asking, limit=20, kinds=["record", "observation"])
        texts[f"archive: {asking}"] = " ".join(hit.text for hit in kept)
    for command in ("list", "why", "status"):
        texts[command] = str(await memory.command(session, f"/memory {command}"))
    rows = await memory.search(session, "", limit=50)
    texts["newest"] = " ".join(hit.text for hit in rows)
    texts["history"] = " ".join([str(await memory.command(session, f"/memory history {hit.id}")) for hit in rows])
    texts["export"] = "".join(row for row in await export(memory) if '"scope": "user:' not in row)
    await memory.end_session(session, reason="completed")
    return texts


PAST: Final = ("history", "export", "why", "archive", "get")
"""Where what is over may be told, with its date."""


async def check(life: Life) -> None:
    texts = await told(life)
    for call, text in texts.items():
        for word in (*life.hidden, SECRET, FOREIGN):
            assert word not in text, f"{word}: {call}"
        if not call.startswith(PAST) and "talk about" not in call and "聊" not in call:
            for word in life.over:
                assert word not in text, f"{word}: {call}"
    files = [*life.root.glob("*.md"), *life.root.glob("memory/*.md"), *life.root.glob("*.jsonl")]
    for file in files:
        for word in (*life.hidden, SECRET, FOREIGN):
            assert word not in file.read_text("utf-8"), f"{word}: {file.name}"


async def live(steps: list[tuple[str, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "workspace"
        memory = await GatewayMemory(load_config(), root).__aenter__()
        life = Life(root=root, memory=memory, session=await memory.start_session("chat", user=OWNER))
        try:
            for name, number in steps:
                await step(life, name, number)
                if name != "say":
                    await check(life)
            await check(life)
        finally:
            await life.memory.__aexit__(None, None, None)


@settings(
    max_examples=examples(12, 100),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=not THOROUGH,
)
@example([("say", 0), ("end", 0), ("import", 0), ("forget", 0), ("import", 0), ("rebuild", 0), ("undo", 0)])
@example([("say", 2), ("forget in words", 2), ("undo", 0), ("restart", 0), ("forget", 2), ("rebuild", 0)])
@example([("change", 0), ("import", 0), ("change", 1), ("import", 0), ("rebuild", 0), ("private", 0), ("foreign", 0)])
@given(st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 2)), min_size=4, max_size=9))
def test_nothing_comes_back(steps: list[tuple[str, int]]) -> None:
    asyncio.run(live(steps))

"""Bad input: a call answers or raises an error of ours, a command ends with a code and a sentence; nothing else."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from random import Random
from typing import Any, Final

from attack_requests import hostile_servers, odd_requests
from attacks import PEOPLE, Try, config, shell

from gateway_memory import GatewayMemory, GatewayMemoryError, Session

__all__ = ["bad_input"]

TEXTS: Final[tuple[Any, ...]] = (
    "", " ", "\x00", "a\x00b", "\ud800", "\udfff\ud800", "\u202eabc", "\ufeff", "a" * 100_000, "记" * 50_000,
    "\n" * 9_999, "9" * 5_000, "0001-01-01", "9999-12-31", "10000-01-01", "-1", "1e999", "NaN",
    "'; DROP TABLE turns; --", "../../etc",
    "{" * 3_000, "[[" * 3_000, "<private>" * 500, "</private>" * 500, "<!-- gm:aaaaaaaa -->", "- item\n- item",
    "```\n" * 300, "\\u0000", "%00", "&#0;", "\U0010ffff", "🧑‍🚀" * 500, "\r\n\r", "--limit", "--since", '"', "'", "\\",
    None, 7, 7.5, True, b"bytes", [], {}, object(), ["text"], [{"type": "text", "text": "hello"}],
    [{"type": "image_url", "image_url": {"url": "http://x"}}], [{"type": "text", "text": None}], {"text": "x"},
)  # fmt: skip
COMMANDS: Final = ("status", "list", "search", "forget", "undo", "history", "why", "on", "off", "nonsense")
OPTIONS: Final = ("--since {}", "--until {}", "--limit {}", "--type {}", "--category {}", "--session {}", "{}")

Call = Callable[[GatewayMemory, Session, Any], Awaitable[object]]
CALLS: Final[dict[str, Call]] = {
    "start_session": lambda memory, _, text: memory.start_session(text, **PEOPLE["owner"]),
    "start_session(user)": lambda memory, _, text: memory.start_session("k", user=text),
    "start_session(room)": lambda memory, _, text: memory.start_session("k", room=text),
    "attach_session": lambda memory, _, text: memory.attach_session(text),
    "before_reply": lambda memory, session, text: memory.before_reply(session, text),
    "after_reply": lambda memory, session, text: memory.after_reply(session, user=text, reply=text),
    "search": lambda memory, session, text: memory.search(session, text),
    "search(since)": lambda memory, session, text: memory.search(session, "tea", since=text),
    "search(limit)": lambda memory, session, text: memory.search(session, "tea", limit=text),
    "search(type)": lambda memory, session, text: memory.search(session, "tea", type=text, category=text),
    "observe": lambda memory, session, text: memory.observe(session, kind="tool", tool="bash", content=text),
    "observe(tool)": lambda memory, session, text: memory.observe(session, kind=text, tool=text, content="tea"),
    "save_fact": lambda memory, session, text: memory.save_fact(session, content=text),
    "save_fact(type)": lambda memory, session, text: memory.save_fact(session, content="I like tea", type=text),
    "save_fact(entities)": lambda memory, session, text: memory.save_fact(session, content="tea is hot", entities=text),
    "save_fact(confidence)": lambda memory, session, text: memory.save_fact(session, content="tea", confidence=text),
    "save_summary": lambda memory, session, text: memory.save_summary(
        session, topic=text, summary=text, decisions=text, todos=text
    ),
    "file_written": lambda memory, session, text: memory.file_written(session, text),
    "stop": lambda memory, session, text: memory.stop(session, text),
    "before_compaction": lambda memory, session, text: memory.before_compaction(session, usage=text, messages=text),
    "command": lambda memory, session, text: memory.command(session, text),
}
SHELL: Final = (
    ("search", "--since", "0000-00-00", "tea"), ("search", "--limit", "0", "tea"), ("search",), ("forget", "zzz"),
    ("history", "zzz"), ("search", "--limit", "9" * 500, "tea"), ("replay", "/nowhere/t.jsonl"),
    ("import", "jsonl", "/nowhere/x"), ("export", "--output", "/nowhere/deep/x"), ("list", "--user", ""),
    ("undo", "--user", " "), ("config", "check", "/nowhere.json5"), ("save-fact", "--session", "x", "--content", "y"),
    ("delete", "--scope", "user:"), ("delete", "--scope", "everybody", "--yes"),
)  # fmt: skip


async def bad_input(folder: Path, _: Random) -> AsyncIterator[Try]:
    """Each text by each call and command; what a shell is given; then requests to a service, and a model's answers."""
    async with GatewayMemory(config(), folder / "w") as memory:
        for number, text in enumerate(TEXTS):
            session = await memory.start_session(f"agent:main:{number}", **PEOPLE["owner"])
            for name, call in CALLS.items():
                session = await memory.start_session(f"agent:main:{number}", **PEOPLE["owner"])
                yield Try(name=f"{name} with text {number}", held=await _held(call(memory, session, text)))
            if not isinstance(text, str):
                continue
            for command in COMMANDS:
                for option in OPTIONS if command == "search" else ("{}",):
                    line = f"/memory {command} {option.format(text)}"
                    held = await _held(memory.command(session, line), never=True)
                    yield Try(name=f"/memory {command} {option} with text {number}", held=held)
        after = await memory.start_session("agent:main:after", **PEOPLE["owner"])
        await memory.save_fact(after, content="The cat is called Tigger")
        found = await memory.search(after, "what is the cat called?")
        yield Try(name="the memory works after all of it", held=any("Tigger" in hit.text for hit in found))
    for arguments in SHELL:
        place = () if arguments[0] == "config" else ("--workspace", str(folder / "w"))
        done = shell(*arguments, *place)
        refused = done.returncode not in (0, 120) and b"Traceback" not in done.stderr
        yield Try(name=f"gateway-memory {' '.join(arguments)[:60]}", held=refused)
    async for each in odd_requests(folder / "served"):
        yield each
    async for each in hostile_servers():
        yield each


async def _held(call: Awaitable[object], *, never: bool = False) -> bool:
    """Return whether a call answered, or raised an error of ours. never: it raises nothing at all."""
    try:
        await call
    except GatewayMemoryError:
        return not never
    except Exception:  # noqa: BLE001 - which is what is looked for
        return False
    return True

"""A process that `attack_durability.py` treats badly: what it was promised, it prints, a line each.

python attacked_gateway.py speak FOLDER     accepts turns until it is killed, and prints the number of each
python attacked_gateway.py append FILE N    appends N lines to a file as an agent's own tool does, one each 3 ms
python attacked_gateway.py full FOLDER      makes every call on a full disk, and prints what was no error of ours
"""

import asyncio
import resource
import sys
import time
from pathlib import Path

import structlog
from attacks import PEOPLE, config

from gateway_memory import GatewayMemory, GatewayMemoryError


async def speak(folder: Path) -> None:
    async with GatewayMemory(config(), folder) as memory:
        session = await memory.start_session("agent:main:chat", **PEOPLE["owner"])
        for number in range(100_000):
            said = f"Remember that crate number {number:05d} holds {number * 7919 % 99991:05d} apples"
            await memory.after_reply(session, user=said, reply="OK")
            print(number, flush=True)


def append(file: Path, lines: int) -> None:
    for number in range(lines):
        with file.open("a", encoding="utf-8") as stream:
            stream.write(f"- tool line {number:05d}\n")
        time.sleep(0.003)


async def full(folder: Path) -> None:
    async with GatewayMemory(config(), folder) as memory:
        session = await memory.start_session("agent:main:chat", **PEOPLE["owner"])
        await memory.save_fact(session, content="The cat is called Tigger")
        sizes = [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
        resource.setrlimit(resource.RLIMIT_FSIZE, (min(sizes), resource.RLIM_INFINITY))
        calls = {
            "start_session": lambda: memory.start_session("agent:main:other", **PEOPLE["owner"]),
            "before_reply": lambda: memory.before_reply(session, "what is the cat called?"),
            "after_reply": lambda: memory.after_reply(session, user="Remember that I like tea", reply="OK"),
            "flush": memory.flush,
            "search": lambda: memory.search(session, "cat"),
            "observe": lambda: memory.observe(session, kind="tool", content="exit 0"),
            "save_fact": lambda: memory.save_fact(session, content="The dog is called Rex"),
            "save_summary": lambda: memory.save_summary(session, topic="pets", summary="a cat and a dog"),
            "before_compaction": lambda: memory.before_compaction(session, usage=90, messages=9),
            "stop": lambda: memory.stop(session, "completed"),
            "/memory forget": lambda: memory.command(session, "/memory forget The cat is called Tigger"),
            "/memory undo": lambda: memory.command(session, "/memory undo"),
            "/memory off": lambda: memory.command(session, "/memory off notify"),
            "/memory status": lambda: memory.command(session, "/memory status"),
            "distill": lambda: memory.distill(session),
            "receipts": lambda: memory.receipts(limit=5),
            "session_counts": memory.session_counts,
            "file_written": lambda: memory.file_written(session, "MEMORY.md"),
            "end_session": lambda: memory.end_session(session, reason="completed"),
        }
        for name, call in calls.items():
            try:
                await call()  # type: ignore[no-untyped-call]
            except GatewayMemoryError:
                print(f"{name} ok", flush=True)
            except Exception as error:  # noqa: BLE001 - which is what is looked for
                print(f"{name} {type(error).__name__}", flush=True)
            else:
                print(f"{name} ok", flush=True)
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        later = await memory.start_session("agent:main:later", **PEOPLE["owner"])
        await memory.save_fact(later, content="The fish is called Nemo")
        found = await memory.search(later, "what is the fish called?")
        print(f"after-it {'ok' if any('Nemo' in hit.text for hit in found) else 'lost'}", flush=True)


if __name__ == "__main__":
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    if sys.argv[1] == "append":
        append(Path(sys.argv[2]), int(sys.argv[3]))
    else:
        asyncio.run({"speak": speak, "full": full}[sys.argv[1]](Path(sys.argv[2])))

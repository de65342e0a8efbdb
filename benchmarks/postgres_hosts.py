"""What many hosts on PostgreSQL cost, beside one host on files, in one run.

    python benchmarks/postgres_hosts.py [--dsn DSN] [--scopes 20] [--replies 100] [--turns 2000] [--hosts 4]

Prints before_reply (p50, p95) in scopes of 50 and of 1,000 memories, resident and cold; how many turns a second are
accepted, and worked off by several hosts, each a process of its own, in many scopes and in one; what a host then holds
in memory; how long after the end of a turn's processing on one host a session on another one has heard of it; how many
statements and milliseconds of the server a turn costs at 1, 4 and 12 hosts, each with another person, and how many
statements a second an idle host makes. --only-cost: the last two alone.
Without --dsn a server is started with its usual settings, fsync included. The machine is noisy: compare the ratios.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import AsyncExitStack
from pathlib import Path
from statistics import median, quantiles
from typing import Literal

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests" / "programs"))

import psycopg  # noqa: E402
from postgres import POSTGRES, Postgres, app_of, migrated  # noqa: E402

from gateway_memory import OWNER, Config, GatewayMemory  # noqa: E402
from gateway_memory.config.settings import MemorySync, OpeningSettings, StoreSettings  # noqa: E402
from gateway_memory.scope import resolve_scope  # noqa: E402
from recall import EmbedderSettings, RecallSettings  # noqa: E402

SIZES = (50, 1000)
SETTINGS = {"shared_preload_libraries": "pg_stat_statements"}
BESIDE = (1, 4, 12)
IDLE_SECONDS = 20
COSTED_TURNS = 60
QUESTION = "which colour does box {number} have, and who repainted it?"


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--dsn", help="of a server (default: one is started)")
    parser.add_argument("--scopes", type=int, default=20, help="of each size (default: %(default)s)")
    parser.add_argument("--replies", type=int, default=100, help="of each kind (default: %(default)s)")
    parser.add_argument("--turns", type=int, default=2000, help="over all hosts (default: %(default)s)")
    parser.add_argument("--hosts", type=int, default=4, help="that accept and work (default: %(default)s)")
    parser.add_argument(
        "--host", nargs=6, metavar=("SCHEMA", "ENCODER", "NAME", "TURNS", "FOLDER", "USER"), help=argparse.SUPPRESS
    )
    parser.add_argument("--only-cost", action="store_true", help="measure only what a turn costs beside other hosts")
    args = parser.parse_args()
    if args.host:
        schema, provider, name, turns, folder, user = args.host
        asyncio.run(one_host(settings(schema, provider), name, int(turns), Path(folder), user))
        return 0
    server = None if args.dsn else Postgres(next(iter(POSTGRES.values())), fsync=True, settings=SETTINGS)
    dsn = args.dsn or (server.dsn if server else "")
    os.environ["GATEWAY_MEMORY_DSN"] = app_of(dsn)
    try:
        if server:
            cost(dsn)
        if not args.only_cost:
            measure(args, dsn)
    finally:
        if server:
            server.remove()
    return 0


def measure(args: argparse.Namespace, dsn: str) -> None:
    """Print all figures."""
    with tempfile.TemporaryDirectory() as folder, migrated(dsn) as schema:
        files = asyncio.run(replies(Config(defaults=settings(None)), Path(folder) / "files", args))
        rows = asyncio.run(replies(Config(defaults=settings(schema)), Path(folder) / "rows", args))
        print("before_reply, ms            files p50    p95   postgres p50    p95   ratio of p50")
        for what, times in files.items():
            beside = rows[what]
            print(
                f"{what:<26} {median(times):10.1f} {p95(times):6.1f} {median(beside):14.1f} {p95(beside):6.1f} "
                f"{median(beside) / median(times):12.2f}"
            )
    with tempfile.TemporaryDirectory() as folder, migrated(dsn) as schema:
        heard = asyncio.run(told(Config(defaults=settings(schema)), Path(folder)))
        print(f"heard by the other host after the commit, ms: p50 {median(heard):.0f}, p95 {p95(heard):.0f}")
    for provider, user in (("bundled", ""), ("none", ""), ("none", "hot")):
        with tempfile.TemporaryDirectory() as folder, migrated(dsn) as schema:
            throughput(args, schema, Path(folder), provider, user)


def cost(dsn: str) -> None:
    """Print what a turn costs the server beside several hosts, and what a host costs that does nothing."""
    with psycopg.connect(dsn, autocommit=True) as owner:
        owner.execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
        print("hosts   statements a turn   ms of the server a turn   statements a second of an idle host")
        for number in BESIDE:
            with tempfile.TemporaryDirectory() as folder, migrated(dsn) as schema:
                turn, milliseconds, idle = asyncio.run(one_cost(owner, settings(schema, "none"), Path(folder), number))
                print(f"{number:5} {turn:19.1f} {milliseconds:25.2f} {idle:36.2f}")


async def one_cost(
    owner: "psycopg.Connection[tuple[object, ...]]", defaults: MemorySync, folder: Path, hosts: int
) -> tuple[float, float, float]:
    """Return statements and milliseconds of a turn on one of the hosts, and statements a second of an idle one."""

    def reset() -> float:
        owner.execute("SELECT pg_stat_statements_reset()")
        return time.monotonic()

    def taken() -> tuple[float, float]:
        query = (
            "SELECT sum(calls), sum(total_exec_time) FROM pg_stat_statements s JOIN pg_roles r ON r.oid = s.userid "
            "WHERE rolname = 'gateway_memory_app'"
        )
        calls, milliseconds = owner.execute(query).fetchone() or (0, 0)
        return float(str(calls or 0)), float(str(milliseconds or 0))

    async with AsyncExitStack() as stack:
        memories = [
            await stack.enter_async_context(GatewayMemory(Config(defaults=defaults), folder / str(number)))
            for number in range(hosts)
        ]
        sessions = [await memory.start_session("chat", user=f"u{at}") for at, memory in enumerate(memories)]
        memory, session = memories[0], sessions[0]

        async def turn(number: int) -> None:
            await memory.before_reply(session, QUESTION.format(number=number))
            said = f"Remember that door {number} opens with {7919 * number}."
            await memory.after_reply(session, user=said, reply="OK")
            await memory.flush()

        for number in range(1, 11):
            await turn(number)
        await asyncio.sleep(2)
        began = reset()
        await asyncio.sleep(IDLE_SECONDS)
        idle = taken()[0] / (time.monotonic() - began) / hosts
        reset()
        for number in range(11, 11 + COSTED_TURNS):
            await turn(number)
        await asyncio.sleep(1)  # the others have heard
        calls, milliseconds = taken()
        return calls / COSTED_TURNS, milliseconds / COSTED_TURNS, idle


def settings(schema: str | None, provider: Literal["bundled", "none"] = "bundled") -> MemorySync:
    """Return the settings for files, or for a schema; provider: of vectors."""
    recall = RecallSettings(embedder=EmbedderSettings(provider=provider))
    store = StoreSettings(backend="postgres", schema=schema) if schema else StoreSettings()
    return MemorySync(store=store, auto_recall=recall, opening=OpeningSettings(enabled=False))


async def replies(config: Config, folder: Path, args: argparse.Namespace) -> dict[str, list[float]]:
    """Return the milliseconds of replies, by size and kind."""
    times: dict[str, list[float]] = {}
    lines = [
        f"- Box {number} is {('red', 'green', 'blue')[number % 3]} since {number} May." for number in range(max(SIZES))
    ]
    async with GatewayMemory(config, folder) as memory:
        storage = memory._opened().storage  # noqa: SLF001 - a scope is filled at once
        for size in SIZES:
            for number in range(args.scopes):
                scope = resolve_scope(user=f"p{size}x{number}", room=None)
                async with storage.documents.writing(scope):
                    await storage.documents.create(scope, "MEMORY.md", "# Memory\n\n" + "\n".join(lines[:size]) + "\n")
                await storage.follower.refresh(scope)
        await storage.recaller.embedded()
    async with GatewayMemory(config, folder) as memory:
        warmed = await memory.start_session("warm", user=OWNER)
        await memory.search(warmed, "hello")  # the encoder is loaded
        for size in SIZES:
            cold, resident = times.setdefault(f"{size} memories, cold", []), times.setdefault(f"{size}, resident", [])
            sessions = [
                await memory.start_session(f"s{size}x{number}", user=f"p{size}x{number}")
                for number in range(args.scopes)
            ]
            for number, session in enumerate(sessions):
                cold.append(await timed(memory.before_reply(session, QUESTION.format(number=number))))
            for number in range(args.replies):
                session = sessions[number % len(sessions)]
                resident.append(await timed(memory.before_reply(session, QUESTION.format(number=100 + number))))
    return times


async def timed(call: "asyncio.Future[object] | object") -> float:
    """Return how many milliseconds a call takes."""
    began = time.perf_counter()
    await call  # type: ignore[misc]
    return 1000 * (time.perf_counter() - began)


async def told(config: Config, folder: Path) -> list[float]:
    """Return how many milliseconds after a commit on one host a session on another one has heard."""
    waits = []
    async with GatewayMemory(config, folder / "here") as here, GatewayMemory(config, folder / "there") as there:
        speaker = await here.start_session("speaker", user=OWNER)
        listener = await there.start_session("listener", user=OWNER)
        for number in range(40):
            await here.after_reply(speaker, user=f"Remember that door {number} opens with {7919 * number}.", reply="OK")
            await here.flush()
            began = time.perf_counter()
            while not len(listener.pending.inbox):  # noqa: ASYNC110 - what is measured is when it is there
                await asyncio.sleep(0.001)
            waits.append(1000 * (time.perf_counter() - began))
            listener.pending.inbox.take()
    return waits


def throughput(args: argparse.Namespace, schema: str, folder: Path, provider: str, user: str) -> None:
    """Let several processes accept turns and work them off, and print how fast. user: whose all turns are; "": many."""
    each = args.turns // args.hosts
    command = [sys.executable, __file__, "--host", schema, provider]
    hosts = [
        subprocess.Popen(  # noqa: S603 - our own program
            [*command, str(number), str(each), str(folder / str(number)), user],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for number in range(args.hosts)
    ]  # fmt: skip
    for _ in ("accept", "work off"):  # together, when all are ready
        for host in hosts:
            assert host.stdout
            host.stdout.readline()
        for host in hosts:
            assert host.stdin
            host.stdin.write("go\n")
            host.stdin.flush()
    found = [json.loads(host.communicate()[0]) for host in hosts]
    turns = each * len(hosts)
    rates = f"accepted {turns / max(one['accepting'] for one in found):.0f}/s, "
    rates += f"worked off {turns / max(one['working'] for one in found):.0f}/s"
    held = max(one["held"] for one in found) / 1e6
    scopes = "one scope" if user else f"{20 * len(hosts)} scopes"
    what = f"{len(hosts)} hosts, encoder {provider}, {each * len(hosts)} turns of {scopes}"
    print(f"{what}: {rates}; a host holds {held:.0f} MB")


async def one_host(defaults: MemorySync, name: str, turns: int, folder: Path, user: str) -> None:
    """Accept turns of twenty sessions as fast as they are taken, then work them off, each when told to; print times."""
    async with GatewayMemory(Config(defaults=defaults), folder) as memory:
        sessions = [
            await memory.start_session(f"{name}x{number}", user=user or f"u{name}x{number}") for number in range(20)
        ]

        async def talk(number: int) -> None:
            for turn in range(turns // len(sessions)):
                text = f"Please look at ticket {turn}, the one about the door."
                await memory.after_reply(sessions[number], user=text, reply="I will.")

        times = {}
        # Both are measured alone: turns wait while they are accepted.
        async with memory._opened().processor._plan_lock:  # noqa: SLF001
            await told_to_go()
            began = time.perf_counter()
            await asyncio.gather(*(talk(number) for number in range(len(sessions))))
            times["accepting"] = time.perf_counter() - began
            await told_to_go()
            began = time.perf_counter()
        await memory.flush()
        print(json.dumps({**times, "working": time.perf_counter() - began, "held": held()}))


async def told_to_go() -> None:
    """Say that this host is ready, and wait for the others."""
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)


def held() -> int:
    """Return how many bytes of memory this process has."""
    return int(Path("/proc/self/statm").read_text("utf-8").split()[1]) * os.sysconf("SC_PAGE_SIZE")


def p95(times: list[float]) -> float:
    """Return the 95th percentile."""
    return quantiles(times, n=20)[-1]


if __name__ == "__main__":
    raise SystemExit(main())

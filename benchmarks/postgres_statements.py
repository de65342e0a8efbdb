"""Which statements PostgreSQL is asked, how often for an exchange, and what an exchange takes on its disk.

    python benchmarks/postgres_statements.py [--people 40] [--turns 50] [--user 200] [--reply 600]

One host, with the encoder, tells each of some people's sessions a number of messages: before_reply, after_reply, and
the work behind them. Prints the statements by frequency from pg_stat_statements, as rows of Markdown, and the size of
each table for an exchange once everything is worked off and vacuumed. The server is started for it, with fsync.
"""

import argparse
import asyncio
import os
import re
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests" / "programs")]

import psycopg  # noqa: E402
from corpus import Writer  # noqa: E402
from patience import until  # noqa: E402
from postgres import POSTGRES, Postgres, app_of, migrated  # noqa: E402

from gateway_memory import Config, GatewayMemory, Session  # noqa: E402
from gateway_memory.config.settings import MemorySync, StoreSettings  # noqa: E402

_SHOWN: Final = 25
_LONGEST: Final = 110
_LONGEST_SECONDS: Final = 600.0
_SETTINGS: Final = {"shared_preload_libraries": "pg_stat_statements", "shared_buffers": "256MB"}
_SMALL: Final = 0.005
_MEMORY_EVERY: Final = 10
"""One of so many messages asks to remember something."""


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--people", type=int, default=40, help="each with a session (default: %(default)s)")
    parser.add_argument("--turns", type=int, default=50, help="of each session (default: %(default)s)")
    parser.add_argument("--user", type=int, default=200, help="characters of a message (default: %(default)s)")
    parser.add_argument("--reply", type=int, default=600, help="characters of a reply (default: %(default)s)")
    args = parser.parse_args()
    with ExitStack() as stack:
        server = Postgres(next(iter(POSTGRES.values())), fsync=True, settings=_SETTINGS)
        stack.callback(server.remove)
        os.environ["GATEWAY_MEMORY_DSN"] = app_of(server.dsn)
        schema = stack.enter_context(migrated(server.dsn))
        owner = stack.enter_context(
            psycopg.connect(server.dsn, autocommit=True, options=f"-csearch_path={schema},public")
        )
        owner.execute("CREATE EXTENSION pg_stat_statements SCHEMA public")
        empty = sizes(owner)
        asyncio.run(talk(args, schema, owner))
        exchanges = args.people * args.turns
        print_statements(owner, exchanges)
        owner.execute("VACUUM ANALYZE")
        print_sizes(sizes(owner), empty, exchanges, args.user + args.reply)
    return 0


async def talk(args: argparse.Namespace, schema: str, owner: psycopg.Connection[Any]) -> None:
    """Let all people talk at once, and wait until everything is worked off."""
    config = Config(defaults=MemorySync(store=StoreSettings(backend="postgres", schema=schema)))
    writer = Writer(1)
    with tempfile.TemporaryDirectory() as folder:
        async with GatewayMemory(config, Path(folder)) as memory:
            sessions = [await memory.start_session(f"chat {n}", user=f"person{n}") for n in range(args.people)]
            owner.execute("SELECT pg_stat_statements_reset()")
            started = time.monotonic()

            async def converse(session: Session) -> None:
                for number in range(args.turns):
                    user, reply = writer.message(args.user), writer.message(args.reply)
                    if number % _MEMORY_EVERY == 0:
                        user = f"Remember that {writer.memory()}. {user}"[: args.user]
                    await memory.before_reply(session, user)
                    await memory.after_reply(session, user=user, reply=reply)

            await asyncio.gather(*map(converse, sessions))
            await memory.flush()
            pending = 'SELECT EXISTS (SELECT 1 FROM "row" WHERE embedded = 0)'
            await until(lambda: owner.execute(pending).fetchone() == (False,), quiet=_LONGEST_SECONDS)
            seconds = time.monotonic() - started
    print(f"{args.people * args.turns} exchanges of {args.people} people in {seconds:.0f} s\n")


def print_statements(owner: psycopg.Connection[Any], exchanges: int) -> None:
    """Print what was asked most often."""
    query = (
        "SELECT query, sum(calls)::bigint, sum(total_exec_time), sum(rows)::bigint FROM pg_stat_statements s "
        "JOIN pg_roles r ON r.oid = s.userid WHERE rolname = 'gateway_memory_app' GROUP BY query ORDER BY 2 DESC"
    )
    rows = owner.execute(query).fetchall()
    total = sum(row[2] for row in rows)
    print(f"{len(rows)} statements, {total / exchanges:.2f} ms of the server for an exchange\n")
    print("| for an exchange | ms each | % of the time | rows each | statement |\n|---|---|---|---|---|")
    for text, calls, spent, found in rows[:_SHOWN]:
        told = re.sub(r"\s+", " ", text).strip().replace("|", "\\|")
        told = told if len(told) <= _LONGEST else f"{told[:_LONGEST]}…"
        print(
            f"| {calls / exchanges:.2f} | {spent / calls:.3f} | {100 * spent / total:.1f} | {found / calls:.1f} "
            f"| `{told}` |"
        )


def sizes(owner: psycopg.Connection[Any]) -> dict[str, int]:
    """Return the bytes of each table with its indexes; partitions count as their table."""
    query = (
        "SELECT coalesce(p.relname, c.relname), sum(pg_total_relation_size(c.oid)) FROM pg_class c "
        "LEFT JOIN pg_inherits i ON i.inhrelid = c.oid LEFT JOIN pg_class p ON p.oid = i.inhparent "
        "WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' GROUP BY 1"
    )
    return {str(name): int(size) for name, size in owner.execute(query).fetchall()}


def print_sizes(after: dict[str, int], before: dict[str, int], exchanges: int, text: int) -> None:
    """Print what an exchange takes, by table."""
    grown = {name: (size - before[name]) / exchanges for name, size in after.items()}
    total = sum(grown.values())
    print(f"\n{total / 1000:.1f} KB for an exchange with {text} characters of text\n")
    print("| table | KB for an exchange |\n|---|---|")
    for name, size in sorted(grown.items(), key=lambda item: -item[1]):
        if size > _SMALL * total:
            print(f"| `{name}` | {size / 1000:.2f} |")


if __name__ == "__main__":
    sys.exit(main())

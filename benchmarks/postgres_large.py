"""What a large memory in PostgreSQL costs: more than a million rows, a scope of 100,000, and the load of fifty hosts.

    python benchmarks/postgres_large.py [--dsn DSN] [--people 10000] [--talkers 500] [--lines 100000] [--hosts 50]

People have 50 memories each, talkers 1,000, and one scope has all the lines. The rows of two templates are copied by
SQL, so that a run takes minutes; vectors are those of the bundled encoder. Prints the size of each table, before_reply
in scopes of each size (cold and resident, p50 and p95) with the large scope in memory and, where the server has
pgvector, searched in the database, in how many of 200 questions the line that answers is among the first five, what the
hosts then hold in memory, and what the server takes by pgbench of so many hosts, each waiting for its statement: turns
accepted and recorded, and looks before a reply.
"""

import argparse
import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from statistics import median, quantiles
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests" / "programs"))

import psycopg  # noqa: E402
from postgres import POSTGRES, Postgres, app_of, migrated  # noqa: E402
from postgres_hosts import held, settings, timed  # noqa: E402

from gateway_memory import Config, GatewayMemory  # noqa: E402
from gateway_memory.scope import Scope, resolve_scope  # noqa: E402

FIELDS = (
    "added, revision, file, id, text, at, kind, type, category, importance, confidence, session, heading, speaker, "
    "reply, until, turn, traits, speaker_term, length, terms, embedded"
)
ASKED = "which colour does box {number} have, and who repainted it?"
RECORD = """
\\set scope random(1, 10000)
BEGIN;
SELECT set_config('gateway_memory.scopes', '{*}', true);
SELECT pg_advisory_xact_lock(hashtextextended('session ' || :scope, 0));
SELECT slot FROM turns WHERE session_id = 's' || :scope AND slot >= 0 ORDER BY id LIMIT 1;
INSERT INTO turns (scope, session_key, session_id, "user", reply, at, accepted_at, slot) VALUES
    ('user:b' || :scope, 'k', 's' || :scope, repeat('said ', 30), repeat('told ', 60), 1, 1, :client_id)
    RETURNING id \\gset
INSERT INTO replies (turn, scope, session_id, at, recalled, turn_id) VALUES
    (:id, 'user:b' || :scope, 's' || :scope, 1, '[]', md5(random()::text));
COMMIT;
BEGIN;
SELECT set_config('gateway_memory.scopes', '{*}', true);
SELECT pg_advisory_xact_lock(hashtextextended('user:b' || :scope, 0));
INSERT INTO episodes SELECT id, scope, session_key, session_id, "user", reply, at FROM turns WHERE id = :id;
INSERT INTO episode_pages VALUES ('user:b' || :scope, :id / 64, 't')
    ON CONFLICT (scope, page) DO UPDATE SET token = 'u';
INSERT INTO receipts (scope, session_key, stage, turns, outcome, at) VALUES
    ('user:b' || :scope, 'k', 'rules', '[1]', '[]', 1);
DELETE FROM turns WHERE id = :id;
COMMIT;
"""
LOOK = """
\\set scope random(1, 10000)
BEGIN;
SELECT set_config('gateway_memory.scopes', '{*}', true);
SELECT name, saved, octet_length(content) FROM documents WHERE folder = 'people/c' || :scope;
COMMIT;
SELECT key, value FROM meta;
SELECT revision, forgotten FROM scope WHERE key = 'user:c' || :scope;
"""


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--dsn", help="of a server, as one who may make roles (default: one is started)")
    parser.add_argument("--people", type=int, default=10_000, help="with 50 memories (default: %(default)s)")
    parser.add_argument("--talkers", type=int, default=500, help="with 1,000 memories (default: %(default)s)")
    parser.add_argument("--lines", type=int, default=100_000, help="of one scope (default: %(default)s)")
    parser.add_argument("--hosts", type=int, default=50, help="simulated by pgbench (default: %(default)s)")
    args = parser.parse_args()
    server = None if args.dsn else Postgres(next(iter(POSTGRES.values())), fsync=True)
    dsn = args.dsn or (server.dsn if server else "")
    os.environ["GATEWAY_MEMORY_DSN"] = app_of(dsn)
    has_pgvector = made_pgvector(dsn)
    try:
        with tempfile.TemporaryDirectory() as folder, migrated(dsn) as schema:
            config = Config(defaults=settings(schema))
            whole = with_large(config, 1_000_000_000)
            asyncio.run(templates(whole, Path(folder), args))
            with psycopg.connect(dsn, autocommit=True, options=f"-csearch_path={schema}") as connection:
                copy(connection, template("small"), [f"c{number}" for number in range(args.people)])
                copy(connection, template("middle"), [f"t{number}" for number in range(args.talkers)])
                connection.execute("ANALYZE")
                sizes(connection)
            asyncio.run(replies(whole, Path(folder), args))
            if has_pgvector:
                asyncio.run(replies_from_database(with_large(config, args.lines), Path(folder), args))
            simulate(dsn, schema, args.hosts)
    finally:
        if server:
            server.remove()
    return 0


def made_pgvector(dsn: str) -> bool:
    """Install pgvector into the database, where the server has it."""
    with psycopg.connect(dsn, autocommit=True) as connection, suppress(psycopg.Error):
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        return True
    return False


def with_large(config: Config, rows: int) -> Config:
    """Return a config in which scopes of so many rows are searched in the database."""
    store = replace(config.defaults.store, large_scope_rows=rows)
    return replace(config, defaults=replace(config.defaults, store=store))


def template(name: str) -> Scope:
    """Return the scope of a person."""
    return resolve_scope(user=name, room=None)


async def templates(config: Config, folder: Path, args: argparse.Namespace) -> None:
    """Fill the scopes that are copied, and the large one."""
    async with GatewayMemory(config, folder / "filling") as memory:
        storage = memory._opened().storage  # noqa: SLF001 - whole scopes are filled at once
        for name, number in (("small", 50), ("middle", 1000), ("large", args.lines)):
            scope = template(name)
            async with storage.documents.writing(scope):
                for start in range(0, number, 1000):
                    lines = [line(each) for each in range(start, min(start + 1000, number))]
                    text = "# Log\n\n" + "\n".join(lines) + "\n"
                    await storage.documents.create(scope, f"memory/log-{start // 1000:04}.md", text)
            began = time.perf_counter()
            await storage.follower.refresh(scope)
            indexed = time.perf_counter() - began
            await storage.recaller.embedded()
            took = time.perf_counter() - began
            print(f"{number} rows of one scope: indexed in {indexed:.1f} s, with vectors in {took:.1f} s")


def line(number: int) -> str:
    """Return a memory."""
    who = ("Anna", "Ben", "Chen Wei", "Dora", "Emil", "Fatima", "Gu Li")[number % 7]
    colour = ("red", "green", "blue", "grey", "white")[number % 5]
    return f"- Box {number} in hall {number % 83} is {colour} since day {number % 365}; {who} repainted it."


def copy(connection: psycopg.Connection[Any], source: Scope, names: list[str]) -> None:
    """Give these people what another one has."""
    scopes = [template(name) for name in names]
    keys = [scope.key for scope in scopes]
    connection.execute("INSERT INTO scope (key, revision) SELECT unnest(%s::text[]), 2", (keys,))
    connection.execute(
        "INSERT INTO documents SELECT n, name, content, saved FROM documents, unnest(%s::text[]) n WHERE folder = %s",
        ([scope.folder for scope in scopes], source.folder),
    )
    new = "unnest(%s::text[]) AS n(key) ON TRUE"
    connection.execute(
        f"INSERT INTO file SELECT n.key, name, mtime_ns, size, digest FROM file f JOIN {new} WHERE f.scope = %s",
        (keys, source.key),
    )
    listed = ", ".join(f"r.{name.strip()}" for name in FIELDS.split(","))
    connection.execute(
        f'INSERT INTO "row" (scope, {FIELDS}) SELECT n.key, {listed} FROM "row" r JOIN {new} WHERE r.scope = %s',
        (keys, source.key),
    )
    connection.execute(
        'INSERT INTO vector SELECT r.sequence, r.scope, r.revision, v.vector FROM "row" r '
        'JOIN "row" t ON t.scope = %s AND t.id = r.id JOIN vector v ON v.scope = t.scope AND v.sequence = t.sequence '
        "WHERE r.scope = ANY(%s)",
        (source.key, keys),
    )


def sizes(connection: psycopg.Connection[Any]) -> None:
    """Print how large the tables are."""
    query = (
        "SELECT relname, reltuples::bigint, pg_total_relation_size(oid) FROM pg_class WHERE relkind = 'r' AND "
        "relnamespace = current_schema()::regnamespace AND reltuples > 5000 ORDER BY 3 DESC"
    )
    for name, rows, size in connection.execute(query):
        print(f"{name}: {rows:,} rows, {size / 1e6:,.0f} MB, {size / rows:,.0f} bytes a row")


async def replies(config: Config, folder: Path, args: argparse.Namespace) -> None:
    """Print how long replies take, and how often they hold what answers."""
    groups = [
        (50, [f"c{number * (args.people // 50)}" for number in range(50)]),
        (1000, [f"t{number * (args.talkers // 50)}" for number in range(50)]),
        (args.lines, ["large"]),
    ]
    async with GatewayMemory(config, folder / "host") as memory:
        for size, names in groups:
            print(f"{await timed_replies(memory, names, size)}, in memory")
        print(f"with {await answered(memory, args.lines)}; the host holds {held() / 1e6:.0f} MB")


async def replies_from_database(config: Config, folder: Path, args: argparse.Namespace) -> None:
    """Print the same of the large scope, once it is searched in the database."""
    began = time.perf_counter()
    async with GatewayMemory(config, folder / "other") as memory:
        before = held()
        session = await memory.start_session("builder", user="large")
        rows = memory._opened().storage.recaller._threads[0]  # noqa: SLF001 - no call tells where a scope is searched
        while await rows.run(lambda index: index.rows.large(template("large").key, args.lines)) is None:
            await memory.before_reply(session, ASKED.format(number=8))
            await asyncio.sleep(0.2)
        print(f"the tables for a search of {args.lines} rows are made in {time.perf_counter() - began:.0f} s")
    async with GatewayMemory(config, folder / "third") as memory:
        print(f"{await timed_replies(memory, ['large'], args.lines)}, searched in the database")
        told = await answered(memory, args.lines)
        print(f"with {told}; the host holds {held() / 1e6:.0f} MB ({before / 1e6:.0f} before)")


async def timed_replies(memory: GatewayMemory, names: list[str], size: int) -> str:
    """Return how long replies take in scopes of a size."""
    warmed = await memory.start_session("warm", user="nobody")
    await memory.search(warmed, "hello")  # the encoder is loaded
    sessions = [await memory.start_session(f"of {name}", user=name) for name in names]
    cold = [await timed(memory.before_reply(session, ASKED.format(number=7))) for session in sessions]
    if len(names) == 1:  # it may be loaded behind a reply that did not wait for it
        while (await memory.before_reply(sessions[0], ASKED.format(number=8))).outcome in (  # noqa: ASYNC110
            "partial",
            "timeout",
        ):
            await asyncio.sleep(0.1)
    resident = [
        await timed(memory.before_reply(sessions[number % len(sessions)], ASKED.format(number=number)))
        for number in range(100)
    ]
    told = f"before_reply, {size} rows: cold p50 {median(cold):.1f} ms"
    return f"{told}; resident p50 {median(resident):.1f} ms, p95 {quantiles(resident, n=20)[-1]:.1f} ms"


async def answered(memory: GatewayMemory, lines: int) -> str:
    """Return for how many questions the line that answers is among the first five."""
    session = await memory.start_session("questions", user="large")
    right = 0
    for number in range(0, lines, max(lines // 200, 1)):
        found = await memory.search(session, ASKED.format(number=number), limit=5)
        right += any(hit.text.startswith(f"Box {number} in ") for hit in found)
    return f"{right} of 200 questions answered among the first five"


def simulate(dsn: str, schema: str, hosts: int) -> None:
    """Let pgbench do what so many hosts do."""
    found = shutil.which("pgbench") or next(map(str, sorted(Path("/usr/lib/postgresql").glob("*/bin/pgbench"))), "")
    if not found:
        print("there is no pgbench, so no hosts are simulated")
        return
    with tempfile.TemporaryDirectory() as name:
        for what, script in (("looks before a reply", LOOK), ("turns accepted and recorded", RECORD)):
            path = Path(name) / "script.sql"
            path.write_text(script)
            command = [found, "-n", "-c", str(hosts), "-j", "1", "-T", "20", "-f", str(path), app_of(dsn)]
            environment = os.environ | {"PGOPTIONS": f"-csearch_path={schema}"}
            done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)  # noqa: S603
            told = [each for each in done.stdout.splitlines() if each.startswith(("tps", "latency average"))]
            print(f"{hosts} hosts by pgbench, {what}: {'; '.join(told)}")


if __name__ == "__main__":
    raise SystemExit(main())

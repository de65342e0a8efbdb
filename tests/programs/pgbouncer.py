"""A PgBouncer of a test's own before a PostgreSQL server, in transaction mode. It refuses to run as root."""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from mosquitto import free_port
from patience import seconds
from psycopg.conninfo import conninfo_to_dict, make_conninfo

PGBOUNCER = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
_NOBODY = 65534


@contextmanager
def pooled(dsn: str, *, connections: int) -> Iterator[str]:
    """Yield the DSN of a pooler that lends so many connections, each for one transaction."""
    assert PGBOUNCER is not None
    told, port = conninfo_to_dict(dsn), free_port()
    with tempfile.TemporaryDirectory(prefix="gm-pooler-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        users = folder / "users.txt"
        users.write_text(f'"{told["user"]}" ""\n')
        lines = [
            "[databases]",
            f"{told['dbname']} = host={told['host']} port={told['port']}",
            "[pgbouncer]",
            "listen_addr = 127.0.0.1",
            f"listen_port = {port}",
            "unix_socket_dir =",
            "auth_type = trust",
            f"auth_file = {users}",
            "pool_mode = transaction",
            f"default_pool_size = {connections}",
        ]
        (folder / "pgbouncer.ini").write_text("\n".join(lines) + "\n")
        user = _NOBODY if os.geteuid() == 0 else None
        process = subprocess.Popen(
            [PGBOUNCER, str(folder / "pgbouncer.ini")],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            user=user,
            group=user,
        )
        there = make_conninfo(dsn, port=port)
        try:
            _wait(there)
            yield there
        finally:
            process.kill()
            process.wait()


def _wait(dsn: str) -> None:
    until = time.monotonic() + seconds(30)
    while True:
        try:
            psycopg.connect(dsn, connect_timeout=2).close()
        except psycopg.OperationalError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)
        else:
            return

"""What holds for every test: no key of this machine's owner is used, and no call leaves the machine."""

import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
from hypothesis import HealthCheck, settings
from patience import VARIABLE, measured
from postgres import KINDS, POSTGRES, AsPostgres, Postgres, app_of, migrated
from thorough import THOROUGH

from recall.encoding.encoder import bundled_encoder

# Examples have no deadline, since a slow or shared machine is no defect; what must be fast has its benchmark. The usual
# run tries the same examples each time, so that it fails for a change alone.
settings.register_profile(
    "usual", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True, database=None
)
settings.register_profile("thorough", settings.get_profile("usual"), derandomize=False, max_examples=2000)
settings.register_profile("quick", settings.get_profile("usual"), max_examples=10)
settings.load_profile("thorough" if THOROUGH else "usual")

PROVIDER_VARIABLES = (
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_BASE_URL",
)


def pytest_configure() -> None:
    """Measure the machine once for a run; the processes that share its tests inherit the scale, and speak English."""
    os.environ["LC_ALL"] = "C.UTF-8"
    os.environ.setdefault(VARIABLE, f"{measured():.1f}")


def pytest_report_header() -> str:
    return f"patience: {os.environ[VARIABLE]} times that of a quiet machine ({VARIABLE})"


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PROVIDER_VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(autouse=True)
def _logging_as_it_comes() -> Iterator[None]:
    """A command configures logging for its process; the next test starts without."""
    yield
    structlog.reset_defaults()


@pytest.fixture(autouse=True, scope="session")
def _one_encoder() -> Iterator[None]:
    """The memories of a process share the bundled encoder while one of them is open; here it stays for all tests."""
    encoder = bundled_encoder()
    yield
    encoder.close()


@pytest.fixture(autouse=True, scope="session")
def _loopback_only() -> Iterator[None]:
    """Refuse connections to anything but this machine, so that a test can't depend on the network unnoticed."""
    connect, connect_ex = socket.socket.connect, socket.socket.connect_ex

    def checked(address: Any) -> None:
        host = str(address[0]) if isinstance(address, tuple) else "localhost"  # otherwise a Unix socket's path
        if host not in {"::1", "localhost"} and not host.startswith("127."):
            raise PermissionError(f"a test wants to connect to {host}")

    def guarded_connect(self: socket.socket, address: Any) -> None:
        checked(address)
        connect(self, address)

    def guarded_connect_ex(self: socket.socket, address: Any) -> int:
        checked(address)
        return connect_ex(self, address)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", guarded_connect)
        patch.setattr(socket.socket, "connect_ex", guarded_connect_ex)
        yield


@pytest.fixture(autouse=True)
def on_postgres(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[AsPostgres | None]:
    """With GATEWAY_MEMORY_TEST_BACKEND=postgres, each workspace of a test is a schema: see `make test-postgres`."""
    kind = os.environ.get("GATEWAY_MEMORY_TEST_BACKEND", "").removeprefix("postgres").strip()
    if "GATEWAY_MEMORY_TEST_BACKEND" not in os.environ:
        yield None
        return
    dsn = request.getfixturevalue("postgres_dsn")(kind or KINDS[0])
    monkeypatch.setenv("GATEWAY_MEMORY_DSN", app_of(dsn))
    with AsPostgres(dsn) as instead:
        monkeypatch.setattr("gateway_memory.sync.storage.open_ports", instead.open_ports)
        monkeypatch.setattr("gateway_memory.store.disk.aside.has_memory", Path.is_dir)  # no file tells of a schema
        yield instead


@pytest.fixture(params=KINDS)
def dsn(request: pytest.FixtureRequest, postgres_dsn: Callable[[str], str]) -> str:
    """The DSN of a PostgreSQL server, of each kind that is there."""
    return postgres_dsn(request.param)


@pytest.fixture
def postgres_schema(dsn: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """An empty memory in PostgreSQL, which hosts of this process find: see `config_of`."""
    monkeypatch.setenv("GATEWAY_MEMORY_DSN", app_of(dsn))
    with migrated(dsn) as schema:
        yield schema


@pytest.fixture(scope="session")
def postgres_dsn() -> Iterator[Callable[[str], str]]:
    """Return the DSN of a server of a kind, which is started for the first test of the process that asks for it."""
    servers: dict[str, Postgres] = {}

    def dsn(kind: str) -> str:
        if kind == "given":
            return os.environ["GATEWAY_MEMORY_TEST_DSN"]
        if kind not in servers:
            servers[kind] = Postgres(POSTGRES[kind])
        return servers[kind].dsn

    yield dsn
    for server in servers.values():
        server.remove()

"""What all packages stand on: loggers, local times, the circuit breaker, access to servers, a database's calls.

Everything may import this, also `extractor`, `recall` and `notifier`, which import nothing else of ours but `tables`.
It imports nothing of ours, and at first next to nothing at all.
"""

import contextlib
import json
import logging
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, tzinfo
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from pydantic import TypeAdapter

T = TypeVar("T")

CATCH_UP_SECONDS: Final = 2.0
"""How long a call waits for what other work has still to do, before it goes on without."""
SERVER_BACKOFF_SECONDS: Final = 1.0
"""How long a database server that did not answer is left alone."""
_USUAL: Final = 0.9
"""The share of the characters of GB 2312 in a Chinese text. Bytes of another encoding read as GBK give rare ones."""
MARK: Final = "\ufeff"
"""The mark of the byte order, which is no part of a text."""
EVERY: Final = "*"
"""Named in the place of scopes by work that concerns all of them, such as a worker's. Row-level security knows it."""


def private_file(path: Path) -> None:
    """Make an empty file that this user alone can read, unless it is there. Raises OSError.

    A library then opens it by its name. SQLite gives its write-ahead log the mode of the database.
    """
    if not path.exists():  # to close a file ends every lock that this process has on it, SQLite's too
        with contextlib.suppress(FileExistsError):  # made meanwhile
            os.close(os.open(path.resolve(), os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))


def replace_private(path: Path, content: bytes) -> None:
    """Put a file that this user alone can read in the place of another, wholly or not at all. Raises OSError."""
    draft = path.with_name(f".{path.name}.{os.urandom(4).hex()}.tmp")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(descriptor)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def json_of(content: bytes | str) -> Any:
    """Return the value of a text of JSON, in UTF-8, 16 or 32, before which marks of the byte order may stand.

    Each shell through which a text goes on its way may put one there.

    Raises:
        ValueError, RecursionError: it is none.
    """
    text = content if isinstance(content, str) else content.decode(json.detect_encoding(content), "surrogatepass")
    return json.loads(text.lstrip(MARK))


def object_of(content: bytes | str) -> dict[str, Any]:
    """Return the object in a text of JSON; {} if there is none."""
    try:
        document = json_of(content)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def decoded(kind: type[T], raw: object) -> T:
    """Return a value of a dataclass from what `asdict` and JSON made of one.

    A field that is missing has its default, and one that is unknown is left out: another version wrote it.

    Raises:
        ValueError: it is a value of another shape.
    """
    value: T = _adapter(kind).validate_python(raw)  # type: ignore[arg-type]  # mypy: a type is not Hashable
    return value


@cache
def _adapter(kind: Any) -> "TypeAdapter[Any]":
    from pydantic import TypeAdapter  # hooks decode nothing

    return TypeAdapter(kind)


# Loggers: the host's structlog if it is configured, else the standard library's below `gateway_memory`.


def get_logger(module: str) -> Any:
    """Return the logger of a module, whose name it has below `gateway_memory`."""
    return _Logger(module if module.startswith("gateway_memory") else f"gateway_memory.{module}")


class _Logger:
    """Checks at each event whether structlog is configured, since a host may configure it after the import."""

    def __init__(self, name: str) -> None:
        import structlog  # whoever needs only the rest of this module does without
        from structlog.processors import LogfmtRenderer
        from structlog.stdlib import BoundLogger, filter_by_level

        self._structlog = structlog
        self._standard = structlog.wrap_logger(
            logging.getLogger(name),
            processors=[filter_by_level, LogfmtRenderer(key_order=["event"], bool_as_flag=False)],
            wrapper_class=BoundLogger,
        )

    def __getattr__(self, level: str) -> Any:
        return getattr(self._structlog.get_logger() if self._structlog.is_configured() else self._standard, level)


# Local times and days in the configured zone.

_FIRST: Final = datetime(2, 1, 1, tzinfo=UTC).timestamp()
_LAST: Final = datetime(9999, 1, 1, tzinfo=UTC).timestamp()
"""Every zone can represent times between these as a date in Python. Times beyond are shown as one of them."""


def local_now() -> datetime:
    """Return the present time (aware), in the machine's zone."""
    return datetime.now().astimezone()


def local_time(at: float, zone: tzinfo | None) -> datetime:
    """Return the aware time of an instant in epoch seconds. `zone` None is the machine's zone, with daylight saving."""
    return datetime.fromtimestamp(min(_LAST, max(_FIRST, at)), UTC).astimezone(zone)


def date_of(at: float, zone: tzinfo | None) -> date:
    """Return the day of an instant (epoch seconds)."""
    return local_time(at, zone).date()


def day_of(at: float, zone: tzinfo | None) -> str:
    """Return the day of an instant (epoch seconds) as YYYY-MM-DD."""
    return date_of(at, zone).isoformat()  # strftime pads no year


def text_in(content: bytes) -> str | None:
    """Return the text of a file: UTF-8, UTF-16 with its mark, or GBK. None if it is in none of them.

    A UTF-8 text with some damaged bytes is still one; these are surrogate escapes.
    """
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        try:
            return content.decode("utf-16")
        except UnicodeDecodeError:
            return None
    with contextlib.suppress(UnicodeDecodeError):
        return content.decode("utf-8")
    text = content.decode("utf-8", "surrogateescape")
    damaged = sum("\ud800" <= character <= "\udfff" for character in text)
    if damaged <= sum(character > "\x7f" for character in text) - damaged:
        return text
    try:
        chinese = content.decode("gb18030")
    except UnicodeDecodeError:
        return None
    wide = [character for character in chinese if character > "\x7f"]
    usual = sum(character.encode("gb2312", "ignore") != b"" for character in wide)
    return chinese if usual >= _USUAL * len(wide) else None


def noon_of(day: str, zone: tzinfo | None) -> float | None:
    """Return noon of a day (YYYY-MM-DD) in epoch seconds, or None if the day does not exist, such as 2026-13-45."""
    try:
        return datetime.strptime(day, "%Y-%m-%d").replace(hour=12, tzinfo=zone).timestamp()
    except (ValueError, OverflowError):  # noon of 0001-01-01 can be out of range
        return None


class Breaker:
    """A circuit breaker: a server that keeps failing is not called for a while. Sans I/O; time is an argument.

    It opens after some failures in a row. After `open_seconds` it lets one call through, which closes or reopens it.
    Times are seconds of one monotonic clock.
    """

    def __init__(self, *, failures: int = 3, open_seconds: float = 300.0) -> None:
        self._failures = failures
        self._open_seconds = open_seconds
        self._failed = 0
        self._tried_at = 0.0

    @property
    def is_open(self) -> bool:
        """Whether the server is not called for a while."""
        return self._failed >= self._failures

    def allows(self, now: float) -> bool:
        """Return whether a call may be made now. While the breaker is open, only one may in each `open_seconds`."""
        if not self.is_open:
            return True
        if now - self._tried_at < self._open_seconds:
            return False
        self._tried_at = now
        return True

    def succeeded(self) -> None:
        """Note that a call was answered."""
        self._failed = 0

    def failed(self, now: float) -> None:
        """Note that a call failed, its retries included."""
        self._failed += 1
        self._tried_at = now


def is_base_url(url: str) -> bool:
    """Return whether a URL is "" (the provider's own) or an address to which a request can be sent."""
    if not url:
        return True
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:  # an invalid port or bracketed address
        return False
    named = parts.scheme in ("http", "https") and bool(parts.hostname) and port != 0
    return named and url.isprintable() and not any(character.isspace() for character in url)


def api_key(provider: str, base_url: str, variable: str) -> str:
    """Return the key in an environment variable, or "".

    provider: "openai" or "anthropic", whose usual variable is read if none is named. Its key goes to the provider's own
    address alone.
    """
    if not variable and base_url:
        host = urlsplit(base_url).hostname or ""
        if host != f"{provider}.com" and not host.endswith(f".{provider}.com"):
            return ""
    return os.environ.get(variable or f"{provider.upper()}_API_KEY", "").strip()


def bounded_client(sdk: Any, timeout_seconds: float, most_bytes: int, too_large: Callable[[], Exception]) -> Any:
    """Return an HTTP client for an SDK (the module `openai` or `anthropic`), which closes it.

    It asks for answers that are not compressed, since some kilobytes may unpack to gigabytes, and refuses others and
    those of more than `most_bytes`. It follows no redirect, which would carry the key and the texts to an address that
    nobody configured. It raises `too_large()`, which some versions of the SDKs make the cause of an error of theirs.
    """

    class Bounded(sdk.DefaultAsyncHttpxClient):  # type: ignore[misc] # of httpx or httpx2, as the SDK's version has it
        async def send(self, request: Any, **options: Any) -> Any:
            request.headers["Accept-Encoding"] = "identity"
            response = await super().send(request, **{**options, "stream": True})
            body = bytearray()
            try:
                if response.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
                    raise too_large()
                async for part in response.aiter_raw():
                    body += part
                    if len(body) > most_bytes:
                        raise too_large()
            finally:
                await response.aclose()
            return type(response)(
                response.status_code, headers=response.headers, content=bytes(body), request=response.request
            )

    return Bounded(follow_redirects=False, timeout=timeout_seconds)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a server asks to wait; None where it does not.

    RFC 9110 10.2.3 has seconds or a date, OpenAI a header in milliseconds.
    """
    from email.utils import parsedate_to_datetime  # most processes call no server

    try:
        if "retry-after-ms" in headers:
            return max(0.0, float(headers["retry-after-ms"]) / 1000)
        value = headers.get("retry-after", "")
        if not value:
            return None
        if value.replace(".", "", 1).isdigit():
            return float(value)
        return max(0.0, (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None


class Result(Protocol):
    """The result of a statement. rowcount: the number of changed rows."""

    @property
    def rowcount(self) -> int: ...

    def fetchone(self) -> Any: ...

    def fetchall(self) -> list[Any]: ...

    def __iter__(self) -> Iterator[Any]: ...


class Database(Protocol):
    """A connection to SQLite or PostgreSQL, in a transaction. Values are question marks."""

    def execute(self, query: str, values: Sequence[Any] = (), /) -> Result:
        """Run one statement."""

    def executemany(self, query: str, values: Iterable[Sequence[Any]], /) -> Any:
        """Run one statement for each sequence of values."""


def lazy(package: str, names: Mapping[str, Sequence[str]]) -> tuple[list[str], Callable[[str], Any]]:
    """Return the `__all__` and the `__getattr__` of a package, which imports each public name when it is first used.

    names: the public names by the module that has them.
    """
    homes = {name: home for home, of_home in names.items() for name in of_home}

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(homes[name], package), name)
        setattr(sys.modules[package], name, value)
        return value

    return list(homes), load

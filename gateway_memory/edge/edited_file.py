"""A file of another program in which we set something, and which comes back byte for byte.

A record beside the file holds its text as it was, and a digest of what we wrote. If somebody has edited the file since,
only what we set is taken out. Writes are atomic and follow links.
"""

import hashlib
import json
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from gateway_memory.errors import UsageError
from gateway_memory.ground.texts import object_of

_SECRET_MODE: Final = 0o600


@dataclass(frozen=True, slots=True, kw_only=True)
class EditedFile:
    """path: the file. record: the file that holds its former text. is_secret: a new file is for this user alone."""

    path: Path
    record: Path
    is_secret: bool = True

    def read(self) -> str | None:
        """Return the text, with its line ends and its byte order mark; None without a file.

        Raises:
            UsageError: it is not UTF-8.
        """
        try:
            return self.path.read_bytes().decode() if self.path.exists() else None
        except UnicodeDecodeError:
            raise UsageError(f"{self.path}: this is no UTF-8; mend it first") from None

    def known(self) -> dict[str, Any]:
        """Return the record of the last edit, or {} if it can't be read. The file itself is then authoritative."""
        known = object_of(self.record.read_bytes()) if self.record.is_file() else {}
        return known if "after" in known and isinstance(known.get("before", 0), str | None) else {}

    def write(self, before: str | None, after: str, others: Callable[[], Mapping[str, Any]]) -> None:
        """Put a text with ours in the place of a former one.

        others: returns what to record of the former text; called the first time, and where it was edited since.

        Raises:
            OSError: a file can't be written.
        """
        known: Mapping[str, Any] = self.known()
        if known.get("after") != _digest(before):
            known = others()
        _write(self.record, json.dumps({**known, "after": _digest(after)}), new_mode=self._new_mode)
        _write(self.path, after, new_mode=self._new_mode)

    def restore(self) -> bool:
        """Bring the former text back, unless somebody has edited the file since; return whether it is back.

        Raises:
            OSError: a file can't be written.
        """
        now, known = self.read(), self.known()
        if not known or now is None or known["after"] != _digest(now):
            return False
        if known["before"] is None:
            self.path.resolve().unlink()
        else:
            _write(self.path, known["before"])
        self.record.unlink()
        return True

    def write_others(self, text: str) -> None:
        """Write a text without ours, and remove the record.

        Raises:
            OSError: a file can't be written.
        """
        _write(self.path, text)
        self.record.unlink(missing_ok=True)

    @property
    def _new_mode(self) -> int | None:
        return _SECRET_MODE if self.is_secret else None


def _write(path: Path, text: str, *, new_mode: int | None = None) -> None:
    """Replace a file, which keeps its permissions. new_mode: those of a new one; None for the usual ones."""
    path = path.resolve()
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else new_mode
        if mode is not None:
            temporary.touch(mode=_SECRET_MODE)
        temporary.write_bytes(text.encode())
        if mode is not None:
            temporary.chmod(mode)
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def _digest(text: str | None) -> str:
    """Return the digest of a file's text; of an empty one where there is no file."""
    return hashlib.blake2b((text or "").encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()

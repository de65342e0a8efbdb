"""Set numbers in a person's config file: comments, order and everything else stay as they are, to the letter."""

import contextlib
import hashlib
import json
import os
import secrets
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import pyjson5

from gateway_memory.config.load import check_config
from gateway_memory.config.mistakes import ConfigFileError
from gateway_memory.config.scan import KeyPath, Scan, has_comma, scan
from gateway_memory.config.settings import Config
from gateway_memory.errors import ConfigError
from gateway_memory.store.disk.replacing import rename
from gateway_memory.store.disk.workspace import FILE_MODE, persist, private_folder

Why = Literal["broken", "changed", "link", "unwritable"]
"""Why nothing was saved: the file has mistakes; it has changed meanwhile; it is a link; it can't be read or written."""
_BEGINNING: Final = "// The page of gateway-memory has saved this. docs/config.md says what can stand here.\n{\n}\n"
_DEFAULTS: Final[KeyPath] = ("agents", "defaults", "memorySync")
_MARK: Final = "\ufeff"


class NotSavedError(ConfigError):
    """Raised where nothing was saved, and the file is as it was. why: see `Why`. detail: more, in words, or ""."""

    def __init__(self, why: Why, path: Path, detail: str = "") -> None:
        self.why = why
        self.path = path
        self.detail = detail
        super().__init__(f"{path}: {why}: {detail}")


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsFile:
    """The config file in force of an agent. path: it need not be there yet."""

    path: Path
    agent: str

    def digest(self) -> str:
        """Return what tells one content of the file from another.

        Raises:
            NotSavedError: the file can't be read.
        """
        return hashlib.blake2b(self._content() or b"", digest_size=16).hexdigest()

    def save(self, values: Mapping[KeyPath, float], *, digest: str) -> Config:
        """Set values, and return the settings of the file as it is then.

        values: by their keys below `memorySync`. Each is set where it stands, or else in the defaults of all agents.
        digest: of the content that the person has seen.

        Raises:
            NotSavedError: nothing was saved.
        """
        content = self._content()
        if digest != self.digest():
            raise NotSavedError("changed", self.path)
        try:
            text = (content or b"").decode()
        except UnicodeDecodeError:
            raise NotSavedError("broken", self.path, "this is no UTF-8") from None
        mark, text = (_MARK, text[1:]) if text.startswith(_MARK) else ("", text)
        try:
            _check(text if content is not None else _BEGINNING, self.path)
            new = with_values(text if content is not None else _BEGINNING, values, agent=self.agent)
            config = _check(new, self.path)
        except ConfigFileError as error:
            raise NotSavedError("broken", self.path, str(error)) from None
        self._put((mark + new).encode(), content)
        return config

    def _content(self) -> bytes | None:
        if self.path.is_symlink():
            raise NotSavedError("link", self.path)
        try:
            return self.path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise NotSavedError("unwritable", self.path, error.strerror or str(error)) from None

    def _put(self, new: bytes, old: bytes | None) -> None:
        """Replace the file, unless it is another one than it was. old: its content, None if it was not there."""
        temporary = self.path.with_name(f".{self.path.name}.{secrets.token_hex(8)}.tmp")
        try:
            private_folder(self.path.parent)
            there = self.path.stat() if old is not None else None
            if there and not there.st_mode & stat.S_IWUSR:
                raise NotSavedError("unwritable", self.path, "it is read-only")
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE)
            with os.fdopen(descriptor, "wb") as file:
                file.write(new)
                if there:
                    with contextlib.suppress(OSError):  # of another user
                        os.fchown(file.fileno(), there.st_uid, there.st_gid)
                    os.fchmod(file.fileno(), stat.S_IMODE(there.st_mode))
                file.flush()
                os.fsync(file.fileno())
            if self._content() != old:
                raise NotSavedError("changed", self.path)
            if there:
                temporary.replace(self.path)
            else:
                rename(temporary, self.path, exchange=False)  # fails where somebody has made the file meanwhile
            persist(self.path.parent)
        except FileExistsError:
            raise NotSavedError("changed", self.path) from None
        except OSError as error:
            raise NotSavedError("unwritable", self.path, error.strerror or str(error)) from None
        finally:
            temporary.unlink(missing_ok=True)


def _check(text: str, path: Path) -> Config:
    return check_config(text, str(path))


def with_values(text: str, values: Mapping[KeyPath, float], *, agent: str = "main") -> str:
    """Return the text of a valid config file with values set; nothing else differs.

    values: by their keys below `memorySync`. agent: whose value is set, where its entry in `agents.list` has one.
    """
    for key, value in values.items():
        text = _with_value(text, place_of(text, key, agent), f"{value:g}")
    return text


def place_of(text: str, key: KeyPath, agent: str) -> KeyPath:
    """Return the path at which an agent's value stands, or would be set."""
    document: Any = pyjson5.decode(text)
    agents = document.get("agents", {})
    spans = scan(text).spans
    for number, entry in enumerate(agents.get("list", [])):
        path = ("agents", "list", number, "memorySync", *key)
        if entry["id"].lower() == agent.lower() and path in spans:
            return path
    return *_DEFAULTS, *key


def _with_value(text: str, path: KeyPath, value: str) -> str:
    """Return a document with a value put in the place of the one at a path, or added there with its objects."""
    found = scan(text)
    if path in found.spans:
        start, end = found.spans[path]
        return f"{text[:start]}{value}{text[end:]}"
    owner = next(path[:depth] for depth in range(len(path) - 1, -1, -1) if path[:depth] in found.spans)
    names = [json.dumps(name) if _is_json(text) else str(name) for name in path[len(owner) :]]
    last = names.pop()
    item = "".join(f"{name}: {{ " for name in names) + f"{last}: {value}" + " }" * len(names)
    return _add(text, found, owner, item)


def _add(text: str, found: Scan, owner: KeyPath, item: str) -> str:
    """Return a document with an item added at the end of an object, in the object's own layout."""
    start, end = found.spans[owner]
    closing = end - 1
    children = [each for each in found.spans if len(each) == len(owner) + 1 and each[: len(owner)] == owner]
    behind = max((found.spans[each][1] for each in children), default=0)
    trailing = bool(children) and has_comma(text, behind, closing)
    separator = "," if children and not trailing else ""
    line = max(text.rfind(each, start, closing) for each in "\r\n") + 1
    if line > start and not text[line:closing].strip():  # the bracket stands on a line of its own
        newline = "\r\n" if "\r\n" in text else "\n" if "\n" in text else "\r"
        indent = _indent(text, found, children, start) or f"{text[line:closing]}  "
        comma = trailing or not (children or _is_json(text))
        added = f"{indent}{item}{',' if comma else ''}{newline}"
        place = line
    else:
        tight = bool(children) and not text[closing - 1].isspace()
        added = f"{'' if text[closing - 1].isspace() else ' '}{item}{'' if tight else ' '}"
        place = closing
    if not separator:
        return f"{text[:place]}{added}{text[place:]}"
    return f"{text[:behind]}{separator}{text[behind:place]}{added}{text[place:]}"


def _indent(text: str, found: Scan, children: list[KeyPath], start: int) -> str:
    """Return what stands before a child that begins a line of its own; "" for none."""
    lines = text.splitlines()
    opening = text.count("\n", 0, start) + 1
    for child in children:
        number = found.lines[child]
        if number != opening and number <= len(lines):
            line = lines[number - 1]
            return line[: len(line) - len(line.lstrip())]
    return ""


def _is_json(text: str) -> bool:
    """Return whether other programs may read the document as plain JSON, which must stay so."""
    try:
        json.loads(text)
    except ValueError:
        return False
    return True

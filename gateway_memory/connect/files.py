"""What connecting a gateway changes: values in its config, JSON5 or YAML, which comes back byte for byte.

A record beside the file holds the file as it was. If the file was edited since, only what we set is taken out.
"""

import contextlib
import hashlib
import json
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

import pyjson5

__all__ = [
    "Block",
    "Edit",
    "Host",
    "Plan",
    "Where",
    "block_connected",
    "block_disconnected",
    "block_shown",
    "connected",
    "digest_of",
    "disconnected",
    "document_of",
    "shown",
    "written",
]


Keys = tuple[str, ...]
_MISSING: Final = object()
SECRET_MODE: Final = 0o600
"""Of a file that only this user may read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """What a gateway's config gets.

    path: the file. values: what is set, by its keys. owned: the keys of what is ours alone, whatever others changed in
    it. items: what is added to a list, by the list's keys. listed: likewise, but only where the config has that list.
    """

    path: Path
    values: Mapping[Keys, Any]
    owned: tuple[Keys, ...] = ()
    items: Mapping[Keys, str] = field(default_factory=dict)
    listed: Mapping[Keys, str] = field(default_factory=dict)

    @property
    def record(self) -> Path:
        """The file that holds the config as it was."""
        return self.path.with_name(f".{self.path.name}.gateway-memory")


def shown(edit: Edit) -> list[str]:
    """Return a line for each change, without the rest of the file, which may hold secrets.

    Raises:
        ValueError: the file can't be read.
    """
    document = document_of(edit.path)
    lines = []
    for keys, value in edit.values.items():
        old = _at(document, keys)
        if old != value:
            was = "" if old is _MISSING else f"  (was: {json.dumps(old, ensure_ascii=False)})"
            lines.append(f"  {'.'.join(keys)} = {json.dumps(value, ensure_ascii=False)}{was}")
    for keys, item in _items(document, edit).items():
        old = _at(document, keys)
        if not (isinstance(old, list) and item in old):
            lines.append(f"  {'.'.join(keys)} += {json.dumps(item, ensure_ascii=False)}")
    return lines


def lines_to_paste(edit: Edit) -> str:
    """Return everything that is set, as an object of JSON."""
    return json.dumps(_joined({}, edit), indent=2, ensure_ascii=False)


def connected(edit: Edit) -> None:
    """Set everything in the config. What others wrote stays; a second time has no effect.

    Raises:
        ValueError: the file is no plain JSON, or a value of it is in the way. The file is unchanged.
        OSError: a file can't be written.
    """
    before = _bytes(edit.path)
    document = _document(edit.path, before)
    after = _joined(document, edit)
    if after == document:
        return
    _check_plain(edit, document, before)
    known = known_of(edit.record)
    if known.get("after") != digest_of(before):  # the first time, or the file was edited since
        others = _parted(document, edit, _former(known))
        untouched = others == document
        text = before.decode() if untouched and before is not None else None if before is None else _rendered(others)
        known = {"before": text}
    data = _rendered(after).encode()
    written(edit.record, json.dumps({**known, "after": digest_of(data)}).encode(), SECRET_MODE)
    written(edit.path, data, None if edit.path.exists() else SECRET_MODE)


def disconnected(edit: Edit) -> bool:
    """Take out what we set: byte for byte, or only our values if the file was edited since. Return whether any was.

    Raises:
        ValueError: our values are in a file that is no plain JSON.
        OSError: a file can't be written.
    """
    now, known = _bytes(edit.path), known_of(edit.record)
    if known and known["after"] == digest_of(now):
        if known["before"] is None:
            edit.path.resolve().unlink()
        else:
            written(edit.path, known["before"].encode(), None)
        edit.record.unlink()
        return True
    document = _document(edit.path, now)
    others = _parted(document, edit, _former(known))
    if others != document:
        _check_plain(edit, document, now)
        written(edit.path, _rendered(others).encode(), None)
    edit.record.unlink(missing_ok=True)
    return others != document


def _joined(document: Mapping[str, Any], edit: Edit) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(json.dumps(document))
    for keys, value in edit.values.items():
        _parent(result, keys, edit.path)[keys[-1]] = value
    for keys, item in _items(document, edit).items():
        found = _parent(result, keys, edit.path).setdefault(keys[-1], [])
        if not isinstance(found, list):
            raise _in_the_way(edit.path, keys, "list")
        if item not in found:
            found.append(item)
    return result


def _parted(document: Mapping[str, Any], edit: Edit, before: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document without what we set. Where the value is ours still, the former one comes back."""
    result: dict[str, Any] = json.loads(json.dumps(document))
    for keys in edit.owned:
        if _at(result, keys) is not _MISSING:
            del _parent(result, keys, edit.path)[keys[-1]]
            _prune(result, keys[:-1], before)
    for keys, value in edit.values.items():
        if _at(result, keys) == value:
            former = _at(before, keys)
            if former is _MISSING:
                del _parent(result, keys, edit.path)[keys[-1]]
            else:
                _parent(result, keys, edit.path)[keys[-1]] = former
            _prune(result, keys[:-1], before)
    for keys, item in _items(document, edit).items():
        found, former = _at(result, keys), _at(before, keys)
        if isinstance(found, list) and item in found and not (isinstance(former, list) and item in former):
            found.remove(item)
            _prune(result, keys, before)
    return result


def _prune(document: dict[str, Any], keys: Keys, before: Mapping[str, Any]) -> None:
    """Remove what is empty now and was not there before, from the inside out."""
    while keys and _at(document, keys) in ({}, []) and _at(before, keys) is _MISSING:
        owner = _at(document, keys[:-1])
        del owner[keys[-1]]
        keys = keys[:-1]


def _at(document: Any, keys: Keys) -> Any:
    for key in keys:
        if not isinstance(document, dict) or key not in document:
            return _MISSING
        document = document[key]
    return document


def _parent(document: dict[str, Any], keys: Keys, path: Path) -> dict[str, Any]:
    for depth, key in enumerate(keys[:-1], 1):
        document = document.setdefault(key, {})
        if not isinstance(document, dict):
            raise _in_the_way(path, keys[:depth], "object")
    return document


def _items(document: Mapping[str, Any], edit: Edit) -> dict[Keys, str]:
    listed = {keys: item for keys, item in edit.listed.items() if isinstance(_at(document, keys), list)}
    return {**edit.items, **listed}


def _in_the_way(path: Path, keys: Keys, expected: str) -> ValueError:
    return ValueError(f"{path}: {'.'.join(keys)} is no {expected}; mend it first")


def _bytes(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


def document_of(path: Path) -> dict[str, Any]:
    """Return a config, which may have comments; an empty one if there is none.

    Raises:
        ValueError: the file can't be read.
    """
    return _document(path, _bytes(path))


def _document(path: Path, data: bytes | None) -> dict[str, Any]:
    """Return a config, which may have comments."""
    try:
        text = (data or b"").decode("utf-8-sig")
        document = pyjson5.decode(text) if text.strip() else {}
    except (ValueError, RecursionError, pyjson5.Json5Exception):
        raise ValueError(f"{path}: this is no JSON; mend it first") from None
    if isinstance(document, dict):
        return document
    raise ValueError(f"{path}: expected an object; mend it first")


def _check_plain(edit: Edit, document: Mapping[str, Any], data: bytes | None) -> None:
    """Refuse a file whose comments or includes a rewrite would lose."""
    with contextlib.suppress(ValueError):
        plain = not data or json.loads(data.decode("utf-8-sig")) == document
        sections = [document, *(_at(document, keys[:depth]) for keys in edit.values for depth in range(1, len(keys)))]
        if plain and not any(isinstance(each, dict) and "$include" in each for each in sections):
            return
    raise ValueError(
        f"{edit.path} has comments, or parts in other files, which a rewrite would lose. Nothing was changed. "
        f"Set this by hand, and run the command again to check it:\n{lines_to_paste(edit)}"
    )


def _former(known: Mapping[str, Any]) -> dict[str, Any]:
    """Return the config before the first edit, as far as the record tells."""
    with contextlib.suppress(ValueError, RecursionError):
        document = json.loads((known.get("before") or "{}").removeprefix("\ufeff"))
        return document if isinstance(document, dict) else {}
    return {}


def known_of(record: Path) -> dict[str, Any]:
    """Return the record of the last edit, or {} if it can't be read. The file itself is then authoritative."""
    try:
        known = json.loads(record.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    is_ours = isinstance(known, dict) and "after" in known and isinstance(known.get("before", 0), str | None)
    return known if is_ours else {}


def _rendered(document: Mapping[str, Any]) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def digest_of(data: bytes | None) -> str:
    """Return the digest of a file's bytes; of none where there is no file."""
    return hashlib.blake2b(data or b"", digest_size=16).hexdigest()


def written(path: Path, data: bytes, mode: int | None) -> None:
    """Replace a file atomically. Follow links; mode None keeps the file's permissions."""
    path = path.resolve()
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        temporary.touch(mode=SECRET_MODE)
        temporary.write_bytes(data)
        temporary.chmod(stat.S_IMODE(path.stat().st_mode) if mode is None else mode)
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


# One block of a host's YAML config: the values that are set in it, and how the file comes back byte for byte.
#
# The file is edited by lines, so that comments and every other byte stay. A form of the block in which that is not
# safe is refused, with the lines to paste.

_PLAIN_HEAD: Final = re.compile(r"\s*(?:#.*)?")
_INDENT: Final = "  "


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """path: the file. name: the key at the top level. values: what is set below it, as YAML has it."""

    path: Path
    name: str
    values: Mapping[str, str]

    @property
    def record(self) -> Path:
        """The file that holds the config as it was."""
        return self.path.with_name(f".{self.path.name}.gateway-memory")

    @property
    def lines(self) -> list[str]:
        """The whole block, if there is none yet."""
        return [f"{self.name}:\n", *(f"{_INDENT}{key}: {value}\n" for key, value in self.values.items())]


def block_shown(block: Block) -> list[str]:
    """Return a line for each change.

    Raises:
        ValueError: the file can't be edited by lines.
    """
    lines = _lines(_text(block.path))
    found = _found(block, lines)
    return [
        f"  {block.name}.{key} = {value}" + (f"  (was: {_value(lines[found[key]])})" if key in found else "")
        for key, value in block.values.items()
        if key not in found or _value(lines[found[key]]) != value
    ]


def block_connected(block: Block) -> None:
    """Set the values. A second time has no effect.

    Raises:
        ValueError: the file can't be edited by lines. It is unchanged.
        OSError: a file can't be written.
    """
    before = _text(block.path)
    if not block_shown(block):
        return
    lines = _lines(before)
    found = _found(block, lines)
    head = _head(block, lines)
    if head is None:
        lines += block.lines
    else:
        indent = _indent(lines[min(found.values())]) if found else _child_indent(lines, head)
        for key, at in found.items():
            lines[at] = f"{indent}{key}: {block.values[key]}\n"
        lines[head + 1 : head + 1] = [
            f"{indent}{key}: {value}\n" for key, value in block.values.items() if key not in found
        ]
    data = "".join(lines).encode()
    known = known_of(block.record)
    if known.get("after") != digest_of(before.encode() if before is not None else None):
        known = {"before": before}
    written(block.record, json.dumps({**known, "after": digest_of(data)}).encode(), SECRET_MODE)
    written(block.path, data, None if block.path.exists() else SECRET_MODE)


def block_disconnected(block: Block) -> bool:
    """Take out what is ours: byte for byte, or only our lines if the file was edited since. Return whether any was.

    Raises:
        ValueError: the file can't be edited by lines.
        OSError: a file can't be written.
    """
    now, known = _text(block.path), known_of(block.record)
    if known and now is not None and known["after"] == digest_of(now.encode()):
        if known["before"] is None:
            block.path.resolve().unlink()
        else:
            written(block.path, known["before"].encode(), None)
        block.record.unlink()
        return True
    lines, former = _lines(now), _lines(known.get("before"))
    try:
        found, once = _found(block, lines), _found(block, former)
    except ValueError:
        if not known and next(iter(block.values.values())) not in (now or ""):
            return False
        raise ValueError(
            f"{block.path}: its block `{block.name}` has a form that is not edited safely. Nothing was changed there. "
            f"Take these values out of it by hand:\n{''.join(block.lines)}"
        ) from None
    ours = {key: at for key, at in found.items() if _value(lines[at]) == block.values[key]}
    for key, at in sorted(ours.items(), key=lambda each: -each[1]):
        lines[at : at + 1] = [former[once[key]]] if key in once else []
    head = _head(block, lines)
    if head is not None and ours and _head(block, former) is None and not _children(lines, head):
        del lines[head]
    if ours:
        written(block.path, "".join(lines).encode(), None)
    block.record.unlink(missing_ok=True)
    return bool(ours)


def _text(path: Path) -> str | None:
    try:
        return path.read_bytes().decode("utf-8") if path.exists() else None
    except UnicodeDecodeError:
        raise ValueError(f"{path}: this is no UTF-8; mend it first") from None


def _lines(text: str | None) -> list[str]:
    lines = (text or "").splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    return lines


def _head(block: Block, lines: list[str]) -> int | None:
    """Return the line of the block's key.

    Raises:
        ValueError: the file has a form that is not edited by lines.
    """
    heads = [at for at, line in enumerate(lines) if re.match(rf"""["']?{re.escape(block.name)}["']?\s*:""", line)]
    if not heads:
        if any(re.match(r"(?:\{|\[|---|\.\.\.)", line) for line in lines[1:]) or (lines and lines[0][0] in "{["):
            raise _refused(block)
        return None
    (head, *more) = heads
    rest = lines[head].rstrip("\n").partition(":")[2]
    inside = _children(lines, head)
    if more or not _PLAIN_HEAD.fullmatch(rest) or any("\t" in _indent(lines[at]) for at in inside):
        raise _refused(block)
    return head


def _children(lines: list[str], head: int) -> list[int]:
    """Return the lines of a block's content, without blank lines and comments."""
    inside = []
    for at in range(head + 1, len(lines)):
        text = lines[at].strip()
        if not text or text.startswith("#"):
            continue
        if not lines[at][0].isspace():
            break
        inside.append(at)
    return inside


def _child_indent(lines: list[str], head: int) -> str:
    inside = _children(lines, head)
    return _indent(lines[inside[0]]) if inside else _INDENT


def _found(block: Block, lines: list[str]) -> dict[str, int]:
    """Return the line of each of our keys that the block has.

    Raises:
        ValueError: the file has a form that is not edited by lines.
    """
    head = _head(block, lines)
    if head is None:
        return {}
    indent, inside = _child_indent(lines, head), _children(lines, head)
    found: dict[str, int] = {}
    for place, at in enumerate(inside):
        name = re.match(r"""["']?([\w-]+)["']?\s*:(?:\s|$)""", lines[at][len(indent) :])
        if _indent(lines[at]) != indent or name is None or name[1] not in block.values:
            continue
        follows = inside[place + 1 : place + 2]
        goes_on = follows and len(_indent(lines[follows[0]])) > len(indent)
        if name[1] in found or goes_on or _value(lines[at]).startswith(("&", "*", "|", ">", "{", "[")):
            raise _refused(block)
        found[name[1]] = at
    return found


def _value(line: str) -> str:
    return re.sub(r"\s+#.*", "", line.partition(":")[2]).strip()


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _refused(block: Block) -> ValueError:
    return ValueError(
        f"{block.path}: its block `{block.name}` has a form that is not edited safely. Nothing was changed. "
        f"Set this by hand, and run the command again to check it:\n{''.join(block.lines)}"
    )


# What a gateway needs to be connected: the edit of its config, the plugin's files, and what to tell.


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """Where the memory is.

    url, token: the service's http://…, https://… or unix:/path, and the file with its host token. workspace, config:
    the folder and the config of a memory that the gateway opens itself.
    """

    url: str
    token: Path
    workspace: Path = Path()
    config: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What connecting changes.

    edit: the change of the config. block: that of another one, in YAML. copies: folders of ours, and where the gateway
    finds them.

    in_process: whether the gateway opens the memory itself, without a service. told: what to do and to know
    afterwards, a line each.
    """

    edit: Edit
    block: Block | None = None
    copies: dict[Path, Path] = field(default_factory=dict)
    in_process: bool = False
    told: tuple[str, ...] = ()


class Host(Protocol):
    """A gateway, as a module below `gateway_memory.connect`."""

    @staticmethod
    def plan(where: Where, config: Path | None) -> Plan:
        """Return what connecting changes. config: the gateway's config, or None for its usual place.

        Raises:
            ValueError: the gateway is not there.
        """

"""A host's config file: what is set in it, and how it comes back byte for byte.

A record beside the file holds the file as it was. If the file was edited since, only what we set is taken out.
"""

import contextlib
import hashlib
import json
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pyjson5

__all__ = [
    "SECRET_MODE",
    "Edit",
    "connected",
    "digest_of",
    "disconnected",
    "document_of",
    "known_of",
    "lines_to_paste",
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

"""Values that are set in a host's JSON config, and how each comes back."""

import contextlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pyjson5

from gateway_memory.edge.edited_file import EditedFile
from gateway_memory.errors import UsageError
from gateway_memory.ground.texts import object_of

Keys = tuple[str, ...]
_MISSING: Final = object()


def host_file(path: Path) -> EditedFile:
    """Return a host's config file with the record of what we changed."""
    return EditedFile(path=path, record=path.with_name(f".{path.name}.gateway-memory"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """What a gateway's config in JSON gets.

    path: the file. values: what is set, by its keys. owned: the keys of what is ours alone, whatever others changed in
    it. items: what is added to a list, by the list's keys. listed: likewise, but only where the config has that list.
    """

    path: Path
    values: Mapping[Keys, Any]
    owned: tuple[Keys, ...] = ()
    items: Mapping[Keys, str] = field(default_factory=dict)
    listed: Mapping[Keys, str] = field(default_factory=dict)

    def shown(self) -> list[str]:
        """Return a line for each change, without the rest of the file, which may hold secrets.

        Raises:
            UsageError: the file can't be read, or not be edited safely.
        """
        document = document_of(self.path)
        lines = []
        for keys, value in self.values.items():
            old = value_at(document, keys)
            if old != value:
                was = "" if old is _MISSING else f"  (was: {json.dumps(old, ensure_ascii=False)})"
                lines.append(f"  {'.'.join(keys)} = {json.dumps(value, ensure_ascii=False)}{was}")
        for keys, item in self._items(document).items():
            old = value_at(document, keys)
            if not (isinstance(old, list) and item in old):
                lines.append(f"  {'.'.join(keys)} += {json.dumps(item, ensure_ascii=False)}")
        return lines

    def connect(self) -> None:
        """Set everything. What others wrote stays; a second time has no effect.

        Raises:
            UsageError: the file can't be edited safely. It is unchanged.
            OSError: a file can't be written.
        """
        file = host_file(self.path)
        document, before = document_of(self.path), file.read()
        after = self._joined(document)
        if after == document:
            return
        self._check_plain(document, before)

        def recorded() -> dict[str, str | None]:
            others = self._take_out(document, file.known())
            return {"before": before if before is None or others == document else _render(others)}

        file.write(before, _render(after), recorded)

    def disconnect(self) -> bool:
        """Take out what we set: byte for byte, or only our values if the file was edited. Return whether any was.

        Raises:
            UsageError: our values are in a file that can't be edited safely.
            OSError: a file can't be written.
        """
        file = host_file(self.path)
        if file.restore():
            return True
        document = document_of(self.path)
        others = self._take_out(document, file.known())
        if others == document:
            file.record.unlink(missing_ok=True)
            return False
        self._check_plain(document, file.read())
        file.write_others(_render(others))
        return True

    def _items(self, document: Mapping[str, Any]) -> dict[Keys, str]:
        listed = {keys: item for keys, item in self.listed.items() if isinstance(value_at(document, keys), list)}
        return {**self.items, **listed}

    def _joined(self, document: Mapping[str, Any]) -> dict[str, Any]:
        result: dict[str, Any] = json.loads(json.dumps(document))
        for keys, value in self.values.items():
            self._parent(result, keys)[keys[-1]] = value
        for keys, item in self._items(document).items():
            items = self._parent(result, keys).setdefault(keys[-1], [])
            if not isinstance(items, list):
                raise self._in_the_way(keys, "list")
            if item not in items:
                items.append(item)
        return result

    def _take_out(self, document: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
        """Return a document without what we set. Where the value is ours still, the recorded former one comes back."""
        result: dict[str, Any] = json.loads(json.dumps(document))
        before = object_of((known.get("before") or "").removeprefix("\ufeff"))  # the config before the first edit
        for keys in self.owned:
            if value_at(result, keys) is not _MISSING:
                del self._parent(result, keys)[keys[-1]]
                _prune(result, keys[:-1], before)
        for keys, value in self.values.items():
            if value_at(result, keys) == value:
                former = value_at(before, keys)
                if former is _MISSING:
                    del self._parent(result, keys)[keys[-1]]
                else:
                    self._parent(result, keys)[keys[-1]] = former
                _prune(result, keys[:-1], before)
        for keys, item in self._items(document).items():
            items, former = value_at(result, keys), value_at(before, keys)
            if isinstance(items, list) and item in items and not (isinstance(former, list) and item in former):
                items.remove(item)
                _prune(result, keys, before)
        return result

    def _parent(self, document: dict[str, Any], keys: Keys) -> dict[str, Any]:
        for depth, key in enumerate(keys[:-1], 1):
            document = document.setdefault(key, {})
            if not isinstance(document, dict):
                raise self._in_the_way(keys[:depth], "object")
        return document

    def _in_the_way(self, keys: Keys, expected: str) -> UsageError:
        return UsageError(f"{self.path}: {'.'.join(keys)} is no {expected}; mend it first")

    def _check_plain(self, document: Mapping[str, Any], text: str | None) -> None:
        """Refuse a file whose comments or includes a rewrite would lose."""
        with contextlib.suppress(ValueError):
            plain = not text or json.loads(text.removeprefix("\ufeff")) == document
            sections = [
                document, *(value_at(document, keys[:depth]) for keys in self.values for depth in range(1, len(keys)))
            ]  # fmt: skip
            if plain and not any(isinstance(each, dict) and "$include" in each for each in sections):
                return
        lines = json.dumps(self._joined({}), indent=2, ensure_ascii=False)
        raise UsageError(
            f"{self.path} has comments, or parts in other files, which a rewrite would lose. Nothing was changed. "
            f"Set this by hand, and run the command again to check it:\n{lines}"
        )


def document_of(path: Path) -> dict[str, Any]:
    """Return a config, which may have comments; an empty one if there is none.

    Raises:
        UsageError: the file can't be read.
    """
    try:
        text = (path.read_bytes() if path.exists() else b"").decode("utf-8-sig")
        document = pyjson5.decode(text) if text.strip() else {}
    except (ValueError, RecursionError, pyjson5.Json5Exception):
        raise UsageError(f"{path}: this is no JSON; mend it first") from None
    if isinstance(document, dict):
        return document
    raise UsageError(f"{path}: expected an object; mend it first")


def _prune(document: dict[str, Any], keys: Keys, before: Mapping[str, Any]) -> None:
    """Remove what is empty now and was not there before, from the inside out."""
    while keys and value_at(document, keys) in ({}, []) and value_at(before, keys) is _MISSING:
        owner = value_at(document, keys[:-1])
        del owner[keys[-1]]
        keys = keys[:-1]


def value_at(document: Any, keys: Keys) -> Any:
    """Return what stands at some keys of a document, _MISSING for nothing."""
    for key in keys:
        if not isinstance(document, dict) or key not in document:
            return _MISSING
        document = document[key]
    return document


def _render(document: Mapping[str, Any]) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"

"""One block of a host's YAML config: the values that are set in it, and how the file comes back byte for byte.

The file is edited by lines, so that comments and every other byte stay. A form of the block in which that is not safe
is refused, with the lines to paste.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gateway_memory.connect.files import SECRET_MODE, digest_of, known_of, written

__all__ = ["Block", "block_connected", "block_disconnected", "block_shown"]

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

"""One block of a host's YAML config: the values that are set in it, and how the file comes back byte by byte.

The file is edited by lines, so that comments and every other byte stay. A form of the block in which that is not
safe is refused, with the lines to paste.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gateway_memory.connect.json_edit import host_file
from gateway_memory.errors import UsageError

_PLAIN_HEAD: Final = re.compile(r"\s*(?:#.*)?")
_INDENT: Final = "  "


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """path: the file. name: the key at the top level. values: what is set below it, as YAML has it."""

    path: Path
    name: str
    values: Mapping[str, str]

    @property
    def lines(self) -> list[str]:
        """The whole block, if there is none yet."""
        return [f"{self.name}:\n", *(f"{_INDENT}{key}: {value}\n" for key, value in self.values.items())]

    def shown(self) -> list[str]:
        """See `Edit`."""
        lines = _lines(host_file(self.path).read())
        places = self._places(lines)
        return [
            f"  {self.name}.{key} = {value}" + (f"  (was: {_value(lines[places[key]])})" if key in places else "")
            for key, value in self.values.items()
            if key not in places or _value(lines[places[key]]) != value
        ]

    def connect(self) -> None:
        """See `Edit`."""
        if not self.shown():
            return
        file = host_file(self.path)
        before = file.read()
        lines = _lines(before)
        places, head = self._places(lines), self._head(lines)
        if head is None:
            lines += self.lines
        else:
            indent = _indent(lines[min(places.values())]) if places else _child_indent(lines, head)
            for key, at in places.items():
                lines[at] = f"{indent}{key}: {self.values[key]}\n"
            lines[head + 1 : head + 1] = [
                f"{indent}{key}: {value}\n" for key, value in self.values.items() if key not in places
            ]
        file.write(before, "".join(lines), lambda: {"before": before})

    def disconnect(self) -> bool:
        """See `Edit`."""
        file = host_file(self.path)
        if file.restore():
            return True
        now, known = file.read(), file.known()
        lines, former = _lines(now), _lines(known.get("before"))
        try:
            places, once = self._places(lines), self._places(former)
        except UsageError:
            if not known and next(iter(self.values.values())) not in (now or ""):
                return False
            raise UsageError(
                f"{self.path}: its block `{self.name}` has a form that is not edited safely. Nothing was changed there."
                f" Take these values out of it by hand:\n{''.join(self.lines)}"
            ) from None
        ours = {key: at for key, at in places.items() if _value(lines[at]) == self.values[key]}
        if not ours:
            file.record.unlink(missing_ok=True)
            return False
        for key, at in sorted(ours.items(), key=lambda each: -each[1]):
            lines[at : at + 1] = [former[once[key]]] if key in once else []
        head = self._head(lines)
        if head is not None and self._head(former) is None and not _children(lines, head):
            del lines[head]
        file.write_others("".join(lines))
        return True

    def _head(self, lines: list[str]) -> int | None:
        """Return the line of the block's key.

        Raises:
            UsageError: the file has a form that is not edited by lines.
        """
        heads = [at for at, line in enumerate(lines) if re.match(rf"""["']?{re.escape(self.name)}["']?\s*:""", line)]
        if not heads:
            if any(re.match(r"(?:\{|\[|---|\.\.\.)", line) for line in lines[1:]) or (lines and lines[0][0] in "{["):
                raise self._refused()
            return None
        (head, *more) = heads
        rest = lines[head].rstrip("\n").partition(":")[2]
        inside = _children(lines, head)
        if more or not _PLAIN_HEAD.fullmatch(rest) or any("\t" in _indent(lines[at]) for at in inside):
            raise self._refused()
        return head

    def _places(self, lines: list[str]) -> dict[str, int]:
        """Return the line of each of our keys that the block has.

        Raises:
            UsageError: the file has a form that is not edited by lines.
        """
        head = self._head(lines)
        if head is None:
            return {}
        indent, inside = _child_indent(lines, head), _children(lines, head)
        places: dict[str, int] = {}
        for number, at in enumerate(inside):
            name = re.match(r"""["']?([\w-]+)["']?\s*:(?:\s|$)""", lines[at][len(indent) :])
            if _indent(lines[at]) != indent or name is None or name[1] not in self.values:
                continue
            follows = inside[number + 1 : number + 2]
            goes_on = follows and len(_indent(lines[follows[0]])) > len(indent)
            if name[1] in places or goes_on or _value(lines[at]).startswith(("&", "*", "|", ">", "{", "[")):
                raise self._refused()
            places[name[1]] = at
        return places

    def _refused(self) -> UsageError:
        return UsageError(
            f"{self.path}: its block `{self.name}` has a form that is not edited safely. Nothing was changed. "
            f"Set this by hand, and run the command again to check it:\n{''.join(self.lines)}"
        )


def _lines(text: str | None) -> list[str]:
    lines = (text or "").splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    return lines


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


def _value(line: str) -> str:
    return re.sub(r"\s+#.*", "", line.partition(":")[2]).strip()


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]

"""The keys of config.json5: derived from the settings dataclasses, and found in a document with their lines."""

import dataclasses
import json
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from typing import Annotated, Any, ClassVar, Final, Literal, NamedTuple, get_args, get_origin, get_type_hints

import pyjson5
from annotated_types import Ge, Gt, Le, MinLen

from gateway_memory.config.settings import MemorySync, ServeSettings

# The line of each key of a JSON5 document.
#
# The JSON5 parser returns values without lines, and does not report a key that is given twice. The scanner reads a
# document that the parser has accepted, so it only needs to know tokens and nesting.

KeyPath = tuple[str | int, ...]
"""The keys (str) and list positions (int, from 0) that lead from the root to a value; the root's is ()."""

_TOKEN = re.compile(
    r"""
      (?P<space> [\s\ufeff]+ )
    | (?P<comment> //[^\n\r\u2028\u2029]* | /\*.*?\*/ )
    | (?P<bracket> [{}\[\]] )
    | (?P<separator> [:,] )
    | (?P<value> "(?:[^"\\]|\\.)*" | '(?:[^'\\]|\\.)*' | [^\s\ufeff{}\[\]:,"'/]+ )
    """,
    re.VERBOSE | re.DOTALL,
)
_LINE_END = re.compile(r"\r\n|\r|\n")  # as editors count lines; U+2028 and U+2029 end a comment, but not a line
_PLAIN_KEY = re.compile(r"[A-Za-z_$][\w$]*", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Duplicate:
    """A key given again on `line` within one object; it was given before on `first_line`."""

    path: KeyPath
    line: int
    first_line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """The line (from 1) of every key and list entry, the comment above each key, and the keys given more than once.

    Where a key is given twice its last line counts, as its last value does.
    """

    lines: Mapping[KeyPath, int]
    comments: Mapping[KeyPath, str]
    duplicates: tuple[Duplicate, ...]


@dataclass(slots=True, kw_only=True)
class _Open:
    """An object or list whose closing bracket has not been reached."""

    path: KeyPath
    is_list: bool
    length: int = 0
    key: str | None = None  # of an object: the key whose value comes next
    key_lines: dict[str, int] = field(default_factory=dict)


def scan(text: str) -> Scan:
    """Return the positions of a valid JSON5 document."""
    lines: dict[KeyPath, int] = {}
    comments: dict[KeyPath, str] = {}
    duplicates: list[Duplicate] = []
    nesting: list[_Open] = []
    for token, line, comment in _content(text):
        inner = nesting[-1] if nesting else None
        if token in "}]":
            nesting.pop()
        elif inner is not None and not inner.is_list and inner.key is None:
            (inner.key,) = pyjson5.decode(f"{{{token}:0}}")  # without its quotes and escapes
            path = (*inner.path, inner.key)
            if inner.key in inner.key_lines:
                duplicates.append(Duplicate(path=path, line=line, first_line=inner.key_lines[inner.key]))
            inner.key_lines.setdefault(inner.key, line)
            lines[path] = line
            comments[path] = comment
        else:
            path = _path_of_value(inner)
            if inner is None or inner.is_list:
                lines[path] = line
            if token in "{[":
                nesting.append(_Open(path=path, is_list=token == "["))
    return Scan(lines=lines, comments=comments, duplicates=tuple(duplicates))


def position(text: str, offset: int) -> tuple[int, int]:
    """Return line and column, both from 1, of the character at `offset`."""
    line_starts = _line_starts(text)
    line = bisect_right(line_starts, offset)
    return line, offset - line_starts[line - 1] + 1


def dotted(path: KeyPath) -> str:
    """Write a path as messages show it: agents.list[0].memorySync, with keys that aren't plain words in quotes."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif _PLAIN_KEY.fullmatch(step):
            text += f".{step}" if text else step
        else:
            text += f"[{json.dumps(step, ensure_ascii=False)}]"
    return text


def _content(text: str) -> Iterator[tuple[str, int, str]]:
    """Yield brackets, keys and values, each with its line and the comment that stands above it."""
    line_starts = _line_starts(text)
    above: list[str] = []
    last_line = 0  # where the last token other than space or comment ended
    for match in _TOKEN.finditer(text):
        line = bisect_right(line_starts, match.start())
        if match.lastgroup == "comment" and line != last_line:  # one behind a value does not describe the next key
            body = match[0][2:-2] if match[0].startswith("/*") else match[0][2:]
            above.append("\n".join(text_line.strip().removeprefix("* ") for text_line in body.strip().splitlines()))
        if match.lastgroup in ("bracket", "value"):
            yield match[0], line, "\n".join(above)
        if match.lastgroup in ("bracket", "value", "separator"):
            above.clear()
            last_line = bisect_right(line_starts, match.end() - 1)


def _path_of_value(inner: _Open | None) -> KeyPath:
    if inner is None:
        return ()
    if inner.is_list:
        inner.length += 1
        return (*inner.path, inner.length - 1)
    key, inner.key = inner.key, None
    assert key is not None
    return (*inner.path, key)


def _line_starts(text: str) -> list[int]:
    return [0, *(match.end() for match in _LINE_END.finditer(text))]


def json_key(field_name: str) -> str:
    """Return the camelCase key of a field: memory_md_threshold is memoryMdThreshold."""
    first, *rest = field_name.split("_")
    return first + "".join(word.capitalize() for word in rest)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentEntry:
    """One entry of `agents.list`: an agent and what differs from the defaults for it."""

    id: Annotated[str, MinLen(1)]
    memory_sync: MemorySync = field(default_factory=MemorySync)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentDefaults:
    """`agents.defaults`."""

    memory_sync: MemorySync = field(default_factory=MemorySync)


@dataclass(frozen=True, slots=True, kw_only=True)
class Agents:
    """`agents`, in OpenClaw's form."""

    defaults: AgentDefaults = field(default_factory=AgentDefaults)
    list: tuple[AgentEntry, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigFile:
    """The whole document. `__pydantic_config__` applies to every dataclass below it; pydantic is not imported here."""

    __pydantic_config__: ClassVar[Mapping[str, object]] = {
        "alias_generator": json_key,
        "extra": "forbid",
        "strict": True,
        "allow_inf_nan": False,
    }
    agents: Agents = field(default_factory=Agents)
    serve: ServeSettings = field(default_factory=ServeSettings)


class _Slot(NamedTuple):
    """The value at a path: its type, its constraints, and its description if the field has one."""

    type: Any
    constraints: tuple[object, ...] = ()
    description: str = ""


_LIMITS: Final = {Ge: "of at least", Gt: "above", Le: "of at most"}


def expected(path: KeyPath) -> str:
    """Say what the value at a known path must be, such as "a number from 0 to 1"."""
    kind, constraints, description = _slot(path)
    if description:
        return description
    if get_origin(kind) is Literal:
        *first, last = (f'"{choice}"' for choice in get_args(kind))
        return f"{', '.join(first)} or {last}" if first else last
    if get_origin(kind) is tuple or dataclasses.is_dataclass(kind):
        return "an object" if dataclasses.is_dataclass(kind) else "a list"
    if kind is str:
        return "a string that is not empty" if MinLen(1) in constraints else "a string"
    name = {bool: "true or false", int: "a whole number", float: "a number"}[kind]
    limits = {type(each): dataclasses.astuple(each)[0] for each in constraints if isinstance(each, Ge | Gt | Le)}
    if {Ge, Le} <= limits.keys():
        return f"{name} from {limits[Ge]} to {limits[Le]}"
    bounds = " and ".join(f"{words} {limits[limit]}" for limit, words in _LIMITS.items() if limit in limits)
    return f"{name} {bounds}".strip()


def known_keys(path: KeyPath) -> tuple[str, ...]:
    """Return the keys that the object at a known path may hold."""
    kind = _slot(path).type
    return tuple(_fields(kind)) if isinstance(kind, type) and dataclasses.is_dataclass(kind) else ()


def known_paths(path: KeyPath = ()) -> Iterator[KeyPath]:
    """Yield the path of every key below `path`, its objects included; lists are not entered."""
    for key in known_keys(path):
        yield (*path, key)
        yield from known_paths((*path, key))


def suggestion(path: KeyPath) -> str:
    """Suggest what an unknown key was meant to be: the outermost place of its name, or the nearest key beside it."""
    *parent, wrong = path
    assert isinstance(wrong, str)
    beside = {key.lower(): key for key in known_keys(tuple(parent))}
    plain = wrong.lower().replace("_", "")
    elsewhere = [known for known in known_paths() if str(known[-1]).lower() == plain]
    depth = min(map(len, elsewhere), default=0)
    elsewhere = [known for known in elsewhere if len(known) == depth]
    if plain not in beside and len(elsewhere) == 1:
        return f"it belongs at {dotted(elsewhere[0])}"
    near = get_close_matches(plain, beside, n=1)
    if near:
        return f'did you mean "{beside[near[0]]}"?'
    return f"known here: {', '.join(beside.values())}"


def _slot(path: KeyPath) -> _Slot:
    slot = _Slot(ConfigFile)
    for step in path:
        if get_origin(slot.type) is Mapping:
            slot = _Slot(get_args(slot.type)[1])
        else:
            slot = _Slot(get_args(slot.type)[0]) if isinstance(step, int) else _fields(slot.type)[step]
    return slot


@cache
def _fields(settings_class: type) -> dict[str, _Slot]:
    hints = get_type_hints(settings_class, include_extras=True)
    slots = {}
    for each in dataclasses.fields(settings_class):
        kind, *constraints = (
            get_args(hints[each.name]) if get_origin(hints[each.name]) is Annotated else [hints[each.name]]
        )
        slots[json_key(each.name)] = _Slot(kind, tuple(constraints), each.metadata.get("expected", ""))
    return slots

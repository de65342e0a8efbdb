"""The keys of config.json5, derived from the settings dataclasses: names, expected values, nearest known keys."""

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, get_args, get_origin, get_type_hints

from annotated_types import Ge, Gt, Le, Lt, MinLen

from gateway_memory.config.scan import KeyPath, dotted
from gateway_memory.config.settings import MemorySync, ServeSettings

__all__ = ["AgentEntry", "ConfigFile", "expected", "json_key", "known_keys", "known_paths", "suggestion"]


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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Slot:
    """The value at a path: its type, its constraints, and its description if the field has one."""

    type: Any
    constraints: tuple[object, ...] = ()
    words: str = ""


def expected(path: KeyPath) -> str:
    """Say what the value at a known path must be, such as "a number from 0 to 1"."""
    slot = _slot(path)
    if slot.words:
        return slot.words
    origin = get_origin(slot.type)
    if origin is Literal:
        return _one_of([f'"{choice}"' for choice in get_args(slot.type)])
    if origin is tuple:
        return "a list"
    if dataclasses.is_dataclass(slot.type):
        return "an object"
    if slot.type is str:
        return "a string that is not empty" if MinLen(1) in slot.constraints else "a string"
    names = {bool: "true or false", int: "a whole number", float: "a number"}
    return names[slot.type] + _bounds(slot)


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
    slot = _Slot(type=ConfigFile)
    for step in path:
        if get_origin(slot.type) is Mapping:
            slot = _Slot(type=get_args(slot.type)[1])
        else:
            slot = _Slot(type=get_args(slot.type)[0]) if isinstance(step, int) else _fields(slot.type)[step]
    return slot


@cache
def _fields(settings_class: type) -> dict[str, _Slot]:
    hints = get_type_hints(settings_class, include_extras=True)
    return {json_key(each.name): _field_slot(hints[each.name], each) for each in dataclasses.fields(settings_class)}


def _field_slot(hint: Any, of: dataclasses.Field[Any]) -> _Slot:
    constraints: tuple[object, ...] = ()
    if get_origin(hint) is Annotated:
        hint, *rest = get_args(hint)
        constraints = tuple(rest)
    return _Slot(type=hint, constraints=constraints, words=of.metadata.get("expected", ""))


def _bounds(slot: _Slot) -> str:
    low = next((each.ge for each in slot.constraints if isinstance(each, Ge)), None)
    high = next((each.le for each in slot.constraints if isinstance(each, Le)), None)
    above = next((each.gt for each in slot.constraints if isinstance(each, Gt)), None)
    below = next((each.lt for each in slot.constraints if isinstance(each, Lt)), None)
    if low is not None and high is not None:
        return f" from {low} to {high}"
    parts = [
        "" if low is None else f"of at least {low}",
        "" if above is None else f"above {above}",
        "" if high is None else f"of at most {high}",
        "" if below is None else f"below {below}",
    ]
    said = " and ".join(part for part in parts if part)
    return f" {said}" if said else ""


def _one_of(choices: list[str]) -> str:
    return choices[0] if len(choices) == 1 else f"{', '.join(choices[:-1])} or {choices[-1]}"

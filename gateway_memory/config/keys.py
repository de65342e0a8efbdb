"""The keys that a config file may have, and what each expects, from the settings' classes."""

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from typing import Annotated, Any, ClassVar, Final, Literal, NamedTuple, get_args, get_origin, get_type_hints

from annotated_types import Ge, Gt, Le, MinLen

from gateway_memory.config.scan import KeyPath, dotted
from gateway_memory.config.service import ServeSettings
from gateway_memory.config.settings import MemorySync

TUNED: Final[tuple[KeyPath, ...]] = (("autoRecall", "minScore"), ("autoRecall", "episodes", "minScore"))
"""The keys below `memorySync` that the page sets, as `tuned` takes them over."""


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
    kind, constraints, description = slot(path)
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
    kind = slot(path).type
    return tuple(fields_of(kind)) if isinstance(kind, type) and dataclasses.is_dataclass(kind) else ()


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


def slot(path: KeyPath) -> _Slot:
    """Return what stands at a path. Raises KeyError: nothing may."""
    slot = _Slot(ConfigFile)
    for step in path:
        if get_origin(slot.type) is Mapping:
            slot = _Slot(get_args(slot.type)[1])
        else:
            slot = _Slot(get_args(slot.type)[0]) if isinstance(step, int) else fields_of(slot.type)[step]
    return slot


@cache
def fields_of(settings_class: type) -> dict[str, _Slot]:
    """Return what stands below a class of settings, by its JSON keys."""
    hints = get_type_hints(settings_class, include_extras=True)
    slots = {}
    for each in dataclasses.fields(settings_class):
        kind, *constraints = (
            get_args(hints[each.name]) if get_origin(hints[each.name]) is Annotated else [hints[each.name]]
        )
        slots[json_key(each.name)] = _Slot(kind, tuple(constraints), each.metadata.get("expected", ""))
    return slots

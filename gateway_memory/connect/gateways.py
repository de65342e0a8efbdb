"""The gateways that can be connected: what each needs in its config, where its plugin goes, and what to do then.

The changes of a config, JSON5 or YAML, can be taken back byte for byte.
"""

import contextlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias

import pyjson5

from gateway_memory.edge.edited_file import EditedFile
from gateway_memory.edge.phrases import fill
from gateway_memory.errors import UsageError
from gateway_memory.ground.texts import object_of

Keys = tuple[str, ...]
_MISSING: Final = object()


def _edit(path: Path) -> EditedFile:
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
            old = _at(document, keys)
            if old != value:
                was = "" if old is _MISSING else f"  (was: {json.dumps(old, ensure_ascii=False)})"
                lines.append(f"  {'.'.join(keys)} = {json.dumps(value, ensure_ascii=False)}{was}")
        for keys, item in self._items(document).items():
            old = _at(document, keys)
            if not (isinstance(old, list) and item in old):
                lines.append(f"  {'.'.join(keys)} += {json.dumps(item, ensure_ascii=False)}")
        return lines

    def connect(self) -> None:
        """Set everything. What others wrote stays; a second time has no effect.

        Raises:
            UsageError: the file can't be edited safely. It is unchanged.
            OSError: a file can't be written.
        """
        file = _edit(self.path)
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
        file = _edit(self.path)
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
        listed = {keys: item for keys, item in self.listed.items() if isinstance(_at(document, keys), list)}
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
            if _at(result, keys) is not _MISSING:
                del self._parent(result, keys)[keys[-1]]
                _prune(result, keys[:-1], before)
        for keys, value in self.values.items():
            if _at(result, keys) == value:
                former = _at(before, keys)
                if former is _MISSING:
                    del self._parent(result, keys)[keys[-1]]
                else:
                    self._parent(result, keys)[keys[-1]] = former
                _prune(result, keys[:-1], before)
        for keys, item in self._items(document).items():
            items, former = _at(result, keys), _at(before, keys)
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
                document, *(_at(document, keys[:depth]) for keys in self.values for depth in range(1, len(keys)))
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


def _render(document: Mapping[str, Any]) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


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
    def lines(self) -> list[str]:
        """The whole block, if there is none yet."""
        return [f"{self.name}:\n", *(f"{_INDENT}{key}: {value}\n" for key, value in self.values.items())]

    def shown(self) -> list[str]:
        """See `Edit`."""
        lines = _lines(_edit(self.path).read())
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
        file = _edit(self.path)
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
        file = _edit(self.path)
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


Change: TypeAlias = Edit | Block
"""A change of one file."""


# The gateways.


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
    upstream: str = ""
    people: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What connecting changes.

    changes: those of its files. copies: folders of ours, and where the gateway finds them. in_process: whether the
    gateway opens the memory itself, without a service. advice: what to do and to know afterwards, a line each.
    """

    changes: tuple[Change, ...]
    copies: dict[Path, Path] = field(default_factory=dict)
    in_process: bool = False
    advice: tuple[str, ...] = ()


def _advice(name: str, **values: object) -> list[str]:
    return fill("connect", name, **values).split("\n")


def _check_there(host: str, folder: Path) -> None:
    if not folder.is_dir():
        raise UsageError(*_advice("not_there", folder=folder, first=fill("connect", f"{host}_first")))


def _settings_beside(path: Path, where: Where) -> Edit:
    """Return the settings of a plugin that opens the memory itself, in a file beside the gateway's config."""
    settings: dict[tuple[str, ...], str] = {("workspace",): str(where.workspace)}
    if where.config:
        settings[("config",)] = str(where.config)
    return Edit(path=path.with_name("gateway-memory.json").absolute(), values=settings, owned=(("config",),))


# Hermes: the plugin is copied into its plugins folder, and settings stand beside Hermes' config.


def _hermes(where: Where, config: Path | None) -> Plan:
    home = Path(os.environ.get("HERMES_HOME") or Path.home() / ".hermes").expanduser()
    path = (config or home / "config.yaml").absolute()
    _check_there("hermes", path.parent)
    values = {"provider": "gateway-memory", "memory_enabled": "false", "user_profile_enabled": "false"}
    return Plan(
        changes=(_settings_beside(path, where), Block(path=path, name="memory", values=values)),
        copies={plugin_folder("hermes"): path.parent / "plugins" / "gateway-memory"},
        in_process=True,
        advice=tuple(_advice("hermes")),
    )


# nanobot: its plugin comes with gateway-memory, and works once a settings file stands beside nanobot's config.


def _nanobot(where: Where, config: Path | None) -> Plan:
    path = config or Path.home() / ".nanobot" / "config.json"
    _check_there("nanobot", path.parent)
    advice = [*_advice("nanobot"), *([] if _is_dream_off(path) else _advice("nanobot_dream"))]
    return Plan(changes=(_settings_beside(path, where),), in_process=True, advice=tuple(advice))


def _is_dream_off(path: Path) -> bool:
    """Return whether nanobot's own memory is switched off in its config."""
    try:
        config = json.loads(path.read_text("utf-8"))
        return config["agents"]["defaults"]["dream"]["enabled"] is False
    except (OSError, ValueError, LookupError, TypeError):
        return False


# OpenClaw: the plugin is copied into its state folder, and takes the memory slot in openclaw.json.

_ID: Final = "gateway-memory"
_OWN: Final = "memory-core"
"""OpenClaw's own memory, which would give the model a second memory with tools of the same names."""
_HOOK: Final = "session-memory"
"""OpenClaw's own hook, which writes what was said into the workspace when a session ends, whoever said it."""
_PROMPTS: Final = ("MEMORY.md", "USER.md")
_WRITES: Final = re.compile(r"\b(?:MEMORY|USER)\.md\b|\bmemory/")


def _openclaw(where: Where, config: Path | None) -> Plan:
    state = Path(os.environ.get("OPENCLAW_STATE_DIR") or Path.home() / ".openclaw").expanduser()
    path = config or Path(os.environ.get("OPENCLAW_CONFIG_PATH") or state / "openclaw.json").expanduser()
    _check_there("openclaw", path.parent)
    folder = (path.parent if config else state).absolute() / _ID / "plugin"
    entry = ("plugins", "entries", _ID)
    edit = Edit(
        path=path.absolute(),
        values={
            ("plugins", "slots", "memory"): _ID,
            (*entry, "enabled"): True,
            (*entry, "hooks", "allowConversationAccess"): True,
            (*entry, "config", "url"): where.url,
            (*entry, "config", "tokenFile"): str(where.token),
            ("plugins", "entries", _OWN, "enabled"): False,
            ("hooks", "internal", "entries", _HOOK, "enabled"): False,
        },
        owned=(entry,),
        items={("plugins", "load", "paths"): str(folder)},
        listed={("plugins", "allow"): _ID},
    )
    stays_on = [line for each in _workspaces(path, state) for line in _stays_on(each, where)]
    return Plan(
        changes=(edit,),
        copies={plugin_folder("openclaw"): folder},
        advice=(*_advice("openclaw", memory=_OWN, hook=_HOOK), *stays_on),
    )


def _workspaces(path: Path, state: Path) -> list[Path]:
    """Return the workspaces of OpenClaw's agents that are there."""
    agents: Any = {}
    with suppress(UsageError):
        agents = document_of(path).get("agents")
    agents = agents if isinstance(agents, dict) else {}
    entries, listed = agents.get("entries"), agents.get("list")
    each = [agents.get("defaults"), *(entries.values() if isinstance(entries, dict) else ())]
    each += listed if isinstance(listed, list) else []
    named = [one["workspace"] for one in each if isinstance(one, dict) and isinstance(one.get("workspace"), str)]
    usual = [*state.glob("workspace"), *state.glob("workspace-*"), *path.parent.glob("workspace")]
    folders = [*(Path(name).expanduser() for name in named), *usual]
    return [folder for folder in dict.fromkeys(folders) if folder.is_dir()]


def _stays_on(folder: Path, where: Where) -> Iterator[str]:
    """Yield a warning for each file that OpenClaw itself goes on injecting or writing, whatever the plugin does."""
    prompts = [name for name in _PROMPTS if (folder / name).is_file()]
    prompts += [f"users/{file.parent.name}/{file.name}" for file in sorted(folder.glob("users/*/USER.md"))]
    notes = len(list(folder.glob("memory/*.md")))
    if prompts:
        yield from _advice("openclaw_prompts", folder=folder, files=", ".join(prompts))
    if notes:
        yield from _advice("openclaw_notes", folder=folder, number=notes)
    if prompts or notes:
        yield from _advice("openclaw_import", folder=folder, workspace=where.workspace)
    with suppress(OSError):
        if _WRITES.search((folder / "AGENTS.md").read_text("utf-8", "replace")):
            yield from _advice("openclaw_agents", folder=folder)


GATEWAYS: Final[Mapping[str, Callable[[Where, Path | None], Plan]]] = {
    "hermes": _hermes,
    "nanobot": _nanobot,
    "openclaw": _openclaw,
}
"""What returns the plan of each gateway, given its config, or None for the usual place. It raises UsageError where the
gateway is not there."""


def plugin_folder(host: str) -> Path:
    """Return the folder of a gateway's plugin: in the installed package, or in the checkout."""
    package = Path(__file__).parents[1]
    inside, in_checkout = package / "connect/plugins" / host, package.parent / "integrations" / host
    return inside if inside.is_dir() else in_checkout

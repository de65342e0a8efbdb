"""Read, check and show config.json5. Only the settings classes declare keys."""

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyjson5

from gateway_memory.config.check import adapter, check_config
from gateway_memory.config.keys import json_key
from gateway_memory.config.problem import ConfigFileError, ConfigProblem
from gateway_memory.config.scan import KeyPath, scan
from gateway_memory.config.settings import Config

__all__ = [
    "Config",
    "ConfigFileError",
    "ConfigProblem",
    "check_config",
    "config_schema",
    "load_config",
    "read_text",
    "reference_text",
    "render_config",
]


def load_config(path: str | Path | Mapping[str, Any] | None = None) -> Config:
    """Read and check a config file; without a path, return the built-in defaults.

    path: the file, or the settings themselves in its form, for a host that has them in a config of its own.

    Every key must be known, so that a typo cannot switch something off unnoticed.
    Raises ConfigFileError, which holds all mistakes, also when the file can't be read.
    """
    if path is None:
        return Config()
    if isinstance(path, Mapping):
        return check_config(_text_of(path), "the given settings")
    return replace(check_config(read_text(path), str(path)), source=str(Path(path).absolute()))


def _text_of(settings: Mapping[str, Any]) -> str:
    try:
        return json.dumps(settings, indent=1, ensure_ascii=False)
    except (TypeError, ValueError) as error:
        problem = ConfigProblem(path="", line=None, message=f"these are no settings as JSON has them: {error}")
        raise ConfigFileError("the given settings", [problem]) from None


def read_text(path: str | Path) -> str:
    """Return the text of a config file. Raises ConfigFileError if it can't be read."""
    try:
        content = Path(path).read_bytes()
    except FileNotFoundError:
        raise _unreadable(path, None, "there is no such file") from None
    except OSError as error:
        raise _unreadable(path, None, f"the file can't be read: {error.strerror}") from None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _unreadable(path, line, f"expected UTF-8, found the byte 0x{content[error.start]:02x}") from None


def render_config(config: Config) -> str:
    """Return settings as the text of a config file (JSON) that loads as equal settings; agents are written in full."""
    agents = [{"id": name, "memorySync": _document(section)} for name, section in config.agents.items()]
    document = {
        "agents": {"defaults": {"memorySync": _document(config.defaults)}, "list": agents},
        "serve": _document(config.serve),
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def config_schema() -> dict[str, Any]:
    """Return the JSON Schema of config.json5, each key described by the comment above it in the shipped file."""
    schema = adapter().json_schema()
    for definition in (schema, *schema["$defs"].values()):
        for described in definition["properties"].values():
            described.pop("title", None)  # pydantic's "Minscore" says less than the key itself
    _describe(schema, schema["$defs"], (), scan(reference_text()).comments)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "config.json5 of gateway-memory",
    }


def reference_text() -> str:
    """Return the shipped config.json5: every key with its default, commented."""
    return _shipped("config.json5", "config.json5")


def chinese_meanings() -> dict[str, str]:
    """Return what each key means in Chinese, by its dotted name."""
    meanings: dict[str, str] = pyjson5.decode(_shipped("config.zh.json5", "docs/config.zh.json5"))
    return meanings


def _shipped(name: str, in_checkout: str) -> str:
    package = Path(__file__).parents[1]
    inside_wheel = package / name
    return (inside_wheel if inside_wheel.exists() else package.parent / in_checkout).read_text(encoding="utf-8")


def _document(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        return {json_key(each.name): _document(getattr(value, each.name)) for each in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {key: _document(each) for key, each in value.items()}
    return value


def _describe(
    definition: dict[str, Any], definitions: dict[str, Any], path: KeyPath, comments: Mapping[KeyPath, str]
) -> None:
    for key, described in definition["properties"].items():
        if comment := comments.get((*path, key)):
            described["description"] = comment
        if "$ref" in described:
            _describe(definitions[described["$ref"].rpartition("/")[2]], definitions, (*path, key), comments)


def _unreadable(path: str | Path, line: int | None, message: str) -> ConfigFileError:
    return ConfigFileError(str(path), [ConfigProblem(path="", line=line, message=message)])

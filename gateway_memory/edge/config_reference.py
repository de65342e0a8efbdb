"""What a config file looks like: the shipped config.json5 in both languages, its JSON Schema, settings as a file."""

import dataclasses
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from gateway_memory.config.keys import json_key, known_paths
from gateway_memory.config.load import adapter
from gateway_memory.config.scan import KeyPath, dotted, scan
from gateway_memory.config.settings import Config
from gateway_memory.edge.phrases import Language, columns, texts

MEMORY: Final[KeyPath] = ("agents", "defaults", "memorySync")
"""Where the settings of a memory stand; the names of its keys leave this out."""


def named(path: KeyPath) -> str:
    """Return the name of a key as tables have it: `autoRecall.minScore`, `serve.port`."""
    return dotted(path[len(MEMORY) :] if path[: len(MEMORY)] == MEMORY else path)


def meanings(language: Language) -> dict[KeyPath, str]:
    """Return what each key means, a line each; a key that only holds others has none.

    In English it is the comment above the key in config.json5, in Chinese the text of `config_meanings_zh.json`.
    """
    if language == "en":
        comments = scan(reference_text()).comments
        return {path: " ".join(comment.split()) for path, comment in comments.items() if comment}
    chinese = texts("config_meanings_zh")
    return {path: chinese[named(path)] for path in known_paths() if named(path) in chinese}


def reference_text(language: Language = "en") -> str:
    """Return the shipped config.json5: every key with its default, commented in a language."""
    package = Path(__file__).parents[1]
    inside_wheel = package / "config.json5"
    path = inside_wheel if inside_wheel.exists() else package.parent / "config.json5"
    text = path.read_text(encoding="utf-8")
    return text if language == "en" else _in_chinese(text)


_COMMENT: Final = re.compile(r" *//")
_COLUMNS: Final = 110
"""What a comment takes of a line at most; a Chinese character takes two."""


def _in_chinese(text: str) -> str:
    """Return config.json5 with the Chinese meaning of each key in the place of its comment."""
    keys = {line: path for path, line in scan(text).lines.items() if path and isinstance(path[-1], str)}
    told = meanings("zh")
    lines = list(_comment(texts("config_meanings_zh")["config.json5"], ""))
    for number, line in enumerate(text.splitlines(), 1):
        if _COMMENT.match(line):
            continue
        if number in keys and keys[number] in told:
            lines += _comment(told[keys[number]], line[: len(line) - len(line.lstrip())])
        lines.append(line)
    return "\n".join(lines) + "\n"


def _comment(text: str, indent: str) -> Iterator[str]:
    """Yield a text as lines of a comment. No line begins with what ends a part, nor is an English word cut."""
    for paragraph in text.split("\n"):
        line, room = "", _COLUMNS - len(indent)
        for word in re.findall(r"[!-~]+[^\w\s\"“（\[{]*|\s+|.[^\w\s\"“（\[{]*", paragraph):
            if line and columns(line + word) > room:
                yield f"{indent}// {line.rstrip()}"
                line = ""
            line += word if line else word.lstrip()
        yield f"{indent}// {line}"


def render_config(config: Config) -> str:
    """Return settings as the text of a config file (JSON) that loads as equal settings; agents are written in full."""
    agents = [{"id": name, "memorySync": _document(section)} for name, section in config.agents.items()]
    document = {
        "agents": {"defaults": {"memorySync": _document(config.defaults)}, "list": agents},
        "serve": _document(config.serve),
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _document(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        return {json_key(each.name): _document(getattr(value, each.name)) for each in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {key: _document(each) for key, each in value.items()}
    return value


def config_schema(language: Language = "en") -> dict[str, Any]:
    """Return the JSON Schema of config.json5, each key described by the comment above it in the shipped file."""
    schema = adapter().json_schema()
    for definition in (schema, *schema["$defs"].values()):
        for described in definition["properties"].values():
            described.pop("title", None)  # pydantic's "Minscore" says less than the key itself
    _describe(schema, schema["$defs"], (), scan(reference_text(language)).comments)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "config.json5 of gateway-memory" if language == "en" else "gateway-memory 的 config.json5",
    }


def _describe(
    definition: dict[str, Any], definitions: dict[str, Any], path: KeyPath, comments: Mapping[KeyPath, str]
) -> None:
    for key, described in definition["properties"].items():
        if comment := comments.get((*path, key)):
            described["description"] = comment
        if "$ref" in described:
            _describe(definitions[described["$ref"].rpartition("/")[2]], definitions, (*path, key), comments)

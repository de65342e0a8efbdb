"""Read, check and show config.json5: its settings, or all of its mistakes at once. Only the settings declare keys."""

import dataclasses
import json
import math
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyjson5

from gateway_memory.config.keys import (
    ConfigFile,
    KeyPath,
    Scan,
    dotted,
    expected,
    json_key,
    known_keys,
    position,
    scan,
    suggestion,
)
from gateway_memory.config.settings import Config, MistakeAt
from gateway_memory.errors import ConfigError

if TYPE_CHECKING:
    from pydantic import TypeAdapter
    from pydantic_core import ErrorDetails

# The mistakes of a config file.


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigProblem:
    """One mistake: the dotted path of its key ("": the whole file), its line (if it has one), what was expected."""

    path: str
    line: int | None
    message: str


class ConfigFileError(ConfigError):
    """All mistakes of one config file, by line. Its text has one mistake a line, as compilers print them."""

    def __init__(self, source: str, problems: Sequence[ConfigProblem]) -> None:
        self.source = source
        self.problems = tuple(problems)
        lines = (
            (source if each.line is None else f"{source}:{each.line}", each.path, each.message) for each in problems
        )
        super().__init__("\n".join(": ".join(filter(None, parts)) for parts in lines))


def _unreadable(source: str | Path, message: str, line: int | None = None) -> ConfigFileError:
    return ConfigFileError(str(source), [ConfigProblem(path="", line=line, message=message)])


# Check a config file: return its settings, or raise all of its mistakes at once.

LONGEST_VALUE = 40  # characters of a wrong value; a longer one may be a key or a token, so only its length is shown
UNKNOWN_KEY = "unexpected_keyword_argument"
ACROSS_KEYS = "value_error"  # raised by a dataclass's own __post_init__; its message is used as it is


@cache
def adapter() -> "TypeAdapter[ConfigFile]":
    """Return pydantic's adapter for the settings. pydantic is imported here, so only when a file is checked."""
    from pydantic import TypeAdapter

    return TypeAdapter(ConfigFile)


def check_config(text: str, source: str) -> Config:
    """Read the text of a config file; `source` names it in messages. Raises ConfigFileError with every mistake."""
    try:
        raw = pyjson5.decode(text)
    except (pyjson5.Json5Exception, ValueError) as error:
        raise _syntax_mistake(source, text, str(error.args[0])) from None
    positions = scan(text)
    file, errors = _validated(_with_defaults(raw))
    problems = {
        ConfigProblem(path=dotted(path), line=line_of(positions, path), message=message)
        for path, message in (
            *((each.path, f"the key is given twice, first on line {each.first_line}") for each in positions.duplicates),
            *_repeated_agents(raw, positions),
            *_mistakes(errors, positions),
        )
    }
    if file is None or problems:
        raise ConfigFileError(source, sorted(problems, key=lambda problem: (problem.line or 0, problem.path)))
    return Config(
        defaults=file.agents.defaults.memory_sync,
        agents={entry.id.lower(): entry.memory_sync for entry in file.agents.list},
        serve=file.serve,
    )


def _validated(document: object) -> "tuple[ConfigFile | None, list[ErrorDetails]]":
    from pydantic import ValidationError

    try:
        # as JSON: pydantic's strict mode for Python values expects tuples and instances instead of lists and objects
        return adapter().validate_json(json.dumps(_within_floats(document))), []
    except ValidationError as error:
        return None, error.errors(include_url=False)


def _within_floats(value: Any) -> Any:
    """Replace integers that are too large for a float by infinity: pydantic would reject the JSON as a whole."""
    if isinstance(value, dict):
        return {key: _within_floats(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_within_floats(each) for each in value]
    if isinstance(value, int) and abs(value) > sys.float_info.max:
        return math.inf if value > 0 else -math.inf
    return value


def _with_defaults(raw: Any) -> Any:
    """Merge the defaults into each agent's section, key by key. Values of a wrong type stay, for the check to find."""
    try:
        agents = raw["agents"]
        defaults, entries = agents["defaults"]["memorySync"], agents["list"]
    except (KeyError, TypeError):
        return raw
    if not isinstance(entries, list):
        return raw
    laid_over = [
        {**entry, "memorySync": _overlaid(defaults, entry.get("memorySync", {}))} if isinstance(entry, dict) else entry
        for entry in entries
    ]
    return {**raw, "agents": {**agents, "list": laid_over}}


def _overlaid(below: Any, above: Any) -> Any:
    if not (isinstance(below, dict) and isinstance(above, dict)):
        return above
    return below | {key: _overlaid(below[key], value) if key in below else value for key, value in above.items()}


def _repeated_agents(raw: Any, positions: Scan) -> Iterator[tuple[KeyPath, str]]:
    try:
        entries = [*raw["agents"]["list"]]
    except (KeyError, TypeError):
        return
    first: dict[str, int | None] = {}
    for index, entry in enumerate(entries):
        agent_id = entry.get("id") if isinstance(entry, dict) else None
        if not isinstance(agent_id, str):
            continue
        path = ("agents", "list", index, "id")
        if agent_id.lower() in first:
            yield path, f'the agent "{agent_id}" is given twice, first on line {first[agent_id.lower()]}'
        first.setdefault(agent_id.lower(), line_of(positions, path))


def _mistakes(errors: "list[ErrorDetails]", positions: Scan) -> Iterator[tuple[KeyPath, str]]:
    for error in errors:
        path = error["loc"]
        if path[:2] == ("agents", "list") and "memorySync" in path and path not in positions.lines:
            continue  # inherited from the defaults, and reported there
        if error["type"] == UNKNOWN_KEY:
            yield path, f"unknown key; {suggestion(path)}"
        elif error["type"] == "missing":
            yield path, f"missing; expected {expected(path)}"
        elif error["type"] == ACROSS_KEYS:
            mistake = error["ctx"]["error"]
            key, _, message = str(mistake).partition(": ")
            if isinstance(mistake, MistakeAt):
                yield (*path, *mistake.at), str(mistake)
            else:  # "key: …" names the key itself
                yield ((*path, key), message) if key in known_keys(path) else (path, str(mistake))
        else:
            yield path, f"expected {expected(path)}, got {value_in_message(path, error['input'])}"


def line_of(positions: Scan, path: KeyPath) -> int | None:
    """Return the line of a path, or of the nearest enclosing object that the file contains."""
    while path and path not in positions.lines:
        path = path[:-1]
    return positions.lines.get(path)


def value_in_message(path: KeyPath, value: object) -> str:
    """Describe a wrong value, without printing one that may be a secret: a long one, or one of a key for a variable."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    text = json.dumps(value, ensure_ascii=False)
    key = str(path[-1]) if path else ""
    names_a_secret = key.endswith("Env") or (key.endswith("Url") and "@" in text)
    if not names_a_secret and len(text) <= LONGEST_VALUE:
        return text
    return f"a string of {len(value)} characters" if isinstance(value, str) else f"a number of {len(text)} digits"


def _syntax_mistake(source: str, text: str, message: str) -> ConfigFileError:
    """Translate pyjson5's message, which counts characters from 1 and names them by code point."""
    near = re.search(r" (?:starting )?near (\d+)", message)
    if near is None:
        return _unreadable(source, f"no valid JSON5: {message}")
    line, column = position(text, max(int(near[1]) - 1, 0))
    message = message.replace(near[0], "")
    message = re.sub(r"U\+([0-9a-fA-F]{4,6})", lambda match: repr(chr(int(match[1], 16))), message)
    message = re.sub(r"b'(\w+)'", lambda match: _TERMS.get(match[1], match[1]), message)
    return _unreadable(source, f"no valid JSON5 at column {column}: {message[0].lower()}{message[1:]}", line)


_TERMS = {
    "colon": "':'",
    "comma": "','",
    "JSON5Value": "a value",
    "IdentifierStart": "a key",
    "NumericLiteral": "number",
}


def load_config(path: str | Path | Mapping[str, Any] | None = None) -> Config:
    """Read and check a config file; without a path, return the built-in defaults.

    path: the file, or the settings themselves in its form, for a host that has them in a config of its own.

    Every key must be known, so that a typo cannot switch something off unnoticed.
    Raises ConfigFileError, which holds all mistakes, also when the file can't be read.
    """
    if path is None:
        return Config()
    if not isinstance(path, Mapping):
        return replace(check_config(read_text(path), str(path)), source=str(Path(path).absolute()))
    source = "the given settings"
    try:
        text = json.dumps(path, indent=1, ensure_ascii=False)
    except (TypeError, ValueError) as error:
        raise _unreadable(source, f"these are no settings as JSON has them: {error}") from None
    return check_config(text, source)


def read_text(path: str | Path) -> str:
    """Return the text of a config file. Raises ConfigFileError if it can't be read."""
    try:
        content = Path(path).read_bytes()
    except FileNotFoundError:
        raise _unreadable(path, "there is no such file") from None
    except OSError as error:
        raise _unreadable(path, f"the file can't be read: {error.strerror}") from None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _unreadable(path, f"expected UTF-8, found the byte 0x{content[error.start]:02x}", line) from None


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

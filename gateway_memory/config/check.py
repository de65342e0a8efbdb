"""Check a config file: return its settings, or raise all of its mistakes at once."""

import json
import math
import re
import sys
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

import pyjson5

from gateway_memory.config.identity import MistakeAt
from gateway_memory.config.keys import ConfigFile, expected, known_keys, suggestion
from gateway_memory.config.problem import ConfigFileError, ConfigProblem
from gateway_memory.config.scan import KeyPath, Scan, dotted, position, scan
from gateway_memory.config.settings import Config

if TYPE_CHECKING:
    from pydantic import TypeAdapter
    from pydantic_core import ErrorDetails

__all__ = ["adapter", "check_config", "line_of", "shown"]

LONGEST_SHOWN = 40  # characters of a wrong value; a longer one may be a key or a token, so only its length is shown
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
        raise ConfigFileError(source, [_syntax_problem(text, error)]) from None
    positions = scan(text)
    merged = _with_defaults(raw)
    file, errors = _validated(merged)
    problems = {
        ConfigProblem(path=dotted(path), line=line_of(positions, path), message=message)
        for path, message in (*_duplicates(positions), *_repeated_agents(raw, positions), *_mistakes(errors, positions))
    }
    if file is None or problems:
        in_order = sorted(problems, key=lambda problem: (problem.line or 0, problem.path))
        raise ConfigFileError(source, in_order)
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


def _duplicates(positions: Scan) -> Iterator[tuple[KeyPath, str]]:
    for duplicate in positions.duplicates:
        yield duplicate.path, f"the key is given twice, first on line {duplicate.first_line}"


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
            yield _of_key(path, error["ctx"]["error"])
        else:
            yield path, f"expected {expected(path)}, got {shown(path, error['input'])}"


def _of_key(path: KeyPath, mistake: ValueError) -> tuple[KeyPath, str]:
    """Return the place and the message of a dataclass's own check; "key: …" names the key itself."""
    said = str(mistake)
    if isinstance(mistake, MistakeAt):
        return (*path, *mistake.at), said
    key, _, message = said.partition(": ")
    return ((*path, key), message) if key in known_keys(path) else (path, said)


def line_of(positions: Scan, path: KeyPath) -> int | None:
    """Return the line of a path, or of the nearest enclosing object that the file contains."""
    while path and path not in positions.lines:
        path = path[:-1]
    return positions.lines.get(path)


def shown(path: KeyPath, value: object) -> str:
    """Describe a wrong value, without printing one that may be a secret: a long one, or one of a key for a variable."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    text = json.dumps(value, ensure_ascii=False)
    key = str(path[-1]) if path else ""
    names_a_secret = key.endswith("Env") or (key.endswith("Url") and "@" in text)
    if not names_a_secret and len(text) <= LONGEST_SHOWN:
        return text
    return f"a string of {len(value)} characters" if isinstance(value, str) else f"a number of {len(text)} digits"


def _syntax_problem(text: str, error: Exception) -> ConfigProblem:
    """Translate pyjson5's message, which counts characters from 1 and names them by code point."""
    said = str(error.args[0])
    found = re.search(r" (?:starting )?near (\d+)", said)
    if found is None:
        return ConfigProblem(path="", line=None, message=f"no valid JSON5: {said}")
    line, column = position(text, max(int(found[1]) - 1, 0))
    words = said.replace(found[0], "")
    words = re.sub(r"U\+([0-9a-fA-F]{4,6})", lambda match: repr(chr(int(match[1], 16))), words)
    words = re.sub(r"b'(\w+)'", lambda match: _TERMS.get(match[1], match[1]), words)
    return ConfigProblem(
        path="", line=line, message=f"no valid JSON5 at column {column}: {words[0].lower()}{words[1:]}"
    )


_TERMS = {
    "colon": "':'",
    "comma": "','",
    "JSON5Value": "a value",
    "IdentifierStart": "a key",
    "NumericLiteral": "number",
}

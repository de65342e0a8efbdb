"""Loads a config file: its settings, or all of its mistakes at once."""

import json
import math
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyjson5

from gateway_memory.config.identity import MistakeAt
from gateway_memory.config.scan import KeyPath, Scan, dotted, scan, syntax_mistake
from gateway_memory.config.settings import Config, tuned

if TYPE_CHECKING:
    from pydantic import TypeAdapter
    from pydantic_core import ErrorDetails
from gateway_memory.config.keys import TUNED, ConfigFile, expected, known_keys, suggestion
from gateway_memory.config.mistakes import ConfigFileError, ConfigProblem, unreadable

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
        line, message = syntax_mistake(text, str(error.args[0]))
        raise unreadable(source, message, line) from None
    positions = scan(text)
    file, errors = _validate(_with_defaults(raw))
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


def _validate(document: object) -> "tuple[ConfigFile | None, list[ErrorDetails]]":
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


def load_config(path: str | Path | Mapping[str, Any] | None = None, *, own: Path | None = None) -> Config:
    """Read and check a config file; without a path, return the built-in defaults.

    path: the file, or the settings themselves in its form, for a host that has them in a config of its own.
    own: a workspace's own file, which need not exist. Without a path, its least scores apply.

    Every key must be known, so that a typo cannot switch something off unnoticed.
    Raises ConfigFileError, which holds all mistakes, also when the file can't be read.
    """
    if path is None:
        return Config() if own is None else _own_config(own)
    if not isinstance(path, Mapping):
        return replace(check_config(read_text(path), str(path)), source=str(Path(path).absolute()))
    source = "the given settings"
    try:
        text = json.dumps(path, indent=1, ensure_ascii=False)
    except (TypeError, ValueError) as error:
        raise unreadable(source, f"these are no settings as JSON has them: {error}") from None
    return check_config(text, source)


def _own_config(path: Path) -> Config:
    """Return the least scores of a workspace's own file.

    A workspace may have come with somebody's project. So this file names no server, and switches nothing on.
    """
    if not path.exists():
        return Config()
    config = check_config(read_text(path), str(path))
    if config != tuned(Config(), config):
        names = " and ".join(dotted(each) for each in TUNED)
        raise unreadable(path, f"only {names} can stand in this file; name a file with the others by --config")
    return config


def read_text(path: str | Path) -> str:
    """Return the text of a config file. Raises ConfigFileError if it can't be read."""
    try:
        content = Path(path).read_bytes()
    except FileNotFoundError:
        raise unreadable(path, "there is no such file") from None
    except OSError as error:
        raise unreadable(path, f"the file can't be read: {error.strerror}") from None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise unreadable(path, f"expected UTF-8, found the byte 0x{content[error.start]:02x}", line) from None

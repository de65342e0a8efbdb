"""`gateway-memory config check | show | schema`."""

import argparse
import json
import os
import sys
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path

from gateway_memory.config.keys import json_key
from gateway_memory.config.load import line_of, load_config, read_text
from gateway_memory.config.mistakes import ConfigFileError, ConfigProblem
from gateway_memory.config.scan import NO_JSON5, KeyPath, dotted, scan
from gateway_memory.config.serving import serve_options
from gateway_memory.config.settings import Config, MemorySync
from gateway_memory.edge.config_reference import config_schema, reference_text, render_config
from gateway_memory.edge.phrases import SHELL_LANGUAGE, fill
from gateway_memory.edge.session_key import CHAT_KINDS
from gateway_memory.errors import ConfigError, UsageError

# What a valid config says that would silently do something else here: a typo in a name, a file that is not there.

_NEAR = 0.7
_DEFAULTS: KeyPath = ("agents", "defaults", "memorySync")


def doubts(config: Config) -> Iterator[tuple[KeyPath, str]]:
    """Yield the path of each value that would not do what it says on this machine, and what to do."""
    known = set(_of_section(config.defaults))
    yield from (((*_DEFAULTS, *path), message) for path, message in sorted(known, key=str))
    for number, section in enumerate(config.agents.values()):
        new = set(_of_section(section)) - known
        yield from (
            (("agents", "list", number, "memorySync", *path), message) for path, message in sorted(new, key=str)
        )
    yield from _of_service(config)


def _of_section(section: MemorySync) -> Iterator[tuple[KeyPath, str]]:
    extract, mqtt, store = section.auto_extract, section.notify.mqtt, section.store
    for number, kind in enumerate(extract.exclude_session_types):
        near = get_close_matches(kind, CHAT_KINDS, n=1, cutoff=_NEAR)
        if kind not in CHAT_KINDS and near:
            yield ("autoExtract", "excludeSessionTypes", number), f'no session has this type; did you mean "{near[0]}"?'
    if extract.max_wait_seconds < extract.debounce_seconds:
        yield (
            ("autoExtract", "maxWaitSeconds"),
            f"expected at least debounceSeconds ({extract.debounce_seconds:g}), or the debounce never ends by itself",
        )
    for number, owner in enumerate(section.identity.owner):
        if not any(map(str.isalpha, owner)):
            yield (
                ("identity", "owner", number),
                f'a number alone is nobody; expected "channel:sender": "telegram:{owner}"',
            )
    named: list[tuple[KeyPath, str]] = [(("autoExtract", "apiKeyEnv"), extract.api_key_env)]
    if section.notify.enabled and mqtt.enabled:
        named += _values(("notify", "mqtt"), mqtt, "secret_env", "username_env", "password_env")
        if mqtt.tls:
            yield from _missing(("notify", "mqtt"), mqtt, "ca_file", "cert_file", "key_file")
    if store.is_shared:
        named.append((("store", "dsnEnv"), store.dsn_env))
        named += [(("store", "shards", number), name) for number, name in enumerate(store.shards)]
    yield from (
        (path, "the environment variable that it names is not set here")
        for path, name in named
        if name and name not in os.environ
    )


def _of_service(config: Config) -> Iterator[tuple[KeyPath, str]]:
    yield from _missing(("serve", "tls"), config.serve.tls, "certificate", "key")
    try:
        serve_options(config, workspace=None, default=Path(), host=None, port=None, socket=None)
    except ConfigError as error:
        yield ("serve",), str(error)


def _missing(path: KeyPath, section: object, *fields: str) -> Iterator[tuple[KeyPath, str]]:
    """Yield each of the fields of a section that names a file which is not there."""
    for key, file in _values(path, section, *fields):
        if file and not Path(file).expanduser().is_file():
            yield key, "there is no such file"


def _values(path: KeyPath, section: object, *fields: str) -> list[tuple[KeyPath, str]]:
    return [((*path, json_key(name)), getattr(section, name)) for name in fields]


def run(args: argparse.Namespace) -> int:
    """Carry out a parsed `config` command; returns the exit code."""
    sys.stdout.write(_output(args))
    return 0


def _checked(file: Path) -> Config:
    """Return the settings of a file. Raises ConfigFileError, which says where the parser has read no further."""
    try:
        return load_config(file)
    except ConfigFileError as error:
        if not error.problems[0].message.startswith(NO_JSON5):
            raise
        rest = ConfigProblem(path="", line=None, message="the rest was not read: mend this, and check again")
        raise ConfigFileError(error.source, [*error.problems, rest]) from None


def _output(args: argparse.Namespace) -> str:
    if args.action == "schema":
        return json.dumps(config_schema(), indent=2, ensure_ascii=False) + "\n"
    if args.action == "check":
        config = _checked(args.file)
        lines = scan(read_text(args.file))
        problems = [
            ConfigProblem(path=dotted(path), line=line_of(lines, path), message=text) for path, text in doubts(config)
        ]
        if problems:
            raise ConfigFileError(args.file, sorted(problems, key=lambda problem: problem.line or 0))
        return fill("phrases", "shell_no_mistakes", file=args.file) + "\n"
    if args.file is None and args.agent is None:
        return reference_text(SHELL_LANGUAGE.get())
    config = load_config(args.file)
    if args.agent is None:
        return render_config(config)
    if args.agent.lower() not in config.agents:
        there = ", ".join(config.agents) or "none"
        raise UsageError(f'there is no agent "{args.agent}" in agents.list ({there}); others have agents.defaults')
    return render_config(Config(defaults=config.for_agent(args.agent)))

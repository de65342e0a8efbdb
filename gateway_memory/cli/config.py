"""`gateway-memory config check | show | schema`."""

import argparse
import json
import sys

from gateway_memory.cli.surroundings import doubts
from gateway_memory.config.check import line_of
from gateway_memory.config.load import config_schema, load_config, read_text, reference_text, render_config
from gateway_memory.config.problem import ConfigFileError, ConfigProblem
from gateway_memory.config.scan import dotted, scan
from gateway_memory.config.settings import Config
from gateway_memory.errors import UsageError

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the three actions of `config`."""
    actions = parser.add_subparsers(dest="action", required=True)
    check = actions.add_parser("check", help="list every mistake of a config file; exits 1 if there is one")
    check.add_argument("file", nargs="?", default="config.json5", help="default: %(default)s")
    show = actions.add_parser("show", help="print the settings in force, or the commented defaults")
    show.add_argument("file", nargs="?", help="a config file; without it, the built-in defaults with their comments")
    show.add_argument("--agent", metavar="ID", help="the settings of this agent alone")
    actions.add_parser("schema", help="print the JSON Schema of the config file, for editors")


def run(args: argparse.Namespace) -> int:
    """Carry out a parsed `config` command; returns the exit code."""
    try:
        text = _output(args)
    except ConfigFileError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(text)
    return 0


def _output(args: argparse.Namespace) -> str:
    if args.action == "schema":
        return json.dumps(config_schema(), indent=2, ensure_ascii=False) + "\n"
    if args.action == "check":
        config = load_config(args.file)
        lines = scan(read_text(args.file))
        found = [
            ConfigProblem(path=dotted(path), line=line_of(lines, path), message=said) for path, said in doubts(config)
        ]
        if found:
            raise ConfigFileError(args.file, sorted(found, key=lambda problem: problem.line or 0))
        return f"{args.file}: no mistakes\n"
    if args.file is None and args.agent is None:
        return reference_text()
    config = load_config(args.file)
    if args.agent is None:
        return render_config(config)
    if args.agent.lower() not in config.agents:
        there = ", ".join(config.agents) or "none"
        raise UsageError(f'there is no agent "{args.agent}" in agents.list ({there}); others have agents.defaults')
    return render_config(Config(defaults=config.for_agent(args.agent)))

"""`gateway-memory config check | show | schema`."""

import argparse
import json
import sys
from pathlib import Path

from gateway_memory.cli.config_doubts import doubts
from gateway_memory.config.load import line_of, load_config, read_text
from gateway_memory.config.mistakes import ConfigFileError, ConfigProblem
from gateway_memory.config.scan import NO_JSON5, dotted, scan
from gateway_memory.config.settings import Config
from gateway_memory.edge.config_reference import config_schema, reference_text, render_config
from gateway_memory.edge.phrases import SHELL_LANGUAGE, fill
from gateway_memory.errors import UsageError


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
        return json.dumps(config_schema(SHELL_LANGUAGE.get()), indent=2, ensure_ascii=False) + "\n"
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

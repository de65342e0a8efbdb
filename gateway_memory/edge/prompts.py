"""The prompts about saving, with the commands of this installation. Light to import, since hooks ask often."""

import os
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gateway_memory.edge.phrases import texts


def own_command() -> str:
    """Return the start of a shell command that runs `gateway-memory` of this installation, independent of the PATH."""
    script = Path(sys.executable).with_name("gateway-memory")
    if script.is_file() and os.access(script, os.X_OK):
        return shlex.quote(str(script))
    return f"{shlex.quote(sys.executable)} -m gateway_memory.cli.entry"


_COMMANDS: Final = {
    "fact": '{command} save-fact{reach} --content "…" --type W --entities "…" --confidence 0.9',
    "summary": '{command} save-summary{reach} --topic "…" --summary "…" --decisions "…" --todos "…"',
    "stage": '{command} save-fact{reach} --content "…" --type S',
}
_SEARCH: Final = '{command} search{place} --semantic --max-results 5 "…"'


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompts:
    """The prompts for the sessions of one workspace. Their commands are complete and run from any folder.

    workspace, config: paths, or "" for the commands' own defaults.
    agent: the agent whose overrides in the config apply.
    """

    workspace: str = ""
    config: str = ""
    agent: str = ""

    def rule(self, session_id: str, *, chinese: bool) -> str:
        """Return the rule for the agent's prompt. It is the first layer and needs no turn of its own."""
        return self._text("rule", session_id, chinese=chinese)

    def tools(self, session_id: str, *, chinese: bool) -> str:
        """Return two lines for a session's start that tell an agent its commands."""
        search = _SEARCH.format(command=own_command(), place=self._place(agent=False))
        return self._text("tools", session_id, chinese=chinese, search=search)

    def flush(self, session_id: str, *, usage: object, messages: object, chinese: bool) -> str:
        """Return the request before a compaction. usage: percent; messages: the number of messages."""
        return self._text("flush", session_id, chinese=chinese, usage=usage, messages=messages)

    def followup(self, session_id: str, *, chinese: bool) -> str:
        """Return the prompt of the last layer, which costs the agent a turn of its own."""
        return self._text("followup", session_id, chinese=chinese)

    def _text(self, name: str, session_id: str, *, chinese: bool, **values: object) -> str:
        """Return a prompt of `texts/prompts.json` with the commands for a session."""
        reach = f"{self._place()} --session={shlex.quote(session_id)}"
        commands = {each: line.format(command=own_command(), reach=reach) for each, line in _COMMANDS.items()}
        return str(texts("prompts")[name]["zh" if chinese else "en"]).format(**commands, **values)

    def _place(self, *, agent: bool = True) -> str:
        given = [("workspace", self.workspace), ("config", self.config), ("agent", self.agent if agent else "")]
        return "".join(f" --{name} {shlex.quote(value)}" for name, value in given if value)


# Decide whether observations are worth a summary. Pure functions with light imports, since hooks call them often.

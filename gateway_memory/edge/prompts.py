"""The prompts about saving, and whether enough happened for one. Pure and light to import, since hooks ask often."""

import os
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from extractor import is_greeting, is_mostly_chinese, is_small_talk
from gateway_memory.edge.phrases import texts
from gateway_memory.store.journal.opened import Observation

# The shell command of this installation, for prompts and hooks, which can't rely on the PATH.


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

ENOUGH: Final = 40
"""The letters in the user's own words that make a session worth a summary. A Han character counts as two and a half."""
MUCH: Final = 150
"""The minimum at a first stop: each letter counts 1, a tool 30, and a decision, an error or a todo 50."""
_TOOL: Final = 30
_DEED: Final = 50


def is_significant(observations: Sequence[Observation]) -> bool:
    """Return whether a session did or decided something, or whether the user said enough for a summary.

    A decision, an error, a todo or a tool call is enough. So are about 40 letters or 16 Han characters from the user
    that are not greetings. Private observations do not count.
    """
    return any(_is_deed(each) for each in observations) or _user_letters(observations) >= ENOUGH


def much_happened(observations: Sequence[Observation]) -> bool:
    """Return whether a session is worth a follow-up already at the agent's first stop.

    An answered question or a small task with a tool or two is not, since a later stop or the end can still save it.
    """
    done = sum(_TOOL if each.kind == "tool" else _DEED for each in observations if _is_deed(each))
    return _user_letters(observations) + done >= MUCH


def _is_deed(each: Observation) -> bool:
    return not each.private and bool(each.content.strip()) and each.kind not in ("user", "assistant")


def _user_letters(observations: Sequence[Observation]) -> float:
    """Return how much the user said, in letters. A Han character counts as two and a half."""
    letters = 0.0
    for each in observations:
        content = each.content.strip()
        if each.kind == "user" and not each.private and not (is_greeting(content) or is_small_talk(content)):
            letters += sum(2.5 if character >= "\u2e80" else character.isalnum() for character in content[:400])
    return letters


def is_chinese(observations: Sequence[Observation]) -> bool:
    """Return whether the user writes Chinese, to select the language of prompts."""
    return is_mostly_chinese(
        "".join(each.content[:400] for each in observations if each.kind == "user" and not each.private)
    )

"""The prompts about saving, and whether enough happened for one. Pure and light to import, since hooks ask often."""

import os
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from extractor import is_greeting, is_mostly_chinese, is_small_talk
from gateway_memory.store.journal.session_state import Observation

# The shell command of this installation, for prompts and hooks, which can't rely on the PATH.


def own_command() -> str:
    """Return the start of a shell command that runs `gateway-memory` of this installation, independent of the PATH."""
    script = Path(sys.executable).with_name("gateway-memory")
    if script.is_file() and os.access(script, os.X_OK):
        return shlex.quote(str(script))
    return f"{shlex.quote(sys.executable)} -m gateway_memory.cli.entry"


_FACT: Final = '{command} save-fact{reach} --content "…" --type W --entities "…" --confidence 0.9'
_SUMMARY: Final = '{command} save-summary{reach} --topic "…" --summary "…" --decisions "…" --todos "…"'
_STAGE: Final = '{command} save-fact{reach} --content "…" --type S'
_SEARCH: Final = '{command} search{place} --semantic --max-results 5 "…"'

_RULE: Final = (
    """\
## Saving the session to memory, in the same turn
When you have completed what the user asked for, once a session and in the same turn:
1. Judge whether the session holds anything that a later one should know; if not, do nothing.
2. Save a summary, and each fact that will matter later (W: about the world, B: about the user's life and projects,
   O: what the user likes or thinks):
```bash
{commands}
```
3. Leave out what is private or secret, and what the memory holds already. Say nothing of it in your reply.""",
    """\
## 任务完成时保存记忆（在自己的这一轮里）
完成用户的请求后，每个会话一次，在同一轮里：
1. 判断本次会话有没有以后用得到的内容；没有就什么都不做。
2. 保存会话摘要，并逐条保存关键事实（W 客观事实，B 关于用户和项目，O 看法和偏好）：
```bash
{commands}
```
3. 不保存隐私和密钥，不重复已有的记忆；静默执行，不在回复中提及。""",
)
_FLUSH: Final = (
    """\
[Memory Flush]

The context is about to be compacted (usage {usage}%, {messages} messages). Look back over the conversation and save the
key facts that are not saved yet, one command each, and one stage summary of 50 to 100 words:
```bash
{fact}
{stage}
```
W: facts of the world; B: what happened in the project; O: what the user prefers. Leave out what is private, secret or
already in MEMORY.md. If there is nothing to keep, do nothing. Go on silently.""",
    """\
[Memory Flush]

上下文即将压缩（当前使用率 {usage}%，消息数 {messages}）。
请回顾当前对话，逐条保存尚未保存的关键事实，并保存一条 50-100 字的阶段摘要：
```bash
{fact}
{stage}
```
W 客观事实，B 关于用户和项目，O 看法和偏好。不保存隐私和密钥，不重复 MEMORY.md 已有内容。
没有需要保存的就不操作。静默继续，不向用户报告。""",
)
_FOLLOWUP: Final = (
    """\
[Session Save]

The task is done and nothing of this session is saved yet. Save a summary (topic in one line, 100 to 200 words,
decisions, todos) and the key facts:
```bash
{commands}
```
If there is too little to say, do nothing. Leave out what is private or secret. Do not report to the user.""",
    """\
[Session Save]

任务已完成，本次会话还没有保存。请保存摘要（一句话主题、100-200 字摘要、关键决策、待办）和关键事实：
```bash
{commands}
```
内容太少则不操作；不保存隐私和密钥；完成后不向用户报告。""",
)


_TOOLS: Final = (
    """\
Memory of earlier sessions: before you answer what may depend on them, run `{search}`.
When something should be known later, save it in the same turn, silently: `{fact}`; once a session: `{summary}`.""",
    """\
早先会话的记忆：回答可能与之有关的问题之前，先运行 `{search}`。
有以后用得到的内容时，在同一轮里静默保存：`{fact}`；每个会话一次摘要：`{summary}`。""",
)


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
        return _RULE[chinese].format(commands=self._commands(session_id))

    def tools(self, session_id: str, *, chinese: bool) -> str:
        """Return two lines for a session's start that tell an agent its commands."""
        return _TOOLS[chinese].format(
            search=_SEARCH.format(command=own_command(), place=self._place(agent=False)),
            fact=self._filled(_FACT, session_id),
            summary=self._filled(_SUMMARY, session_id),
        )

    def flush(self, session_id: str, *, usage: object, messages: object, chinese: bool) -> str:
        """Return the request before a compaction. usage: percent; messages: the number of messages."""
        fact, stage = self._filled(_FACT, session_id), self._filled(_STAGE, session_id)
        return _FLUSH[chinese].format(usage=usage, messages=messages, fact=fact, stage=stage)

    def followup(self, session_id: str, *, chinese: bool) -> str:
        """Return the prompt of the last layer, which costs the agent a turn of its own."""
        return _FOLLOWUP[chinese].format(commands=self._commands(session_id))

    def _commands(self, session_id: str) -> str:
        return "\n".join(self._filled(line, session_id) for line in (_FACT, _SUMMARY))

    def _filled(self, line: str, session_id: str) -> str:
        reach = f"{self._place()} --session={shlex.quote(session_id)}"
        return line.format(command=own_command(), reach=reach)

    def _place(self, *, agent: bool = True) -> str:
        given = [("workspace", self.workspace), ("config", self.config), ("agent", self.agent if agent else "")]
        return "".join(f" --{name} {shlex.quote(value)}" for name, value in given if value)


def rule_text(session: str, *, chinese: bool = False, workspace: str = "") -> str:
    """Return the rule for an agent's prompt. `memory.rule_text(session)` fills in all arguments.

    session: the `session_id`.
    workspace: the folder that the commands name, or "" if the agent's environment names it.
    """
    return Prompts(workspace=workspace).rule(session, chinese=chinese)


# Decide whether observations are worth a summary. Pure functions with light imports, since hooks call them often.

ENOUGH: Final = 40
"""The letters in the user's own words that make a session worth a summary. A Han character counts as two and a half."""
MUCH: Final = 150
"""The minimum at a first stop: each letter counts 1, a tool 30, and a decision, an error or a todo 50."""
_TOOL: Final = 30
_DEED: Final = 50


def is_significant(seen: Sequence[Observation]) -> bool:
    """Return whether a session did or decided something, or whether the user said enough for a summary.

    A decision, an error, a todo or a tool call is enough. So are about 40 letters or 16 Han characters from the user
    that are not greetings. Private observations do not count.
    """
    return any(_is_deed(each) for each in seen) or _said(seen) >= ENOUGH


def much_happened(seen: Sequence[Observation]) -> bool:
    """Return whether a session is worth a follow-up already at the agent's first stop.

    An answered question or a small task with a tool or two is not, since a later stop or the end can still save it.
    """
    done = sum(_TOOL if each.kind == "tool" else _DEED for each in seen if _is_deed(each))
    return _said(seen) + done >= MUCH


def _is_deed(each: Observation) -> bool:
    return not each.private and bool(each.content.strip()) and each.kind not in ("user", "assistant")


def _said(seen: Sequence[Observation]) -> float:
    """Return how much the user said, in letters. A Han character counts as two and a half."""
    said = 0.0
    for each in seen:
        content = each.content.strip()
        if each.kind == "user" and not each.private and not (is_greeting(content) or is_small_talk(content)):
            said += sum(2.5 if character >= "\u2e80" else character.isalnum() for character in content[:400])
    return said


def is_chinese(seen: Sequence[Observation]) -> bool:
    """Return whether the user writes Chinese, to select the language of prompts."""
    return is_mostly_chinese("".join(each.content[:400] for each in seen if each.kind == "user" and not each.private))

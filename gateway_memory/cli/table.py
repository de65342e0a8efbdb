"""The shell's commands, one entry each. The parser, its help, the completion and docs/commands.md are made from it."""

import argparse
from argparse import ArgumentParser
from pathlib import Path
from typing import Final

from gateway_memory.cli import agent, config, documents, memory, postgres, serve, transfer
from gateway_memory.cli import serve as mcp
from gateway_memory.cli import serve as page
from gateway_memory.cli import transfer as reading
from gateway_memory.cli.places import add_place, add_workspace
from gateway_memory.commands.command import ShellCommand
from gateway_memory.hooks import install

__all__ = ["COMMANDS", "CONNECT_COMMANDS"]


# `gateway-memory connect HOST` and `gateway-memory disconnect HOST`: their options.

_HOSTS: Final = ("hermes", "nanobot", "openclaw")
"""The gateways, each a module of `gateway_memory.connect`."""
_URL: Final = "http://127.0.0.1:8765"


def _add_host(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("host", choices=_HOSTS)
    parser.add_argument("--file", type=Path, metavar="FILE", help="the gateway's config (default: its usual place)")


def _add_connect(parser: argparse.ArgumentParser) -> None:
    _add_host(parser)
    add_workspace(parser)
    parser.add_argument("--config", type=Path, metavar="FILE", help="the memory's config (hermes, nanobot)")
    parser.add_argument(
        "--url", default=_URL, help="where the service listens, or unix:/path of its socket (default: %(default)s)"
    )
    parser.add_argument("--dry-run", action="store_true", help="only show what would be changed")


CONNECT_COMMANDS: Final = (
    ShellCommand(
        name="connect",
        help=("give a gateway the memory of a running service", "让一个网关用上正在运行的服务的记忆"),
        add_arguments=_add_connect,
        run="gateway_memory.connect.command:run_connect",
        keeps_log=False,
    ),
    ShellCommand(
        name="disconnect",
        help=("take the memory out of a gateway again", "把记忆从网关里移除"),
        add_arguments=_add_host,
        run="gateway_memory.connect.command:run_disconnect",
        keeps_log=False,
    ),
)


def _chat(parser: ArgumentParser) -> None:
    add_place(parser)
    parser.add_argument(
        "--model",
        metavar="PROVIDER/MODEL",
        help="openai/… or anthropic/…; default: the model of the config, else by the key that is set",
    )


def _distill(parser: ArgumentParser) -> None:
    add_place(parser)
    parser.add_argument("--dry-run", action="store_true", help="only show them, and why")


def _replay(parser: ArgumentParser) -> None:
    add_place(parser)
    parser.add_argument("file", type=Path)
    parser.add_argument("--turns", type=Path, metavar="FILE", help="write what became of each turn, as JSON lines")


def _listen(parser: ArgumentParser) -> None:
    add_place(parser)
    parser.add_argument("--json", action="store_true", help="as JSON lines")


def _doctor(parser: ArgumentParser) -> None:
    parser.add_argument("part", choices=["mqtt", "episodes", "model", "sessions"])
    add_place(parser)


def _completion(parser: ArgumentParser) -> None:
    parser.add_argument("shell", choices=["bash", "zsh", "fish"])


COMMANDS: Final = (
    *memory.COMMANDS,
    ShellCommand(
        name="chat",
        help=("a small gateway in the terminal", "终端里的一个小网关"),
        add_arguments=_chat,
        run="gateway_memory.cli.chat:run",
    ),
    ShellCommand(
        name="retry",
        help=("read the turns again on which the model failed", "重新读取模型失败的那些轮次"),
        add_arguments=add_place,
        run="gateway_memory.cli.upkeep:run_retry",
    ),
    ShellCommand(
        name="distill",
        help=("move facts of the log that have earned it up to MEMORY.md", "把日志里够格的事实提炼进 MEMORY.md"),
        add_arguments=_distill,
        run="gateway_memory.cli.upkeep:run_distill",
    ),
    ShellCommand(
        name="replay",
        help=(
            "feed a transcript (JSON lines: session, user, reply, at) through the memory",
            "把一份对话记录（JSON 行：session、user、reply、at）送进记忆",
        ),
        add_arguments=_replay,
        run="gateway_memory.cli.replay:run",
    ),
    ShellCommand(
        name="listen",
        help=("print what gateways announce over MQTT, as it comes", "实时打印各网关经 MQTT 发布的内容"),
        add_arguments=_listen,
        run="gateway_memory.cli.mqtt:run_listen",
    ),
    ShellCommand(
        name="doctor",
        help=(
            "say in words what is wrong with a connection, with the model, or with what was said and its index",
            "用文字说明连接、模型、或对话原话及其索引哪里出了问题",
        ),
        add_arguments=_doctor,
        run="gateway_memory.cli.upkeep:run",
    ),
    ShellCommand(
        name="demo",
        help=("the acceptance criteria, shown on a conversation", "在一段对话上逐条展示验收标准"),
        run="gateway_memory.cli.demo:run",
    ),
    ShellCommand(
        name="completion",
        help=("print what lets a shell complete our commands", "输出命令补全脚本"),
        add_arguments=_completion,
        run="gateway_memory.cli.main:print_completion",
    ),
    *serve.COMMANDS,
    *page.PAGE_COMMANDS,
    mcp.MCP_COMMAND,
    *agent.COMMANDS,
    *transfer.COMMANDS,
    reading.READ_COMMAND,
    *CONNECT_COMMANDS,
    *postgres.DB_COMMANDS,
    *postgres.MOVE_COMMANDS,
    *documents.COMMANDS,
    ShellCommand(
        name="hooks",
        help=("install the hooks of an editor, show them, take them out again", "安装、查看、移除编辑器的 hooks"),
        add_arguments=install.add_arguments,
        run="gateway_memory.hooks.install:run",
    ),
    ShellCommand(
        name="config",
        help=("check a config file, show settings, print their schema", "检查配置文件、显示设置、输出 JSON Schema"),
        add_arguments=config.add_arguments,
        run="gateway_memory.cli.config:run",
    ),
)

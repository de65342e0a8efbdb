"""How many requests to a model begin with the whole of the one before, while the memory learns in between.

    python benchmarks/prefix.py --turns 31 --over proxy openclaw nanobot hermes hooks mcp

A provider caches what a request has in common with one before, so that each change in the middle is paid again. A talk
goes on turn by turn, and after each turn something is learnt in another talk. Printed are, for each way, the requests
that begin with the whole of the one before; those that begin with all that stood before its newest words, as where a
host drops what it was given after each reply; those whose system prompt stayed; and whether the model was told what was
learnt last. The gateways are the real ones, which `make test-gateways` installs, with a model on loopback. An editor
is played, as its documentation has it: what a hook gives stays beside its prompt. So is a client of MCP, which sends
the instructions and the tools with each request, and keeps what a tool has answered.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests/gateways"), str(ROOT / "tests/programs")]

Talk = Callable[[str, str], None]
"""Says a text in a talk of this name."""
Bodies = Callable[[], list[dict[str, Any]]]
FIRST = "Good morning, this talk goes on."


def texts_of(body: dict[str, Any]) -> tuple[str, list[str]]:
    """Return the system prompt of a request, and its messages, each as JSON."""
    messages: list[dict[str, Any]] = body["messages"] if "messages" in body else body["input"]
    outside = json.dumps(body.get("system", body.get("instructions", "")))
    system = [each for each in messages if each.get("role") in ("system", "developer")]
    others = [each for each in messages if each.get("role") not in ("system", "developer")]
    return outside + json.dumps([each["content"] for each in system]), [json.dumps(each) for each in others]


def measure(name: str, turns: int, say: Talk, bodies: Bodies) -> None:
    """Talk, and print what stayed."""
    for turn in range(turns):
        say("talk", FIRST if turn == 0 else f"Which colour has gate {turn - 1}?")
        say(f"other {turn}", f"Remember that gate {turn} is colour{turn}.")
    ours = [texts_of(body) for body in bodies() if is_of_talk(body)]
    pairs = list(pairwise(ours))
    whole = sum(two[0] == one[0] and two[1][: len(one[1])] == one[1] for one, two in pairs)
    before = sum(two[0] == one[0] and two[1][: newest(one[1])] == one[1][: newest(one[1])] for one, two in pairs)
    system = sum(two[0] == one[0] for one, two in pairs)
    knows = any(f"colour{turns - 2}" in text for text in (ours[-1][0], *ours[-1][1]))
    print(
        f"{name:18} {whole:3} of {len(pairs)} begin with the whole of the one before, {before} up to its newest words; "
        f"{system} with its system prompt; told what was learnt last: {'yes' if knows else 'no'}",
        flush=True,
    )


def newest(messages: Sequence[str]) -> int:
    """Return the place of the last message with words of the person: a host may add messages of its own."""
    return max(at for at, text in enumerate(messages) if FIRST in text or "Which colour has gate" in text)


def is_of_talk(body: dict[str, Any]) -> bool:
    """Return whether a request is one of the talk that is compared: the opening of another one may quote it."""
    _, messages = texts_of(body)
    return FIRST in messages[0] and "Remember that gate" not in messages[0]


@contextmanager
def proxy(folder: Path) -> Iterator[dict[str, tuple[Talk, Bodies]]]:
    """Yield the proxy's four protocols."""
    import httpx2
    from fronted import Front
    from served import service, written
    from upstream import Answer, upstream

    workspace = folder / "main"
    with upstream() as model:
        config = written(folder, agents={"main": {"workspace": str(workspace)}}, port=0, proxy={"upstream": model.url})
        with service(config, workspaces={"main": workspace}) as running:
            front = Front(running, model, workspace)

            def form(path: str, reply: dict[str, Any], messages: str) -> tuple[Talk, Bodies]:
                base = front.base(front.token(path)).removesuffix("/v1")
                talks: dict[str, list[dict[str, Any]]] = {}

                def say(talk: str, text: str) -> None:
                    history = talks.setdefault(talk, [])
                    history.append({"role": "user", "content": text})
                    model.script.append(Answer(pieces=[json.dumps(reply).encode()]))
                    body = {"model": "m", messages: history, "max_tokens": 9, "stream": False}
                    httpx2.post(f"{base}/{path}", json=body, timeout=60).raise_for_status()
                    history.append({"role": "assistant", "content": "I see."})
                    front.flush()

                return say, lambda: [asked.json for asked in model.asked if asked.path == f"/{path}"]

            text = [{"type": "text", "text": "I see."}]
            output = [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I see."}]}]
            choice = {"index": 0, "message": {"role": "assistant", "content": "I see."}, "finish_reason": "stop"}
            ollama = {"message": {"role": "assistant", "content": "I see."}, "done": True}
            replies: dict[str, tuple[str, dict[str, Any], str]] = {
                "proxy, chat": ("v1/chat/completions", {"choices": [choice]}, "messages"),
                "proxy, responses": (
                    "v1/responses",
                    {"object": "response", "id": "", "status": "completed", "output": output},
                    "input",
                ),
                "proxy, messages": (
                    "v1/messages",
                    {"type": "message", "content": text, "stop_reason": "end_turn"},
                    "messages",
                ),
                "proxy, ollama": ("api/chat", ollama, "messages"),
            }
            yield {name: form(*values) for name, values in replies.items()}


@contextmanager
def openclaw(folder: Path) -> Iterator[dict[str, tuple[Talk, Bodies]]]:
    """Yield the real OpenClaw with its plugin."""
    from live_service import LiveService
    from openclaw_turns import gateway
    from stub_model import stub_model

    with ExitStack() as stack:
        service = LiveService(folder, {"owner": ["openclaw:operator"]})
        stack.callback(service.kill)
        service.start()
        model = stack.enter_context(stub_model())
        host = gateway(stack, folder / "with", model.port, service)

        def say(talk: str, text: str) -> None:
            host.chat(text, user=talk.replace(" ", "-"))
            time.sleep(0.3)  # its plugin hands the turn over beside the reply
            service.flush()

        yield {"openclaw": (say, lambda: [each.body for each in model.requests])}


@contextmanager
def nanobot(folder: Path) -> Iterator[dict[str, tuple[Talk, Bodies]]]:
    """Yield the real nanobot with its plugin."""
    from nanobot_host import install
    from stub_model import stub_model
    from test_nanobot import connected

    with stub_model() as model, connected(install(), model, folder) as host:

        def say(talk: str, text: str) -> None:
            place: dict[str, Any] = (
                {} if talk == "talk" else {"channel": "discord", "chat_id": "77", "metadata": {"guild_id": None}}
            )
            host.ask("1|zoe" if talk == "talk" else "2", text, **place)
            time.sleep(1)  # the rules read the turn

        yield {"nanobot": (say, lambda: [each.body for each in model.requests])}


@contextmanager
def hermes(folder: Path) -> Iterator[dict[str, tuple[Talk, Bodies]]]:
    """Yield the real Hermes with its plugin."""
    from stub_model import stub_model
    from test_hermes import Hermes

    python = ROOT / ".gateways/hermes-0.19.0/bin/python"
    with stub_model() as model:
        host = Hermes(python, folder / "home", model.port)
        host.start()

        def say(talk: str, text: str) -> None:
            host.ask(talk.replace(" ", "-"), "1", text)
            time.sleep(1)

        try:
            yield {"hermes": (say, lambda: [each.body for each in model.requests])}
        finally:
            host.kill()


@contextmanager
def remembering(folder: Path) -> Iterator[tuple[Any, Path, Callable[[str, str], None]]]:
    """Yield a service, its workspace, and what lets the owner say something in another session."""
    from served import OWNER, service, written

    workspace = folder / "main"
    config = written(folder, agents={"main": {"workspace": str(workspace)}}, port=0)
    with service(config, workspaces={"main": workspace}) as running:

        def learn(talk: str, text: str) -> None:
            told = {"user": text, "reply": "I see."}
            running.answer("after_reply", {"id": talk, "speaker": {**OWNER, "key": f"agent:main:{talk}"}, **told})
            running.answer("flush", {})

        yield running, workspace, learn


@contextmanager
def hooks(folder: Path) -> Iterator[dict[str, tuple[Talk, Bodies]]]:
    """Yield the hooks of Claude Code, as whole processes."""
    with remembering(folder) as (_, workspace, learn):
        opening: list[str] = []
        history: list[dict[str, Any]] = []
        requests: list[dict[str, Any]] = []

        def told(event: str, **values: str) -> str:
            given = {
                "session_id": "talk",
                "hook_event_name": event[0].upper() + event[1:],
                "cwd": str(folder),
                **values,
            }
            command = [sys.executable, "-m", "gateway_memory.cli.entry", "hook", event, "--workspace", str(workspace)]
            answer = subprocess.run(command, input=json.dumps(given).encode(), capture_output=True, check=True).stdout  # noqa: S603 - our own command
            found: str = json.loads(answer or b"{}").get("hookSpecificOutput", {}).get("additionalContext", "")
            return found

        def say(talk: str, text: str) -> None:
            if talk != "talk":
                learn(talk, text)
                return
            if not opening:
                opening.append(told("sessionStart", source="startup"))
            beside = told("userPromptSubmit", prompt=text)
            history.append({"role": "user", "content": text, "beside": beside})
            requests.append({"system": opening[0], "messages": list(history)})
            history.append({"role": "assistant", "content": "I see."})

        yield {"hooks": (say, lambda: requests)}


@contextmanager
def mcp(folder: Path) -> Iterator[dict[str, tuple[Talk, Bodies]]]:
    """Yield the MCP server of the service, to which the client connects anew for each turn."""
    import asyncio

    from httpx2 import AsyncClient
    from mcp.client import Client
    from mcp.client.streamable_http import streamable_http_client

    from gateway_memory import OWNER
    from gateway_memory.scope import resolve_scope
    from gateway_memory.serving.tokens import ClientTokens

    with remembering(folder) as (running, workspace, learn):
        _, token = ClientTokens(workspace).add(resolve_scope(user=OWNER), "a client of MCP")
        history: list[dict[str, Any]] = []
        requests: list[dict[str, Any]] = []

        async def ask(text: str) -> None:
            headers = {"Authorization": f"Bearer {token}"}
            async with (
                AsyncClient(headers=headers, timeout=60) as http,
                Client(streamable_http_client(f"{running.url}/mcp", http_client=http)) as client,
            ):
                tools = [tool.model_dump(mode="json") for tool in (await client.list_tools()).tools]
                history.append({"role": "user", "content": text})
                found = await client.call_tool("search_memory", {"query": text})
                history.append({"role": "tool", "content": json.dumps(found.structured_content)})
                system = json.dumps([client.instructions, tools])
                requests.append({"system": system, "messages": list(history)})
                history.append({"role": "assistant", "content": "I see."})

        def say(talk: str, text: str) -> None:
            if talk == "talk":
                asyncio.run(ask(text))
            else:
                learn(talk, text)

        yield {"mcp": (say, lambda: requests)}


WAYS = {"proxy": proxy, "openclaw": openclaw, "nanobot": nanobot, "hermes": hermes, "hooks": hooks, "mcp": mcp}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=31, help="one more than the pairs of requests that are compared")
    parser.add_argument("--over", nargs="+", choices=WAYS, default=["proxy"])
    args = parser.parse_args(arguments)
    for name in args.over:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, WAYS[name](Path(folder)) as ways:
            for way, (say, bodies) in ways.items():
                measure(way, args.turns, say, bodies)


if __name__ == "__main__":
    main()

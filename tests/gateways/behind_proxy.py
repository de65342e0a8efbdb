"""The proxy as a host of several people uses it: programs that pip installs, and a talk that each must stand."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx2
from fronted import Front, assistant, user
from patience import holds, seconds
from served import service, written
from upstream import chat, upstream

ROOT = Path(__file__).parents[2]
_KEPT = ("PATH", "LANG", "TZ", "TMPDIR")

Say = Callable[..., str]
"""Says messages as a person, in a chat, and returns the reply: `say("anna", "c1", *messages)`."""


def installed(name: str, *packages: str) -> Path:
    """Return the Python of an environment below `.gateways/`; install these packages there unless they are."""
    folder = ROOT / ".gateways" / name
    python, done = folder / "bin/python", folder / "installed"
    if not done.exists():
        if not python.exists():
            subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        pip: list[str | Path] = [python, "-m", "pip", "--quiet", "--disable-pip-version-check", "install"]
        subprocess.run([*pip, *packages], check=True, timeout=seconds(1800))
        done.touch()
    return python


@contextmanager
def fronted(folder: Path, *, channel: str) -> Iterator[tuple[Front, Callable[[str], str]]]:
    """Yield the proxy in front of a scripted model, and what tells all that is remembered of a person of a channel."""
    folder.mkdir(exist_ok=True)
    workspace = folder / "main"
    with upstream() as model:
        config = written(folder, agents={"main": {"workspace": str(workspace)}}, port=0, proxy={"upstream": model.url})
        with service(config, workspaces={"main": workspace}) as running:

            def known(person: str) -> str:
                running.answer("flush", {})
                speaker = {"key": "k", "channel": channel, "chat_type": "direct", "sender_id": person}
                rows = [
                    running.answer(call, {"speaker": speaker})["rows"] for call in ("list_memories", "list_episodes")
                ]
                return json.dumps(rows, ensure_ascii=False)

            yield Front(running, model, workspace), known


@contextmanager
def program(folder: Path, command: Sequence[str | Path], url: str, **environment: str) -> Iterator[None]:
    """Run a program until it answers at a URL, and end it. Nothing of this process's settings reaches it."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    folder.mkdir(exist_ok=True)
    with (folder / "log").open("wb") as log:
        given = {**kept, "HOME": str(folder), "NO_PROXY": "*", **environment}
        process = subprocess.Popen(command, cwd=folder, env=given, stdout=log, stderr=subprocess.STDOUT)
        try:
            holds(lambda: process.poll() is not None or _answers(url), f"{url} to answer", quiet=300)
            assert process.poll() is None, (folder / "log").read_text("utf-8", "replace")[-4000:]
            yield
        finally:
            process.terminate()
            try:
                process.wait(seconds(20))
            except subprocess.TimeoutExpired:
                process.kill()


def _answers(url: str) -> bool:
    try:
        return bool(httpx2.get(url, timeout=5).status_code == 200)
    except httpx2.HTTPError:
        return False


def begins_with(later: dict[str, Any], earlier: dict[str, Any]) -> bool:
    """Return whether a request's messages begin with all of those of the one before."""
    return bool(later["messages"][: len(earlier["messages"])] == earlier["messages"])


def talk_while_the_memory_learns(front: Front, say: Say, *, turns: int) -> None:
    """Check that each request of a talk begins with the whole of the one before, and that the newest is told."""
    history: list[dict[str, Any]] = []
    for number in range(turns):
        history.append(user(f"This talk goes on, turn {number}. What colour has gate {number - 1}?"))
        history.append(assistant(say("anna", "long", *history)))
        say("anna", f"other {number}", user(f"Remember that gate {number} is colour{number}."))
        front.flush()
    ours = [body for body in front.model.bodies() if "This talk goes on, turn 0" in json.dumps(body["messages"][:2])]
    ours = [body for body in ours if "Remember that gate" not in body["messages"][-1]["content"]]
    assert len(ours) == turns
    assert all(begins_with(later, earlier) for earlier, later in pairwise(ours))
    assert f"colour{turns - 2}" in json.dumps(ours[-1])


def people_are_apart(front: Front, say: Say, known: Callable[[str], str]) -> None:
    """Check that each of two people is told what is theirs."""
    say("anna", "a1", user("Remember that my cat is called Mo."))
    say("ben", "b1", user("Remember that my dog is called Rex."))
    front.flush()
    for person, own, other in (("anna", "Mo", "Rex"), ("ben", "Rex", "Mo")):
        say(person, f"{person} asks", user("What is my animal called, the cat or the dog?"))
        told = front.model.asked[-1].body.decode()
        assert (own in told, other in told) == (True, False), person
        assert (own in known(person), other in known(person)) == (True, False), person


def edits_branches_and_tools(front: Front, say: Say, known: Callable[[str], str]) -> None:
    """Check what becomes of an answer that is made again, an edited message, a branch and a loop of tool calls."""
    hello = [user("Hello"), assistant("I see.")]
    say("ben", "edits", hello[0])
    fig = user("Remember that I like figs. What shall I cook?")
    for reply in ("A quiche.", "A tagine."):
        front.model.script.append(chat(reply))
        say("ben", "edits", *hello, fig)
    again = [body for body in front.model.bodies() if body["messages"][-1]["content"].endswith(fig["content"])]
    assert again[-1] == again[-2], "the request of an answer that is made again is the same"
    assert "tagine" in known("ben")
    assert "quiche" not in known("ben")
    talk = [*hello, fig, assistant("A tagine.")]
    say("ben", "edits", *talk, user("My sister is called Ada."))
    front.flush()
    say("ben", "edits", *talk, user("My sister is called Eda."))
    assert "Ada" not in known("ben")
    say("ben", "edits", *talk, user("We decided to paint the kitchen yellow on Monday."))
    for word in ("Eda", "yellow"):
        assert word in known("ben"), "a branch leaves the other one"
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    front.model.script.append(chat("", "tool_calls", tool_calls=[call]))
    deep = [*talk, user("Remember that the well is deep. And look outside.")]
    say("ben", "edits", *deep, tools=True)
    called = {"role": "assistant", "content": None, "tool_calls": [call]}
    say("ben", "edits", *deep, called, {"role": "tool", "tool_call_id": "c1", "content": "it rains"}, tools=True)
    assert begins_with(front.model.bodies()[-1], front.model.bodies()[-2])
    assert known("ben").count("And look outside") == 1

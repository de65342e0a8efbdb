"""The real OpenClaw, unmodified, with a stub model and our plugin, against our real service."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import pytest
from disks import full, small_disk
from live_service import LiveService
from loopback import free_port
from openclaw import OWNER, Installation, OpenClaw, Websocket, base_config, openclaw, websocket
from patience import seconds
from stub_model import Request, StubModel, ToolCall, stub_model
from stub_telegram import StubTelegram, stub_telegram

STRANGER = 222
GROUP = -1001
IN_TIME = 6.0
"""Seconds in which a reply comes, whatever the service does: the plugin's deadline (2 s) and a slow turn."""
CAUGHT_UP = 40.0
"""Seconds in which the plugin has sent what waited: its longest wait is 10 s."""
_CLI = (sys.executable, "-m", "gateway_memory.cli.entry")


@dataclass
class World:
    """Everything that runs. sessions: names for new sessions."""

    model: StubModel
    telegram: StubTelegram
    service: LiveService
    gateway: OpenClaw
    socket: Websocket
    _sessions: Iterator[int] = field(default_factory=lambda: count(1))

    def session(self) -> str:
        return f"session{next(self._sessions)}"

    def http(self, message: str, session: str = "") -> str:
        return self.gateway.chat(message, user=session or self.session())

    def ws(self, message: str, session: str = "") -> str:
        return self.socket.chat(f"agent:main:{session or self.session()}", message)

    def owner(self, message: str) -> str:
        return self.telegram.ask(OWNER, message)

    def stranger(self, message: str) -> str:
        return self.telegram.ask(STRANGER, message)

    def group(self, message: str, sender: int = OWNER) -> str:
        return self.telegram.ask(sender, message, group=GROUP)

    def prompt(self, ask: Callable[[str], str], question: str) -> Request:
        """Ask, and return what the model was asked for that."""
        before = len(self.model.requests)
        ask(question)
        found = [each for each in self.model.requests[before:] if each.now(question)]
        assert found, [each.everything[-200:] for each in self.model.requests[before:]]
        return found[0]

    def told(self, ask: Callable[[str], str], question: str) -> str:
        """Ask, and return what the memory added to the prompt."""
        request = self.prompt(ask, question)
        return request.system + request.now(question).replace(question, "")

    def wait_for(self, *said: str) -> list[str]:
        """Wait until the memory has something that was said, and return everything that it has."""
        end = time.monotonic() + seconds(CAUGHT_UP)
        while True:
            self.service.flush()
            turns = [turn["user"] for turn in self.service.turns()]
            if all(any(turn.endswith(text) for turn in turns) for text in said):  # in a group, behind its speaker
                return turns
            assert time.monotonic() < end, (said, turns, self.gateway.log.read_text("utf-8")[-2000:])
            time.sleep(0.5)

    @property
    def spool(self) -> Path:
        return self.gateway.home / ".openclaw/gateway-memory/spool"


@pytest.fixture(scope="module")
def world(installed_openclaw: Installation, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder, home = tmp_path_factory.mktemp("service"), tmp_path_factory.mktemp("openclaw")
    identity = {"owner": ["openclaw:operator", f"telegram:{OWNER}"]}
    with ExitStack() as stack:
        model, telegram = stack.enter_context(stub_model()), stack.enter_context(stub_telegram())
        port = free_port()
        config = base_config(port=port, model=model.port, telegram=telegram.port, workspace=home / "workspace")
        path = home / ".openclaw/openclaw.json"
        stack.enter_context(small_disk(folder / "workspace", "64m"))
        stack.enter_context(small_disk(path.parent / "gateway-memory/spool", "256k"))
        service = LiveService(folder, identity)
        stack.callback(service.kill)
        service.start()
        path.write_text(json.dumps(config), "utf-8")
        where = ["--file", str(path), "--workspace", str(service.workspace), "--url", service.url]
        subprocess.run([*_CLI, "connect", "openclaw", *where], check=True)
        gateway = stack.enter_context(openclaw(installed_openclaw, home, port))
        socket = stack.enter_context(websocket(gateway))
        yield World(model=model, telegram=telegram, service=service, gateway=gateway, socket=socket)


@pytest.fixture(autouse=True)
def _model_without_rules(world: World) -> Iterator[None]:
    yield
    world.model.rules.clear()


# What is told


def test_what_is_said_over_http_is_told_on_telegram_and_one_turn_later(world: World) -> None:
    world.http("My cat is called Tom.")
    world.wait_for("My cat is called Tom.")
    assert "Tom" in world.told(world.owner, "What is my cat called?")
    assert "Tom" in world.told(world.owner, "And what is the name of my cat again?")


def test_what_is_said_on_telegram_is_told_over_the_websocket(world: World) -> None:
    world.owner("My sister lives in Porto.")
    world.wait_for("My sister lives in Porto.")
    session = world.session()
    for question in ("Where does my sister live?", "In which city does my sister live?"):
        assert "Porto" in world.told(lambda text: world.ws(text, session), question)


def test_what_is_said_over_the_websocket_is_told_over_http(world: World) -> None:
    world.ws("My favourite colour is teal.")
    world.wait_for("My favourite colour is teal.")
    session = world.session()
    for question in ("What is my favourite colour?", "Which colour do I like best?"):
        assert "teal" in world.told(lambda text: world.http(text, session), question)


def test_a_change_of_mind_is_told_in_a_session_that_was_told_the_former(world: World) -> None:
    world.http("I prefer Vim.")
    world.wait_for("I prefer Vim.")
    session = world.session()
    assert "I prefer Vim" in world.told(lambda text: world.http(text, session), "Which editor do I prefer?")
    world.owner("I switched from Vim to Helix.")
    world.wait_for("I switched from Vim to Helix.")
    told = world.told(lambda text: world.http(text, session), "Which editor do I use?")
    assert "Helix" in told[told.rindex("I prefer Vim") :], (
        "the opening that was sent stays, and the change comes after it"
    )


def test_after_a_move_no_line_of_the_next_prompt_tells_the_former_home(world: World) -> None:
    session = world.session()
    for said in ("Hi, I am Jonas and I live in Graz.", "Could you suggest a café near my home in Graz?"):
        world.http(said, session)
    world.wait_for("Hi, I am Jonas and I live in Graz.")
    world.http("Actually, I moved to Linz last week.", session)
    world.wait_for("Actually, I moved to Linz last week.")
    request = world.prompt(world.owner, "Where do I live?")
    lines = (request.system + request.now("Where do I live?")).splitlines()
    print("\n".join(line for line in lines if "Graz" in line or "Linz" in line))  # noqa: T201 - the recorded prompt
    assert any("Linz" in line for line in lines)
    assert not [line for line in lines if "Graz" in line and not _says_it_is_past(line)]


def _says_it_is_past(line: str) -> bool:
    return "(may be outdated)" in line or "no longer holds" in line or "moved to Linz" in line


def test_a_stranger_and_a_group_get_none_of_it(world: World) -> None:
    world.http("My dentist is Doctor Zimmermann.")
    world.wait_for("My dentist is Doctor Zimmermann.")
    question = "Who is my dentist?"
    assert "Zimmermann" not in world.prompt(world.stranger, question).everything
    assert "Zimmermann" not in world.prompt(world.group, question).everything
    assert "Zimmermann" not in world.prompt(lambda text: world.group(text, STRANGER), question).everything
    assert "Zimmermann" in world.told(world.http, question)


def test_what_a_stranger_and_a_group_say_stays_theirs(world: World) -> None:
    world.stranger("My dog is called Bella.")
    world.group("Remember that our team meets at Pier Seven.", STRANGER)
    world.wait_for("My dog is called Bella.", "Remember that our team meets at Pier Seven.")
    names = {row["scope"]: row["name"] for row in world.service.post("list_people", {})["rows"]}
    assert f"Person {STRANGER}" in names.values(), f"the channel's name stands in the place of an id: {names}"
    for question in ("What is my dog called?", "Where does our team meet?"):
        told = world.told(world.http, question)
        assert "Bella" not in told
        assert "Pier Seven" not in told
    # Their sessions were opened before, and stay as they were sent: there it stands where it was said.
    assert "Bella" in world.prompt(world.stranger, "What is my dog called?").everything
    assert "Pier Seven" in world.prompt(world.group, "Where does our team meet?").everything


# Commands and tools


KIN = {
    "http": ("My father is a beekeeper in Graz.", "beekeeper", "What is my father's job?"),
    "ws": ("My brother is a firefighter in Lyon.", "firefighter", "What is my brother's job?"),
    "owner": ("My aunt lives in Tampere.", "Tampere", "Where does my aunt live?"),
}


@pytest.mark.parametrize("surface", KIN)
def test_commands(world: World, surface: str) -> None:
    ask: Callable[[str], str] = getattr(world, surface)
    said, word, question = KIN[surface]
    world.http(said)
    world.wait_for(said)
    asked = len(world.model.requests)
    found = ask(f"/memory search {word}")
    identity = next(line.split()[1] for line in found.splitlines() if word in line and "· " in line)
    ask(f"/memory forget {identity}")
    assert said.rstrip(".") not in world.told(world.http, question)
    ask("/memory undo")
    assert said.rstrip(".") in world.told(world.http, question)
    assert not any(each.now("/memory") for each in world.model.requests[asked:])


def test_a_stranger_searches_their_own_memory(world: World) -> None:
    world.http("My bank is Sparkasse Ulm.")
    world.wait_for("My bank is Sparkasse Ulm.")
    assert "Ulm" not in world.stranger("/memory search bank")
    assert "Ulm" not in world.group("/memory search bank")
    assert "Ulm" in world.owner("/memory search bank")


def test_off_keeps_nothing_of_the_session(world: World) -> None:
    session = world.session()
    world.http("/memory off", session)
    world.http("My safe opens with 4711.", session)
    world.http("My shoes are size 43.")
    assert "My safe opens with 4711." not in world.wait_for("My shoes are size 43.")
    assert "4711" not in world.told(world.http, "How does my safe open?")


def by_tool(call: ToolCall) -> Callable[[Request], ToolCall | None]:
    return lambda request: call if request.now("by the tool") and not request.tool_results else None


def test_the_model_searches_by_its_tool_for_whoever_speaks(world: World) -> None:
    world.http("My boat is called Albatross.")
    world.wait_for("My boat is called Albatross.")
    world.model.rules.append(by_tool(ToolCall(name="memory_search", arguments={"query": "boat"})))

    def found(ask: Callable[[str], str]) -> str:
        before = len(world.model.requests)
        ask("Look it up by the tool.")
        return "\n".join(each.tool_results[-1] for each in world.model.requests[before:] if each.tool_results)

    for ask in (world.http, world.ws, world.owner):
        assert "Albatross" in found(ask)
    for ask in (world.stranger, world.group):
        assert "Albatross" not in found(ask)


def test_the_model_saves_by_its_tool(world: World) -> None:
    world.model.rules.append(by_tool(ToolCall(name="save_fact", arguments={"content": "The user's car is a Volvo"})))
    world.owner("Please keep my car by the tool.")
    world.model.rules.clear()
    world.service.flush()
    assert "Volvo" in world.told(world.http, "Which car do I have?")


# Ends and compaction


def test_a_new_session_is_told_what_the_last_one_learnt(world: World) -> None:
    world.owner("My lawyer is called Okonkwo.")
    world.wait_for("My lawyer is called Okonkwo.")
    world.owner("/new")
    request = world.prompt(world.owner, "Who is my lawyer?")
    assert "My lawyer is called Okonkwo" in request.everything
    assert not any("My lawyer is called Okonkwo." in str(each) for each in request.body["messages"][1:-1])


def test_openclaw_s_own_hook_writes_nothing_down(world: World) -> None:
    world.stranger("My parrot is called Ara, and he speaks three languages.")
    world.stranger("/new")
    world.stranger("Hello again.")
    assert not list((world.gateway.home / "workspace").glob("memory/*"))


def test_a_turn_with_half_an_emoji_and_one_of_any_length_are_kept(world: World) -> None:
    session = world.session()
    world.http("The gondola \ud83d leaks.", session)
    world.http("The long list: " + "one more item, " * 400_000, session)
    world.http("The list is complete.", session)
    turns = world.wait_for("The list is complete.")
    assert [turn for turn in turns if turn.startswith("The gondola") and turn.endswith("leaks.")]
    assert [turn for turn in turns if "The long list" in turn and "more characters were too long" in turn]


def test_after_a_compaction_what_was_said_is_told_again(world: World) -> None:
    session = world.session()
    said = "My piano teacher is called Lindqvist."
    world.http(said, session)
    for number in range(4):
        world.http(f"Here is text {number}: {'lorem ipsum ' * 2000}", session)
    world.wait_for(said)
    world.socket.call("sessions.compact", key=f"agent:main:openai-user:{session}")
    request = world.prompt(lambda text: world.http(text, session), "Who is my piano teacher?")
    assert "Lindqvist" in request.everything


# The service in trouble


def in_time(ask: Callable[[str], str], message: str) -> str:
    start = time.monotonic()
    answer = ask(message)
    took = time.monotonic() - start
    assert took < seconds(IN_TIME), f"{message}: {took:.1f} s"
    return answer


def talk(world: World, name: str, turns: int = 4) -> list[str]:
    """Say something on two surfaces; every reply comes in time. Return what was said over HTTP and on Telegram."""
    session, said = world.session(), []
    for number in range(turns):
        for ask, where in ((lambda text: world.http(text, session), "http"), (world.owner, "telegram")):
            message = f"In the {name} I saw {where} bird number {number}."
            assert in_time(ask, message) == "Understood."
            said.append(message)
    return said


def check_kept(world: World, said: list[str], name: str) -> None:
    """Every turn is there once, in order."""
    turns = [turn for turn in world.wait_for(*said) if f"In the {name} I saw" in turn]
    assert turns == said


def test_the_service_hangs(world: World) -> None:
    world.service.signal(signal.SIGSTOP)
    try:
        said = talk(world, "hang")
        assert "does not answer" in in_time(world.owner, "/memory status")
    finally:
        world.service.signal(signal.SIGCONT)
    check_kept(world, said, "hang")


def test_the_service_is_killed_and_started_again(world: World) -> None:
    said = talk(world, "crash", 2)
    world.service.kill()
    said += talk(world, "crash and after")
    world.service.start()
    said += talk(world, "crash and later", 2)
    check_kept(world, [each for each in said if "crash I" in each], "crash")
    check_kept(world, [each for each in said if "after" in each], "crash and after")
    check_kept(world, [each for each in said if "later" in each], "crash and later")


def test_the_service_is_restarted_in_order_between_turns(world: World) -> None:
    said = talk(world, "restart", 1)
    world.service.stop()
    world.service.start()
    check_kept(world, said, "restart")
    end = time.monotonic() + seconds(CAUGHT_UP)
    while "bird" not in world.told(world.http, "Which birds did I see in the restart?"):
        assert time.monotonic() < end, "nothing is told any more"
        time.sleep(0.5)


def test_the_disk_of_the_service_is_full(world: World) -> None:
    with full(world.service.workspace):
        said = talk(world, "flood")
    check_kept(world, said, "flood")


def test_the_disk_of_the_spool_is_full_while_the_service_is_away(world: World) -> None:
    world.service.kill()
    with full(world.spool):
        said = talk(world, "drought")
    world.service.start()
    check_kept(world, said, "drought")


def test_openclaw_is_killed_while_turns_wait(world: World) -> None:
    world.service.kill()
    said = talk(world, "storm", 2)
    assert len(list(world.spool.glob("*.json"))) == len(said)
    world.gateway.stop(signal.SIGKILL)
    world.gateway.start()
    world.service.start()
    check_kept(world, said, "storm")
    assert list(world.spool.glob("*.json")) == []

"""What the memory adds to a turn of the real OpenClaw: the same turns in one gateway with it and in one without it.

Run it with `.venv/bin/python benchmarks/openclaw_turns.py`; it installs OpenClaw by npm as `make test-gateways` does.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests/gateways"))
from live_service import LiveService
from loopback import free_port
from openclaw import OpenClaw, base_config, install, openclaw
from stub_model import stub_model
from stub_telegram import stub_telegram

WARM_UP = 10
TURNS_A_SESSION = 10
PLACES = "Lisbon Porto Lyon Ghent Turin Graz Malmo Bergen Cork Leeds".split()
THINGS = "bicycle piano kayak printer telescope camera tent blender drill lamp".split()


def learn(service: LiveService, memories: int) -> None:
    """Let the service keep as many memories of the owner."""
    speaker = {"key": "agent:main:before", "channel": "openclaw", "chat_type": "direct", "sender_id": "operator"}
    for number in range(memories):
        said = f"I keep {THINGS[number % 10]} number {number} in a garage in {PLACES[number // 10 % 10]}"
        service.post("save_fact", {"id": str(number), "speaker": speaker, "content": said})
    service.flush()


def gateway(stack: ExitStack, folder: Path, model: int, service: LiveService | None) -> OpenClaw:
    """Start OpenClaw, with the memory of a service or without any."""
    port = free_port()
    telegram = stack.enter_context(stub_telegram())
    config = base_config(port=port, model=model, telegram=telegram.port, workspace=folder / "workspace")
    if service is None:
        config["plugins"] = {"slots": {"memory": "none"}}
    path = folder / ".openclaw/openclaw.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(config), "utf-8")
    if service is not None:
        where = ["--file", str(path), "--workspace", str(service.workspace), "--url", service.url]
        command = [sys.executable, "-m", "gateway_memory.cli.entry", "connect", "openclaw", *where]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # noqa: S603 - our own command
    return stack.enter_context(openclaw(install(), folder, port))


def seconds(gateway: OpenClaw, number: int) -> float:
    """Return how long a turn took."""
    thing, place = THINGS[number % 10], PLACES[number // 10 % 10]
    start = time.perf_counter()
    gateway.chat(f"Which {thing} do I keep in {place}, number {number}?", user=f"s{number // TURNS_A_SESSION}")
    return time.perf_counter() - start


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=100)
    parser.add_argument("--memories", type=int, default=1000)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name, ExitStack() as stack:
        folder = Path(name)
        service = LiveService(folder, {"owner": ["openclaw:operator"]})
        stack.callback(service.kill)
        service.start()
        learn(service, args.memories)
        model = stack.enter_context(stub_model())
        without = gateway(stack, folder / "without", model.port, None)
        with_memory = gateway(stack, folder / "with", model.port, service)
        took: dict[str, list[float]] = {"without": [], "with": []}
        for number in range(WARM_UP + args.turns):
            # Whichever comes second may find the machine warmer, so they take turns.
            pair = [("without", without), ("with", with_memory)][:: 1 if number % 2 else -1]
            for which, each in pair:
                spent = seconds(each, number)
                if number >= WARM_UP:
                    took[which].append(spent * 1000)
        told = sum("<gateway-memory>" in each.everything for each in model.requests)
    for which, times in took.items():
        p95 = statistics.quantiles(times, n=20)[-1]
        print(f"{which:8} p50 {statistics.median(times):6.1f} ms   p95 {p95:6.1f} ms   {len(times)} turns")
    added = [more - less for more, less in zip(took["with"], took["without"], strict=True)]
    print(f"added    p50 {statistics.median(added):6.1f} ms   (of pairs); {told} prompts were told something")


if __name__ == "__main__":
    main()

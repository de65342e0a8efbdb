"""What the proxy adds to a request, to each piece of a stream, and to the memory of the process.

    python benchmarks/proxy.py --turns 300 --requests 10000

Printed are p50 and p95, in milliseconds, of the time until the upstream has a request: relayed alone, with the memory,
and their difference beside `before_reply` over HTTP; the time that relaying adds to a piece of a stream; and the
resident memory of the service on the way through many requests of many conversations.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import httpx2

sys.path.insert(0, str(Path(__file__).parents[1] / "tests/programs"))
from fronted import Front
from served import service, written
from upstream import Answer, chat, chat_stream, upstream

TURNS = 20
PIECES = 2000
STEPS = 10
SPEAKER = {"channel": "openwebui", "chat_type": "direct", "sender_id": "u"}


def show(name: str, seconds: Sequence[float], beside: Sequence[float] | None = None) -> None:
    """Print a measurement, and the ratio of its p95 to another one's."""
    p95 = statistics.quantiles(seconds, n=20)[-1]
    ratio = f"   {p95 / statistics.quantiles(beside, n=20)[-1]:.2f} x before_reply" if beside else ""
    print(f"  {name:44} p50 {statistics.median(seconds) * 1e3:7.2f}  p95 {p95 * 1e3:7.2f} ms{ratio}", flush=True)


def resident(pid: int) -> float:
    """Return the resident memory of a process, in MB."""
    line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


class Bench:
    """The proxy, one client that keeps its connection, and the time at which the upstream had each request."""

    def __init__(self, front: Front) -> None:
        self.front = front
        self.client = httpx2.Client(timeout=60)
        self.came = 0.0
        front.model.always = self._answer
        self.host = front.base(front.served.tokens["main"])

    def _answer(self, asked: Any) -> Answer:
        self.came = time.perf_counter()
        self.front.model.asked.clear()
        return chat_stream(*["word "] * PIECES) if b'"stream":true' in asked.body.replace(b" ", b"") else chat()

    def until(self, base: str, messages: list[dict[str, str]], chat_id: str = "") -> float:
        """Return the seconds until the upstream had a request."""
        headers = {"x-openwebui-user-id": "u", "x-openwebui-chat-id": chat_id} if chat_id else {}
        started = time.perf_counter()
        self.client.post(f"{base}/chat/completions", json={"model": "m", "messages": messages}, headers=headers)
        return self.came - started

    def learn(self, memories: int) -> None:
        """Let the service keep memories."""
        for number in range(memories):
            said = f"Box {number} of shelf {number % 37} holds {number * 7919 % 10007} screws."
            body = {"id": str(number), "speaker": {"key": "k", **SPEAKER}, "content": said}
            self.front.served.answer("save_fact", body)
        self.front.flush()

    def times(self, turns: int) -> None:
        """Measure requests, one after the other; each way in turn, so that all find the same machine."""
        relayed, remembered, recalled = [], [], []
        ask: Callable[[int], str] = lambda turn: f"What holds box {turn * 31 % 97} of its shelf?"  # noqa: E731
        with self.front.served.client() as service_client:
            for turn in range(turns):
                messages = [{"role": "user", "content": ask(turn)}]
                relayed.append(self.until(f"{self.front.served.url}/openai/v1", messages))
                history = [
                    {"role": role, "content": content}
                    for before in range(turn % 10)
                    for role, content in (("user", ask(turn - turn % 10 + before)), ("assistant", "I see."))
                ]
                remembered.append(self.until(self.host, [*history, *messages], f"talk {turn // 10}"))
                speaker = {"key": f"agent:main:b{turn // 10}", **SPEAKER}
                started = time.perf_counter()
                service_client.post("/v1/before_reply", json={"speaker": speaker, "message": ask(turn)})
                recalled.append(time.perf_counter() - started)
        show("before_reply over HTTP", recalled)
        show("relayed alone, until the upstream has it", relayed)
        show("with the memory, until the upstream has it", remembered)
        added = [more - less for more, less in zip(remembered, relayed, strict=True)]
        show("added by the memory", added, recalled)

    def pieces(self) -> None:
        """Measure a stream, straight from the upstream and through the proxy with a person's memory."""
        took: dict[str, list[float]] = {"direct": [], "proxy": []}
        for number in range(6):
            for name, base in (("direct", self.front.model.url), ("proxy", self.host)):
                headers = {"x-openwebui-user-id": "u", "x-openwebui-chat-id": f"stream {number}"}
                body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "Tell me."}]}
                with self.client.stream("POST", f"{base}/chat/completions", json=body, headers=headers) as stream:
                    begun = time.perf_counter()
                    read = sum(len(piece) for piece in stream.iter_raw())
                took[name].append(time.perf_counter() - begun)
                assert read > PIECES
        added = (statistics.median(took["proxy"]) - statistics.median(took["direct"])) / PIECES
        print(f"  relaying adds {added * 1e3:.3f} ms a piece ({PIECES} pieces)", flush=True)

    def memory(self, requests: int) -> None:
        """Print the resident memory on the way through talks of twenty turns, each with its whole history."""
        pid = self.front.served.process.pid
        step, sizes, history = max(1, requests // STEPS), [resident(pid)], list[dict[str, str]]()
        for number in range(requests):
            if number % TURNS == 0:
                history.clear()
            history.append({"role": "user", "content": f"Remark {number}: the {number * 7919 % 10007}th."})
            self.until(self.host, history, f"many {number // TURNS}")
            history.append({"role": "assistant", "content": "I see."})
            if (number + 1) % step == 0:
                sizes.append(resident(pid))
                print(f"    {sizes[-1]:6.1f} MB after {number + 1} requests", flush=True)
        shown = " ".join(f"{size:.0f}" for size in sizes)
        print(f"  resident over {requests} requests in talks of {TURNS} turns: {shown} MB", flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=300)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--memories", type=int, default=1000)
    parser.add_argument("--words", action="store_true", help="without an encoder, so that many requests take less time")
    parser.add_argument("--only", choices=["times", "pieces", "memory"], nargs="+")
    args = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name, upstream() as model:
        folder = Path(name)
        workspace = folder / "main"
        path = written(folder, agents={"main": {"workspace": str(workspace)}}, port=0, proxy={"upstream": model.url})
        config = json.loads(path.read_text("utf-8"))
        memory: dict[str, Any] = {"autoExtract": {"model": "rules"}}
        if args.words:
            memory["autoRecall"] = {"embedder": {"provider": "none"}}
        config["agents"]["defaults"]["memorySync"] = memory
        path.write_text(json.dumps(config), "utf-8")
        with service(path, workspaces={"main": workspace}) as running:
            bench = Bench(Front(running, model, workspace))
            bench.learn(args.memories)
            parts: dict[str, Callable[[], None]] = {
                "times": lambda: bench.times(args.turns),
                "pieces": bench.pieces,
                "memory": lambda: bench.memory(args.requests),
            }
            for part in args.only or parts:
                parts[part]()


if __name__ == "__main__":
    main()

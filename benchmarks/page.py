"""How long each page takes with many memories.

    python benchmarks/page.py --memories 100000 [--requests 20]

Prints p50 and p95 in milliseconds of each page of the service, over HTTP on the loopback, one request after the other.
The memories are imported without vectors; a tenth of that number of turns stay as they were said, as far as 2,000.
"""

import argparse
import asyncio
import json
import tempfile
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx2
from service import running, show

from gateway_memory import OWNER, GatewayMemory, load_config
from gateway_memory.scope import OWNER_SCOPE
from gateway_memory.transfer.layouts import read_layout
from recall import EmbedderSettings

PAGES = (
    "/", "/about/Zanzibar", "/today", "/digest?time=week", "/over-time", "/review", "/memories",
    "/memories?q=screws+of+shelf+7", "/document", "/conversations", "/replies", "/people", "/settings",
    "/try?q=How+many+screws+are+in+box+7+of+shelf+7%3F",
)  # fmt: skip
MOST_TURNS = 2000


async def filled(workspace: Path, memories: int) -> None:
    """Fill a workspace."""
    defaults = load_config(None).defaults
    recall = replace(defaults.auto_recall, embedder=EmbedderSettings(provider="none"))
    config = replace(load_config(None), defaults=replace(defaults, auto_recall=recall))
    start = datetime.now(UTC) - timedelta(days=365)
    rows = workspace.parent / "rows.jsonl"
    with rows.open("w", encoding="utf-8") as stream:
        for number in range(memories):
            at = (start + timedelta(days=365 * number / memories)).isoformat()
            text = f"Box {number} of shelf {number % 997} holds {number * 7919 % 10007} screws"
            stream.write(
                json.dumps({"kind": "memory", "id": f"m{number:07}".replace("0", "a"), "text": text, "at": at})
            )
            stream.write("\n")
    async with GatewayMemory(config, workspace) as memory:
        await memory.importer.run(read_layout("jsonl", rows), scope=OWNER_SCOPE)
        session = await memory.start_session("agent:main:main", user=OWNER, ephemeral=True)
        for number in range(min(MOST_TURNS, memories // 10)):
            message = f"How many screws are in box {number} of shelf {number % 997}?"
            await memory.before_reply(session, message)
            await memory.after_reply(session, user=message, reply=f"{number * 7919 % 10007}.")
        await memory.flush()


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memories", type=int, default=100_000)
    parser.add_argument("--requests", type=int, default=20)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder) / "w"
        asyncio.run(filled(workspace, arguments.memories))
        with running(workspace) as (url, token, _), httpx2.Client(base_url=url, timeout=60) as browser:
            path = browser.post("/page/link", headers={"Authorization": f"Bearer {token}"}).json()["path"]
            browser.get(path)
            print(f"{arguments.memories} memories")
            for page in PAGES:
                seconds = []
                for _ in range(arguments.requests + 1):
                    started = time.perf_counter()
                    answer = browser.get(page)
                    seconds.append(time.perf_counter() - started)
                    assert answer.status_code == (404 if "Zanzibar" in page else 200), (page, answer.status_code)
                show(page, seconds[1:])


if __name__ == "__main__":
    main()

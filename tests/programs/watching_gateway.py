"""A second gateway on a workspace, for tests that break its files: `watching_gateway.py WORKSPACE SECONDS`.

SECONDS: how long a file must stay as it is until it counts as damaged. It has a session in each of some scopes. For
each line of its input it makes a reply in each of them, and says as JSON what was removed as they were told, how many
memories a search finds in each, and whether a turn was refused. It ends with its input.
"""

import asyncio
import json
import sys

from gateway_memory import OWNER, Config, GatewayMemory
from gateway_memory.config.settings import MemorySync
from gateway_memory.errors import StoreError
from gateway_memory.scope import Whose
from gateway_memory.sync import vanishing
from recall import EmbedderSettings, RecallSettings

WORDS = Config(defaults=MemorySync(auto_recall=RecallSettings(embedder=EmbedderSettings(provider="none"))))
SCOPES: dict[str, Whose] = {
    "owner": {"user": OWNER},
    "zoe": {"user": "zoe"},
    "kitchen": {"room": "kitchen"},
    "boat": {"project": "boat"},
}
"""A memory of each kind, by a word that stands in each of its lines."""


async def main(workspace: str, settles_seconds: float) -> None:
    """Answer each line."""
    vanishing.SETTLES_SECONDS = settles_seconds  # type: ignore[misc]
    loop = asyncio.get_running_loop()
    async with GatewayMemory(WORDS, workspace) as memory:
        sessions = {name: await memory.start_session(f"watching {name}", **whose) for name, whose in SCOPES.items()}
        write("open")
        while await loop.run_in_executor(None, sys.stdin.readline):
            removed, found, refused = [], {}, ""
            for name, session in sessions.items():
                context = await memory.before_reply(session, "and now?")
                removed += [update.text for update in context.updates if update.action == "removed"]
                removed += [context.text] if "no longer holds" in context.text else []
                hits = await memory.search(session, f"locker {name}", limit=100, kinds=["memory"])
                found[name] = len({hit.text for hit in hits})
            try:
                await memory.after_reply(sessions["owner"], user="Good morning to all of you.", reply="OK")
            except StoreError as error:
                refused = type(error).__name__
            write(json.dumps({"removed": removed, "found": found, "refused": refused}))


def write(line: str) -> None:
    """Write a line."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], float(sys.argv[2])))

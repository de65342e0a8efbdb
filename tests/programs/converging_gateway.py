"""One of several gateways on one workspace. `converging_gateway.py WORKSPACE NAME MEMORIES PORT` (0: no broker).

It learns that many memories from one session, says so, and then answers each line it reads with what it knows: the
digests of the files and of the index.
"""

import asyncio
import hashlib
import json
import sys
from pathlib import Path

from inside import parts
from mqtt_gateway import config

from gateway_memory import OWNER, Config, GatewayMemory
from gateway_memory.config.settings import MemorySync
from recall.settings import EmbedderSettings, RecallSettings

WORDS_ALONE = MemorySync(auto_recall=RecallSettings(embedder=EmbedderSettings(provider="none")))


def digest(lines: list[str]) -> str:
    return hashlib.blake2b("\n".join(sorted(lines)).encode(), digest_size=16).hexdigest()


async def known(memory: GatewayMemory) -> dict[str, object]:
    files = sorted(Path(memory.workspace).rglob("*.md"))
    lines = [line for file in files for line in file.read_text("utf-8").splitlines() if line.startswith("- ")]
    rows = await parts(memory).storage.recaller.newest("owner", 1_000_000)
    return {
        "files": digest([line.split(" <!--")[0].removeprefix("- ") for line in lines]),
        "index": digest([row.entry.text for row in rows]),
        "number": len(lines),
        "different": len({line.split(" <!--")[0] for line in lines}),
    }


async def main(workspace: str, name: str, memories: str, port: str) -> None:
    settings = config(int(port)) if int(port) else Config(defaults=WORDS_ALONE)
    async with GatewayMemory(settings, workspace) as memory:
        session = await memory.start_session(f"gateway-{name}", user=OWNER)
        for number in range(int(memories)):
            said = f"Remember that locker {name}{number} opens with {number * 7919 % 10007}."
            await memory.after_reply(session, user=said, reply="OK")
        await memory.flush()
        reader = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        sys.stdout.write("written\n")
        sys.stdout.flush()
        async for _ in reader:
            if not int(port):
                await memory.before_reply(session, "hm")  # without a broker the next message looks
            sys.stdout.write(json.dumps(await known(memory)) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))

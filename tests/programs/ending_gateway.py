"""A gateway whose sessions end in every way there is, to the random numbers of its seed; it may be killed at any time.

    python ending_gateway.py WORKSPACE SEED SESSIONS

Prints a JSON line when a session is on disk, and what was asked of it: {"session", "worth", "due", "asked"}.
"""

import asyncio
import json
import os
import random
import signal
import sys
from pathlib import Path

from ending import CONFIG

from gateway_memory import OWNER, GatewayMemory
from gateway_memory.observability.logs import configure_logging

REASONS = ["completed", "aborted", "error", "window_close", "user_close", "reset"]
WORTH = "Please move the {name} service to the new cluster tonight and tell the team about it"


def say(**row: object) -> None:
    sys.stdout.write(json.dumps(row) + "\n")
    sys.stdout.flush()


async def live(memory: GatewayMemory, key: str, chance: random.Random, *, dies: bool) -> None:
    session = await memory.start_session(key, user=OWNER)
    worth = chance.random() < 0.7
    text = WORTH.format(name=key) if worth else chance.choice(["hi", "thanks", "ok"])
    await memory.after_reply(session, user=text, reply="Sure, on it.")
    saves = chance.choice(["summary", "fact", "stage", "nothing", "nothing"]) if worth else "nothing"
    if saves == "summary":
        await memory.save_summary(session, topic=key, summary=text)
    elif saves != "nothing":
        await memory.save_fact(session, content=f"{key} runs on b{key}", type="S" if saves == "stage" else "W")
    status = chance.choice(["completed", "aborted", "error"])
    due = worth and saves == "nothing" and status != "error"
    asked = bool(await memory.stop(session, status))
    say(session=session.session_id, worth=worth, due=due, asked=asked)
    if asked and chance.random() < 0.5:
        await memory.save_summary(session, topic=key, summary="asked for")
    if dies:
        os.kill(os.getpid(), signal.SIGKILL)
    end = chance.choice([*REASONS, "never"])
    if end != "never":
        await asyncio.gather(*(memory.end_session(session, reason=end) for _ in range(chance.randint(1, 2))))


async def main() -> None:
    configure_logging(verbose=False)
    workspace, seed, sessions = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    chance = random.Random(seed)  # noqa: S311 - a seeded test
    async with GatewayMemory(CONFIG, workspace) as memory:
        for number in range(sessions):
            await live(memory, f"s{seed}x{number}", chance, dies=number + 1 == sessions)


if __name__ == "__main__":
    asyncio.run(main())

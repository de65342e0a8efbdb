"""A gateway whose model answers nonsense, until its standard input ends: `python failing_gateway.py WORKSPACE`.

When the journal knows of it and of the failure, it says how many of its texts have vectors: "3 of 3".
"""

import asyncio
import os
import sys
from dataclasses import replace
from pathlib import Path

from inside import parts
from scripted_provider import Say, serving

from gateway_memory import OWNER, Config, GatewayMemory, load_config

SAID = ("I moved to Lisbon with my sister Marta last spring", "Remember that the staging port is 8443.")


async def main(workspace: Path) -> None:
    """Talk, let the model fail, and wait."""
    os.environ["OPENAI_API_KEY"] = "x"
    defaults = load_config().defaults
    ended = asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    async with serving() as provider:
        provider.always = lambda _: Say(text="no JSON at all")
        extraction = replace(defaults.auto_extract, base_url=f"{provider.url}/v1", min_conversation_length=0)
        config = Config(defaults=replace(defaults, auto_extract=extraction))
        async with GatewayMemory(config, workspace) as memory:
            session = await memory.start_session("agent:main:telegram:direct:1", user=OWNER)
            for said in SAID:
                await memory.before_reply(session, said)
                await memory.after_reply(session, user=said, reply="I see.")
            await memory.flush()
            await parts(memory).storage.recaller.embedded()
            while os.getpid() not in {each["pid"] for each in (await memory.record(session, "status"))["processes"]}:
                await asyncio.sleep(0.05)
            vectors = (await memory.record(session, "status"))["vectors"]
            sys.stdout.write(f"{vectors['done']} of {vectors['rows']}\n")
            sys.stdout.flush()
            await ended


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))

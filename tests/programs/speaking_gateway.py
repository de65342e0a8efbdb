"""One of several gateways on one workspace. test_processes.py runs `speaking_gateway.py WORKSPACE NAME TURNS`."""

import asyncio
import sys

from gateway_memory import OWNER, GatewayMemory, load_config


async def main(workspace: str, name: str, turns: int) -> None:
    async with GatewayMemory(load_config(), workspace) as memory:
        session = await memory.start_session(f"gateway-{name}", user=OWNER)
        for number in range(turns):
            said = f"Remember that locker {name}{number} opens with {number * 7919 % 10007}."
            if number % 5 == 0:
                said = f"Remember that shared shelf {number} holds {number * 31} parts."  # both gateways hear it
            await memory.after_reply(session, user=said, reply="OK")
            if number % 50 == 0:
                await memory.before_reply(session, f"what opens locker {name}{number}?")
        await memory.flush()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))

"""Three gateway processes on one workspace learn at once: files and indexes come to the same, also without a broker."""

import asyncio
import json
import sys
import time
from pathlib import Path

import converging_gateway
import pytest
from mosquitto import MOSQUITTO, Mosquitto
from patience import seconds
from thorough import amount

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("alone")]  # not beside another test of brokers or deadlines

MEMORIES = amount(100, 1000)
WITH_BROKER = pytest.param(True, marks=pytest.mark.skipif(MOSQUITTO is None, reason="no mosquitto is installed"))


@pytest.mark.parametrize("with_broker", [WITH_BROKER, False])
async def test_three_processes_come_to_the_same_within_ten_seconds(*, with_broker: bool, tmp_path: Path) -> None:
    broker = Mosquitto(tmp_path) if with_broker else None
    if broker:
        broker.start()
    gateways = [
        await asyncio.create_subprocess_exec(
            sys.executable,
            str(converging_gateway.__file__),
            *(str(tmp_path / "workspace"), name, str(MEMORIES), str(broker.port if broker else 0)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        for name in "abc"
    ]

    async def answer(gateway: asyncio.subprocess.Process, start: str) -> str:
        assert gateway.stdout is not None
        async for line in gateway.stdout:
            if line.decode().startswith(start):
                return line.decode()
        raise AssertionError("the gateway ended")

    try:
        async with asyncio.timeout(seconds(580)):
            await asyncio.gather(*(answer(gateway, "written") for gateway in gateways))
            last_write = time.monotonic()
            while True:
                for gateway in gateways:
                    assert gateway.stdin is not None
                    gateway.stdin.write(b"\n")
                known = [json.loads(await answer(gateway, "{")) for gateway in gateways]
                same = len({found[kind] for found in known for kind in ("files", "index")}) == 1
                if same and known[0]["number"] == 3 * MEMORIES:
                    break
                assert time.monotonic() - last_write < seconds(30), known
                await asyncio.sleep(0.02)
            assert known[0]["different"] == 3 * MEMORIES, "nothing twice"
            print(f"converged {time.monotonic() - last_write:.2f} s after the last write")  # noqa: T201 - shown by -rP
    finally:
        for gateway in gateways:
            assert gateway.stdin is not None
            gateway.stdin.close()
        await asyncio.gather(*(gateway.wait() for gateway in gateways))
        if broker:
            broker.stop()

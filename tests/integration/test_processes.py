"""Several processes on one workspace."""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import speaking_gateway
from inside import parts
from patience import seconds
from thorough import amount

from gateway_memory import OWNER, GatewayMemory, load_config

pytestmark = pytest.mark.slow

TURNS = amount(150, 500)


async def test_two_processes_lose_nothing_and_double_nothing(tmp_path: Path) -> None:
    script = str(Path(speaking_gateway.__file__))
    gateways = [
        subprocess.Popen([sys.executable, script, str(tmp_path), name, str(TURNS)], stderr=subprocess.PIPE)
        for name in "ab"
    ]
    for gateway in gateways:
        _, errors = gateway.communicate(timeout=seconds(100))
        assert gateway.returncode == 0, errors.decode()[-2000:]
    written = [line for file in sorted(tmp_path.rglob("*.md")) for line in file.read_text("utf-8").splitlines()]
    items = [line for line in written if line.startswith("- ")]
    assert all(re.fullmatch(r"- .+ <!-- gm:[a-z0-9]{8}( [WBO])?( 0?\.\d+)? -->", line) for line in items)
    texts = Counter(line.split(" <!--")[0] for line in items)
    assert [text for text, number in texts.items() if number > 1] == []
    wanted = {f"locker {name}{number} " for name in "ab" for number in range(TURNS) if number % 5}
    wanted |= {f"shared shelf {number} " for number in range(0, TURNS, 5)}
    assert len(items) == len(wanted)
    assert not [want for want in wanted if not any(want in text for text in texts)]
    ids = [line.rsplit("gm:")[1].split()[0] for line in items]
    assert len(set(ids)) == len(ids)
    async with GatewayMemory(load_config(), tmp_path) as memory:
        session = await memory.start_session("reader", user=OWNER)
        assert await parts(memory).storage.recaller.count("owner") == len(wanted)
        assert f"locker b{TURNS - 1} " in (await memory.search(session, f"locker b{TURNS - 1}", limit=1))[0].text


async def test_an_open_session_of_another_process_is_told_by_the_files(tmp_path: Path) -> None:
    async with GatewayMemory(load_config(), tmp_path) as memory:
        listener = await memory.start_session("listener", user=OWNER)
        done = subprocess.run(
            [sys.executable, str(Path(speaking_gateway.__file__)), str(tmp_path), "z", "2"],
            check=False,
            timeout=seconds(60),
        )
        assert done.returncode == 0
        context = await memory.before_reply(listener, "which locker is it?")
        assert "[Memory Changes]" in context.text
        assert "locker z1" in context.text
        assert "locker z1" not in (await memory.before_reply(listener, "and now?")).text


async def test_an_encoder_that_another_process_has_just_used_is_no_damage(tmp_path: Path) -> None:
    async with GatewayMemory(load_config(), tmp_path) as memory:
        listener = await memory.start_session("listener", user=OWNER)
        subprocess.run([sys.executable, str(Path(speaking_gateway.__file__)), str(tmp_path), "y", "2"], check=True)
        for _ in range(3):
            await memory.before_reply(listener, "which locker is it?")
        assert parts(memory).storage.recaller.replaced == 0
        assert parts(memory).storage.recaller.generation == 0

"""Whatever dies, each event is told once on each gateway, in order: real processes and a real broker."""

import asyncio
import subprocess
from pathlib import Path

import pytest
from faults import APART, ROUNDS, Gateway, Proxy, converge, gateways, seeded
from mosquitto import PASSWD, Mosquitto, free_port, needs_mosquitto
from patience import until

pytestmark = [
    pytest.mark.slow,
    needs_mosquitto,
    pytest.mark.parametrize("seed", range(ROUNDS)),
    pytest.mark.xdist_group("alone"),  # not beside another test of brokers or deadlines
]

TOGETHER = "workspace"


def pair(folder: Path, port: int, seed: int, *options: str) -> tuple[Gateway, Gateway]:
    """Two gateways, of one workspace for every second seed, of workspaces of their own for the others."""
    protocol = f"protocol={('5', '3.1.1')[seed // 2 % 2]}"
    if seed % 2:
        one, two = (Gateway(folder, name, port, protocol, *options, workspace=TOGETHER) for name in "ab")
    else:
        one, two = (Gateway(folder, name, port, protocol, *APART, *options) for name in "ab")
    return one, two


@pytest.mark.parametrize("persistent", [True, False])
async def test_the_broker_is_killed_and_comes_back(seed: int, *, persistent: bool, tmp_path: Path) -> None:
    generator = seeded(seed)
    with Mosquitto(tmp_path, persistent=persistent) as broker:
        members = pair(tmp_path, broker.port, seed)
        async with gateways(*members):
            upto = 0
            for _ in range(2):
                upto += 100
                for member in members:
                    member.tell(f"say {upto}")
                await asyncio.sleep(generator.uniform(0, 0.2))  # the fault's moment is what the seed chooses
                broker.kill()
                await asyncio.sleep(generator.uniform(0, 0.3))
                broker.start()
            await converge(members, upto)


async def test_a_gateway_is_killed_while_it_drains(seed: int, tmp_path: Path) -> None:
    generator = seeded(seed)
    with Mosquitto(tmp_path) as broker:
        speaker, listener = members = pair(tmp_path, broker.port, seed)
        async with gateways(*members):
            for _ in range(2):
                speaker.tell("say 300")
                await asyncio.sleep(generator.uniform(0, 0.3))
                await speaker.kill()
                await speaker.start()
            speaker.tell("say 300")
            await speaker.said()
            await until(lambda: len(set(listener.heard()["a"])) == 300, quiet=60)
            assert listener.heard()["a"] == list(range(1, 301))


async def test_a_subscriber_was_away_for_a_thousand_events(seed: int, tmp_path: Path) -> None:
    generator = seeded(seed)
    with Mosquitto(tmp_path, persistent=bool(seed % 3)) as broker:
        members = pair(tmp_path, broker.port, seed)
        speaker, listener = members
        async with gateways(*members):
            speaker.tell("say 10")
            await until(lambda: len(listener.heard()["a"]) == 10)
            await listener.stop()
            speaker.tell("say 1010")
            if generator.random() < 0.5:
                await speaker.said()
            await listener.start()
            await speaker.said()
            await until(lambda: len(set(listener.heard()["a"])) == 1010, quiet=60)
            assert listener.heard()["a"] == list(range(1, 1011))


async def test_the_link_is_cut_in_mid_message(seed: int, tmp_path: Path) -> None:
    generator = seeded(seed)
    with Mosquitto(tmp_path) as broker:
        async with Proxy(broker.port, generator) as proxy:
            members = pair(tmp_path, proxy.port, seed)
            async with gateways(*members):
                upto = 0
                while proxy.cuts < 4:
                    upto += 20
                    for member in members:
                        member.tell(f"say {upto}")
                    await asyncio.sleep(0.05)
                proxy.cutting = False
                await converge(members, upto)


@pytest.mark.skipif(PASSWD is None, reason="no mosquitto_passwd is installed")
async def test_a_wrong_password_then_the_right_one(seed: int, tmp_path: Path) -> None:
    generator = seeded(seed)
    passwords = tmp_path / "passwords"

    def expect(password: str) -> None:
        subprocess.run([str(PASSWD), "-b", "-c", str(passwords), "gateway", password], check=True, capture_output=True)
        passwords.chmod(0o644)

    expect("another")
    options = ("allow_anonymous false", f"password_file {passwords}")
    with Mosquitto(tmp_path, *options, port=free_port()) as broker:
        members = pair(tmp_path, broker.port, seed, "username_env=MQTT_USER", "password_env=MQTT_PASSWORD")
        for member in members:
            member.environment = {"MQTT_USER": "gateway", "MQTT_PASSWORD": "the right one"}
        async with gateways(*members):
            for member in members:
                member.tell("say 20")
            while "credentials" not in str((await members[0].status())["reason"]):
                await asyncio.sleep(0.02)
            await asyncio.sleep(generator.uniform(0, 0.5))
            expect("the right one")
            broker.stop()
            broker.start()
            await converge(members, 20)

"""`gateway-memory listen` and `gateway-memory doctor mqtt`: real processes of the shell, a real broker."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from inside import parts
from mosquitto import PASSWD, Mosquitto, free_port, needs_mosquitto
from mqtt_gateway import config
from patience import seconds, until

from gateway_memory import OWNER, GatewayMemory

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("alone")]  # not beside another test of brokers or deadlines

OPENSSL = shutil.which("openssl")


def settings(folder: Path, port: int, **values: object) -> Path:
    path = folder / "config.json5"
    mqtt = {"enabled": True, "host": "127.0.0.1", "port": port, "workspaceId": "team"} | values
    path.write_text(json.dumps({"agents": {"defaults": {"memorySync": {"notify": {"mqtt": mqtt}}}}}))
    return path


def doctor(path: Path, **environment: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "gateway_memory.cli.main", "doctor", "mqtt", "--config", str(path)]
    done = subprocess.run(command, check=False, capture_output=True, timeout=seconds(60), env=os.environ | environment)
    assert b"Traceback" not in done.stderr, done.stderr.decode()
    return done.returncode, done.stdout.decode() + done.stderr.decode()


@needs_mosquitto
@pytest.mark.parametrize("protocol", ["5", "3.1.1"])
def test_the_doctor_finds_nothing_wrong(protocol: str, tmp_path: Path) -> None:
    with Mosquitto(tmp_path) as broker:
        code, said = doctor(settings(tmp_path, broker.port, protocol=protocol))
    assert code == 0, said
    assert "a message went round in" in said
    assert said.endswith("All is well.\n")


@needs_mosquitto
def test_the_doctor_tries_websockets(tmp_path: Path) -> None:
    web = free_port()
    with Mosquitto(tmp_path, "allow_anonymous true", f"listener {web} 127.0.0.1", "protocol websockets"):
        code, said = doctor(settings(tmp_path, web, transport="websockets"))
    assert code == 0, said


def test_the_doctor_says_that_nobody_is_there(tmp_path: Path) -> None:
    code, said = doctor(settings(tmp_path, free_port()))
    assert code == 1
    assert "the connection was refused" in said


def test_the_doctor_says_that_a_variable_is_missing(tmp_path: Path) -> None:
    code, said = doctor(settings(tmp_path, 1, secretEnv="NOT_SET_ANYWHERE"))
    assert code == 1
    assert "notify.mqtt.secretEnv: the environment variable" in said


@needs_mosquitto
def test_the_doctor_says_that_it_is_no_port_for_tls(tmp_path: Path) -> None:
    with Mosquitto(tmp_path) as broker:
        code, said = doctor(settings(tmp_path, broker.port, tls=True))
    assert code == 1
    assert "is it a port for TLS" in said


def certificates(folder: Path) -> None:
    """Make a certificate authority and a broker's certificate for 127.0.0.1."""

    def openssl(*arguments: str) -> None:
        subprocess.run([str(OPENSSL), *arguments], check=True, capture_output=True, cwd=folder)

    key = ("-newkey", "rsa:2048", "-nodes")
    openssl("req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=test authority", "-days", "2")
    openssl("req", *key, "-keyout", "broker.key", "-out", "broker.csr", "-subj", "/CN=127.0.0.1")
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1\n")
    openssl(
        *("x509", "-req", "-in", "broker.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial"),
        *("-out", "broker.pem", "-days", "2", "-extfile", "names"),
    )


@needs_mosquitto
@pytest.mark.skipif(OPENSSL is None, reason="no openssl is installed")
def test_the_doctor_says_whose_certificate_is_not_believed(tmp_path: Path) -> None:
    certificates(tmp_path)
    options = ("allow_anonymous true", f"certfile {tmp_path}/broker.pem", f"keyfile {tmp_path}/broker.key")
    with Mosquitto(tmp_path, *options) as broker:
        code, said = doctor(settings(tmp_path, broker.port, tls=True))
        assert code == 1
        assert "the broker's certificate is not believed" in said
        code, said = doctor(settings(tmp_path, broker.port, tls=True, caFile=str(tmp_path / "ca.pem")))
        assert code == 0, said
        code, said = doctor(settings(tmp_path, broker.port))
        assert code == 1
        assert "does it want tls" in said


@needs_mosquitto
@pytest.mark.skipif(PASSWD is None, reason="no mosquitto_passwd is installed")
def test_the_doctor_says_that_the_password_is_wrong(tmp_path: Path) -> None:
    passwords = tmp_path / "passwords"
    subprocess.run([str(PASSWD), "-b", "-c", str(passwords), "gateway", "right"], check=True, capture_output=True)
    passwords.chmod(0o644)
    with Mosquitto(tmp_path, "allow_anonymous false", f"password_file {passwords}") as broker:
        path = settings(tmp_path, broker.port, usernameEnv="MQTT_USER", passwordEnv="MQTT_PASSWORD")
        code, said = doctor(path, MQTT_USER="gateway", MQTT_PASSWORD="wrong")  # noqa: S106
        assert code == 1
        assert "does not accept user and password" in said
        assert "wrong" not in said
        assert doctor(path, MQTT_USER="gateway", MQTT_PASSWORD="right")[0] == 0  # noqa: S106


@needs_mosquitto
@pytest.mark.parametrize(
    ("protocol", "rule", "expected"),
    [
        ("5", "topic read gateway-memory/1/team/#", "does not allow to write"),
        ("3.1.1", "topic read gateway-memory/1/team/#", "did not come back"),
        ("5", "topic write gateway-memory/1/team/#", "did not come back"),
        ("5", "topic readwrite gateway-memory/1/other/#", "does not allow to write"),
    ],
)
def test_the_doctor_says_that_the_acl_is_wrong(protocol: str, rule: str, expected: str, tmp_path: Path) -> None:
    acl = tmp_path / "acl"
    acl.write_text(f"{rule}\n")
    acl.chmod(0o644)
    with Mosquitto(tmp_path, "allow_anonymous true", f"acl_file {acl}") as broker:
        code, said = doctor(settings(tmp_path, broker.port, protocol=protocol))
    assert code == 1
    assert expected in said, said
    assert "ACL" in said


@needs_mosquitto
async def test_listen_prints_events_as_they_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEAM_SECRET", "a secret for the tests only")
    with Mosquitto(tmp_path) as broker:
        path = settings(tmp_path, broker.port, secretEnv="TEAM_SECRET")
        command = ("-m", "gateway_memory.cli.main", "listen", "--json", "--config", str(path))
        listening = await asyncio.create_subprocess_exec(
            sys.executable, *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
        assert listening.stderr is not None
        assert listening.stdout is not None
        assert b"listening to" in await listening.stderr.readline()
        given = config(broker.port, workspace_id="team", secret_env="TEAM_SECRET")  # noqa: S106 - its name
        async with GatewayMemory(given, tmp_path / "one") as memory:
            session = await memory.start_session("one", user=OWNER)
            await memory.after_reply(session, user="Remember that the staging port is 8443.", reply="OK")
            await memory.flush()
            row = json.loads(await listening.stdout.readline())
            assert row["scope"] == "owner"
            assert row["number"] == 1
            assert "8443" in row["changes"][0]["text"]
        listening.terminate()
        await listening.wait()


async def test_watching_notices_an_edit_without_a_message(tmp_path: Path) -> None:
    from dataclasses import replace

    from gateway_memory import Config
    from gateway_memory.config.settings import IncrementalSyncSettings, MemorySync

    (tmp_path / "MEMORY.md").write_text("- the staging port is 8443\n")
    sync = replace(MemorySync(), incremental_sync=IncrementalSyncSettings(watch=True, check_on_message=False))
    async with GatewayMemory(Config(defaults=sync), tmp_path) as memory:
        session = await memory.start_session("one", user=OWNER)
        before = parts(memory).bus.published
        lines = 1

        def edited() -> bool:  # the watch may begin after the first save
            nonlocal lines
            lines += 1
            with (tmp_path / "MEMORY.md").open("a") as stream:
                stream.write(f"- the red door number {lines} is locked\n")
            return len(session.pending.inbox) > 0

        for _ in range(round(seconds(40))):
            if edited():
                break
            await asyncio.sleep(0.25)
        await until(lambda: parts(memory).bus.published > before)
        assert "red door" in session.pending.inbox.take()[0].text

"""`gateway-memory page`: a link from the service that runs, or from one that it starts."""

import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest
from loopback import free_port
from patience import seconds
from served import service, written

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("service")]

PAGE = (sys.executable, "-m", "gateway_memory.cli.entry", "page")


def test_it_prints_a_link_of_the_service_that_runs(tmp_path: Path) -> None:
    port, folder = free_port(), tmp_path / "main"
    config = written(tmp_path, agents={"main": {"workspace": str(folder)}}, port=port)
    with service(config, workspaces={"main": folder}) as running:
        for given in (["--config", config], ["--workspace", folder, "--url", running.url]):
            done = subprocess.run(
                [*PAGE, *map(str, given)], capture_output=True, text=True, check=True, timeout=seconds(60)
            )
            link = done.stdout.strip()
            assert re.fullmatch(rf"http://127\.0\.0\.1:{port}/enter\?code=\S+", link)
            with httpx2.Client(follow_redirects=True) as browser:
                assert browser.get(link).status_code == 200
        other = tmp_path / "other"
        other.mkdir()
        command = [*PAGE, "--workspace", str(other), "--url", running.url]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=seconds(60))
        assert done.returncode == 1
        assert "no service of" in done.stderr


def test_without_a_service_it_starts_one(tmp_path: Path) -> None:
    config = written(tmp_path, port=0)
    folder = tmp_path / "new"
    folder.mkdir()
    (folder / "MEMORY.md").write_text("- I sing in a choir\n", "utf-8")
    command = [*PAGE, "--config", str(config), "--workspace", str(folder), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        link = next(line for line in process.stdout if "/enter?code=" in line).strip()
        with httpx2.Client(follow_redirects=True) as browser:
            assert browser.get(link).status_code == 200
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0


def test_an_address_where_nothing_is_says_what_to_do(tmp_path: Path) -> None:
    command = [*PAGE, "--workspace", str(tmp_path), "--url", f"http://127.0.0.1:{free_port()}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=seconds(60))
    assert done.returncode == 1
    assert "gateway-memory serve" in done.stderr

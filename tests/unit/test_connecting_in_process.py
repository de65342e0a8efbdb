"""Connecting nanobot and Hermes, which run the memory in their own process, and taking it back."""

import json
from pathlib import Path

import pytest

from gateway_memory.cli.main import main

CONFIGS = {"nanobot": ("config.json", "{}\n"), "hermes": ("config.yaml", "memory: # mine\n  memory_enabled: true\n")}


def run(host: str, tmp_path: Path, name: str = "connect", *more: str) -> int:
    given = [name, host, "--file", str(tmp_path / "host" / CONFIGS[host][0])]
    if name == "connect":
        given += ["--workspace", str(tmp_path / "workspace"), *more]
    return main(given)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(params=CONFIGS)
def host(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    (tmp_path / "host").mkdir()
    name, content = CONFIGS[request.param]
    (tmp_path / "host" / name).write_text(content, "utf-8")
    return str(request.param)


def test_it_is_connected_and_taken_back(host: str, tmp_path: Path) -> None:
    before = contents(tmp_path / "host")
    assert run(host, tmp_path) == 0
    assert run(host, tmp_path) == 0, "a second time"
    settings = json.loads((tmp_path / "host/gateway-memory.json").read_text("utf-8"))
    assert settings == {"workspace": str(tmp_path / "workspace")}
    assert (tmp_path / "host/plugins/gateway-memory/__init__.py").is_file() == (host == "hermes")
    assert ("provider: gateway-memory" in contents(tmp_path / "host").get("config.yaml", b"").decode()) == (
        host == "hermes"
    )
    assert run(host, tmp_path, "disconnect") == 0
    assert contents(tmp_path / "host") == before


def test_a_config_of_the_memory_stays_until_it_is_taken_out(host: str, tmp_path: Path) -> None:
    config = tmp_path / "memory.json5"
    config.write_text("{}", "utf-8")
    assert run(host, tmp_path, "connect", "--config", str(config)) == 0
    settings = tmp_path / "host/gateway-memory.json"
    assert json.loads(settings.read_text("utf-8"))["config"] == str(config)
    assert run(host, tmp_path) == 0
    assert json.loads(settings.read_text("utf-8"))["config"] == str(config)
    assert run(host, tmp_path, "disconnect") == 0
    assert not settings.exists()


def test_a_dry_run_and_a_memory_that_does_not_open_change_nothing(
    host: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = contents(tmp_path / "host")
    assert run(host, tmp_path, "connect", "--dry-run") == 0
    assert "Nothing was changed" in capsys.readouterr().out
    (tmp_path / "workspace").write_text("no folder", "utf-8")
    assert run(host, tmp_path) == 1
    assert "Nothing was changed" in capsys.readouterr().err
    assert contents(tmp_path / "host") == before


@pytest.mark.parametrize("host", CONFIGS)
def test_a_host_that_is_not_there_is_named(host: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(host, tmp_path) == 1
    assert str(tmp_path / "host") in capsys.readouterr().err


def test_a_block_that_is_not_edited_safely_is_left_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "host/config.yaml"
    path.parent.mkdir()
    path.write_text("memory: {nudge_interval: 5}\n", "utf-8")
    assert run("hermes", tmp_path) == 1
    assert "Set this by hand" in capsys.readouterr().err
    assert run("hermes", tmp_path, "disconnect") == 0
    assert "nothing of ours" in capsys.readouterr().out
    path.write_text("memory: {provider: gateway-memory}\n", "utf-8")
    assert run("hermes", tmp_path, "disconnect") == 1
    assert "Take these values out" in capsys.readouterr().err


@pytest.mark.parametrize("enabled", [True, False])
def test_nanobots_own_memory_is_only_named_where_it_is_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], *, enabled: bool
) -> None:
    (tmp_path / "host").mkdir()
    config = {"agents": {"defaults": {"dream": {"enabled": enabled}}}}
    (tmp_path / "host/config.json").write_text(json.dumps(config), "utf-8")
    assert run("nanobot", tmp_path) == 0
    assert ("Switch off" in capsys.readouterr().out) == enabled

"""`gateway-memory config check | show | schema`."""

import json
from pathlib import Path

import pytest

from gateway_memory.cli.main import main
from gateway_memory.config.load import check_config, load_config
from gateway_memory.edge.config_reference import config_schema, reference_text

OVERRIDE = "{agents: {list: [{id: 'work', memorySync: {autoRecall: {maxResults: 5}}}]}}"


def config_command(*arguments: str) -> int:
    return main(["config", *arguments])


def test_check_accepts_a_good_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "config.json5"
    path.write_text(OVERRIDE)
    assert config_command("check", str(path)) == 0
    assert capsys.readouterr().out == f"{path}: no mistakes\n"


def test_check_lists_the_mistakes_and_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "config.json5"
    path.write_text("{agents: {\n lost: [],\n defaults: 1}}")
    assert config_command("check", str(path)) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == [
        f'{path}:2: agents.lost: unknown key; did you mean "list"?',
        f"{path}:3: agents.defaults: expected an object, got 1",
    ]


def test_check_looks_for_config_json5_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert config_command("check") == 1
    assert capsys.readouterr().err == "config.json5: there is no such file\n"


def test_show_without_a_file_is_the_commented_reference(capsys: pytest.CaptureFixture[str]) -> None:
    assert config_command("show") == 0
    assert capsys.readouterr().out == reference_text()


def test_show_prints_what_is_in_force_for_all_and_for_one_agent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "config.json5"
    path.write_text(OVERRIDE)
    assert config_command("show", str(path)) == 0
    assert check_config(capsys.readouterr().out, "shown") == load_config(path)
    assert config_command("show", str(path), "--agent", "work") == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["agents"]["defaults"]["memorySync"]["autoRecall"]["maxResults"] == 5
    assert shown["agents"]["list"] == []


def test_schema_prints_the_json_schema(capsys: pytest.CaptureFixture[str]) -> None:
    assert config_command("schema") == 0
    assert json.loads(capsys.readouterr().out) == config_schema()


@pytest.mark.parametrize("given", [[], ["config.json5"], ["config.json5", "--agent", "work"]])
def test_show_prints_settings_that_can_be_used_again(
    given: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("config.json5").write_text(OVERRIDE)
    assert config_command("show", *given) == 0
    Path("shown.json5").write_text(capsys.readouterr().out)
    assert config_command("check", "shown.json5") == 0


MISLEADING = [
    (
        "autoExtract: {excludeSessionTypes: ['grup']}",
        'autoExtract.excludeSessionTypes[0]: no session has this type; did you mean "group"?',
    ),
    ("identity: {owner: ['12345']}", 'identity.owner[0]: a number alone is nobody; expected "channel:sender"'),
    ("autoExtract: {maxWaitSeconds: 5}", "autoExtract.maxWaitSeconds: expected at least debounceSeconds (30)"),
    ("notify: {mqtt: {enabled: true, tls: true, caFile: '/nope.pem'}}", "notify.mqtt.caFile: there is no such file"),
    (
        "notify: {mqtt: {enabled: true, secretEnv: 'NOT_SET_HERE'}}",
        "notify.mqtt.secretEnv: the environment variable that it names is not set here",
    ),
    ("autoExtract: {apiKeyEnv: 'NOT_SET_HERE'}", "autoExtract.apiKeyEnv: the environment variable that it names"),
    ("store: {backend: 'postgres', dsnEnv: 'NOT_SET_HERE'}", "store.dsnEnv: the environment variable that it names"),
]


@pytest.mark.parametrize(("section", "told"), MISLEADING)
@pytest.mark.parametrize("place", ["agents.defaults.memorySync", "agents.list[0].memorySync"])
def test_check_refuses_what_would_silently_do_something_else(
    section: str, told: str, place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "config.json5"
    inner = f"\n memorySync: {{{section}}}"
    entry = f"list: [{{id: 'work', {inner}}}]" if "list" in place else f"defaults: {{{inner}}}"
    path.write_text(f"{{agents: {{{entry}}}}}")
    assert config_command("check", str(path)) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"{path}:2: {place}.{told}")


@pytest.mark.parametrize(
    ("serve", "told"),
    [
        ("agents: {one: {workspace: 'm'}, two: {workspace: './m'}}", "two agents have the same folder"),
        ("host: '0.0.0.0'", "the service needs serve.tls"),
        ("tls: {certificate: '/nope.pem', key: '/nope.key'}", "serve.tls.certificate: there is no such file"),
    ],
)
def test_check_refuses_a_service_that_would_not_start(
    serve: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "config.json5"
    path.write_text(f"{{serve: {{{serve}}}}}")
    assert config_command("check", str(path)) == 1
    assert told in capsys.readouterr().err


def test_check_accepts_what_only_looks_alike(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "config.json5"
    excluded = "autoExtract: {excludeSessionTypes: ['thread', 'main', 'discord']}"
    section = f"{excluded}, identity: {{owner: ['telegram:12345', 'ana']}}"
    path.write_text(f"{{agents: {{defaults: {{memorySync: {{{section}}}}}}}}}")
    assert config_command("check", str(path)) == 0, capsys.readouterr().err


def test_show_of_an_agent_that_is_not_there_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "config.json5"
    path.write_text(OVERRIDE)
    assert config_command("show", str(path), "--agent", "nosuch") != 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert 'there is no agent "nosuch" in agents.list (work)' in captured.err

"""`gateway-memory connect proxy`: what it writes, the base URLs that it prints, and how it is taken back."""

import json
import re
from pathlib import Path

import httpx2
import pytest
from patience import seconds
from served import service
from upstream import upstream

from gateway_memory.cli.main import main
from gateway_memory.serving.tokens import ClientTokens

pytestmark = pytest.mark.xdist_group("service")


def test_each_person_gets_a_base_url_that_works_and_the_config_is_taken_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    workspace, config = tmp_path / "memory", tmp_path / "memory.json5"
    config.write_text('{"serve": {"port": 0}}', "utf-8")
    with upstream() as model:
        given = ["connect", "proxy", "--workspace", str(workspace), "--upstream", model.url + "/"]
        assert main([*given, "--person", "anna", "--person", "ben"]) == 0
        printed = capsys.readouterr().out
        assert json.loads(config.read_text("utf-8"))["serve"] == {"port": 0, "proxy": {"upstream": model.url}}
        urls = dict(re.findall(r"(user:\w+): http://127\.0\.0\.1:8765(/p/\S+/v1)", printed))
        assert set(urls) == {"user:anna", "user:ben"}
        with service(config, "--workspace", str(workspace), workspaces={"main": workspace}) as running:
            for path in urls.values():
                body = {"model": "m", "messages": [{"role": "user", "content": "Hello"}]}
                answer = httpx2.post(f"{running.url}{path}/chat/completions", json=body, timeout=seconds(30))
                assert answer.headers["x-gateway-memory"] in ("full", "empty", "partial")
            host = re.findall(r"http://127\.0\.0\.1:8765/p/(\S+)/v1", printed)[-1]
            assert host == running.tokens["main"]
    assert main([*given, "--person", "anna"]) == 0
    again = capsys.readouterr().out
    (anna,) = [each for each in ClientTokens(workspace).all() if each.scope == "user:anna"]
    assert f"token revoke {anna.id}" in again, "a token is shown once"
    assert main(["disconnect", "proxy", "--file", str(config)]) == 0
    assert config.read_text("utf-8") == '{"serve": {"port": 0}}'


@pytest.mark.parametrize(
    ("url", "behind"), [("http://127.0.0.1:8765", ""), ("http://127.0.0.1:18902", " --port 18902")]
)
def test_the_service_is_started_where_the_base_urls_point(
    tmp_path: Path, url: str, behind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    workspace = tmp_path / "memory"
    given = ["--workspace", str(workspace), "--upstream", "http://127.0.0.1:1/v1", "--url", url]
    assert main(["connect", "proxy", *given]) == 0
    printed = capsys.readouterr().out
    assert f"gateway-memory serve --workspace {workspace} --config {tmp_path / 'memory.json5'}{behind}\n" in printed
    assert f"{url}/p/" in printed


@pytest.mark.parametrize("url", ["", "ftp://x", "https://u:p@api.openai.com/v1"])
def test_without_the_base_url_of_a_model_nothing_is_written(
    tmp_path: Path, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["connect", "proxy", "--workspace", str(tmp_path / "memory"), "--upstream", url]
    assert main(given) == 1
    assert "https://api.openai.com/v1" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
    assert main(["disconnect", "proxy"]) == 1
    assert "--file" in capsys.readouterr().err

"""`make demo` on any machine: a slow one is warned of, and what a reply isn't told fails."""

import re
from dataclasses import replace

import pytest

from gateway_memory import Config, load_config
from gateway_memory.cli import demo
from gateway_memory.edge.phrases import SHELL_LANGUAGE

pytestmark = [pytest.mark.over_postgres, pytest.mark.files]


def test_a_slow_machine_is_a_warning_beside_what_holds(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(demo, "_USUAL_SECONDS", 0.0)
    monkeypatch.setattr(demo, "_USUAL_P95_SECONDS", 0.0)
    code = demo.run_demo()
    shown = capsys.readouterr().out
    assert code == 0, shown
    assert "✗" not in shown
    assert "Every criterion holds." in shown
    assert "slower than 0 ms on this machine" in shown
    assert re.search("^  ~ 7  The first answer", shown, re.MULTILINE), "it is not ticked"
    assert "the floor of a bare search was" in shown
    assert "1: “帮我写个脚本” took" in shown


def test_a_memory_that_does_not_come_is_a_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    defaults = load_config().defaults
    deaf = Config(defaults=replace(defaults, auto_extract=replace(defaults.auto_extract, enabled=False)))
    monkeypatch.setattr(demo, "load_config", lambda: deaf)
    monkeypatch.setattr(demo, "_HANGING_SECONDS", 0.0)
    assert demo.run_demo() == 1
    shown = capsys.readouterr().out
    assert "✗ 1  A preference told in one session reaches another" in shown
    assert "These do not hold:" in shown


def test_it_speaks_the_language_of_the_shell(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = SHELL_LANGUAGE.set("zh")
    monkeypatch.setattr(demo, "_HANGING_SECONDS", 0.0)  # it then fails, which is told too
    try:
        demo.run_demo()
    finally:
        SHELL_LANGUAGE.reset(before)
    shown = capsys.readouterr().out
    told = [line for line in shown.splitlines() if not re.match(r" {8}|  [✓~✗] ", line)]
    titles = re.findall("^  [✓~✗] .*", shown, re.MULTILINE)
    assert len(titles) == 11
    assert [line for line in (*told, *titles) if line and not re.search("[一-鿿]", line)] == []
    assert not re.search(r"^ {8}(asked|told|search):", shown, re.MULTILINE)
    assert "编号对应七条验收标准。" in shown

"""`gateway-memory doctor model`: three small questions to a model, and what they tell."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from scripted_provider import Fail, Hang, Provider, Say, Script, Step, entry, found, serving

from gateway_memory.cli.main import main

LEEDS = entry("The user's sister Ana moved to Leeds in January 2026", "my sister Ana moved to Leeds in January")
SUZHOU = entry("用户的姐姐李娜一月份搬到了苏州", "我姐姐李娜一月份搬到苏州去了")

Doctor: TypeAlias = Callable[..., tuple[int, str]]


def understanding(asked: dict[str, Any]) -> Step:
    told = str(asked["messages"][-1]["content"])
    return Say(text=found(*([LEEDS] if "Leeds" in told else []), *([SUZHOU] if "苏州" in told else [])))


@pytest.fixture
def doctor(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Doctor:
    def examined(script: Script, **extraction: Any) -> tuple[int, str]:
        async def examine() -> int:
            async with serving() as provider:
                provider.always = script
                return await asyncio.to_thread(main, arguments(provider))

        def arguments(provider: Provider) -> list[str]:
            settings = {"model": "small", "baseUrl": f"{provider.url}/v1", **extraction}
            config = tmp_path / "config.json5"
            config.write_text(json.dumps({"agents": {"defaults": {"memorySync": {"autoExtract": settings}}}}))
            return ["doctor", "model", "--config", str(config), "--workspace", str(tmp_path)]

        code = asyncio.run(examine())
        return code, capsys.readouterr().out

    return examined


def test_a_model_that_understands_is_said_to(doctor: Doctor) -> None:
    code, said = doctor(understanding)
    assert code == 0, said
    for expected in (
        "without a key",
        "JSON schema",
        "English: The user's sister Ana",
        "Chinese: 用户的姐姐李娜",
        "4600",
    ):
        assert expected in said
    assert "set both to 0" in said


def test_prices_of_ones_own_are_not_remarked_on(doctor: Doctor) -> None:
    _, said = doctor(understanding, inputPrice=0, outputPrice=0)
    assert "0.00000 USD" in said
    assert "set both" not in said


def test_a_refused_format_is_said(doctor: Doctor) -> None:
    def script(asked: dict[str, Any]) -> Step:
        return Fail(status=500, message="response_format?") if "response_format" in asked else understanding(asked)

    assert "asked for JSON in words" in doctor(script)[1]


def test_a_model_that_understands_nothing_is_too_small(doctor: Doctor) -> None:
    code, said = doctor(lambda _: Say(text=found()))
    assert code == 1
    assert said.count("too small") == 2


def test_a_context_that_cuts_silently_is_noticed(doctor: Doctor) -> None:
    def script(asked: dict[str, Any]) -> Step:
        long = len(str(asked["messages"])) > 4096
        return Say(text=found()) if long and "nothing in particular" in str(asked["messages"]) else understanding(asked)

    code, said = doctor(script)
    assert code == 1
    assert "num_ctx" in said


def test_a_context_that_is_said_to_be_too_small_is_no_problem(doctor: Doctor) -> None:
    def script(asked: dict[str, Any]) -> Step:
        long = len(str(asked["messages"][-1])) > 4096
        return Fail(status=400, message="exceeds the available context size") if long else understanding(asked)

    code, said = doctor(script)
    assert code == 0, said
    assert "read in halves" in said


@pytest.mark.parametrize(
    ("step", "why"),
    [
        (Fail(status=401), "refused the key, the model or the request"),
        (Say(text="I think"), "not the JSON"),
        (Hang(), "longer than timeoutSeconds"),
    ],
)
def test_why_there_is_no_answer_is_said(doctor: Doctor, step: Step, why: str) -> None:
    code, said = doctor(lambda _: step, timeoutSeconds=0.5)
    assert code == 1
    assert why in said


def test_without_a_model_there_is_advice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "model", "--workspace", str(tmp_path)]) == 1
    assert "local-model.md" in capsys.readouterr().out

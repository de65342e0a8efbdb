"""Criterion 6: every feature has its own switch, and with a feature off its code does not run at all."""

import inspect
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import extractor
import gateway_memory.capture.batches
import gateway_memory.capture.ruling
import gateway_memory.context.builder
import gateway_memory.context.start
from gateway_memory import OWNER, Config, GatewayMemory, load_config
from gateway_memory.capture.distiller import Distiller
from gateway_memory.commands.dispatch import Commands
from gateway_memory.context.file_changes import ChangeDetector
from gateway_memory.sessions.session import FEATURES, Feature
from gateway_memory.store.journal import arrivals, sessions
from gateway_memory.sync.episodes import EpisodeFollower
from notifier import Bus
from recall import Recaller

pytestmark = pytest.mark.over_postgres

CODE: dict[str, list[tuple[Any, str]]] = {
    "auto_extract": [
        (gateway_memory.capture.ruling, "extract_rules"),
        (gateway_memory.capture.batches, "judge"),
    ],
    "episodes": [(EpisodeFollower, "index")],
    "auto_recall": [(Recaller, "search")],
    "notify": [(Bus, "publish"), (Bus, "subscribe"), (gateway_memory.context.builder, "updates_block")],
    "incremental_sync": [(ChangeDetector, "since_last"), (Recaller, "added_since")],
    "opening": [(gateway_memory.context.opening.OpeningBuilder, "build")],
    "commands": [(Commands, "answer")],
    "observations": [(arrivals, "observe"), (sessions, "observe")],
    "distill": [(Distiller, "run")],
}
"""By feature, its code: what must run when it is on, and must not when it is off."""


def without(feature: str) -> Config:
    defaults = load_config().defaults
    return Config(defaults=replace(defaults, **{feature: replace(getattr(defaults, feature), enabled=False)}))


async def live(config: Config, workspace: Path) -> None:
    """A day in which every feature has something to do."""
    async with GatewayMemory(config, workspace=workspace) as memory:
        speaker = await memory.start_session("speaker", user=OWNER)
        listener = await memory.start_session("listener", user=OWNER)
        await memory.after_reply(speaker, user="记住：我的工位在三楼", reply="好")
        await memory.observe(speaker, kind="tool", content="ls", tool="bash")
        await memory.flush()
        with (workspace / "MEMORY.md").open("a") as file:
            file.write("- 手写的一行\n")
        await memory.before_reply(listener, "我的工位在哪里？")
        await memory.command(listener, "/memory status")
        await memory.end_session(speaker, reason="completed")


def watch(monkeypatch: pytest.MonkeyPatch, calls: list[str]) -> None:
    """Note each call of the code of each feature, and let it through."""

    def spy(feature: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*args: Any, **values: Any) -> Any:
            calls.append(feature)
            return function(*args, **values)

        return wrapped

    for feature, places in CODE.items():
        for owner, name in places:
            monkeypatch.setattr(owner, name, spy(f"{feature}.{name}", inspect.getattr_static(owner, name)))


async def test_with_everything_on_each_feature_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    watch(monkeypatch, calls)
    await live(load_config(), tmp_path)
    expected = {f"{feature}.{name}" for feature, places in CODE.items() for _, name in places}
    assert set(calls) == expected


@pytest.mark.parametrize("feature", CODE)
async def test_with_a_feature_off_none_of_its_code_runs(
    feature: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    watch(monkeypatch, calls)
    await live(without(feature), tmp_path)
    assert not [call for call in calls if call.startswith(f"{feature}.")]
    if feature != "auto_extract":
        assert {call.split(".")[0] for call in calls} == CODE.keys() - {feature}, "the others go on"


@pytest.mark.parametrize("feature", FEATURES)
async def test_a_feature_can_be_switched_for_one_session(feature: Feature, tmp_path: Path) -> None:
    async with GatewayMemory(load_config(), workspace=tmp_path) as memory:
        session = await memory.start_session("one", user=OWNER)
        other = await memory.start_session("two", user=OWNER)
        await memory.command(session, f"/memory off {feature.lower()}")
        assert not session.on(feature)
        assert other.on(feature)
        await memory.command(session, f"/memory on {feature}")
        assert session.on(feature)


@pytest.mark.files
async def test_everything_off_is_incognito(tmp_path: Path) -> None:
    async with GatewayMemory(load_config(), workspace=tmp_path) as memory:
        (tmp_path / "MEMORY.md").write_text("- The cat is called Tigger\n")
        session = await memory.start_session("one", user=OWNER)
        assert "Tigger" in session.opening
        answer = await memory.command(session, "/memory off")
        assert session.opening == ""
        assert answer is not None
        assert "ncognito" in answer
        await memory.after_reply(session, user="Remember that my locker code is 4711.", reply="OK")
        await memory.observe(session, kind="tool", content="locker 4711")
        context = await memory.before_reply(session, "what is my locker code?")
        await memory.flush()
        assert context.outcome == "disabled"
        assert context.text == ""
    for file in tmp_path.rglob("*"):
        assert not file.is_file() or b"4711" not in file.read_bytes(), file


async def test_excluded_session_types_leave_nothing(tmp_path: Path) -> None:
    async with GatewayMemory(load_config(), workspace=tmp_path) as memory:
        room = await memory.start_session("agent:main:discord:group:5", room="discord-5")
        await memory.after_reply(room, user="Remember that the party is on Friday.", reply="OK")
        await memory.flush()
        assert memory.metrics.counts["extraction.accept.skipped.session_type"] == 1
    assert extractor.ExtractorSettings().exclude_session_types == ("group",)
    for file in tmp_path.rglob("*"):
        assert not file.is_file() or b"party" not in file.read_bytes(), file

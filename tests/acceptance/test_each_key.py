"""Each key that switches something off does what its comment says, and nothing else: one day, seen from outside."""

from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from gateway_memory import OWNER, Config, GatewayMemory, load_config
from gateway_memory.config.scan import scan
from gateway_memory.edge.config_reference import reference_text

pytestmark = [pytest.mark.over_postgres, pytest.mark.files]

ALL: Final = frozenset(
    {
        "memory",  # what was said became one
        "saved by the agent",
        "exchange",  # what was said is found as it was said
        "recall",  # a reply is told what fits
        "update",  # another session hears of a new memory
        "change",  # and of an edit by hand
        "opening",
        "MEMORY.md in the opening",
        "command",
        "observation",
        "stage",
        "prompt at a compaction",
        "follow-up",
        "record",
    }
)
OFF: Final[dict[str, set[str]]] = {
    "autoExtract.enabled": {"memory", "update", "recall"},  # there is nothing of which to tell
    "autoRecall.enabled": {"recall"},
    "notify.enabled": {"update"},
    "incrementalSync.enabled": {"change"},
    "incrementalSync.checkOnMessage": {"change"},
    "opening.enabled": {"opening", "MEMORY.md in the opening"},
    "opening.includeMemoryMd": {"MEMORY.md in the opening"},
    "commands.enabled": {"command"},
    "episodes.enabled": {"exchange"},
    "observations.enabled": {"observation", "stage", "follow-up"},
    "sessions.records": {"follow-up", "record"},
    "sessions.stageSummaries": {"stage", "prompt at a compaction"},
    "sessions.followups": {"follow-up"},
}
"""By key, what is no more when it alone is false."""
ELSEWHERE: Final = {
    "commands.socket": "test_shell_socket.py",
    "distill.enabled": "test_distilling.py",
    "logs.enabled": "test_logs.py",
    "notify.injectSummary": "test_mqtt.py",
}
"""Keys that are true by default and whose effect this day does not show, with the tests that do."""


def with_key(key: str, *, value: bool) -> Config:
    section, name = key.split(".")
    defaults = load_config().defaults
    section, name = (
        "".join(f"_{each.lower()}" if each.isupper() else each for each in part) for part in (section, name)
    )
    extraction = replace(defaults.auto_extract, model="rules")
    defaults = replace(defaults, auto_extract=extraction)
    changes: dict[str, Any] = {section: replace(getattr(defaults, section), **{name: value})}
    return Config(defaults=replace(defaults, **changes))


async def day(config: Config, workspace: Path) -> set[str]:
    """Live a day, and return what came of it."""
    seen: set[str] = set()
    (workspace / "MEMORY.md").write_text("- The ferry to Hven leaves at nine\n", "utf-8")
    async with GatewayMemory(config, workspace) as memory:
        speaker = await memory.start_session("agent:main:telegram:direct:1", user=OWNER)
        listener = await memory.start_session("agent:main:slack:direct:1", user=OWNER)
        await memory.before_reply(listener, "good morning")
        seen |= {"MEMORY.md in the opening"} if "ferry" in speaker.opening else set()
        await memory.after_reply(speaker, user="Remember that my desk is on the third floor", reply="I will.")
        await memory.after_reply(
            speaker,
            user="We talked about zebrafish genomes with Ilse for an hour",
            reply="That sounds like a good talk.",
        )
        for number in range(4):
            await memory.observe(speaker, kind="tool", content=f"wrote report {number} on zebrafish", tool="write")
        await memory.flush()
        text = (await memory.before_reply(listener, "where is my desk?")).text
        seen |= {"update"} if "[Memory Update]" in text else set()
        listener.compacted()  # so that it may be told again
        text = (await memory.before_reply(listener, "on which floor is my desk?")).text
        seen |= {"recall"} if "[Relevant Memory" in text else set()
        with (workspace / "MEMORY.md").open("a", encoding="utf-8") as file:
            file.write("- The bakery on the quay closes at noon\n")
        text = (await memory.before_reply(listener, "and a good day to you")).text
        seen |= {"change"} if "[Memory Changes" in text else set()
        answer = await memory.command(listener, "/memory status")
        seen |= {"command"} if answer else set()
        worker = await memory.start_session("agent:main:cursor:direct:1", user=OWNER)
        for number in range(8):
            await memory.observe(worker, kind="tool", content=f"wrote part {number} of the parser", tool="write")
        seen |= {"follow-up"} if await memory.stop(worker, "completed") else set()
        prompt = await memory.before_compaction(speaker, usage=90, messages=40)
        seen |= {"prompt at a compaction"} if prompt else set()
        await memory.save_fact(listener, content="Ilse keeps her zebrafish in Lund", type="W")
        reader = await memory.start_session("agent:main:web:direct:1", user=OWNER)
        seen |= {"opening"} if reader.opening else set()
        for kind, what in (("episode", "exchange"), ("observation", "observation")):
            hits = await memory.search(listener, "zebrafish", kinds=[kind])
            seen |= {what} if hits else set()
        await memory.end_session(speaker, reason="completed")
        await memory.flush()
    files = {path: path.read_text("utf-8") for path in workspace.rglob("*.md")}
    seen |= {"memory"} if any("third floor" in text for text in files.values()) else set()
    seen |= {"saved by the agent"} if any("in Lund" in text for text in files.values()) else set()
    seen |= {"stage"} if any(" S -->" in text for text in files.values()) else set()
    seen |= {"record"} if (workspace / "sessions.jsonl").exists() else set()
    return seen


async def test_with_every_key_as_it_is_shipped_all_of_it_goes_on(tmp_path: Path) -> None:
    assert await day(with_key("autoExtract.enabled", value=True), tmp_path) == ALL


@pytest.mark.parametrize("key", OFF)
async def test_one_key_off_ends_what_it_says_and_nothing_else(key: str, tmp_path: Path) -> None:
    assert await day(with_key(key, value=False), tmp_path) == ALL - OFF[key]


def test_every_key_that_switches_something_off_is_looked_at() -> None:
    lines = reference_text().splitlines()
    places = scan(reference_text()).lines
    shipped_true = {
        ".".join(map(str, path[3:]))
        for path, line in places.items()
        if path[:3] == ("agents", "defaults", "memorySync") and lines[line - 1].strip().endswith(": true,")
    }
    assert {key for key in shipped_true if key.count(".") == 1} == OFF.keys() | ELSEWHERE.keys()

"""The days that a message names are those of the configured zone, not of UTC."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from extractor import Candidate, Turn
from gateway_memory import OWNER, Config, GatewayMemory, load_config
from gateway_memory.hooks.start import opening as hook_opening
from gateway_memory.hooks.words import lines_of
from gateway_memory.scope import OWNER_SCOPE
from gateway_memory.transfer.layouts import read_layout
from recall import EmbedderSettings, Entry, Recaller, RecallSettings, SearchRequest, Stored
from recall.text.questions import spans_of

SHANGHAI = ZoneInfo("Asia/Shanghai")
WORDS = RecallSettings(embedder=EmbedderSettings(provider="none"))
MORNING = datetime(2026, 10, 14, 7, tzinfo=SHANGHAI)  # in UTC it is still the 13th
YESTERDAY, THE_DAY_BEFORE = "和小李去爬山", "和小王去爬山"


def at(day: int, hour: int) -> float:
    return datetime(2026, 10, day, hour, tzinfo=SHANGHAI).timestamp()


@pytest.fixture(params=["named", "local"])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[tzinfo | None]:
    """Shanghai, by its name or as the host's own zone."""
    import time

    if request.param == "named":
        yield SHANGHAI
        return
    with monkeypatch.context() as patched:
        patched.setenv("TZ", "Asia/Shanghai")
        time.tzset()
        yield None
    time.tzset()


@pytest.mark.parametrize("message", ["昨天和谁去爬山？", "who went hiking yesterday? 爬山"])
async def test_yesterday_is_that_of_the_zone(message: str, zone: tzinfo | None, tmp_path: Path) -> None:
    recaller = Recaller(tmp_path / "index.sqlite", WORDS, zone=zone)
    await recaller.open()
    entries = [
        Entry(id="b", text=YESTERDAY, at=at(13, 9)),
        Entry(id="a", text=THE_DAY_BEFORE, at=at(12, 9)),
        Entry(id="c", text="今天去爬山吗", at=at(14, 6)),
    ]
    await recaller.replace_file("owner", "MEMORY.md", None, entries)
    found = await recaller.search(
        SearchRequest(
            scope="owner", query=message, limit=1, min_score=0.0, by_rank=True, now=MORNING.timestamp(), explain=True
        ),
        timeout_seconds=None,
    )
    assert [hit.text for hit in found.hits] == [YESTERDAY]
    await recaller.close()


@pytest.mark.parametrize(
    ("message", "first", "after"),
    [
        ("昨天", (13, 0), (14, 0)),
        ("yesterday", (13, 0), (14, 0)),
        ("前天", (12, 0), (13, 0)),
        ("today", (14, 0), (15, 0)),
        ("3 days ago", (11, 0), (12, 0)),
        ("last Friday", (9, 0), (10, 0)),
        ("上周五", (9, 0), (10, 0)),
        ("10月5日", (5, 0), (6, 0)),
        ("last week", (5, 0), (12, 0)),
    ],
)
def test_each_way_to_name_a_day_is_reckoned_there(
    message: str, first: tuple[int, int], after: tuple[int, int], zone: tzinfo | None
) -> None:
    span = spans_of(message, MORNING.timestamp(), zone)[0]
    assert (span.start, span.end) == (at(*first), at(*after))


async def test_before_a_reply_it_is_the_configured_zone(tmp_path: Path) -> None:
    defaults = load_config().defaults
    config = Config(defaults=replace(defaults, time_zone="Asia/Shanghai", auto_recall=WORDS))
    folder = tmp_path / "memory"
    folder.mkdir()
    for day, line in ((12, THE_DAY_BEFORE), (13, YESTERDAY)):
        (folder / f"2026-10-{day}.md").write_text(f"- {line}\n")
    async with GatewayMemory(config, tmp_path, clock=lambda: MORNING) as memory:
        session = await memory.start_session("one", user=OWNER)
        found = await memory.search(session, "昨天和谁去爬山？", limit=1)
        assert [hit.text for hit in found] == [YESTERDAY]


FAR = ZoneInfo("Pacific/Auckland")  # thirteen hours ahead of UTC in November: its morning is the day before there


async def test_every_place_asks_for_the_day_of_the_zone(tmp_path: Path) -> None:
    """At 07:00 in a far zone: what is said, expires, opens, is shown and is imported there is of the day there."""
    now = datetime(2026, 11, 21, 7, tzinfo=FAR)
    config = load_config()
    config = Config(defaults=replace(config.defaults, time_zone="Pacific/Auckland", auto_recall=WORDS))
    async with GatewayMemory(config, tmp_path / "workspace", clock=lambda: now.astimezone(UTC)) as memory:
        session = await memory.start_session("chat", user=OWNER)
        await memory.after_reply(
            session, user="Remind me that the ferry to Picton leaves at nine tomorrow.", reply="OK"
        )
        await memory.save_fact(session, content="The garage door code was changed", type="W")
        await memory.flush()
        assert (tmp_path / "workspace" / "memory" / "2026-11-21.md").is_file()
        shown = await memory.command(session, "/memory list")
        assert shown is not None
        assert "2026-11-21" in shown
        assert "2026-11-20" not in shown
        record = await memory.record(session, "list")
        assert all(row["at"].startswith("2026-11-21T07:00") for row in record["memories"])
        found = await memory.search(session, "", since="2026-11-21", until="2026-11-21")
        assert len(found) == len(record["memories"])
        assert await memory.search(session, "", until="2026-11-20") == ()
        (tmp_path / "old" / "memory").mkdir(parents=True)
        (tmp_path / "old" / "memory" / "2026-11-03.md").write_text("- The dentist is in Nelson\n", "utf-8")
        await memory.importer.run(read_layout("openclaw", tmp_path / "old", FAR), scope=OWNER_SCOPE)
        assert "dentist" in (tmp_path / "workspace" / "memory" / "2026-11-03.md").read_text("utf-8")
        await memory.end_session(session, reason="completed")
        later = await memory.start_session("later", user=OWNER)
        assert "2026-11-21) The garage door code" in later.opening
    workspace = tmp_path / "workspace"
    (workspace / "index.sqlite").unlink()  # an editor's hook reads the files themselves, then
    written = tmp_path / "config.json5"
    written.write_text('{agents: {defaults: {memorySync: {timeZone: "Pacific/Auckland"}}}}', "utf-8")
    told = hook_opening(workspace, "", written, now.timestamp())[0]
    assert "2026-11-21) The garage door code" in told
    (line,) = [each for each in lines_of(workspace, FAR) if "garage" in each.text]
    assert datetime.fromtimestamp(line.at, FAR).date() == now.date()


async def test_what_holds_until_today_holds_today_there(tmp_path: Path) -> None:
    evening = datetime(2026, 11, 21, 20, tzinfo=FAR)
    config = load_config()
    config = Config(defaults=replace(config.defaults, time_zone="Pacific/Auckland", auto_recall=WORDS))

    async def until_today(turns: Sequence[Turn], _: Sequence[Stored]) -> Sequence[Candidate]:
        text = "The user parks on level three of the harbour garage"
        kept = Candidate(content=text, category="fact", type="B", importance="normal", confidence=0.9)
        return [replace(kept, expires=evening.date()) for _ in turns]

    clock = [evening]
    async with GatewayMemory(config, tmp_path, clock=lambda: clock[0].astimezone(UTC), extract=until_today) as memory:
        session = await memory.start_session("chat", user=OWNER)
        await memory.after_reply(
            session, user="We parked on level three of the harbour garage, next to the lift", reply="OK"
        )
        await memory.flush()
        assert await memory.search(session, "harbour garage")
        clock[0] = evening + timedelta(hours=5)  # past midnight there; the same day in UTC
        assert {hit.state for hit in await memory.search(session, "harbour garage") if hit.kind == "memory"} <= {"over"}
        await memory.end_session(session, reason="completed")
        await memory.start_session("chat", user=OWNER)
        lines = "".join(path.read_text("utf-8") for path in tmp_path.rglob("*.md"))
        assert "harbour garage (until Saturday 21 November 2026)" in lines, "it stays in its file, and says its end"

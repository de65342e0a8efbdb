"""The days that a message names are those of the configured zone, not of UTC."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from gateway_memory import OWNER, Config, GatewayMemory, load_config
from recall import EmbedderSettings, Entry, Recaller, RecallSettings
from recall.text.dates import spans_of

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
        "owner", message, limit=1, min_score=0.0, timeout_seconds=None, now=MORNING.timestamp(), explain=True
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

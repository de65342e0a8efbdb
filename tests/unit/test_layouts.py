"""Whatever stands in a file that is imported: an item, or a reason; and no item holds what a turn would not."""

import json
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway_memory.store.documents import is_document
from gateway_memory.store.markdown import Addition, one_line, parse, render_item
from gateway_memory.transfer.items import Ignored, MemoryItem, NoteItem, Problem, SummaryItem
from gateway_memory.transfer.layouts import read_layout
from gateway_memory.transfer.rows import item_of

SECRET = "zqxjkv"
TEXT = st.one_of(
    st.text(max_size=60),
    st.text(st.characters(categories=["Cs", "Cc", "Lo", "Po"]), max_size=40),
    st.sampled_from(
        [f"a <private>{SECRET}</private> b", f"<private>{SECRET}", "x <!-- gm:aaaaaaa2 S --> y", "- one\n- two"]
    ),
)
VALUE = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXT),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXT, inner, max_size=3)),
    max_leaves=6,
)
KEYS = (
    "kind type memory_type content text id scope file entities confidence timestamp at source session expires "
    "deleted_at session_id topic summary decisions todos brief layer auto_generated importance category outdates"
).split()
ROW = st.dictionaries(
    st.sampled_from(KEYS),
    st.one_of(
        VALUE,
        st.sampled_from(
            ["memory", "fact", "note", "W", "S", "owner", "user:zoe", "MEMORY.md", "memory/a.md", "2026-01-01"]
        ),
        st.datetimes().map(str),
    ),
)


@given(ROW)
def test_a_row_is_an_item_or_a_mistake_that_is_named(raw: dict[str, object]) -> None:
    try:
        item = item_of(raw, "f:1", 0.0, None)
    except (ValueError, TypeError, OverflowError):
        return
    assert isinstance(item, MemoryItem | SummaryItem | NoteItem | Ignored)
    if isinstance(item, MemoryItem):
        assert 0 <= item.record.confidence <= 1
        assert item.record.type in ("W", "B", "O", "S")
    if not isinstance(item, Ignored):
        shown = (
            [item.record.text]
            if isinstance(item, MemoryItem)
            else [item.text]
            if isinstance(item, NoteItem)
            else [item.record.summary, item.record.topic]
        )
        assert SECRET not in "".join(shown)
    if isinstance(item, NoteItem):
        assert item.file.startswith("memory/")
        assert is_document(item.file)


@given(st.lists(TEXT, max_size=8))
def test_markdown_of_any_kind_is_read_and_nothing_private_comes_along(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("claw")
    text = "\n".join(f"- {line}" if number % 2 else line for number, line in enumerate(lines))
    (folder / "MEMORY.md").write_bytes(text.encode("utf-8", "surrogatepass"))
    for item in read_layout("openclaw", folder):
        assert not isinstance(item, Problem) or re.search("[\ud800-\udfff]", text), "half a pair is no text"
        assert SECRET not in str(item)
        if isinstance(item, MemoryItem):  # what it will stand as says what was read, under the id that we give it
            line = render_item(Addition(id="aaaaaaa7", text=item.record.text))
            blocks = parse(line, file="MEMORY.md")
            assert [block.id for block in blocks] == (["aaaaaaa7"] if one_line(item.record.text) else [])


@given(st.binary(max_size=200))
def test_bytes_of_any_kind_are_lines_with_reasons(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.mktemp("any") / "any.jsonl"
    path.write_bytes(content + b"\n" + json.dumps({"type": "fact", "content": "good"}).encode())
    items = list(read_layout("jsonl", path))
    last = items if content.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) else items[:-1]  # in UTF-16 the good line is none
    assert all(isinstance(item, Problem | Ignored) for item in last)
    assert last is items or isinstance(items[-1], MemoryItem)


@pytest.mark.parametrize(
    ("stated", "at"),
    [
        ("2026-02-16", datetime(2026, 2, 16, 12, tzinfo=ZoneInfo("America/New_York"))),
        ("2026-02-16T09:30", datetime(2026, 2, 16, 9, 30, tzinfo=ZoneInfo("America/New_York"))),
        ("2026-02-16T09:30Z", datetime(2026, 2, 16, 9, 30, tzinfo=UTC)),
    ],
)
def test_a_day_is_its_noon_and_a_time_without_a_zone_is_one_of_the_configs_zone(stated: str, at: datetime) -> None:
    row = {"kind": "fact", "content": "The tram stops at ten", "timestamp": stated}
    item = item_of(row, "f:1", 0.0, ZoneInfo("America/New_York"))
    assert isinstance(item, MemoryItem)
    assert item.record.at == at.timestamp()

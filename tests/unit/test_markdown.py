"""The Markdown files: what a person wrote stays, and what we write can be read again."""

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gateway_memory.store.headings import day_named
from gateway_memory.store.markdown import (
    MAX_TEXT_LENGTH,
    Addition,
    MemoryType,
    content_id,
    edit,
    new_id,
    one_line,
    parse,
    render_item,
)
from gateway_memory.store.patches import patch_of, taken_back

FILE = "MEMORY.md"
LINES = st.lists(
    st.sampled_from(
        [
            "",
            "# Heading",
            "## 二级标题",
            "prose of a person",
            "- typed by hand",
            "- typed by hand",
            "  and goes on",
            "* star",
            "1. numbered",
            "- [ ] to do",
            "- kept <!-- gm:aaaaaaaa O 0.9 -->",
            "- copied <!-- gm:aaaaaaaa -->",
            "- kept too <!-- gm:bbbbbbbb -->",
            "```",
            "~~~~",
            "<!-- a comment",
            "of two lines -->",
            "<!-- whole -->",
            "\ttabbed",
            "| a | table |",
            "---",
            "crlf\r",
            "- crlf item\r",
            "\x0b\x0c odd \u2028 breaks",
        ]
    ),
    max_size=25,
)


@given(LINES, st.text(max_size=80), st.sampled_from(["W", "B", "O", "S"]), st.floats(0, 1))
def test_what_is_added_can_be_read_again_and_all_else_stays(
    lines: list[str], text: str, kind: str, confidence: float
) -> None:
    before = "\n".join(lines)
    addition = Addition(id="zzzzzzzz", text=text, type=kind, confidence=confidence)  # type: ignore[arg-type]
    after = edit(before, add=[addition], file=FILE, title="Memory")
    found = [block for block in parse(after, file=FILE) if block.id == "zzzzzzzz"]
    if one_line(text):
        (block,) = found
        assert (block.kind, block.text, block.type) == ("item", one_line(text), kind)
        assert abs(block.confidence - confidence) <= 0.005001
    rest = [line for line in after.split("\n") if "gm:zzzzzzzz" not in line]
    kept = iter(rest)
    assert all(line in kept for line in before.rstrip("\n \t").split("\n") if line.strip()), (
        "in their order, to the byte"
    )
    new = [line for line in rest if line.strip() and line not in before.split("\n")]
    assert all(line.rstrip("\r") in ("# Memory", "## Remembered") for line in new)


@given(LINES)
def test_adding_twice_is_adding_once_and_removing_undoes_it(lines: list[str]) -> None:
    before = "\n".join(lines)
    addition = Addition(id="zzzzzzzz", text="new")
    once = edit(before, add=[addition], file=FILE, title="Memory")
    assert edit(once, add=[addition], file=FILE, title="Memory") == once
    gone = edit(once, remove=["zzzzzzzz"], file=FILE, title="Memory")
    assert edit(gone, remove=["zzzzzzzz"], file=FILE, title="Memory") == gone
    assert "zzzzzzzz" not in gone


@given(LINES)
def test_ids_are_unique_and_the_first_keeps_its_own(lines: list[str]) -> None:
    blocks = parse("\n".join(lines), file=FILE)
    ids = [block.id for block in blocks]
    assert len(set(ids)) == len(ids)
    for identity in ("aaaaaaaa", "bbbbbbbb"):
        owners = [block for block in blocks if block.id == identity]
        assert all(block.marked for block in owners)


@given(LINES)
@pytest.mark.lengthy
def test_nothing_to_do_changes_no_byte(lines: list[str]) -> None:
    text = "\n".join(lines)
    assert edit(text, file=FILE, title="Memory") == text
    assert edit(text, remove=["notthere"], file=FILE, title="Memory") == text


@given(st.text())
def test_any_text_becomes_one_harmless_line(text: str) -> None:
    line = render_item(Addition(id="zzzzzzzz", text=text))
    assert "\n" not in line
    assert "\r" not in line
    line.encode()
    assert line.count("<!--") == 1
    assert re.fullmatch(r"- .*<!-- gm:zzzzzzzz -->", line)
    assert len(line) < MAX_TEXT_LENGTH * 2 + 100


@given(st.text())
def test_any_file_can_be_parsed(text: str) -> None:
    for memories in (True, False):
        for block in parse(text, file=FILE, memories=memories):
            assert 0 <= block.first <= block.last <= text.count("\n")
            assert block.kind == "paragraph" or memories


def test_a_line_written_by_hand_has_an_id_of_its_words() -> None:
    (first,) = parse("- 喜欢  喝茶\n", file=FILE)
    (second,) = parse("# Other\n\ntext\n\n* 喜欢 喝茶", file="memory/2026-01-01.md")[1:]
    assert first.id == second.id == content_id("喜欢 喝茶")
    assert not first.marked


def test_comments_carry_what_differs_from_the_defaults() -> None:
    assert render_item(Addition(id="k7f3q2aa", text="Prefers Python", type="O", confidence=0.9)) == (
        "- Prefers Python <!-- gm:k7f3q2aa O 0.9 -->"
    )
    assert render_item(Addition(id="k7f3q2aa", text="The port is 8443")) == "- The port is 8443 <!-- gm:k7f3q2aa -->"


def test_a_person_may_go_on_below_our_line() -> None:
    (block,) = parse("- tea <!-- gm:abcdefgh B 0.8 -->\n  but not green tea\n", file=FILE)
    assert (block.id, block.text, block.type, block.confidence) == ("abcdefgh", "tea but not green tea", "B", 0.8)


@pytest.mark.parametrize("fence", ["```", "~~~", "````"])
def test_code_is_no_memory(fence: str) -> None:
    blocks = parse(f"- real\n\n{fence}\n- not real <!-- gm:abcdefgh -->\n{fence}\n- real too\n", file=FILE)
    assert [(block.kind, block.text) for block in blocks if block.kind == "item"] == [
        ("item", "real"),
        ("item", "real too"),
    ]
    assert "abcdefgh" not in {block.id for block in blocks}


def test_a_section_of_ours_opens_where_an_unclosed_fence_cannot_swallow_it() -> None:
    text = "# Notes\n\n```\nunclosed"
    after = edit(text, add=[Addition(id="abcdefgh", text="tea")], file=FILE, title="Memory")
    assert after.endswith(text)
    assert [block.id for block in parse(after, file=FILE) if block.kind == "item"] == ["abcdefgh"]


def test_new_lines_follow_the_last_of_ours_and_leave_the_rest_below() -> None:
    text = "# M\n\n- old <!-- gm:aaaaaaaa -->\n\n## Plans of mine\n\n- sail\n"
    after = edit(text, add=[Addition(id="abcdefgh", text="new")], file=FILE, title="Memory")
    assert after == "# M\n\n- old <!-- gm:aaaaaaaa -->\n- new <!-- gm:abcdefgh -->\n\n## Plans of mine\n\n- sail\n"


def test_windows_line_ends_stay() -> None:
    after = edit(
        "# M\r\n\r\n- old <!-- gm:aaaaaaaa -->\r\n", add=[Addition(id="abcdefgh", text="new")], file=FILE, title="M"
    )
    assert after == "# M\r\n\r\n- old <!-- gm:aaaaaaaa -->\r\n- new <!-- gm:abcdefgh -->\r\n"


def test_prose_is_searchable_by_paragraph_with_its_heading() -> None:
    blocks = parse(
        "# House\n\nThe roof leaks.\nIt is old.\n\nThe door is new.\n", file="memory/house.md", memories=False
    )
    assert [(block.heading, block.text) for block in blocks] == [
        ("House", "The roof leaks.\nIt is old."),
        ("House", "The door is new."),
    ]


LANTERN = """# MEMORY.md - of Pip

## Lantern
#### Boss
- Phase 2: two cards a turn
- **Weak spots**:
  - the lamp

Rules:

1. Ask first

## Key dates
### 2026-09-14
- **New name: Pip**
  - chosen by Marek

## Now
- [ ] Print the second prototype
- [x] Order wooden cubes
- Ours <!-- gm:aaaaaaaa -->
"""


def test_a_line_stands_alone_with_its_headings_its_parents_and_its_day() -> None:
    assert [(block.day, block.text) for block in parse(LANTERN, file=FILE)] == [
        ("", "Lantern › Boss › Phase 2: two cards a turn"),
        ("", "Lantern › Boss › Weak spots: the lamp"),
        ("", "Lantern › Boss › Rules: Ask first"),
        ("2026-09-14", "Key dates › **New name: Pip**"),
        ("2026-09-14", "Key dates › New name: Pip › chosen by Marek"),
        ("", "Now: [ ] Print the second prototype"),
        ("", "Now: [x] Order wooden cubes"),
        ("", "Ours"),
    ]


@pytest.mark.parametrize(
    "line",
    [
        "- **Pronouns:** ",
        "- **备注：**",
        "- **Name**: _(your name)_",
        "- Pets: <which ones>",
        "- Birthday: —",
        "- (nothing yet)",
        "- Time zone:\n  *(optional)*",
        "(What do they like? Fill this in over time.)",
        "_Learn about the person that you help._",
        "---",
    ],
)
def test_what_a_form_says_itself_is_nothing(line: str) -> None:
    assert parse(f"- A line\n\n{line}\n", file=FILE) == parse("- A line\n", file=FILE)


@pytest.mark.parametrize(
    "line", ["- Pronouns: she (or they)", "- [Rule](rule.md)", "- *Loves tea*", "- Ratio: 16:9", "See (a) and (b)"]
)
def test_what_a_person_says_is_no_form(line: str) -> None:
    (block,) = parse(line, file=FILE)
    assert block.text == line.removeprefix("- ")


@pytest.mark.parametrize(
    "heading",
    [
        "2026-09-14",
        "2026-09-14 18:20",
        "2026-09-14 (Mon)",
        "Mon, 2026-09-14",
        "Mon. 14.09.2026",
        "14.09.2026",
        "2026年9月14日 星期一",
        "Monday, September 14, 2026",
        "20260914",
    ],
)
def test_a_heading_that_is_a_day_dates_what_is_below_it_and_is_not_said_again(heading: str) -> None:
    (block,) = parse(f"# Log\n## {heading}\n- First talk\n", file=FILE)
    assert (block.day, block.text) == ("2026-09-14", "First talk")
    assert day_named(heading) == "2026-09-14"


def test_a_year_or_a_number_is_no_day() -> None:
    assert {day_named(name) for name in ("Version 2026", "2026-13-40", "Order 12345678901", "September 2026")} == {""}


def test_ids_are_fresh() -> None:
    ids = {new_id() for _ in range(1000)}
    assert len(ids) == 1000
    assert all(re.fullmatch(r"[a-z2-7]{8}", identity) for identity in ids)


PIECES = (
    "<!--", "-->", "&lt;!--", "&amp;", "&", "lt;!--", "amp;", " gm:abcdefgh ", "\\", "[x] ", "[ ]", "[X]", " ", "- ",
    "#", "```", "~~~", "\r", "\n", "\x85", "\u2028", "\u00a0", "\ud800", "\0", "1. ", "喜欢", "a", "_", "*", ">", "|",
)  # fmt: skip
TRICKY = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), min_size=1, max_size=12).map("".join)


@given(TRICKY, st.sampled_from(["W", "B", "O", "S"]), st.floats(0, 1))
def test_what_is_written_is_read_as_it_was_whatever_it_says(text: str, kind: MemoryType, confidence: float) -> None:
    assume(one_line(text))
    addition = Addition(id="abcd1234", text=text, type=kind, confidence=confidence)
    (block,) = parse(edit("", add=[addition], file="MEMORY.md", title="Memory"), file="MEMORY.md")
    assert (block.id, block.text, block.type) == ("abcd1234", one_line(text), kind)
    assert block.confidence == round(confidence, 2)
    assert one_line(block.text) == block.text


@given(TRICKY, TRICKY, st.lists(TRICKY, max_size=4).map("\n".join))
def test_an_edit_is_taken_back_whatever_the_texts_and_the_file_say(text: str, other: str, before: str) -> None:
    assume(one_line(text) and one_line(other))
    before = before.encode("utf-8", "replace").decode()
    first = edit(before, add=[Addition(id="abcd1234", text=other)], file="MEMORY.md", title="Memory")
    standing = {block.id for block in parse(first, file="MEMORY.md")}
    second = edit(
        first, add=[Addition(id="wxyz1234", text=text)], remove=["abcd1234"], file="MEMORY.md", title="Memory"
    )
    assert taken_back(second, patch_of("MEMORY.md", first, second, made=False)) == first
    again = edit(
        second, add=[Addition(id="abcd1234", text=other)], remove=["wxyz1234"], file="MEMORY.md", title="Memory"
    )
    found = {block.id: block.text for block in parse(again, file="MEMORY.md")}
    assert standing <= found.keys()
    assert found["abcd1234"] == one_line(other)


def test_a_line_that_is_removed_and_added_is_rewritten_in_its_place() -> None:
    before = (
        "# Room\r\n\r\n- Anna: I sing <!-- trigger: choir --> <!-- gm:aaaaaa22 B -->\r\n"
        "- Bob: I row <!-- gm:bbbbbb22 -->\r\n\r\n## Ours\r\n- a list\r\n"
        "  - Anna: my bike is red <!-- gm:cccccc22 0.8 -->\r\n"
    )
    again = [
        Addition(id="aaaaaa22", text="Änni: I sing", type="B"),
        Addition(id="cccccc22", text="Änni: my bike is red", confidence=0.8),
    ]
    after = before.replace("Anna", "Änni")
    for text in (before, after):  # once more after a crash
        assert edit(text, add=again, remove=["aaaaaa22", "cccccc22"], file="MEMORY.md", title="Memory") == after

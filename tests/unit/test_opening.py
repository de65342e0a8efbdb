"""An opening keeps its budget, says what it leaves out, and counts as held exactly what stands in it."""

import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway_memory.context.about_user import OpeningMemory
from gateway_memory.context.memory_block import LineFacts
from gateway_memory.context.opening_text import Material, Opening, compose
from gateway_memory.store.markdown import Block, content_id, parse
from recall import count_tokens, quoted

DAY = "2026-11-23"
WORDS = st.text(st.sampled_from("abc 我喜欢喝茶[]<`\u200b。"), max_size=80)
LINES = st.tuples(st.sampled_from(["- ", "- ", "- ", "## ", "", "\n"]), WORDS, st.integers(1, 12))
FILES = st.lists(LINES, max_size=60).map(
    lambda lines: "\n".join(f"{mark}{number} {text * times}" for number, (mark, text, times) in enumerate(lines))
)
RECORDS = st.builds(
    lambda topic, text, todos: {"timestamp": "2026-11-22T10:00:00Z", "topic": topic, "summary": text, "todos": todos},
    WORDS,
    st.text("abc我们。. \n", max_size=900),
    st.lists(WORDS, max_size=4),
)
LEFT_OUT = re.compile(r"^- (?:(\d+) more lines of MEMORY\.md|MEMORY\.md 还有 (\d+) 行未显示)", re.MULTILINE)


def opened(material: Material, max_tokens: int = 2000, *, include_memory: bool = True) -> Opening:
    return compose(
        material, max_tokens=max_tokens, profile_tokens=1000, include_memory=include_memory, left_out="left_out_chat"
    )


def about(text: str) -> list[OpeningMemory]:
    blocks = parse(text, file="memory/2026-11-23.md")
    return [OpeningMemory(id=block.id, day=DAY, text=block.text) for block in blocks if block.kind == "item"]


def memory(lines: Sequence[str]) -> list[Block]:
    return parse("\n".join(lines), file="MEMORY.md")


def shown_lines(text: str) -> list[str]:
    return [line.removeprefix("- ") for line in text.split("\n") if line.startswith("- ")]


@given(file=FILES, day=FILES, last=RECORDS | st.none(), max_tokens=st.integers(0, 1500), include_memory=st.booleans())
def test_no_opening_exceeds_its_budget_or_counts_wrongly(
    *, file: str, day: str, last: dict[str, object] | None, max_tokens: int, include_memory: bool
) -> None:
    blocks = parse(file, file="MEMORY.md")
    log = about(day)
    found = [OpeningMemory(id="found123", day="2026-01-01", text="found " * 9)]
    material = Material(memory=blocks, last=last, about=log, related=found)
    text, held = opened(material, max_tokens, include_memory=include_memory)
    assert count_tokens(text) <= max_tokens

    shown = shown_lines(text)
    whole = {
        block.id for block in blocks if block.kind == "item" and quoted(f"({block.id}) {block.below_heading}") in shown
    }
    whole |= {fact.id for fact in log if quoted(f"({fact.id}, {DAY}) {fact.text}") in shown}
    whole |= {"found123"} if any("(found123" in line and not line.endswith("…") for line in shown) else set()
    by_host = set() if include_memory else {block.id for block in blocks if block.kind == "item"}
    assert {identity for identity, _ in held} == whole | by_host

    _, is_there, after = text.partition("[Long-Term Memory]")
    part = after.partition("</gateway-memory>")[0]
    told = [block for block in blocks if quoted(block.text)]
    if is_there:
        stand = shown_lines(part)
        left_out = {
            number
            for block in told
            if not any(_stands(block, line) for line in stand)
            for number in range(block.first, block.last + 1)
        }
        said = LEFT_OUT.search(part)
        assert (int(said[1] or said[2]) if said else 0) == len(left_out)
    elif include_memory and told:
        assert max_tokens < 400, "where there is room, it is at least said that something is left out"


def _stands(block: Block, line: str) -> bool:
    prefix = f"({block.id}) " if block.kind == "item" else ""
    text = block.below_heading if block.kind == "item" else block.text
    return line in (quoted(f"{prefix}{text}"), quoted(f"{prefix}{text[:199]}…"))


def test_the_newest_and_most_important_lines_are_told_first_and_the_rest_is_counted() -> None:
    lines = [f"- note number {number:03} about the harbour office and its opening hours" for number in range(150)]
    text, held = opened(Material(memory=memory(["# Memory", "", *lines])))
    shown = [line for line in shown_lines(text) if "note number" in line]
    numbers = [int(line.split()[3]) for line in shown]
    assert numbers == list(range(149, 149 - len(numbers), -1))
    assert len(held) == len(numbers)
    left_out = 150 - len(numbers)
    assert shown_lines(text)[-1] == (
        f"{left_out} more lines of MEMORY.md are not shown; search them with the memory_search tool or /memory search"
    )


def test_importance_comes_before_age_and_instructions_before_both() -> None:
    lines = [f"- line {number:02} {'word ' * 30}" for number in range(60)]
    blocks = memory(lines)
    known = {
        block.id: LineFacts(category="fact", high=number % 2 == 0, at=float(number), day="2026-03-01")
        for number, block in enumerate(blocks)
    }
    known[blocks[3].id] = LineFacts(category="instruction", high=True, at=3.0, day="2026-03-01")
    text, _ = opened(Material(memory=blocks, known=known), 1000)
    numbers = [int(line.split()[3]) for line in shown_lines(text) if " line " in line]
    assert numbers[0] == 3
    assert numbers[1:] == list(range(58, 0, -2))[: len(numbers) - 1]


def test_headings_stand_over_their_lines_and_nowhere_else() -> None:
    lines = ["# Memory", "", "- The boat is called Aurora", "", "## Family", "", "They live in Riga.", ""]
    lines += ["- Mara is eight", "- Olaf is two", "", "## Empty", ""]
    text, held = opened(Material(memory=memory(lines)))
    ids = {body: identity for identity, body in held}
    assert shown_lines(text) == [
        "Family:",
        "They live in Riga.",
        f"({ids['Family: Olaf is two']}) Olaf is two",
        f"({ids['Family: Mara is eight']}) Mara is eight",
        f"({ids['The boat is called Aurora']}) The boat is called Aurora",
    ]


def test_a_long_paragraph_does_not_take_the_room_of_the_rest() -> None:
    lines = ["- The cat is called Miez", "", "很长的说明。" * 300]
    text, held = opened(Material(memory=memory(lines)))
    assert [body for _, body in held] == ["The cat is called Miez"]
    assert "很长的说明。很长的说明。" in text


@pytest.mark.parametrize("long", [True, False])
def test_the_last_session_and_the_newest_facts_have_room_of_their_own(*, long: bool) -> None:
    lines = [
        f"- 第{number}条：港口办公室的开放时间和联系人都写在这里，别忘了带证件" for number in range(200 if long else 2)
    ]
    log = about("\n".join(f"- 今天的第{number}件事" for number in range(8)))
    last = {
        "topic": "登录改造",
        "summary": "接口已改好。" * 200,
        "todos": ["补刷新令牌的测试"],
        "timestamp": "2026-11-22",
    }
    text, held = opened(Material(memory=memory(lines), last=last, about=log))
    assert sum("件事" in line for line in shown_lines(text)) == 8
    assert "补刷新令牌的测试" in text
    assert "接口已改好。" in text
    assert sum(body.startswith("今天") for _, body in held) == 8
    assert ("行未显示" in text) == long


def test_what_memory_md_leaves_goes_to_the_facts() -> None:
    log = about("\n".join(f"- number {number} {'long fact ' * 14}" for number in range(15)))
    lines = [f"- {number} {'note ' * 20}" for number in range(100)]
    alone, _ = opened(Material(about=log), 1000)
    beside, _ = opened(Material(about=log, memory=memory(lines)), 1000)
    assert alone.count("long fact long") == 15 * 7
    assert count_tokens(beside.partition("[About the User]")[2]) > 150
    assert beside.count("\n- (") > 4


def test_a_fact_that_is_cut_may_be_recalled_as_a_whole() -> None:
    body = "the long story of the harbour " * 12
    log = about(f"- {body}\n- a short one\n")
    text, held = opened(Material(about=log))
    assert "the long story" in text
    assert held == [(content_id("a short one"), "a short one")]


def test_what_is_to_do_is_said_in_its_own_language() -> None:
    last = {"topic": "登录改造", "summary": "接口已改好", "todos": ["补刷新令牌的测试"], "decisions": ["用新的密钥"]}
    text, _ = opened(Material(last=last))
    assert "待办：补刷新令牌的测试" in text
    assert "已决定：用新的密钥" in text


def test_what_points_back_to_a_sentence_that_is_told_already_is_left_out() -> None:
    last = {"topic": "Tickets", "summary": "The theatre is cancelled. They'll refund us.", "timestamp": DAY}
    text, _ = opened(Material(memory=memory(["- The theatre is cancelled"]), last=last))
    assert "refund" not in text
    text, _ = opened(Material(last=last))
    assert "They'll refund us" in text

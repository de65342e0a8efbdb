"""A file is edited without the marks that hold its memories' ids, and keeps them: which line keeps which mark."""

import random

import pytest

from gateway_memory.store.markdown import Addition, edit, parse
from gateway_memory.store.unmarked import with_marks, without_marks

WAS = """# Memory

## Remembered

- My rent is 1450 euros a month <!-- gm:aaaaaaaa B -->
- Allergic to peanuts <!-- trigger: snacks --> <!-- gm:bbbbbbbb -->
- Prefers short answers <!-- gm:cccccccc O 0.9 -->
  with a second line
- A line of my own
- My sister lives in Lisbon <!-- gm:dddddddd -->

```
- code <!-- gm:eeeeeeee -->
```
"""
SHOWN = without_marks(WAS)


def ids(text: str) -> dict[str, str]:
    """Return the texts of marked memories by their ids."""
    return {block.id: block.text for block in parse(text, file="MEMORY.md") if block.marked}


def test_the_marks_alone_are_not_shown() -> None:
    assert "gm:aaaaaaaa" not in SHOWN
    assert "- Allergic to peanuts <!-- trigger: snacks -->\n" in SHOWN
    assert "- code <!-- gm:eeeeeeee -->" in SHOWN, "code is no memory, and stays as it is"
    assert "A line of my own" in SHOWN


@pytest.mark.parametrize("was", [WAS, WAS.replace("\n", "\r\n"), "", "no list\n", "- x <!-- gm:aaaaaaaa -->"])
def test_a_text_that_stayed_gives_the_file_byte_for_byte(was: str) -> None:
    assert with_marks(without_marks(was), was) == was


def test_moved_lines_keep_their_memories() -> None:
    moved = SHOWN.replace("- My sister lives in Lisbon\n", "").replace(
        "# Memory\n", "# Memory\n\n- My sister lives in Lisbon\n"
    )
    assert ids(with_marks(moved, WAS)) == ids(WAS)
    lines = SHOWN.split("\n")
    lines[4], lines[5] = lines[5], lines[4]
    assert ids(with_marks("\n".join(lines), WAS)) == ids(WAS)


def test_a_changed_line_keeps_its_memory() -> None:
    changed = ids(with_marks(SHOWN.replace("1450", "1500").replace("short answers", "short replies"), WAS))
    assert changed["aaaaaaaa"] == "My rent is 1500 euros a month"
    assert changed["cccccccc"] == "Prefers short replies with a second line"
    assert changed.keys() == ids(WAS).keys()
    both = SHOWN.replace("- My sister lives in Lisbon\n", "").replace(
        "# Memory\n", "# Memory\n\n- My sister lives in Porto\n"
    )
    assert ids(with_marks(both, WAS))["dddddddd"] == "My sister lives in Porto", "moved and changed"


def test_a_deleted_line_takes_its_mark_along() -> None:
    left = with_marks(SHOWN.replace("- My rent is 1450 euros a month\n", ""), WAS)
    assert ids(left).keys() == ids(WAS).keys() - {"aaaaaaaa"}
    assert left == WAS.replace("- My rent is 1450 euros a month <!-- gm:aaaaaaaa B -->\n", "")
    assert ids(with_marks("", WAS)) == {}


def test_an_added_line_gets_no_mark_of_another() -> None:
    added = with_marks(SHOWN.replace("- A line", "- The boat is called Wilma\n- A line"), WAS)
    assert ids(added) == ids(WAS)
    assert "- The boat is called Wilma\n" in added
    other = with_marks(SHOWN.replace("- Allergic to peanuts <!-- trigger: snacks -->", "- 吃素"), WAS)
    assert "bbbbbbbb" not in other, "another sentence is another memory"


def test_a_mark_is_never_there_twice() -> None:
    twice = with_marks(SHOWN.replace("- A line", "- My rent is 1450 euros a month\n- A line"), WAS)
    assert twice.count("gm:aaaaaaaa") == 1
    typed = with_marks(SHOWN.replace("- A line of my own", "- A line <!-- gm:ffffffff -->"), WAS)
    assert ids(typed)["ffffffff"] == "A line"


@pytest.mark.lengthy
def test_whatever_is_edited_every_mark_is_one_of_before() -> None:
    chance = random.Random(7)  # noqa: S311 - edits, no secrets
    was = edit(
        "",
        add=[Addition(id=f"{n:08}", text=f"Memory {n} says {n * n}") for n in range(40)],
        file="MEMORY.md",
        title="M",
    )
    for _ in range(200):
        lines = without_marks(was).split("\n")
        for _ in range(chance.randrange(6)):
            at = chance.choice([number for number, line in enumerate(lines) if line.startswith("- ")])
            lines[at : at + 1] = chance.choice([[], [lines[at], "- new"], [lines[at] + " more"], ["## " + lines[at]]])
        if chance.random() < 0.5:
            chance.shuffle(lines)
        now = ids(with_marks("\n".join(lines), was))
        assert now.keys() <= ids(was).keys()
        texts = {block.below_heading for block in parse("\n".join(lines), file="MEMORY.md")}
        assert set(now.values()) <= texts
        assert all(now.get(identity) == text for identity, text in ids(was).items() if lines.count(f"- {text}") == 1)

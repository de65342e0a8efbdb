"""The tables of words and patterns: their format, and that each pattern in them can be compiled."""

import re
from pathlib import Path

import pytest

import extractor.tables
import recall.tables
from gateway_memory import capture, store
from gateway_memory.browsing import names
from gateway_memory.ground.tables import Table

TABLES = sorted(
    path
    for package in (extractor.tables, names, capture, store, recall.tables)
    for path in Path(str(package.__file__)).parent.glob("*.txt")
    if path.name not in ("alike.txt", "simplified.txt")  # groups of words, pairs of characters; without heads
)
TEXT = """\
# A comment.
[words]
short: brief, to the point,
  in a word
long 1.5: at length, brief

[fragments]
NAME: Ann | Bob
GREETED: hello {NAME}

[patterns]
# A comment between entries.
greets: {GREETED} | hi there
thanks:
  # thanks
  (?:many
    |lots of) thanks
  [ ]cheers

[numbers]
before: length: -0.5
"""


def test_words_are_parted_by_commas_and_go_on_in_indented_lines() -> None:
    made = Table(TEXT)
    assert made.sets("words")["short"] == {"brief", "to the point", "in a word"}
    assert made.words("words") == {"brief", "to the point", "in a word", "at length"}


def test_the_first_class_of_a_word_holds() -> None:
    classes, weights = Table("[verbs]\nliking 2: love, run\nhabit 1.5: run, swim\n").weights("verbs")
    assert classes == {"love": "liking", "run": "liking", "swim": "habit"}
    assert weights == {"liking": 2.0, "habit": 1.5}


def test_a_pattern_has_alternatives_and_fragments_of_fragments() -> None:
    patterns = Table(TEXT).patterns()
    assert [bool(patterns["greets"].fullmatch(text)) for text in ("Hello Bob", "hi there", "hello")] == [
        True,
        True,
        False,
    ]
    thanked = ("many thanks", "lots of thanks", " cheers", "# thanks", "thanks")
    assert [bool(patterns["thanks"].fullmatch(text)) for text in thanked] == [True, True, True, True, False]


def test_a_pattern_is_compiled_when_it_is_first_used() -> None:
    patterns = Table("[patterns]\nbroken: (\nwhole: a\n").patterns()
    assert patterns["whole"].match("A")
    with pytest.raises(re.error):
        patterns["broken"]


def test_a_number_may_have_a_name_with_a_colon() -> None:
    assert Table(TEXT).numbers("numbers") == {"before: length": -0.5}


def test_other_tables_give_fragments() -> None:
    assert Table("[patterns]\nkin: my {PEOPLE}\n", PEOPLE="aunt|uncle").patterns()["kin"].fullmatch("my uncle")


def test_a_line_without_a_head_is_refused() -> None:
    with pytest.raises(ValueError, match="no head that ends in a colon: brief, short"):
        Table("[words]\nbrief, short\n")


def shipped(path: Path) -> Table:
    """Return a table; the fragment is one that `quotations.txt` gets from another table."""
    return Table(path.read_text("utf-8"), PEOPLE="aunt")


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem)
def test_each_line_of_a_shipped_table_belongs_to_an_entry(path: Path) -> None:
    made = shipped(path)
    assert made.sections("")
    for section in made.sections(""):
        assert made.texts(section) or section in ("English 2", "Chinese 2"), section


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem)
def test_each_pattern_of_a_shipped_table_compiles(path: Path) -> None:
    made = shipped(path)
    patterns = {"patterns", "exact", "shapes", "attributes", "units", "places", "issued", "spans"}
    for section in patterns & set(made.sections("")):
        for head, source in made.sources(section):
            assert re.compile(source).pattern, (section, head)

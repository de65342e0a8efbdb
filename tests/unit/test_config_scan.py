"""The scanner finds the keys that the parser finds, and their lines."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

import pyjson5
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway_memory.config.scan import Duplicate, KeyPath, dotted, position, scan

SPACES = ["", "", " ", "\n", "\r\n", "\t", "\ufeff", "\u00a0", "// {'\n", "//\u2028", '/* "[\n */', "/**/", "/*/ ,*/"]
SCALARS = ["1", "-0.5", ".5", "5.", "0x1F", "+3", "1e5", "-Infinity", "NaN", "true", "false", "null"]
BARE_KEYS = ["a", "$b_1", "键", "null", "\\u0061z", "e\u0301"]
ESCAPES = {'"': '\\"', "'": "\\'", "\\": "\\\\", "\n": "\\n", "\r": "\\r"}


def quoted(text: str, mark: str, glue: str) -> str:
    """A JSON5 string; `glue` is an escaped line end, which stands for nothing."""
    return mark + glue.join(ESCAPES.get(character, character) for character in text) + mark


strings = st.builds(
    quoted,
    st.text(st.characters(exclude_categories=["Cs"]), max_size=6),
    st.sampled_from("\"'"),
    st.sampled_from(["", "", "\\\n", "\\\r\n"]),
)
trees = st.recursive(
    st.sampled_from(SCALARS) | strings,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(BARE_KEYS) | strings, inner, max_size=4)
    ),
    max_leaves=12,
)


class Writer:
    """Writes a tree of tokens as JSON5 with any space and comments, and notes where each key and list entry stands."""

    def __init__(self, data: st.DataObject) -> None:
        self.data = data
        self.text = ""
        self.lines: dict[KeyPath, int] = {}

    def write(self, tree: Any, path: KeyPath = ()) -> None:
        if isinstance(tree, str):
            self.text += tree
            return
        self.text += "{" if isinstance(tree, dict) else "["
        steps: Iterable[tuple[Any, Any]] = tree.items() if isinstance(tree, dict) else enumerate(tree)
        for step, inner in steps:
            self.space()
            inner_path = (*path, key_of(step) if isinstance(tree, dict) else step)
            self.lines[inner_path] = len(re.findall(r"\r\n|\n|\r", self.text)) + 1
            if isinstance(tree, dict):
                self.text += step
                self.space()
                self.text += ":"
                self.space()
            self.write(inner, inner_path)
            self.space()
            self.text += ","
        self.text = self.text if self.data.draw(st.booleans()) else self.text.removesuffix(",")
        self.space()
        self.text += "}" if isinstance(tree, dict) else "]"

    def space(self) -> None:
        self.text += "".join(self.data.draw(st.lists(st.sampled_from(SPACES), max_size=2)))


def key_of(token: str) -> str:
    (key,) = pyjson5.decode(f"{{{token}: 0}}")
    return str(key)


def paths_of(value: object, path: KeyPath = ()) -> Iterator[KeyPath]:
    yield path
    for step, inner in (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    ):
        yield from paths_of(inner, (*path, step))


@given(trees, st.data())
def test_the_scanner_agrees_with_the_parser_and_knows_each_line(tree: Any, data: st.DataObject) -> None:
    writer = Writer(data)
    writer.write(tree)
    found = scan(writer.text)
    parsed = set(paths_of(pyjson5.decode(writer.text)))
    if found.duplicates:  # two spellings of one key: the last value stands, what was in the first is gone
        assert parsed <= set(found.lines)
    else:
        assert parsed == set(found.lines)
        assert found.lines == {(): 1, **writer.lines}


def test_every_repetition_of_a_key_is_found_in_its_own_object_only() -> None:
    found = scan("""{
      a: {x: 1, y: 2},
      b: [{x: 1}, {x: 2, 'x': 3}],
      "a": {x: 3},
      \\u0061: 0,
    }""")
    assert found.duplicates == (
        Duplicate(path=("b", 1, "x"), line=3, first_line=3),
        Duplicate(path=("a",), line=4, first_line=2),
        Duplicate(path=("a",), line=5, first_line=2),
    )


def test_a_comment_belongs_to_the_key_below_it_and_not_to_the_value_before_it() -> None:
    found = scan("""{
      // about a,
      // in two lines
      a: 1, // not about b
      /* about
       * c */
      c: {}, d: 2,
    }""")
    comments = {dotted(path): text for path, text in found.comments.items() if text}
    assert comments == {"a": "about a,\nin two lines", "c": "about\nc"}


def test_lines_end_as_editors_end_them() -> None:
    assert scan("{\r\n\r\na:1,\rb:2,\nc:3,\u2028d:4}").lines == {(): 1, ("a",): 3, ("b",): 4, ("c",): 5, ("d",): 5}
    assert position("a\r\nbc", 4) == (2, 2)
    assert position("", 0) == (1, 1)


@pytest.mark.parametrize(
    ("path", "text"),
    [((), ""), (("a", 0, "b"), "a[0].b"), (("a", "b c"), 'a["b c"]'), (("x.y",), '["x.y"]'), (("记",), '["记"]')],
)
def test_a_path_is_shown_so_that_it_cannot_be_mistaken(path: KeyPath, text: str) -> None:
    assert dotted(path) == text

"""Read the tables of a package: word lists, weights and patterns, one format for all of them.

    # A line that begins with "#" is a comment.
    [answers]                       begins a section
    short: brief, to the point      an entry: its head, then words, which commas part
    long 1.5: in detail,            a head may hold more, such as a weight or a category;
      at length                     indented lines go on

    [patterns]
    thanks:                         a pattern of Python's `re`, mostly without regard to case
      thank(?:s| you) | cheers      its alternatives: parted by " | ", or on lines of their own
      (?:many|lots of)
        (?:thanks|love)             a line that is indented deeper continues the one above, without a blank
      {NAME} says thanks            {NAME} stands for a fragment

    [fragments]
    NAME:                           alternatives that patterns of the file can use, and later fragments
      Ann | Bob

Blanks at the ends of an alternative do not count: write `[ ]` for one that does. `tests/unit/test_tables.py` tells
whether all tables can be read.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final

_FRAGMENT: Final = re.compile(r"\{([A-Z][A-Z_]*)\}")
_DEEPER: Final = "    "


class Patterns(dict[str, re.Pattern[str]]):
    """The patterns of a section by name, each compiled on first use."""

    def __init__(self, sources: dict[str, str], flags: int) -> None:
        super().__init__()
        self._sources = sources
        self._flags = flags

    @property
    def names(self) -> list[str]:
        """The names of all patterns."""
        return list(self._sources)

    def __missing__(self, name: str) -> re.Pattern[str]:
        pattern = self[name] = re.compile(self._sources[name], self._flags)
        return pattern


class Table:
    """A file of tables. fragments: alternatives by name that its patterns use, beside its own fragments.

    Raises:
        ValueError: a line has no head.
    """

    def __init__(self, text: str, **fragments: str) -> None:
        self._sections: dict[str, list[tuple[str, list[str]]]] = {}
        entries: list[tuple[str, list[str]]] = []
        for line in map(str.rstrip, text.splitlines()):
            if not line or line.startswith("#"):
                continue
            if line.startswith("["):
                entries = self._sections.setdefault(line.strip("[] "), [])
            elif line.startswith(_DEEPER):
                entries[-1][1][-1] += line.strip()
            elif line.startswith(" "):
                entries[-1][1].append(line.strip())
            else:
                head, colon, first = (line[:-1], ":", "") if line.endswith(":") else line.partition(": ")
                if not colon:
                    raise ValueError(f"a line of a table has no head that ends in a colon: {line}")
                entries.append((head, [first.strip()] if first else []))
        self._compiled: dict[str, list[tuple[str, re.Pattern[str]]]] = {}
        self._fragments = dict(fragments)
        for name, lines in self._sections.get("fragments", []):
            self._fragments[name] = self._pattern(lines)

    def sections(self, start: str) -> list[str]:
        """Return the names of the sections that begin so."""
        return [name for name in self._sections if name.startswith(start)]

    def texts(self, section: str) -> list[tuple[str, str]]:
        """Return the head and the text of each entry of a section, as it stands."""
        return [(head, " ".join(lines)) for head, lines in self._sections[section]]

    def paragraphs(self, section: str) -> list[tuple[str, str]]:
        """Return the head and the text of each entry of a section, with its lines."""
        return [(head, "\n".join(lines)) for head, lines in self._sections[section]]

    def rows(self, section: str) -> Iterator[tuple[list[str], list[str]]]:
        """Yield each entry of a section as the words of its head, and its own words or phrases."""
        for head, lines in self._sections[section]:
            yield head.split(), [word for line in lines for each in line.split(",") if (word := each.strip())]

    def sets(self, section: str) -> dict[str, frozenset[str]]:
        """Return the words of each entry of a section by its head."""
        return {" ".join(head): frozenset(words) for head, words in self.rows(section)}

    def words(self, section: str) -> frozenset[str]:
        """Return the words of all entries of a section."""
        return frozenset(word for _, words in self.rows(section) for word in words)

    def weights(self, section: str) -> tuple[dict[str, str], dict[str, float]]:
        """Read "class weight: words". Return the class of each word, its first one, and the weight of each class."""
        classes: dict[str, str] = {}
        weights: dict[str, float] = {}
        for (name, weight), words in self.rows(section):
            classes = dict.fromkeys(words, name) | classes
            weights[name] = float(weight)
        return classes, weights

    def numbers(self, section: str) -> dict[str, float]:
        """Read "name: number"; a name may have a colon of its own."""
        lines = (f"{head}: {''.join(values)}" for head, values in self._sections[section])
        return {name: float(number) for name, _, number in (line.rpartition(": ") for line in lines)}

    def sources(self, section: str) -> list[tuple[str, str]]:
        """Return the head and the pattern of each entry of a section."""
        return [(head, self._pattern(lines)) for head, lines in self._sections[section]]

    def compiled(self, section: str, flags: int = re.IGNORECASE) -> list[tuple[str, re.Pattern[str]]]:
        """Return the head and the pattern of each entry of a section, in their order, compiled once."""
        if section not in self._compiled:
            self._compiled[section] = [(head, re.compile(source, flags)) for head, source in self.sources(section)]
        return self._compiled[section]

    def patterns(self, section: str = "patterns", flags: int = re.IGNORECASE) -> Patterns:
        """Return the patterns of a section by the heads of its entries."""
        return Patterns(dict(self.sources(section)), flags)

    def _pattern(self, lines: list[str]) -> str:
        source = "|".join(each for line in lines for each in line.split(" | "))
        return _FRAGMENT.sub(lambda name: f"(?:{self._fragments[name[1]]})", source)


def tables_in(package: str) -> Callable[..., Table]:
    """Return a function that returns the table of a name, a file of the folder of a package's `__init__.py`.

    Its other arguments are fragments that other tables make.
    """

    @cache
    def table(name: str, **fragments: str) -> Table:
        return Table(Path(package).with_name(f"{name}.txt").read_text("utf-8"), **fragments)

    return table


_HAN: Final = re.compile(r"[\u3400-\u9fff]")


def has_han(text: str) -> bool:
    """Return whether a text has a Han character."""
    return bool(_HAN.search(text))


def simplified(text: str) -> str:
    """Return a text with traditional Chinese characters as simplified ones; it stays as long as it is."""
    return text.translate(_simpler()) if has_han(text) else text


@cache
def _simpler() -> Mapping[int, str]:
    lines = Path(__file__).with_name("simplified.txt").read_text("utf-8").splitlines()
    pairs = "".join(line for line in lines if not line.startswith("#"))
    return {ord(old): new for old, new in zip(pairs[::2], pairs[1::2], strict=True)}

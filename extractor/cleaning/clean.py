"""Removes what must never reach the journal: private spans, secrets, injected blocks, broken characters.

A text is decoded layer by layer, and each character is mapped to its source (`Traced`), so that cuts apply to the
source: a tool's output may be JSON whose strings hold JSON, or a page that quotes it, and a secret in it may be decoded
later. Only the encoded span of a secret is cut.
"""

import html
import re
import unicodedata
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, pairwise
from typing import Final, NamedTuple

from extractor.tables import table
from extractor.types import Cleaned

from .hosts import without_labels
from .masking import checked, forms, in_columns, joined, named_secrets, names, pairs, placed

_LAST_WORDS: Final = 2_000
"""Characters of a reply among which its last question is."""
_AROUND = 600
"""Characters of context; a secret and its name are closer to each other."""


class Cut(NamedTuple):
    """A span of a source, and its replacement."""

    start: int
    end: int
    instead: str


class Traced:
    """A source, or a text decoded from it. cuts: the cuts so far, by positions in the source."""

    def __init__(self, text: str, places: tuple["array[int]", "array[int]"] | None = None) -> None:
        self.text = text
        self.cuts: list[Cut] = []
        self._places = places

    @property
    def places(self) -> tuple["array[int]", "array[int]"]:
        """The start and end of each character's source; computed on first use."""
        if self._places is None:
            length = len(self.text)
            self._places = array("q", range(length)), array("q", range(1, length + 1))
        return self._places

    def copy(self) -> "Traced":
        """Return an independent copy, with the same cuts."""
        copied = Traced(self.text, self._places)
        copied.cuts = list(self.cuts)
        return copied

    def unseen(self, known: set[tuple[str, str]]) -> list["Traced"]:
        """Return the parts whose pairs of lines were not seen before, with their context, and note them as seen."""
        parts: list[list[int]] = []
        fresh: set[tuple[str, str]] = set()
        position, before = 0, ""
        for line in self.text.split("\n"):
            end = position + len(line)
            if (before, line) not in known:
                fresh.add((before, line))
                begin = self.text.rfind("\n", 0, max(0, position - _AROUND)) + 1
                if parts and begin <= parts[-1][1]:
                    parts[-1][1] = end + _AROUND
                else:
                    parts.append([begin, end + _AROUND])
            position, before = end + 1, line if line.strip() else before
        known |= fresh
        starts, ends = self.places
        return [Traced(self.text[begin:end], (starts[begin:end], ends[begin:end])) for begin, end in parts]

    def cut(self, spans: Sequence[tuple[int, int, str]]) -> None:
        """Replace spans of the current text. They are ascending, not empty, and do not overlap."""
        if not spans:
            return
        starts, ends = self.places
        self.cuts += [Cut(starts[start], ends[end - 1], instead) for start, end, instead in spans]
        self.text, self._places = self._replaced(spans)

    def decoded(self, pattern: re.Pattern[str], decode: Callable[[re.Match[str]], str | None]) -> "Traced | None":
        """Return the text with each match decoded; None where nothing changes."""
        spans = [
            (match.start(), match.end(), text)
            for match in pattern.finditer(self.text)
            if (text := decode(match)) is not None
        ]
        return Traced(*self._replaced(spans)) if spans else None

    def _replaced(self, spans: Sequence[tuple[int, int, str]]) -> tuple[str, tuple["array[int]", "array[int]"]]:
        """Return the text with spans replaced. A replacement maps to the whole source of its span."""
        starts, ends = self.places
        texts: list[str] = []
        begins, stops = array("q"), array("q")
        position = 0
        for start, end, instead in spans:
            texts += (self.text[position:start], instead)
            begins += starts[position:start]
            stops += ends[position:start]
            begins += array("q", [starts[start]]) * len(instead)
            stops += array("q", [ends[end - 1]]) * len(instead)
            position = end
        texts.append(self.text[position:])
        return "".join(texts), (begins + starts[position:], stops + ends[position:])


def carried_out(text: str, cuts: Iterable[Cut], *, strongest: str) -> tuple[str, list[Cut]]:
    """Return a source with its cuts applied, and the cuts. Overlapping ones are joined.

    The replacement of joined cuts is the first one's, or `strongest` if it is among them.
    """
    merged: list[Cut] = []
    # Stable: of two cuts that begin together, the earlier one comes first.
    for cut in sorted(cuts, key=lambda cut: cut.start):
        last = merged[-1] if merged else None
        if last is None or cut.start >= last.end:
            merged.append(cut)
            continue
        instead = strongest if strongest in (cut.instead, last.instead) else last.instead
        merged[-1] = Cut(last.start, max(last.end, cut.end), instead)
    texts: list[str] = []
    position = 0
    for cut in merged:
        texts += (text[position : cut.start], cut.instead)
        position = cut.end
    return "".join((*texts, text[position:])), merged


_CHARACTERS: Final = table("characters").patterns(flags=0)
_ODD: Final = _CHARACTERS["odd"]
_LINE_ENDS: Final = "\r\x0b\x0c\x85\u2028\u2029"
_DASHES: Final = "\u2212\u2010\u2011\u2012\ufe63"

_HEX: Final = "[0-9a-fA-F]"
_LETTERS: Final = {"n": "\n", "r": "\n", "t": "\t", "a": "", "b": "", "f": "\n", "v": "\n", "0": "", "\n": ""}


def _bytes_after(sign: str) -> str:
    """Return a pattern for the escaped bytes of one character in UTF-8, or of several in another character set."""
    low, high = rf"{sign}[0-7]{_HEX}", rf"{sign}[89a-fA-F]{_HEX}"
    return (
        rf"(?:{low}|{sign}[cdCD]{_HEX}{sign}[89abAB]{_HEX}|{sign}[eE]{_HEX}(?:{sign}[89abAB]{_HEX}){{2}}"
        rf"|{sign}[fF][0-4](?:{sign}[89abAB]{_HEX}){{3}}|(?:{high}){{1,40}})"
    )


def _escapes(slash: str) -> str:
    """Return a pattern of backslash escapes in JSON, JavaScript, Python, YAML, C and shells."""
    octal = rf"{slash}[2-3][0-7]{{2}}"
    return (
        rf"{slash}[uU][dD][89abAB]{_HEX}{{2}}{slash}[uU][dD][c-fC-F]{_HEX}{{2}}|{slash}u{_HEX}{{4}}|{slash}U{_HEX}{{8}}"
        rf"|{slash}u\{{{_HEX}{{1,6}}\}}|{_bytes_after(slash + '[xX]')}|(?:{octal}){{1,4}}|{slash}[01][0-7]{{2}}"
    )


def _entities(ampersand: str) -> str:
    return rf"{ampersand}(?:#\d{{1,20}}|#[xX]{_HEX}{{1,20}}|[a-zA-Z][a-zA-Z0-9]{{1,31}});?"


def _percents(sign: str) -> str:
    return rf"{sign}[uU]{_HEX}{{4}}|{_bytes_after(sign)}|(?<=[\w%\"'{{}}:=,.;!?)-])\+(?=[\w%\"'{{}}:=(-])"


# One layer of one kind at a time, since a value may contain another kind's signs; and all kinds together, however
# often each was applied: "\\\\u003c", "%25253C" and "&amp;amp;lt;" are one step.
_PUNCTUATION: Final = r"[!-/:-@\[-`{-~]"
_JSON: Final = re.compile(rf"{_escapes(chr(92) * 2)}|\\[abfnrtv0 \n]|\\{_PUNCTUATION}")
_HTML: Final = re.compile(_entities("&"))
_URL: Final = re.compile(_percents("%"))
_ALL: Final = re.compile(
    rf"(?<!\\)(?:{_escapes(chr(92) * 2 + '+')}|\\+[abfnrtv0 \n]|\\+(?!\\){_PUNCTUATION})"
    rf"|{_entities('&(?:amp;|#38;|#[xX]26;)+')[:-1]}|{_entities('&')}|{_percents('%(?:25)*')}"
)
_ENCODED: Final = re.compile(rf"\\[!-~\s]|&[#a-zA-Z]|%{_HEX}{{2}}|%[uU]{_HEX}|\S\+\S")

_DEEPEST: Final = 16
_MOST_VIEWS: Final = 40
_WORK: Final = 400_000
"""The most characters of all views of a text; for a longer text, four times its length."""
_WORK_OF_A_LONG_TEXT: Final = 4


def views(text: str) -> Iterator[Traced]:
    """Yield the text itself, and each text that results from decoding it.

    A text that is still encoded after sixteen layers is an attack: a view is yielded with that cut from its source.
    """
    source = Traced(text)
    yield source.copy()
    if not (_ENCODED.search(text) or _ODD.search(text)):
        return
    known = {text}
    work = max(_WORK, _WORK_OF_A_LONG_TEXT * len(text))
    for view in chain(_inwards(source, work // 2), _by_kind(source, work // 2)):
        if view.text not in known:
            known.add(view.text)
            yield view.copy()


def _inwards(view: Traced, work: int) -> Iterator[Traced]:
    """Decode all kinds of encoding together, layer by layer, to the innermost."""
    for _ in range(_DEEPEST):
        decoded = view.decoded(_ALL, _of_any)
        plain = (decoded or view).decoded(_ODD, _of_odd)
        if not (decoded or plain):
            return
        yield from (each for each in (decoded, plain) if each)
        view = plain or decoded or view
        work -= len(view.text)
        if work < 0:
            break
    view.cut([(at.start(), at.end(), "") for at in _ALL.finditer(view.text) if _of_any(at)])
    yield view


def _by_kind(source: Traced, work: int) -> Iterator[Traced]:
    """Decode one kind at a time, in every order, the most decoded view first."""
    waiting, queued = [source], {source.text}
    while waiting:
        view = waiting.pop(min(range(len(waiting)), key=lambda at: len(waiting[at].text)))
        for pattern, decode in _KINDS:
            decoded = view.decoded(pattern, decode) if work > 0 and len(queued) < _MOST_VIEWS else None
            if decoded and decoded.text not in queued:
                work -= len(decoded.text)
                queued.add(decoded.text)
                waiting.append(decoded)
                yield decoded


def _of_escape(match: re.Match[str]) -> str | None:
    text = re.sub(r"\\+", r"\\", match[0])
    letter = text[1:2]
    if letter in ("u", "U"):
        numbers = [int(number.strip("{}"), 16) for number in re.split(r"\\[uU]", text)[1:]]
        if len(numbers) == 2:  # noqa: PLR2004 - the halves of a surrogate pair
            return chr(0x10000 + ((numbers[0] & 0x3FF) << 10) + (numbers[1] & 0x3FF))
        return chr(numbers[0]) if numbers[0] <= 0x10FFFF else ""  # noqa: PLR2004 - Unicode's last
    if letter in ("x", "X"):
        return _of_bytes(bytes(int(number, 16) for number in re.split(r"\\[xX]", text)[1:]))
    if len(text) > 2 and letter.isdigit():  # noqa: PLR2004 - a sign and more than one digit
        return _of_bytes(bytes(int(number, 8) & 0xFF for number in text.split("\\")[1:]))
    return _LETTERS.get(letter, letter)


def _of_entity(match: re.Match[str]) -> str | None:
    innermost = re.sub(r"&(?:amp;|#38;|#[xX]26;)*", "&", match[0])
    text = html.unescape(innermost if innermost != "&" else match[0])
    return text if text != match[0] else None


def _of_percent(match: re.Match[str]) -> str | None:
    text = match[0]
    if text == "+":
        return " "
    numbers = re.split("%(?:25)*(?=.)", text)[1:]
    if numbers[0][0] in "uU":
        return chr(int(numbers[0][1:], 16))
    return _of_bytes(bytes(int(number, 16) for number in numbers))


def _of_bytes(data: bytes) -> str:
    for encoding in ("utf-8", "gb18030"):
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    return data.decode("latin-1")


def _of_any(match: re.Match[str]) -> str | None:
    decode = {"\\": _of_escape, "&": _of_entity}.get(match[0][0], _of_percent)
    return decode(match)


def _of_odd(match: re.Match[str]) -> str | None:
    return _plain(match[0])


@lru_cache(maxsize=1024)
def _plain(character: str) -> str | None:
    if character in _LINE_ENDS:
        return "\n"
    if unicodedata.category(character) == "Zs" or character == "\u2800":
        return " "
    if character in _DASHES:
        return "-"
    digit = unicodedata.decimal(character, -1)
    if digit >= 0:
        return str(digit)
    plain = unicodedata.normalize("NFKC", character)
    if plain.isascii() and len(plain) == 1 and plain.isprintable():
        return plain
    return "" if _HIDDEN.match(character) else None


_HIDDEN: Final = _CHARACTERS["hidden"]
_HIDDEN_OR_NEEDED: Final = re.compile(f"({_CHARACTERS['needed'].pattern})|{_HIDDEN.pattern}")


def without_invisible(text: str) -> str:
    """Return a text without control characters and unseen letters, save where an emoji or a script needs one."""
    return _HIDDEN_OR_NEEDED.sub(lambda match: match[1] or "", text) if _HIDDEN.search(text) else text


_KINDS: Final[tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str | None]], ...]] = (
    (_JSON, _of_escape),
    (_HTML, _of_entity),
    (_URL, _of_percent),
    (_ODD, _of_odd),
)


# What is removed, in every layer.

_TABLE: Final = table("blocks")
_PATTERNS: Final = _TABLE.patterns()
_EXACT: Final = _TABLE.patterns("exact", flags=0)


_LINE_BREAK = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")

_BLANK = " "
"""The replacement of a private span."""
_ROUNDS = 8
_LONG = 20_000
"""Characters. Of a longer text, each view is searched for secrets only in lines that no earlier view had."""


_QUESTION: Final = re.compile(r"[^.!?。！？\n]{1,400}[?？]")
_CLAUSE: Final = re.compile(r"[^,;!?，；。！？\n.]*(?:\.(?!\s|\Z)[^,;!?，；。！？\n.]*)*")
_HAS_CODE: Final = re.compile(r"[A-Za-z0-9]")
_WORDS_OF_AN_ANSWER: Final = 4
"""A longer clause tells of something else: "I was born in 1984"."""


def asked_secrets(reply: str) -> tuple[str, ...]:
    """Return the names of secrets in the questions at the end of a reply: ("password",)."""
    questions = _QUESTION.findall(reply[-_LAST_WORDS:])
    return tuple(dict.fromkeys(name for question in questions for name in named_secrets(question)))


def _without_answers(text: str, asked: Sequence[str]) -> tuple[str, Counter[str]]:
    """Return a text without the secrets in its short clauses that answer a question for them, and what was masked."""
    masked: Counter[str] = Counter()

    def mask(clause: re.Match[str]) -> str:
        said = clause[0]
        if not _HAS_CODE.search(said) or len(said.split()) > _WORDS_OF_AN_ANSWER:
            return said
        for name in asked:
            answer, cuts = _without_secrets(f"{name}: {said.strip()}")
            if cuts and answer.startswith(f"{name}: "):
                masked.update(cuts)
                return said.replace(said.strip(), answer.removeprefix(f"{name}: "))
        return said

    return _CLAUSE.sub(mask, text), masked


def clean(text: str, *, asked: Sequence[str] = ()) -> Cleaned:
    """Return the text as it may be stored and sent. Never raises; linear in the length of the text.

    asked: the names of secrets for which the text may be the answer, see `asked_secrets`: "blaue-Otter-77" is one then.

    Removed: `<private>…</private>` (nested; unclosed, it reaches to the end, and unopened, to
    the beginning), our injected blocks and other systems', a gateway's message envelope, and letters that nobody sees.
    Masked with their kind: secrets. Spans and secrets are found in every layer of encoding: see `views`.
    """
    text = without_invisible(_LINE_BREAK.sub("\n", text))
    text, answers = _without_answers(text, asked) if asked else (text, Counter())
    text, cuts = _without_secrets(text)
    cuts += answers
    text, injected_blocks = _without_blocks(text)
    if injected_blocks:  # the text around a cut block may form a new tag
        text, more = _without_secrets(text)
        cuts += more
    private_spans = cuts.pop(_BLANK, 0)
    secrets = {kind.removeprefix("[masked: ").removesuffix("]"): count for kind, count in cuts.items() if kind}
    return Cleaned(text=text.strip(), private_spans=private_spans, secrets=secrets, injected_blocks=injected_blocks)


_FEWEST, _FEWEST_OF_A_HOLE = (2, 4), (3, 12)
"""English words and Chinese characters of its own that make a text, or a clause that holds a mask, worth keeping."""
_NOT_ITS_OWN: Final = table("secrets").words("words")


def without_holes(text: str) -> str:
    """Return a cleaned text without the clauses that only name a masked secret; "" if nothing of worth is left."""
    if "[masked: " not in text:
        return text
    clauses = _EXACT["clause"].split(text)
    kept = [each for each in clauses if not _EXACT["hole"].search(each) or _says(each, _FEWEST_OF_A_HOLE)]
    rest = _EXACT["joint"].sub("", " ".join(kept)) if len(kept) < len(clauses) else text
    return rest if _says(rest, _FEWEST) else ""


def _says(text: str, fewest: tuple[int, int]) -> bool:
    """Return whether a text says something beside masks, names of secrets, and what joins them."""
    lower = _EXACT["hole"].sub(" ", text).lower()
    spans = [(0, 0), *(name.span() for name in names(lower)), (len(lower), len(lower))]
    lower = " ".join(lower[end:start] for (_, end), (start, _) in pairwise(spans))
    words = {word for word in re.findall(r"[a-z][a-z'’-]+", lower) if word not in _NOT_ITS_OWN}
    return len(words) >= fewest[0] or len(_EXACT["Chinese"].findall(lower)) >= fewest[1]


def _without_secrets(text: str) -> tuple[str, Counter[str]]:
    """Return the text without private spans and secrets, and their counts by replacement."""
    counts: Counter[str] = Counter()
    for _ in range(_ROUNDS):
        cuts = _cuts(text)
        if not cuts:
            return text, counts
        text, made = carried_out(text, cuts, strongest=_BLANK)
        counts.update(cut.instead for cut in made)
        if len(text) > _LONG and not any(cut.instead == _BLANK for cut in made):
            return text, counts  # only text around a private span is joined
    # Cutting made new spans eight times, which is an attack: nothing after the next one is kept.
    cuts = _cuts(text)
    counts.update([_BLANK] if cuts else [])
    return text[: min((cut.start for cut in cuts), default=len(text))], counts


def _cuts(text: str) -> list[Cut]:
    cuts: list[Cut] = []
    known: set[tuple[str, str]] = set()
    for view in views(text):
        if "private" in view.text.lower():
            view.cut([(start, end, _BLANK) for start, end in _private_spans(view.text)])
        cuts += view.cuts
        for part in view.unseen(known) if len(text) > _LONG else [Traced(view.text, view.places)]:
            _mask_secrets(part)
            cuts += part.cuts
    return cuts


def _mask_secrets(traced: Traced) -> None:
    """Replace every secret by its kind. Linear in the length of the text."""
    for mask, needles, pattern in forms("issued"):
        if needles[0] in traced.text:
            traced.cut([(*match.span(), mask) for match in pattern.finditer(traced.text)])
    lower = traced.text.lower()
    for mask, needles, pattern in forms("places"):
        for needle in needles:
            if needle in lower:
                traced.cut([span for match in pattern.finditer(traced.text) if (span := placed(match, mask))])
    traced.cut(list(in_columns(traced.text)))
    for spans in checked(traced.text):
        traced.cut(spans)
    traced.cut(joined([pair for pair in pairs(traced.text) if pair.score > 0]))


def _private_spans(text: str) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    depth = opened = 0
    for tag in _PATTERNS["private tag"].finditer(text):
        if not tag[1]:
            opened = opened if depth else tag.start()
            depth += 1
        elif depth > 1:
            depth -= 1
        elif depth:
            depth = 0
            spans.append((opened, tag.end()))
        else:  # its opening tag is lost, so the private part may begin anywhere
            spans = [(0, tag.end())]
    return [*spans, (opened, len(text))] if depth else spans


def _without_blocks(text: str) -> tuple[str, int]:
    blocks = 0
    if "<" in text:
        text, blocks = _without_fences(text)
    if "emory" in text.lower() and "[" in text:
        text, count = _without_headed(text)
        blocks += count
    for name, may_match in (  # looking for a word is faster than a search
        ("quoted memory", "gm:" in text or "- (" in text or "* (" in text),
        ("comment", "gm:" in text or "- (" in text or "* (" in text),
    ):
        text, count = _EXACT[name].subn("", text) if may_match else (text, 0)
        blocks += count
    text, count = without_labels(text)
    return text, blocks + count


def _without_fences(text: str) -> tuple[str, int]:
    """Cut `<name>…</name>`. Of an unclosed block, cut the tag and the list after it."""
    kept: list[str] = []
    position = 0
    tags = list(_PATTERNS["block tag"].finditer(text))
    last_close = {tag[2].lower(): tag.start() for tag in tags if tag[1]}
    for index, tag in enumerate(tags):
        if tag.start() < position:
            continue
        kept.append(text[position : tag.start()])
        position = tag.end()
        name = tag[2].lower()
        if tag[1] or last_close.get(name, -1) < tag.end():
            position = _after_list(text, position)
            continue
        position = next(close.end() for close in tags[index + 1 :] if close[1] and close[2].lower() == name)
    return "\n".join((*kept, text[position:])), len(kept)


def _without_headed(text: str) -> tuple[str, int]:
    kept: list[str] = []
    position = 0
    for heading in _PATTERNS["heading"].finditer(text):
        if heading.start() >= position:
            kept.append(text[position : heading.start()])
            position = _after_list(text, heading.end())
    return "".join((*kept, text[position:])), len(kept)


def _after_list(text: str, position: int) -> int:
    list_items = _PATTERNS["list"].match(text, position)
    return list_items.end() if list_items else position

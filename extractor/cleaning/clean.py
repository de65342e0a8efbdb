"""Removes what must never reach the journal: private spans, secrets, injected blocks, broken characters.

A text is decoded layer by layer, and each character is mapped to its source (`Traced`), so that cuts apply to the
source: a tool's output may be JSON whose strings hold JSON, or a page that quotes it, and a secret in it may be decoded
later. Only the encoded span of a secret is cut.
"""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from extractor.cleaning.layers import views, without_invisible
from extractor.cleaning.traced import Cut, Traced, carried_out
from extractor.tables import table
from extractor.types import Cleaned

from .columns import in_columns
from .hosts import without_labels
from .masking import forms, joined, named_secrets, names, pairs, placed
from .proven import checked

LAST_WORDS: Final = 2_000
"""Characters of a reply among which its last question is."""


TABLE: Final = table("blocks")
PATTERNS: Final = TABLE.patterns()
_EXACT: Final = TABLE.patterns("exact", flags=0)


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
    questions = _QUESTION.findall(reply[-LAST_WORDS:])
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
    for tag in PATTERNS["private tag"].finditer(text):
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
    tags = list(PATTERNS["block tag"].finditer(text))
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
    for heading in PATTERNS["heading"].finditer(text):
        if heading.start() >= position:
            kept.append(text[position : heading.start()])
            position = _after_list(text, heading.end())
    return "".join((*kept, text[position:])), len(kept)


def _after_list(text: str, position: int) -> int:
    list_items = PATTERNS["list"].match(text, position)
    return list_items.end() if list_items else position

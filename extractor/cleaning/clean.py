"""Removes what must never reach the journal: private spans, secrets, injected blocks, broken characters."""

import re
from collections import Counter
from itertools import pairwise
from typing import Final

from extractor.tables import table
from extractor.types import Cleaned

from .layers import Cut, Traced, carried_out, views, without_invisible
from .masking import mask_secrets, names

_TABLE: Final = table("blocks")
_PATTERNS: Final = _TABLE.patterns()
_EXACT: Final = _TABLE.patterns("exact", flags=0)


_LINE_BREAK = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")

_BLANK = " "
"""The replacement of a private span."""
_ROUNDS = 8
_LONG = 20_000
"""Characters. Of a longer text, each view is searched for secrets only in lines that no earlier view had."""


def clean(text: str) -> Cleaned:
    """Return the text as it may be stored and sent. Never raises; linear in the length of the text.

    Removed: `<private>…</private>` (nested; unclosed, it reaches to the end, and unopened, to
    the beginning), our injected blocks and other systems', a gateway's message envelope, and letters that nobody sees.
    Masked with their kind: secrets. Spans and secrets are found in every layer of encoding: see `layers`.
    """
    text = without_invisible(_LINE_BREAK.sub("\n", text))
    text, cuts = _without_secrets(text)
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
            mask_secrets(part)
            cuts += part.cuts
    return cuts


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
        ("metadata", "trusted" in text and "):" in text),
        ("message id", "[message_id:" in text),
    ):
        text, count = _EXACT[name].subn("", text) if may_match else (text, 0)
        blocks += count
    return text, blocks


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

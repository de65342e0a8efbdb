"""Finds the secrets in a message, which `clean` masks by their kind: `[masked: openai key]`.

What looks like a secret (shape, character classes) is scored by the noun near it that names one, and by what stands
between, within about a sentence. One linear score with one threshold decides: the words are in
`tables/secrets.txt`, the weights in `tables/secret_weights.txt`, which `benchmarks/masking.py` fits. What needs no name
is found before: prefixes and places, which are in the table, and numbers that a check proves.

Why not a package: detect-secrets (the maintained in-process one) brings `requests`, works by line through global
settings, costs 0.7 ms for a line of chat and 2.3 s for 1 MB, and knows neither "密码是…" nor card or identity numbers.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from extractor.cleaning.columns import PATTERNS, TABLE
from extractor.cleaning.secret_pairs import AFTER, BEFORE, Pair, behind, in_front

_GROUPS: Final = TABLE.sets("groups")


@cache
def forms(section: str) -> list[tuple[str, list[str], re.Pattern[str]]]:
    """Return the forms that need no name: the kind, the words of which a text must contain one, and the pattern."""
    flags = re.ASCII if section == "issued" else re.IGNORECASE
    rows = ((*head.split(" / "), source) for head, source in TABLE.sources(section))
    return [(f"[masked: {kind}]", needles.split(), re.compile(source, flags)) for kind, needles, source in rows]


def placed(match: re.Match[str], mask: str) -> tuple[int, int, str] | None:
    """Return the span of a form's value and its mask; None where it is masked already."""
    name = "value" if match["value"] is not None else "other"
    start, end = match.span(name)
    if match[name][0] in "\"'" and match[name][0] == match[name][-1]:
        start, end = start + 1, end - 1
    return None if match[name].strip("\"'").startswith("[masked") else (start, end, mask)


def joined(secrets: list[Pair]) -> list[tuple[int, int, str]]:
    """Return the spans of secrets and their masks; those that overlap are one."""
    spans: list[tuple[int, int, str]] = []
    for pair in sorted(secrets):
        if spans and pair.start < spans[-1][1]:
            spans[-1] = (spans[-1][0], max(pair.end, spans[-1][1]), spans[-1][2])
        else:
            spans.append((pair.start, pair.end, f"[masked: {pair.kind}]"))
    return spans


def pairs(text: str) -> Iterator[Pair]:
    """Yield what may be a secret, with what speaks for and against it."""
    lower = text.lower()
    if len(lower) != len(text):
        lower = "".join(letter.lower() if len(letter.lower()) == 1 else letter for letter in text)
    masks = [mask.span() for mask in PATTERNS["mask"].finditer(text)]
    inside = {at for start, end in masks for at in range(start, end)}
    cues = [cue for cue in names(lower) if cue.start() not in inside and _is_cue(lower, cue)]
    taken = [cue.span() if cue.lastgroup != "access" else (0, 0) for cue in cues]
    for at, cue in enumerate(cues):
        masked = [span for span in masks if span[1] > cue.start() - BEFORE and span[0] < cue.end() + AFTER]
        same = [other.start() for other in cues[at + 1 : at + 4] if other.lastgroup == cue.lastgroup]
        yield from behind(text, lower, cue, min([cue.end() + AFTER, *same]), taken[at + 1 : at + 3], masked)
        earlier = [other.end() for other in cues[max(0, at - 3) : at] if other.lastgroup == cue.lastgroup]
        yield from in_front(text, lower, cue, max([0, cue.start() - BEFORE, *earlier]), masked)


def named_secrets(text: str) -> list[str]:
    """Return the nouns of a text that name a secret, in lower case."""
    lower = text.lower()
    return [cue[0] for cue in names(lower) if _is_cue(lower, cue)]


def _is_cue(lower: str, cue: re.Match[str]) -> bool:
    """Return whether a noun names a secret where it stands."""
    start, end = cue.span()
    if cue.lastgroup == "bare" and not PATTERNS["place"].search(lower, max(0, start - 50), end + 50):
        return False
    other = cue.lastgroup in _GROUPS["codes"] and PATTERNS["other code"].search(lower, max(0, start - 20), start)
    return not (other or PATTERNS["compound"].match(lower, end))


@cache
def _names() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return the patterns of names at the beginning of a word, and anywhere."""
    at_a_word, anywhere = (
        "|".join(f"(?P<{group}>{source})" for group, source in TABLE.sources(section))
        for section in ("names at a word", "names anywhere")
    )
    return (
        re.compile(rf"(?<![a-z])(?=[a-zпκكร비\u00e0-\u024f])(?:{at_a_word})"),
        re.compile(rf"(?=[p\u3000-\u9fff]|(?<=的)k)(?:{anywhere})"),
    )


def names(lower: str) -> Iterator[re.Match[str]]:
    """Yield the nouns that name a secret, ascending, each place once."""
    end = 0
    matches = [match for pattern in _names() for match in pattern.finditer(lower)]
    for name in sorted(matches, key=lambda match: (match.start(), -match.end())):
        if name.start() >= end:
            end = name.end()
            yield name

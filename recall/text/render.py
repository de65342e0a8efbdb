"""Texts for a prompt: tokens, blocks within a budget, and the passages and excerpts that are searched and quoted."""

import math
import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from recall.text.passages import SENTENCE
from recall.text.words import tokens_of

FENCE_START = "<gateway-memory>"
FENCE_END = "</gateway-memory>"
# Characters of a line that must remain for a cut to be worth showing.
_SHORTEST_CUT = 12
_HAN_FIFTHS = 4

_SPACES = re.compile(r"\s+")
# What has clauses is a sentence; a name or a value is none.
_CLAUSES = re.compile(r"，|, (?=[a-z])")
_WIDE_FROM = "\u2e80"
_WORD = re.compile(r"[A-Za-z]+|\d+|\s+|.", re.DOTALL)
# Brackets become parentheses, so that no heading of ours can be forged; and signs that look like markup become others.
_PLAIN = {
    "[": "(", "]": ")", "【": "(", "】": ")",
    "<": "‹", ">": "›", "＜": "‹", "＞": "›", "﹤": "‹", "﹥": "›", "〈": "‹", "〉": "›", "⟨": "‹", "⟩": "›",
    "`": "'", "｀": "'",
}  # fmt: skip


@lru_cache(maxsize=512)  # the lines of a block are counted one by one and together, and again before the next reply
def count_tokens(text: str) -> int:
    """Return an estimate of a text's tokens that the common tokenisers rarely exceed.

    English words take a token per four letters begun, digits one per two, Han four fifths a character (as o200k does;
    cl100k takes 1.2), everything else one a character, and what lies beyond the basic plane three.
    """
    total = han = 0
    for part in _WORD.findall(text):
        if part.isspace():
            # A single space goes with the word that follows it.
            total += 0 if part == " " else len(part)
        elif part[0].isascii() and part.isalpha():
            total += math.ceil(len(part) / 4)
        elif part[0].isdigit() and part.isascii():
            total += math.ceil(len(part) / 2)
        elif "\u3400" <= part <= "\u9fff":
            han += 1
        else:
            total += 1 if part < "\U00010000" else 3
    return total + math.ceil(han * _HAN_FIFTHS / 5)  # of whole numbers, so that parts never count less than their sum


def quoted(text: str) -> str:
    """Return a memory's text on one line, unable to be read as anything but text, and a sentence with its full stop.

    Angle brackets and backquotes become look-alikes, square brackets parentheses: so no fence, comment, tag, code
    block or heading of ours can be written. Control, direction and invisible characters and lone surrogates go.
    """
    line = _SPACES.sub(" ", "".join(map(_shown, text[:20_000]))).strip()
    if not (_CLAUSES.search(line) and line[-1].isalnum()):
        return line
    return f"{line}{'。' if line[-1] >= _WIDE_FROM else '.'}"


@lru_cache(maxsize=16_384)
def _shown(character: str) -> str:
    """Return a character, or its replacement: a space for what is invisible, or changes how others are shown."""
    hidden = (
        not character.isprintable()
        or unicodedata.category(character) in ("Cf", "Cc", "Cs", "Co", "Cn")
        or "\ufe00" <= character <= "\ufe0f"
        or "\U000e0000" <= character <= "\U000e0fff"
        or character in "\u115f\u1160\u3164\uffa0\u2800\u034f\u17b4\u17b5"
    )
    return " " if hidden else _PLAIN.get(character, character)


def render_block(title: str, intro: str, lines: Sequence[str], max_tokens: int) -> str:
    """A fenced block with as many of `lines`, in order, as the budget allows; "" if not even one fits.

    `title` and `intro` are the caller's own words and stand as they are; each line is quoted here. A first line that
    is too long alone is cut.
    """
    head = f"{FENCE_START}\n[{title}] {intro}".rstrip()
    remaining = max_tokens - count_tokens(f"{head}\n{FENCE_END}")
    chosen: list[str] = []
    for line in lines:
        text = f"- {quoted(line)}"
        if text == "- ":
            continue
        cost = count_tokens(f"\n{text}")
        if cost > remaining and not chosen:
            text = cut_to(text, remaining)
            cost = count_tokens(f"\n{text}")
        if not text or cost > remaining:
            # A shorter one may still fit; but not in the place of a better one that was left out for its length.
            break
        chosen.append(text)
        remaining -= cost
    return "\n".join((head, *chosen, FENCE_END)) if chosen else ""


def cut_to(text: str, tokens: int) -> str:
    """Return the beginning of a line within `tokens`, with an ellipsis; "" if hardly anything would remain."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if count_tokens(f"\n{text[:middle].rstrip()}…") <= tokens:
            low = middle
        else:
            high = middle - 1
    return f"{text[:low].rstrip()}…" if low >= _SHORTEST_CUT else ""


def excerpt_of(text: str, query: str, max_tokens: int) -> str:
    """Return a text, or those of its neighbouring sentences that share most words with a query, within `max_tokens`.

    What is left out at either end is marked by an ellipsis. "" if nothing fits.
    """
    if count_tokens(text) <= max_tokens:
        return text
    wanted = set(tokens_of(query))
    sentences = [each for each in SENTENCE.split(text) if each and each.strip()]
    costs = [count_tokens(each) + 1 for each in sentences]
    shared = [len(wanted.intersection(tokens_of(each))) for each in sentences]
    best, best_shared = (0, 0), -1
    for first in range(len(sentences)):
        end, remaining = first, max_tokens - 2
        while end < len(sentences) and costs[end] <= remaining:
            remaining -= costs[end]
            end += 1
        if sum(shared[first:end]) > best_shared and end > first:
            best, best_shared = (first, end), sum(shared[first:end])
    first, end = best
    if first == end:  # not even one sentence fits
        return cut_to(sentences[max(range(len(sentences)), key=shared.__getitem__)] if sentences else text, max_tokens)
    joint = "" if text[:1] >= "\u2e80" else " "
    chosen = joint.join(each.strip() for each in sentences[first:end])
    return f"{'…' if first else ''}{chosen}{'…' if end < len(sentences) else ''}"

"""What people ask of the memory in plain words: to forget something, or to keep a secret, which is masked."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from extractor import Cleaned, clean, differ, polarity, same_text, without_holes
from gateway_memory.edge.phrases import Language, language_of, say, secret_name
from gateway_memory.ground.tables import tables_in
from gateway_memory.store.documents import is_writable
from recall import Near, Stored, render_block, text_overlap

# Parse "forget that …" and "忘掉…": find the one memory that is certainly meant, or those that may be.

_PATTERNS: Final = tables_in(__file__)("requests").patterns()
_SIMPLIFIED: Final = str.maketrans("請煩幫將別記關於憶錄條這從裡裏刪後個們", "请烦帮将别记关于忆录条这从里里删后个们")
CERTAIN: Final = 0.6
"""The minimum word Jaccard similarity of the memory that is meant …"""
LEAD: Final = 0.2
"""… and its minimum lead over the next one."""
POSSIBLE: Final = 0.2
NEAR_IN_MEANING: Final = 0.59
"""The minimum cosine similarity of a memory in other words or another language that is shown. It is never certain."""
_MOST_POSSIBLE: Final = 5
_LONGEST: Final = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Meant:
    """The result of a request: the one memory that is certain, or the possible memories, the likeliest first."""

    certain: Stored | None = None
    possible: tuple[Stored, ...] = ()


def asked_to_forget(message: str) -> str | None:
    """Return the text that a message asks to forget, or None. The message must be one line and no question."""
    line = message.strip()
    if "\n" in line or len(line) > _LONGEST or _PATTERNS["no wish"].search(line):
        return None
    if english := _PATTERNS["forget"].match(line):
        return english["what"].strip()
    simple = line.translate(_SIMPLIFIED)  # one character maps to one character, so that offsets stay valid
    if (chinese := _PATTERNS["forget Chinese"].match(simple)) and _PATTERNS["of memory Chinese"].search(simple):
        start, end = chinese.span("what" if chinese["what"] else "before")
        return line[start:end].strip()
    return None


def memories_meant(what: str, near: Sequence[Near]) -> Meant:
    """Return the memories that a request names, given its nearest memories."""
    items = [item for item in near if item.stored.entry.kind == "item" and is_writable(item.stored.file)]
    scored = sorted(((_share(what, item), item.stored) for item in items), key=lambda pair: -pair[0])
    possible = tuple(stored for share, stored in scored if share >= POSSIBLE)
    alike = sorted(
        (item for item in items if (item.cosine or 0.0) >= NEAR_IN_MEANING), key=lambda item: -(item.cosine or 0.0)
    )
    possible = (*possible, *(item.stored for item in alike if item.stored not in possible))[:_MOST_POSSIBLE]
    likely = [pair for pair in scored if not (_denies(what, pair[1].entry.text) or differ(what, pair[1].entry.text))]
    if likely:  # twins are one: what says the same goes with it
        top = same_text(likely[0][1].entry.text)
        likely = [pair for pair in likely if pair is likely[0] or same_text(pair[1].entry.text) != top]
    if likely and likely[0][0] >= CERTAIN and (len(likely) == 1 or likely[0][0] - likely[1][0] >= LEAD):
        return Meant(certain=likely[0][1], possible=possible)
    return Meant(possible=possible)


def _denies(what: str, text: str) -> bool:
    """Return whether a memory contradicts the request: "I like tea" is not "I don't like tea"."""
    sides = {polarity(what), polarity(text)} if _PATTERNS["states"].match(what) else set()
    return sides == {True, False}


def _share(what: str, item: Near) -> float:
    """Return how much of the request the memory contains: Jaccard, and at least 0.9 for a verbatim match."""
    request, text = ("".join(c for c in part.casefold() if c.isalnum()) for part in (what, item.stored.entry.text))
    within = 0.9 if len(request) > 1 and request in text else 0.0
    return max(within, text_overlap(what, item.stored.entry.text))


# Tell users who ask to keep a secret that it was masked. Without a notice they would assume that it was stored.

_NOTICE_TOKENS: Final = 160
_MASKED: Final = re.compile(r"\[masked: ([a-z ]{2,40})\]")


def asks_to_keep_masked(text: str) -> bool:
    """Return whether a cleaned message asks to keep something that contained a masked secret."""
    return bool(_MASKED.search(text) and _PATTERNS["keep"].search(text) and not _PATTERNS["keep not"].search(text))


def names_of(kinds: Iterable[str], language: Language) -> str:
    """Return the kinds of secrets in the user's language."""
    names = dict.fromkeys(secret_name(language, kind) for kind in kinds)
    return say(language, "comma").join(names)


def masked_block(message: Cleaned) -> str:
    """Return the notice that the assistant is asked to give in its reply, or ""."""
    if not message.secrets or not asks_to_keep_masked(message.text):
        return ""
    language = language_of(_MASKED.sub("", message.text))
    notice = say(language, "masked_tell", kinds=names_of(message.secrets, language))
    return render_block("Memory Notice", "For the assistant.", [notice], _NOTICE_TOKENS)


def secret_note(text: str) -> str:
    """Return the note on the secret in a text for whoever saves it, in the text's language; "" without a secret."""
    cleaned = clean(text)
    if not cleaned.secrets:
        return ""
    language = language_of(_MASKED.sub("", cleaned.text))
    phrase = "secret_left_out" if without_holes(cleaned.text) else "secret_not_kept"
    return say(language, phrase, kinds=names_of(cleaned.secrets, language))

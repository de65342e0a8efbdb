"""What people ask of the memory in plain words: to forget something, or to keep a secret, which is masked."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from extractor import Cleaned, clean, polarity, same_text, without_holes
from gateway_memory.edge.phrases import Language, language_of, say, secret_name
from gateway_memory.store.documents import is_writable
from recall import Near, Stored, render_block, text_overlap

# Parse "forget that …" and "忘掉…": find the one memory that is certainly meant, or the candidates.

_ENGLISH: Final = re.compile(
    r"\A\W*(?:(?:please|pls|ok|okay|hey|now|can you|could you|you (?:can|may|should)|just|and|also)[ ,]+)*"
    r"(?:forget|(?:remove|delete|erase|drop)(?= .*\b(?:memory|memories)\b)|stop remembering"
    r"|don't remember|do not remember|no longer remember)\s+"
    r"(?:(?:that|about|the (?:fact|memory) (?:that|about)|what i (?:said|told you) about|anything about"
    r"|everything about)\s+)*"
    r"(?P<what>(?!(?:it|this|that|about it|about that|me|everything|all of it|the (?:previous|above|last)"
    r"|what i said)\W*\Z)"
    r".{3,300}?)(?:\s+from (?:your |the )?memory)?(?:[ ,]+(?:please|thanks|thank you))?[\s.!]*\Z",
    re.IGNORECASE,
)
_CHINESE: Final = re.compile(
    r"\A[\s，,]*(?:请|麻烦|帮我?|你|可以|能不能|把|将|那就)*"
    r"(?:(?:忘掉|忘了|忘记|别记得?|不要记得?|不用记得?|删掉|删除)(?:关于|有关)?(?P<what>.{2,100}?)(?:的(?:事|事情|记忆|记录|这条|那条))?"
    r"|(?:把|将)?(?:关于|有关)?(?P<before>.{2,100}?)(?:的(?:事|事情|记忆|记录))?(?:这条|那条|这件事|的事情?)?"
    r"(?:忘掉|忘了吧|忘记吧|从记忆里?(?:删掉|删除|去掉)))"
    r"(?:吧|了|哦|啊|好吗|谢谢)*[\s。.!！~]*\Z"
)
_SIMPLIFIED: Final = str.maketrans("請煩幫將別記關於憶錄條這從裡裏刪後個們", "请烦帮将别记关于忆录条这从里里删后个们")
_MEMORY_WORD: Final = re.compile(
    r"记忆|记录|这条|那条|\A\W*(?:请|麻烦|你|把|将)*(?:忘|别记|不要记|不用记)|\A\W*(?:请|麻烦|帮我?|你|可以)*[把将].+忘掉"
)
_STATES: Final = re.compile(r"(?:i|we|my|our)\b|我", re.IGNORECASE)
_NO_WISH: Final = re.compile(r"[?？]|\b(?:to|how|what|why|when|if)\b.{0,3}\Z|吗\W*\Z", re.IGNORECASE)

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
    """The result of a request: the one memory that is certain, or the candidates, the likeliest first."""

    certain: Stored | None = None
    possible: tuple[Stored, ...] = ()


def asked_to_forget(message: str) -> str | None:
    """Return the text that a message asks to forget, or None. The message must be one line and no question."""
    line = message.strip()
    if "\n" in line or len(line) > _LONGEST or _NO_WISH.search(line):
        return None
    if english := _ENGLISH.match(line):
        return english["what"].strip()
    simple = line.translate(_SIMPLIFIED)  # one character maps to one character, so that offsets stay valid
    if (chinese := _CHINESE.match(simple)) and _MEMORY_WORD.search(simple):
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
    likely = [pair for pair in scored if not _denies(what, pair[1].entry.text)]
    if likely:  # twins are one: what says the same goes with it
        top = same_text(likely[0][1].entry.text)
        likely = [pair for pair in likely if pair is likely[0] or same_text(pair[1].entry.text) != top]
    if likely and likely[0][0] >= CERTAIN and (len(likely) == 1 or likely[0][0] - likely[1][0] >= LEAD):
        return Meant(certain=likely[0][1], possible=possible)
    return Meant(possible=possible)


def _denies(what: str, text: str) -> bool:
    """Return whether a memory contradicts the request: "I like tea" is not "I don't like tea"."""
    sides = {polarity(what), polarity(text)} if _STATES.match(what) else set()
    return sides == {True, False}


def _share(what: str, item: Near) -> float:
    """Return how much of the request the memory contains: Jaccard, and at least 0.9 for a verbatim match."""
    request, text = ("".join(c for c in part.casefold() if c.isalnum()) for part in (what, item.stored.entry.text))
    within = 0.9 if len(request) > 1 and request in text else 0.0
    return max(within, text_overlap(what, item.stored.entry.text))


# Tell users who ask to keep a secret that it was masked. Without a notice they would assume that it was stored.

_NOTICE_TOKENS: Final = 160
_MASKED: Final = re.compile(r"\[masked: ([a-z ]{2,40})\]")
_TO_KEEP: Final = re.compile(
    r"\b(?:remember|memori[sz]e|(?:don['’]?t|do not|never) forget|keep [^.!?\n]{0,40}in (?:mind|memory)|keep a note"
    r"|note (?:of|that|down|this)|make a note|(?:save|store) (?:this|that|it|my|our|the)|write (?:this|that|it|my) down"
    r"|for (?:future reference|the record|later))\b"
    r"|[记記][住下着]|[牢谨謹][记記]|[记記](?:一下|录一下|錄一下|得)|(?:[别別勿]|不要)(?:再)?忘|[备備]忘|存(?:一下|下[来來]|起[来來])|保存"
    r"|[帮幫替][我咱][^，。！？\n]{0,4}(?:存|[记記])|(?:加|存|放)[进進到入][^，。！？\n]{0,6}[记記][忆憶]",
    re.IGNORECASE,
)
_NOT_TO_KEEP: Final = re.compile(
    r"\b(?:don['’]?t|do not|never|no need to|needn['’]?t) (?:\w+ )?(?:remember|memori[sz]e|save|store|note|keep)\b"
    r"|(?:不要|[别別]|不用|不必|[无無]需|勿|不[准許许])[^，。！？\n]{0,3}(?:[记記]|存|保存)",
    re.IGNORECASE,
)


def asks_to_keep_masked(text: str) -> bool:
    """Return whether a cleaned message asks to keep something that contained a masked secret."""
    return bool(_MASKED.search(text) and _TO_KEEP.search(text) and not _NOT_TO_KEEP.search(text))


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

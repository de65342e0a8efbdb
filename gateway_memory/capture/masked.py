"""Tell users who ask to keep a secret that it was masked. Without a notice they would assume that it was stored."""

import re
from collections.abc import Iterable
from typing import Final

from extractor import Cleaned, clean, without_holes
from gateway_memory.edge.phrases import Language, language_of, say, secret_name
from recall import render_block

__all__ = ["asks_to_keep_masked", "masked_block", "names_of", "secret_note"]

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


def masked_block(said: Cleaned) -> str:
    """Return the notice that the assistant is asked to give in its reply, or ""."""
    if not said.secrets or not asks_to_keep_masked(said.text):
        return ""
    language = language_of(_MASKED.sub("", said.text))
    told = say(language, "masked_tell", kinds=names_of(said.secrets, language))
    return render_block("Memory Notice", "For the assistant.", [told], _NOTICE_TOKENS)


def secret_note(text: str) -> str:
    """Return what who saves a text is told of the secret in it, in the text's language; "" without a secret."""
    said = clean(text)
    if not said.secrets:
        return ""
    language = language_of(_MASKED.sub("", said.text))
    phrase = "secret_left_out" if without_holes(said.text) else "secret_not_kept"
    return say(language, phrase, kinds=names_of(said.secrets, language))

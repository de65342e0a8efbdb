"""Questions about what was said at a time: "What did we talk about last Tuesday?", "上周三我们聊了什么"."""

import re
from datetime import tzinfo
from typing import Final

from recall.text.dates import Span, spans_of

__all__ = ["talk_of"]

_LONGEST_QUESTION: Final = 160
_LONGEST_SECONDS: Final = 32 * 86400
_SENTENCE: Final = re.compile(r"[^.!?。！？]+[.!?。！？]*")
# We or one of us two talked; what others said on a day was told on another.
_ENGLISH: Final = re.compile(
    r"(?<!can )(?<!could )\b(?:we|i|you|our|us)\b(?: \w+){0,3}? (?:talk|discuss|chat|sp[eo][ao]k|say|said|t[eo]ll|told"
    r"|mention|ask|cover|go over|went over|decide|agree|recommend|suggest|conversation|discussion|session)",
)
_ASKING: Final = re.compile(r"\b(?:what|which|anything|something|remind|recap|summar|did|show|list|tell me)")
_CHINESE: Final = re.compile(
    r"(?:我们?|咱们?|你).{0,16}(?:聊|谈|讨论|说|讲|提|问|推荐|决定)|^.{0,8}(?:聊|谈论?|讨论)[了过的到]|^.{0,8}的(?:对话|聊天|谈话|讨论)"
)
_CHINESE_ASKING: Final = re.compile(r"什么|啥|哪些|哪[几两]|多少|吗|内容|总结|回顾|记得|提醒|[?？]")
_WITH_OTHERS: Final = re.compile(r"[与和跟同](?!你|我|咱)")


def talk_of(text: str, now: float, zone: tzinfo | None) -> Span | None:
    """Return the past time whose talk a message asks for, None where it asks for none.

    The time is a day, a week or a month; a date without a year is the last one. `now`: epoch seconds.
    """
    text = text.strip().lower()
    if len(text) > _LONGEST_QUESTION:
        return None
    for sentence in filter(_asks, _SENTENCE.findall(text)):
        spans = [span for span in spans_of(sentence, now, zone) if span.end - span.start <= _LONGEST_SECONDS]
        if spans:
            return next((span for span in spans if span.start <= now), None)
    return None


def _asks(sentence: str) -> bool:
    if _ENGLISH.search(sentence):
        return _ASKING.search(sentence) is not None
    asks = _CHINESE.search(sentence) and _CHINESE_ASKING.search(sentence)
    return bool(asks) and not _WITH_OTHERS.search(sentence)

"""Features of an assistant's reply in any language for the gate, each about 0 to 3.

The weights are trained by benchmarks/train_gate.py.
"""

import math
import re

from extractor.language.script import LONGEST_READ, is_chinese

from .latin import names_in

__all__ = ["reply_features"]

_REPLY_SEEN: dict[str, re.Pattern[str]] = {
    name: re.compile(pattern)
    for name, pattern in {
        "speaks of yours": r"\byour (?!welcome|question|time|patience|request|message)\w+|[你您]的",
        "repeats the user": (
            r"\byou(?:'ve| have)? (?:mentioned|said|told|shared|prefer|want|wanted|like|need|asked for|chose|decided"
            r"|confirmed|provided)|\bbased on your|[你您](?:提到|说过|喜欢|想要|需要|选择)"
        ),
        "notes": (
            r"\b(?:noted|recorded|confirmed|locked in|updated|logged|saved|added|scheduled|set for|agreed|finali[sz]ed"
            r"|adjusted|approved|in place|ready to go)\b|已(?:记录|确认|更新|保存|添加|安排)"
        ),
        "plans": (
            r"\b(?:plan|schedule|itinerary|budget|target|goal|phase|step \d|week \d|day \d|milestone|next step"
            r"|option [a-d\d]|strategy|framework|routine|checklist|requirements?|features?)\b|计划|安排|方案|步骤|预算"
            r"|目标"
        ),
        "next session": (
            r"\b(?:tomorrow|tonight|this week|next week|monday|tuesday|wednesday|thursday|friday|saturday|sunday"
            r"|\d+ minutes)\b|明天|下周|本周"
        ),
        "apologizes": r"\b(?:sorry|apologi[sz]e|apologies|unfortunately|as an ai)\b|抱歉|对不起",
        "welcomes": r"you're welcome|happy to help|glad (?:i|to)|feel free|let me know if|不客气|随时",
        "offers": r"\b(?:would you like|do you want|shall we|should i|let me know|ready to)\b|要不要|需要我",
        "presents": (
            r"^\W*(?:here(?:'s| is| are)|sure|certainly|of course|okay|great|the following)\b|^(?:以下|好的|当然)"
        ),
        "teaches": (
            r"\b(?:refers? to|is a (?:type|form|kind|method|term)|in conclusion|overall|for example|such as|research"
            r"|studies|history|theory|according to)\b|例如|总之|是指"
        ),
        "is code": r"```|\b(?:def|function|import|return|const|class) \w+|</\w+>",
        "tells story": r"\b(?:he|she|his|her|him) (?:was|had|said|looked|felt|knew|smiled|asked|turned|could|would)\b",
        "says we": r"\b(?:we|our|us|let's)\b|我们",
        "says money": r"[$€£¥₦]\s?\d|\d+\s?(?:usd|eur|yen|jpy|ngn|元|块)",
    }.items()
}
_BULLET = re.compile(r"(?m)^\s*(?:[-*•]|\d+[.)、])\s")
_BOLD = re.compile(r"\*\*[^*\n]+\*\*")


def reply_features(text: str) -> dict[str, float]:
    """Return the features of a reply: whether it is about the user's affairs, or explains, writes and apologizes."""
    text = text[:LONGEST_READ].replace("’", "'")
    low = text.lower()
    length = len(text) * (2 if is_chinese(text) else 1)
    words = max(1, length / 5)
    features = {
        "length": math.log1p(length) / 3,
        "under 150": float(length < 150),
        "under 400": float(length < 400),
        "over 1000": float(length > 1_000),
        "bullets": math.log1p(len(_BULLET.findall(text))),
        "bold": math.log1p(len(_BOLD.findall(text))),
        "numbers": math.log1p(len(re.findall(r"\d+", text))),
        "asks": float("?" in text or "？" in text),
        "ends asking": float(low.rstrip()[-1:] in "?？" if low.strip() else False),
        "speaks to you": min(3.0, 40 * len(re.findall(r"\byou(?:r|'re|'ve)?\b|[你您]", low)) / words),
        "names": math.log1p(names_in(text)) / 2,
        "exclaims": min(3, text.count("!") + text.count("！")) / 3,
    }
    for name, pattern in _REPLY_SEEN.items():
        if pattern.search(low):
            features[name] = 1.0
    return features

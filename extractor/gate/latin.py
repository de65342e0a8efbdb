"""Features of a person's message in Latin letters for the gate, each about 0 to 3.

Tuned on English. The weights are trained by benchmarks/train_gate.py.
"""

import math
import re

from extractor.language.script import LONGEST_READ
from extractor.language.tables import words_of

__all__ = ["latin_features", "names_in"]

_LONGEST_BEFORE = 300  # characters, from its end, which the next message answers
_SHORT = 2.5  # log1p of eleven words

_WORD = re.compile(r"[a-zÀ-ɏ']+")
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]*")
_SELF = words_of(
    """
    i i'm i've i'd i'll my me mine we our us we're we've we'll
    """
)
_OTHER = words_of(
    """
    you your yours you're you've you'll you'd u
    """
)
_EMPTY_WORDS = words_of(
    """
    the and but for with from was were been being its it's this that these those there here myself you your yours
    yourself our ours him his she her hers they them their what which who whom how when where why does did doing
    done have has had having can could would will should shall may might must not nor don't doesn't didn't can't
    won't isn't aren't wasn't i'm i've i'd i'll you're you've you'll you'd we're we've we'll that's there's what's
    let's he's she's they're then than too very just really out off over about into down again more most some any
    all each other own same such only also still even much many lot lots now get got gets getting goes going make
    makes made making thing things way ways like kind sort bit yeah yep yes wow hey hello okay well sure thanks
    thank great good nice cool awesome amazing sounds sound glad happy hope know think see let look looks looking
    feel feels feeling need want one ones always never ever keep keeps kept take takes time times day days
    """
)
_PAST = words_of(
    """
    went was were had got took made did saw met bought found came left began started joined felt told gave heard ran
    won lost built wrote taught brought thought learned learnt spent sold grew drove flew ate drank slept read
    caught broke chose decided tried used moved visited attended volunteered finished received signed adopted hosted
    """
)
_PRAISE = (
    r"congrat\w*|that's (?:so |really |pretty |very )?(?:awesome|great|amazing|cool|fantastic|wonderful|nice"
    r"|incredible|inspiring|impressive|sweet|good|lovely)|sounds? (?:\w+ )?(?:awesome|great|amazing|cool"
    r"|fantastic|wonderful|nice|incredible|fun|good|like)|way to go|well done|nice work|great job|good job"
    r"|proud of you|so happy for you|glad (?:you|to hear)|happy for you|wow|what a|looks? (?:\w+ )?(?:awesome"
    r"|great|amazing|cool|fantastic|good|delicious|yummy)"
)
_WISH = (
    r"good luck|take care|have (?:fun|a (?:good|great|nice))|keep (?:it )?up|keep (?:me|us) (?:posted|updated)"
    r"|let me know|chat soon|talk (?:to you )?(?:soon|later)|see (?:you|ya)|bye|enjoy your"
    r"|you(?:'ve)? got this|hang in there|here for you|anytime|no (?:problem|worries)|you're welcome"
    r"|can't wait to (?:see|hear)|looking forward|stay (?:strong|positive|safe)|wish you|best of luck"
    r"|don't give up|reach out|count on"
)
_THANKS = r"thanks|thank you|appreciate|grateful|means a lot"
_REACTIONS = re.compile(rf"\b(?:(?P<praise>{_PRAISE})|(?P<wish>{_WISH})|(?P<thanks>{_THANKS}))\b")
_SEEN: dict[str, re.Pattern[str]] = {
    name: re.compile(pattern)
    for name, pattern in {
        "praises": rf"\b(?:{_PRAISE})\b",
        "wishes": rf"\b(?:{_WISH})\b",
        "thanks": rf"\b(?:{_THANKS})\b",
        "tells when": (
            r"\b(?:yesterday|tomorrow|tonight|today|(?:last|next|this) (?:week|month|year|night|weekend|summer|winter"
            r"|fall|spring|morning|past|\w+day)|recently|lately|(?:mon|tues|wednes|thurs|fri|satur|sun)day|january"
            r"|february|march|april|june|july|august|september|october|november|december|ago|since|years?|months?"
            r"|weeks?|hours?|birthday|anniversary)\b"
        ),
        "names kin": (
            r"\b(?:wife|husband|son|daughter|kids?|child(?:ren)?|mom|mother|dad|father|brother|sister|family|friends?"
            r"|dogs?|cats?|pupp(?:y|ies)|pets?|grandma|grandpa|girlfriend|boyfriend|partner|team|colleagues?|boss"
            r"|parents?|fam|neighbou?r)\b"
        ),
        "says number": (
            r"\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|first|second|third|couple|few|once|twice)\b"
        ),
        "says taste": (
            r"\b(?:love|loves|favou?rite|enjoy|prefer|hate|fan|passion|passionate|hobby|into|interested|always|never"
            r"|usually|every)\b"
        ),
        "says plan": (
            r"\b(?:gonna|going to|planning|plan|will|i'll|hoping|hope|goal|dream|thinking of|start|starting"
            r"|working on)\b"
        ),
        "says wow": r"\b(?:wow|whoa|woah|aww+|woohoo|ooh|oh no|uh oh)\b",
        "congratulates": r"\bcongrat",
        "says support": r"\b(?:support|encourag|means)\w*",
        "says goodbye": (
            r"\b(?:bye|talk (?:to you )?(?:soon|later)|chat soon|see (?:you|ya)|take care|have a (?:good|great|nice)"
            r"|good luck|catch you|later!)"
        ),
        "says surely": r"\bmust(?:'ve| have)? (?:be|been|feel|have)\b",
        "promises news": (
            r"\b(?:keep (?:me|you) (?:posted|updated)|let (?:me|you) know|will do|no (?:problem|worries)|sure thing"
            r"|you're welcome|anytime)\b"
        ),
        "is there": r"\b(?:here for you|count on|your back)\b",
        "says they": r"\b(?:they|their|he|she|his|her|him|them)\b",
        "says my": r"\b(?:my|our)\b",
        "did": (
            r"\b(?:i|we)(?:'ve| have)? (?:got|went|had|was|were|just|started|joined|been|bought|made|took|tried|found"
            r"|met|saw|did|decided|finished|won|lost|visited)\b"
        ),
        "is": r"\bi(?:'m| am) (?!glad|happy|proud|sure|so\b|excited|here|really glad|ready)",
        "does": r"\bi (?:\w+ )?(?:like|love|enjoy|prefer|hate|want|need|play|read|watch|use|work|live|teach|collect)\b",
        "decides": (
            r"\b(?:let's (?:go with|use|stick|lock|focus|keep)|decided|settled|agreed|confirmed?|locked in|option \w"
            r"|budget|schedule|deadline|must|only|no more|instead|rather)\b"
        ),
        "agrees": (
            r"^\W*(?:yeah|yep|yes|exactly|totally|definitely|sure|agreed|absolutely|right|true|for sure|ok(?:ay)?"
            r"|alright|understood)\b"
        ),
        "orders": (
            r"^\W*(?:(?:please|can you|could you|now)\s+)*(?:write|give|create|make|explain|rewrite|generate|list"
            r"|summari[sz]e|translate|continue|expand|show|tell|provide|act|describe|convert|add|change|what|how|why"
            r"|who|which|is|are|does|do)\b"
        ),
        "quotes": r"[\"“]",
    }.items()
}
_CAPITAL = re.compile(r"(?<=[a-z,;:] )[A-Z][a-z]+")


# The features of the message before that count.
_BEFORE = (
    "asks", "ends asking", "informed words", "no self", "oneself", "only reacts", "praises", "says goodbye",
    "says number", "says plan", "tells when", "thanks", "wishes",
)  # fmt: skip
_ASKS_YOU = re.compile(r"\b(?:you|your)\b[^.!?]*\?")
_ASKS_WHAT = re.compile(r"\b(?:what|how|where|when|which|who|why)\b[^.!?]*\?")


def names_in(text: str) -> int:
    """Return how many words within sentences begin with a capital letter."""
    return len(_CAPITAL.findall(text))


def latin_features(text: str, before: str = "") -> dict[str, float]:
    """Return the features of a message and of the one before it: an answer tells more than the same words alone."""
    text = text[:LONGEST_READ].replace("’", "'")
    low = text.lower()
    words = _WORD.findall(low)
    stated = asked = informed = of_self = past_of_self = best = 0
    for sentence in _SENTENCE.findall(low):
        said = _WORD.findall(sentence)
        if sentence.rstrip().endswith("?"):
            asked += 1
            continue
        if not said:
            continue
        stated += 1
        content = sum(len(word) > 2 and word not in _EMPTY_WORDS for word in said)
        kinds = {match.lastgroup for match in _REACTIONS.finditer(sentence)}
        content -= 2 * ("praise" in kinds) + 3 * ("wish" in kinds) + 2 * ("thanks" in kinds)
        best = max(best, content)
        informed += max(0, content)
        me = not _SELF.isdisjoint(said)
        of_self += me and content >= 2 and _OTHER.isdisjoint(said)
        past_of_self += me and any(word in _PAST or (len(word) > 4 and word.endswith("ed")) for word in said)
    selves = sum(word in _SELF for word in words)
    others = sum(word in _OTHER for word in words)
    informed_log = math.log1p(informed)
    features = {
        "length": math.log1p(len(words)),
        "statements": math.log1p(stated),
        "informed words": min(informed_log, 2.2),
        "more informed words": max(0.0, informed_log - 2.2),
        "best sentence": min(best, 12) / 4,
        "sentences of oneself": float(min(of_self, 3)),
        "past of oneself": float(min(past_of_self, 2)),
        "oneself": math.log1p(selves),
        "the other": math.log1p(others),
        "names": math.log1p(names_in(text)),
        "exclaims": min(3, low.count("!")) / 3,
        "only asks": float(stated == 0),
        "one statement": float(stated == 1),
        "asks": float(asked > 0),
        "asks more": float(asked > 1),
        "ends asking": float(low.rstrip().endswith("?")),
        "no self": float(selves == 0),
        "no self but asks": float(selves == 0 and asked > 0),
        "only reacts": float(informed == 0),
        "under 50": float(len(text) < 50),
        "under 80": float(len(text) < 80),
        "over 150": float(len(text) > 150),
        "over 250": float(len(text) > 250),
        "over 700": float(len(text) > 700),
        "lines": min(8, text.count("\n")) / 4,
    }
    for name, pattern in _SEEN.items():
        if pattern.search(low):
            features[name] = 1.0
    return features | _before(before, features, set(words)) if before else features


def _before(before: str, features: dict[str, float], words: set[str]) -> dict[str, float]:
    before = before[-_LONGEST_BEFORE:].replace("’", "'")
    low = before.lower()
    earlier = latin_features(before)
    found = {f"before: {name}": earlier[name] for name in _BEFORE if name in earlier}
    said = {word for word in _WORD.findall(low) if len(word) > 3}
    asked, short = earlier["asks"] > 0, features["length"] < _SHORT
    return found | {
        "before: length": math.log1p(len(low) / 5),
        "before: asks you": float(bool(_ASKS_YOU.search(low))),
        "before: asks what": float(bool(_ASKS_WHAT.search(low))),
        "before: shared words": len(said & words) / (1 + sum(len(word) > 3 for word in words)),
        "short, asked": float(short and asked),
        "short, not asked": float(short and not asked),
        "asks back": float(asked and features["asks"] > 0),
    }

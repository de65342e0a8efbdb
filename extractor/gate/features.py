"""What the gate reads: features of a person's message and of a reply, each about 0 to 3, and their weighted sum."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from extractor.language.kind import LONGEST_READ, is_chinese
from extractor.language.vocabulary import words_of

__all__ = ["Gate", "chinese_features", "latin_features", "reply_features"]


# A trained gate: a threshold on a weighted sum of features (logistic regression).


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """The weights of a logistic regression in log odds, and the threshold from which a text is kept."""

    threshold: float
    intercept: float
    weights: Mapping[str, float]

    def margin(self, features: Mapping[str, float]) -> float:
        """Return the distance from the threshold in log odds; the text is kept when it is not negative."""
        weights = self.weights
        return self.intercept + sum(weights.get(name, 0.0) * value for name, value in features.items()) - self.threshold

    @staticmethod
    def score(margin: float) -> float:
        """Return a margin as a score from 0 to 1; 0.5 is the threshold."""
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, margin))))


# Features of a person's message in Latin letters for the gate, each about 0 to 3.
#
# Tuned on English. The weights are trained by benchmarks/train_gate.py.

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


# Features of a person's message in Chinese for the gate, each about 0 to 3.
#
# The weights are trained by benchmarks/train_gate.py.

_ZH_SEEN: dict[str, re.Pattern[str]] = {
    name: re.compile(pattern)
    for name, pattern in {
        "says i am": r"我(?:也|就|都|真的|本来|其实)?是",
        "says i": r"我(?!们)",
        "says we": r"我们|咱",
        "says you": r"你|您",
        "says you are": r"[你您](?:也|就|都|真|果然|们)?是",
        "says other": r"[他她]",
        "asks": r"[?？]|吗|呢$|什么|怎么|哪|谁|多少|为啥",
        "comes": r"来",
        "goes": r"去",
        "own way to say i": r"老子|老娘|本宫|本小姐|姐不|姐就|哥不|哥就|俺",
        "tells of self": (
            r"我(?:\w{0,4})?(?:喜欢|爱|讨厌|习惯|在|有|住|叫|家|的|会|想|要|用|吃|喝|学|工作|做|养|买|从|去|每|最"
            r"|决定)"
        ),
        "decides": r"决定|确认|选择|选了|定了|改用|换成|采用|方案|必须|计划|打算|预算|截止",
        "tells when": (
            r"昨天|明天|今天|后天|上周|下周|周[一二三四五六日末]|星期|去年|明年|今年|\d+[年月日号点]|小时候|以前|最近"
            r"|每天|早上|晚上"
        ),
        "says number": r"\d|[一二两三四五六七八九十百千万]+[个只条岁年月天次块元人]",
        "names kin": r"爸|妈|父|母|儿子|女儿|孩子|老公|老婆|姐|弟|妹|哥|爷爷|奶奶|朋友|同学|同事|老师|老板|[猫狗]",
        "laughs": r"哈哈|呵呵|嘿嘿|嘻嘻|233",
        "thanks": r"谢谢|多谢|感谢|辛苦",
        "greets": r"^[^\w]*(?:你好|您好|嗨|哈喽|早上好|晚上好|晚安|早安|在吗|hello|hi)",
        "agrees": r"^[^\w]*(?:好的?|嗯+|哦+|行|可以|没错|是的|对|收到|明白|知道了|ok)",
        "orders": (
            r"^[^\w]*(?:请|帮|给我|麻烦|把|继续|重启|运行|执行|检查|翻译|总结|解释|生成|写|查|打开|关闭|删除"
            r"|列出)"
        ),
        "quotes": r"[“\"「《]",
    }.items()
}


def chinese_features(text: str) -> dict[str, float]:
    """Return the features of a message in Chinese."""
    text = text[:LONGEST_READ]
    letters = sum(character.isalnum() for character in text)
    features: dict[str, float] = {
        "length": math.log1p(letters),
        "under 6": float(letters < 6),
        "under 12": float(letters < 12),
        "over 30": float(letters > 30),
        "over 60": float(letters > 60),
    }
    for name, pattern in _ZH_SEEN.items():
        if pattern.search(text):
            features[name] = 1.0
    return features


# Features of an assistant's reply in any language for the gate, each about 0 to 3.
#
# The weights are trained by benchmarks/train_gate.py.

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

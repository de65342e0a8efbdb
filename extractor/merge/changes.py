"""Finds statements that give a thing another value: another day, count, state, or choice of its kind.

The rules are strict because a wrong answer loses a memory: all other words and the kind of the value must be the same.
"""

import re
from functools import lru_cache
from typing import Literal

from extractor.language.vocabulary import names_of_kind, statement_words, without_kind

__all__ = ["changed", "happened", "predicate", "same_verb", "says_now"]

_HAPPENED = re.compile(
    (
        r"\b(?:yesterday|last (?:night|week|month|year)|ago|went|met|saw|ran|bought|visited)\b|昨天|上周|上个月"
        r"|去年|刚才|见了|去了|买了"
    ),
    re.IGNORECASE,
)
_PREDICATE = re.compile(
    r"(?:(?<=[a-z\d])'(?:s|re|m)(?= (?:a|an|the|not|now|on|at|in|\d)\b)"
    r"|\b(?:is|are|was|were|am|be|has|have|had|will|would|can|must|should|costs?|takes?|needs?|wants?|likes?|loves?|hates?|prefers?|enjoys?|uses?|runs?|listens?|opens?|starts?"
    r"|ends?|closes?|weighs?|earns?|pays?|moved|goes|expires?|lives?|works?|drinks?|eats?|speaks?|plays?|means?|equals?"
    r"|holds?|contains?|belongs?|parks?|keeps?|gets?|decided|chose|agreed|doesn't|don't|isn't|never|always)\b)|[:：=]"
    r"|是|为|在|有|要|用|叫|喜欢|讨厌|爱|花|需|开|住|从|到|等于|定|改|换|吃|喝|想|会|能|不",
    re.IGNORECASE,
)
# Phrases that tell of a new value, and the verbs that a value follows.
_MOVED = re.compile(
    r"\b(?:(?:has|have|was|were|is|are|got|will be) )?(?:been |now )*(?:changed|moved|rescheduled|postponed|shifted"
    r"|pushed|brought) (?:back |forward )?(?:from .{1,40}? )?to\b|\b(?:is|are) now\b"
    r"|(?:从[^，。]{1,20})?(?:已经?|又|现在)*(?:(?:改|换|变|调|挪|移|推迟|提前|调整)[成为到在]|现在是)",
    re.IGNORECASE,
)
_IS = frozenset("is are was were will starts opens ends closes : ： = 是 为 在 到 定 等于 从".split())
_WHEN = re.compile(
    r"\d|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|\b(?:january|february|march|april|may|june|july|august"
    r"|september|october|november|december|morning|noon|afternoon|evening|midnight|tomorrow|daily|weekly|monthly)\b"
    r"|周[一二三四五六日天末]|星期|礼拜|[上下中]午|早上|晚上|[一二三四五六七八九十]点|[一二三四五六七八九十]月|月[初底末]|每[天周月年]",
    re.IGNORECASE,
)
# A value that is a time and nothing else: "on Tuesday at 10am", "每周二上午十点".
_ONLY_WHEN = re.compile(
    r"(?:\s|,|\b(?:on|at|in|the|every|each|from|to|until|and|mon|tues|wednes|thurs|fri|satur|sun)(?:days?)?\b"
    r"|\b(?:january|february|march|april|may|june|july|august|september|october|november|december|morning|noon"
    r"|afternoon|evening|midnight|daily|weekly|monthly)s?\b|\d{1,4}(?:[:./-]\d{1,4})*(?:st|nd|rd|th)?"
    r"|(?:am|pm|a\.m\.|p\.m\.|o'clock)|每|周[一二三四五六日天末]|(?:星期|礼拜)[一二三四五六日天]|[上下中]午|早上|晚上|凌晨"
    r"|[一二两三四五六七八九十\d]+[点月日号时分]|半|整|到|至|的|了)+",
    re.IGNORECASE,
)
_IS_AT = frozenset("is will starts opens ends closes : ： = 是 为 在 定".split())
_NOW = re.compile(
    r"\b(?:now|nowadays|these days|currently|any ?more|any longer|no longer)\b|现在|如今|目前|不再|了$", re.IGNORECASE
)
_COUNT = re.compile(
    r"\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\d{1,3})\b"
    r"|[一两二三四五六七八九十\d]+(?=[个只条位名台辆匹头])",
    re.IGNORECASE,
)
_COUNTED = re.compile(
    r"(?:i|we)(?:'ve| have)? (?:have|own|got|keep|#) .+|(?:我|我们|我家|我们家)(?:有|养了?|家有).+", re.IGNORECASE
)
_STATES = tuple(
    re.compile(rf"(?:{english})|(?:{chinese})了?(?:$|[，。,].*)", re.IGNORECASE)
    for english, chinese in (
        (
            (
                r"(?:i'm|i am|i(?: \w+ly)? got|i just got|we're|we are|we got)"
                rf"(?: (?:now|just|recently|finally|already))* {state}\b"
                r"(?![- ](?:minded|handed|threaded|to my (?:work|job)|out|in|with|by)\b)(?!.*\b(?:19|20)\d\d).*"
            ),
            rf"我(?:们|现在|目前|已经|刚|去年|今年|又|是|和[^，。,]{{1,8}}|跟[^，。,]{{1,8}})*(?:{han})",
        )
        for state, han in (
            ("married", "已婚|结婚"),
            ("divorced", "离异|离婚"),
            ("(?:a )?widow(?:ed|er)?", "丧偶"),
            ("single", "未婚|单身"),
            ("engaged", "订婚"),
        )
    )
)
_VERBS = tuple(
    re.compile(verb, re.IGNORECASE)
    for verb in (
        r"\b(?:live|lives|living|based|reside|moved to)\b|住|定居|搬",
        r"\b(?:have|has|own) (?!\w+(?:ed|en)\b|been\b|to\b)|养了?|有(?=[一两二三四五六七八九十\d])",
        r"\b(?:works?|working|joined|employed)\b|工作|上班|任职",
        (
            r"\b(?:likes?|loves?|enjoys?|prefers?|hates?|can't stand|us(?:e|es|ing)|drink(?:s|ing)?|eat(?:s|ing)?"
            r"|smok(?:e|es|ing)|switched)\b|喜欢|爱|讨厌|偏好|用|吃|喝|抽"
        ),
    )
)
# Kinds of which a person prefers one thing only; of other kinds one may like several.
_EITHER_OR = ("theme", "indentation", "length")
_PREFERS = re.compile(r"(?:i|we) (?:\w+ly )?prefer\b|我们?(?:更喜欢|偏好|偏爱|习惯用|喜欢用)", re.IGNORECASE)
_OVER = re.compile(r" (?:over|rather than|instead of)\b.*|，?(?:而不是|胜过|不用).*", re.IGNORECASE)
_ORDERS = re.compile(
    r"(?:please )?(?:always|never|from now on|write|use|answer|keep)\b|.*\b(?:from now on|by default)$|以后|今后|总是"
    r"|一律|请|[^，。,]{2,10}(?:都|一律|统一)用",
    re.IGNORECASE,
)
_ORDERED = ("spoken", "length", "theme", "indentation", "packages")
_DECIDES = re.compile(r"\b(?:decided|chose|agreed|picked|settled|going with|let's use|we'll use)\b|决定|选定|敲定|选用")


@lru_cache(maxsize=512)  # a statement is compared with several others
def predicate(text: str) -> re.Match[str] | None:
    """Return the predicate, which ends the subject: "box 3 is blue" and "box 4 is blue" have different subjects."""
    return _PREDICATE.search(text)


@lru_cache(maxsize=512)
def happened(text: str) -> bool:
    """Return whether a statement tells of something that has happened once."""
    return bool(_HAPPENED.search(text))


def changed(new: str, old: str) -> tuple[Literal["supersede"], str] | None:
    """Return `("supersede", reason)` if the new statement gives the old one's subject another value. Pure."""
    if _moved(new, old) or _retimed(new, old):
        return "supersede", "newer_value"
    if _recounted(new, old):
        return "supersede", "newer_number"
    if _restated(new, old) or _rechosen(new, old):
        return "supersede", "changed_mind"
    return None


def says_now(text: str) -> bool:
    """Return whether a statement itself tells of a change: "now", "anymore", 现在, 了."""
    return bool(_NOW.search(text))


def same_verb(new: str, old: str) -> bool:
    """Return whether two statements may be about the same: not where one tells of a home and one of a taste."""
    told, told_before = ({number for number, verb in enumerate(_VERBS) if verb.search(text)} for text in (new, old))
    return not told or not told_before or bool(told & told_before)


def _moved(new: str, old: str) -> bool:
    """Return whether the same thing has moved to another time, or to another thing of its kind."""
    met, met_old = _MOVED.search(new), predicate(old)
    if not met or not met_old or met_old[0].lower() not in _IS:
        return False
    subject = statement_words(new[: met.start()])
    value, old_value = new[met.end() :], old[met_old.end() :]
    both_when = bool(_WHEN.search(value) and _WHEN.search(old_value))
    both_of_kind = bool(names_of_kind(value).keys() & names_of_kind(old_value).keys())
    return bool(subject) and subject == statement_words(old[: met_old.start()]) and (both_when or both_of_kind)


def _retimed(new: str, old: str) -> bool:
    """Return whether the same thing has another time and nothing else is said of it. Two past events do not count."""
    met, met_old = predicate(new), predicate(old)
    if not met or not met_old or happened(new) or happened(old):
        return False
    if met[0].lower() not in _IS_AT or met[0].lower() != met_old[0].lower():
        return False
    subject, value, old_value = _plain(new[: met.start()]), _plain(new[met.end() :]), _plain(old[met_old.end() :])
    return (
        bool(statement_words(subject))
        and subject == _plain(old[: met_old.start()])
        and value != old_value
        and all(_ONLY_WHEN.fullmatch(each) and _WHEN.search(each) for each in (value, old_value))
        and _days(value) == _days(old_value)
    )


def _days(value: str) -> bool:
    """Return whether a time names a day of the week: a day and an hour do not contradict each other."""
    return bool(re.search(r"day\b|days\b|周|星期|礼拜", value))


def _recounted(new: str, old: str) -> bool:
    """Return whether the number of the same things has changed: "I have three cats now" after "I have two cats"."""
    plain, plain_old = _plain(new), _plain(old)
    counts, old_counts = _COUNT.findall(plain), _COUNT.findall(plain_old)
    if len(counts) != 1 or len(old_counts) != 1 or counts == old_counts:
        return False
    frame, old_frame = (" ".join(map(_one, _COUNT.sub("#", each).split())) for each in (plain, plain_old))
    return frame == old_frame and bool(_COUNTED.fullmatch(frame))


def _one(word: str) -> str:
    return word.removesuffix("s")


def _restated(new: str, old: str) -> bool:
    """Return whether the marital status has changed: a person has only one."""
    state, old_state = _state(new), _state(old)
    return state is not None and old_state is not None and state != old_state


def _state(text: str) -> int | None:
    text = text.replace("’", "'").strip()
    return next((number for number, pattern in enumerate(_STATES) if pattern.fullmatch(text)), None)


def _rechosen(new: str, old: str) -> bool:
    """Return whether another thing of a kind was chosen or ordered for the same purpose, or is preferred instead."""
    new, old = _OVER.sub("", new), _OVER.sub("", old)
    names, old_names = names_of_kind(new), names_of_kind(old)
    orders = bool(_ORDERS.match(new) and _ORDERS.match(old))
    decides = bool(_DECIDES.search(new) and _DECIDES.search(old))
    prefers = bool(_PREFERS.match(new) and _PREFERS.match(old))
    for kind in names.keys() & old_names.keys():
        if len(names[kind]) != 1 or len(old_names[kind]) != 1 or names[kind] == old_names[kind]:
            continue
        frame, old_frame = (without_kind(_plain(each), kind) for each in (new, old))
        if frame == old_frame and (
            ((decides or (orders and kind in _ORDERED)) and statement_words(frame)) or (prefers and kind in _EITHER_OR)
        ):
            return True
    return False


@lru_cache(maxsize=512)  # a statement is compared with several others
def _plain(text: str) -> str:
    """Normalize: lower case, single spaces, none next to Han, without words for "now" and end marks."""
    text = _NOW.sub(" ", text.lower().replace("’", "'"))
    text = re.sub(r"\s+", " ", re.sub(r"[.!。！,，]+(?=\s|$)", " ", text)).strip()
    return re.sub(r"(?<=[\u3400-\u9fff]) | (?=[\u3400-\u9fff])|了", "", text)

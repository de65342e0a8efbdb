"""Reads a Chinese clause that tells of its speaker, or wishes something of the assistant for good."""

import re
from collections.abc import Sequence
from typing import Final

from .reading import KEPT, Reading
from .words_zh import KIN, MARKS, PREDICATES, THINGS, WISH_FORMS, WISH_MARKS

__all__ = ["read_statement", "read_wish"]


def classes_of(table: str, **named: str) -> dict[str, tuple[float, str, re.Pattern[str]]]:
    """Read a table of "class [category] weight: patterns". Returns each class's weight, category and pattern."""
    classes: dict[str, tuple[float, str, re.Pattern[str]]] = {}
    for line in table.strip().splitlines():
        head, _, entries = line.partition(": ")
        name, *category, weight = head.split()
        pattern = "|".join(named.get(entry, entry) for entry in entries.split())
        classes[name] = float(weight), "".join(category), re.compile(pattern)
    return classes


_ONE_KIN: Final = "|".join(sorted(KIN.split(), key=len, reverse=True))
_ONE_THING: Final = "|".join(sorted(THINGS.split(), key=len, reverse=True))
_PREDICATES: Final = classes_of(PREDICATES)
_MARKS: Final = classes_of(MARKS, _KIN_=_ONE_KIN)
_FOR: Final = tuple(name for name, (weight, _, _) in _MARKS.items() if weight > 0)
_AGAINST: Final = tuple(name for name, (weight, _, _) in _MARKS.items() if weight < 0)
# Words that take 我 as their object: "给我" has no subject.
_NO_SUBJECT: Final = "给跟对帮让叫喊教比和问陪送害请找替为向把被于同"
_SUBJECT = re.compile(
    rf"(?P<mine>(?:我们?|咱们?)(?:家|的)?(?:那个?|这个?|小|大|亲|前|两个|俩|二)?(?:{_ONE_KIN}))"
    r"|(?P<mine_own>那[家个间栋辆条台块][^，。,我]{1,6}是我们?(?=[开办盖种养建]))"
    rf"|(?P<thing>(?:我们?|咱们?|我司)(?:家|的)?(?:那[个辆台]?|这[个家间]?|新)?(?:{_ONE_THING}))"
    rf"|(?P<self>我们?一?家|(?:我[俩们]?|咱们?|本人|俺)(?!去[，,！!]|靠|擦|晕|勒个|了个|的天)|我家)"
    rf"|(?P<kin>(?:隔壁|楼[上下]|对门)|(?:我?家里|老家)|[小大二]?(?:{_ONE_KIN})(?=.{{2}}))"
    rf"|(?P<own>[^，。,我你他她它这那]{{0,4}}?(?:{_ONE_THING})(?=.{{2}}))"
    r"|(?P<omitted>(?:去年|前年|上个?月|上周|今年|前阵子)?(?:刚)?(?=(?:领养|收养|搬[到去回]|入职|辞职|离职|戒了|养了|换了工作|[闻看听吃喝坐爬熬](?:不了|不得)|[^，。,我你他它这那]{1,4}了[一二两三四五六七八九十百\d]+多?年)))"
)
_TOPIC = re.compile(  # "烟我戒了", "去年秋天我们…"
    rf"(?![提聊说谈讲遇碰]到)(?:[^。，,我咱你您她它那?？]{{1,10}}了[，,])?[^。，,我咱你您他她它那?？]{{0,12}}?(?<![{_NO_SUBJECT}说诉])(?<!提醒)(?<!记住)(?<!记得)(?<!注意)(?<!忘了)(?<!回复)(?<!回答)(?<!称呼)(?<!打扰)(?<!推荐)(?<!是)(?P<self>我们?一?家|我们?|咱们?)(?!的)"
)
_WEIGHTS: Final = {"mine": 1.5, "thing": 1.0, "self": 1.0, "kin": 1.0, "mine_own": 1.0, "own": 0.5, "omitted": 0.5}
_SECOND: Final = 0.5  # of a second predicate's weight
_MOST_BESIDE: Final = 1.0
_LONGEST_READ: Final = 200  # characters of a clause
_BARE: Final = 1.0  # of a predicate in no table: who says 我戴假发 without more does so as a rule
_MOVED = re.compile(
    r"[了过着吧啊呢吗嘛呀哦要会能得请给把被让想来去先再又就才刚还看选说讲聊提谈别\ue000]|一[个下]|^.{0,1}$"
)
_COMPARED = re.compile(r"[更最](?:喜?爱|喜欢|习惯|愿意|想)")
_IS = re.compile(r"是|在|叫|定")
_NAMED = re.compile(r"名?字?叫")
_UNABLE = re.compile(
    r"[闻看听受坐爬喝吃碰熬忍沾](?:不了|不得)|只[坐住吃喝看用穿买听读]|不能(?=[吃喝碰沾熬])|从?来?不(?=[吃喝碰沾抽坐看听穿用])"
)


def read_statement(plain: str, start: int, end: int, *, least: float = KEPT) -> Reading | None:
    """Read a clause that says something lasting of its speaker; None for any other. least: the sum that keeps it."""
    end = min(end, start + _LONGEST_READ)
    subject = _SUBJECT.match(plain, start, end)
    topic = None if subject and subject.lastgroup not in ("own", "omitted") else _TOPIC.match(plain, start, end)
    subject = topic or subject
    if subject is None or subject.end() >= end:
        return None
    kind = subject.lastgroup or "self"
    rest = plain[subject.end() : end]
    whole = rest if kind in ("self", "kin", "omitted") and not topic else plain[start:end]
    weight, category = _predicate(whole, rest, dated=bool(_MARKS["date"][2].search(plain, start, end)))
    if weight <= 0 or (kind == "own" and _NAMED.match(rest)):  # "the company is called …": whose?
        return None
    around = plain[start : subject.start(kind)] + rest if topic else rest
    score = weight + _WEIGHTS[kind] + (1 if kind in ("thing", "own") and _IS.match(rest) else 0)
    score += _marks(around, _FOR)
    if score >= least:  # what speaks against it is looked for last: most clauses come not so far
        score += _marks(around, _AGAINST, of_team=plain.startswith("我们", start))
    if score < least:
        return None
    if _UNABLE.search(plain, start, end) and kind in ("self", "omitted"):
        category = "preference"
    of_work = category == "decision" or (kind in ("thing", "own") and category != "preference")
    return Reading(
        category,
        "O" if category == "preference" else "W" if of_work else "B",
        "normal" if kind in ("thing", "own") else "high",
        min(0.9, 0.7 + 0.05 * max(0.0, score - KEPT)),
    )


def _marks(around: str, names: Sequence[str], *, of_team: bool = False) -> float:
    """Return what the words around the predicate add. A team tells of its tasks, and whoever compares of the things."""
    seen = {name: _MARKS[name][0] for name in names if _MARKS[name][2].search(around)}
    if "task" in seen and (of_team or _COMPARED.search(around)):
        seen["task"] = seen["task"] / 2 if of_team else 0.0
    return sum(seen.values())


def _predicate(whole: str, rest: str, *, dated: bool) -> tuple[float, str]:
    """Return what the predicates add, and the category of the weightiest. dated: a plan has a date."""
    found = sorted(
        (
            (weight, category)
            for name, (weight, category, pattern) in _PREDICATES.items()
            if (dated or name != "planned") and pattern.search(whole)
        ),
        reverse=True,
    )
    if not found:
        return (0.0 if _MOVED.search(rest) else _BARE), "fact"
    beside = sum(weight * _SECOND for weight, _ in found[1:])
    return found[0][0] + min(_MOST_BESIDE, beside), found[0][1]


# Reads a Chinese clause that wishes something of the assistant for good: by its form, not by its topic.

_FORMS: Final = classes_of(WISH_FORMS)
_ENTRIES: Final = [entry for line in WISH_FORMS.strip().splitlines() for entry in line.partition(": ")[2].split()]
# Whether a clause has any form at all, at its start or inside: they spare the rest.
_OPENING: Final = re.compile("|".join(entry for entry in _ENTRIES if entry[0] == "^"))
_INSIDE: Final = re.compile("|".join(entry for entry in _ENTRIES if entry[0] != "^"))
_WISH_MARKS: Final = classes_of(WISH_MARKS)
_CONDITIONS: Final = ("的话", "时候", "时")
_FOR_GOOD: Final = re.compile("[每凡总永以今一]|都|别|不要|给我|跟我|对我")
_SAID: Final = re.compile(r"[^，。,我你就]{1,6}(?:(?<![只别要少直])说|规定|要求)(?=[^，。,])")  # somebody else's wish
_POINTS: Final = re.compile(r"这[个些]$")
_LONGEST: Final = 80  # characters


def read_wish(
    plain: str,
    start: int,
    end: int,
    *,
    condition: tuple[int, int] | None,
    reasoned: float,
    leads: bool,  # noqa: ARG001 - English needs it
) -> Reading | None:
    """Read a clause as a standing wish; None for an order for once.

    condition: the bounds of 给我写代码的时候 before it. reasoned: what is added for a reason that stands beside
    it. leads: the clause begins its sentence, which makes no difference in Chinese.
    """
    clause = plain[condition[0] if condition else start : end]
    if len(clause) > _LONGEST or clause.endswith(_CONDITIONS) or (reasoned < 0 and not _FOR_GOOD.search(clause)):
        return None
    if not (_OPENING.match(clause) or _INSIDE.search(clause)) or _SAID.match(clause):
        return None
    forms = sorted((weight for weight, _, pattern in _FORMS.values() if pattern.search(clause)), reverse=True)
    if not forms:
        return None
    score = forms[0] + min(1.0, _SECOND * len(forms[1:])) + reasoned
    if reasoned >= 1:  # "I don't believe in stars, spare me that"
        clause = _POINTS.sub("", clause)
    score += sum(weight for weight, _, pattern in _WISH_MARKS.values() if pattern.search(clause))
    if score < KEPT:
        return None
    return Reading("instruction", "O", "high", min(0.9, 0.75 + 0.04 * (score - KEPT)))

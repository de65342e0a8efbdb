"""What the turns of a session tell of it: what was asked, what was done, what is open. By rules, in two languages."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from extractor.language.kind import has_han, is_greeting, is_small_talk
from extractor.language.sentences import Sentence, sentences

__all__ = ["FILLER", "LATER", "OPENER", "Exchange", "Told", "exchanges_of", "told_by"]


# The phrases by which people ask, report and put off, in English and Chinese.

ASKS: Final = re.compile(
    r"\b(?:please|(?:can|could|would|will) (?:you|we|i)|help me|(?:show|tell|give|get|send|find) me|let's|i need you to"
    r"|i(?:'d| would) like (?:you to|to know)|any (?:tips|ideas|advice|suggestions))\b"
    r"|^(?:add|book|build|cache|calculate|change|check|clean|compare|convert|create|debug|delete|deploy|describe|design|draft|explain|find"
    r"|fix|generate|implement|install|list|look|make|migrate|move|open|plan|prepare|proofread|recommend|refactor|remove"
    r"|rename|replace|review|rewrite|run|search|set up|shorten|show|sort|split"
    r"|suggest|summari[sz]e|test|translate|update|upgrade"
    r"|use|write)\b(?! (?:will|is|was|has|of)\b)"
    r"|帮[我忙]|麻烦|给我|替我|[请求](?:你|您|把|帮|用|问|给|再|先|推荐|解释|写|列|改|查)|能不能|可不可以|[吗呢]$"
    r"|什么|怎么|如何|为什么|为啥|哪[个里些家种天位款]|多少|几[点个号天次]"
    r"|(?:^|[，,：:])(?:再|先|然后|现在|接着|顺便)?(?:把|将|写|做|改|查|翻译|推荐|解释|总结|安排|生成|修|加|删|列|讲|说说|看看|设计|分析"
    r"|比较|介绍|整理|检查|运行|部署|润色|画|算|找|试|来[一几个点份])",
    re.IGNORECASE,
)
TO_REMEMBER: Final = re.compile(
    r"^(?:please |also |and )*(?:remember|keep in mind|note|don't forget|forget) (?!to )|记住|记下|记一下|忘掉|忘记",
    re.IGNORECASE,
)
_DONE_ENGLISH: Final = (
    r"added|adjusted|applied|arranged|booked|built|changed|checked|cleaned|completed|configured|converted|corrected"
    r"|created|deleted|deployed|drafted|extended|fixed|formatted|generated|implemented|installed|made|merged|migrated"
    r"|moved|prepared|published|pushed|put|ran|refactored|removed|renamed|replaced|rewritten|rewrote|run|saved|scheduled"
    r"|sent|set up|shortened|solved|split|switched|tested|translated|updated|upgraded|verified|wired|written|wrote"
)
_DONE_CHINESE: Final = (
    r"改|写|做|加|修|建|弄|换|存|放|发|订|设|配|装|跑|传|删|搬|拆|整理|更新|部署|生成|安排|完成|修复|修改|创建|添加|删除|替换"
    r"|迁移|去掉|去除|清洗|汇总|导出|翻译|统计|拆分|配置|安装|提交|上线|发布|保存|调整|优化|重构|合并|测试|升级|预订|发送|准备|制定"
)
REPORTS: Final = re.compile(
    r"^(?:all )?(?:done|finished)\b"
    rf"|^(?:{_DONE_ENGLISH})\b(?! (?:you|to you))"
    rf"|\b(?:i|we)(?:'ve| have)? (?:also |now |just |already |successfully |then )*(?:{_DONE_ENGLISH})\b"
    rf"|\b(?:is|are|was|were|has been|have been) (?:now |all |already )?(?:done|{_DONE_ENGLISH})\b"
    r"|\btests? (?:now )?pass(?:es|ed)?\b|\bnow (?:works|takes|pass(?:es)?|uses?|returns?|skips?)\b"
    rf"|已经?(?:\w{{0,6}}?)(?:{_DONE_CHINESE})|(?:{_DONE_CHINESE})(?:好了|完了|成了|上了|完毕)|(?:{_DONE_CHINESE})了"
    rf"|为[您你](?:{_DONE_CHINESE})|搞定了?|全部通过|通过了",
    re.IGNORECASE,
)
USER_REPORTS: Final = re.compile(
    r"\b(?:fixed it|(?:that|it) (?:now )?work(?:s|ed)|works now|solved it)\b|[^\W\d_]好了|搞定|正常了|解决了|成功了",
    re.IGNORECASE,
)
"""A user who says what they did tells of themselves; these say what came of the talk."""
NOT_DONE: Final = re.compile(
    r"\b(?:not|n't|never|if|once|when|should|could|would|can|will|may|might|must|need to)\b"
    r"|[没未不别]|如果|一旦|之后|可以|建议|应该",
    re.IGNORECASE,
)
LATER: Final = re.compile(
    r"\b(?:i'?ll|we'?ll|let's|i will|we will|need to|have to|going to|continue|must|should|want to)\b.{0,80}"
    r"\b(?:tomorrow|later|tonight|next (?:time|week|month|session)|another (?:day|time)|this (?:evening|weekend))\b"
    r"|\b(?:tomorrow|later|tonight|next (?:time|week|month))\b,? .{0,20}"
    r"\b(?:i'?ll|we'?ll|let's|need to|have to|continue)\b"
    r"|\b(?:leave|keep|postpone) (?:it|this|that) (?:for|until|till)\b|\bremind me\b"
    r"|\bstill (?:have|has|need|needs|must)\b"
    r"|(?:明天|后天|今晚|晚点|晚些|回头|改天|下次|下周|周末|之后|稍后|待会儿?|等会儿?|以后|过几天)[^。！？]{0,12}"
    r"(?:再|要|得|去|订|做|加|补|写|改|试|弄|买|继续|处理)|再[说议]$|还(?:要|得|需要|差)(?!是)|提醒我|别忘了",
    re.IGNORECASE,
)
NOT_YET: Final = re.compile(
    r"\b(?:ha(?:s|ve)n't|(?:is|are)n't|not) .{0,60}\byet\b|\bstill (?:open|missing|to do|unresolved|pending|fail)"
    r"|还[没未]|尚未|仍(?:未|没|然没)|没来得及",
    re.IGNORECASE,
)
SET_ASIDE: Final = re.compile(
    r"先不|暂时不|不用管|\b(?:leave|skip) (?:it|that|this)\b(?! (?:for|until|till)\b)", re.IGNORECASE
)
OFFERS: Final = re.compile(
    r"anything else|else (?:i|you)|help (?:you )?(?:with|today)|need (?:any )?(?:more|other|further)|questions\b"
    r"|还有(?:什么|其他|别的)|其他(?:问题|需要)|有什么(?:可以|能)|需要我?(?:帮|做)什么",
    re.IGNORECASE,
)
OPENER: Final = re.compile(
    r"(?P<head>(?:ok(?:ay)?|great|thanks|thank you|sure|well|so)(?=\s)|但是|不过|然后|而且|另外"
    r"|[^，,。.！!；;:：—]{1,30}(?=[，,。.！!；;:：—]))"
    r"[，,。.！!；;:：—\s]*(?=\S)",
    re.IGNORECASE,
)
FILLER: Final = re.compile(
    r"(?:well|so|and|also|now|then|actually|certainly|of course|absolutely|by the way|great question|good question"
    r"|noted|love it|hmm+|got it(?: and)?|sorry to hear that|那|那么|对了|当然|当然可以|好问题"
    r"|另外|顺便|其实|首先|然后|但是?|不过|没关系|别灰心|而且)",
    re.IGNORECASE,
)
PLEASE: Final = re.compile(
    r"(?:(?:please|(?:can|could|would|will) you|help me(?: to)?|i(?:'d| would) like you to|i need you to)\s+)+"
    r"|(?:请|麻烦)?(?:你|您)?(?:再|先)?(?:帮我|帮忙|给我|替我)|^(?:麻烦|请)(?:你|您)?",
    re.IGNORECASE,
)


_ASK_LENGTH: Final = 40
_GIST_LENGTH: Final = 90
_TOPIC_LENGTH: Final = 100
"""Characters of a request in a line of what was done, of the essence of a reply, and of a topic."""
_WIDE: Final = 2
"""A Han character counts as so many."""

_CODE_MARK: Final = re.compile(r"[{}()\[\]<>=|\\$_*+&]")
_CODE_SHARE: Final = 0.1
_FIRST: Final = 20
_NEWEST: Final = 40
"""The exchanges at the beginning and at the end that are read; a record has no room for more."""
_FEWEST: Final = 8
"""The width of a sentence of an answer that says something, unless it is the only one."""
_ENOUGH: Final = 30
_LEAST_TOPIC: Final = 14


@dataclass(slots=True)
class Exchange:
    """What the user said, and what the assistant answered before the user spoke again."""

    user: str = ""
    answers: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What turns tell of their session. topic: "" if nothing was said that is one. ended: where the talk ended.

    wanted: what was asked for. done: what is reported as done, or was answered. unanswered: a request, or a question to
    the user, that nothing answers. later: what was put off, or is not done yet.
    """

    topic: str = ""
    wanted: tuple[str, ...] = ()
    done: tuple[str, ...] = ()
    ended: str = ""
    unanswered: tuple[str, ...] = ()
    later: tuple[str, ...] = ()


def exchanges_of(said: Iterable[tuple[bool, str]]) -> list[Exchange]:
    """Return the exchanges of what was said, oldest first. said: whether the user said it, and the text."""
    found: list[Exchange] = []
    for by_user, text in said:
        if by_user or not found:
            found.append(Exchange())
        if by_user:
            found[-1].user = text
        else:
            found[-1].answers.append(text)
    return found


def told_by(exchanges: Sequence[Exchange]) -> Told:
    """Return what turns tell of their session. Pure; greetings, thanks and what is to be remembered are left out."""
    wanted: list[str] = []
    subjects: list[str] = []
    topics: list[str] = []
    done: list[str] = []
    later: list[str] = []
    ended = offer = ""
    for exchange in (*exchanges[:_FIRST], *exchanges[_FIRST:][-_NEWEST:]):
        said = [each for each in _plain(exchange.user) if not TO_REMEMBER.search(each.text)]
        asked = any(each.question or ASKS.search(_without_opener(each.text)) for each in said)
        message = _joined(said)
        if asked:
            wanted.append(message)
        if asked or (message and not topics):
            subjects.append(message)
            topics.append(_bare(max(said, key=lambda each: _width(each.text))))
        put_off = [_without_opener(each.text) for each in said if _is_later(each)]
        later += put_off
        reported = [each for each in said if _is_report(each, USER_REPORTS)]
        reported += [each for answer in exchange.answers for each in _plain(answer) if _is_report(each, REPORTS)]
        essence = _essence(exchange.answers[-1:])
        if reported:
            done += [_closed(_without_opener(each.text)) for each in reported]
        elif asked and essence:
            done.append(f"{_within(topics[-1], _ASK_LENGTH)} → {essence}")
        elif offer and essence and not message:  # the user has only agreed
            done.append(f"{_within(offer, _ASK_LENGTH)} → {essence}")
        offer = next(_questions(exchange), "")
        if message:
            ended = "" if reported or asked or put_off else " → ".join(filter(None, (message, essence)))
    return Told(
        topic=subjects[0] if len(subjects) == 1 else _topic(topics),
        wanted=tuple(wanted),
        done=tuple(done),
        ended=ended,
        unanswered=tuple(_unanswered(exchanges)),
        later=(*later, *(_not_yet(exchanges[-1]) if exchanges else [])),
    )


def _plain(text: str) -> list[Sentence]:
    """Return the sentences that say something."""
    return [each for each in sentences(text) if not (_is_empty(_without_opener(each.text)) or _is_code(each.text))]


def _is_empty(text: str) -> bool:
    return is_greeting(text) or is_small_talk(text) or bool(FILLER.fullmatch(text))


def _is_code(text: str) -> bool:
    return len(_CODE_MARK.findall(text)) > _CODE_SHARE * len(text)


def _is_report(sentence: Sentence, reports: re.Pattern[str]) -> bool:
    return not sentence.question and bool(reports.search(sentence.plain)) and not NOT_DONE.search(sentence.plain)


def _is_later(sentence: Sentence) -> bool:
    text = sentence.text
    told = LATER.search(text) or NOT_YET.search(text)
    return bool(told) and not sentence.question and not SET_ASIDE.search(text)


def _not_yet(last: Exchange) -> list[str]:
    """Return what the last answer says is not done yet, unless the user said so."""
    if any(_is_later(each) for each in _plain(last.user)):
        return []
    return [
        each.text
        for answer in last.answers[-1:]
        for each in _plain(answer)
        if NOT_YET.search(each.text) and not each.question
    ]


def _unanswered(exchanges: Sequence[Exchange]) -> Iterator[str]:
    """Yield the user's last request if nothing answers it, or the question with which the last answer ends."""
    if not exchanges:
        return
    last = exchanges[-1]
    if not last.answers:
        said = _plain(last.user)
        if any(each.question or ASKS.search(each.text) for each in said):
            yield _joined(said)
    else:
        yield from _questions(last)


def _questions(exchange: Exchange) -> Iterator[str]:
    """Yield the question with which an exchange ends, unless it only offers more help."""
    for answer in exchange.answers[-1:]:
        closing = sentences(answer)[-1:]
        yield from (_ended(each) for each in closing if each.question and not OFFERS.search(each.text))


def _topic(requests: Sequence[str]) -> str:
    """Return what several requests were about, by the beginnings of the first ones."""
    parts: list[str] = []
    left = _TOPIC_LENGTH
    telling = [request for request in requests if _width(request) >= _LEAST_TOPIC] or requests
    for part in dict.fromkeys(_within(request, _ASK_LENGTH) for request in telling):
        if len(part) <= left:
            parts.append(part)
            left -= len(part) + 2
    return ("；" if has_han("".join(parts)) else "; ").join(parts)


def _bare(sentence: Sentence) -> str:
    """Return a request without the words that make it one."""
    text = _without_opener(_ended(sentence))
    return PLEASE.sub("", text, count=1).strip() or text


def _essence(answers: Sequence[str]) -> str:
    """Return the first sentences of an answer that say something."""
    said = [each for answer in answers for each in _plain(answer)]
    parts: list[str] = []
    for sentence in [each for each in said if _width(each.text) >= _FEWEST] or said:
        width = _width(" ".join(parts))
        if width >= _ENOUGH and width + _width(sentence.text) > _GIST_LENGTH:
            break
        parts.append(_without_opener(_ended(sentence)))
    return _within(_sentence_joint(parts).join(parts), 2 * _GIST_LENGTH)


def _joined(said: Sequence[Sentence]) -> str:
    parts = [_without_opener(_ended(each)) for each in said]
    return _sentence_joint(parts).join(parts)


def _sentence_joint(parts: Sequence[str]) -> str:
    return " " if not parts or parts[0].endswith(("?", "？")) else "。" if has_han("".join(parts)) else ". "


def _closed(text: str) -> str:
    return text if text.endswith(('"', "”", ".")) else f"{text}{'。' if has_han(text) else '.'}"


def _ended(sentence: Sentence) -> str:
    mark = "？" if has_han(sentence.text) else "?"
    return f"{sentence.text}{mark}" if sentence.question else sentence.text


def _without_opener(text: str) -> str:
    """Return a sentence without thanks, agreement and the like in front of it."""
    while (opener := OPENER.match(text)) and _is_empty(opener["head"].strip()) and not REPORTS.match(text):
        text = text[opener.end() :]
    return text


def _within(text: str, width: int) -> str:
    """Return the beginning of a text, cut after a clause or a word where one ends late enough."""
    if _width(text) <= width:
        return text
    end = 0
    for position, character in enumerate(text):
        width -= _WIDE if has_han(character) else 1
        if width < 1:
            end = position
            break
    boundary = max((match.end() for match in re.finditer(r"[，,、；;。：:]|\s", text[:end])), default=0)
    return f"{text[: boundary if boundary * 2 > end else end].rstrip(' ，,、；;。：:')}…"


def _width(text: str) -> int:
    return sum(_WIDE if has_han(character) else 1 for character in text)

"""Whose words a quotation of the user holds, and whether it and a statement deny what the other one claims."""

import re
from typing import Final

from extractor.language.script import has_han
from extractor.language.sentences import quotations, sentences
from extractor.language.vocabulary import CHANGE, polarity, statement_words
from extractor.rules import patterns_en, patterns_zh
from extractor.rules.stated import asks as clause_asks

__all__ = ["adds_a_denial", "asks", "denies", "is_borrowed", "is_of_another", "is_standing_wish", "sentence_of"]

_LEAST_DENIED: Final = 0.5  # the share of a statement's words that a denial must hold to contradict it

_SUPPOSED: Final = re.compile(
    r"(?:(?:and|but|so|ok|hey)\W+)*(?:(?:even |only )?if|suppose|imagine|assuming|what if|say i)\b"
    r"|(?:那|但|不过)?(?:如果|要是|假如|假设|倘若|万一)",
    re.IGNORECASE,
)
_LEAST_BORROWED: Final = 2  # words in quotation marks; fewer are a name
_LEAST_TOLD: Final = 2  # words of a statement that stand outside of questions
_OF_THE_USER: Final = re.compile(r"(?:the )?user(?!['’]s)\b|用户(?!的)", re.IGNORECASE)
_FIRST_PERSON: Final = re.compile(r"\b(?:i|i'm|i'll|i've|i'd|me|my|mine|we|us|our)\b|我|咱", re.IGNORECASE)
_REPORT: Final = re.compile(
    r"(?:\A|[,;:]\s*|\b(?:and|but|that|because)\s+)(?:(?:my|our|his|her|their|the|a)\s+(?:\w+\s+)?)?"
    r"(?P<who>(?!(?:i|we|you)\b)[a-z]\w*)\s+(?:(?:also|always|just|once)\s+)?"
    r"(?:says?|said|told (?:me|us)|tells (?:me|us)|writes?|wrote|claims?|claimed)\b(?! to\b)(?P<what>[^.!?\n]*)"
    r"|(?P<wer>[\u4e00-\u9fff]{1,6}?|[a-z]\w*)(?:跟我|对我|和我)?(?:说(?!话|起|[\u4e00-\u9fff]{0,2}语|[英日法德韩汉俄中]文)过?|告诉我们?|声称|表示)(?![明法服])(?P<was>[^。！？\n]*)",
    re.IGNORECASE,
)
# 我说, 听说, 再说, 来说 and the like name nobody.
_NOBODY: Final = re.compile(r"(?:[我你们听据再来虽小传话如者实白的]|总的来)\Z")
_NEGATED: Final = re.compile(
    r"\b(?<!why )(?:not(?! (?:just|only|to mention)\b)|never|no longer|cannot"
    r"|(?:do|does|did|is|are|was|were|ca|could|wo|would|have|has)n't)\s+"
    r"(?P<what>[^,.;!?\n]*?)(?=\s+(?:but|because|and|since|so|until)\b|[,.;!?\n]|\Z)"
    r"|(?:不(?!错|过|仅|但|同|管|论|断|止|只|少|久|得不|知)|从没|没有?)(?:再|会|想|要|太|能)?(?P<was>[^，。！？；,;\n]{1,12})",
    re.IGNORECASE,
)
_SAYS_NOT: Final = re.compile(
    r"\b(?:not|never|no longer|cannot)\b|n['’]t\b|不(?!错|过|仅|但|同|管|论|断|止|只|少|久|得不|知)|没有?|从未",
    re.IGNORECASE,
)
# What a denial may restate in other words: "I quit", "allergic", "instead of", 讨厌.
_MEANS_NOT: Final = re.compile(
    r"\b(?:no|not|never|without|none|nothing|nobody|nowhere|neither|nor|hardly|barely|rarely|seldom|cannot|hate\w*"
    r"|dislik\w*|avoid\w*|stop\w*|quit\w*|refus\w*|lack\w*|fail\w*|unable|instead|against|free|allerg\w*|un[a-z]{4,}"
    r"|miss\w*|except|despite|gave up|give up|over|left|lost|broke\w*|end\w*|cancel\w*)\b|n['’]t\b"
    r"|[不没无未别非莫戒拒避免]|讨厌|取消|放弃",
    re.IGNORECASE,
)
_FOR_GOOD: Final = re.compile(
    r"\b(?:always|never|ever|whenever|every|each|from now on|in (?:the )?future|for future|going forward|by default"
    r"|any ?more|generally|usually|stop\w*|don'?t|do not|no (?!problem|worries|idea)|keep|prefer\w*|rather|instead"
    r"|without|like|love|hate|want|wish|need|can'?t|only|avoid|stick to|call me|address me|speak|talk|answer"
    r"|repl(?:y|ies)|respond|remember|short|brief|concise|detailed|formal|informal|metric|use)\b"
    r"|以后|今后|往后|每次|每回|总是|一律|都|永远|从来|别|不要|不用|少|尽量|希望|喜欢|习惯|叫我|称呼|记住|请用"
    r"|用中文|用英文|直接|简短|简洁|回答|回复|说话|短",
    re.IGNORECASE,
)
_CHANGING: Final = re.compile(r"\b(?:before|used to|now|prefer\w*|only)\b|以前|现在|只", re.IGNORECASE)


def is_of_another(quote: str, message: str, content: str) -> bool:
    """Return whether a quotation is what somebody else said: "I …" within quotation marks, or a report.

    A report is evidence of what is told about others, so only a statement about the user that does not name who said it
    is refused.
    """
    if not _OF_THE_USER.match(content):
        return False
    if any(quote in quotation and _FIRST_PERSON.search(quotation) for quotation in quotations(message)):
        return True
    start = max(0, message.find(quote))
    sentence = max(message.rfind(mark, 0, start) for mark in ".!?。！？\n") + 1
    text = message[sentence : start + len(quote)].strip(" .!?。！？\n")
    for report in _REPORT.finditer(text):
        if report.end() < len(text):  # the quotation goes on after it
            continue
        who, what = report["who"] or report["wer"], report["what"] or report["was"] or ""
        for quotation in quotations(what):  # whose "I" is not the user
            what = what.replace(quotation, "")
        named = who.casefold() in content.casefold() if who.isascii() else any(name in content for name in who[-2:])
        if not (named or _NOBODY.search(who) or _FIRST_PERSON.search(what)):
            return True
    return False


def sentence_of(quote: str, message: str) -> str:
    """Return the sentence of a message in which a quotation stands; the quotation where it was changed."""
    at = message.find(quote)
    if at < 0:
        return quote
    before = max(message.rfind(mark, 0, at) for mark in ".!?。！？\n") + 1
    after = [end for mark in ".!?。！？\n" if (end := message.find(mark, at + len(quote))) >= 0]
    return message[before : min(after, default=len(message))]


def asks(quote: str, message: str, content: str) -> bool:
    """Return whether a statement is taken from a question alone: the answer to it was not said by who asks."""
    plain = quote.replace("’", "'").strip(" .,!?;。，！？；")
    asking, told = False, set[str]()
    for sentence in sentences(message):
        text = sentence.text.replace("’", "'")
        language = patterns_zh if has_han(text) else patterns_en
        for clause in sentence.clauses:
            ends_in_question = sentence.question and clause is sentence.clauses[-1]
            if not (ends_in_question or clause_asks(clause.plain, language)):
                told |= statement_words(text[clause.start : clause.end])
                continue
            part = text[clause.start : clause.end]
            asking = asking or (bool(plain) and (plain in part or part in plain))
    return asking and len(statement_words(content) & told) < _LEAST_TOLD


def is_borrowed(quote: str, message: str) -> bool:
    """Return whether a quotation is a supposition, or stands within quotation marks: of an ad, a mail, a song."""
    plain = quote.replace("’", "'").strip(" .,!?;。，！？；")
    supposed = _SUPPOSED.match(plain)
    quoted = any(plain in quotation.replace("’", "'") for quotation in quotations(message))
    return bool(supposed) or (quoted and len(statement_words(plain)) >= _LEAST_BORROWED)


def adds_a_denial(sentence: str, content: str) -> bool:
    """Return whether a statement denies something, and the sentence that it quotes does not."""
    return bool(_SAYS_NOT.search(content)) and not _MEANS_NOT.search(sentence)


def is_standing_wish(sentence: str) -> bool:
    """Return whether a sentence may ask for something for good, and not for once."""
    return bool(_FOR_GOOD.search(sentence))


def denies(quote: str, content: str) -> bool:
    """Return whether a quotation denies what a statement claims: "I don't like coffee", "The user likes coffee"."""
    if (
        not polarity(content)
        or _NEGATED.search(content)
        or CHANGE.search(content)
        or _CHANGING.search(f"{quote} {content}")
    ):
        return False
    claimed = statement_words(content) - {"user"}
    denied = (
        statement_words(match["what"] or match["was"] or "") for match in _NEGATED.finditer(quote.replace("’", "'"))
    )
    return any(words and words <= claimed and len(words) >= _LEAST_DENIED * len(claimed) for words in denied)

"""Reads what a model quotes: which sentence of the user it points at, whose words it holds, and what they demand."""

import re
from dataclasses import replace
from datetime import date
from typing import Final

from extractor.categories import traits_of
from extractor.language.kind import has_han
from extractor.language.sentences import LONGEST_READ, quotations, sentences
from extractor.language.values import relative_dates_of, without_dates
from extractor.language.vocabulary import CHANGE, names_of_kind, polarity, statement_words, stem
from extractor.meaning import SPEAKER
from extractor.merge.attributes import PEOPLE
from extractor.merge.told import may_be, points_back, text_of
from extractor.rules.borrowed import own_words
from extractor.rules.extract import entities_of
from extractor.rules.language import language_of
from extractor.types import Candidate, Turn

from .support import Said, expiry_of, share_repeated

__all__ = [
    "adds_a_denial",
    "asks",
    "changes_who",
    "denies",
    "is_borrowed",
    "is_of_another",
    "is_standing_wish",
    "pointed_at",
    "repeats",
    "sentence_of",
    "turns_must_and_wish",
]


# Whose a quotation is, and what it demands: what one's friend has is not the user's, and "must" is no wish.

_USER: Final = re.compile(r"\A(?:the )?user\b(?!['’]s)", re.IGNORECASE)
_USER_ZH: Final = re.compile(r"\A用户(?!的|们)")
_I: Final = re.compile(r"\b(?:i|i'm|i've|i'd|i'll|we|we're|we've|we'd|we'll|me|us|myself|mine|let's)\b", re.IGNORECASE)
_THIRD: Final = re.compile(
    r"\A\W*(?:(?:and|but|so|btw|by the way|also|oh|well|though|because|since|plus|then|now)\b\W*)*"
    r"(?:(?P<pronoun>he|she|they|he's|she's|they're|they've)(?=\s)"
    r"|(?P<name>(?-i:[A-ZÀ-Þ][\w'-]+)(?:(?:\s+and)?\s+(?-i:[A-ZÀ-Þ][\w'-]+))?)"
    r"(?=\s+(?:is|was|has|had|will|can|can't|\w+n't|\w+s|\w+ed|got|went|took|gave|said|told|just|also|never|always|only|still)\b)|(?P<possessed>(?-i:[A-ZÀ-Þ]\w+)'s)(?=\s))",
    re.IGNORECASE,
)
_PEOPLE: Final = "|".join(sorted((word for word in PEOPLE if word.isascii()), key=len, reverse=True))
_OWN_PERSON: Final = re.compile(
    rf"\b(?:my|our|his|her|their)\s+(?:[\w-]+\s+){{0,2}}?(?P<person>(?:{_PEOPLE})s?(?:-in-law)?)"
    r"(?:\s+(?P<name>(?-i:[A-ZÀ-Þ][\w'-]+)))?(?:'s|'re|,? who|\s+(?!(?:and|or|to|in|at|for|with|on|of|about|from|as|by"
    r"|but|if|when|because|so|then|too|there|here|again|today|yesterday|tomorrow|back|out|up|off|over|that|this|these|the|a|an|my|our"
    r"|says?|said|told|tells|thinks?|thought|asked|asks|recommend\w*|suggest\w*|advised?|calls?|called|wants?|made|makes"
    r"|lets?|gave|gives)\b)[a-z])",
    re.IGNORECASE,
)
_NO_NAME: Final = frozenset(
    "let it that this there what who which here how why the a an my our in on at if when".split()
)
_KIN_ZH: Final = (
    r"(?:老婆|老公|妻子|丈夫|媳妇|太太|女朋友|男朋友|女友|男友|女儿|闺女|儿子|孩子|爸妈|爸爸?|妈妈?|老爸|老妈|父亲|母亲|父母|爷爷|奶奶|外公|外婆"
    r"|姥姥|姥爷|岳父|岳母|公公|婆婆|哥哥?|姐姐?|弟弟?|妹妹?|[表堂][哥姐弟妹]|舅舅?|叔叔?|姑姑?|阿姨|侄[子女]|外甥女?|孙[子女]|室友"
    r"|闺蜜|发小|同事|朋友|邻居|房东|老板|领导|经理|组长|老师|同学|师傅|搭档|[猫狗]|他们?|她们?|人家|老[\u4e00-\u9fff](?!婆|公|家|是|师)"
    r"|小[\u4e00-\u9fff](?=[在是有得要会说喜爱想对不最也就去来住]))"
)
_OF_PERSON: Final = re.compile(
    rf"(?:the )?user's (?:[\w-]+ ){{0,2}}?(?P<who>{_PEOPLE})s?\b(?!')"
    r"(?: (?P<name>(?-i:[A-ZÀ-Þ][\w'-]+)))?",
    re.IGNORECASE,
)
_OF_PERSON_ZH: Final = re.compile(rf"用户的?(?P<who>{_KIN_ZH})(?P<name>[A-Za-z]+)?")
_OTHER: Final = re.compile(r"\b(?:he|she|they|him|her|his|their|them)\b|[他她]", re.IGNORECASE)
_THIRD_ZH: Final = re.compile(
    rf"\A\W*(?:对了|但是?|不过|因为|所以|而且|还有)?(?:我们?|咱)?家?的?(?:那个|个)?(?P<who>{_KIN_ZH})"
)
_I_ZH: Final = re.compile(
    rf"(?:我|咱)(?!们?家?的?(?:{_KIN_ZH}))(?!们?(?:公司|团队|组|学校|医院|部门|班)(?:的|里)?(?:{_KIN_ZH}))"
)
_MUST: Final = re.compile(
    r"\b(?:must|have to|has to|had to|need to|needs to|got to|gotta|required|obliged|supposed to|forced to)\b"
    r"|必须|不得不|(?<=[我你他她们家都也就还又号末周月天一二三四五六日])得(?!了|到|出|很|不|起|意)|需要|非得|只能|务必",
    re.IGNORECASE,
)
_WISH: Final = re.compile(
    r"\b(?:want|wants|wanted|wanna|hope|hopes|hoping|wish|wishes|would like|would love|'d like|'d love"
    r"|like to|likes to|dream|dreams|keen)\b|希望|想(?!象|起|到|念|法)|愿意|盼|打算",
    re.IGNORECASE,
)


def changes_who(quote: str, message: str, content: str) -> bool:
    """Return whether a statement is about the user, and the quotation about somebody whom the statement does not name.

    Or the other way round: it is about one of the user's people, of whom the message does not speak. Looks at the
    clauses of the message in which the quotation stands, and before it for a subject that it lacks.
    """
    if _names_one_more(quote, message, content):
        return True
    chinese = has_han(content)
    if not (_USER_ZH if chinese else _USER).match(content):
        return False
    others = _others_zh(quote, message) if has_han(quote) else _others(quote, message, content)
    return bool(others) and not any(_names(content, other) for other in others)


def turns_must_and_wish(sentence: str, content: str) -> bool:
    """Return whether a statement makes a wish of what must be, or a duty of what is wished."""
    must, wish = bool(_MUST.search(sentence)), bool(_WISH.search(sentence))
    says_must, says_wish = bool(_MUST.search(content)), bool(_WISH.search(content))
    return (must and not wish and says_wish and not says_must) or (wish and not must and says_must and not says_wish)


def adds_must_or_wish(sentence: str, content: str) -> bool:
    """Return whether a statement tells a duty or a wish, and the sentence does not."""
    return any(pattern.search(content) and not pattern.search(sentence) for pattern in (_MUST, _WISH))


def _clauses(quote: str, message: str) -> list[str]:
    """Return the clauses of the sentence with the quotation, up to the end of the quotation; those before it first."""
    plain = quote.replace("’", "'").strip(" .,!?;。，！？；")
    for sentence in sentences(message):
        text = sentence.text.replace("’", "'")
        at = text.find(plain)
        if at >= 0:
            end = at + len(plain)
            return [text[clause.start : min(clause.end, end)] for clause in sentence.clauses if clause.start < end]
    return [plain]


def _others(quote: str, message: str, content: str) -> list[str]:
    """Return the words for the person of whom an English quotation tells; none where the user is in it.

    Of several clauses, the one counts that shares most words with the statement.
    """
    words = statement_words(content)
    clause = max(reversed(_clauses(quote, message)), key=lambda each: len(words & statement_words(each)))
    kin = _OWN_PERSON.search(clause)
    if kin:
        return [each for each in (kin["person"], kin["name"]) if each]
    if _I.search(clause):
        return []
    found = _THIRD.match(clause)
    if found is None:
        return []
    if found["pronoun"]:
        return [""]
    return [
        word
        for word in re.findall(r"[\w-]+", found["name"] or found["possessed"])
        if word.lower() not in _NO_NAME and word != "s"
    ]


def _others_zh(quote: str, message: str) -> list[str]:
    """Return the word for the person of whom a Chinese quotation tells, maybe named in a clause before it."""
    if _I_ZH.search(quote):
        return []
    for clause in reversed(_clauses(quote, message)):
        found = _THIRD_ZH.match(clause)
        if found:
            return [found["who"]]
        if _I_ZH.search(clause):
            return []
    return []


def _names_one_more(quote: str, message: str, content: str) -> bool:
    """Return whether a statement is about one of the user's people, and neither message nor quotation tells of them."""
    found = (_OF_PERSON_ZH if has_han(content) else _OF_PERSON).match(content)
    if found is None or _OTHER.search(quote) or has_han(content) != has_han(message):
        return False
    who = found["who"]
    kin, told = (names_of_kind(text).get("kin", frozenset()) for text in (who, message))
    words = {stem(word) for word in re.findall(r"[\w-]+", message.lower())}
    named = who in message if has_han(who) else stem(who.lower()) in words
    return not (named or kin & told or (found["name"] or "\0").lower() in message.lower())


def _names(content: str, other: str) -> bool:
    """Return whether a statement names a person; of a pronoun, whether it names anybody beside the user."""
    if other in ("", "他", "她", "他们", "她们", "人家"):
        rest = content.removeprefix("用户")
        return (
            bool(re.search(_KIN_ZH.replace("|他们?|她们?|人家", ""), rest))
            if has_han(content)
            else any(
                stem(word.lower()) in PEOPLE or (word[0].isupper() and at > 1)
                for at, word in enumerate(re.findall(r"[\w-]+", content))
            )
        )
    if other.isascii():
        return stem(other.lower()) in {stem(word.lower()) for word in re.findall(r"[\w-]+", content)}
    return other in content or (len(other) > 1 and other[:1] in content and other[-1:] in content)


# Whose words a quotation of the user holds, and whether it and a statement deny what the other one claims.

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
        language = language_of(text)
        for clause in sentence.clauses:
            ends_in_question = sentence.question and clause is sentence.clauses[-1]
            if not (ends_in_question or language.asks(clause.plain)):
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


# Which sentence of the user an entry points at.
#
# A small model finds what is worth keeping, and words it wrongly: of the wrong person, or with a half that nobody
# said. So its entries only point. What is kept is the user's own sentence, if its meaning tells something lasting,
# and the model's wording only where it says the same.

LONGEST: Final = 300  # characters
LEAST_REPEATED: Final = 0.7
_DATE: Final = re.compile(r"\b(?:on |in |by )?\d{4}-\d\d(?:-\d\d)?\b|\d{4}年(?:\d{1,2}月)?(?:\d{1,2}[日号])?")
_OF_USER: Final = re.compile(r"(?:the )?user\b|用户", re.IGNORECASE)


def pointed_at(candidate: Candidate, turn: Turn) -> Candidate | None:
    """Return an entry with the sentence at which it points as its content; None where that tells nothing.

    Of a quotation of several sentences, the one counts that shares most words with the entry. A sentence that begins
    with "she" or "that" is told with the one before it.
    """
    said = sentences(own_words(turn.user[:LONGEST_READ]))
    quoted, told = statement_words(candidate.quote), statement_words(candidate.content)
    shared = [(len(quoted & words), len(told & words)) for words in (statement_words(each.text) for each in said)]
    if not any(of_quote for of_quote, _ in shared):
        return None
    number = max(range(len(said)), key=lambda each: (sum(shared[each]) if shared[each][0] else -1, -each))
    parts, only_as = [said[number]], may_be(said[number])
    if points_back(said[number].plain):
        if number and "statement" in may_be(said[number - 1]):
            parts.insert(0, said[number - 1])
        if only_as and (len(parts) > 1 or SPEAKER.search(said[number].plain)):
            only_as = frozenset({"statement"})
    text = _joined([text_of(part) for part in parts])
    wished = traits_of(candidate.category).directive and is_standing_wish(text)
    only_as &= {"statement", "wish"} if wished else {"statement"}
    if not only_as or len(text) > LONGEST:
        return None
    return replace(
        candidate,
        content=text,
        category="fact",
        only_as=only_as,
        entities=entities_of(text),
        expires=expiry_of(text, turn.at.date()),
        turn=turn.id,
    )


def repeats(content: str, sentence: str, day: date) -> bool:
    """Return whether an entry says what a sentence says, by all of the entry's words and most of the sentence's."""
    said, plain = Said([(sentence, day)]), _DATE.sub(" ", content)  # a model may tell "Friday" as a date
    return (
        has_han(content) == has_han(sentence)
        and said.has_dates_and_numbers(content, day)
        and set(relative_dates_of(plain, day)) <= set(relative_dates_of(sentence, day))
        and said.has_names(plain)
        and share_repeated(plain, sentence) == 1.0
        and share_repeated(without_dates(sentence, day), content) >= LEAST_REPEATED
        and not adds_must_or_wish(sentence, content)
        and (bool(SPEAKER.search(sentence)) or not _OF_USER.match(content))
    )


def _joined(texts: list[str]) -> str:
    return " ".join([*(f"{text}{'。' if has_han(text) else '.'}" for text in texts[:-1]), texts[-1]])

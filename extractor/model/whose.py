"""Whose a quotation is, and what it demands: what one's friend has is not the user's, and "must" is no wish."""

import re
from typing import Final

from extractor.language.script import has_han
from extractor.language.sentences import sentences
from extractor.language.vocabulary import names_of_kind, statement_words, stem
from extractor.merge.relations import PEOPLE

__all__ = ["adds_must_or_wish", "changes_who", "turns_must_and_wish"]

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

"""What may be a secret: words, numbers and quotations with a shape; and the patterns of what stands around them."""

import re
from typing import Final

from . import secret_words as said

__all__ = ["CLAUSE_END", "CODES", "HAN_TOO", "KEY", "MASK", "NO_HAN", "NO_HAN_HERE", "NO_PLAIN", "PATTERN", "PLAIN", "SORTS", "STATE", "STRICT_END", "USING", "VALUE", "WORDS_TOO", "fits", "shape_of", "span_of"]  # fmt: skip

_DIGIT_WORD: Final = r"(?:(?:double|triple) )?(?:zero|oh|one|two|three|four|five|six|seven|eight|nine)"
_BODY: Final = (
    r"(?:(?!\[/|[,;:)\]}]+(?:\s|$)|[&;,]\w{1,20}[=:])[^\s\"<>|\u2018-\u201f\u2190-\u21ff\u2e80-\u9fff\uff00-\uffef])"
)
VALUE: Final = re.compile(
    r"\\{0,3}[\"“`「『【《](?P<quoted>[^\"”`」』】》\n\\]{2,100})\\{0,3}[\"”`」』】》]|(?<![\w'])\\?'(?P<single>[^'\n\\]{3,100})\\?'(?!\w)"
    r"|(?<=>)(?:<!\[CDATA\[)?\s{0,20}(?P<element>[^<>\[\]]{2,200}?)(?=\s{0,20}(?:\]\]>\s{0,20})?</)|(?<=, )(?P<aside>(?=[^,\n]{0,40}\d)[^,\n]{4,40})(?=, (?:is|was|has|had|no longer|does|did|doesn|didn|stopped|expired|works?|needs|leaked)\b)"
    rf"|(?P<spoken>[\u4e00-\u9fff](?: [\u4e00-\u9fff]){{11,23}}|\b{_DIGIT_WORD}(?:[ -]{_DIGIT_WORD}){{2,}}\b|[零〇一二三四五六七八九幺]{{4,}})"
    r"|(?P<groups>[A-Z]{3,9} \d{3,8}(?: [A-Z\d]{2,6})?(?![\w.])|[左右]\d{1,3}(?:[，, ]?[左右]\d{1,3})+|[*#]?(?<![\w.])(?:[A-Z]{1,5}[ -])?[A-Z]{0,5}\d[A-Z\d]*(?:[ -]{1,2}(?:[A-Z]{1,3}\d{0,8}(?![a-z\w])|\d[A-Z\d]*(?![\w.:])))+[#*]?)"
    rf"|(?:\b(?:value|val|v)=)?(?P<token>(?<![A-Za-z\d_\u00c0-\u052f])[A-Za-z\d_#*$@%+!&^~?\u00c0-\u1fff\uac00-\ud7af]{_BODY}{{1,400}})"
    r"|(?P<mix>(?<=[：:=＝“「])(?!至少|最少|最多|[长長]度|必|[请請]|[见見])[\u4e00-\u9fff]{1,6}[A-Za-z\d!@#$%^&*_.-]{2,20}+(?![\u4e00-\u9fff]))"
    r"|(?P<han>(?<=[是为為係成叫：:=＝\s“「『【（(\"\'>→])[\u4e00-\u9fff]{2,16})",
)
MASK: Final = re.compile(r"\[masked: [a-z ]{2,40}\]")
KEY: Final = re.compile(r"\\{0,3}[\"']\s{0,4}:(?!:)")
"""What follows the next key of an object."""
_TRAILING: Final = ".,;:?)]}>\"'`，。；、\\*_"
CLAUSE_END: Final = re.compile(
    r"[\"'”’`」』】》）)\]*_ \t]{0,4}(?:$|[\n.,;!?，。；！？、<>|&}(（\[]|(?:but|and|or|now|on|for|so|to|until|since|if|when|if|as|please|not|in|at|which|forever|by|with|too|everywhere|then)\b|[—–-]|[\u4e00-\u9fff])"
)
WORDS_TOO: Final = re.compile(r"(?:[ ][\w'’-]{1,20}){1,11}(?=[.!?]?\s*(?:$|\n))")
PATTERN: Final = {
    name: re.compile(pattern)
    for name, pattern in {
        "bad": said.BAD, "unit": said.UNITS, "code": said.CODE, "copula": said.COPULAS, "place": said.PLACE, "to": said.TO, "change": said.CHANGE, "owner": said.OWNERS, "at": said.AT, "verb": said.VERBS, "compound": said.COMPOUND,
        "sign": r"[:：=＝→⇒➜➔➡⟶⟹↦»>|｜│\t\]](?:[ ]?[|>][-+]?(?=\s))?(?:[ ]?(?:!!?|&)\w{1,20}(?= ))?[\s\"'“‘「『【《`*_(\[{<（\\]*$",
        "dash": r"(?:[-–—~～/(（\[【{<《「『“\"'`]|<!\[cdata\[)[ \t*_\\]*$",
        "comma": r"[,，;；?？.。!！…、]\s*$",
        "aside": r"^[ \t]{0,2}[（(\[](?!masked)[^()（）\n\[\]]{1,40}[)）\]]",
        "free": r"(?:\b(?:wi-?fi|new|old) |--?[\w-]{0,30}|(?m:^)[ \t]*\w{1,20}_|(?:user(?:[ _-]?name)?|login|account|e-?mail|[账賬帐帳][号號户戶]|用[户戶]名)[ \t]*(?:[:=：]|is|是)?[ \t]*[\w.@+-]{1,64}[\s,;/|，、]{1,3}(?:and |with )?(?:the )?|[,;/|，；、:(]\s{0,2}(?:and |with )?(?:the )?|(?<![a-z])(?:use|with|using|enter|try) (?:the |this )?)$",
        "other code": said.OTHER_CODES,
        "english": r"[a-z][a-z'’]*", "han": r"[\u4e00-\u9fff]", "filler": said.HAN_FILLERS, "clause": r"[,，;；]", "stop": r"[.!?](?=\s)|[。！？]",
        "and": r"[\"'”’`」』】》）)\]]{0,3}[ ]?(?:(?:,|，|、|/|;|；)?[ ]?(?:or|and|then|或者?|和|与|以及|后来|not|but|不是)?(?:[ ](?:the|maybe|perhaps|second|other|then))*|[右左]|,? ?[是])[ ]?[\"'“`「『【《]?",
        "is my": r"[\"'”’`」』】》）)\]]{0,3}[ ,，.—–-]{0,4}(?:(?:as|(?:is|was|as|=|:|→|[-=]>|that['’]?s|that is|this is|for) (?:also |still |just )?(?:the|my|our|his|her|their|your|a|an)(?: [\w'’-]{1,20}){0,3}|[-–—] (?:my|our|the)) ?"
                 r"|(?:这|這|它)?[就才则則也都]?(?:是|为|為|=)[^\n，。；！？是]{0,16}|(?:来|來)?(?:当|當|做|作[为為]?|[设設][为為成])[^\n，。；！？]{0,10}|(?:[（(]|就是|这就?是|这个是)(?:短信|那个|开门)?)",
        "my": r"(?<![a-z])(?:my|our|is|as)(?![a-z])|[我咱这這是当當做作设設]",
        "question": r"(?:what|where|which|who|how|whose|什么|哪|谁|怎么|多少)[^.!?。！？]{0,30}$|[?？]",
    }.items()
}  # fmt: skip
_SHAPES: Final = tuple(
    (name, re.compile(pattern))
    for name, pattern in (
        ("long", r"(?=.*\d)(?=.*[a-z])(?=.*[A-Z])[A-Za-z\d+/=]{20,}"),
        ("odd", r"(?:19|20)\d\d[-/.年]\d{1,2}(?:[-/.月]\d{1,2}日?)?|\d{1,2}[./]\d{1,2}[./]\d{2,4}|\d{1,2}:\d\d(?::\d\d)?|v?\d+(?:\.\d+)+(?:[-+]\w+)?|[\d,.]+[%€$£]|[$€£]\d[\d.,]*|\d{1,3}(?:,\d{3})+|0x[\da-fA-F]{1,8}|\+\d[\d ]+|v\d+|(?:0?[1-9]|1[0-2])/\d\d"),
        ("path", r"\w+(?::\w+){2,}|[\w.+-]+@[\w-]+\.\w[\w.]*|(?:\w+:)?//\S+|(?:~|\.{0,2})/\S*|(?:[a-z][\w-]*\.)+[a-z]{2,}\w*(?:[/:]\S*)?|[\w-]+(?:/[\w.-]+)+|[\w.-]+\.(?:py|js|json|md|txt|iso|tar|gz|zip|pdf|xz|conf|db|pub)"),
        ("name", r"(?i)(?:sha|md|rsa|aes|des|utf|base|argon|ipv?|http|ssl|tls|oauth|mp|ed|es|python|py|java|vue|mysql(?=\d)|iso|rfc|pkcs|u?int|float|bcrypt|wpa|wep|web|log|win|rtx|usb|pbkdf)[-_]?\d[\w.-]{0,8}|1password|\d?2fa|[2345]g|\d{1,4}-[a-z]+|\d+(?:st|nd|rd|th|km|kg|ml|mm|cm|gb|mb|kb|h|k|m|x|pm|am|ms|s|mbit)|\d+x\d+|[A-Za-z]{1,2}\d{1,2}"),
        ("doc", r"[A-Z]{1,2}\d{6}\(\w\)?"), ("ident", r"[a-z]+(?:_[a-z]+)+|[A-Z]+(?:_[A-Z]+)+|\w+\(.*|[a-z]+(?:[A-Z][a-z]+)+|<\w+>|\{\w+\}|\w*[\[(]\w*[\])]\W*|[A-Za-z]{1,14}=(?:[^=].*)?|#{1,6}|\W+"),
        ("year", r"(?:19|20)\d\d"), ("d3", r"\d{3}"), ("d4", r"\d{4}"), ("d8", r"\d{5,8}"), ("d", r"\d{9,}"), ("tiny", r"\d{1,2}"),
        ("hash", r"[#*]\d{3,8}|\d{3,8}[#*]|[A-Z]\d{3,6}|\d{3,6}[A-Z]"),
        ("doc", r"[A-Z]{1,3}\d{6,9}[A-Z]?|[A-Z]\d{2}[A-Z\d]{5,7}|[A-Z]{5}\d{4}[A-Z]|\d{17}[\dXx]|[A-Z]\d{6}\(\w\)|\d{3}-\d{2}-\d{4}"),
        ("plate", r"[A-Z]{2,6}-?\d{1,4}[A-Z]?"),
        ("hex", r"(?:0x)?[\da-fA-F-]{16,}"), ("short", r"[\da-f]{7,12}"), ("groups", r"[A-Z\d]{2,8}(?:[ -][A-Z\d]{2,8})+"), ("parts", r"(?:[左右]\d+\D*)+|[A-Z]?\d{1,8}[A-Z]?(?:[ -]{1,2}[A-Z]?\d{1,8}[A-Z]?)+|[\d ()/-]+"),
        ("long", r"(?=.*\d)(?=.*[A-Za-z])[\w+/=~.:-]{20,}"), ("mixed", r"(?=.*\d)(?=.*[^\W\d_])\w+"),
        ("strong", r"(?=.*\d)(?=.*[^\W\d_])(?=.*[^\w.:/-]).+"), ("signed", r"(?=.*\d)(?=.*[^\W\d_]).+"), ("signs", r"[^\W\d_].*[^\w.'’/-].*|.*[-_~.].*|\d.*"),
        ("inner", r"[a-z]+[A-Z]\w*|[A-Z]{1,2}[a-z]+[A-Z]\w*"), ("capital", r"[A-ZÀ-Þ][\w'’]*"), ("word", r"[^\W\d_][\w'’]*"),
    )
)  # fmt: skip
SORTS: Final = {"word": "word", "capital": "word", "inner": "word", "han": "han", "d3": "digits", "d4": "digits", "d8": "digits", "d": "digits", "year": "digits", "tiny": "digits",
                 "parts": "digits", "spoken": "digits", "phrase": "phrase", "quoted": "phrase", "odd": "none", "path": "none", "name": "none", "ident": "none"}  # fmt: skip
NO_HAN: Final = re.compile(
    r"[什甚多哪誰谁啥几幾怎不没沒错錯对對由用以需必非空否旧舊新正可应應要被我你妳他她它一这這那请請输輸填见見很太最加妈媽爸忘未已只在有跟和和是]|.*(?:的|了|过|位|字符|不|没|才|存|箱|里|上|下|前|给|就|后|还是|吗|嗎|么|麼|呢|安全|简单|重要|问|问题|记|日|错误|过期|一样|设|改)"
)
PLAIN: Final = frozenset(("password", "passphrase", "phrase", "answer", "secret", "token", "key"))
"""Names of what may be a plain word."""
HAN_TOO: Final = frozenset(("password", "passphrase", "answer", "secret"))
NO_PLAIN: Final = frozenset(("card", "doc", "access", "bare", "cookie"))
_FEWEST: Final = {"card": 9, "account": 6, "doc": 4}
"""Digits that a number of this kind has at least."""
_FEW_DIGITS: Final = frozenset(("tiny", "d3", "d4", "d8", "year"))
_STRONG: Final = frozenset(("strong", "signed", "long", "hex", "hash", "parts"))
NO_HAN_HERE: Final = re.compile(r"[什甚多哪誰谁啥几幾怎不没沒由需必]|.*[的了吗嗎过]$|随机|生成")
USING: Final = ("use the ", "with the ", "use ", "with ", "using ", "using the ", "enter the ")
STRICT_END: Final = re.compile(r"[\"'”)\]*_ \t]{0,4}(?:$|[\n.,;!?<|&}])")
CODES: Final = frozenset(("bare", "pin", "code", "otp"))
STATE: Final = re.compile(r"[a-z]{1,9}(?:ed|ing|able|ible|ful|less|ous|ive)")


def span_of(match: re.Match[str]) -> tuple[int, int]:
    """Return the span of a candidate without quotes and the end of the sentence."""
    group = str(match.lastgroup)
    start, end = match.span(group)
    if group != "token":
        return start, end
    while end > start and match.string[end - 1] in _TRAILING:
        if match.string[end - 1] == ")" and "(" in match.string[start:end]:
            break
        end -= 1
    return start, end


def shape_of(match: re.Match[str], value: str) -> str:
    """Return the name of a candidate's shape."""
    if match.lastgroup in ("spoken", "han"):
        return str(match.lastgroup)
    if match.lastgroup == "mix":
        return "mixed"
    if match.lastgroup in ("quoted", "single", "element", "aside") and " " in value.strip():
        return "quoted"
    return next(
        (name for name, pattern in _SHAPES if pattern.fullmatch(value)), "signs" if value.isprintable() else "word"
    )


def fits(group: str, shape: str, value: str, link: str) -> bool:
    """Whether a value of this shape may be what the name stands for."""
    if group in _FEWEST:
        return sum(map(str.isdigit, value)) >= _FEWEST[group]
    if group == "cookie":
        return len(value) > 7 and not value.isalpha()  # noqa: PLR2004
    if (
        (group == "bare" and shape not in ("d4", "d8", "hash", "parts", "groups"))
        or (group == "access" and shape not in _STRONG and not (shape == "mixed" and len(value) > 7))  # noqa: PLR2004
        or (group in ("key", "token", "secret") and shape in _FEW_DIGITS and link not in ("sign", "attached"))
        or (shape == "signs" and link == "words")
        or (group == "phrase" and SORTS.get(shape) == "digits" and shape != "spoken")
    ):
        return False
    links = {"name": ("sign",), "path": ("sign", "is my"), "ident": ("sign", "copula", "attached", "beside")}.get(
        shape, ("sign", "copula", "to", "attached", "beside", "and", "is my")
    )
    return SORTS.get(shape) != "none" or (group != "access" and link in links)

"""What may be a secret by its form: words, numbers and quotations with a shape, and numbers that a check proves."""

import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Final

from . import secret_words as said
from .secret_words import OWNERS

__all__ = [
    "CLAUSE_END",
    "CODES",
    "HAN_TOO",
    "KEY",
    "MASK",
    "NO_HAN",
    "NO_HAN_HERE",
    "NO_PLAIN",
    "PATTERN",
    "PLAIN",
    "SORTS",
    "STATE",
    "STRICT_END",
    "USING",
    "VALUE",
    "WORDS_TOO",
    "checked",
    "fits",
    "shape_of",
    "span_of",
]


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


# Secrets that a check proves: card, identity and bank numbers, and the words of a wallet's mnemonic.

# People separate the groups of a number by blanks, dots, or dashes of any length, also two of them.
_PARTED: Final = r"[ \t.\-\u2010-\u2015_/·•*,|\u00a0\u2000-\u200a\u202f\u3000]{0,4}"
_CARD: Final = re.compile(
    rf"(?!2[0189])[2-6](?<!\d[2-6])(?:\d{{3}}{_PARTED}\d{{4}}{_PARTED}\d{{4}}{_PARTED}\d{{4}}(?:{_PARTED}\d{{1,3}})?"
    rf"|\d{{3}}{_PARTED}\d{{6}}{_PARTED}\d{{4,5}}"
    rf"|\d{{5}}{_PARTED}\d{{10}}|(?<![2])\d{{3}}(?:\n\d{{4}}){{3}}|\d{{12}})(?!\d)"
)
# Next to its name a number may have separators anywhere, also line breaks.
_NAMED_CARD: Final = re.compile(
    r"(?i)(?:\b(?:card|visa|mastercard|amex|unionpay|maestro|jcb)|卡|支付|付款)[^\d]{0,40}"
    r"(?<!\d)(?P<value>[2-6](?:[\s.\-_/·•*,|\u2010-\u2015]{0,4}\d){12,18})(?!\d)"
)
_IDENTITY: Final = re.compile(
    r"[1-9](?<![\dA-Za-z]\d)\d{5}[ \t.\-\u00a0\u3000]{0,3}(?:18|19|20)\d\d[ .-]?(?:0[1-9]|1[0-2])[ .-]?"
    r"(?:0[1-9]|[12]\d|3[01])[ \t.\-\u00a0\u3000]{0,3}\d{3}[\dXx](?![\dA-Za-z])"
)
_IBAN: Final = re.compile(r"(?<![A-Za-z\d])[A-Z]{2}\d{2}(?:[ -]?[A-Z\d]{4}){2,7}(?:[ -]?[A-Z\d]{1,3})?(?![A-Za-z\d])")
_DIGITS: Final = re.compile(r"\d(?:[^\da-zA-Z]{0,4}\d){11}")
_WORDS: Final = re.compile(
    r"(?i)(?<![a-z])[a-z]{3,8}(?:[\s,，、.]{1,4}(?:\d{1,2}[.):]?\s{0,2})?[a-z]{3,8}(?![a-z])){11,}+"
)
_WORD: Final = re.compile(r"[A-Za-z]+")
_FEWEST_WORDS: Final = 12
_FEWEST_DIGITS: Final = 13
_IDENTITY_WEIGHTS: Final = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
_OWNED: Final = re.compile(OWNERS)
_BEFORE: Final = 24


def checked(text: str) -> Iterator[list[tuple[int, int, str]]]:
    """Yield the spans of each kind; within one kind they are ascending and do not overlap."""
    yield list(_mnemonics(text))
    yield list(_valid(text, _IBAN, _iban_in, "account number"))
    if _DIGITS.search(text):
        yield list(_valid(text, _IDENTITY, _identity_in, "identity number"))
        yield list(_valid(text, _NAMED_CARD, _card_in, "card number", owned=False))
        yield list(_valid(text, _CARD, _card_in, "card number"))


def _valid(
    text: str, pattern: re.Pattern[str], length_of: Callable[[str], int], kind: str, *, owned: bool = True
) -> Iterator[tuple[int, int, str]]:
    """Yield the matches that are valid numbers, and that no other noun owns ("order number …").

    length_of: returns how many characters of a match are the number, 0 for none.
    """
    for match in pattern.finditer(text):
        start = match.start(pattern.groups)
        length = length_of(match[pattern.groups])
        if length and not (owned and _OWNED.search(text[max(0, start - _BEFORE) : start].lower())):
            yield start, start + length, f"[masked: {kind}]"


def _card_in(number: str) -> int:
    """Return the length of the card number at the start; its security code or expiry month may follow."""
    ends = [at + 1 for at, character in enumerate(number) if character.isdecimal()]
    for count in range(len(ends), _FEWEST_DIGITS - 1, -1):
        if (count == len(ends) or ends[count] - ends[count - 1] > 1) and passes_luhn(number[: ends[count - 1]]):
            return ends[count - 1]
    return 0


def passes_luhn(number: str) -> bool:
    """ISO/IEC 7812-1 annex B."""
    digits = [int(character) for character in number if character.isdecimal()]
    doubled = (sum(divmod(digit * 2, 10)) for digit in digits[-2::-2])
    return len(set(digits)) > 1 and (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def _identity_in(text: str) -> int:
    """GB 11643-1999: ISO 7064 MOD 11-2 over the first 17 digits."""
    number = "".join(character for character in text if character.isalnum())
    total = sum(int(digit) * weight for digit, weight in zip(number, _IDENTITY_WEIGHTS, strict=False))
    return len(text) if "10X98765432"[total % 11] == number[-1].upper() else 0


def _iban_in(text: str) -> int:
    """ISO 13616-1: MOD 97-10 over the number with its first four characters moved to the end."""
    for length in range(len(text), 14, -1):
        if text[length - 1].isalnum() and (length == len(text) or not text[length].isalnum()):
            number = "".join(character for character in text[:length] if character.isalnum())
            if int("".join(str(int(character, 36)) for character in number[4:] + number[:4])) % 97 == 1:
                return length
    return 0


@cache
def _mnemonic_words() -> frozenset[str]:
    lines = Path(__file__).with_name("bip39_english.txt").read_text("ascii").splitlines()
    return frozenset(word for line in lines if not line.startswith("#") for word in line.split())


def _mnemonics(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the spans of twelve or more words of BIP-39's English list in a row."""
    for match in _WORDS.finditer(text):
        run: list[tuple[int, int]] = []
        for start, end in [*(word.span() for word in _WORD.finditer(text, *match.span())), (0, 0)]:
            if text[start:end].lower() in _mnemonic_words():
                run.append((start, end))
                continue
            if len(run) >= _FEWEST_WORDS:
                yield run[0][0], run[-1][1], "[masked: recovery phrase]"
            run = []

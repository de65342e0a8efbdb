"""Masks passwords, codes and keys that are named in a sentence, in the languages that people chat in."""

import re
from collections.abc import Iterator

from .passwords_foreign import FOREIGN_FORMS
from .passwords_said import SAID_FORMS
from .passwords_tables import in_columns
from .passwords_written import WRITTEN_FORMS
from .passwords_zh import CHINESE_FORMS, CHINESE_VERBS, ENGLISH_NAMES
from .traced import Traced

__all__ = ["mask_named"]

SHORTEST_SECRET, LONGEST_SECRET = 4, 64  # characters of a word that its position makes a password

# Words after "password is" that are no password: a state, a question, a description.
_NO_VALUE = (
    r"(?![\[<{$%]|!vault\b|[?-]missing|[a-z_]{1,40}\.(?:password|passwd|pwd|token|secret)\b|(?:str|int|bytes)\)|''[^']|\"\"[^\"]|(?:a|an|the|see|that|this|my|your|our|his|her|their|its|it|in|on|at|of|for|from|to|by|with|as"
    r"|and|or|if|when|so|but"
    r"|not|no|none|null|nil|true|false|undefined|never|always|also|just|still|now|too|very|only|being|been|be"
    r"|what|which|where|who|why|how"
    r"|there|here|going|about|same|different|wrong|right|correct|incorrect|invalid|valid|weak|strong|long"
    r"|short|empty|blank"
    r"|missing|required|needed|optional|secret|safe|secure|unsafe|unknown|public|private|ok|okay|good|bad|old"
    r"|new|all|one"
    r"|hard|easy|case|always|based|because|supposed|must|should|can|cannot|will|has|have|does|do|is|are|was|were"
    r"|set|given|kept|known|gone|found|sent|lost|shown|stolen|broken|hidden|forgotten|written|taken|left"
    r"|return|raise|yield|str|string|int|bool|bytes|text|bearer|minimum|maximum|older|newer|longer|shorter|ask|you|we|they"
    r"|whatever|whichever|none|password|passwd|pwd|token"
    r"|[a-z]{3,}(?:ed|ing))\b(?![-_@#$%^&*+=!])|n?(?:var)?char\()"
)
# Code that reads a secret contains none: `os.environ["X"]`, `settings.api_key`, `get_secret("x")`.
_NO_CODE = (
    r"(?!(?:os|env|process|settings|config|cfg|self|args|secrets|request|options|params)\.[a-z_]"
    r"|(?:[a-z_]{1,40}\.){0,4}(?:[a-z_]{1,40}|b64decode)(?:\([^()\n]{0,80}\)|\[[\"']))"
)
# Where only the position suggests a secret: letters and digits in one word, but no "12-character".
_MIXED = (
    r"(?!\[masked|\d{1,4}-[a-z]+\b)(?P<value>(?=[!-/:-@\[-`{-~a-z]{0,60}\d)"
    r"(?=[!-/:-@\[-`{-~\d]{0,60}[a-z])[!-~]{5,64})"
)
_NAMES = (
    r"pass(?:word|wd|code|phrase)s?|pwd|(?:api|access|secret|private|encryption|signing|account"
    r"|auth)[ _-]?keys?(?:[ _-]id)?"
    r"|(?:access|auth|api|bot|refresh|session|security|bearer)[ _-]?tokens?|(?:client|app|api|webhook)[ _-]?secrets?"
    r"|secret[ _-]?access[ _-]?key|token|credentials?|pin(?:[ _-]?(?:code|number))?|otp|cvv|(?:verification"
    r"|security)[ _-]?code"
)
_VALUE = (
    r"(?:\"(?:[^\"\\\n]|\\.){1,200}\"|'(?:[^'\\\n]|\\.|''){1,200}'|`[^`\n]{1,200}`|“[^”\n]{1,200}”|‘[^’\n]{1,200}’"
    r"|「[^」\n]{1,200}」|『[^』\n]{1,200}』|[!-~\u00c0-\u052f]{3,400})"
)
# A name starts at a word, or within a compound word: "wifipassword", "dbPassword".
_BEGIN = r"(?:(?<![a-z])|(?=pass(?:word|wd|phrase))|(?-i:(?<=[a-z\d])(?=[A-Z])))"
_SUFFIX = (
    r"(?:_(?!\w{0,20}(?:timeout|length|len|expir|ttl|max|min|count|age|days|size|policy|attempt|limit|field"
    r"|column))\w{1,20})?"
)
_FOR_WHAT = (
    r"(?:[ \t]{0,2}[（(\[](?!masked)[^()（）\n\[\]]{1,40}[)）\]])?"
    r"(?:[ \t]{1,4}(?:for|of|to|on|at)[ \t][^\n,.;:=!?\[，。；：！？→]{1,40}?)?"
)
_TYPED = r":[ \t]{0,4}(?:Optional\[)?&?(?:str|string|SecretStr|bytes|text)\]?(?:[ \t]?\|[ \t]?None)?[ \t]{0,4}=(?!=)"
_SIGN = rf"[ \t]{{0,8}}(?:{_TYPED}|=>|--?>|~>|:=|={{1,3}}|[:：＝→⇒➜➔➡⟶⟹↦»])"
_VERB = (
    r"[ \t]{1,4}(?:is|are|was|will be|should be|set to|changed to|equals)(?=[ \t:：\n])[ \t]{0,4}"
    r"(?:(?:now|still|currently)\b[ \t]{0,4})?(?:[:：])?"
)
_ENGLISH = re.compile(
    rf"(?i)(?=[pasebrcto]){_BEGIN}(?P<lead>(?P<name>{_NAMES}){_SUFFIX}[\"'*_`]{{0,3}}{_FOR_WHAT}"
    rf"(?:{_SIGN}|{_VERB})\*{{0,2}}[ \t]{{0,8}}(?:!!?\w{{1,20}}[ \t]{{1,4}}|&\w{{1,20}}[ \t]{{1,4}})?)"
    rf"{_NO_VALUE}{_NO_CODE}(?P<value>{_VALUE})",
)
# "password is:" with the value alone on the next line; YAML blocks and fenced code too.
_ENGLISH_BELOW = re.compile(
    rf"(?i)(?=[pasebrcto]){_BEGIN}(?P<lead>(?P<name>{_NAMES}){_SUFFIX}[\"'*_`]{{0,3}}{_FOR_WHAT}"
    rf"(?:{_SIGN}|{_VERB})[ \t*_]{{0,4}}(?:[|>][-+]?)?[ \t]{{0,4}}\n{{1,3}}[ \t]{{0,12}}(?:```\w{{0,10}}\n)?)"
    rf"(?:[-*•>][ \t]{{1,4}})?{_NO_VALUE}{_NO_CODE}(?P<value>{_VALUE})(?<!:)(?=[ \t]{{0,4}}(?:\n|\Z))",
)
# "my old password, hunter22, is …", "the password (hunter22)": set apart from the sentence.
_ENGLISH_ASIDE = re.compile(
    r"(?i)(?<![a-z])(?P<lead>(?P<name>password|passwd|passcode|passphrase|pwd|pin|api key)[ \t]{0,2}"
    r"[,(（–—-][ \t]{0,2})(?!\[masked|\d{1,4}-[a-z]+\b)(?:"
    r"(?=[^\s,()（）–—]{0,60}\d)(?=[^\s,()（）–—]{0,60}[a-z!@#$%^&*])|(?=\d{4,})|(?=[\"“])|(?!\w{2,20}ly\b|(?:however"
    r"|though"
    r"|too|again|also|indeed|alas|instead|which|that|who|like|and|or|but|for|please|thanks|sorry|of|by|if|when|as"
    r"|not|is|at)\b)"
    r"(?=[^\s,()（）–—]{4,64},[ \t](?:is|was|has|had|no longer|does|did|doesn|didn|stopped|expired|works|worked|needs"
    r"|leaked)\b))"
    r"(?P<value>\"[^\"\n]{1,100}\"|“[^”\n]{1,100}”|[^\s,()（）–—]{4,64})(?=[ \t]{0,2}[,)）–—]|[.!?]?[ \t]*(?:\n|\Z))"
)
# "password hunter2": without a verb, so only what looks like a secret (letters with digits or signs).
_ENGLISH_BARE = re.compile(
    r"(?i)(?<![a-z])(?P<lead>(?:password|passwd|passcode|pwd|api key|pin)(?:[ \t.…|]{1,5}"
    r"|[ \t]{0,4}\n{1,2}(?:[-=_~]{2,60}\n)?))(?!\[masked|n?(?:var)?char\b)"
    r"(?P<value>(?=[a-z!-/:-@\[-`{-~]{0,60}\d)(?=[\d!-/:-@\[-`{-~]{0,60}[a-z])[!-~]{6,64}"
    r"|[\"“](?=[^\"“”\n]{0,60}\d)[^\"“”\n]{4,64}[\"”])",
)
# "pw: q9Zz…", "secret wJalr…": ambiguous names, so only before what looks like a key.
_ENGLISH_SHORT = re.compile(
    r"(?i)(?<![a-z])(?P<lead>(?:(?:pw|psw|pword|p/w)(?:[ \t]{0,4}[:=→]|[ \t]{1,4}is\b)?|pass(?:[ \t]{0,4}[:=→]"
    r"|[ \t]{1,4}is\b))"
    r"[ \t]{0,4}(?<=[ \t:=→]))"
    r"(?!\[masked)(?P<value>(?=[^\s\d]{0,60}\d)(?=[^\sa-z]{0,60}[a-z])[!-~]{6,64})"
)
_KEY_LIKE = re.compile(
    r"(?i)(?<![a-z])(?P<lead>(?P<name>secret|token)(?:[ \t]{0,4}[:=]|[ \t]{1,4}is\b)?[ \t]{0,4}(?<=[ \t:=]))"
    r"(?P<value>(?=[a-z+/=_]{0,60}\d)(?=[\d+/=_]{0,60}[a-z])[\w+/=]{16,200})"
)
# A passphrase is all of its words: "my passphrase is purple monkey dishwasher".
_PASSPHRASE = re.compile(
    r"(?i)(?<![a-z])(?P<lead>pass ?phrase(?:[ \t]{1,4}(?:is|was)|[ \t]{0,4}[:=])[ \t]{1,4})(?!\[masked)"
    r"(?!(?:too|not|very|wrong|so|in|on|the same|required|missing|long|short|weak|strong)\b)"
    r"(?P<value>[\w'-]{2,20}(?:[ \t][\w'-]{1,20}){2,9})(?=[\s.,;!?]|$)"
)
_ENGLISH_AFTER = re.compile(
    r"(?i)(?<=\s)(?:(?:is|was|as|=|:|→|[-=]>) (?:my|our|the|his|her|their|your)|for (?:my|our)) (?:[\w'-]{1,20} ){0,3}"
    r"(?:password|passcode|passphrase|pin(?: code)?|api key|(?:security|verification|login|access) code)\b"
    r"(?![ -](?:manager|hash\w*|policy|store|generator|vault|protection|hint|field|algorithm|tool|app|form)\b)"
    r"(?P<whole>(?=[ \t]*(?:[.,;!)]|\n|\Z|(?:now|for|on|to|at|and|there|here)\b)))?"
    r"|(?<=\s)(?:that['’]?s|that is|this is|[–—-]) (?:my|our|the) (?:[\w'-]{1,20} ){0,3}(?:password|passcode|pin"
    r"|api key)\b"
)
_POINTS_ONLY = frozenset("this that these those here there what which where when below above mine yours none".split())
# "password's hunter22", "password for github - hunter22", "set the password to hunter22".
_ENGLISH_JOINED = re.compile(
    r"(?i)(?<![a-z])(?P<lead>(?P<name>pass(?:word|wd|code|phrase)|pwd|api key)(?:['’]s[ \t]{1,4}|[ \t]{1,4}(?:from|to"
    r"|used to be|has been|had been|would be|might be|may be|could be|must be|remains|stays|reads|became|becomes"
    r"|being)[ \t]{1,4}"
    r"|(?:[ \t]{1,4}(?:for|of|to|on|at)[ \t][^\n,.;:=!?\[，。；：！？]{1,40}?)?[ \t]{1,4}[-–—][ \t]{1,4}))" + _MIXED,
)
# `secret=…` is always an assignment; "secret: …" may be prose.
_ASSIGNED = re.compile(
    r"(?i)(?<![a-z])(?P<lead>(?P<name>secret)[\"']?"
    r"(?:=[\"']?|[ \t]{0,4}(?:=|:=|:|：)[ \t]{0,4}(?:[\"']|(?=[^\s\d]{0,60}\d))))"
    rf"{_NO_VALUE}{_NO_CODE}(?P<value>[^\s\"']{{4,200}})"
)
_CODE = re.compile(
    r"(?i)(?<![a-z])(?P<lead>(?P<name>pin|passcode|otp|cvv2?|cvc"
    r"|(?:security|verification|one[- ]time|2fa|mfa|login|unlock|door|gate|alarm|safe|lock|vault"
    r"|garage|entry|access|pass|backup|recovery|reset|activation|auth|building|locker) code)(?:[ -]?(?:code|number))?"
    r"(?:[ \t]{1,4}(?:for|of|to|on|at)[ \t][^\n,.;:=!?\d\[，。；：！？]{1,40}?)?"
    r"(?:[ \t]{0,4}[-#:：=–—→是为為]|[ \t]{1,4}(?:is|was))?[ \t]{0,4}(?<![a-z\d_]))"
    r"(?P<value>(?<=[vV][vV][ 2:=])\d{3,4}|(?<=[cC][vV][cC][ :=])\d{3,4}|(?<=code )\d{3,10}|\d{4,10})(?!\w|[.,-]\d)"
)
_SEED_PHRASE = re.compile(
    r"(?i)(?P<lead>(?:(?:seed|recovery|mnemonic|secret|backup)[ \t](?:phrase|words)|mnemonic|助记词)"
    r"(?:[ \t]{1,4}(?:is|are)|[是为])?[ \t]{0,4}(?:[:：=–—-]"
    r"|(?<=[是为s][ \t])|(?<=are[ \t])|(?<=[是为\n]))\s{0,4})(?!\[masked)"
    r"(?P<value>(?:\d{1,2}[.)]?[ \t]{0,2})?[a-z]{3,8}(?:[\s,，]{1,4}(?:\d{1,2}[.)]?[ \t]{0,2})?[a-z]{3,8}\b){11,23})"
)
_DIGIT, _LETTER = re.compile(r"\d"), re.compile(r"[^\W\d_]")
_LONGEST_MASK = 40
_QUOTES = "\"'`“”‘’「」『』【】《》（）"
_OPENING_QUOTE = re.compile(rf"\\*[{_QUOTES}]")
_TRAILING = ".,;:!?)]}>\"'`，。；\\"


_ENGLISH_NEEDLES = (
    "pass",
    "pwd",
    "pw",
    "key",
    "token",
    "secret",
    "pin",
    "otp",
    "cvv",
    "credential",
    "code",
    "phrase",
    "words",
)
_SEED_NEEDLES = (
    "seed phrase",
    "seed words",
    "recovery phrase",
    "recovery words",
    "mnemonic",
    "secret phrase",
    "backup phrase",
    "backup words",
    "secret words",
    "助记词",
)
_AFTER_NEEDLES = (
    " that's my",
    " that’s my",
    "– my ",
    "— my ",
    " - my ",
    " - the ",
    *(" is ", " was ", " as ", " for my ", " for our ", " = ", " : ", "> my ", "→ my "),
)
# The order matters: special forms before general ones.
# "my email password, Blue Horse 7, is old": of several words, one with a digit.
_ENGLISH_ASIDE_WORDS = re.compile(
    r"(?i)(?<![a-z])(?:my|our)[ \t](?:[\w'-]{1,20}[ \t]){0,4}(?P<name>password|passcode|passphrase|pin),[ \t]"
    r"(?!\[masked|(?:which|that|who|and|or|but|like)\b)(?=[^,\n]{0,40}\d)(?P<value>[^,\n]{4,40})"
    r"(?=,[ \t](?:is|was|has|had|no longer|does|did|doesn|didn|stopped|expired|works|worked|needs|leaked)\b)"
)
# A password may be written in Han: "my password is 春天来了".
_ENGLISH_HAN = re.compile(
    r"(?i)(?<![a-z])(?P<lead>(?P<name>passw(?:or)?d|passcode|pwd|pin)(?:[ \t]{1,4}is[ \t]{1,4}"
    r"|[ \t]{0,4}[:：=＝][ \t]{0,4}))"
    r"(?![什甚多哪誰谁啥几幾怎不没沒错錯對对由用以需必非空否旧舊新正可应應要被请請输輸填见見忘未已])(?P<value>[\u4e00-\u9fff]{2,20})"
)
_FORMS: tuple[tuple[tuple[str, ...], re.Pattern[str]], ...] = (
    (_SEED_NEEDLES, _SEED_PHRASE),
    (("phrase",), _PASSPHRASE),
    (_ENGLISH_NEEDLES, _ENGLISH_BELOW),
    (_ENGLISH_NEEDLES, _ENGLISH),
    (("pass", "pwd", "pin", "api key"), _ENGLISH_ASIDE),
    (("pass", "pin"), _ENGLISH_ASIDE_WORDS),
    (("pass", "pwd", "pin"), _ENGLISH_HAN),
    (("pw", "pass"), _ENGLISH_SHORT),
    (("secret", "token"), _KEY_LIKE),
    (("pass", "pwd", "pin", "api key"), _ENGLISH_BARE),
    (("secret",), _ASSIGNED),
    (("pass", "pwd", "api key"), _ENGLISH_JOINED),
    (("pin", "passcode", "otp", "cv", " code", "-code"), _CODE),
)


def mask_named(told: Traced, lower: str) -> None:
    """Mask every value next to a secret's name. lower: the text in lower case."""
    told.cut(list(in_columns(told.text)))
    stand: dict[tuple[str, ...], bool] = {}
    for needles, pattern in (*WRITTEN_FORMS, *SAID_FORMS, *_FORMS, *FOREIGN_FORMS, *CHINESE_FORMS):
        if needles not in stand:
            stand[needles] = any(map(lower.__contains__, needles))
            if needles is ENGLISH_NAMES:  # "token 是 …"
                stand[needles] = stand[needles] and any(map(lower.__contains__, CHINESE_VERBS))
        if stand[needles]:
            told.cut([span for match in pattern.finditer(told.text) if (span := _span(match))])
    if stand[_ENGLISH_NEEDLES] and any(map(lower.__contains__, _AFTER_NEEDLES)):
        told.cut(list(_before(told.text)))


def _span(match: re.Match[str]) -> tuple[int, int, str] | None:
    """Return the span of a match's value, without quotes and the end of the sentence; None without a value."""
    value, (start, end) = match["value"], match.span("value")
    opened = match.string.rfind("[masked: ", max(0, start - _LONGEST_MASK), start)
    if value.lstrip(_QUOTES + "\\").startswith("[masked") or (opened >= 0 and "]" not in match.string[opened:start]):
        return None
    if quote := _OPENING_QUOTE.match(value):  # also escaped by JSON
        start += quote.end()
        value = value[quote.end() :]
        end -= len(value) - len(value.rstrip(_QUOTES + "\\")) if value[-1:] in _QUOTES else 0
    else:
        end -= len(value) - len(value.rstrip(_TRAILING))
    kind = _kind_of(match.groupdict().get("name") or "password")
    return (start, end, f"[masked: {kind}]") if start < end else None


def _before(text: str) -> Iterator[tuple[int, int, str]]:
    """Return the span of the word before the phrase, as in "hunter2 is my password"."""
    position = 0
    for match in _ENGLISH_AFTER.finditer(text):
        before = text[position : match.start()].rstrip()
        word = before.rsplit(None, 1)[-1] if before else ""
        position = match.start()
        end = match.start() - (len(text[: match.start()]) - len(text[: match.start()].rstrip()))
        if not SHORTEST_SECRET <= len(word) <= LONGEST_SECRET or word.endswith("]"):
            continue
        if match[0][0] in "tT–—-" and not (_DIGIT.search(word) and _LETTER.search(word)):  # "that's my password"
            continue
        if word.rstrip(_TRAILING).isalpha() and not (match["whole"] is not None and word.lower() not in _POINTS_ONLY):
            continue
        yield end - len(word), end, "[masked: password]"


def _kind_of(name: str) -> str:
    name = name.lower()
    if "token" in name or name == "令牌":
        return "token"
    if "key" in name or name[-1] in "钥鑰":
        return "key"
    if "secret" in name:
        return "secret"
    return "password"

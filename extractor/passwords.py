"""Passwords, codes and keys told in words: what stands beside their name, in the languages people chat in."""

import re
from collections import Counter

__all__ = ["mask_named"]

SHORTEST_SECRET, LONGEST_SECRET = 4, 64  # characters of a word that may be a password by where it stands

# What follows "password is" and is no password: a state, a question, a description.
_NO_VALUE = (
    r"(?![\[<{$%]|(?:a|an|the|see|that|this|my|your|our|his|her|their|its|it|in|on|at|of|for|from|to|by|with|as"
    r"|and|or|if|when|so|but"
    r"|not|no|none|null|nil|true|false|undefined|never|always|also|just|still|now|too|very|only|being|been|be"
    r"|what|which|where|who|why|how"
    r"|there|here|going|about|same|different|wrong|right|correct|incorrect|invalid|valid|weak|strong|long"
    r"|short|empty|blank"
    r"|missing|required|needed|optional|secret|safe|secure|unsafe|unknown|public|private|ok|okay|good|bad|old"
    r"|new|all|one"
    r"|hard|easy|case|always|based|because|supposed|must|should|can|cannot|will|has|have|does|do|is|are|was|were"
    r"|[a-z]{3,}(?:ed|ing))\b(?![-_@#$%^&*+=!]))"
)
# Code that fetches a secret tells none: `os.environ["X"]`, `settings.api_key`, `get_secret("x")`.
_NO_CODE = (
    r"(?!(?:os|env|process|settings|config|cfg|self|args|secrets|request|options|params)\.[a-z_]"
    r"|(?:[a-z_]\w{0,40}\.){0,4}[a-z_]\w{0,40}(?:\([^\s()]{0,60}\)|\[[\"']))"
)
# Where nothing but the place speaks for a secret: letters and digits in one word, and no "12-character".
_MIXED = (
    r"(?!\[masked|\d{1,4}-[a-z]+\b)(?P<value>(?=[!-/:-@\[-`{-~a-z]{0,60}\d)(?=[!-/:-@\[-`{-~\d]{0,60}[a-z])[!-~]{5,64})"
)
_NAMES = (
    r"pass(?:word|wd|code|phrase)s?|pwd|(?:api|access|secret|private|encryption|signing|account"
    r"|auth)[ _-]?keys?(?:[ _-]id)?"
    r"|(?:access|auth|api|bot|refresh|session|security|bearer)[ _-]?tokens?|(?:client|app|api|webhook)[ _-]?secrets?"
    r"|secret[ _-]?access[ _-]?key|token|credentials?|pin(?:[ _-]?(?:code|number))?|otp|cvv|(?:verification"
    r"|security)[ _-]?code"
)
_VALUE = r"(?:\"[^\"\n]{1,200}\"|'[^'\n]{1,200}'|`[^`\n]{1,200}`|“[^”\n]{1,200}”|「[^」\n]{1,200}」|[!-~]{3,400})"
_ENGLISH = re.compile(
    rf"(?i)(?=[pasebrcto])(?<![a-z])(?P<lead>(?P<name>{_NAMES})(?:_\w{{1,20}})?[\"']?"
    rf"(?:[ \t]{{1,4}}(?:for|of|to|on|at)[ \t][^\n,.;:=!?\[，。；：！？]{{1,40}}?)?"
    rf"(?:[ \t]{{0,8}}(?:=>|->|:=|[=:：＝])[ \t]{{0,8}}|[ \t]{{1,4}}(?:is|are|was|will be|should be|set to"
    rf"|changed to)[ \t]{{1,4}}(?:now |still |currently )?"
    rf"(?:[:：][ \t]{{0,4}})?))"
    rf"{_NO_VALUE}{_NO_CODE}(?P<value>{_VALUE})",
)
# "password hunter2": no verb, so only what looks like nothing but a secret (letters with digits or signs).
_ENGLISH_BARE = re.compile(
    r"(?i)(?<![a-z])(?P<lead>(?:password|passwd|passcode|pwd|api key|pin)[ \t]{1,4})(?!\[masked)"
    r"(?P<value>(?=[a-z!-/:-@\[-`{-~]{0,60}\d)(?=[\d!-/:-@\[-`{-~]{0,60}[a-z])[!-~]{6,64})",
)
# "pw: q9Zz…", "secret wJalr…": names that stand before other things too, so only before what looks like a key.
_ENGLISH_SHORT = re.compile(
    r"(?i)(?<![a-z])(?P<lead>(?:pw(?:[ \t]{0,4}[:=]|[ \t]{1,4}is\b)?|pass(?:[ \t]{0,4}[:=]|[ \t]{1,4}is\b))"
    r"[ \t]{0,4}(?<=[ \t:=]))"
    r"(?!\[masked)(?P<value>(?=[^\s\d]{0,60}\d)(?=[^\sa-z]{0,60}[a-z])[!-~]{6,64})"
)
_KEY_LIKE = re.compile(
    r"(?i)(?<![a-z])(?P<lead>(?P<name>secret|token)(?:[ \t]{0,4}[:=]|[ \t]{1,4}is\b)?[ \t]{0,4}(?<=[ \t:=]))"
    r"(?P<value>(?=[a-z+/=_]{0,60}\d)(?=[\d+/=_]{0,60}[a-z])[\w+/=]{16,200})"
)
# The words of a passphrase are all of it: "my passphrase is purple monkey dishwasher".
_PASSPHRASE = re.compile(
    r"(?i)(?<![a-z])(?P<lead>pass ?phrase(?:[ \t]{1,4}(?:is|was)|[ \t]{0,4}[:=])[ \t]{1,4})(?!\[masked)"
    r"(?!(?:too|not|very|wrong|so|in|on|the same|required|missing|long|short|weak|strong)\b)"
    r"(?P<value>[\w'-]{2,20}(?:[ \t][\w'-]{1,20}){2,9})(?=[\s.,;!?]|$)"
)
_ENGLISH_AFTER = re.compile(
    r"(?i)(?<=\s)(?:is|as) (?:my|our|the) (?:[\w-]{1,20} ){0,2}(?:password|passcode|passphrase|pin|api key)\b"
)
_CHINESE = re.compile(
    r"(?i)(?P<lead>(?P<name>密码(?!管理|学|重置|策略|长度)|口令|密钥|秘钥|令牌|验证码|授权码|取件码"
    r"|动态码|校验码"
    r"|短信码|提取码|解锁码|助记词|私钥|token|api ?key|secret"
    r"|pin ?码|passw(?:or)?d)"
    r"(?![ \t]{0,4}\[masked)(?:[（(][^()（）\n]{0,20}[)）])?[^\n，。；,;!！?？:：=是为]{0,8}?"
    r"[ \t]{0,4}(?:(?:现在|已经|暂时|临时|目前|先|还|就|都|仍然|应该)?(?:是|为|等于|改成了?|改为了?|换成了?"
    r"|设成了?|设为|设置为|设置成)[ \t]{0,4}[:：]?|[:：=＝])[ \t]{0,4})"
    r"(?!\[masked)(?P<value>[\"'`“「]?[!-~]{3,400})",
)
_CHINESE_BARE = re.compile(
    r"(?P<lead>(?:密码|口令|密钥|验证码|授权码|动态码|校验码|短信码|提取码|解锁码)[ \t，,]{0,4})(?!\[masked)"
    r"(?P<value>(?=[a-zA-Z!-/:-@\[-`{-~]{0,60}\d)[!-~]{4,64})(?![!-~年月日号点位个])"
)
# A watchword may be written in Han: "口令：天王盖地虎". Not a question, not a state.
_CHINESE_WORD = re.compile(
    r"(?P<lead>(?:口令|暗号|暗语|助记词|密码)(?:[是为]|[是为]?[ \t]{0,4}[:：])[ \t]{0,4})"
    r"(?![什多哪谁啥几怎不没错对由用以需必非空否旧新正可应要被我你他她一这那])(?P<value>[\u4e00-\u9fff]{2,20})(?![吗么呢])"
)
# "password's hunter22", "password for github - hunter22", "set the password to hunter22".
_ENGLISH_JOINED = re.compile(
    r"(?i)(?<![a-z])(?P<lead>(?P<name>pass(?:word|wd|code|phrase)|pwd|api key)(?:['’]s[ \t]{1,4}|[ \t]{1,4}to[ \t]{1,4}"
    r"|(?:[ \t]{1,4}(?:for|of|to|on|at)[ \t][^\n,.;:=!?\[，。；：！？]{1,40}?)?[ \t]{1,4}[-–—][ \t]{1,4}))" + _MIXED,
)
# `secret=…` is an assignment whatever stands there; "secret: …" may be prose.
_ASSIGNED = re.compile(
    r"(?i)(?<![a-z])(?P<lead>(?P<name>secret)[\"']?"
    r"(?:=[\"']?|[ \t]{0,4}(?:=|:=|:|：)[ \t]{0,4}(?:[\"']|(?=[^\s\d]{0,60}\d))))"
    rf"{_NO_VALUE}{_NO_CODE}(?P<value>[^\s\"']{{4,200}})"
)
_CODE = re.compile(
    r"(?i)(?<![a-z])(?P<lead>(?P<name>pin|passcode|otp|cvv2?|cvc"
    r"|(?:security|verification|one[- ]time|2fa|mfa|login|unlock|door|gate|alarm) code)(?:[ -]?(?:code|number))?"
    r"(?:[ \t]{1,4}(?:for|of|to|on|at)[ \t][^\n,.;:=!?\d\[，。；：！？]{1,40}?)?"
    r"(?:[ \t]{0,4}[-#:：=–—]|[ \t]{1,4}(?:is|was))?[ \t]{0,4}(?<!\w))"
    r"(?P<value>(?<=[vV][vV][ 2:=])\d{3,4}|(?<=[cC][vV][cC][ :=])\d{3,4}|(?<=code )\d{3,10}|\d{4,10})(?!\w|[.,-]\d)"
)
# German, Dutch, French, Spanish, Portuguese, Italian, Russian, Japanese. After a verb only what holds a digit:
# what is said of a password ("ist abgelaufen") is a word as well.
_FOREIGN = re.compile(
    r"(?i)(?<![a-z])(?P<lead>(?:[a-z]{1,20}passwort|passwort|kennwort|geheimzahl|wachtwoord|mot de passe|mdp"
    r"|contrase[nñ]a"
    r"|clave|senha|password|пароль|パスワード)"
    r"(?:[ \t](?:für|von|vom|voor|pour|du|de|del|para|do|da|di|от|для)[ \t][^\n,.;:=!?\[]{1,40}?)?"
    r"(?:[ \t\xa0]{0,4}[:：=–—-]|[ \t]{1,4}(?:ist|lautet|war|is|est|c['’]est|es|era|é|è|это)(?=[ \t])|は)?"
    r"[ \t]{0,4}(?<!\w)"
    r"|パスワードは)(?!\[masked|\d{1,4}-[a-z]+\b)(?P<value>(?=[^\s\d]{0,60}\d)(?=[^\s\w]{0,60}\w)[^\s，。；：（）]{4,64})"
)
_FOREIGN_COLON = re.compile(
    r"(?i)(?<![a-z])(?P<lead>(?:[a-z]{1,20}passwort|passwort|kennwort|wachtwoord|mot de passe|mdp"
    r"|contrase[nñ]a|senha|пароль)"
    r"[ \t\xa0]{0,4}[:：=][ \t]{0,4})(?!\[masked|(?:bitte|siehe|nicht|kein|falsch|voir|pas|oubli|expir|incorrect|ver|no"
    r"|olvidad|vencid|неверн)\w{0,8}\b)(?P<value>[^\s，。；：（）]{4,64})"
)
_SEED_PHRASE = re.compile(
    r"(?i)(?P<lead>(?:(?:seed|recovery|mnemonic|secret|backup)[ \t](?:phrase|words)|mnemonic|助记词)"
    r"(?:[ \t]{1,4}(?:is|are)|[是为])?[ \t]{0,4}(?:[:：=–—-]"
    r"|(?<=[是为s][ \t])|(?<=are[ \t])|(?<=[是为\n]))\s{0,4})(?!\[masked)"
    r"(?P<value>(?:\d{1,2}[.)]?[ \t]{0,2})?[a-z]{3,8}(?:[\s,，]{1,4}(?:\d{1,2}[.)]?[ \t]{0,2})?[a-z]{3,8}\b){11,23})"
)
_TRAILING = ".,;:!?)]}>\"'`，。；"


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
_CHINESE_NEEDLES = (
    "密码",
    "口令",
    "密钥",
    "秘钥",
    "令牌",
    "验证码",
    "授权码",
    "取件码",
    "助记词",
    "私钥",
    "暗号",
    "暗语",
    "动态码",
    "校验码",
    "短信码",
    "提取码",
    "解锁码",
)
_FOREIGN_NEEDLES = (
    *("passwor", "kennwort", "geheimzahl", "wachtwoord", "mot de passe", "mdp"),
    *("contrase", "clave", "senha", "пароль", "パスワード"),
)
# In this order: what a special form has masked, a general one leaves alone.
_FORMS: tuple[tuple[tuple[str, ...], re.Pattern[str]], ...] = (
    (_SEED_NEEDLES, _SEED_PHRASE),
    (("phrase",), _PASSPHRASE),
    (_ENGLISH_NEEDLES, _ENGLISH),
    (("pw", "pass"), _ENGLISH_SHORT),
    (("secret", "token"), _KEY_LIKE),
    (("pass", "pwd", "pin", "api key"), _ENGLISH_BARE),
    (("secret",), _ASSIGNED),
    (("pass", "pwd", "api key"), _ENGLISH_JOINED),
    (("pin", "passcode", "otp", "cv", " code", "-code"), _CODE),
    (_FOREIGN_NEEDLES, _FOREIGN),
    (_FOREIGN_NEEDLES, _FOREIGN_COLON),
    (_CHINESE_NEEDLES, _CHINESE),
    (_CHINESE_NEEDLES, _CHINESE_BARE),
    (_CHINESE_NEEDLES, _CHINESE_WORD),
)


def mask_named(text: str, lower: str, found: Counter[str]) -> str:
    """The text with every value masked that stands beside a secret's name. `lower` is the text in lower case."""

    def replace(match: re.Match[str]) -> str:
        value = match["value"]
        if value.lstrip("\"'`“「").startswith("[masked"):
            return match[0]
        kind = _kind_of(match.groupdict().get("name") or "password")
        found[kind] += 1
        bare = value.rstrip(_TRAILING) if value[0] not in "\"'`“「" else value
        return f"{match['lead']}[masked: {kind}]{value[len(bare) :] if bare else ''}"

    english = any(map(lower.__contains__, _ENGLISH_NEEDLES))
    mixed = english and any(verb in lower for verb in "是为：＝改换设")  # "token 是 …"
    for needles, pattern in _FORMS:
        if any(map(lower.__contains__, needles)) or (mixed and pattern is _CHINESE):
            text = pattern.sub(replace, text)
    if english and (" is " in lower or " as " in lower):
        text = _mask_before(text, found)
    return text


def _mask_before(text: str, found: Counter[str]) -> str:
    """Mask the word before the phrase, as in "hunter2 is my password"."""
    kept: list[str] = []
    position = 0
    for match in _ENGLISH_AFTER.finditer(text):
        before = text[position : match.start()].rstrip()
        word = before.rsplit(None, 1)[-1] if before else ""
        if not SHORTEST_SECRET <= len(word) <= LONGEST_SECRET or word.isalpha() or word.endswith("]"):
            continue
        kept += (before[: len(before) - len(word)], "[masked: password] ")
        found["password"] += 1
        position = match.start()
    return "".join((*kept, text[position:]))


def _kind_of(name: str) -> str:
    name = name.lower()
    if "token" in name or name == "令牌":
        return "token"
    if "key" in name or name in ("密钥", "秘钥", "私钥"):
        return "key"
    if "secret" in name:
        return "secret"
    return "password"

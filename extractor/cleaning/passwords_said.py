"""Forms of passwords in casual speech: misspelt or abbreviated names, and words between name and value."""

import re

__all__ = ["SAID_FORMS"]

# A word with letters and digits, but no algorithm, product, encoding or measure.
_NO_KEY = (
    r"(?!\[masked|https?:|(?:sha|md|rsa|aes|des|utf|base|argon|ipv?|http|ssl|tls|oauth|mp|win|web|log|ed|sm|k"
    r"|es|h|v|p"
    r"|py|python|java|vue|mysql|postgres\w*|iso|rfc|pkcs|int|uint|float|n?(?:var)?char|bcrypt|1password)[-_]?\d"
    r"|1password|\d{1,4}-[a-z]+\b)"
)
_KEY = (
    rf"{_NO_KEY}(?P<value>(?=[!-/:-@\[-`{{-~a-z]{{0,60}}\d)(?=[!-/:-@\[-`{{-~\d]{{0,60}}[a-z])[!-'*-.0-:<-~]{{6,64}}+)"
    r"(?![(\[A-Za-z0-9_])"
)
# Text after a name in Latin letters that makes it another word.
_NO_WORD = (
    r"(?!\[masked|(?:manager|reset|hash\w*|polic\w+|field|form|app|apps|login|token|wi-?fi|pass\w*|pwd|pin|box|input"
    r"|error|salt|type|text|null|none|true|false|string|admin panel|api|http\w*|url|link|email|e-mail|plain"
    r"|bcrypt|aes|rsa|md5|sha\d*|base64|vault|bitwarden|1password|lastpass|keepass\w*|google|github|chrome|icloud"
    r"|apple|windows|linux|bug|page|ui|generator|protected|crack\w*|hint|ok|id)\b)"
)
_LATIN = r"(?P<value>[a-z][!-'*-.0-:<-~]{3,63})(?![(\[A-Za-z0-9_])"
_ENDS = r"(?=[ \t]{0,4}(?:[，。；！,.;!?？、)）]|\n|\Z|[了吧哈哦啊呀喔的]|[记記帮幫请請别別]))"
_CHINESE = r"(?:密[ \t]{0,3}[码碼]|口令|暗[号號])"

# "密码swordfish", "密码 swordfish"
_BESIDE = re.compile(
    rf"(?i)(?P<lead>(?P<name>{_CHINESE})(?:[（(][^()（）\n]{{0,20}}[)）])?(?:[ \t,，]{{0,3}}"
    rf"|[ \t]{{0,4}}\n{{1,2}}(?=[!-~]{{4,64}}[ \t]{{0,4}}(?:\n|\Z)))){_NO_WORD}{_LATIN}{_ENDS}"
)
# 密码“swordfish”, 密码（swordfish）, 密码——swordfish, |密码|swordfish|
_SIGNED = re.compile(
    rf"(?i)(?P<lead>(?P<name>{_CHINESE})(?:[（(][^()（）\n]{{0,20}}[)）])?[ \t]{{0,4}}"
    rf"(?:[—–~～|｜；-]{{1,3}}|[\"“「『【\[（(`'《])[ \t]{{0,4}}){_NO_WORD}"
    r"(?P<value>[!-&*-.0-:<-Z^_a-z{}~]{4,64})(?=[ \t]{0,4}(?:[\"”」』】\])）`'》|｜，。；！,.;!]|\n|\Z))"
)
# "密码改了，hunter22", "密码从 … 改成 …": some words, and then what can only be a password.
_AFTER_WORDS = re.compile(
    rf"(?i)(?P<lead>(?P<name>{_CHINESE}|[账賬帐帳]密|卡密)[^\n。；;!！?？:：\[!-~]{{0,14}}"
    rf"(?:[ \t:：，,。]{{0,3}}|[:：]?\n{{1,3}}))(?<![a-z\d]){_KEY}"
)
# "密码用 swordfish", "密码还是那个 swordfish", "密码是全小写 swordfish", "密碼係 swordfish": words before the value.
_LED = re.compile(
    rf"(?i)(?P<lead>(?P<name>{_CHINESE}|mima|密[马玛瑪妈媽]|[蜜米][码碼]|pwd?|pass|pin)(?:的话|的話|嘛|呢|哦"
    rf"|哈)?[，, ]{{0,2}}"
    r"(?:没变|沒變|就|还是|還是|都|全|我|也|是|是不是|默认|默認|预设|預設|改成?|换成?|換成?|[设設][为為成]"
    r"|用的?|[输輸]入?|填|写的?|寫的?|[记記]一下"
    r"|给你|給你|发你|發你|叫|那个|那個|这个|這個|老样子|老樣子|[全大小]{1,2}[写寫]的?|係|是|[:：]"
    r"|，){1,4}[ \t]{0,3})"
    rf"{_NO_WORD}{_LATIN}{_ENDS}"
)
# 密 码：swordfish, mima：swordfish, 解压码：…, 激活码：…
_NAMED_OTHERWISE = re.compile(
    r"(?i)(?P<lead>(?P<name>密[ \t]{1,4}[码碼]|密-[码碼]|(?<![a-z])mima|密[马玛瑪妈媽][是：:]|[蜜米][码碼][是：:]"
    r"|(?:解[压壓]|访问|訪問|邀[请請]|激活|啟用|注[册冊]|註冊|兑换|兌換)[码碼]|卡密|密[语語]|[账賬帐帳]密)"
    r"[ \t]{0,4}[是为為係:：=]{0,2}[ \t]{0,4})(?<!mima)(?!\[masked)(?P<value>[!-~]{4,64})"
)
# 账号密码是 bob swordfish9; 账密：bob/swordfish9
_BOTH = re.compile(
    r"(?i)(?P<lead>(?:[账賬帐帳](?:[号號户戶])?[和跟与與/、]?(?P<name>密[码碼]|密))(?:分别"
    r"|分別)?[ \t]{0,2}[是为為係:：]{1,2}[ \t]{0,2}"
    r"[\w.@+-]{1,64}[ \t]{0,2}(?:[/|，,、和]|(?<=[ \t]))[ \t]{0,2})(?!\[masked)(?P<value>[!-~]{4,64})"
)
# "拿 swordfish 当密码", "把 swordfish 设为密码", "hunter22，这是密码", "482913（验证码）"
_BEFORE = re.compile(
    rf"(?i)(?:[拿把将將][ \t]{{0,2}}{_NO_WORD}(?P<value>[!-~]{{4,64}}?)[ \t]{{0,4}}"
    r"(?:[当當做]|作[为為]?|[设設][为為成]|[用])[^\n，。；!！?？]{0,10}?(?P<name>密[码碼]|口令))(?!哈希|散列"
    r"|管理|算法)"
)
_KEY_BEFORE = re.compile(
    rf"(?i)(?<![!-~]){_KEY}[ \t，,]{{0,3}}(?:这|這|这个|這個|那个|那個)?(?:就|才)?是[ \t]{{0,2}}"
    rf"(?P<name>密[码碼]|口令)"
    r"(?=[ \t]{0,4}(?:[，。；！,.;!）)]|\n|\Z|[哈哦啊呀吧]))"
)

_NAME = (
    r"(?:p[a@4]s*w(?:or|ro|o|0r)?r?d|p[a@4](?:ss?w|s)(?:or|ro|0r|w?o)d|passowrd|passwort|p[a@4][s$5]{2}w[0o]rd"
    r"|passw0rd|ps+w?r?d|pass[ _-]word|pass[ _-]phrase|passkey)"
)
_WIFI_KEY = r"(?:wi-?fi|wlan|wpa\d?|network|recovery|licen[sc]e|product|activation|ssh|gpg|host)[ _-]key"
_ADVERB = (
    r"(?:literally|actually|just|simply|really|probably|basically|still|now|always|again|maybe|either|the word"
    r"|the same"
    r"|currently|something like|all lower ?case|as follows)"
)
_NOT_ENGLISH = (
    r"(?![\[<{$%]|(?:a|an|the|too|not|so|very|no|in|on|of|for|to|by|as|at|and|or|my|your|wrong|invalid|incorrect|weak"
    r"|strong|safe|secure|required|missing|empty|important|stored|good|bad|fine|ok|okay|old|new|there|here|gone|lost"
    r"|optional|about|around|roughly|almost|older|newer|longer|shorter|whatever|hidden|set|used|more|less|only"
    r"|known|found|sent|then|being|been|kept|shown|stolen|taken|left|forgotten|easy|hard|long|short"
    r"|return|password|token|bearer|expired|case|under|behind|broken|different|correct|right|same|unknown|str"
    r"|string|null|none|true|false"
    r"|what\w*|where\w*|who|how|why|when|if|it|is|was|has|see|ask|you|we|they|he|she"
    r"|[a-z]{3,}(?:ed|ing|ly))\b(?![-_@#$%^&*+=!\d]))"
)
_WORD = r"(?P<value>\"[^\"\n]{3,100}\"|'[^'\n]{3,100}'|[!-~]{4,64})"
_MISTYPED = re.compile(
    rf"(?i)(?<![a-z])(?!password\b)(?P<lead>(?P<name>{_NAME}|{_WIFI_KEY})[\"']?[ \t]{{0,4}}"
    rf"(?:[:：=→]|['’]s[ \t]|[ \t](?:is|was)[ \t])[ \t]{{0,4}}){_NOT_ENGLISH}{_WORD}"
)
_ADVERBIAL = re.compile(
    rf"(?i)(?<![a-z])(?P<lead>(?P<name>password|passcode|pwd|pw|pin|passphrase)(?:(?:['’]s| (?:is|was))"
    rf"(?:[ \t,:]{{1,3}}{_ADVERB}){{1,3}}| {_ADVERB} is)[ \t:]{{1,3}}){_NOT_ENGLISH}{_WORD}(?!\w| than\b)"
)
_COUNTED = re.compile(
    rf"(?i)(?P<lead>(?P<name>password|passwd|pwd)(?:[ _]?\d{{1,2}}[\"']?[ \t]{{0,4}}[:=]|[ \t.…]{{2,12}}:|::"
    rf"|\t{{1,4}}(?=\S{{4,64}}(?:\n|\Z))|[ \t]{{1,4}}(?:--|[–—~/])[ \t]{{1,4}}(?=\S{{4,64}}[ \t]*(?:\n"
    rf"|\Z)))[ \t]{{0,8}})"
    rf"{_NOT_ENGLISH}{_WORD}"
)
# The value comes later: after a question mark, a few words, or "set … to".
_LATER = re.compile(
    r"(?i)(?<![a-z])(?P<lead>(?P<name>password|passcode|passphrase|pwd|wifi pass)(?:[?,:–—-]|(?: (?:i"
    r"|we) [a-z]{2,12})"
    r"|[ \t](?:btw|fyi|for|has|set|as|to|that|by)\b|[ \t]is\b(?=[^\n.]{1,20}\bbut\b))"
    rf"(?:[ \t,:–—-]{{1,3}}[a-z'’]{{1,12}}){{0,5}}?[ \t:,–—-]{{1,3}}){_KEY}(?=[\s.,;!?)]|\Z)"
)
_JUST_THE_WORD = re.compile(
    r"(?i)(?P<lead>(?P<name>password)\?[ \t]{1,3}|(?P<set>set (?:my |the |a )?password to )"
    r"|(?P<use>password (?:i|we) use(?: [a-z]{2,12}){0,2} is )|password: it['’]s )"
    rf"{_NOT_ENGLISH}(?!expire|be\b|i\b){_WORD}(?=[ \t]*(?:[.!]?[ \t]*(?:\n|\Z)))"
)
_YOUR_CODE = re.compile(
    r"(?i)(?P<lead>\b(?:your|the|my|sign-?in|login) (?P<name>code)(?: (?:for|of) (?:the |my )?[a-z]{2,12})?"
    r"(?: is|:)[ \t]{1,3}"
    r"|(?P<door>door|gate|alarm|safe|lock|pin|atm)['’]s (?:code:? ?|(?=\d))|\bpin\? |\balarm: code )"
    r"(?P<value>\d{4,8})(?![\w.,]\w)"
)
# "use hunter22 as password", "login with hunter22", "用 hunter22 登录", "key 是 hunter22", "AK：hunter22"
_USED = re.compile(
    rf"(?i)\b(?:use|try|with)[ \t]{{1,3}}{_KEY}(?=[ \t]{{1,3}}(?:as|for)[ \t](?:(?:the|my|a|our)[ \t])?"
    r"(?P<name>password|passcode|pin)\b(?![ -](?:manager|hash\w*|policy|store|generator|field|algorithm)))"
)
_LOGS_IN = re.compile(
    rf"(?i)(?P<lead>\b(?:log ?in|sign in|unlock(?: it)?) with[ \t](?:\w{{1,20}} and )?"
    rf"|用[ \t]?(?:\w{{1,20}}[和跟][ \t]?)?(?=[!-~]{{6,64}}[ \t]?登))(?P<name>)(?<![a-z\d]){_KEY}"
)
_KEYS = re.compile(
    rf"(?P<lead>(?<![A-Za-z])(?:(?P<name>(?i:key|secret))[ \t]?(?:是|为|為|：|(?<=[tT] )is\b)"
    rf"|[AS]K[ \t]?[:：=])[ \t]{{0,3}})(?i:{_KEY})"
)
_NUMBER_AFTER_WORDS = re.compile(
    r"(?P<lead>(?P<name>密[码碼])[是为為：:][\u4e00-\u9fff]{1,8}[ \t]?)(?P<value>\d{6,12})(?![\w位个個次])"
)
_NUMBER_BEFORE = re.compile(
    r"(?i)(?<![\w.-])(?P<value>\d{4,8})(?=[ \t]?[（(](?:短信)?(?P<name>[验驗][证證][码碼]|密[码碼]|otp|pin"
    r"|verification code)[)）])"
)
_BACKUP_CODES = re.compile(
    r"(?i)(?P<lead>(?:backup|recovery) (?P<name>codes?)[ \t]?(?:are|is)?[:\s]{1,4})(?P<value>\d{4,8}"
    r"(?:[-,\s]{1,3}\d{4,8}){0,19})"
    r"(?!\w)"
)
# The name of a network or a user, and the password next to it.
_PAIR = re.compile(
    rf"(?i)(?P<lead>(?:\b(?P<name>wi-?fi|wlan|hotspot)[ \t]{{0,2}}[:：][ \t]{{0,2}}[\w-]{{1,32}}[ \t]{{0,2}}[/|,，]"
    rf"|(?<![a-z])u(?:ser)?[ \t]{{0,2}}[:=][ \t]{{0,2}}[\w.@-]{{1,64}}[ \t,;/]{{1,3}}p"
    rf"(?:ass)?[ \t]{{0,2}}[:=])[ \t]{{0,3}}){_KEY}"
)
_SAID = ("passw", "passc", "passp", "pwd", "pw", "pin")
SAID_FORMS: tuple[tuple[tuple[str, ...], re.Pattern[str]], ...] = (
    (("密", "口令", "暗"), _BOTH),
    (("密", "口令", "暗"), _SIGNED),
    (("密", "口令", "暗"), _BESIDE),
    (("密", "口令", "暗"), _AFTER_WORDS),
    (("密", "口令", "暗", "蜜", "米", "mima", "pw", "pass", "pin"), _LED),
    (("密", "码", "碼", "mima"), _NAMED_OTHERWISE),
    (("密码", "密碼", "口令"), _BEFORE),
    (("密码", "密碼", "口令"), _KEY_BEFORE),
    (("pa", "p@", "p4", "ps", "key"), _MISTYPED),
    (_SAID, _ADVERBIAL),
    (("passw", "pwd"), _COUNTED),
    (("pass", "pwd"), _LATER),
    (("password",), _JUST_THE_WORD),
    (("code", "pin"), _YOUR_CODE),
    (("passw", "passc", "pin"), _USED),
    (("with ", "登"), _LOGS_IN),
    (("key", "secret", "ak", "sk"), _KEYS),
    (("密",), _NUMBER_AFTER_WORDS),
    (("(", "（"), _NUMBER_BEFORE),
    (("backup code", "recovery code"), _BACKUP_CODES),
    (("fi", "wlan", "hotspot", "u:", "u=", "user"), _PAIR),
)

"""The tables of secrets in English and Chinese: the words around one, and the rows that need no name.

Patterns are of lower-case text. `benchmarks/masking.py` fits the weights to a corpus and prints what is missed.
"""

import re
from typing import Final

__all__ = [
    "AT",
    "BAD",
    "CHANGE",
    "CODE",
    "COMPOUND",
    "COPULAS",
    "CUES",
    "FILLERS",
    "HAN_FILLERS",
    "NO_WORD",
    "OTHER_CODES",
    "OWNERS",
    "PLACED",
    "TO",
    "TOKENS",
    "UNITS",
    "VERBS",
]


_PLACES: Final = (
    r"front ?door|back ?door|door|gate|garage|alarm|lock ?box|key ?box|key ?safe|lock|safe|vault|locker|lobby|entry"
    r"|entrance|building|ipad|iphone|phone|tablet|suitcase|luggage|elevator|lift|barrier|keypad|key ?pad|shed|pool|access|burglar|house|office|storage|bike"
)
_FOREIGN: Final = (
    r"passwort|kennwort|geheimzahl|wachtwoord|mot de passe|mdp|contrase[nñ]a|clave|senha|пароль|パスワード|暗証番号"
    r"|비밀번호|lösenord|passord|adgangskode|hasło|heslo|şifre|parola|salasana|mật khẩu|kata sandi|jelszó|κωδικός"
    r"|كلمة المرور|รหัสผ่าน"
)

CUES: Final[tuple[tuple[str, str, str, str], ...]] = (
    ("phrase", "recovery phrase",
        r"(?:seed|recovery|mnemonic|backup|secret)(?: recovery)? (?:phrase|words?)|mnemonic(?: phrase)?",
        r"助[记記][词詞]|[备備]份短[语語]|恢[复復]短[语語]"),
    ("passphrase", "password", r"pass[ _-]?phrase|master password|security phrase", r"passphrase"),
    ("key", "key",
        r"(?:api|access|secret|private|encryption|signing|account|auth|licen[sc]e|product|activation|recovery|ssh|gpg|host|wi-?fi|wlan|wpa\d?"
        r"|network|deploy|master|service|stripe|openai|shared|storage)[ _-]?keys?(?:[ _-]?id)?|key(?= ?(?:[是为為：]|is(?! the)\b)|[\"']? ?[=:] ?[\"']?\S{8})|[as]k(?= ?[:：=])"
        r"|gift (?:card )?codes?|activation codes?",
        r"[密秘金私][钥鑰]|(?<=的)key(?![a-z])|激活[码碼]|授[权權][码碼]|[注註][册冊][码碼]|兑换[码碼]|兌換碼|卡密|邀[请請][码碼]"),
    ("token", "token",
        r"(?:access|auth|api|bot|refresh|session|security|bearer|deploy|service account|lived|npm|github|slack|csrf)[ _-]?tokens?"
        r"|token(?!s| ring| bucket|i[sz]e)", r"令牌"),
    ("secret", "secret", r"(?:client|app|api|webhook|signing|jwt|hmac|shared)[ _-]?secret|secret(?!s|ary|ly)", ""),
    ("cookie", "cookie", r"(?:session |auth |login )?cookies?(?![a-z])|(?:php|j)?sess(?:ion)?[ _-]?(?:id|key)(?![a-z])|sessdata|[cx]srf[ _-]?token|sid(?==)", ""),
    ("pin", "pin",
        r"(?:pin|puk)(?:[ -]?(?:code|number|no\b\.?)|[码碼])?(?![a-z])|pass ?codes?(?![a-z])|lock ?screen code|unlock(?:ing)? code|telephone banking code|parental code",
        r"(?:取款|支付|[银銀]行卡|[锁鎖]屏|解[锁鎖]|手[机機])密[码碼]|解[锁鎖][码碼]"),
    ("code", "code",
        rf"(?:{_PLACES})(?:(?:['’]s)?:? codes?|(?:['’]s)? (?:combination|combo)| keypad(?: number)?)(?![a-z])|(?:door|gate|garage|alarm|lock ?box|key ?box|safe|vault|locker|keypad|shed)(?= ?[:：] ?[#*\d])"
        rf"|codes?(?= (?:for|of|to|on|at|you need (?:at|for)) (?:the |my |our |your )?(?:[\w'’]+ )?(?:{_PLACES})\b)|padlock (?:combination|combo)|combination(?= is|:)|key ?code|(?:access|entry) number"
        r"|comb(?:o|ination)(?= (?:of|to|for|on) (?:the|my|our|his|her|your|a) )|combo(?=[:：]| is)",
        r"[门門]禁密?[码碼]?|(?:[门門][锁鎖]?|保[险險][箱柜櫃]|大[门門]|[开開][门門]|[电電]梯|撤防|密[码碼][锁鎖])的?密[码碼]"
        r"|密[码碼][锁鎖](?:的?密[码碼]|(?=[是为為：:]{0,2}[\d#*]))|(?:取件|提取|分享|领取|[开開][门門]|[开開][锁鎖]|[进進][门門]|房[门門]|通行|配[对對]|[绑綁]定)[码碼]|[访訪][问問][码碼]|解[压壓][码碼]"),
    ("otp", "code",
        r"(?:t?otp|cvv2?|cvc2?|(?:verification|security|one[- ]time|2fa|mfa|two[- ]factor|log-?in|sign-?in|auth(?:entication)?|backup|recovery|reset|sms"
        r"|confirmation|pass)[ -](?:backup )?(?:codes?|pass(?:word|code)?))(?![a-z])",
        r"[验驗][证證][码碼]|[动動][态態](?:[码碼]|口令)|校[验驗][码碼]|短信[码碼]|安全[码碼]|恢[复復][码碼]|[备備][用份][码碼]|三位[数數]"),
    ("bare", "code", r"codes?(?![a-z])", ""),
    ("password", "password",
        r"(?:pwd?|psw|p/w|psw?r?d|psswd|pword|mima)(?![a-z])|pass(?=(?: (?=\S{0,20}[a-z])\S{0,20}\d\S{2})|[\"'>]? ?[:=：→是为為|>]| (?:is|was|to)\b| (?:for|of) (?:\w+ ){1,4}is\b)|pass ?key|cred(?:ential)?s?(?![a-z])",
        r"p[a@4]s{0,2}[s$5]?[ _-]?w(?:or|ro|o|0r)?r?ds?(?![a-z])|passowrd|pass(?<=(?:my|fi) pass)(?![a-z])|密[ \t-]{0,3}[码碼]|口令|暗[号號]|[暗密][语語]"
        r"|密[马玛瑪妈媽](?=[是：:])|[蜜米][码碼](?=[是：:])|[账賬帐帳]密"),
    ("foreign", "password", rf"(?:{_FOREIGN})", r"passwort|パスワード|暗証番号"),
    ("answer", "secret",
        r"(?:security|secret) (?:question|answer)(?:['’]s answer| answer)?|maiden name|(?:safe|secret|code|security) ?word", r"密保(?:[问問][题題])?的?(?:答案)?|安全[问問][题題]的?答案|安全[词詞]|娘家姓"),
    ("doc", "document number",
        r"(?:passport|driver['’]?s? licen[sc]e|driving licen[sc]e|licen[sc]e (?:no|number)|ssn|itin|social security|national insurance|(?:(?:my|his|her|national|personal) id|id card)(?= (?:no|number|is))"
        r"|identity card|green card|residence permit|visa(?= (?:no|number))|tax (?:id|number|no)|nhs|medicare|aadhaar|pan card"
        r"|social(?= (?:is|number))|tax file|nino|nie|nif|cpf|pesel|emirates id|codice fiscale|voter id|health card|birth certificate|known traveler|global entry|passid|health insurance|insurance (?:policy|number|no)|policy number|member(?:ship)? id)(?: card)?(?: (?:numbers?|no\b\.?|nr\.?|id))?",
        r"[护護]照(?:[号號]?[码碼]?|[编編][号號])|(?:身份|通行|台胞|居住|[军軍]官)[证證][号號]?[码碼]?|[驾駕][驶駛]?[证證]?照?(?:档案)?(?:[号號]?[码碼]?|[编編][号號])|社保卡?[号號]?"
        r"|[医醫]保卡?[号號]?[码碼]?|[签簽][证證][号號][码碼]?|[税稅][号號]|[证證]件[号號][码碼]?"),
    ("card", "card number",
        r"(?:(?:credit |debit |bank |prepaid |atm )?cards?(?: (?:number|no\b\.?))?|visa|master ?card|amex|unionpay)(?![a-z])",
        r"信用卡[号號]?|[银銀]行卡[号號]?|[招工建农中交]行卡|卡[号號]"),
    ("account", "account number",
        r"(?:iban|(?:bank |brokerage |konto |loan )?account(?: (?:number|no\b\.?)|(?= (?:at )?\S{0,12}:? ?\d))|routing(?: number)?|sort code)(?![a-z])",
        r"[对對]公[账賬帐帳][号户號戶]|工[资資]卡|[账賬帐帳][号户號戶](?=[^\n]{0,4}\d{8})|我的[账賬帐帳][户戶]"),
    ("access", "password",
        r"(?:log ?ins?|sign in|get in|gets? you in|let (?:you|me) in|get into|unlocks?|opens?|disarm|admin|root|don['’]?t tell|keep (?:this|it) (?:safe|secret)|wi-?fi|wlan|hotspot)(?![a-z])",
        r"登[录錄陆陸]|就?能[进進]|[进進][去来來]|就[开開]|[开開][门門]|别告诉|[账賬帐帳][号號户戶]|保[险險][柜箱櫃]"),
)  # fmt: skip
"""(group, the kind that a mask names, nouns at the beginning of a word, nouns anywhere)."""

COPULAS: Final = (
    r"(?:(?<![a-z])(?:is|are|was|were|be|being|been|['’]s|it['’]s|equals?|reads?|becomes?|became|remains?|stays?|called|itself|namely|to be|ist|lautet|war|est|es|era|é|è)"
    r"|[是为為係成叫即]|[改换換设設][到了]|用的?|填|[输輸]入?|[给給发發]你|就|按|从|由|那[个個]|[这這][个個]|[写寫]的?|也?都|は|는|은|[默预預][认認设設]|[记記]一下|如下|没变|老样子)"
    r"(?:[ ,，]{0,2}(?:now|still|just|actually|currently|literally|really|probably|simply|always|again|either|maybe|perhaps|still|the word"
    r"|meant to be|the name|now|once more|all lower ?case|就|还是|還是|一直|[全大小]{1,2}[写寫]的?|我?的?生日|名字|拼音|[这這那][个個]|那|个|了|左|先))*$"
)
"""The end of what stands between a name and its value."""

TO: Final = r"(?<![a-z])(?:to|as|with|use|uses|using|used|try|says?|word|set|enter|type|punch in|key in|press|dial|need|got|me|you|like|has)(?: (?:now|just|the word))?$"
CHANGE: Final = r"(?<![a-z])(?:set|sets|changed?|changing|reset|updated?|made|make|switched|renamed|went|became|use|using|used|try|type|enter|put|has been)(?![a-z])"
"""What lets a plain word be the value behind one of these: "changed my password to swordfish"."""
PLACE: Final = (
    r"(?<![a-z])(?:door|gate|garage|alarm|lock|safe|vault|lobby|entry|elevator|barrier|keypad|get in|let (?:you|me|yourself)|buzz|punch|text(?:ed)?|sms|expires?|sent|verif\w+|log ?in|sign ?in"
    r"|your code|my code|2fa|arrive|check-?in|locker|unlock|open|cleaner|disarm)|[门門锁鎖柜箱]|登[录陆]|短信|取件"
)
"""What a bare "code" is near to where it is secret."""
OTHER_CODES: Final = (
    r"(?<![a-z])(?:postal|post|zip|area|country|dial(?:ling)?|error|exit|status|return|promo|discount|referral|booking|order|tracking|invite|coupon|voucher|colou?r|gpio|qr|bar|dress|source|building|morse|country|airport|course"
    r"|unicode|hex|machine|byte|http|sort|stock|swift|legacy|product|flight|iata|icao|response|confirmation|firing|rolling|bowling|enamel|drop an?|line of|lines of) ?$|(?:[错錯][误誤]|[邮郵]|[区區]|状态|[颜顏]色|股票|[优優]惠|二[维維]|[条條]形?)$"
)
"""Codes and pins that are no secret."""
FILLERS: Final = frozenset(
    "a an the my our your his her their its of for to on at in and is was are be it they he she we i me you us that this"
    " which who now still just new old current temporary temp initial default guest admin root main shared usual same"
    " personal work home bank please so btw fyi well ok gave given sent got set changed change use used using has had"
    " have been will would should might may can must could number no nr code value val v text name with by from as"
    " says said reads until yet again currently actually really literally simply always either or also here there"
    " called goes like one two first second string data content field wifi wi-fi email laptop phone account server"
    " vpn zip file pdf archive login user s d ll re ve by way everywhere need needs key entry str cdata asked ask asks for wants type"
    " enter correctly remember think guess believe if know forget keep forgetting not meant id card key".split()
)
HAN_FILLERS: Final = (
    r"[的是为為係就还還都也了吧呢嘛哦啊我你您他她它咱这這那个個把将將用成到改换換设設填输輸入叫给給发發按写寫在新旧舊现現以后前从從一直统統默认認预預临臨时時初始"
    r"管理员員应應该該好像可能号號码碼记記住下别別忘网網站家里裡号]"
)
BAD: Final = (
    r"(?<![a-z])(?:must|requires?|required|at least|at most|minimum|maximum|longer|shorter|older|newer|than|contains?|consists?|policy|polic(?:y|ies)|rules?"
    r"|expires?|expired|valid|attempts?|times|wrong|failed|fails|error|stored|reset|resets|every|hash(?:ed|es)?|bcrypt|argon\w*|leaked|breach|forgot(?:ten)?"
    r"|length|characters?|digits|column|expiry|rotated?|blocked|revoked|hasn|isn|doesn|don|won|can['’]?t|never|ends in|bought|costs?|price|size"
    r"|works? until|arrived?|issued in|since|before|after \d|because|recommend|generate|random)(?![a-z])"
    r"|至少|最少|最多|不能|不得|不少于|[长長]度|[过過]期|有效|[错錯]|忘[记記]|[必需]须|要求|更[换換]一次|每|策略|[规規][则則]|字段|哈希|作[废廢]|次数|限制|生成|一共|分钟|[讨討][论論]|[丢挂]"
)
"""What talks about a secret without telling it."""

UNITS: Final = (
    r"[ -]?(?:characters?|chars?|digits?|letters?|words?|bits?|bytes?|[kmg]b|times|days?|hours?|minutes?|seconds?|months?|weeks?|years?|people|euros?|dollars?"
    r"|percent|%|attempts?|tokens?|pages?|lines?|km|kg|mm|cm|ml|mbit\S*|gb|mb|pm|am|per|pieces|points?|met(?:er|re)s?|feet|inch(?:es)?|stamps|articles|cards|genders|pins?|cookies|mi(?:b|les))\b"
    r"|[ ]?[版位个個次天年月日秒分小号元块塊人页頁行户戶层層楼樓字种種倍把支本张張卡条條公辆輛点點室座件岁歲款]"
)
OWNERS: Final = (
    r"(?<![a-z])(?:orders?|tracking|invoice|ticket|booking|reservation|reference|flight|phone(?! (?:code|is unlocked))|mobile|tel|call|fax|room|rooms|page|line"
    r"|lines|version|v|commit|port|bus|tram|seat|train|model|serial|part|isbn|doi|arxiv|bug|issue|pull request|pr|user(?:name| name|: ?|=| is)?|e-?mail(?: is|:)|network|ssid|fritz!?box|zip code|postcode|post code|postal|area"
    r"|country|error|exit|status|promo|discount|colou?r|gpio|arduino|message|born|built|chip|case|parcel|md5|sha\d*|sha-?\d+|uuid|mac address|case"
    r"|rfc|pep|ral|iso|airport|course|unicode|qr|dress|source|git|container|public key|fingerprint|lottery|imei|vin|iccid|extension|platform|locker (?:number )?|table|coach|student number|employee number|customer number|plate|coordinates|latitude|longitude|hotel|question"
    r"|salary|weigh|population|calories|step|chapter|figure|year|costs?|coupon"
    r"|machine|installed|max_\w+|bic|swift|exp|expires?|valid till)(?:[ .:#]*(?:number|no\.?|code|id|is|was|of))*[ :：#=]*$"
    r"|(?:[订訂][单單]|快[递遞]|航班|[发發]票|工[单單]|[车車]次|房[间間]|手[机機]|[电電][话話]|[邮郵][编編]|[区區][号號]|[状狀][态態][码碼]|[错錯][误誤][码碼]"
    r"|[优優]惠[码碼]|股票|[颜顏]色|版本|[单單]|[车車]牌|血[压壓]|提交|回[滚滾]到?|第|[门門]牌|人口|[编編][号號]|用[户戶]名|[有]效期|[尾末][号四]位?|出生|截止|名字叫?|型[号號]|[账賬帐帳][号號户戶]|登[录錄]名)(?:[号號][码碼]?)?[是为為:： ]*$"
)
"""Nouns that own the value behind them, as in "order number 49927398716"."""

COMPOUND: Final = (
    r"(?:['’]s)?[ _-]?(?:stdin|compatible|directory|budget|partition|ingredients?|sauce|santa|garden|agent|service|weapon|admirer|menu|managers?|polic(?:y|ies)|rules?|fields?|column|prompt|page|resets?(?! ?(?:to|成|为))|recovery|hash\w*|generator|vault|protection|protected|hints?|length|strength"
    r"|reuse|store|algorithm|tool|apps?|form|flow|review|reviewer|ring|base|bucket|freeze|conduct|size|limit|count|price|bits|rotation|timeout|expir\w+|holder|game|jar"
    r"|recipe|banner|box|photo|office|card game|reader|authentication|auth|column|type(?![=\"' ]*[=\"'])|entry|support|school|and a public|signature|file|files|cracker|of conduct|_hash|question \d|takeaway|west|bridge)(?![a-z])"
    r"|[ ]?(?:[锁鎖](?!的?密[码碼]|[是：]?[\d#*])|管理|[学學]|子|策略|[规規][则則]|[长長]度|重置(?![成为了])|[错錯][误誤]|本|字段|哈希|算法|[红紅]包|[环環]网|[环環]網|桶|照片|[办辦]理|[数數]量?|上限|用量|[费費]用|[价價]格|[贴貼]|有效)"
)
VERBS: Final = r"(?:(?<![a-z])(?:types?|enter|use|uses|using|press|dial|punch(?: in)?|put(?: in)?|key in|with|try|input|tap|set|was|is|it['’]s|to)|[按输輸入用填拿把打]|[输輸]入)[ :：“\"'`]*$"
"""What stands before a value whose name follows."""

AT: Final = r"(?<![a-z])(?:in|on|since|until|before|after|between|about|around|over|under|every|than|by|from|up to|to|at)[ :#$€£~]*$|[到至在于過过]$"
"""A number behind one of these counts or dates something."""
CODE: Final = (
    r"(?:os|env|process|settings|config|cfg|self|args|secrets|request|options|params|user|token)\.[a-z_]|[\w.]{1,60}(?:\(|\[[\"'])|\$\{|\{\{|!vault|https?:|www\."
    r"|[?-]missing|n?(?:var)?char\(|\[masked"
)
NO_WORD: Final = frozenset(
    "a an the this that these those my your our his her their its it in on at of for from to by with as and or if when so but not no"
    " none null nil true false undefined never always also just still now too very only being been be is are was were has have had"
    " does do did what which where who why how whether whatever whichever there here going about same different wrong right correct"
    " incorrect invalid valid weak strong long short empty blank missing required needed optional secret safe secure insecure unsafe"
    " unknown public private ok okay fine good bad great old new all one hard easy case based because supposed must should can cannot"
    " will would could may might set given kept known gone out stuck found sent lost shown stolen broken hidden forgotten written taken left"
    " return raise yield str string int bool bytes text bearer minimum maximum older newer longer shorter ask you we they he she i me"
    " us them password passwd pwd token pin code key passphrase some any something anything nothing everything mine yours unique"
    " important stored simple complex long-lived random temporary permanent common obvious sensitive personal confidential"
    " available ready active case-sensitive dead tricky strange weird funny silly cool nice boring annoying mandatory necessary"
    " pretty quite really rather somewhat probably perhaps maybe almost already again monday tuesday wednesday thursday friday saturday sunday january february march april may june july august september october november december changes works expires soon later somewhere nowhere anywhere everywhere json xml today tomorrow yesterday"
    " expired changed leaked compromised protected encrypted see read write get make need about under behind below above inside"
    " more less most least other another each every both either neither two three four five six several many few"
    " manager reset hash policy field form app apps login wi-fi wifi pass box input error salt type http https url link email"
    " e-mail plain bcrypt aes rsa md5 vault bitwarden lastpass google github chrome icloud apple windows linux bug page ui"
    " generator hint id enter bearer integer number object boolean default yes hash hashing security generated case then than please"
    " thanks however though unfortunately anyway like value name username user admin root which bitte siehe nicht kein falsch voir pas incorrect unavailable until via per".split()
)
"""Words that follow a name without being its value: "the password is wrong"."""


# Rows of secrets that need no name: issuers' prefixes, and the places for secrets in URLs, headers and command lines.
#
# The forms are the issuers' documented ones. A row is tried only if the text contains its needle, and each pattern
# starts with a literal or a bounded class, so that a message without secrets costs a few substring searches. A
# look-behind after the literal lets a run of word characters be tried once, at its start, so that no text makes a
# pattern quadratic.

TOKENS: Final[tuple[tuple[str, str, re.Pattern[str]], ...]] = tuple(
    (kind, needle, re.compile(pattern, re.ASCII))
    for kind, needle, pattern in (
        ("anthropic key", "sk-ant-", r"sk-ant-(?<![\w-]sk-ant-)[\w-]{16,}"),
        ("openrouter key", "sk-or-", r"sk-or-(?<![\w-]sk-or-)v\d-[\w-]{16,}"),
        ("stripe key", "_live_", r"(?<!\w)[srp]k_live_[A-Za-z0-9]{10,}"),
        ("stripe key", "_test_", r"(?<!\w)[srp]k_test_[A-Za-z0-9]{10,}"),
        ("stripe key", "whsec_", r"whsec_(?<!\wwhsec_)[A-Za-z0-9_+/=]{10,}"),
        # Also the form of most OpenAI-compatible providers. The digit excludes hyphenated phrases.
        ("openai key", "sk-", r"sk-(?<![\w-]sk-)(?=[A-Za-z_-]*\d)[\w-]{16,}"),
        ("aws key", "A", r"(?<![A-Z0-9])(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
        ("github token", "gh", r"gh[opsur]_(?<!\wgh\w_)[A-Za-z0-9]{20,}"),
        ("github token", "github_pat_", r"github_pat_(?<!\wgithub_pat_)\w{20,}"),
        ("gitlab token", "glpat-", r"glpat-(?<![\w-]glpat-)[\w-]{18,}"),
        ("slack token", "xox", r"xox[abceoprs][-.](?<!\wxox\w[-.])[A-Za-z0-9-]{10,}"),
        ("slack token", "xapp-", r"xapp-(?<!\wxapp-)\d-[A-Za-z0-9-]{10,}"),
        ("slack webhook", "hooks.slack.com/", r"hooks\.slack\.com/(?:services|workflows)/[\w/]{10,}"),
        ("google key", "AIza", r"AIza(?<![\w-]AIza)[\w-]{30,}"),
        ("google token", "ya29.", r"ya29\.(?<![\w-]ya29\.)[\w-]{20,}"),
        ("google key", "GOCSPX-", r"GOCSPX-(?<![\w-]GOCSPX-)[\w-]{20,}"),
        ("hugging face token", "hf_", r"hf_(?<!\whf_)[A-Za-z0-9]{20,}"),
        ("npm token", "npm_", r"npm_(?<!\wnpm_)[A-Za-z0-9]{30,}"),
        ("pypi token", "pypi-", r"pypi-(?<![\w-]pypi-)AgE[\w-]{40,}"),
        ("sendgrid key", "SG.", r"SG\.(?<![\w-]SG\.)[\w-]{16,64}\.[\w-]{16,}"),
        ("groq key", "gsk_", r"gsk_(?<!\wgsk_)[A-Za-z0-9]{20,}"),
        ("grafana token", "glsa_", r"glsa_(?<!\wglsa_)\w{20,}"),
        ("xai key", "xai-", r"xai-(?<![\w-]xai-)[A-Za-z0-9]{20,}"),
        ("digitalocean token", "_v1_", r"(?<!\w)do[opr]_v1_[0-9a-f]{40,}"),
        ("alibaba cloud key", "LTAI", r"LTAI(?<!\wLTAI)[A-Za-z0-9]{12,30}(?!\w)"),
        ("tencent cloud key", "AKID", r"AKID(?<!\wAKID)[A-Za-z0-9]{28,40}(?!\w)"),
        ("telegram bot token", ":AA", r"(?<!\d)\d{8,10}:AA[\w-]{30,40}"),
        ("jwt", "eyJ", r"eyJ(?<![\w-]eyJ)[\w-]{8,}\.eyJ[\w-]{6,}(?:\.[\w-]*)?"),
        ("private key", "-----BEGIN", r"(?s)-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]{0,40}"
         r"PRIVATE KEY(?: BLOCK)?-----|\Z)"),  # without its end, all of the rest is the key
    )
)  # fmt: skip
"""(kind, needle, pattern). The order matters: special ones first."""

_ARGUMENT: Final = r"(?!\[masked)(?P<value>\"[^\"\n]{1,100}\"|'[^'\n]{1,100}'|[^\s\"'|;]{3,200})"
_MIXED: Final = r"(?=[^\s\d]{0,60}\d)(?=[^\sa-z]{0,60}[a-z])"
PLACED: Final[tuple[tuple[str, str, re.Pattern[str]], ...]] = tuple(
    (kind, needle, re.compile(r"(?i)" + pattern))
    for kind, needles, pattern in (
        ("password", "://", r"://[^\s/:@\[]{0,100}:(?!\[masked:)(?P<value>[^\s/]{1,200})(?=@[\w\[])"),
        ("password", "://", rf"https?://(?P<value>{_MIXED}[\w-]{{12,200}})(?=@[\w.-]{{3,100}})"),
        # Without a scheme only before a port or a path: `email:bob42@example.com` is an address.
        ("password", "@", r"(?<![\w.+:/@-])[\w.+-]{1,64}:(?P<value>(?=[^\s/@:\d]{0,60}\d)[^\s/@:]{4,128})"
         r"(?=@[\w.-]{1,100}(?::\d{2,5}\b|/\w))"),
        ("password", "@", r"(?<![\w.+:/@-])[\w.+-]{1,64}@[\w-]{1,60}\.[\w.-]{1,60}:(?P<value>(?=[^\s/@:\d]{0,60}\d)[^\s/@:]{6,128})(?!\S)"),
        ("password", "-u", r"(?:-u|--user)(?<!\S-u)(?<!\S--user)[ =]?[\"']?[\w.@+-]{1,64}:(?![\d\[]+\b)(?P<value>[^\s\"'\[]{3,128})"),
        ("bearer token", "bearer", r"\bbearer[ \t]{1,8}(?=[^\s\d]{0,200}\d)(?=[\d.~+/=-]{0,200}[a-z])(?P<value>[\w.~+/=-]{8,})"),
        ("password", "authorization", r"\bauthorization[\"']?[ \t]{0,4}[:=][ \t]{0,4}[\"']?(?:basic[ \t]{1,8}(?P<value>[A-Za-z0-9+/=]{8,})"
         rf"|(?:[a-z-]{{2,20}}[ \t]{{1,4}})?(?!\[masked|[$<{{]){_MIXED}(?P<other>[\w.~+/=-]{{8,400}}))"),
        ("cookie", "cookie", r"(?<![a-z])(?:set-)?cookie[ \t]{0,4}:[ \t]{0,4}(?P<value>(?=[\w.-]{1,60}=)[^\n\"']{1,4096})"),
        ("cookie", "curl", r"\bcurl\b[^\n|]{0,300}?[ \t](?:-b|--cookie)[ =]?[\"']?(?P<value>[\w.-]{1,60}=[^\n\"']{3,4096}?)(?=[\"'\s]|\Z)"),
        ("cookie", "document.cookie", r"document\.cookie[ \t]?=[ \t]?[\"'](?P<value>[^\"'\n]{3,4096})"),
        ("session id", "sess sid srf", r"(?<![a-z])(?:(?:php|j)?sess(?:ion)?[_ -]?(?:id|key)|phpsessid|(?:session|sess)(?==)|(?:connect\.)?sid"
         r"|[cx]srf[_-]?token)[\"']?(?:[ \t]{0,2}[=:：][ \t]{0,2}|[ \t]is[ \t])[\"']?"
         r"(?=[^\s\d]{0,60}\d)(?=[^\sa-z]{0,60}[a-z])(?P<value>[\w%.~+/=-]{12,})"),
        ("api key", "header", r"--?h(?:eader)?[ =][\"'](?=[^\"'\n:]{0,40}(?:key|token|secret|auth))[\w-]{1,60}:[ \t]?(?P<value>[^\"'\n]{6,400})"),
        ("password", "mysql mariadb", r"\b(?:mysql\w{0,10}|mariadb[\w-]{0,10})\b[^\n|;]{0,300}?[ \t][\"']?-p(?![ \t$])" + _ARGUMENT),
        ("password", "passin storepass keypass sshpass 7z rar zip redis-cli sqlcmd bcp smbclient plink pscp htpasswd mosquitto_ mongo ldap login"
         " openssl keytool gpg", r"\b(?:sshpass|7z[ar]?|unrar|rar|zip|unzip|redis-cli|sqlcmd|bcp|smbclient|plink|pscp|htpasswd|mosquitto_\w{3}"
         r"|mongo(?:sh|dump|restore|export|import)?|ldap\w{3,10}|(?:docker|podman|helm registry|oc|az|npm) login|openssl|keytool|gpg2?)\b"
         r"[^\n|;]{0,300}?[ \t]-(?:(?:passin|passout|pass|storepass|keypass|pw|p|a|w|k)(?:[ \t]{1,4}|=)(?:pass:)?|p(?!ass|w))(?![-$ \t])"
         + _ARGUMENT),
        ("password", "-p", r"(?<!\S)-p(?!ython|ypy|ort|ath|rint|rofile|ackage|g\d|arallel|rocs?\d)(?=[^\s\d]{0,60}\d)(?=[!-/;-@\[-`{-~\d]{0,60}[a-z])"
         r"(?P<value>[^\s\"'|;/\[]{6,100})(?!\S)"),
        ("password", "sqlplus oracle", r"\b(?:sqlplus[ \t]{1,4}|jdbc:oracle:\w{1,10}:)[\w$#]{1,40}/(?!\[masked)(?P<value>[^\s/@]{2,100})(?=@|\s|\Z)"),
        ("password", ":5432: :5433: :*:", r"(?m)^[\w.*-]{1,100}:(?:\d{2,5}|\*):[\w.*-]{1,60}:[\w.*-]{1,60}:(?!\[masked)(?P<value>[!-~]{3,200})$"),
        ("password", "securestring", r"ConvertTo-SecureString[ \t]{1,4}(?:-String[ \t]{1,4})?(?![$-])" + _ARGUMENT),
        ("password", "identified auth login setpassword", r"(?:\bidentified[ \t]{1,4}(?:with[ \t]{1,4}\w{1,40}[ \t]{1,4})?by[ \t]{1,4}"
         r"|(?:\bauth[ \t]{0,4}=[ \t]{0,4}\(|basic_?auth\(|\blogin\()[ \t]{0,4}[\"'][^\"'\n]{1,80}[\"'],[ \t]{0,4})"
         r"(?P<value>\"(?!\[masked)[^\"\s]{3,200}\"|'(?!\[masked)[^'\s]{3,200}')"),
        ("password", "requirepass masterauth config", r"(?m)(?:^[ \t]{0,8}(?:requirepass|masterauth)|config(?:ure)?[ \t]+set[ \t]+[\w.-]{0,40}"
         r"(?:password|secret|token|key)[\w.-]{0,20})[ \t]{1,4}(?![$<{%(=:])" + _ARGUMENT),
        ("password", "passwd sudo", r"\becho[ \t]{1,4}(?:-n[ \t]{1,4})?[\"']?(?:[\w.-]{1,40}:)?(?!\[masked|\$)(?P<value>[^\s\"'|:$]{3,200})"
         r"(?=[\"']?[ \t]{0,4}\|[ \t]{0,4}(?:sudo[ \t]{1,4}(?:-\w[ \t]{1,4}){0,3}-S\b|(?:sudo[ \t]{1,4})?(?:chpasswd|passwd)\b))"),
        ("password", "<<< net ssh-keygen openssl htpasswd desktop freerdp", r"\b(?:sudo[ \t]{1,4}-S[^\n<|]{0,100}<<<|net[ \t]{1,4}user[ \t]{1,4}\w[\w.-]{0,40}"
         r"|net[ \t]{1,4}use[ \t][^\n]{1,200}?/user:\S{1,80}|ssh-keygen\b[^\n|;]{0,200}?[ \t]-N|openssl[ \t]{1,4}passwd(?:[ \t]{1,4}-[\w-]{1,10}){0,3}"
         r"|htpasswd[ \t]{1,4}-\w{0,4}b\w{0,4}[ \t]{1,4}\S{1,200}[ \t]{1,4}\S{1,80}|(?:rdesktop|xfreerdp|wfreerdp)\b[^\n|;]{0,200}?[ \t]-p)"
         r"[ \t]{1,4}(?![-/$*])" + _ARGUMENT),
        ("password", "/p: rediscli_auth", r"(?:\b\w?freerdp\b[^\n|;]{0,200}?[ \t]/p:|\brediscli_auth=)" + _ARGUMENT),
        ("password", "u: u= user: user=", rf"(?<![a-z])u(?:ser)?[ \t]{{0,2}}[:=][ \t]{{0,2}}[\w.@-]{{1,64}}[ \t,;/]{{1,3}}p(?:ass)?[ \t]{{0,2}}[:=][ \t]{{0,3}}(?P<value>{_MIXED}[!-~]{{5,64}})"),
        # What nobody types but a password: all four classes of characters in one word.
        ("password", "! # $ % ^ & * ~ ?", r"(?-i:(?<![\w!#$%^&*~?@/=.:\"'(\[{<+-])(?=[^\sA-Z]{0,30}[A-Z])(?=[^\sa-z]{0,30}[a-z])(?=[^\s\d]{0,30}\d)"
         r"(?P<value>(?!\S{0,40}(?:%[\da-fA-F]{2}|&#?\w+;))(?=[A-Za-z0-9]{1,30}[!#$%^&*~?])[A-Za-z0-9!#$%^&*~?-]{8,32})(?![\w!#$%^&*~?@/=:\"')(\]}>+]))"),
        ("password", "-u", r"[ \t]-U[ \t]{0,4}[\w.-]{1,40}%" + _ARGUMENT),
    )
    for needle in needles.split()
)  # fmt: skip
"""(kind, needle of the lower-case text, pattern with the group value)."""

"""Forms of passwords and codes in Chinese, in simplified and traditional characters."""

import re

__all__ = ["CHINESE_FORMS", "CHINESE_VERBS", "ENGLISH_NAMES"]

CHINESE_NEEDLES = (
    *("pin码", "pin碼", "密语", "密語"),
    *(
        "密码",
        "密碼",
        "口令",
        "密钥",
        "密鑰",
        "秘钥",
        "秘鑰",
        "金鑰",
        "私钥",
        "私鑰",
        "令牌",
        "暗号",
        "暗號",
        "暗语",
        "暗語",
    ),
    *(
        "验证码",
        "驗證碼",
        "授权码",
        "授權碼",
        "取件码",
        "取件碼",
        "动态码",
        "動態碼",
        "校验码",
        "校驗碼",
        "短信码",
        "短信碼",
    ),
    *(
        "提取码",
        "提取碼",
        "解锁码",
        "解鎖碼",
        "通行码",
        "通行碼",
        "安全码",
        "安全碼",
        "开门码",
        "開門碼",
        "助记词",
        "助記詞",
    ),
)
ENGLISH_NAMES = ("token", "key", "secret", "pin", "passw")
CHINESE_VERBS = "是為为：＝改換换設设叫"
# Text after a name that makes it another word: a password manager, cryptography.
_OTHER_WORD = (
    r"(?!管|學|学|重置|策略|長度|长度|器|工具|軟件|软件|本|箱|库|庫|生成|锁|鎖"
    r"|哈希|散列|雜湊|算法|加密|保[护護]|字段|[ \t]{0,2}manager)"
)
_NAME = rf"(?:{'|'.join(CHINESE_NEEDLES)}){_OTHER_WORD}"
_CODE_NAME = (
    r"(?:密[码碼]|口令|密[钥鑰]|[验驗][证證][码碼]|授[权權][码碼]|[动動][态態][码碼]|校[验驗][码碼]|短信[码碼]"
    r"|提取[码碼]"
    r"|(?i:pin)[ \t]?[码碼]|解[锁鎖][码碼]|取件[码碼]|安全[码碼]|通行[码碼]|[开開][门門][码碼])"
)
_SAYS = (
    r"(?:(?:现在|現在|已经|已經|暂时|暫時|临时|臨時|目前|先|还|還|就|都|仍然|应该|應該)?"
    r"(?:是|为|為|等于|等於|叫|改成了?|改[为為]了?|[换換]成了?|[设設]成了?|[设設][为為]|[设設][置定][为為成])"
    r"[ \t]{0,4}[:：]?"
)
_VERB = rf"{_SAYS}|[:：=＝→⇒➜➔➡⟶]|[-=]>)"
# Also alone on the next line.
_THEN = (
    r"(?:[ \t]{0,4}\n{1,3}[ \t]{0,8}(?:[-*•>][ \t]{1,4})?(?:```\w{0,10}\n)?"
    r"(?=[^\s]{2,64}[ \t]{0,4}(?:\n|\Z))|[ \t]{0,4})"
)
_QUOTED = (
    r"\"[^\"\n]{1,200}\"|'[^'\n]{1,200}'|`[^`\n]{1,200}`|“[^”\n]{1,200}”|‘[^’\n]{1,200}’|「[^」\n]{1,200}」"
    r"|『[^』\n]{1,200}』|【[^】\n]{1,100}】|《[^》\n]{1,100}》|（[!-~][^）\n]{1,60}）|\([!-~][^)\n]{1,60}\)"
)
_TOLD = re.compile(
    rf"(?P<lead>(?P<name>{_NAME})(?![ \t]{{0,4}}\[masked)(?:[（(][^()（）\n]{{0,20}}[)）])?"
    rf"[^\n，。；,;!！?？:：=是为為→]{{0,8}}?[ \t]{{0,4}}{_VERB}{_THEN})(?!\[masked|https?://|1[Pp]assword)"
    rf"(?P<value>{_QUOTED}|[!-~\u00c0-\u052f]{{3,400}})",
)
# "token 是 …": an English name in a Chinese sentence.
_TOLD_OF_ENGLISH = re.compile(
    r"(?i)(?P<lead>(?<![a-z])(?P<name>token|api ?key|secret|pin ?[码碼]|pin|passw(?:or)?d)(?![ \t]{0,4}\[masked"
    r"|[ \t]?(?:[数數][量目]?|上限|[总總][数數]"
    r"|用量|[长長]度|限[制额額]|消耗|[费費]用|[价價]格))"
    r"(?:[（(][^()（）\n]{0,20}[)）])?[^\n，。；,;!！?？:：=是为為→\[]{0,8}?[ \t]{0,4}"
    rf"{_SAYS}|：|＝){_THEN})(?!\[masked)(?P<value>{_QUOTED}|[!-~\u00c0-\u052f]{{3,400}})",
)
_BARE = re.compile(
    rf"(?P<lead>{_CODE_NAME}(?:[ \t，,]{{0,4}}|[ \t]{{0,4}}\n|[（(]))(?!\[masked)"
    r"(?P<value>(?=[a-zA-Z!-/:-@\[-`{-~]{0,60}\d)[!-'*-~]{4,64})(?![!-'*-~年月日号點点位个個])"
)
# A passphrase may be in Han: "口令：天王盖地虎". Not a question, not a state.
_NOT_SAID = (
    r"(?![什甚多哪誰谁啥几幾怎不没沒错錯對对由用以需必非空否旧舊新正可应應要被我你妳他她它])"
    r"(?![一这這那请請输輸填见見很太最加妈媽爸])"
    r"(?![\u4e00-\u9fff]{1,30}的(?![\u4e00-\u9fff\w]))"
)
_WORD = re.compile(
    rf"(?P<lead>(?:口令|暗[号號]|[暗密][语語]|助[记記][词詞]|密[码碼])(?:[是为為]|[是为為]?[ \t]{{0,4}}[:：])"
    rf"(?:{_THEN}))"
    rf"(?:{_NOT_SAID}|(?=[零〇一二三四五六七八九十]{{4}}))(?P<value>[\u4e00-\u9fff〇]{{2,20}})(?![吗嗎么麼呢])"
)
_WORD_WITH_SIGNS = re.compile(
    rf"(?P<lead>(?:口令|暗[号號]|密[码碼])[ \t]{{0,4}}[:：]{_THEN}){_NOT_SAID}"
    r"(?![^\s，。；]{0,30}(?:位|字符|字元|字母|数字|數字|[长長]度|[错錯]|忘|重置|[见見]|[请請]|参考|參考))"
    r"(?=[^\s，。；]{0,30}[\dA-Za-z])(?P<value>[\u4e00-\u9fff][^\s，。；！？]{2,40})"
)
# "我的旧密码，swordfish，不用了": only letters, if it is the speaker's.
_ASIDE = re.compile(
    r"(?i)(?P<lead>[我咱][^\n，。；,;！？!?]{0,8}(?P<name>密[码碼]|口令)[ \t，,]{1,4})"
    r"(?!\[masked|(?:manager|reset|app|wi-?fi|e-?mail|login|hash|policy|generator|token|admin|bug|error)\b)"
    r"(?P<value>[a-z][!-+\--~]{3,40})(?=[ \t]{0,4}(?:[，,。]|\n|\Z)|[ \t]{1,4}[不没沒已旧舊太忘过過])"
)
# "hunter2 是我的密码", "用 hunter2 当密码".
_WORD_BEFORE = r"(?P<value>“[^”\n]{1,60}”|「[^」\n]{1,60}」|\"[^\"\n]{1,60}\"|(?<![!-~])(?!\[masked)[!-~]{4,64}?)"
_BEFORE = re.compile(
    rf"(?i){_WORD_BEFORE}[ \t，,]{{0,4}}(?:这|這|它)?[就才则則也都]?(?:是|为|為|=)[ \t]{{0,2}}"
    r"(?=[我咱你您他她它公家新旧舊这這那爸妈媽老登开開手银銀邮郵支账賬帐帳Ww微])"
    rf"[^\n，。；,;！？!?是]{{0,16}}?(?P<name>{_NAME}|pin ?[码碼])(?![的格位框栏欄])"
)
_USED = re.compile(
    rf"用[ \t]{{0,2}}{_WORD_BEFORE}[ \t]{{0,4}}(?:来|來)?(?:当|當|做|作为|作為|作)"
    rf"[^\n，。；,;！？!?]{{0,12}}?(?P<name>{_NAME})"
)
# "账号 bob 密码 swordfish": after an account, any word is a password.
_ACCOUNT = re.compile(
    r"(?i)(?P<lead>(?:[账賬帐帳][号號户戶]|用[户戶]名|登[录錄陆陸]名|username|user)"
    r"[ \t]{0,2}[:：是为為]?[ \t]{0,2}[\w.@+-]{1,64}"
    r"[ \t，,、;；/\n]{0,4}(?P<name>密[码碼]|口令)[ \t]{0,2}[:：是为為]?[ \t]{0,2})(?!\[masked)(?P<value>[!-~]{3,64})"
)

CHINESE_FORMS: tuple[tuple[tuple[str, ...], re.Pattern[str]], ...] = (
    (CHINESE_NEEDLES, _TOLD),
    (ENGLISH_NAMES, _TOLD_OF_ENGLISH),
    (CHINESE_NEEDLES, _ACCOUNT),
    (CHINESE_NEEDLES, _BARE),
    (CHINESE_NEEDLES, _WORD),
    (CHINESE_NEEDLES, _WORD_WITH_SIGNS),
    (CHINESE_NEEDLES, _ASIDE),
    (CHINESE_NEEDLES, _BEFORE),
    (CHINESE_NEEDLES, _USED),
)

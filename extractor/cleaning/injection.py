"""Finds prompt injections: text that commands the memory or its model.

Such text is a quotation or an attack, and never a memory. The patterns know the usual forms in English and Chinese.
They are one defence of several: a model's answer is also checked against the user's own words.

A text is searched as it is and decoded: without escapes, hidden or unusual letters, emphasis and line breaks within a
sentence, and in simplified characters.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator
from typing import Final

from .layers import views

__all__ = ["commands_the_machine", "readings", "without", "without_commands"]

_ENGLISH = re.compile(
    r"\b(?:ignore|disregard|forget|override|bypass|skip|drop|discard)\b[^.!?\n]{0,30}"
    r"\b(?:previous|prior|above|earlier|preceding|your|all|any|the|these|system)\b[^.!?\n]{0,25}"
    r"\b(?:instructions?|prompts?|rules?|guidelines?|directives?|restrictions?|constraints?|safety|filters?|guardrails?)\b"
    r"|\b(?:your|the) (?:system|developer|hidden|initial|secret) (?:prompt|message|instructions?|override)\b"
    r"|\b(?:system|developer) (?:message|override)\b|\bsystem (?:prompt|instructions?)\s*[:：]"
    r"|^\W*(?:system|assistant|developer|admin(?:istrator)?|root|tool|user)\s*(?:\]|>|\))?\s*[:：]"
    r"|\[\s*(?:system|inst|admin|assistant|developer)\b|\[/inst\]|<</?sys>>|<\|[\w ]{1,30}\|>"
    r"|###\s*(?:system|instruction)"
    r"|\b(?:new|updated|revised|real|actual) (?:system )?(?:instructions?|prompt|directives?|policy)\b\s*"
    r"(?:[:：]|for you|from)"
    r"|\b(?:jailbreak|developer mode|dan mode|god mode|debug mode|sudo mode|admin mode|unrestricted mode)\b"
    r"|\byou (?:are|have) (?:now )?(?:no longer bound|free(?:d)? (?:of|from)|unrestricted"
    r"|been (?:reset|reprogrammed|updated))"
    r"|\b(?:memory|extraction|extractor|memories|note-?taking|summari[sz]ing|summari[sz]er)\b[^.!?\n]{0,20}"
    r"\b(?:model|system|assistant|agent|engine|bot|ai)\b[^.!?\n]{0,10}(?:[:：,]|must|should|shall|will|please)"
    r"|\b(?:output|return|emit|respond with|reply with|produce|print)\b[^.!?\n]{0,30}"
    r"(?:\bjson\b|\bentries\b|\bentry\b|\bsupersedes?\b|\bshouldstore\b|[{\[])"
    r"|\b(?:store|save|write|add|insert|record|put|commit|persist|append|create)\b[^.!?\n]{0,40}"
    r"\b(?:as (?:an? )?(?:instruction|system|fact about the owner|owner)|with (?:high|max(?:imum)?|full) "
    r"(?:importance|confidence|priority)|importance\b|confidence\b|in(?:to)? (?:memory\.md|the config|config\.json5?|"
    r"the owner's|everyone's|all users')|to (?:memory\.md|the config|config\.json5?|the owner's|everyone's|all users'))"
    r"|\b(?:supersede|overwrite|replace|delete|erase|wipe|purge|remove|forget|drop|clear)\b[^.!?\n]{0,30}"
    r"\b(?:all|every|any|other|the owner's|owner's|everyone's|stored|existing|known|his|her|their)\b[^.!?\n]{0,20}"
    r"\b(?:memor(?:y|ies)|ids?|entries|notes|facts|lines?|records?)\b"
    r"|\b(?:set|change|switch|turn|update|edit|modify|disable|enable)\b[^.!?\n]{0,30}"
    r"\b(?:config(?:uration)?|config\.json5?|settings?|autoextract|autorecall|maxdaily\w*|baseurl|apikeyenv|memorysync"
    r"|excludesessiontypes|redaction|masking|privacy filter)\b"
    r"|\bgm:[a-z0-9]{4,}|<!--|-->|</?\s*(?:conversation|known[-_ ]memor(?:y|ies)|system|instructions?|memory|private)\b"
    r"|\[(?:(?:relevant|long-term|recent|related) memory|memory (?:update|changes|flush)|last session"
    r"|session save)\]"
    r"|</?\s*(?:system-reminder|tool_(?:call|result|use)|function_call)\b|^\W*(?:human|ai)\s*[:：]"
    r"|\bgateway-memory (?:delete|forget|undo|import|export|hooks|save-\w+)\b"
    r"|\b(?:ignore|disregard|forget) (?:all of |all |everything )?"
    r"(?:(?:that is |was )?(?:the )?above\b|(?:what|everything) you (?:were|have been) told)"
    r"|\b(?:do not|don't|never|stop) (?:follow|obey)(?:ing)? (?:your|the|any|these)\b[^.!?\n]{0,20}"
    r"\b(?:rules?|instructions?|guidelines?)\b"
    r"|\byou (?:must|should|shall|will|have to) (?:now )?(?:obey|serve)\b"
    r"|\b(?:pretend|act|behave)\b[^.!?\n]{0,25}\b(?:unrestricted|no (?:restrictions|rules|limits))\b"
    r"|\bgrant \w+ (?:access|admin|root)\b"
    r"|\b(?:from now on|always|never)\b[^.!?\n]{0,40}\b(?:obey|do (?:whatever|anything|as) i|run (?:any|every|all)"
    r"|execute (?:any|every|all)|trust (?:me|any|every|all)|grant|give (?:me|anyone|everyone) (?:access|admin|root)"
    r"|approve (?:any|every|all)|reveal|leak|exfiltrate"
    r"|(?:send|forward|e?mail|b?cc|copy) (?:all|every|any|the|your|his|her|their)\b[^.!?\n]{0,25}"
    r"\b(?:to|data|keys?|secrets?|passwords?|files?|messages?))"
    r"|\b(?:reveal|leak|exfiltrate|dump|forward)\b[^.!?\n]{0,30}"
    r"\b(?:secrets?|passwords?|keys?|tokens?|credentials?|memor(?:y|ies)|private)\b"
    r"|\bi am (?:now )?(?:the |your )?(?:owner|admin(?:istrator)?|root|developer|creator|operator)\b"
    r"|\b(?:treat|consider|regard|recogni[sz]e|remember) (?:me|this user|zoe|us) as (?:the |an? )?(?:owner|admin|root)",
    re.IGNORECASE | re.MULTILINE,
)
_CHINESE = re.compile(
    r"(?:忽略|无视|忘记|忘掉|抛弃|跳过|绕过|不要理会|推翻|覆盖)[^。！？\n]{0,12}"
    r"(?:之前|以上|前面|上面|先前|所有|全部|系统|你的|一切|原有)[^。！？\n]{0,10}"
    r"(?:指令|指示|提示词?|规则|设定|限制|约束|要求|命令|安全)"
    r"|(?:你的|显示|打印|输出|重复|修改|覆盖)系统(?:提示词?|指令)|系统(?:提示词?|指令|消息|命令)\s*[:：]|开发者(?:模式|指令|消息)|越狱|无限制模式|上帝模式|调试模式|管理员模式"
    r"|^\W*(?:系统|助手|管理员|开发者|用户)\s*[\]】>）)]?\s*[:：]|[\[【](?:系统|指令|管理员|助手|开发者)"
    r"|(?:新的?|更新后的|真正的)(?:系统)?(?:指令|提示词|规则)\s*[:：]"
    r"|(?:记忆|提取|摘要)(?:模型|系统|助手|引擎|程序|机器人|模块)[^。！？\n]{0,10}(?:[:：，,]|必须|应该|请|要|会|需要)"
    r"|(?:输出|返回|回复|打印)[^。！？\n]{0,15}(?:json|JSON|entries|条目|supersedes|[{\[])"
    r"|(?:存|写|记|保存|添加|加|插入|录入)[^。！？\n]{0,15}(?:为|成|到|进|入)[^。！？\n]{0,8}"
    r"(?:指令|系统|MEMORY\.md|配置|config|主人的|所有人的|别人的|最高|全局)"
    r"|(?:最高|最大|满)(?:重要性|置信度|优先级)|(?:重要性|置信度)\s*(?:设|为|是|=|:|：|1)"
    r"|(?:删除|清空|清除|覆盖|替换|取代|抹掉|销毁|忘掉|忘记)[^。！？\n]{0,12}"
    r"(?:所有|全部|每一?条|主人的|别人的|其他人?的?|已有的?|现有的?|他的|她的|一切)[^。！？\n]{0,8}(?:记忆|条目|记录|编号|笔记|内容)"
    r"|(?:修改|更改|改变|打开|关闭|禁用|启用|调整)[^。！？\n]{0,15}(?:配置|设置|config|参数|开关|脱敏|隐私过滤|baseUrl|maxDaily)"
    r"|(?:把|将)[^。！？\n]{0,15}(?:配置|设置|config|参数|开关|脱敏|隐私过滤|baseUrl|maxDaily)[^。！？\n]{0,40}(?:改|设|关|开|禁)"
    r"|(?:以后|永远|总是|从现在起|从今以后)[^。！？\n]{0,15}(?:服从|听从(?:我|任何)|执行(?:任何|所有|一切)"
    r"|信任(?:任何|所有|一切)|批准(?:任何|所有|一切)|泄露|透露|发送(?:所有|全部|任何)|把(?:所有|全部)[^。！？\n]{0,12}(?:发|传|交)给)"
    r"|(?:泄露|透露|导出|转发|公开)[^。！？\n]{0,15}(?:密码|密钥|秘密|令牌|记忆|隐私|凭证)"
    r"|我(?:现在)?(?:就)?是(?:你的)?(?:主人|管理员|开发者|创造者|超级用户|root)"
    r"|(?:忽略|无视|忘记|忘掉|不要理会)(?:掉)?(?:以上|上面|之前|前面|先前)的?(?:所有|一切|全部)?(?:内容|的话|指示)"
    r"|(?:忽略|无视|忘记|忘掉)你?(?:之前|以前|先前)?(?:收到|被告知|听到)的?(?:一切|所有|全部)"
    r"|(?:不要|别|不得|停止)(?:再)?(?:遵守|遵循|服从)[^。！？\n]{0,8}(?:规则|指令|指示|限制|设定)"
    r"|你(?:必须|应该|只能|要)(?:服从|听命|听从)|你(?:现在)?(?:没有任何|不受任何)限制|(?:不受限制|没有限制)的(?:AI|助手|模型)"
    r"|(?:给|授予)[^。！？\n]{0,10}(?:管理员|主人|root)(?:的)?权限"
    r"|(?:把|将)?我(?:当作|视为|认作|当成)[^。！？\n]{0,4}(?:主人|管理员)",
    re.MULTILINE | re.IGNORECASE,
)


_SIMPLIFIED: Final = str.maketrans(
    "無視記拋棄過繞開會蓋統設則約對這個員條戶權啟說話從現執後總聽轉發給刪編號筆錄內關閉調參數脫濾導鑰祕證創級當認為裡應該請體寫報單獨別裏與門時間來碼電臺賬賴釋覽讀壞輸動製復舊啓顯並們誰還將進響優屬憶隱傳洩訊",
    "无视记抛弃过绕开会盖统设则约对这个员条户权启说话从现执后总听转发给删编号笔录内关闭调参数脱滤导钥秘证创级当认为里应该请体写报单独别里与门时间来码电台账赖释览读坏输动制复旧启显并们谁还将进响优属忆隐传泄讯",
)
"""Traditional characters of the words above."""
_LOOK_ALIKES: Final = str.maketrans(
    "аеорсухіјѕԁѵԛԝһӏвкмнтгАЕОРСУХІЈЅВНКМТԚԜҺӀαεινορτυχκωγησΑΒΕΖΗΙΚΜΝΟΡΤΥΧօսհոցɑɡıʟᴀʙᴄᴅᴇɢʜɪᴊᴋᴍɴᴏᴘʀᴛᴜᴠᴡʏᴢꜰꜱ",
    "aeopcyxijsdvqwhlbkmhtrAEOPCYXIJSBHKMTQWHIaeivoptuxkwynoABEZHIKMNOPTYXouhngagilabcdeghijkmnoprtuvwyzfs",
)
"""Cyrillic, Greek, Armenian and phonetic letters that look like Latin ones."""
_FOLDED: Final = re.compile(r"[^\x00-\x7f\u2e80-\ua4cf\uac00-\ud7ff\uf900-\ufaff\ufe30-\uff0f\uff1a-\uff20]+")
"""Letters outside ASCII and Chinese. What marks or styles them is dropped."""
_SPELT: Final = re.compile(r"(?<!\w)\w(?:[ .·-]\w)+(?!\w)")
_SPELT_HAN: Final = re.compile(r"(?<=[\u4e00-\u9fff])[^\S\n]+(?=[\u4e00-\u9fff])")
_MARKS: Final = re.compile(r"</?[a-zA-Z][^<>\n]{0,60}>|[*_`~]+")
_BROKEN: Final = re.compile(r"(?<=[\w,，])\s*\n\s*(?=\w)")
_BLANKS: Final = re.compile(r"[^\S\n]+")


def commands_the_machine(text: str) -> bool:
    """Return whether a text addresses the memory's machinery, in English or Chinese, in any encoding."""
    return any(_ENGLISH.search(said) or _CHINESE.search(said) for said in readings(text))


def readings(text: str) -> Iterator[str]:
    """Yield each text that somebody may read in it: decoded, without marks, and in plain letters."""
    for view in views(text):
        yield view.text
        plain = _FOLDED.sub(_folded, view.text).translate(_LOOK_ALIKES)
        plain = _SPELT.sub(lambda spelt: re.sub(r"[ .·-]", "", spelt[0]), plain)
        plain = _BLANKS.sub(" ", _BROKEN.sub(" ", _MARKS.sub(" ", plain.translate(_SIMPLIFIED))))
        plain = _SPELT_HAN.sub("", plain)
        if plain != view.text:
            yield plain


def _folded(match: re.Match[str]) -> str:
    plain = unicodedata.normalize("NFKD", match[0])
    return "".join(character for character in plain if not unicodedata.combining(character))


_SENTENCE = re.compile(r"(?<=[.!?])(?=\s)|(?<=[。！？\n])")


def without_commands(text: str) -> str:
    """Return the text without sentences that address the machine; "" where the rest as a whole still does."""
    return without(text, commands_the_machine)


def without(text: str, unfit: Callable[[str], bool]) -> str:
    """Return the text without sentences that are unfit; "" where the rest as a whole still is."""
    if not unfit(text):
        return text
    left = "".join(part for part in _SENTENCE.split(text) if not unfit(part)).strip()
    return "" if unfit(left) else left

"""The phrases by which people ask, report and put off, in English and Chinese."""

import re
from typing import Final

__all__ = [
    "ASKS",
    "FILLER",
    "LATER",
    "NOT_DONE",
    "NOT_YET",
    "OFFERS",
    "OPENER",
    "PLEASE",
    "REPORTS",
    "SET_ASIDE",
    "TO_REMEMBER",
    "USER_REPORTS",
]

ASKS: Final = re.compile(
    r"\b(?:please|(?:can|could|would|will) (?:you|we|i)|help me|(?:show|tell|give|get|send|find) me|let's|i need you to"
    r"|i(?:'d| would) like (?:you to|to know)|any (?:tips|ideas|advice|suggestions))\b"
    r"|^(?:add|book|build|cache|calculate|change|check|clean|compare|convert|create|debug|delete|deploy|describe|design|draft|explain|find"
    r"|fix|generate|implement|install|list|look|make|migrate|move|open|plan|prepare|proofread|recommend|refactor|remove"
    r"|rename|replace|review|rewrite|run|search|set up|shorten|show|sort|split"
    r"|suggest|summari[sz]e|test|translate|update|upgrade"
    r"|use|write)\b(?! (?:will|is|was|has|of)\b)"
    r"|帮[我忙]|麻烦|给我|替我|[请求](?:你|您|把|帮|用|问|给|再|先|推荐|解释|写|列|改|查)|能不能|可不可以|[吗呢]$"
    r"|什么|怎么|如何|为什么|为啥|哪[个里些家种天位款]|多少|几[点个号天次]"
    r"|(?:^|[，,：:])(?:再|先|然后|现在|接着|顺便)?(?:把|将|写|做|改|查|翻译|推荐|解释|总结|安排|生成|修|加|删|列|讲|说说|看看|设计|分析"
    r"|比较|介绍|整理|检查|运行|部署|润色|画|算|找|试|来[一几个点份])",
    re.IGNORECASE,
)
TO_REMEMBER: Final = re.compile(
    r"^(?:please |also |and )*(?:remember|keep in mind|note|don't forget|forget) (?!to )|记住|记下|记一下|忘掉|忘记",
    re.IGNORECASE,
)
_DONE_ENGLISH: Final = (
    r"added|adjusted|applied|arranged|booked|built|changed|checked|cleaned|completed|configured|converted|corrected"
    r"|created|deleted|deployed|drafted|extended|fixed|formatted|generated|implemented|installed|made|merged|migrated"
    r"|moved|prepared|published|pushed|put|ran|refactored|removed|renamed|replaced|rewritten|rewrote|run|saved|scheduled"
    r"|sent|set up|shortened|solved|split|switched|tested|translated|updated|upgraded|verified|wired|written|wrote"
)
_DONE_CHINESE: Final = (
    r"改|写|做|加|修|建|弄|换|存|放|发|订|设|配|装|跑|传|删|搬|拆|整理|更新|部署|生成|安排|完成|修复|修改|创建|添加|删除|替换"
    r"|迁移|去掉|去除|清洗|汇总|导出|翻译|统计|拆分|配置|安装|提交|上线|发布|保存|调整|优化|重构|合并|测试|升级|预订|发送|准备|制定"
)
REPORTS: Final = re.compile(
    r"^(?:all )?(?:done|finished)\b"
    rf"|^(?:{_DONE_ENGLISH})\b(?! (?:you|to you))"
    rf"|\b(?:i|we)(?:'ve| have)? (?:also |now |just |already |successfully |then )*(?:{_DONE_ENGLISH})\b"
    rf"|\b(?:is|are|was|were|has been|have been) (?:now |all |already )?(?:done|{_DONE_ENGLISH})\b"
    r"|\btests? (?:now )?pass(?:es|ed)?\b|\bnow (?:works|takes|pass(?:es)?|uses?|returns?|skips?)\b"
    rf"|已经?(?:\w{{0,6}}?)(?:{_DONE_CHINESE})|(?:{_DONE_CHINESE})(?:好了|完了|成了|上了|完毕)|(?:{_DONE_CHINESE})了"
    rf"|为[您你](?:{_DONE_CHINESE})|搞定了?|全部通过|通过了",
    re.IGNORECASE,
)
USER_REPORTS: Final = re.compile(
    r"\b(?:fixed it|(?:that|it) (?:now )?work(?:s|ed)|works now|solved it)\b|[^\W\d_]好了|搞定|正常了|解决了|成功了",
    re.IGNORECASE,
)
"""A user who says what they did tells of themselves; these say what came of the talk."""
NOT_DONE: Final = re.compile(
    r"\b(?:not|n't|never|if|once|when|should|could|would|can|will|may|might|must|need to)\b"
    r"|[没未不别]|如果|一旦|之后|可以|建议|应该",
    re.IGNORECASE,
)
LATER: Final = re.compile(
    r"\b(?:i'?ll|we'?ll|let's|i will|we will|need to|have to|going to|continue|must|should|want to)\b.{0,80}"
    r"\b(?:tomorrow|later|tonight|next (?:time|week|month|session)|another (?:day|time)|this (?:evening|weekend))\b"
    r"|\b(?:tomorrow|later|tonight|next (?:time|week|month))\b,? .{0,20}"
    r"\b(?:i'?ll|we'?ll|let's|need to|have to|continue)\b"
    r"|\b(?:leave|keep|postpone) (?:it|this|that) (?:for|until|till)\b|\bremind me\b"
    r"|\bstill (?:have|has|need|needs|must)\b"
    r"|(?:明天|后天|今晚|晚点|晚些|回头|改天|下次|下周|周末|之后|稍后|待会儿?|等会儿?|以后|过几天)[^。！？]{0,12}"
    r"(?:再|要|得|去|订|做|加|补|写|改|试|弄|买|继续|处理)|再[说议]$|还(?:要|得|需要|差)(?!是)|提醒我|别忘了",
    re.IGNORECASE,
)
NOT_YET: Final = re.compile(
    r"\b(?:ha(?:s|ve)n't|(?:is|are)n't|not) .{0,60}\byet\b|\bstill (?:open|missing|to do|unresolved|pending|fail)"
    r"|还[没未]|尚未|仍(?:未|没|然没)|没来得及",
    re.IGNORECASE,
)
SET_ASIDE: Final = re.compile(
    r"先不|暂时不|不用管|\b(?:leave|skip) (?:it|that|this)\b(?! (?:for|until|till)\b)", re.IGNORECASE
)
OFFERS: Final = re.compile(
    r"anything else|else (?:i|you)|help (?:you )?(?:with|today)|need (?:any )?(?:more|other|further)|questions\b"
    r"|还有(?:什么|其他|别的)|其他(?:问题|需要)|有什么(?:可以|能)|需要我?(?:帮|做)什么",
    re.IGNORECASE,
)
OPENER: Final = re.compile(
    r"(?P<head>(?:ok(?:ay)?|great|thanks|thank you|sure|well|so)(?=\s)|但是|不过|然后|而且|另外"
    r"|[^，,。.！!；;:：—]{1,30}(?=[，,。.！!；;:：—]))"
    r"[，,。.！!；;:：—\s]*(?=\S)",
    re.IGNORECASE,
)
FILLER: Final = re.compile(
    r"(?:well|so|and|also|now|then|actually|certainly|of course|absolutely|by the way|great question|good question"
    r"|noted|love it|hmm+|got it(?: and)?|sorry to hear that|那|那么|对了|当然|当然可以|好问题"
    r"|另外|顺便|其实|首先|然后|但是?|不过|没关系|别灰心|而且)",
    re.IGNORECASE,
)
PLEASE: Final = re.compile(
    r"(?:(?:please|(?:can|could|would|will) you|help me(?: to)?|i(?:'d| would) like you to|i need you to)\s+)+"
    r"|(?:请|麻烦)?(?:你|您)?(?:再|先)?(?:帮我|帮忙|给我|替我)|^(?:麻烦|请)(?:你|您)?",
    re.IGNORECASE,
)

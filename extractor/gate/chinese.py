"""Features of a person's message in Chinese for the gate, each about 0 to 3.

The weights are trained by benchmarks/train_gate.py.
"""

import math
import re

from extractor.language.script import LONGEST_READ

__all__ = ["chinese_features"]


_ZH_SEEN: dict[str, re.Pattern[str]] = {
    name: re.compile(pattern)
    for name, pattern in {
        "says i am": r"我(?:也|就|都|真的|本来|其实)?是",
        "says i": r"我(?!们)",
        "says we": r"我们|咱",
        "says you": r"你|您",
        "says you are": r"[你您](?:也|就|都|真|果然|们)?是",
        "says other": r"[他她]",
        "asks": r"[?？]|吗|呢$|什么|怎么|哪|谁|多少|为啥",
        "comes": r"来",
        "goes": r"去",
        "own way to say i": r"老子|老娘|本宫|本小姐|姐不|姐就|哥不|哥就|俺",
        "tells of self": (
            r"我(?:\w{0,4})?(?:喜欢|爱|讨厌|习惯|在|有|住|叫|家|的|会|想|要|用|吃|喝|学|工作|做|养|买|从|去|每|最"
            r"|决定)"
        ),
        "decides": r"决定|确认|选择|选了|定了|改用|换成|采用|方案|必须|计划|打算|预算|截止",
        "tells when": (
            r"昨天|明天|今天|后天|上周|下周|周[一二三四五六日末]|星期|去年|明年|今年|\d+[年月日号点]|小时候|以前|最近"
            r"|每天|早上|晚上"
        ),
        "says number": r"\d|[一二两三四五六七八九十百千万]+[个只条岁年月天次块元人]",
        "names kin": r"爸|妈|父|母|儿子|女儿|孩子|老公|老婆|姐|弟|妹|哥|爷爷|奶奶|朋友|同学|同事|老师|老板|[猫狗]",
        "laughs": r"哈哈|呵呵|嘿嘿|嘻嘻|233",
        "thanks": r"谢谢|多谢|感谢|辛苦",
        "greets": r"^[^\w]*(?:你好|您好|嗨|哈喽|早上好|晚上好|晚安|早安|在吗|hello|hi)",
        "agrees": r"^[^\w]*(?:好的?|嗯+|哦+|行|可以|没错|是的|对|收到|明白|知道了|ok)",
        "orders": (
            r"^[^\w]*(?:请|帮|给我|麻烦|把|继续|重启|运行|执行|检查|翻译|总结|解释|生成|写|查|打开|关闭|删除"
            r"|列出)"
        ),
        "quotes": r"[“\"「《]",
    }.items()
}


def chinese_features(text: str) -> dict[str, float]:
    """Return the features of a message in Chinese."""
    text = text[:LONGEST_READ]
    letters = sum(character.isalnum() for character in text)
    features: dict[str, float] = {
        "length": math.log1p(letters),
        "under 6": float(letters < 6),
        "under 12": float(letters < 12),
        "over 30": float(letters > 30),
        "over 60": float(letters > 60),
    }
    for name, pattern in _ZH_SEEN.items():
        if pattern.search(text):
            features[name] = 1.0
    return features

"""Attributes of which a person or project has one: a new value takes the old one's place."""

import re

__all__ = ["slots"]

_END = r"(?:\s*(?:$|[,.;，。；！!（(]|(?:and|but|so|because)\b|的时候))"
_PATTERNS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, re.compile(pattern, re.IGNORECASE))
    for name, pattern in (
        (
            "name",
            r"^(?:my (?:full |real )?name(?:'s| is)|i'm called|i go by|the user's name is) (?P<v>[\w'. -]{1,40}?)"
            + _END,
        ),
        (
            "name",
            r"^(?:我|用户)(?:的)?(?:(?:名字|姓名|真名)(?:叫|是|为)?|叫做?)[:： ]*(?P<v>[\w·]{1,12}?)(?:吧|啦|哦)?"
            + _END,
        ),
        ("called", r"^(?:please )?call me (?P<v>[\w'. -]{1,40}?)(?: please| from now on)?" + _END),
        ("called", r"^(?:请|以后|你|就)*(?:叫我|称呼我(?:为|叫)?)(?P<v>[\w·]{1,12}?)(?:就好|就行|即可|吧)?" + _END),
        (
            "home",
            (
                r"^(?:i|the user)(?:'m| am| is)? ?(?:now |currently )*(?:lives? in|living in|based in|moved to|live at"
                r"|reside in) (?!(?:an?|my|our) )(?P<v>[\w',. -]{2,50}?)(?: now| with .*| since .*)?$"
            ),
        ),
        (
            "home",
            (
                r"^(?:我|用户)(?:现在|目前|已经|一直|家)*(?:住在?|定居在?|搬到了?|搬家到了?|家住在?"
                r"|家在)(?P<v>[^，。,；！ 了的]{2,16})了?"
            )
            + _END,
        ),
        (
            "employer",
            (
                r"^(?:i|the user)(?: now| currently)? (?:works? (?:at|for)|joined) (?P<v>[\w&'. -]{2,40}?)(?: now"
                r"| as .*| since .*| in .*)?"
            )
            + _END,
        ),
        (
            "employer",
            r"^(?:我|用户)(?:现在|目前|已经|跳槽)*(?:在|到|去|就职于|任职于"
            r"|供职于)(?!家里?(?:工作|上班))(?P<v>[^，。,；！ 的]{2,16}?)(?:工作|上班|任职|就职|实习)?了?"
            r"(?<=工作|上班|任职|就职|实习|作了|班了)" + _END,
        ),
        ("birthday", r"^(?:my birthday(?:'s| is)(?: on| in)?|i was born (?:on|in)) (?P<v>[\w ,./-]{3,30}?)" + _END),
        ("birthday", r"^(?:我|用户)(?:的)?(?:生日|出生日期)(?:是|在|为)?[:： ]*(?P<v>[^，。,；！的]{2,16})" + _END),
        ("age", r"^(?:i'm|i am|the user is) (?:now )?(?P<v>\d{1,3})(?: years? old)?" + _END),
        ("age", r"^(?:我|用户)(?:今年|现在|已经)*(?P<v>\d{1,3}|[一二三四五六七八九十]{1,3})岁了?" + _END),
        ("sign", r"^(?:我|用户)(?:的星座)?是(?P<v>[\u4e00-\u9fff]{2})座" + _END),
        # "our default branch is main", "the staging port is 8080", "数据库是 MySQL 8": subject and value
        (
            "",
            (
                r"^(?:my|our|the) (?P<k>(?:[\w-]+ ){0,3}(?:e-?mail(?: address)?|phone(?: number)?|time ?zone|address"
                r"|job|job title|role|title|position|company|employer|manager|boss|port|version|domain|url|endpoint"
                r"|branch|database|db|editor|ide|os|deadline|due date|release date|launch date|launch|budget"
                r"|framework|language|region|height|weight|blood type|salary|rent|password policy|shoe size"
                r"|favou?rite [\w ]{2,24}|wedding|flight|appointment))(?:'s| is| are|:)(?: now| currently)?"
                r" (?:on |at |in |set to |moved to )?(?P<v>[^,;]{1,50}?)"
            )
            + _END,
        ),
        (
            "",
            (
                r"^(?:我|我们|咱们|我的|我们的|用户的?|公司|团队|项目|本)*(?:的)?(?P<k>[^，。,；是为在用]{0,10}?(?:邮箱"
                r"|电话|手机号?|时区|地址|职业|职位|岗位|公司|老板|经理|端口|版本|域名|网址|分支|数据库|编辑器|系统"
                r"|截止日期|截止时间|上线时间|发布日期|预算|框架|语言|身高|体重|血型|工资|房租|星座|性别|母语"
                r"|最喜欢的[^，。,；是]{1,10}))(?:号)?(?:现在|目前|已经)*(?:是|为|在|用的是|定在|定为|改到|改成|改为|换成"
                r"|推迟到|提前到|[:：])了?[ ]*(?P<v>[^，。,；]{1,24}?)了?"
            )
            + _END,
        ),
    )
)


def slots(text: str) -> dict[str, str]:
    """{"home": "berlin"}; the attributes that one statement tells, values in lower case."""
    text = text.strip().replace("’", "'")
    found: dict[str, str] = {}
    for name, pattern in _PATTERNS:
        if match := pattern.match(text):
            key = name or " ".join(match["k"].lower().split())
            found.setdefault(key, " ".join(match["v"].lower().split()).strip(" .'"))
    return {key: value for key, value in found.items() if value}

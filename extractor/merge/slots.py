"""Attributes with one value at a time, such as an employer or a port: a new value supersedes the old one."""

import re
from collections.abc import Mapping
from functools import lru_cache

from extractor.language.vocabulary import LATELY, names_of_kind

__all__ = ["slots"]

_END = r"(?:\s*(?:$|[,.;，。；！!（(]|(?:and|but|so|because)\b|的时候))"
# Places within a town, a house or a company, which are no home town.
_NO_TOWN = (
    r"(?:(?:an?|my|our) |the (?:city|suburbs?|countryside|basement|attic|same|middle|centre|center|top|ground|old"
    r"|new|next|other)\b|(?:marketing|sales|finance|engineering|product|hr|design|support|operations|legal"
    r"|management)\b)"
)
_NO_TOWN_ZH = (
    r"(?![^，。,；]{0,14}(?:楼|层|室|宿舍|公寓|附近|旁边|隔壁"
    r"|家里?|里面?|酒店|单元|房间|房子|别墅|小区|郊区|市中心|新房|部门|组|部)"
    r"(?:了|的|$|[，。,；]))"
)
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
                r"^(?:i|the user)(?:'m| am| is|'ve| have)? ?(?:now |currently |just |recently |finally )*(?:lives? in"
                r"|living in|based in|(?:moved|relocated) (?:back )?(?:from .{2,40}? )?to|live at|reside in) "
                rf"(?!{_NO_TOWN})(?P<v>[\w',. -]{{2,50}}?)(?: now| with .*| since .*| (?:last|this) \w+"
                r"| (?:recently|yesterday)| \w+ \w+ ago| in (?:20\d\d|january|february|march|april|may|june|july"
                r"|august|september|october|november|december).*)?$"
            ),
        ),
        (
            "home",
            (
                rf"^(?:我|用户)(?:现在|目前|已经|一直|家|{LATELY})*(?:住在?|定居在?|搬到了?|搬家到了?|搬去了?|搬回了?|家住在?"
                rf"|家在){_NO_TOWN_ZH}(?P<v>[^，。,；！ 了的]{{2,16}})了?"
            )
            + _END,
        ),
        (
            "employer",
            (
                r"^(?:i|the user)(?: now| currently| just| recently)? (?:works? (?:at|for)|joined)"
                r" (?P<v>[\w&'. -]{2,40}?)(?: now| as .*| since .*| in .*)?"
            )
            + _END,
        ),
        (
            "employer",
            r"^(?:我|用户)(?:现在|目前|已经|跳槽)*(?:在|到|去|就职于|任职于"
            r"|供职于)(?!家里?(?:工作|上班))(?P<v>[^，。,；！ 的]{2,16}?)(?:工作|上班|任职|就职|实习)?了?"
            r"(?<=工作|上班|任职|就职|实习|作了|班了)" + _END,
        ),
        (
            "employer",
            r"^(?:我(?:现在|目前|已经)*|现在)在(?!家里)(?P<v>[^，。,；！ 的在]{2,12}?)(?:做|搞|当)[^，。,；的]{0,6}"
            r"(?:开发|运营|产品|设计|测试|运维|市场|销售|财务|人事|行政|算法|研发|编辑|客服|前端|后端)(?:工作)?了?"
            + _END,
        ),
        ("birthday", r"^(?:my birthday(?:'s| is)(?: on| in)?|i was born (?:on|in)) (?P<v>[\w ,./-]{3,30}?)" + _END),
        ("birthday", r"^(?:我|用户)(?:的)?(?:生日|出生日期)(?:是|在|为)?[:： ]*(?P<v>[^，。,；！的]{2,16})" + _END),
        ("age", r"^(?:i'm|i am|the user is) (?:now )?(?P<v>\d{1,3})(?: years? old)?(?: now)?" + _END),
        ("age", r"^(?:我|用户)(?:今年|现在|已经)*(?P<v>\d{1,3}|[一二三四五六七八九十]{1,3})岁了?" + _END),
        ("sign", r"^(?:我|用户)(?:的星座)?是(?P<v>[\u4e00-\u9fff]{2})座" + _END),
        # "our default branch is main", "the staging port is 8080", "数据库是 MySQL 8": subject and value
        (
            "",
            (
                r"^(?:my|our|the) (?:new )?(?P<k>(?:[\w-]+ ){0,3}(?:e-?mail(?: address)?|phone(?: number)?"
                r"|time ?zone|address|job|job title|role|title|position|company"
                r"|employer|manager|boss|port|version|domain|url|endpoint"
                r"|branch|database|db|editor|ide|os|deadline|due date|release date|launch date|launch|budget"
                r"|framework|language|region|height|weight|blood type|salary|rent|password policy|shoe size"
                r"|favou?rite [\w ]{2,24}|wedding|flight|appointment))"
                r"(?:'s| is| are|:| (?:has |was |is )?(?:now )?changed to)(?: now| currently)?"
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
                r"|最喜欢的[^，。,；是]{1,10}?))(?:号码?)?(?:已经?|现在|目前|已经)*(?:是|为|在|用的是|定在|定为|改到|改成|改为|换成"
                r"|推迟到|提前到|[:：])了?[ ]*(?P<v>[^，。,；]{1,40}?) ?了?"
            )
            + _END,
        ),
        (  # "我换手机号了，新号码是 …"
            "",
            (
                r"^我(?:已经|刚刚?|最近|上周|昨天)*换(?:了)?(?:个|新的?)*(?P<k>手机号?|电话|邮箱|微信号?)码?了?[，, ]+"
                r"(?:现在|新|的)*(?:手机|电话|微信)?(?:号码?|邮箱|地址)?(?:是|为|叫|[:：])[ ]*(?P<v>[\w@.+ -]{3,40}?)"
            )
            + _END,
        ),
    )
)


@lru_cache(maxsize=512)  # a statement is compared with several others
def slots(text: str) -> Mapping[str, str]:
    """Return the attributes that a statement tells, with values in lower case: {"home": "berlin"}."""
    text = text.strip().replace("’", "'")
    found: dict[str, str] = {}
    for name, pattern in _PATTERNS:
        if match := pattern.match(text):
            key = name or _key(match["k"])
            value = " ".join(match["v"].lower().split()).strip(" .'")
            if key != "home" or not names_of_kind(value):  # "I moved to Linux"
                found.setdefault(key, value)
    return {key: value for key, value in found.items() if value}


def _key(name: str) -> str:
    """Return the canonical name of an attribute: "email address" and "e-mail", "手机号" and "新手机"."""
    name = " ".join(name.lower().split()).replace("e-mail", "email").removeprefix("新的").removeprefix("新")
    if name in ("email address", "phone number"):
        name = name.split()[0]
    return {"手机": "手机号", "微信": "微信号"}.get(name, name)

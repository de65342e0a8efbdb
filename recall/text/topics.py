"""Standing preferences apply by task, not by wording: "write a script" calls for "I like Python".

A message *requests* a topic where a verb of making is near one of the topic's things ("write ... script", "写…脚本").
A short memory is a *preference* about a topic where it contains one of the topic's words, and its category says so or a
word of liking is near.
"""

import re
from typing import NamedTuple

# The bits of a row's traits: a standing preference or instruction; a question; one bit for each topic; and that it has
# Chinese, Japanese or Korean in it.
STANDING = 1
QUESTION = 2
_FIRST_TOPIC = 4
WIDE = 1 << 16

_MAKE = (
    r"write|create|make|build|implement|code up|develop|generate|draft|set ?up|refactor|fix|add|prepare|design|give me"
    r"|i need|i want|can you do|help me with|写|做|建|搭|开发|实现|生成|编|来个|来一|弄个|弄一|搞个|设计|起草|重构|改一?下|帮我改|要一?个|需要一?个"
)
_EAT = r"recommend|suggest|order|book|find|pick|cook|make|eat|have for|推荐|点|订|吃|找|选|做|喝|来"


class _Topic(NamedTuple):
    name: str
    plain_requests: str
    request_verbs: str
    request_things: str
    preference_words: str


_TABLE = (
    _Topic(
        "coding",
        r"",
        _MAKE,
        r"scripts?|code|program|function|api|app|cli|tool|crawler|scraper|backend|frontend|website|web ?page|bot|class"
        r"|module|unit tests?|sql|query|parser|algorithm|脚本|代码|程序|函数|接口|爬虫|后端|前端|网站|网页|机器人|小工具|工具|单元测试|测试用例"
        r"|算法|服务|项目",
        r"python|java|javascript|typescript|golang|\bgo\b|rust|c\+\+|c#|ruby|php|kotlin|swift|scala|lua|perl|bash|shell"
        r"|node(?:\.js)?|react|vue|django|flask|fastapi|spring|sqlalchemy|postgres\w*|mysql|sqlite|docker|pytest|mypy|black"
        r"|ruff|type hints?|tabs|spaces|indent\w*|cod(?:e|ing)|script\w*|program\w*|framework|librar(?:y|ies)|editor|vim"
        r"|vs ?code|emacs|comments|docstrings?|tests?|编程|代码|脚本|缩进|注释|类型注解|框架|命名|变量|单元测试|编辑器|语言",
    ),
    _Topic(
        "writing",
        r"",
        _MAKE + r"|translate|summari[sz]e|rewrite|polish|reply|翻译|总结|润色|回复|改写",
        r"e-?mails?|letters?|essays?|articles?|blog|posts?|reports?|summary|documents?|docs?|speech|resume|cv|cover letter"
        r"|message|tweet|邮件|信|文章|作文|博客|报告|总结|文档|演讲稿|简历|周报|日报|文案|通知|回复|公众号",
        r"tone|style|formal|informal|concise|brief|short|long|bullet|emoji|spelling|wording|sentences?|paragraphs?|writ\w+"
        r"|语气|风格|正式|简洁|简短|长篇|要点|表情|措辞|文风|段落|写作|啰嗦",
    ),
    _Topic(
        "food",
        r"what'?s for (?:dinner|lunch|breakfast)|吃什么|吃点什么|喝什么|喝点什么|去哪吃|点什么外卖",
        _EAT,
        r"dinner|lunch|breakfast|supper|brunch|meals?|food|restaurants?|recipes?|dish(?:es)?|snacks?|cafe|coffee|drinks?|takeout"
        r"|晚饭|午饭|早饭|晚餐|午餐|早餐|宵夜|夜宵|吃的|好吃|餐厅|饭店|餐馆|菜谱|菜|外卖|零食|咖啡|喝的|饮料|奶茶|吃什么|饭",
        r"vegan|vegetarian|allerg\w+|gluten|lactose|halal|kosher|spicy|sweet|sour|salty|meat|beef|pork|chicken|fish|seafood"
        r"|shellfish|peanuts?|nuts|dairy|milk|coffee|tea|sugar|cilantro|coriander|noodles?|rice|sushi|pizza|pasta|food|eat\w*"
        r"|diet|drink\w*|吃|喝|辣|甜|酸|素|荤|肉|鱼|海鲜|过敏|牛奶|乳糖|香菜|咖啡|茶|糖|面|米饭|花生|坚果|虾|蟹|鸡蛋|火锅|川菜|粤菜|日料|口味|忌口",
    ),
    _Topic(
        "travel",
        r"",
        _MAKE + r"|" + _EAT + r"|plan|book|reserve|fly|go|规划|计划|安排|预订|去",
        r"trips?|travel|flights?|hotels?|itinerary|vacation|holiday|train|seats?|airbnb|tickets?|旅行|旅游|出差|机票|航班|酒店|行程|度假|火车|高铁"
        r"|座位|车票|民宿",
        r"window|aisle|seats?|flights?|fly\w*|airlines?|hotels?|airbnb|trains?|travel\w*|luggage|economy|business class|direct flights?"
        r"|layover|beach|mountains?|靠窗|过道|座位|飞机|航班|航空|酒店|民宿|火车|高铁|旅行|旅游|行李|经济舱|商务舱|直飞|转机|海边|自驾",
    ),
    _Topic(
        "scheduling",
        r"",
        _MAKE + r"|schedule|book|arrange|plan|move|remind|find|约|定|订|安排|预约|提醒|排",
        r"meetings?|calls?|appointments?|calendar|reminders?|slots?|schedule|interview|会议|开会|会|电话|预约|日程|日历|提醒|面试|时间表|闹钟",
        r"mornings?|afternoons?|evenings?|weekends?|weekdays?|mondays?|tuesdays?|wednesdays?|thursdays?|fridays?|meetings?|calls?"
        r"|before \d+|after \d+|o'clock|\d+ ?[ap]m|time ?zone|calendar|上午|下午|晚上|早上|中午|周末|工作日|周[一二三四五六日]|星期|会议|开会|点[钟前后以]"
        r"|时区|日程",
    ),
    _Topic(
        "media",
        r"看什么|听什么|读什么|what (?:should|can) (?:i|we) (?:watch|read|listen to|play)",
        _EAT + r"|watch|read|listen|play|show|看|听|读|玩|放",
        r"movies?|films?|shows?|series|books?|novels?|music|songs?|playlist|games?|podcasts?|gifts?|电影|片|剧|书|小说|音乐|歌|歌单|游戏|播客|礼物",
        r"movies?|films?|sci-?fi|horror|comed\w+|documentar\w+|novels?|books?|read\w*|music|jazz|rock|classical|pop|hip.?hop"
        r"|songs?|bands?|games?|podcasts?|anime|电影|科幻|恐怖片|喜剧|纪录片|小说|书|阅读|音乐|爵士|摇滚|古典|流行|歌|乐队|游戏|播客|动漫|漫画",
    ),
)

# Words that make a sentence a standing preference; a topic's word must be near.
_PREFERRING = (
    r"prefers?|preferred|preference|likes?|loves?|enjoys?|favou?rites?|hates?|dislikes?|always|never|usually|allergic"
    r"|allergy|vegan|vegetarian|please use|uses?|don'?t use|can'?t (?:eat|stand)|doesn'?t (?:eat|drink|like)"
    r"|don'?t (?:eat|drink|like)|fan of|avoids?"
    r"|喜欢|偏好|更愿意|习惯|最爱|爱吃|爱喝|爱看|爱听|讨厌|不爱|不吃|不喝|过敏|忌口|总是|从不|一律|以后都|以后请|不要用|别用|请用|倾向|都用|吃素"
)
# Longer texts are stories that mention a preference among other things.
_LONGEST_PREFERENCE = 160


def _near(one: str, other: str, *, either_way: bool = False) -> re.Pattern[str]:
    """Match one word, then the other within 40 characters of one sentence; ASCII words whole, Chinese ones anywhere."""
    first, second = (rf"(?:\b(?:{_ascii(words)})(?!\w)|{_other(words)})" for words in (one, other))
    between = r"[^.!?。！？\n]{0,40}?"
    pattern = rf"{first}{between}{second}"
    return re.compile(rf"{pattern}|{second}{between}{first}" if either_way else pattern)


def _ascii(alternatives: str) -> str:
    return "|".join(part for part in _alternatives(alternatives) if part.isascii())


def _other(alternatives: str) -> str:
    return "|".join(part for part in _alternatives(alternatives) if not part.isascii())


def _alternatives(pattern: str) -> list[str]:
    """Split a pattern at the bars outside of parentheses."""
    parts, depth = [""], 0
    for character in pattern:
        depth += (character == "(") - (character == ")")
        if character == "|" and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts


_REQUESTS = tuple(
    re.compile(
        "|".join(filter(None, (topic.plain_requests, _near(topic.request_verbs, topic.request_things).pattern))),
    )
    for topic in _TABLE
)
_PREFERENCES = tuple(_near(_PREFERRING, topic.preference_words, either_way=True) for topic in _TABLE)
_WORDS = tuple(
    re.compile(rf"\b(?:{_ascii(topic.preference_words)})(?!\w)|{_other(topic.preference_words)}") for topic in _TABLE
)
_WIDE_LETTER = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
# A request is at the beginning of a message.
_LONGEST = 300


def requested_topics(message: str) -> int:
    """Return the bits of the topics that a message requests; 0 for none."""
    # The patterns are in lower case: ignoring case takes three times as long.
    message = message[:_LONGEST].lower()
    return sum(_FIRST_TOPIC << place for place, pattern in enumerate(_REQUESTS) if pattern.search(message))


def traits_of(text: str, *, standing: bool) -> int:
    """Return the traits: QUESTION for a text that ends asking; STANDING and its topics' bits for a preference; WIDE.

    standing: whether it is known to be one; else its words tell.
    """
    wide = WIDE if is_wide(text) else 0
    question = QUESTION if text.rstrip().endswith(("?", "？")) else 0
    if question or len(text) > _LONGEST_PREFERENCE:
        return question | wide
    patterns = _WORDS if standing else _PREFERENCES
    topics = sum(_FIRST_TOPIC << place for place, pattern in enumerate(patterns) if pattern.search(text.lower()))
    return (STANDING | topics if topics else 0) | wide


def is_wide(text: str) -> bool:
    """Return whether a text has Chinese, Japanese or Korean in it."""
    return _WIDE_LETTER.search(text) is not None

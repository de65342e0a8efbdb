"""What a Chinese sentence gives away about its speaker: home, sign, gender. By the words around the word.

"我在广州呢" and "我大天蝎" speak of oneself; "你是处女座", "想去厦门" and "狮子和什么星座配？" don't. How near a
mention stands to the speaker is a sum of readable weights (natural logarithms of odds), trained by
benchmarks/train_gate.py.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from .places import COUNTRY_OF, PROVINCE_OF
from .tables import words_of

__all__ = ["Mention", "claims", "mentions"]

SHORT = 12  # characters of a remark that hardly says anything else

_SIGNS = ("白羊", "金牛", "双子", "巨蟹", "狮子", "处女", "天秤", "天蝎", "射手", "摩羯", "水瓶", "双鱼")
_SIGN_ALIASES = {
    "牡羊": "白羊",
    "羊羊": "白羊",
    "牛牛": "金牛",
    "蟹蟹": "巨蟹",
    "天平座": "天秤",
    "蝎子": "天蝎",
    "人马": "射手",
    "魔羯": "摩羯",
    "魔蝎": "摩羯",
    "山羊座": "摩羯",
    "瓶子": "水瓶",
    "鱼鱼": "双鱼",
}
_GENDERS = {
    **dict.fromkeys(
        words_of("男人 男生 男的 男孩 男孩子 男士 汉子 直男 爷们 大叔 帅哥 小伙 小伙子 男性 爸爸 奶爸"), "男"
    ),
    **dict.fromkeys(
        words_of("女人 女生 女的 女孩 女孩子 女孩儿 女士 妹子 姑娘 少女 小姐姐 女汉子 女性 小仙女 妈妈 宝妈 孕妇"), "女"
    ),
}
# Whom one calls so tells one's own gender (most often).
_PARTNERS = {
    **dict.fromkeys(words_of("老婆 媳妇 女朋友 女友 女票 前女友"), "男"),
    **dict.fromkeys(words_of("老公 男朋友 男友 男票 前男友 男神 欧巴 大姨妈 姐妹 闺蜜"), "女"),
}
_PRONOUNS = {
    **dict.fromkeys(words_of("老子 哥 爷 本少爷"), "男"),
    **dict.fromkeys(words_of("老娘 本宫 姐 姑奶奶 本小姐 人家"), "女"),
}

_VALUES: dict[str, tuple[str, str]] = {
    **{sign: ("sign", sign) for sign in _SIGNS},
    **{alias: ("sign", sign) for alias, sign in _SIGN_ALIASES.items()},
    **{word: ("gender", gender) for word, gender in _GENDERS.items()},
    **{word: ("partner", gender) for word, gender in _PARTNERS.items()},
    **{place: ("home", place) for place in PROVINCE_OF},
    **{place: ("abroad", place) for place in COUNTRY_OF},
}
_WORD = re.compile("|".join(sorted(map(re.escape, _VALUES), key=lambda word: (-len(word), word))))

_BEFORE: dict[str, re.Pattern[str]] = {
    name: re.compile(f"(?:{pattern})$")
    for name, pattern in {
        "i am": (
            r"(?:我|俺|偶|本人|人家|自己|楼主)(?:也|就|都|可|才|真|好像|应该|其实|本来|本身|确实|毕竟|还|又|同|不|[是]"
            r"|[、 ])*(?:是|乃|为)(?:个|一个|一枚|一只|位|名|典型的?|正宗的?|地道的?|标准的?"
            r"|[^，。！？,你他她]{0,4}的)?"
        ),
        "also am": r"(?:^|[，。！？,!? ])(?:也|就|都|可|同|同样)?(?:是|同)(?:个|一个|一枚|一只)?",
        "i": (
            r"(?:我|俺|咱|本人?|我们|咱们|我们家|我家|我大|大)(?:也|就|都|可|还|这|这个|这种|这儿|这边|一|一个|一枚"
            r"|[的 ])*"
        ),
        "as a": r"(?:作为|身为|同为|同是|属于|代表|我辈|身在|人在)(?:一个|一枚|一名|一只)?[^，。！？,你他她]{0,3}",
        "in": r"(?:我|俺|咱|我们|现在|目前|还|也|就|都|人|，|,|^)(?:也|就|都|还|人|现在|一直|正)*(?:在|住|住在)",
        "somewhere in": r"(?:在|住)",
        "come to": r"(?:来|回|到|到了|来了|回到|来到|返|抵达)",
        "go to": r"(?:去|去了|去过|飞|想去|要去|去趟|离开)",
        "you": (
            r"(?:你|您|妳|你们|楼主|博主|主播|亲|他|她|他们|她们|它)(?:也|就|都|可|才|真|好像|应该|其实|还|又|又|这个?"
            r"|那个?|们|个|一个|的|[是在])*[^，。！？,我]{0,2}"
        ),
        "that": (
            r"(?:那个|那些|那位|那|这个|这些|这位|有个|有些|某|一个|个|跟|和|与|对|被|像|看|找|喜欢|爱|讨厌|认识|遇到"
            r"|碰到)"
        ),
        "not": r"(?:不是|并非|不算|不像|不属于|不在|没在|没去过?)(?:个|一个|什么|典型的?)?",
        "start": r"^[^\w]*",
    }.items()
}
_AFTER: dict[str, re.Pattern[str]] = {
    name: re.compile(pattern)
    for name, pattern in {
        "end": r"座?[^\w]*$",
        "here": (
            r"座?(?:的我|这里|这边|本地|当地|这儿|人(?:民|在|$|[，。！])|土著|话|妹子|的人|市民|同城|老乡|表示|报道"
            r"|报到|飘过|路过|围观|一枚|在此|的在|的来|的举|举手|躺枪|中枪|哭)"
        ),
        "weather": r".{0,4}(?:下雨|下雪|天气|好冷|好热|冷|热|太阳|暖|雾霾|温度|地震|台风|堵车|地铁|公交)",
        "ask": r"[^，。！!]{0,12}(?:[?？]|吗|嘛|什么|哪里?|怎么|谁)",
        "other": r"座?的?(?:他|她|男友|女友|朋友|同学|同事|那个|男的|女的|老公|老婆|女生|男生|女人|男人)",
        "place": r"(?:站|路|街|大学|话|菜|饭|小吃|店|机场|火车|卫视|电视|队|球迷|演唱会|动物园)",
        "plural": r"(?:们|座?都|座?的?人)",
    }.items()
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """A word that may tell who speaks. slot: home, abroad, sign, gender, partner, pronoun; features: see above."""

    slot: str
    value: str
    start: int
    features: tuple[str, ...]


def mentions(text: str) -> Iterator[Mention]:
    """The mentions of one message (its first 2,000 characters), in order."""
    text = text[:2_000]
    general = [
        name
        for name, holds in (
            ("short", len(text) < SHORT),
            ("asks", "?" in text or "？" in text),
            ("says i", "我" in text.replace("我们", "")),
            ("says you", "你" in text),
            ("says we", "我们" in text or "咱" in text),
            ("says other", "他" in text or "她" in text),
        )
        if holds
    ]
    for match in _WORD.finditer(text):
        slot, value = _VALUES[match[0]]
        before, after = text[max(0, match.start() - 12) : match.start()], text[match.end() : match.end() + 16]
        yield Mention(
            slot=slot,
            value=value,
            start=match.start(),
            features=(
                *(f"before {name}" for name, pattern in _BEFORE.items() if pattern.search(before)),
                *(f"after {name}" for name, pattern in _AFTER.items() if pattern.match(after)),
                *general,
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """That a mention tells something of the speaker, which agrees or differs with a profile line.

    Both may hold of one mention: "你这种女的" names a woman, and is mostly said by a man.
    """

    agrees: bool
    features: dict[str, float]


_PROFILE_LINE = re.compile(
    r"(?:我|本人)(?:现在|目前|一直|也|就|还)*(?:是|在|住在?|来自|家在|家住|老家(?:在|是)|的(?:星座"
    r"|性别)是)[^，。,！？]{1,10}"
)
_SLOTS = {"sign": "sign", "home": "home", "abroad": "home", "gender": "gender", "partner": "gender"}
_TELLING = (
    "before you",
    "after ask",
    "before that",
    "before i am",
    "before i",
    "before start",
    "after other",
    "before come to",
    "before go to",
    "before in",
    "before not",
)


def claims(profile: str, said: str) -> list[Claim]:
    """How what was said stands to a line such as "我是射手座" or "我在四川成都"; empty when that is no such line."""
    if not _PROFILE_LINE.fullmatch(profile.strip()):
        return []
    known = [mention for mention in mentions(profile) if mention.slot in _SLOTS]
    if not known:
        return []
    slot = _SLOTS[known[0].slot]
    values = {mention.value for mention in known} | {_region(mention.value) for mention in known}
    met = [mention for mention in mentions(said) if _SLOTS.get(mention.slot) == slot]
    found = []
    for mention in met:
        agrees = mention.value in values
        found.append(_claim(mention, "", len(met), agrees=agrees))
        if slot == "gender":
            found.append(_claim(mention, " of another", len(met), agrees=not agrees))
    return found


def _region(place: str) -> str:
    return PROVINCE_OF.get(place) or COUNTRY_OF.get(place) or place


def _claim(mention: Mention, kind: str, count: int, *, agrees: bool) -> Claim:
    name = mention.slot + kind
    stands = f"{name} {'agrees' if agrees else 'differs'}"
    features = {name: 1.0, stands: 1.0}
    if count > 1:
        features["many"] = 1.0
    for feature in mention.features:
        features[f"{name} {feature}"] = 1.0
        if not kind:
            features[feature] = 1.0
        if feature in _TELLING:
            features[f"{stands} {feature}"] = 1.0
    return Claim(agrees=agrees, features=features)

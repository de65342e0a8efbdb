"""The vocabulary of merging in English and Chinese: kinds of things, negation, and words of change."""

import re
from collections.abc import Mapping
from functools import lru_cache

__all__ = [
    "CHANGE",
    "LATELY",
    "left_behind",
    "names_of_kind",
    "polarity",
    "statement_words",
    "stem",
    "without_kind",
    "words_of",
]


# Tables of words, written as text: one word a line would hide the rest of a module.


def words_of(table: str) -> frozenset[str]:
    """Return the words of a table, which white space separates."""
    return frozenset(table.split())


# One kind a line; "/" joins the names of one thing.
_KINDS = """
language: python, java, golang/go语言, rust, typescript/ts, javascript/js, ruby, php, c++, c#, kotlin, swift, scala, elixir, haskell, perl, lua, julia, dart
database: postgresql/postgres/pg, mysql, sqlite, mongodb/mongo, mariadb, oracle, sql server/mssql, tidb, clickhouse, dynamodb, cassandra, oceanbase, 达梦
cache: redis, memcached, dragonfly, valkey
queue: kafka, rabbitmq, pulsar, rocketmq, nats, sqs
frontend: react, vue, angular, svelte, solidjs, jquery
backend: django, flask, fastapi, spring boot/spring, express, rails, laravel, nestjs, gin
editor: vim, neovim/nvim, emacs, vscode/vs code/visual studio code, pycharm, intellij/idea, cursor, sublime text/sublime, notepad++
system: macos/mac/osx, windows, linux, ubuntu, debian, fedora, arch
cloud: aws, gcp/google cloud, azure, 阿里云/aliyun, 腾讯云, 华为云, vercel, heroku, digitalocean, cloudflare
packages: npm, yarn, pnpm
python packages: pip, poetry, uv, conda, pdm, pipenv
orchestration: kubernetes/k8s, docker swarm, nomad, docker compose
indentation: tabs/tab/制表符, spaces/空格
theme: dark mode/dark theme/深色模式/暗色模式/深色/暗黑模式, light mode/light theme/浅色模式/亮色模式/浅色
spoken: 中文/汉语/普通话/chinese/mandarin, 英文/英语/english, 日语/日文/japanese, 法语/french, 德语/german, 西班牙语/spanish, 韩语/korean
length: 简短/简洁/short/brief/concise/terse, 详细/详尽/detailed/verbose/thorough
version control: git, svn, mercurial
browser: chrome, firefox, safari, edge
shell: bash, zsh, fish, powershell
phone: iphone/苹果手机, android/安卓
architecture: 微服务/microservices/microservice, 单体/单体架构/monolith, serverless/无服务器
interface: rest/restful, graphql, grpc
drink: 咖啡/coffee, 茶/tea, 可乐/cola/coke, 啤酒/beer, 红酒/wine, 牛奶/milk, 果汁/juice
taste: 辣/spicy, 甜/sweet, 酸/sour, 苦/bitter, 咸/salty
meal: 火锅/hotpot/hot pot, 寿司/sushi, 披萨/pizza, 汉堡/burger/burgers, 面条/noodles, 米饭/rice, 烧烤/barbecue/bbq
animal: 猫/cat/cats, 狗/dog/dogs, 兔子/rabbit/rabbits, 鸟/bird/birds
sport: 跑步/jogging, 游泳/swimming, 篮球/basketball, 足球/football/soccer, 网球/tennis, 瑜伽/yoga, 健身/gym, 爬山/hiking, 骑行/cycling
day: 周一/星期一/monday, 周二/星期二/tuesday, 周三/星期三/wednesday, 周四/星期四/thursday, 周五/星期五/friday, 周六/星期六/saturday, 周日/周天/星期日/星期天/sunday
day part: 早上/上午/morning/mornings, 下午/afternoon, 晚上/夜里/evening/night
kin: 爸爸/父亲/dad/father, 妈妈/母亲/mom/mother/mum, 老婆/妻子/wife, 老公/丈夫/husband, 女儿/daughter, 儿子/son, 哥哥/弟弟/brother, 姐姐/妹妹/sister
"""


def _read() -> dict[str, tuple[str, str]]:
    known: dict[str, tuple[str, str]] = {}
    for line in _KINDS.strip().splitlines():
        kind, things = line.split(": ", 1)
        for thing in things.split(", "):
            names = thing.split("/")
            known |= dict.fromkeys(names, (kind, names[0]))
    return known


_THINGS = _read()


def _pattern() -> re.Pattern[str]:
    han = [re.escape(name) for name in _THINGS if name[0] >= "\u3400"]
    latin = [re.escape(name) for name in _THINGS if name[0] < "\u3400"]
    longest_first = sorted(han, key=len, reverse=True), sorted(latin, key=len, reverse=True)
    return re.compile(rf"{'|'.join(longest_first[0])}|(?<![a-z0-9.])(?:{'|'.join(longest_first[1])})(?![a-z0-9+#])")


_THING = _pattern()

# Words that tell that one thing has replaced another.
CHANGE = re.compile(
    r"\b(?:switch(?:ed|ing)?|mov(?:ed|ing) (?:over )?(?:from|to)|migrat(?:ed|ing)|chang(?:ed|ing)|replac(?:ed"
    r"|ing)|no longer|not .{1,30} anymore|don't .{1,40} (?:any ?more|any longer)|stopped|quit|gave up|instead"
    r"|now (?:use|prefer|like|live|work)|(?:use|prefer|live in|work at|like) .{1,40} now|from now on)\b"
    r"|改[用喝吃]|不(?:再)?(?:使?用|喝|吃|看|玩|抽|喜欢)[^，。,；不]{1,20}了(?=$|[，。,；])|换成|换到|换用|改成|改为|改到|转用|转到|转向|切换到|切到|迁移到|搬到|搬家|跳槽|不再|不用了|戒了"
    r"|现在(?:改|用|住|在|更|喜欢|叫)|从.{1,20}(?:换|改|转|切|迁|搬)(?:到|成|用|为)|以后(?:都)?(?:改)?用",
    re.IGNORECASE,
)
_LEFT = re.compile(
    r"\bfrom (?P<a>.{1,40}?) to\b|\b(?:no longer|don't|stopped|quit|gave up) (?:use |using |like |drink "
    r"|drinking |eat |eating )?(?P<b>[^,.;]{1,40})|\breplac(?:ed|ing) (?P<c>.{1,40}?) (?:with|by)\b"
    r"|\binstead of (?P<d>[^,.;]{1,40})|, (?:and |but )?not (?P<h>[^,.;]{1,40})"
    r"|从(?P<e>.{1,20}?)(?:换|改|转|切换?|迁移|搬)(?:到|成|用|为)|(?:不再|不)(?:使?用|喝|吃"
    r"|喜欢)(?P<f>[^，。,；]{1,20}?)了?(?:$|[，。,；])|把(?P<g>.{1,20}?)(?:换|改)成",
    re.IGNORECASE,
)
_NEGATIVE = re.compile(
    r"\b(?:not|never|no longer|don't|doesn't|didn't|do not|does not|can't|cannot|won't|isn't|aren't|am not"
    r"|is not|are not|hate|hates|dislike|dislikes|detest|stopped|quit|avoid|without|no)\b"
    r"|不(?!错|过(?!敏)|仅|但|同|管|论|断|止|只|少|久|得不|动产|锈钢|知)|没有?|(?<![特区级类性分告])别(?!人|的|墅)|讨厌|反感|受不了|无法"
    r"|戒了|禁止|勿",
    re.IGNORECASE,
)
_CONTRAST = re.compile(
    (
        r"[,，;；] ?(?:but )?(?:not|never|而不是|不是|不要|不用|不喜欢|不)|而不是|instead of|rather than|\bbut\b"
        r"|但是?|不过(?!敏)|\bover\b"
    ),
    re.IGNORECASE,
)

_SEVERAL = re.compile(r"[.!?;]\s+\S|[。！？；]\s*\S")

# Function words: they carry the form of a statement, not its content.
_FORM = words_of(
    """
    i i'm i've i'd i'll me my mine we we're our ours us you your the a an is are am was were be been being to of in
    on at for with by and or as it its that this these those do does did don't doesn't didn't not no never ever
    always usually often really very much so too also just only now currently still already more most than then from
    have has had will would can could should may might must like likes love loves enjoy enjoys prefer prefers hate
    hates dislike dislikes want wants use uses using used user user's users please let's let go going decided decide
    chose choose chosen settled agreed picked switched switch moved any anymore longer nowadays remember that's
    """
)
_FORM_HAN = re.compile(
    r"我们|我的|我|咱们|用户的?|本人|喜欢|不喜欢|讨厌|热爱|偏好|偏爱|更|最|很|非常|特别|比较|真的|其实|一直"
    r"|现在|目前|已经|以后|总是|习惯|决定|确认|选择|使用|改用|不再|用|的|了|是|在|也|都|就|还|吧|啊|呢|哦|请"
    r"|要|会|不|没有?|别|把"
)


@lru_cache(maxsize=512)  # a statement is compared with several others
def names_of_kind(text: str) -> Mapping[str, frozenset[str]]:
    """Return the things that a text names, by kind: {"language": {"python"}}."""
    found: dict[str, set[str]] = {}
    for match in _THING.finditer(text.lower()):
        kind, thing = _THINGS[match[0]]
        found.setdefault(kind, set()).add(thing)
    return {kind: frozenset(things) for kind, things in found.items()}


def without_kind(text: str, kind: str) -> str:
    """Return a text in lower case with "#" for each thing of a kind: equal for "Kafka for …" and "NATS for …"."""
    return _THING.sub(lambda match: "#" if _THINGS[match[0]][0] == kind else match[0], text.lower())


@lru_cache(maxsize=512)
def polarity(text: str) -> bool | None:
    """Return False for a negated statement, None for one with two sides ("coffee, not tea") or several sentences."""
    if _CONTRAST.search(text) or _SEVERAL.search(text):
        return None
    return len(_NEGATIVE.findall(text)) % 2 == 0


def left_behind(text: str) -> str:
    """Return what a change leaves behind: X of "from X to Y" and "no longer X"; "" when it is not said."""
    return " ".join(group for match in _LEFT.finditer(text) for group in match.groups() if group)


@lru_cache(maxsize=512)  # a statement is compared with several others
def statement_words(text: str) -> frozenset[str]:
    """Return the content words: lower case, English without common endings, Han as pairs of characters."""
    found: set[str] = set()
    text = text.lower().replace("’", "'").replace(" after all", "")
    for token in re.findall(r"[a-zÀ-ɏ0-9](?:(?![\u3400-\u9fff])[\w.+#'-])*|[\u3400-\u9fff]+", text):
        if token[0] >= "\u3400":
            for piece in _FORM_HAN.split(token):
                found.update(piece[i : i + 2] for i in range(max(1, len(piece) - 1)) if piece)
        elif (word := token.strip(".'-")) and word not in _FORM:
            found.add(stem(word))
    return frozenset(found)


def stem(word: str) -> str:
    """Return an English word without common endings."""
    word = word.removesuffix("'s")
    for ending, least in (("ies", 5), ("ing", 6), ("ed", 5), ("es", 5), ("s", 4)):
        if word.endswith(ending) and len(word) >= least and not word.endswith("ss"):
            return word[: -len(ending)] + ("y" if ending == "ies" else "")
    return word


LATELY = r"上个?月|上周|上个?星期|去年|今年|前年|最近|前阵子|刚刚?|昨天|这个月|\d{1,2}月份?"

"""What statements are about: everyday relations, and attributes with one value at a time. Tables in English and Chinese."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, cast

from extractor.language.vocabulary import LATELY, names_of_kind, stem

__all__ = ["CUES", "MARKS", "ONE_AT_A_TIME", "PEOPLE", "ROLES", "Mark", "slots"]


# What everyday statements are about, and the words that tell of a change: tables in English and Chinese.
#
# A relation is what a statement says of whom or what: where somebody lives, what a thing costs. Statements of one
# relation can replace each other; a word that names a relation is no value of it.

# relation, "!" where it has one value at a time: words that name it / values by which it is known; then in Chinese.
_RELATIONS: Final = """
home!: live living reside moved relocate settled flat apartment house home floor address town suburb neighbourhood place keys unpack unpacking lease landlord tenant rent mortgage upstairs downstairs / ; 住 搬 搬家 定居 公寓 住址 地址 楼 小区 租房 老家 家在 新家 房子 家里 合租 /
work!: work job employ employer hire hired fired redundant company firm career shift profession internship freelance joined joining notice offer promoted position role startup working contract colleague quit / nurse teacher engineer cook waiter freelancer retired unemployed paralegal bakery hospital factory shop cafe restaurant library museum airport office lab firm; 上班 工作 入职 跳槽 公司 任职 就职 辞职 离职 职业 岗位 职位 实习 单位 当 裁 做运营 转岗 /  老师 护士 工程师 会计 退休 自由职业 失业 文案 运营 算法 面包店 邮局 医院 工厂 餐厅 咖啡店 超市 事务所 律所 书店 报社
school!: school university college uni kindergarten nursery study studying major majoring degree master grade enrolled semester class / ; 上学 学校 小学 中学 高中 初中 大学 幼儿园 专业 转学 年级 读研 考研 念书 主修 学期 附小 附中 /
practice: learn learning lesson course practise practice practising training train play playing class hobby instrument sport club / guitar piano violin ukulele drums flute cello trumpet chess football tennis badminton yoga pilates swimming running jogging climbing climbed bouldering cycling gym choir pottery ballet boxing; 学 学习 在学 练 练习 弹 打 踢 玩 跳 课 拉 吹 运动 爱好 培训 班 / 吉他 钢琴 小提琴 尤克里里 鼓 笛子 象棋 围棋 足球 篮球 网球 羽毛球 乒乓球 瑜伽 游泳 跑步 攀岩 骑行 健身 健身房 合唱 陶艺 芭蕾 书法
language: speak speaking language / french german spanish italian portuguese japanese korean english chinese dutch swedish; 说 讲 语言 / 法语 德语 西班牙语 意大利语 葡萄牙语 日语 韩语 英语 中文 粤语
drink: drink drinking brew / coffee tea oolong latte espresso cappuccino americano decaf beer wine juice milk soda cola matcha water rooibos alcohol caffeine; 喝 饮料 / 茶 乌龙 乌龙茶 绿茶 红茶 咖啡 拿铁 美式 啤酒 红酒 果汁 牛奶 可乐 抹茶 豆浆 白酒 奶茶 无糖
diet!: diet / vegetarian vegan pescatarian meat fish egg dairy keto gluten carb sugar; 饮食 减脂 减肥 节食 / 吃素 吃荤 吃肉 吃鱼 素食 荤 素 肉 鱼 沙拉 米饭 碳水
food: eat eating breakfast lunch dinner food cuisine supper snack / ; 吃 饭 早餐 早饭 午饭 晚饭 菜 口味 外卖 /
taste: like love enjoy fan prefer hate dislike keen / ; 喜欢 爱 偏爱 迷 讨厌 更喜欢 /
favourite!: favourite favorite / ; 最喜欢 最爱 /
commute!: commute / bus train tram metro tube subway ferry cycle bike walk carpool line; 通勤 上下班 / 公交 公交车 地铁 号线 骑车 开车 班车 坐车 走路 步行 拼车 打车
vehicle!: car bike bicycle scooter motorbike van drive driving motorcycle / tesla toyota honda skoda fiesta volvo; 车 汽车 自行车 电动车 摩托 驾 / 特斯拉 飞度 丰田 本田 比亚迪 福特
name!: name named called rename renamed nickname goes-by / ; 叫 名字 改名 取名 名叫 网名 昵称 /
colour!: colour color painted paint repainted dyed dye wallpaper tile / red blue green yellow black white brown pink purple orange grey gray beige teal navy mustard; 颜色 漆 刷 染 涂 墙 / 红 蓝 绿 黄 黑 白 棕 粉 紫 橙 灰 米色 红色 蓝色 绿色 黄色 黑色 白色 灰色
price!: rent cost price pay salary fee bill budget earn charge wage raise / ; 房租 租金 价格 工资 月薪 薪水 预算 学费 收费 月租 /
partner!: partner dating relationship going-out seeing met together / single married boyfriend girlfriend engaged divorced wife husband fiance fiancee widowed; 对象 恋爱 异地 脱单 在一起 / 单身 男朋友 女朋友 结婚 离婚 分手 订婚 老公 老婆 男友 女友 领证
health: allergic allergy intolerant intolerance medication / diabetic asthma; 过敏 药 不耐受 / 糖尿病 哮喘
reading!: read reading novel book chapter / ; 书 小说 读 /
watching!: watch watching series show season film episode / ; 剧 追剧 电影 动漫 追 番 /
trip!: plan planning trip travel holiday vacation visit honeymoon flying flight easter christmas / ; 打算 计划 旅行 旅游 度假 出差 春节 五一 国庆 暑假 寒假 机票 /
smoking!: smoke smoking cigarette vape / ; 烟 抽烟 吸烟 /
device!: phone laptop tablet computer camera watch / iphone pixel macbook thinkpad galaxy kindle ipad; 手机 电脑 平板 笔记本 相机 / 小米 华为 苹果 三星
contact!: number email mail reach line / ; 号码 手机号 邮箱 微信 新号 电话 联系 /
tool!: deploy host hosting server database store framework / ; 部署 服务器 数据库 主库 框架 托管 /
rising!: wake alarm bed asleep sleep get-up / ; 起床 睡 睡觉 闹钟 入睡 起 早起 /
meeting!: meet meeting review standup retro appointment deadline due wedding party launch release ship ceremony defence defense defending viva exam slot session / ; 开会 会议 例会 预约 截止 婚礼 聚会 上线 发布 评审 发版 答辩 考试 组会 /
pet: pet / cat dog kitten puppy rabbit hamster parrot tortoise; 养 宠物 / 猫 狗 兔子 仓鼠 鹦鹉 乌龟
hair!: hair beard haircut / ; 头发 发型 胡子 刘海 /
provider!: bank insurance provider subscription membership / ; 银行 保险 订阅 会员 套餐 账户 /
parking!: park parking garage / ; 停车 车位 /
lead!: manager boss lead report head-of supervisor advisor director / ; 老板 经理 上司 领导 组长 导师 主管 总监 /
hours!: hours schedule shift weekend overtime monday tuesday wednesday thursday friday saturday sunday o'clock / ; 大小周 双休 单休 加班 周一 周二 周三 周四 周五 周六 周日 周末 /
"""

# A noun for somebody else, of whom a statement may be: what is said of one's sister is not said of oneself.
_PEOPLE: Final = """
mother mum mom father dad parent sister brother son daughter kid child husband wife partner grandmother grandma
grandfather grandpa grandad gran granny nan aunt uncle cousin nephew niece colleague friend neighbour neighbor flatmate roommate
housemate boyfriend girlfriend cat dog baby fiance fiancee in-law
妈妈 母亲 我妈 爸爸 父亲 我爸 爸妈 父母 姐姐 我姐 妹妹 我妹 哥哥 我哥 弟弟 我弟 儿子 女儿 孩子 老公 丈夫 老婆 妻子 奶奶 爷爷 外公 外婆 姥姥
姥爷 姑姑 叔叔 舅舅 阿姨 表哥 表姐 同事 朋友 闺蜜 邻居 室友 男朋友 女朋友 男友 女友
"""

# Somebody with whom one has to do, who may well decide what changes for oneself.
_ROLES: Final = """
boss manager landlord dentist doctor gp therapist teacher coach trainer tutor lawyer accountant cleaner physio committee
老板 经理 上司 领导 组长 房东 牙医 家庭医生 医生 老师 教练 律师 会计
"""

# How a statement changes what was said: "back" takes it back, "change" gives it another value, "begin" begins one, and
# "add" says that both hold, and "muse" tells of feelings and thoughts, which change nothing. "~" stands for up to four words, or for up to eight Han; "^" and "$" for the ends of a
# clause.
_MARKS: Final = """
add: also, too$, as well, another, both, either, besides, in addition, on top of, still, plus, there's also; 还, 也, 另外, 又养, 又买, 又学, 又多, 又有, 又报, 同时, 除了, 兼, 再加, 外加, 仍, 依然
muse: feel, feels, felt, feeling, feelings, realize, realized, realise, realised, think, thinking, thought, hope, hoping, wonder, appreciate, believe, inspired, inspiring, motivated, such a, amazing, great, awesome, lucky, grateful, sorry, excited, proud, tough, hard to, glad, wow, love how, made me, makes me, thanks, thank you, congrats, can't wait, looking forward, let's, wish, guess, maybe, it's been, it was; 感觉, 觉得, 发现, 意识到, 希望, 感到, 心里, 踏实, 感谢, 谢谢, 有点, 有些, 期待, 相信, 可能, 也许, 好像, 似乎, 应该, 如果, 想提前, 我想, 想问, 怎么, 幸好, 确实
back: gave up, is out, out of the loop, banished, stopped the, came home, come home, put down, cut ~ off, came off, come off, coming off, weaned off, got shot of, grown out of, grew out of, outgrew, outgrown, taken down, took ~ down, walked out, let go of, signed off from, archived, handed ~ over, don't work for, doesn't work for, isn't working, stepped down, stood down, closing, went bust, given up, giving up, give up, gave ~ up, giving ~ up, quit, quitting, stopped, no longer, any more, anymore, any longer, no more, scratch, scrap, scrapped, shelved, axed, binned, cancel, cancelled, canceled, called off, call ~ off, called ~ off, ditch, ditched, dropped, dropping, sold, got rid of, get rid of, threw out, gave away, done with, finished with, left$, left last, left in, has left, have left, is gone, are gone, is off$, are off$, it's off$, i used to, we used to, never mind, fell through, off the table, died, passed away, resigned, forget about, haven't ~ since, hasn't ~ since, not doing, decided against, gone off, had enough of, closed down, shut down, closed my, closed our, pulled out, backed out, bailed, opted out, voted down, turned down, ruled out, said no, rejected, handed in, gave notice, gave ~ notice, laid off, made redundant, got fired, retired, moved out, moved on, broke up, split up, called it quits, unsubscribed, uninstalled, decommissioned, expired, rehomed, got stolen, graduated, too expensive, too pricey; 放弃, 不成了, 出手了, 出院, 撂挑子, 戒掉, 断了, 停用, 下岗, 剃了, 剪掉, 下掉, 散了, 解散, 来不了, 去不了, 做不了, 用不了, 不当了, 归档, 倒闭, 不再, 再也不, 不~了, 没~了, 取消, 戒, 卖了, 卖掉, 扔了, 扔掉, 丢了, 作废, 算了, 不要了, 辞了, 辞职, 裸辞, 离职, 被裁, 退休, 分手, 分了, 离婚, 离了, 看完了, 读完了, 走了, 没了, 死了, 去世, 停了, 停掉, 退了, 退掉, 退租, 退订, 不叫, 而不是, 黄了, 下线, 弃用, 废了, 否了, 毙了, 砍了, 没戏, 泡汤, 告吹, 吹了, 送人, 送给, 去掉, 删掉, 别用, 失败, 搁置, 毕业, 不合适, 注销, 摘了, 报废, 推翻, 关门了, 太贵, 不让
change: start at, given me a, gave me a, went for ~ instead, straight to, started ~ on, back at, back in, on sabbatical, on leave, got out, opened ~ to, renewed, installed, upgraded to, come round to, came round to, went vegan, went freelance, went full-time, went part-time, gone vegan, gone freelance, gone part-time, shaved, grew out, widened, tightened, extended, shortened, expanded, downgraded, downsized, finished the rewrite, moved in, moving in, runs on, run on, got back together, adopted a new, enrolled at, got into, starting at, start as, starting as, start in, started at, started as, new job, new place, has been ~ed, have been ~ed, 's been ~ed, doubled, halved, upped, cut to, signed with, went over to, switched, switching, change, changed, changing, changes, replace, replaced, replacing, instead$, move, moved, moving, pushed, bumped, postponed, delayed, put back, rescheduled, rebooked, brought forward, renamed, goes by, repainted, painted ~, redid, redone, rewrote, rewritten, redecorated, reshuffled, dyed, chopped, cut off, went up, gone up, goes up, went down, gone down, raised, rose, risen, lowered, turns out, after all, in the end, ^actually, back to, back on, from now on, from here, from next ~, these days, nowadays, since today, as of, effective, upgraded, converted, transferred, transferring, reassigned, promoted, swapped, swap, traded, took over, takes over, taking over, handed over, report to, changed my mind, set ~ heart on, on second thought, correction, i meant, becomes, became, over to, up to, down to, shifted, settled on, went with, decided on, landed on, opted for, gone back, went back, resumed, not ~ but; 改, 换, 降回, 升回, 排到了, 那就, 终于给, 续到, 续签, 退伍, 转业, 装好, 腻了, 重构, 放宽, 收紧, 扩大, 缩短, 延长, 接到, 接来, 爱上, 迷上, 升职, 降职, 调岗, 外派, 复合, 和好, 启用, 用回, 只喝, 只吃, 只用, 考上, 录取, 领养, 拿证, 转正, 加到, 减到, 升, 提到, 地点变, 时间变, 定在, 交给, 得穿, 得用, 过了, 拿去, 放到, 搬, 转到, 转去, 转行, 转学, 转岗, 转用, 转成, 转投, 推迟, 推到, 往后推, 提前, 延期, 延到, 挪, 调到, 调成, 调整, 调去, 切到, 切换, 涨, 降到, 降成, 变成, 变了, 漆成, 刷成, 染成, 涂成, 剪成, 剪短, 成了, 跳槽, 入职, ^其实, 从今天, 从这~起, 从下~起, 从周~起, 从~开始, 今后, 以后, 往后, 升到, 升成, 升级, 迁, 更正, 说错, 记错, 重新, 重写, 重排, 恢复, 回到, 又开始, 反而, 接手, 接任, 接替, 顶替
begin: now, new, start, starts, starting, started, begin, began, joined, joining, picked up, took up, taken up, since, currently, signed up, for ~ weeks, for ~ months, been seeing, going out, got the keys, first day, gave me, put me on; 月起, 周起, 天起, 年起, 号起, 日起, 现在, 如今, 开始, 新, 最近, 目前, 才, 这学期, 签了, 提了, 办了, 找到, 领证, 有了, 只能
"""


@dataclass(frozen=True, slots=True)
class Cue:
    """What a word tells of a statement. relation: "" for none. value: whether it is also a value of that relation."""

    relation: str = ""
    value: bool = False


Mark = Literal["add", "muse", "back", "change", "begin"]


def _cues() -> dict[str, tuple[Cue, ...]]:
    found: dict[str, tuple[Cue, ...]] = {}
    for line in _RELATIONS.strip().splitlines():
        name, _, listed = line.partition(": ")
        for language in listed.split(";"):
            names, _, values = language.partition("/")
            for words, value in ((names, False), (values, True)):
                for word in words.split():
                    found[stem(word)] = (*found.get(stem(word), ()), Cue(name.rstrip("!"), value))
    return found


def _marks() -> dict[Mark, re.Pattern[str]]:
    found: dict[Mark, re.Pattern[str]] = {}
    for line in _MARKS.strip().splitlines():
        kind, _, listed = line.partition(": ")
        english, chinese = (
            "|".join(
                re.escape(word).replace("\\~", gap).replace("\\$", "$").replace("\\^", "^")
                for word in sorted(words.strip().split(", "), key=len)[::-1]
            )
            for words, gap in zip(listed.split(";"), (r"(?:[\w'-]+ ){0,3}?[\w'-]+", "[^，。,；]{1,8}?"), strict=True)
        )
        found[cast("Mark", kind)] = re.compile(rf"\b(?:{english})\b|{chinese}", re.IGNORECASE)
    return found


CUES: Final[Mapping[str, tuple[Cue, ...]]] = _cues()
MARKS: Final[Mapping[Mark, re.Pattern[str]]] = _marks()
ROLES: Final = frozenset(stem(word) for word in _ROLES.split())
PEOPLE: Final = ROLES | {stem(word) for word in _PEOPLE.split()}
ONE_AT_A_TIME: Final = frozenset(re.findall(r"^(\w+)!:", _RELATIONS, re.MULTILINE))


# Attributes with one value at a time, such as an employer or a port: a new value supersedes the old one.

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

"""Names in memories: who and what sentences name, in English, in Chinese and in both; and what is no name."""

import json
from pathlib import Path

import pytest

from gateway_memory.browsing.names.naming import Named, names_in, own_name, says_name

WEEKS = Path(__file__).parents[2] / "benchmarks" / "weeks"

# What a week of talk names, by kind: none of these may be missing, and nothing else may be found but what is doubtful.
OF_WEEKS = {
    "en": {
        "person": {"mother", "Priya", "Ailsa", "Henrik", "Zhou Lin", "Jonas", "Murdo"},
        "pet": {"Biscuit"},
        "project": {"Wrenbox"},
        "place": {"Tromsø", "Easter Road", "Porto", "Shenzhen", "Faroe Islands", "Lofoten", "West Highland Way",
                  "Royal Infirmary"},
        "topic": {"Skerryline", "Rust", "Fedora", "Halden Maps", "Raspberry Pi"},
        "doubtful": {"St John", "Western General", "Sandy Bell", "Tern GSD", "ThinkPad X1 Gen"},
    },
    "zh": {
        "person": {"陈屿", "嘉树", "贺敏", "周蔓", "秦朗", "婆婆"},
        "pet": {"麻薯"},
        "project": {"苗圃日记"},
        "place": {"墨尔本", "莫干山", "益阳", "青岛", "良渚", "伊犁"},
        "topic": {"Flutter", "Supabase", "MacBook Air M3", "禾芯医疗"},
        "doubtful": set(),
    },
}  # fmt: skip


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_week_names_its_people_and_things_and_little_else(language: str) -> None:
    facts = json.loads((WEEKS / f"{language}.json").read_text("utf-8"))["facts"]
    found: dict[str, set[str]] = {}
    for each in names_in([fact["fact"] for fact in facts]):
        found.setdefault(each.kind, set()).add(each.name)
    expected = OF_WEEKS[language]
    for kind in ("person", "pet", "project", "place", "topic"):
        assert expected[kind] - found[kind] == set(), kind
        assert found[kind] - expected[kind] - expected["doubtful"] == set(), kind


@pytest.mark.parametrize(
    ("text", "name", "kind", "relation"),
    [
        ("My sister Anna lives in Ghent", "Anna", "person", "sister"),
        ("The user's brother Tom drives a tram.", "Tom", "person", "brother"),
        ("I had dinner with Zoe", "Zoe", "person", ""),
        ("Marta is my sister, she is a nurse", "Marta", "person", "sister"),
        ("our landlord is called Mr. Czerny", "Mr. Czerny", "person", ""),
        ("My daughter's name is Edith", "Edith", "person", "daughter"),
        ("I have two cats, Milo and Fern", "Fern", "pet", "cat"),
        ("we've got a tortoise called Gerald", "Gerald", "pet", "tortoise"),
        ("our product is called Larkspur", "Larkspur", "project", ""),
        ("I'm working on the Atlas project", "Atlas", "project", ""),
        ("I live near Lyon with my kids", "Lyon", "place", ""),
        ("We settled on PostgreSQL for billing", "PostgreSQL", "topic", ""),
        ("我妹妹小雨在那边当护士", "小雨", "person", "妹妹"),
        ("用户的妹妹叫小雨", "小雨", "person", "妹妹"),
        ("我女儿叫朵朵，今年上小学二年级", "朵朵", "person", "女儿"),
        ("用户的同事李明负责支付系统", "李明", "person", "同事"),
        ("我老公陈屿在消防队", "陈屿", "person", "老公"),
        ("跟王老师约了周三上课", "王老师", "person", ""),
        ("老王周一得去复查膝盖", "老王", "person", ""),
        ("我家狗叫土豆", "土豆", "pet", "狗"),
        ("我养了一只柯基，名字叫年糕", "年糕", "pet", "柯基"),
        ("咱们项目代号叫“青鸟”，对外先不公开", "青鸟", "project", ""),
        ("我们在做“星图”项目，决定用 PostgreSQL", "星图", "project", ""),
        ("We ship the “Blue Heron” app in May", "Blue Heron", "project", ""),
        ("公司全称“杭州星图信息技术有限公司”", "杭州星图信息技术有限公司", "topic", ""),
        ("我搬到苏州了", "苏州", "place", ""),
        ("我女兒叫小晴，今年五歲", "小晴", "person", "女兒"),
        ("我同學陳偉在銀行上班", "陳偉", "person", "同學"),
        ("我養了一隻貓，名字叫年糕", "年糕", "pet", "貓"),
        ("我家有只猫叫年糕", "年糕", "pet", "猫"),
        ("我媽媽下星期從台北過來", "媽媽", "person", "媽媽"),
        ("我搬到臺南了", "臺南", "place", ""),
        ("用户住在滨江", "滨江", "place", ""),
        ("我妹妹Anna在柏林", "Anna", "person", "妹妹"),
        ("我在 Google 上班", "Google", "topic", ""),
        ("我最近在看《资治通鉴》", "资治通鉴", "topic", ""),
        ("我习惯用 vim", "vim", "topic", ""),
    ],
)  # fmt: skip
def test_a_sentence_names(text: str, name: str, kind: str, relation: str) -> None:
    found = {each.name: each for each in names_in([text])}
    assert name in found, found
    assert (found[name].kind, found[name].relation) == (kind, relation)


@pytest.mark.parametrize(
    "text",
    [
        "Prefers tea",
        "Never push straight to main",
        "I speak French at home and English at work",
        "Meetings are on Monday and in March",
        "Please Always Answer In Short Sentences Without Lists",
        "I'm Catholic, and Christmas matters to me",
        "The car goes to the garage on Friday",
        "Use British spelling in PRs and in the API",
        "Box 7 of shelf 3 holds 12 screws",
        "我对花生过敏",
        "我老婆怀孕了",
        "我爸身体很好",
        "我妹妹上个月搬家了",
        "我老婆特别能吃辣",
        "叫外卖的时候别放香菜",
        "今天下小雨",
        "我住在公司附近",
        "我家在郊区，周末常去爬山",
        "我喜欢北京烤鸭",
        "提高老师的工资",
        "回复“好的”就行",
        "我是爷爷奶奶带大的",
        "我媽媽對花生過敏",
        "請說「軟體」不是「软件」",
        "我妹妹從上個月開始學畫畫",
        "我老師說下週要考試",
        "我女兒現在還沒睡覺",
        "代码注释一律用中文",
    ],
)
def test_a_sentence_without_names_names_nothing_but_relations(text: str) -> None:
    assert [each.name for each in names_in([text]) if each.name != each.relation] == []


def test_a_certain_name_is_found_where_a_sentence_begins_with_it() -> None:
    texts = ["Marta visits in May", "My sister Marta lives in Lisbon", "小雨下个月来", "我妹妹小雨在成都"]
    found = {each.name: each.texts for each in names_in(texts)}
    assert found["Marta"] == (0, 1)
    assert found["小雨"] == (2, 3)


def test_a_relation_stands_for_the_only_one_who_has_it() -> None:
    named = names_in(["My wife Ana is a nurse", "My wife is from Brazil"])
    assert [(each.name, each.texts) for each in named if each.kind == "person"] == [("Ana", (0, 1))]
    nameless = names_in(["我老婆是成都人"])
    assert Named(name="老婆", kind="person", relation="老婆", texts=(0,)) in nameless
    two = {each.name: each.texts for each in names_in(["My son Tim reads", "My son Max runs", "My son is ill"])}
    assert two["Tim"] == (0,)
    assert two["Max"] == (1,)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("My name is Lin and I'm a backend engineer", "Lin"),
        ("Hi, I'm Priya!", "Priya"),
        ("Call me Robin, not Robert.", "Robin"),
        ("The user's name is Sam Whitlock", "Sam Whitlock"),
        ("I'm German", ""),
        ("I'm Vegetarian since May", ""),
        ("My daughter's name is Edith", ""),
        ("我叫林晓，住在杭州", "林晓"),
        ("叫我阿哲就行", "阿哲"),
        ("用户的名字是陈伟杰。", "陈伟杰"),
        ("我女儿叫朵朵", ""),
        ("叫我起床", ""),
        ("我是阿豪", "阿豪"),
        ("我是阿豪，在杭州做产品经理", "阿豪"),
        ("你好，我是小王。", "小王"),
        ("我是李明，做設計的", "李明"),
        ("我是 Kevin", "Kevin"),
        ("我是朵朵", "朵朵"),
        ("我是陳怡君", "陳怡君"),
        ("我是欧阳静", "欧阳静"),
        ("我是程序员", ""),
        ("我是高中生，喜欢 Python", ""),
        ("我是温州人", ""),
        ("我是石匠", ""),
        ("我是金牛座", ""),
        ("我是顾问", ""),
        ("我是马大哈", ""),
        ("我是小白", ""),
        ("我是老外", ""),
        ("我是老师", ""),
        ("我是单身", ""),
        ("我是认真的", ""),
        ("我是 German", ""),
        ("我是 Java 程序员", ""),
        ("我是江苏人", ""),
        ("我是张伟的同事", ""),
    ],
)
def test_the_users_own_name(text: str, name: str) -> None:
    assert own_name([text]) == name
    assert all(each.name != name for each in names_in([text]) if name)


def test_a_name_is_a_word_of_its_own() -> None:
    assert says_name("Ann's flat", "Ann")
    assert says_name("我用Kafka做队列", "Kafka")
    assert not says_name("Anna's flat", "Ann")
    assert not says_name("in the plan", "lan")


@pytest.mark.parametrize(
    "text", ["", " ", "'", "'s", "The", "“", "《》", "小", "A" * 5000, "和" * 3000, "My my my " * 500]
)
def test_any_text_can_be_read(text: str) -> None:
    assert names_in([text, text]) is not None


def test_a_name_that_is_told_as_one_is_preferred_to_one_that_looks_like_it() -> None:
    assert own_name(["我是小林，有空吗", "我叫林晓，住在杭州"]) == "林晓"
    assert own_name(["我是小林，有空吗"]) == "小林"


def test_a_name_within_a_longer_one_is_not_told_of() -> None:
    texts = ["我们在做“星图”项目", "公司全称“杭州星图信息技术有限公司”", "星图下周上线"]
    told = {each.name: each.texts for each in names_in(texts)}
    assert told["星图"] == (0, 2)
    assert told["杭州星图信息技术有限公司"] == (1,)


def test_people_are_found_by_what_they_are_to_the_user() -> None:
    told = (
        "我妈下个月要做膝盖手术", "婆婆带孩子，住在我们家", "王姐是我们组的组长", "我的健身教练姓刘", "教练让我先减脂",
        "我老公是程序员", "老公不吃香菜", "医生证丢了",
    )  # fmt: skip
    people = {each.name: each.texts for each in names_in(told) if each.kind == "person"}
    assert people == {"妈": (0,), "婆婆": (1,), "王姐": (2,), "教练": (3, 4), "老公": (5, 6)}

"""A statement against an older one, in ordinary words: pairs of `data/changed_minds.jsonl`, with real cosines."""

import json
import math
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from operator import mul
from pathlib import Path

import pytest

from extractor import (
    Candidate,
    Decision,
    Known,
    Turn,
    change_of,
    decide,
    extract_rules,
    meaning_of,
    stands_alone,
    with_unread,
    without_withdrawn,
)
from extractor.merge.compare import relation
from recall import text_overlap
from recall.encoding.encoder import bundled_encoder

PAIRS = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "data/changed_minds.jsonl").read_text("utf-8").splitlines()
]
FLOORS = {"change": 0.52, "neighbour": 0.92, "repeat": 0.65}

NEIGHBOURS = [
    # what is told of somebody changes nothing else of them
    ("Finn is allergic to kiwi", "Finn is better, he's back at school tomorrow"),
    ("下周二我爸妈来家里吃饭", "家里没牛奶了"),
    ("今天四点带朵朵看牙", "朵朵不想学架子鼓了，想学吉他"),
    # another person
    ("my niece is afraid of the dark", "my nephew has stopped being afraid of spiders"),
    ("Ola paints the fence on Saturday", "Rui has stopped painting altogether"),
    ("our plumber charges forty an hour", "the electrician has raised his prices"),
    ("我表弟在酒店当厨师", "我堂姐不当导游了"),
    ("阿强负责采购", "阿珍不管仓库了"),
    # another thing
    ("the hoover is under the stairs", "we moved the ironing board to the loft"),
    ("The blue tent sleeps four", "we sold the awning"),
    ("I bake rye bread on Fridays", "I gave up on the sourdough starter"),
    ("书架是白橡木的", "鞋柜换成黑色的了"),
    ("洗碗机是去年装的", "烘干机坏了，退了"),
    # another day
    ("every Monday the shop is closed, plan nothing for me then", "the Wednesday delivery has moved to Thursday"),
    ("recycling goes out on Tuesday night", "the Friday film club is cancelled"),
    ("每周一店里休息，别给我排事情", "周四的例会改到周五了"),
    ("周六上午带孩子上围棋课", "周日的聚餐取消了"),
    # another room
    ("the study faces the railway", "we repainted the nursery"),
    ("The attic has new windows", "the cellar has been cleared out"),
    ("主卧朝南", "客房改成书房了"),
    ("厨房装了净水器", "卫生间的热水器换新的了"),
    # another dose, or remedy
    ("I take one iron tablet after breakfast", "the doctor stopped my eye drops"),
    ("half a pill of the thyroid stuff at seven", "no more cough syrup since Sunday"),
    ("早饭后吃一片钙片", "睡前的安眠药停了"),
    ("每天滴两次眼药水", "鼻喷剂不用喷了"),
    # another pet
    ("the tortoise hibernates in the shed", "we rehomed the budgie"),
    ("Our old greyhound sleeps by the stove", "the hamster has moved to my cousin's"),
    ("乌龟养在阳台", "鹦鹉送人了"),
    ("我家的猫爱抓沙发", "仓鼠换了个新笼子"),
    # an exception
    ("I don't eat anything fried", "my birthday was an exception, crisps and all"),
    ("我晚上不接工作电话", "昨晚那个客户除外，接了一次"),
    # a reason
    ("I cycle to the library", "it has become so hard to find a place to park there"),
    ("我们家不看电视", "孩子以前一看就停不下来"),
    # a cheer, thanks, a mood
    ("come on the lads", "I've stopped going to the match with my uncle"),
    ("no coconut please, it makes my throat swell up", "come on you reds, we switched to a back three and won"),
    ("加油啊兄弟们", "我换了双新球鞋"),
    ("I get migraines from strip lighting", "we changed the bulbs on the Christmas tree"),
    # an allergy or a wish, and no word of it
    ("我对猕猴桃过敏", "原来打算春节去哈尔滨看冰雕的，不去了"),
    ("我不打算去考驾照", "原来打算国庆去爬山的，不去了"),
    ("never call me before nine, I work nights", "I've stopped buying cut flowers"),
    ("回答我的时候别用表情符号", "我把闹铃换成鸟叫了"),
    ("metric units only", "we replaced the old scales in the bathroom"),
    ("我吃不了芒果", "我戒了夜宵"),
]
CHANGES = [
    ("I play the oboe in the town band", "I gave up the oboe"),
    ("my locksmith course ends in March", "the locksmith course is cancelled"),
    ("We rent an allotment behind the station", "we no longer have the allotment"),
    ("I use a fountain pen for everything", "I've stopped using the fountain pen"),
    ("The book club meets on Mondays", "The book club has moved to Thursdays"),
    ("The parish newsletter deadline is May 5", "The parish newsletter deadline is May 9"),
    ("我在学琵琶", "琵琶不学了"),
    ("清明去黄山", "黄山不去了"),
    ("我每天吃一粒鱼油", "鱼油停了"),
    ("社区合唱团我是领唱", "合唱团我退了"),
    ("读书会定在周三晚上", "读书会改到周五晚上了"),
]


@cache
def vector(text: str) -> tuple[float, ...]:
    return tuple(bundled_encoder().encode([text])[0].tolist())


def cosine(one: str, other: str) -> float:
    return math.fsum(map(mul, vector(one), vector(other)))


@cache
def telling(text: str) -> float | None:
    encoder = bundled_encoder()
    meaning = meaning_of(text, vector(text), encoder.name)
    return meaning.change if meaning else None


def told(new: str, old: str, *, said: str = "", near: float | None = None, protected: bool = False) -> Decision:
    return decide(candidate_of(new, said), [known(new, old, near=near, protected=protected)])


def candidate_of(new: str, said: str = "") -> Candidate:
    return Candidate(
        content=new, category="fact", type="B", importance="normal", confidence=0.9, sentence=said, telling=telling(new)
    )


def known(new: str, old: str, *, near: float | None = None, protected: bool = False) -> Known:
    return Known(
        id="m1",
        text=old,
        cosine=cosine(new, old) if near is None else near,
        overlap=text_overlap(old, new),
        importance="normal",
        protected=protected,
        vectors=(bundled_encoder().name, vector(new), vector(old)),
    )


def kind_of(decision: Decision) -> str:
    if decision.action == "supersede" or decision.outdates or decision.asks:
        return "change"
    return "neighbour" if decision.action == "add" else "repeat"


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.lengthy
def test_changes_neighbours_and_repeats_are_told_apart(language: str) -> None:
    counts, right = Counter[str](), Counter[str]()
    for pair in PAIRS:
        if pair["lang"] == language:
            counts[pair["kind"]] += 1
            right[pair["kind"]] += kind_of(told(pair["after"], pair["before"])) == pair["kind"]
    shares = {kind: right[kind] / counts[kind] for kind in FLOORS}
    assert all(shares[kind] >= floor for kind, floor in FLOORS.items()), shares


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("my bike is red", "had the bike painted green"),
        ("我在学吉他", "吉他放弃了，改弹尤克里里"),
        ("我喝乌龙茶", "乌龙茶不喝了，改喝拿铁"),
        ("The logo will be blue", "scratch the blue logo"),
        ("The staging database is called heron42", "The staging database is called bittern7 since today, not heron42"),
    ],
)
def test_a_change_in_ordinary_words_is_told(before: str, after: str) -> None:
    assert kind_of(told(after, before)) == "change"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("I live in Porto", "My sister has moved to Braga"),  # somebody else
        ("my bike is red", "my car was painted green"),  # something else
        ("I'm learning the guitar", "I'm also learning the ukulele now"),  # both hold
        ("I work at the bakery", "You start at the post office on Monday"),
        ("I work at the bakery", "Do I start at the post office on Monday?"),
        ("I drive an old Fiesta", "I washed the Fiesta yesterday"),  # an event changes nothing
        ("locker a53 opens with 9420", "locker b53 opens with 9420"),  # another code, another thing
        ("locker a53 opens with 9420", "locker b53 now opens with 4444"),
        ("the owner paints", "the owner fences"),  # a word that names a relation counts where only one has it
        ("我住五楼", "楼下的邻居搬走了"),
        ("I work at the bakery", "I start at the post office on Monday"),  # nothing says that it is instead of it
        ("我在学吉他", "我还在学尤克里里"),
    ],
)
def test_what_changes_nothing_leaves_no_mark(before: str, after: str) -> None:
    assert told(after, before) == Decision(action="add", target=None, reason="new")


def test_an_unsure_change_stands_beside_the_older_line() -> None:
    decision = told("I live in Linz", "I am Jonas and I live in Graz")
    assert decision == Decision(action="add", target=None, reason="perhaps_changed", outdates="m1")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("the nursery pickup is at 5", "the nursery closes earlier now, pickup is 4:15"),
        ("我六点起床", "我现在八点才起床"),
    ],
)
def test_what_words_leave_open_is_told_by_both_vectors(before: str, after: str) -> None:
    assert told(after, before).action == "supersede"
    assert decide(candidate_of(after), [replace(known(after, before), vectors=None)]).action == "add"


def test_only_the_nearest_line_is_changed_by_what_its_vector_tells() -> None:
    old, new = "the nursery pickup is at 5", "the nursery closes earlier now, pickup is 4:15"
    same = replace(known(new, old), id="farther", cosine=0.1)
    nearer = replace(known(new, "the nursery has a big garden"), id="nearer", cosine=0.9)
    assert decide(candidate_of(new), [same]).target == "farther"
    assert decide(candidate_of(new), [same, nearer]).target != "farther"


def test_a_wish_takes_the_place_of_no_other_wish_by_its_vector() -> None:
    old, new = "用中文回答", "回答简短"
    wish = replace(candidate_of(new), category="instruction")
    assert decide(wish, [known(new, old)]).action == "add"


def test_another_encoders_vectors_tell_nothing_of_a_change() -> None:
    related = relation("I moved", "I live in Graz", 0.5, None)
    assert change_of("I moved", "another", vector("I moved"), vector("I live in Graz"), related) is None
    assert change_of("I moved", bundled_encoder().name, (1.0,), (1.0,), related) is None


def test_of_several_lines_the_likeliest_is_changed() -> None:
    new, lines = "I sold the Fiesta, I have a Leaf now", ["I drive an old Fiesta", "I have a garage", "I love driving"]
    candidate = Candidate(
        content=new, category="fact", type="B", importance="high", confidence=0.9, telling=telling(new)
    )
    near = [replace(known(new, line), id=line) for line in lines]
    assert decide(candidate, near).target == "I drive an old Fiesta"


def test_a_curated_line_is_changed_where_the_words_say_so() -> None:
    assert told("I gave up the guitar", "I'm learning the guitar", protected=True).action == "supersede"


def test_the_sentence_tells_of_a_change_of_which_the_content_does_not() -> None:
    content, said = "I play the ukulele", "I gave up the guitar, I play the ukulele"
    assert kind_of(told(content, "I'm learning the guitar", near=0.5)) == "neighbour"
    assert kind_of(told(content, "I'm learning the guitar", said=said, near=0.5)) == "change"


def test_a_model_says_itself_what_its_entries_change() -> None:
    old, new = "the nursery pickup is at 5", "the nursery closes earlier now, pickup is 4:15"
    assert decide(candidate_of(new), [known(new, old)]).action == "supersede"
    assert decide(replace(candidate_of(new), quote=new), [known(new, old)]).action == "add"


@pytest.mark.parametrize(
    ("message", "told_of"),
    [
        ("had it painted green", ["had it painted green"]),
        ("Nice weather. Actually, scratch the blue logo!", ["Nice weather", "scratch the blue logo"]),
        ("吉他放弃了，改弹尤克里里", ["吉他放弃了，改弹尤克里里"]),
        ("Should I switch to the train?", []),
        ('"I sold the Fiesta", says the hero of my novel', []),
    ],
)
def test_sentences_that_may_tell_of_a_change_are_found(message: str, told_of: list[str]) -> None:
    turn = Turn(id=1, user=message, reply="", at=datetime(2026, 1, 5, tzinfo=UTC))
    assert [candidate.content for candidate in with_unread(turn, ()) if "change" in candidate.only_as] == told_of


def test_what_the_rules_keep_is_not_told_twice() -> None:
    turn = Turn(id=1, user="I prefer helix to vim", reply="", at=datetime(2026, 1, 5, tzinfo=UTC))
    (kept,) = with_unread(turn, extract_rules(turn))
    assert (kept.only_as, kept.sentence) == (frozenset(), turn.user)


@pytest.mark.parametrize(
    ("sentence", "changed", "alone"),
    [
        ("had it painted green", "My bike is red", "had my bike painted green"),
        ("漆成绿色了", "我的自行车是红色的", "我的自行车：漆成绿色了"),
        ("改喝拿铁了", "我早上喝乌龙", "改喝拿铁了"),
        (
            "IT renamed our CI server, it goes by hazel",
            "the CI server is called walnut",
            "IT renamed our CI server, it goes by hazel",
        ),
        ("I gave it up", "I smoke", "I gave it up"),
    ],
)
def test_a_change_stands_alone(sentence: str, changed: str, alone: str) -> None:
    assert stands_alone(sentence, changed) == alone


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("the port is 9090, not 8080", "the port is 9090 not"),
        ("scratch the blue logo", ""),
        ("吉他放弃了，改弹尤克里里", "改弹尤克里里"),
        ("I moved to Porto", "I moved to Porto"),
    ],
)
def test_what_is_taken_back_is_no_longer_told(text: str, left: str) -> None:
    assert " ".join(without_withdrawn(text).split()) == left


@pytest.mark.parametrize(("before", "after"), NEIGHBOURS)
def test_near_neighbours_both_stand_unmarked(before: str, after: str) -> None:
    decision = told(after, before)
    assert (decision.action, decision.outdates) == ("add", "")


def test_of_few_near_neighbours_it_is_asked_whether_they_hold() -> None:
    assert sum(bool(told(after, before).asks) for before, after in NEIGHBOURS) <= 5


@pytest.mark.parametrize(("before", "after"), CHANGES)
def test_a_true_change_takes_the_place_of_the_older_line(before: str, after: str) -> None:
    assert told(after, before).action == "supersede"

"""How much of what people plainly say is kept, whole and standing, and how much that only looks like it."""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest
from understanding import kept

from extractor import traits_of
from extractor.language.kind import is_english_with_han
from gateway_memory.ground.tables import simplified

ROWS = [
    json.loads(line) for line in (Path(__file__).parents[1] / "data" / "plain.jsonl").read_text("utf-8").splitlines()
]
FEWEST_WHOLE, FEWEST_STANDING, LEAST_PRECISION = 0.85, 0.85, 0.95


@dataclass(kw_only=True)
class Score:
    """told, wished: how many rows say something; whole, standing: how many of them are kept so; lines: all kept."""

    told: int = 0
    wished: int = 0
    whole: int = 0
    standing: int = 0
    lines: int = 0


def score(lang: str) -> Score:
    result = Score()
    for row in ROWS:
        if row["lang"] != lang:
            continue
        candidates = kept(row["text"])
        whole = [each for each in candidates if row["keep"] and row["keep"] in each.content]
        result.lines += len(candidates)
        result.whole += bool(whole)
        if row["keep"] is not None:
            result.told += 1
        if row["standing"]:
            result.wished += 1
            result.standing += any(traits_of(each.category).standing for each in whole)
    return result


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_what_is_plainly_said_is_kept_whole_and_what_only_looks_like_it_is_not(lang: str) -> None:
    result = score(lang)
    print(f"{lang}: {result}")  # noqa: T201 - shown with -rP: how far above the floors
    assert result.whole >= FEWEST_WHOLE * result.told
    assert result.standing >= FEWEST_STANDING * result.wished
    assert result.whole >= LEAST_PRECISION * result.lines


# Each form of a wish, and the order for once beside it.
PAIRS = [
    ("No exclamation marks please", "No, make it louder"),
    ("skip the pleasantries in my mails", "skip that paragraph"),
    ("when you plan a trip for me, trains only", "when you're done, send me the file"),
    ("hold the onions", "hold on a second"),
    ("nothing with gluten", "nothing happened"),
    ("never ring me after nine", "never heard of it"),
    ("metric units, always", "metric units are used in the table above"),
    ("I can't stand jargon", "I can't open the file"),
    ("别给我发语音", "别担心"),
    ("回复我短一点", "短一点"),
    ("对我别说教", "对，就这样"),
    ("我闻不了榴莲", "我打不开文件"),
    ("少放辣", "少了一个括号"),
    ("以后查资料都附上出处", "这段附上出处"),
]


def test_a_wish_for_good_is_told_from_an_order_for_once() -> None:
    wishes = [each for wish, _ in PAIRS for each in kept(wish) if each.content == wish]
    assert sum(traits_of(each.category).standing for each in wishes) >= 0.5 * len(PAIRS)
    assert sum(bool(kept(order)) for _, order in PAIRS) <= 1


@pytest.mark.parametrize(
    ("message", "content"),
    [
        ("Hi, I'm Mei!", "I'm Mei"),
        (
            "I'm Mei, I moved to Lisbon last spring with my husband Tomas",
            "I'm Mei, I moved to Lisbon last spring with my husband Tomas",
        ),
        ("My husband and I run a guesthouse in Porto", "My husband and I run a guesthouse in Porto"),
        ("Both of my kids are vegetarian.", "Both of my kids are vegetarian"),
        ("My sister, Ann, was born in May 1990.", "My sister, Ann, was born in May 1990"),
        ("My knees are bad so I swim on Mondays", "My knees are bad so I swim on Mondays"),
        ("English is my third language so use easy words", "English is my third language so use easy words"),
        ("我叫小梅，去年搬到里斯本", "我叫小梅，去年搬到里斯本"),
        ("吉他放弃了，我现在弹尤克里里", "吉他放弃了，我现在弹尤克里里"),
        ("我吃不了辣，推荐馆子注意点", "我吃不了辣，推荐馆子注意点"),
    ],
)
def test_what_belongs_together_is_one_line_with_its_subject(message: str, content: str) -> None:
    assert [candidate.content for candidate in kept(message)] == [content]


@pytest.mark.parametrize(
    "message",
    [
        "Rui and I are going with the green one",
        "yeah the first one is nicer",
        "They don't define you.",
        "My guy, this plan is sharp",
        "In our game I'm a dwarf, I own a cursed axe",
        "Please check whether this sounds natural: I work as a nurse since three years",
        "记住先看日志再说",
        "剧本杀里我是管家，我在厨房藏了一把刀",
        "别忘了买牛奶",
    ],
)
def test_a_fragment_or_what_means_nothing_alone_is_not_kept(message: str) -> None:
    assert kept(message) == []


@pytest.mark.parametrize(
    "text",
    [
        "I work at 字节跳动 as a designer",
        "I'm allergic to 芒果",
        "Please always answer in 中文",
        "We decided to host 星图 on Kubernetes",
    ],
)
def test_english_that_holds_chinese_names_is_read_as_english(text: str) -> None:
    assert is_english_with_han(text)
    assert [candidate.content for candidate in kept(text)] == [text]


@pytest.mark.parametrize(
    "text",
    [
        "我最近在学 Rust",
        "我的 manager 叫 Kevin",
        "我们 team 决定用 PostgreSQL",
        "以后叫我 Alex",
        "我 work at home 比较多",
    ],
)
def test_chinese_that_holds_english_words_is_read_as_chinese(text: str) -> None:
    assert not is_english_with_han(text)


@pytest.mark.parametrize(
    ("traditional", "simple"),
    [
        ("我對花生過敏", "我对花生过敏"),
        ("我現在改喝拿鐵了", "我现在改喝拿铁了"),
        ("我決定下個月辭職", "我决定下个月辞职"),
        ("我妹妹住在臺北，她在銀行上班", "我妹妹住在台北，她在银行上班"),
    ],
)
def test_traditional_characters_are_read_as_simplified_ones_and_kept_as_they_were_written(
    traditional: str, simple: str
) -> None:
    assert simplified(traditional) == simple
    (one,), (other,) = (kept(text) for text in (traditional, simple))
    assert (one.content, one.category) == (traditional, other.category)


def test_what_to_remember_may_be_said_in_another_language() -> None:
    (candidate,) = kept("记住 my flight to Berlin is at 9am on Monday")
    assert candidate.explicit
    assert candidate.content == "my flight to Berlin is at 9am on Monday"

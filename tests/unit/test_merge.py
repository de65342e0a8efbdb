"""What a candidate does to the memories near it, in both languages. A wrong merge loses a memory."""

import pytest

from extractor import Candidate, Decision, Known, decide
from extractor.types import Importance
from recall import text_overlap


def merged(
    new: str, *old: str, cosine: float | None = None, protected: bool = False, importance: Importance = "high"
) -> Decision:
    candidate = Candidate(content=new, category="fact", type="B", importance=importance, confidence=0.9)
    known = [
        Known(
            id=f"m{number}",
            text=text,
            cosine=cosine,
            overlap=text_overlap(text, new),
            importance="normal",
            protected=protected,
        )
        for number, text in enumerate(old)
    ]
    return decide(candidate, known)


@pytest.mark.parametrize(
    ("old", "new", "action"),
    [
        # known
        ("I prefer tea", "i prefer tea!", "skip"),
        ("I prefer green tea in the morning", "I prefer tea in the morning", "skip"),
        ("我喜欢用 Python", "我喜欢用Python。", "skip"),
        ("我叫王小明", "我的名字是王小明", "update"),
        # the same, richer
        ("I like hiking in Norway", "I like hiking in Norway with my brother", "update"),
        # changed
        ("I live in Berlin", "I live in Munich now", "supersede"),
        ("The review is on Monday at ten", "The review has moved to Thursday", "supersede"),
        ("the release window is on Thursday", "The release window is now Tuesday at ten", "supersede"),
        ("变更窗口是每周四下午三点", "变更窗口改成每周二上午十点了", "supersede"),
        ("The review is important", "The review has moved to Thursday", "add"),
        ("The review is on Monday at ten", "The planning has moved to Thursday", "add"),
        ("变更窗口要提前申请", "变更窗口改成每周二上午十点了", "add"),
        ("我住在上海", "我搬到杭州了", "supersede"),
        ("The deadline is May 5", "The deadline is May 9", "supersede"),
        ("The staging port is 8080", "The staging port is 9090", "supersede"),
        ("预算是 5000 元", "预算是 8000 元", "supersede"),
        ("I like cilantro", "I don't like cilantro", "supersede"),
        ("我喜欢香菜", "我不喜欢香菜", "supersede"),
        ("I use vim for Python", "I switched from vim to emacs", "supersede"),
        ("I use npm", "I switched from npm to pnpm", "supersede"),
        ("Keep your answers short", "Please make your answers detailed", "supersede"),
        # of another
        ("box 3 is blue", "box 4 is blue", "add"),
        ("3号箱子是蓝色的", "4号箱子是蓝色的", "add"),
        ("box 3 is blue", "box 3 is red", "add"),
        ("Anna's birthday is May 5", "Bob's birthday is May 9", "add"),
        ("Anna parks a blue car at the library on Sundays", "Bob parks a blue car at the library on Sundays", "add"),
        ("Anna doesn't eat red meat at home on Fridays", "Bob eats red meat at home on Fridays", "add"),
        ("Locker 12 opens with 4711", "Locker 13 opens with 4711", "add"),
        ("二号会议室归李明管理使用", "三号会议室归李明管理使用", "add"),
        ("I like Python", "I like PostgreSQL", "add"),
        ("I ran 5 km yesterday", "I ran 10 km yesterday", "add"),
    ],
)  # fmt: skip
def test_what_becomes_of_a_candidate(old: str, new: str, action: str) -> None:
    decision = merged(new, old)
    assert decision.action == action
    assert (decision.target is None) == (action == "add")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I live in Leeds", "I live in a small flat"),
        ("我在小米上班", "我在家上班"),
    ],
)
def test_how_one_lives_is_not_where(old: str, new: str) -> None:
    assert merged(new, old).action == "add"


@pytest.mark.parametrize(
    ("old", "new", "action"),
    [
        ("I prefer pnpm to npm", "I prefer npm to pnpm", "supersede"),
        ("We chose Postgres over MySQL", "We chose MySQL over Postgres", "supersede"),
        ("I like cats more than dogs", "I like dogs more than cats", "supersede"),
        ("我们决定用 MySQL，不用 Postgres", "我们决定用 Postgres，不用 MySQL", "supersede"),
        ("我更喜欢猫而不是狗", "我更喜欢狗而不是猫", "supersede"),
        ("我喜欢茶胜过咖啡", "我喜欢咖啡胜过茶", "supersede"),
        ("Tom owes Anna 5 euros", "Anna owes Tom 5 euros", "add"),
        ("We agreed that Anna reviews Ben's code", "We agreed that Ben reviews Anna's code", "add"),
        ("Redis and Kafka run on our server", "Kafka and Redis run on our server", "skip"),
        ("I prefer pnpm to npm", "I really prefer pnpm to npm", "skip"),
    ],
)
def test_the_same_words_the_other_way_round_are_no_repeat(old: str, new: str, action: str) -> None:
    assert merged(new, old).action == action


def test_twenty_statements_of_twenty_boxes_stay_twenty() -> None:
    known = [f"box {number} is blue" for number in range(1, 20)]
    assert merged("box 20 is blue", *known).action == "add"
    assert merged("box 7 is blue", *known) == Decision(action="skip", target="m6", reason="same_text")


@pytest.mark.parametrize(
    ("old", "new", "cosine", "action"),
    [
        ("I like playing basketball", "我喜欢打篮球", 0.85, "skip"),
        ("I like playing basketball", "我喜欢打篮球", 0.30, "add"),
        ("I like playing basketball", "我不喜欢打篮球", 0.85, "add"),
        ("I like playing football", "我喜欢打篮球", 0.85, "add"),
        ("My bus is number 12", "我的公交是 15 路", 0.85, "add"),
        ("I like playing basketball", "我喜欢打篮球", None, "add"),
    ],
)
def test_the_same_in_the_other_language(old: str, new: str, cosine: float | None, action: str) -> None:
    assert merged(new, old, cosine=cosine).action == action


def test_a_curated_line_is_changed_only_by_a_word_of_weight() -> None:
    assert merged("I live in Munich", "I live in Berlin", protected=True, importance="normal").action == "add"
    assert merged("I live in Munich", "I live in Berlin", protected=True, importance="high").action == "supersede"


def test_a_repeat_wins_over_a_change() -> None:
    assert merged("I live in Munich", "I live in Berlin", "I live in Munich").action == "skip"

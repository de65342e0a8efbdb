"""What a sentence's vector and words tell, where no rule reads it."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import understanding

from extractor import asked_for, subject_of
from extractor.tables import table
from recall.encoding.encoder import BundledEncoder

ACT_OF = {"forget_one": "forget", "forget_about": "forget", "dont_note_this": "not_note"}
DATA = Path(__file__).parents[1] / "data"


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / f"{name}.jsonl").read_text("utf-8").splitlines()]


def kept(message: str, *, encoder: str = "") -> list[tuple[str, str]]:
    """The category and the content of what is kept of a message."""
    return [(each.category, each.content) for each in understanding.kept(message, encoder=encoder)]


def share(messages: Sequence[str]) -> float:
    """The share of messages of which something is kept."""
    return sum(bool(kept(message)) for message in messages) / len(messages)


# Lists that people wrote who knew nothing of the code, and of which no row was trained on. Each floor is a little below
# what was measured (shown with -rP).


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.lengthy
def test_what_people_say_of_their_lives_is_kept_and_their_talk_is_not(lang: str) -> None:
    said = rows(f"said/plain_{lang}")
    facts, talk = (share([row["text"] for row in said if row["keep"] is which]) for which in (True, False))
    evening = rows(f"said/evening_{lang}")
    lasting, passing = (
        share([row["text"] for row in evening if bool(row["keep"]) is which]) for which in (True, False)
    )
    print(f"{lang}: plain {facts:.2f}, {talk:.2f}; an evening {lasting:.2f}, {passing:.2f}")  # noqa: T201
    assert facts >= 0.86
    assert talk <= 0.05
    assert lasting >= 0.75
    assert passing <= 0.15


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.lengthy
def test_what_people_ask_to_note_is_kept_however_they_ask(lang: str) -> None:
    said = rows(f"said/note_{lang}")
    noted = [
        any(row["what"].strip("。.!！") in content for _, content in kept(row["text"])) for row in said if row["what"]
    ]
    asked = [row for row in said if row["what"]]
    exact = sum(_plain(asked_for(row["text"])) == _plain(row["what"]) for row in asked)
    other = share([row["text"] for row in said if not row["what"]])
    print(f"{lang}: noted {sum(noted) / len(noted):.2f}, {exact} without the asking, lookalikes {other:.2f}")  # noqa: T201
    assert sum(noted) >= 0.8 * len(noted)
    assert exact >= 0.5 * len(asked)
    assert other <= 0.17


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_what_is_not_said_of_oneself_is_seldom_kept(lang: str) -> None:
    said = rows(f"said/contrary_{lang}")
    false = share([row["text"] for row in said if not row["may"]])
    print(f"{lang}: {false:.2f} of what nobody says of themselves")  # noqa: T201
    assert false <= 0.08


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.lengthy
def test_what_is_taken_back_or_another_persons_is_not_kept_and_what_only_looks_like_it_is(lang: str) -> None:
    said = rows(f"said/unsaid_{lang}")
    against = [row for row in said if row["never"]]
    false = [row for row in against if _is_against(row["never"], [content for _, content in kept(row["text"])])]
    own = [row for row in said if row["keep"]]
    found = [row for row in own if any(row["keep"].lower() in content.lower() for _, content in kept(row["text"]))]
    print(f"{lang}: {len(false)} of {len(against)} against what is said; {len(found)} of {len(own)} kept")  # noqa: T201
    assert len(false) <= 0.1 * len(against)
    assert len(found) >= 0.7 * len(own)


@pytest.mark.parametrize(
    ("asking", "asks"),
    [
        ("我妈今年多大岁数", True),
        ("我爸血压高不高", True),
        ("我闺女几点下课", True),
        ("do you know where i work", True),
        ("我妈今年七十三", False),
        ("我对虾不过敏", False),
        ("我爸血压不高", False),
        ("where I keep the fuses is the biscuit tin", False),
    ],
)
def test_a_question_needs_no_mark(asking: str, *, asks: bool) -> None:
    assert bool(kept(asking)) is not asks


@pytest.mark.parametrize(
    ("message", "what"),
    [
        ("发票我夹在蓝文件夹里了你帮我记一下哈", "发票我夹在蓝文件夹里了"),
        ("别让我忘了，周日给妈打电话", "周日给妈打电话"),
        ("帮我记着门禁卡在鞋柜上", "门禁卡在鞋柜上"),
        ("My dentist is Dr Shah on Mill Road", "My dentist is Dr Shah on Mill Road"),
        ("", ""),
        ("。", "。"),
        ("Remember that locker u0s3t4 opens with 8291.", "locker u0s3t4 opens with 8291"),
        ("Remember that locker u8s3t8 opens with 9817.", "locker u8s3t8 opens with 9817"),
    ],
)
def test_what_is_asked_for_is_kept_without_the_asking(message: str, what: str) -> None:
    assert asked_for(message) == what


@pytest.mark.parametrize(
    ("line", "subjects"),
    [
        ("penicillin brings me out in hives", {"allergy"}),
        ("I'm 34 and just bought my first hoover", {"age"}),
        ("my cat is called Biscuit", {"pets"}),
        ("I weld for a living", {"job"}),
        ("我对芒果过敏", {"allergy"}),
        ("我家猫叫豆花", {"pets"}),
        ("我老公叫刘建军", {"name", "partner"}),
    ],
)
def test_a_line_is_about_something(line: str, subjects: set[str]) -> None:
    found = subject_of(understanding.vector_of(line), BundledEncoder.name)
    assert found
    assert found.name in subjects
    assert subject_of(understanding.vector_of(line), "another encoder") is None


def test_a_subject_is_told_of_hands_that_were_left_out() -> None:
    shares = table("subjects").numbers("left out")
    print(f"right of {len(shares)} hands, each left out: {sum(shares.values()) / len(shares):.2f} of 38 subjects")  # noqa: T201
    assert min(shares.values()) >= 0.39
    assert sum(shares.values()) >= 0.5 * len(shares)
    lasting = table("subjects").numbers("lasting")
    assert min(lasting["name"], lasting["allergy"], lasting["pets"]) > max(lasting["world"], lasting["appointment"])


def _is_against(never: str, contents: Sequence[str]) -> bool:
    """Return whether a line must not be kept. never: that line; "*" for any."""
    return bool(contents) if never == "*" else _plain(never) in map(_plain, contents)


def _plain(text: str) -> str:
    return text.strip(" .。!！").lower()


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.lengthy
def test_what_people_ask_of_the_memory_is_seen_and_ordinary_talk_is_not_taken_for_it(lang: str) -> None:
    seen = [(row, found) for row in rows(f"said/requests_{lang}") if (found := understanding.asked(row["text"]))[0]]
    certain = sum(sure for _, (_, sure) in seen)
    right = sum(act == ACT_OF.get(row["intent"], row["intent"]) for row, (act, _) in seen)
    talk = [row for row in rows(f"said/lookalikes_{lang}") if understanding.asked(row["text"])[1]]
    recorded = share([row["text"] for row in rows(f"said/requests_{lang}")])
    print(f"{lang}: seen {len(seen)}, {certain} surely, act right {right}; lookalikes {len(talk)}; kept {recorded:.2f}")  # noqa: T201
    assert len(seen) >= 0.8 * 60
    assert right >= 0.9 * len(seen)
    assert certain >= 0.7 * 60
    assert len(talk) <= 6
    assert recorded <= 0.15


@pytest.mark.parametrize(
    ("message", "act"),
    [
        ("you keep all this then? even when i shut the app", "recall"),
        ("stop taking notes for a bit please", "pause"),
        ("关了app你还记得我不", "recall"),
        ("先停一停，别做笔记了", "pause"),
    ],
)
def test_whoever_asks_how_the_memory_works_pauses_nothing(message: str, act: str) -> None:
    assert understanding.asked(message)[0] == act


@pytest.mark.lengthy
def test_what_is_not_told_stays_out() -> None:
    said = rows("told")
    own = [row for row in said if row["kept"]]
    assert sum(any(row["kept"] in content for _, content in kept(row["text"])) for row in own) >= 0.97 * len(own)
    other = [row["text"] for row in said if not row["kept"]]
    assert share(other) <= 0.085


@pytest.mark.parametrize(
    "message",
    [
        "Been on insulin since June, type 2",
        "Grew up on my grandparents' goat farm outside Siena",
        "我家老二下个月要去成都上大学了",
        "Je suis infirmière et j'habite à Lyon avec mes deux filles",  # no rule reads it
        "saoirse's birthday is the 22nd of feb and she wants a sewing machine",
        "鞋码37，衣服穿M",
        "宽带是移动的，500兆",
        "我不得行吃海鲜，要发疹子",
    ],
)
def test_a_lasting_statement_is_kept_in_words_that_no_table_knows(message: str) -> None:
    assert message in [content for _, content in kept(message)]


@pytest.mark.parametrize(
    "message",
    [
        "Honestly you can stop apologising to me all the time",
        "I hate it when you repeat my question back at me",
        "每次都先夸我一句真的没必要",
    ],
)
def test_a_wish_stands_in_words_that_no_table_knows(message: str) -> None:
    assert "instruction" in [category for category, _ in kept(message)]


@pytest.mark.parametrize(
    "message",
    [
        "Give me the verdict. Reasons afterwards, if I ask.",
        "ugh bold text again... plain letters. my screen reader shouts it",
        "你那个“希望对你有帮助”可以省了，每次都有，烦",
        'Close my letters with "Warmly, Ines", never "Best regards".',
    ],
)
def test_a_wish_may_take_several_sentences_and_quote_what_shall_be_said(message: str) -> None:
    assert [(category, content.rstrip(".")) for category, content in kept(message)] == [
        ("instruction", message.rstrip("."))
    ]


@pytest.mark.parametrize(
    ("message", "categories"),
    [
        ("My sister Ines lives in Porto. Keep your answers short from now on.", ["fact", "instruction"]),
        ("Always answer in metric. Never use emojis.", ["instruction", "instruction"]),
    ],
)
def test_what_stands_by_itself_beside_a_wish_is_a_line_of_its_own(message: str, categories: list[str]) -> None:
    assert [category for category, _ in kept(message)] == categories


@pytest.mark.parametrize(
    "message",
    [
        "my loop never ends",
        "make the second paragraph shorter",
        "I missed the bus again",
        "the second one is nicer",
        "报错还是一样",
        "这段别用感叹号",
        "Yes, I went there with my brother last week",  # it goes on with a talk, which is remembered as it is
        "My key is [masked: api key], I live by it",
        "Should I learn the cello?",
        "Please change the title to something shorter",
        "If I moved to Porto, I would sell the car",
        "Forget the iron thing",
        "推荐点下午茶喝的",
        "我血型是啥来着",
        "翻译：我对花生过敏",
        "帮我润色：我是一名有五年经验的产品经理",
    ],
)
def test_what_only_looks_like_it_is_not_kept(message: str) -> None:
    assert kept(message) == []


def test_a_sentence_is_kept_whole_where_its_rest_tells_more() -> None:
    message = "I'm on sertraline 50mg, have been since January"
    assert [content for _, content in kept(message)] == [message]


@pytest.mark.parametrize(
    ("message", "line"),
    [
        ("明早六点进货，别忘了提醒我", "明早六点进货"),
        ("We leave at six tomorrow, don't forget to remind me", "We leave at six tomorrow"),
    ],
)
def test_a_wish_to_be_reminded_keeps_what_it_points_at(message: str, line: str) -> None:
    assert [content for _, content in kept(message)] == [line]


@pytest.mark.parametrize(
    ("message", "lines"),
    [
        ("We live in Cork. Not!", []),
        ("I have a parrot. I collect stamps. Sorry, wrong chat", []),
        ("My cousin put this on the door: I have a parrot and I collect stamps", []),
        ("我家在青岛。发错人了", []),
        ("房东贴的条子：我家在青岛，养了两条狗", []),
        ("I was born in Cork. My flatmate is convinced I speak Russian", ["I was born in Cork"]),
        ("I'm thirty. Sorry, I mean thirty-one", ["I'm thirty. Sorry, I mean thirty-one"]),
    ],
)
def test_a_part_reaches_over_the_others(message: str, lines: list[str]) -> None:
    assert [content for _, content in kept(message)] == lines


def test_what_was_asked_to_be_remembered_is_kept_whatever_it_says() -> None:
    assert kept("Remember: lefty loosey, righty tighty")


def test_without_the_bundled_encoder_the_rules_stand_alone() -> None:
    assert kept("Been on insulin since June, type 2", encoder="another") == []
    assert kept("I live in Lisbon", encoder="another") == [("fact", "I live in Lisbon")]

"""What is believed of a model's entry: about the user and not the chat, of the right person, in any language."""

from datetime import UTC, datetime

import pytest

from extractor import Candidate, Turn
from extractor.model.evidence import candidates_of

NOW = datetime(2026, 12, 10, 12, 0, tzinfo=UTC)  # a Thursday


def read(content: str, *said: str, quote: str = "", category: str = "fact") -> tuple[list[Candidate], list[str]]:
    turns = [Turn(id=40 + number, user=text, reply="", at=NOW) for number, text in enumerate(said)]
    entry = {"quote": quote or said[-1], "content": content, "category": category, "importance": "normal"}
    return candidates_of({"entries": [entry]}, turns, [], NOW)


def outcome(content: str, said: str, quote: str = "", category: str = "fact") -> str:
    """ "" for kept, else the doubt or the reason."""
    kept, left_out = read(content, said, quote=quote, category=category)
    return kept[0].doubt if kept else left_out[0]


def test_the_turn_is_the_one_that_is_quoted() -> None:
    kept, _ = read("The user has two cats", "I have two cats", "What do they eat?", quote="I have two cats")
    assert [each.turn for each in kept] == [40]
    kept, _ = read("The user has two cats", "I have two cats", "Yes, I have two cats", quote="I have two cats")
    assert [each.turn for each in kept] == [41], "the newest of several"


def test_what_was_not_asked_is_found_out() -> None:
    (fact,), _ = read("The user's sister Ana lives in Leeds", "my sister Ana lives in Leeds")
    assert (fact.type, fact.entities) == ("B", ("Ana", "Leeds"))
    (wish,), _ = read("The user wants short answers", "I want short answers from now on", category="instruction")
    assert wish.type == "O"
    (world,), _ = read("Harrow runs on Postgres", "Harrow runs on Postgres")
    assert world.type == "W"


def test_what_is_called_a_wish_and_is_none_is_a_fact() -> None:
    said = "my oldest pal Jonas made me his best man"
    (candidate,), _ = read("The user is the best man of Jonas", said, category="instruction")
    assert (candidate.category, candidate.doubt) == ("fact", "")


def test_the_same_sentence_twice_is_one_entry() -> None:
    entry = {"quote": "two cats", "content": "The user has two cats", "category": "fact", "importance": "normal"}
    turns = [Turn(id=1, user="I have two cats", reply="", at=NOW)]
    assert len(candidates_of({"entries": [entry, entry]}, turns, [], NOW)[0]) == 1


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("The user asks about the team size", "What is a good team size? I lead a team of 4"),
        ("The user wants to know the weather in Cork", "what's the weather in Cork?"),
        ("The user is asking for pasta recipes", "any pasta recipes?"),
        ("The user thanks the assistant", "thanks a lot, assistant"),
        ("The user expresses frustration with the train", "the train is late again"),
        ("Does the user like tea?", "I like tea"),
        ("用户询问今天的天气", "今天的天气怎么样"),
        ("用户想知道晚饭吃什么", "晚饭吃什么好"),
        ("用户喜欢喝茶吗？", "我喜欢喝茶"),
    ],
)
def test_what_is_done_in_the_chat_is_no_memory(content: str, said: str) -> None:
    assert outcome(content, said) == "about_the_chat"


@pytest.mark.parametrize(
    ("content", "said", "fact"),
    [
        ("The user mentions that her dog likes fish", "my dog likes fish", "The user's dog likes fish"),
        ("The user says they have two cats", "I have two cats", "The user has two cats"),
        ("The user states that they work at Initech", "I work at Initech", "The user works at Initech"),
        ("The user tells that Jonas lives in Cork", "Jonas lives in Cork", "Jonas lives in Cork"),
        ("The user expresses a preference for tea", "I'd rather have tea", "The user prefers tea"),
        ("用户表示不喜欢香菜", "我不喜欢香菜", "用户不喜欢香菜"),
        ("用户提到自己在学车", "我在学车", "用户在学车"),
        ("用户提到他妈妈住在洛阳", "我妈妈住在洛阳", "用户的妈妈住在洛阳"),
        ("The user shares a flat with Tom", "I share a flat with Tom", "The user shares a flat with Tom"),
        ("用户说粤语", "我平时说粤语", "用户说粤语"),
    ],
)  # fmt: skip
def test_a_report_of_a_fact_becomes_the_fact(content: str, said: str, fact: str) -> None:
    kept, left_out = read(content, said)
    assert [(each.content, each.doubt) for each in kept] == [(fact, "")], left_out


def test_a_stripped_report_needs_its_evidence_too() -> None:
    assert outcome("The user mentions that her sister lives in Porto", "my sister lives in Leeds") == "not_said"


@pytest.mark.parametrize(("content", "said"), [("I live in Cork", "I live in Cork"), ("我住在苏州", "我住在苏州")])
def test_the_first_person_waits(content: str, said: str) -> None:
    assert outcome(content, said) == "not_said"


@pytest.mark.parametrize(
    ("content", "said", "quote"),
    [
        ("The user is allergic to peanuts", "her friend Jonas has a bad peanut allergy", "a bad peanut allergy"),
        ("The user is allergic to peanuts", "my best friend Jonas is allergic to peanuts", ""),
        ("The user works nights", "I saw my sister. She works nights", "She works nights"),
        ("The user pays 4.1%", "Theo pays 4.1%, by the way", "Theo pays 4.1%"),
        ("The user hates fish", "I eat anything, my brother-in-law hates fish", "my brother-in-law hates fish"),
        ("The user's sister takes doxycycline", "giving me doxycycline, I take it twice", ""),
        ("用户对花生过敏", "我妹妹对花生过敏", ""),
        ("用户的妹妹对花生过敏", "我对花生过敏", ""),
        ("用户在苏州办酒", "我妹妹下个月结婚，在苏州办酒", "在苏州办酒"),
        ("用户睡不了软床", "我妈从洛阳过来，她睡不了软床", "她睡不了软床"),
    ],
)  # fmt: skip
def test_what_is_told_of_another_waits_if_it_is_said_of_the_user(content: str, said: str, quote: str) -> None:
    assert outcome(content, said, quote) == "not_said"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("The user's best friend Jonas is allergic to peanuts", "my best friend Jonas is allergic to peanuts"),
        ("The user's sister works nights", "my sister works nights"),
        ("The user lives with a sister", "I live with my sister"),
        ("The user has a bad knee", "my knee is bad, it hurts"),
        ("The user runs a bakery", "my sister and I run a bakery"),
        ("The user should avoid salt", "my doctor said I should avoid salt"),
        ("The user's mother works nights", "my mum works nights"),
        ("用户的妹妹对花生过敏", "我妹妹对花生过敏"),
        ("用户和妹妹住在一起", "我和妹妹住在一起"),
        ("用户觉得组长太严", "我觉得我们组长太严"),
    ],
)
def test_what_is_told_of_the_right_person_is_kept(content: str, said: str) -> None:
    assert outcome(content, said) == ""


@pytest.mark.parametrize(
    ("content", "said", "doubt"),
    [
        ("The user wants to renew their passport", "I have to renew my passport", "not_said"),
        ("The user has to learn Dutch", "I want to learn Dutch", "not_said"),
        ("用户希望在服务器上跑代码", "代码都得在服务器上跑", "not_said"),
        ("用户必须去海边", "我想去海边", "not_said"),
        ("The user has to renew their passport", "I've got to renew my passport", ""),
        ("用户得在服务器上跑代码", "代码都得在服务器上跑", ""),
        ("用户觉得苏州还行", "我觉得苏州还行", ""),
    ],
)
def test_what_must_be_is_no_wish(content: str, said: str, doubt: str) -> None:
    assert outcome(content, said) == doubt


@pytest.mark.parametrize(
    ("content", "said", "doubt"),
    [
        ("用户住在 Leeds", "I live in Leeds", ""),
        ("The user lives in Leeds", "我住在 Leeds 好几年了", ""),
        ("用户喜欢咖啡", "I like coffee", ""),
        ("用户带领4个人的团队", "I lead a team of 4", ""),
        ("用户喜欢安静的地方", "I like quiet places", "not_said"),
        ("用户住在 Porto", "I live in Leeds", "not_said"),
        ("用户带领5个人的团队", "I lead a team of 4", "not_said"),
        ("用户不喜欢咖啡", "I like coffee", "not_said"),
    ],
)
def test_another_language_is_no_reason_to_refuse(content: str, said: str, doubt: str) -> None:
    assert outcome(content, said) == doubt


@pytest.mark.parametrize(
    ("content", "said", "quote", "category"),
    [
        ("今天的天气晴朗", "今天天气怎么样", "", "fact"),
        ("The user lives in Gdansk", "Translate into French: I'm Paula, I live in Gdansk", "I live in Gdansk", "fact"),
        ("用户叫陈静", "把这句翻译成英文：我叫陈静", "我叫陈静", "fact"),
        ("The user is fluent in Danish", 'odd ad: "You are fluent in Danish, and kind"', "fluent in Danish", "fact"),
        ("The user has a kitten", "If we had a kitten, I'd ask you first", "If we had a kitten", "fact"),
        ("用户希望写一首诗", "再帮我写首诗", "", "instruction"),
    ],
)  # fmt: skip
def test_questions_and_texts_of_others_wait(content: str, said: str, quote: str, category: str) -> None:
    assert outcome(content, said, quote, category) == "not_said"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("The user's exam is in September 2027", "my exam is next September"),
        ("The user moved in September 2026", "I moved last September"),
        ("The passport ends on 2027-05-14", "my passport ends on the 14th of May"),
    ],
)
def test_a_month_that_comes_has_one_year(content: str, said: str) -> None:
    assert outcome(content, said) == ""


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("The user's exam is in September 2026", "my exam is next September"),
        ("The passport ends on 2026-12-14", "my passport ends on the 14th of May"),
    ],
)
def test_another_year_waits(content: str, said: str) -> None:
    assert outcome(content, said) == "not_said"

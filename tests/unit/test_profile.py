"""What an opening tells about the user: wishes, then the rest in rounds of its subjects, and each thing once."""

from dataclasses import dataclass, replace

from gateway_memory.context.about_user import LastSession, OpeningMemory, Worth, in_rounds, profile
from gateway_memory.context.memory_block import LineFacts
from gateway_memory.context.opening_text import Material, compose
from gateway_memory.store.markdown import parse


@dataclass(frozen=True, kw_only=True)
class Memory:
    id: str
    text: str
    at: float
    category: str = "fact"


@dataclass(frozen=True, kw_only=True)
class Passage:
    id: str
    text: str
    turn: int
    at: float = 1.0


def day_of(at: float) -> str:
    return f"2026-03-{int(at):02}"


def opened(material: Material, tokens: int = 2000) -> str:
    return compose(material, max_tokens=tokens, profile_tokens=1000, include_memory=True, left_out="left_out_chat")[0]


def test_wishes_come_first_then_the_newest_memories_then_own_words() -> None:
    memories = [
        Memory(id="fact0001", text="The rent is due on the 5th", at=3),
        Memory(id="fact0002", text="I work at the bakery", at=5),
        Memory(id="wish0001", text="I prefer window seats", at=1, category="preference"),
        Memory(id="wish0002", text="Answer in French", at=2, category="instruction"),
    ]
    passages = [Passage(id="e7u0", text="Hi! I've played the cello since I was nine. Do you play?", turn=7)]
    told = profile(memories, passages, {7: passages[0].text}, day_of)
    assert [each.text for each in told] == [
        "Answer in French",
        "I prefer window seats",
        "I work at the bakery",
        "The rent is due on the 5th",
        "I've played the cello since I was nine.",
    ]
    assert told[0].day == "2026-03-02"


def test_what_may_not_be_told_of_a_turn_stays_out() -> None:
    said = "I have asthma. I've played the cello since I was nine."
    (told,) = profile(
        [],
        [Passage(id="e7u0", text=said, turn=7)],
        {7: "I've played the cello since I was nine."},
        day_of,
    )
    assert told.text == "I've played the cello since I was nine."
    assert profile([], [Passage(id="e7u0", text=said, turn=7)], {}, day_of) == []


def test_no_sentence_stands_twice_in_an_opening() -> None:
    said = "I moved to Lisbon last spring"
    record = {
        "session_id": "s1",
        "topic": "the trams of Lisbon",
        "brief": f"- The user wanted:\n  - the trams of Lisbon\n- Learnt:\n  - {said}\n- Next:\n  - - buy a card",
        "todos": ["buy a card"],
        "timestamp": "2026-03-01T10:00:00Z",
    }
    text = opened(
        Material(
            memory=parse(f"- {said}\n", file="MEMORY.md"),
            about=[OpeningMemory(id="e1u0", day="2026-03-01", text=f"{said}.")],
            last=record,
            related=[OpeningMemory(id="other001", day="2026-03-01", text=said)],
        )
    )
    assert text.count(said) == 1
    assert text.count("the trams of Lisbon") == 1
    assert text.count("buy a card") == 1
    assert "Learnt" not in text, "a heading without lines"
    assert "- - " not in text


def test_a_session_of_answered_questions_leaves_no_block_and_what_is_open_does() -> None:
    record = {
        "session_id": "s1",
        "topic": "how long do I boil a goose egg",
        "summary": "- Talked of:\n  - and what about a quail egg?",
        "brief": "",
        "timestamp": "2026-03-01T10:00:00Z",
    }
    assert "Last Session" not in opened(Material(last=record))
    text = opened(Material(last={**record, "todos": ["buy quail eggs"]}))
    assert "(2026-03-01) how long do I boil a goose egg\n- To do: buy quail eggs" in text
    assert "what about" not in text


def test_the_last_session_is_the_one_that_took_place_last() -> None:
    record = {
        "session_id": "s1",
        "topic": "the trams",
        "summary": "We compared cards.",
        "timestamp": "2026-01-20T10:00:00Z",
    }
    talk = LastSession(session_id="s2", at="2026-03-01T09:00:00Z", day="2026-03-01", said="my flight is at six")
    text = opened(Material(last=record, last_session=talk))
    assert "(2026-03-01) my flight is at six" in text
    assert "trams" not in text
    same = opened(
        Material(
            last=record,
            last_session=LastSession(session_id="s1", at="2026-01-20T09:00:00Z", day="2026-01-20", said="hello there"),
        )
    )
    assert "We compared cards." in same
    assert "hello there" not in same


def test_own_words_keep_a_quarter_beside_a_long_memory_md() -> None:
    lines = "\n".join(f"- {number} {'note ' * 20}" for number in range(100))
    about = [
        OpeningMemory(id=f"e{number}u0", day="2026-03-01", text=f"word {number} of my own life") for number in range(9)
    ]
    text = opened(Material(memory=parse(lines, file="MEMORY.md"), about=about))
    assert text.count("of my own life") == 9


def test_a_sentence_that_points_back_does_not_stand_without_the_one_before_it() -> None:
    texts = [
        "The theatre is cancelled, the lead actor is ill. They'll refund us.",
        "I booked the theatre in May. They'll refund us the tickets.",
    ]
    passages = [Passage(id=f"e{turn}u0", text=text, turn=turn) for turn, text in enumerate(texts)]
    about = profile([], passages, dict(enumerate(texts)), day_of)
    assert [each.text for each in about] == [texts[1]]


def test_one_line_of_each_subject_has_its_place_before_a_second_of_any_and_what_tells_nothing_comes_last() -> None:
    worth = {
        "courtesy": Worth("style", 0.0),
        "film 1": Worth("media", 1.0),
        "film 2": Worth("media", 3.0),
        "film 3": Worth("media", 2.0),
        "name": Worth("name", 5.0),
        "home 1": Worth("home", 4.0),
        "home 2": Worth("home", 2.5),
    }
    assert in_rounds(worth) == {
        text: place for place, text in enumerate(["name", "home 1", "film 2", "home 2", "film 3", "film 1", "courtesy"])
    }
    assert in_rounds({}) == {}


def test_memory_md_and_the_rest_have_one_order_of_lines() -> None:
    lines = [f"I told the file thing {number:02} of my garden" for number in range(40)]
    words = [f"I told in passing thing {number:02} of my trade" for number in range(18)]
    blocks = parse("\n".join(f"- {line}" for line in lines), file="MEMORY.md")
    material = Material(
        memory=blocks,
        known={block.id: LineFacts(category="fact", high=True, at=1.0, day="2026-03-01") for block in blocks},
        about=[OpeningMemory(id=f"e{number}u0", day="2026-03-01", text=text) for number, text in enumerate(words)],
    )

    def told(places: list[str]) -> tuple[int, int]:
        of = {text: place for place, text in enumerate(places)}
        text = opened(replace(material, places=of), 1000)
        return text.count("of my garden"), text.count("of my trade")

    of_file, in_passing = told([*words, *lines])
    assert in_passing == len(words)
    assert of_file > 0, "what is left belongs to the next best"
    by_turns = [text for pair in zip(lines, words, strict=False) for text in pair]
    more_of_file, _ = told([*by_turns, *lines[len(words) :]])
    most_of_file, quarter = told([*lines, *words])
    assert of_file <= more_of_file < most_of_file
    assert quarter > 0, "however good the lines of MEMORY.md are"


def test_the_best_line_of_memory_md_is_told_however_old_it_is() -> None:
    lines = [f"note {number:02} {'word ' * 20}" for number in range(60)]
    blocks = parse("\n".join(f"- {line}" for line in lines), file="MEMORY.md")
    known = {
        block.id: LineFacts(category="fact", high=True, at=float(number), day="2026-03-01")
        for number, block in enumerate(blocks)
    }
    places = {block.text: number for number, block in enumerate(blocks)}
    assert "note 00" not in opened(Material(memory=blocks, known=known), 1000)
    assert "note 00" in opened(Material(memory=blocks, known=known, places=places), 1000)

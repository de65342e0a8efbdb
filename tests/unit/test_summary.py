"""Summaries: within their limits, valid Unicode, and never anything private, whatever was seen."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractor import Seen, SummaryInput, summarize, written
from extractor.model.summary import BRIEF_LENGTH, DETAILED_LENGTH, cut, summary_of
from extractor.model.summary_prompt import LONGEST, summary_message

SECRET = "zqxjkv"
TEXTS = st.text(
    st.one_of(
        st.characters(),
        st.characters(categories=["Cs"]),
        st.sampled_from("你好项目数据库，。 日本語ですかな한국어אבגमे🎉👨‍👩‍👧é\n\t<>/- "),
    ),
    max_size=400,
)
KINDS = st.sampled_from(["user", "assistant", "tool", "decision", "error", "todo", "note"])
SEEN = st.builds(
    lambda kind, text, tool, private, hidden: Seen(
        kind=kind,
        content=f"{text}{SECRET}" if private else f"{text} <private>{SECRET}</private>" if hidden else text,
        tool=tool,
        private=private,
    ),
    KINDS,
    TEXTS,
    st.sampled_from(["", "bash", "read_file"]),
    st.booleans(),
    st.booleans(),
)
INPUTS = st.builds(
    lambda seen, facts, stages, decisions: SummaryInput(seen=seen, facts=facts, stages=stages, decisions=decisions),
    st.lists(SEEN, max_size=60),
    st.lists(TEXTS, max_size=20),
    st.lists(TEXTS, max_size=8),
    st.lists(TEXTS, max_size=4),
)


@given(INPUTS)
def test_no_summary_is_too_long_broken_or_holds_anything_private(given_: SummaryInput) -> None:
    summary = summarize(given_)
    if summary is None:
        return
    assert len(summary.brief) <= BRIEF_LENGTH
    assert len(summary.detailed) <= DETAILED_LENGTH
    assert len(summary.topic) <= 100
    everything = "\n".join([summary.topic, summary.brief, summary.detailed, *summary.decisions, *summary.todos])
    everything.encode("utf-8")
    assert SECRET not in everything


@given(INPUTS)
def test_a_model_is_told_nothing_private(given_: SummaryInput) -> None:
    message = summary_message(given_)
    assert SECRET not in message
    assert message.count("<") == 2, "the fence is closed by nothing within"


@given(TEXTS, TEXTS, st.lists(TEXTS, max_size=12))
def test_an_agents_own_words_keep_to_the_limits_too(topic: str, text: str, items: list[str]) -> None:
    summary = written(topic, f"{text}<private>{SECRET}</private>" * 20, items, items)
    assert len(summary.brief) <= BRIEF_LENGTH
    assert len(summary.detailed) <= DETAILED_LENGTH
    assert SECRET not in summary.detailed
    summary.detailed.encode("utf-8")


@given(TEXTS, st.integers(1, 60))
def test_a_cut_is_a_beginning_within_the_length(text: str, length: int) -> None:
    short = cut(text, length)
    assert len(short) <= length
    assert short == text or text.startswith(short.removesuffix("…"))


def test_a_cut_ends_at_a_word_and_tears_no_sign_apart() -> None:
    assert cut("one two three four", 12) == "one two…"
    assert cut("数据库选了PostgreSQL。缓存用Redis，端口是默认的那个", 22) == "数据库选了PostgreSQL。…"
    assert cut("abcd👨\u200d👩\u200d👧", 7) == "abcd…"


def test_each_section_has_its_lines_without_repeats_in_the_language_of_the_session() -> None:
    summary = summarize(
        SummaryInput(
            seen=[
                Seen(kind="user", content="把登录接口改成 JWT 认证"),
                Seen(kind="tool", tool="bash", content="exit 1\n2 failed"),
                Seen(kind="error", content="TokenExpired 在测试里出现"),
                Seen(kind="error", content="TokenExpired  在测试里出现"),
                Seen(kind="decision", content="令牌有效期 24 小时"),
                Seen(kind="assistant", content="改好了。\nTODO: 补上刷新令牌的测试"),
            ]
        )
    )
    assert summary
    assert summary.topic == "把登录接口改成 JWT 认证"
    assert summary.brief.split("\n") == [
        "- 已完成：",
        "  - 令牌有效期 24 小时",
        "  - 改好了。",
        "- 还没解决的：",
        "  - TokenExpired 在测试里出现",
        "  - bash: exit 1 2 failed",
        "- 下一步：",
        "  - 补上刷新令牌的测试",
    ]
    assert summary.decisions == ("令牌有效期 24 小时",)
    assert summary.todos == ("补上刷新令牌的测试",)


@pytest.mark.parametrize(
    ("answer", "done", "todo"),
    [
        (
            "Done: the login endpoint issues tokens; still open: refresh tokens.",
            "the login endpoint issues tokens",
            "refresh tokens.",
        ),
        ("登录接口改好了，下一步要加刷新令牌。", "登录接口改好了", "加刷新令牌"),
    ],
)
def test_what_was_said_last_tells_how_far_it_came(answer: str, done: str, todo: str) -> None:
    seen = [
        Seen(kind="user", content="Mend the login"),
        Seen(kind="tool", tool="bash", content="exit 0"),
        Seen(kind="assistant", content=answer),
    ]
    summary = summarize(SummaryInput(seen=seen))
    assert summary
    assert done in summary.brief
    assert summary.todos == (todo,)


def test_stage_summaries_come_before_what_was_seen() -> None:
    summary = summarize(
        SummaryInput(
            seen=[Seen(kind="user", content="Move the billing service to the new cluster, please")],
            facts=["Billing runs on cluster b"],
            stages=["Drained the old nodes", "Moved the database"],
        )
    )
    assert summary
    assert summary.topic == "Moved the database"
    assert summary.detailed.index("Drained") < summary.detailed.index("cluster b")
    assert "cluster b" not in summary.brief, "a memory tells it"
    assert summary.topic not in summary.brief
    assert "Not answered: Move the billing service" in summary.brief


def test_nothing_seen_is_no_summary() -> None:
    assert summarize(SummaryInput()) is None
    assert summarize(SummaryInput(seen=[Seen(kind="user", content="x", private=True)])) is None
    assert summarize(SummaryInput(seen=[Seen(kind="user", content="<private>x</private>")])) is None


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"topic": 1, "wanted": "", "done": "", "open": "", "next": "", "decisions": [], "todos": []},
        {"topic": "t", "wanted": "w", "done": "", "open": "", "next": "", "decisions": ["a", 1], "todos": []},
    ],
)
def test_an_answer_of_another_form_is_refused(answer: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="must be"):
        summary_of(answer, SummaryInput(seen=[Seen(kind="user", content="w")]))


def test_an_empty_summary_is_an_answer() -> None:
    answer = {"topic": "t", "wanted": "", "done": " ", "open": "", "next": "", "decisions": [], "todos": []}
    assert summary_of(answer, SummaryInput(seen=[Seen(kind="user", content="w")])) is None


def test_what_the_memory_knows_may_stand_in_a_summary() -> None:
    answer = {"topic": "Salt Road", "wanted": "", "done": "Sentence translated", "open": "",
              "next": "It opens on 11 April", "decisions": [], "todos": []}  # fmt: skip
    seen = [Seen(kind="user", content="translate the sentence, and when do we open?")]
    known = ["The user's show Salt Road opens on 11 April 2026"]
    unknown, told = (summary_of(answer, SummaryInput(seen=seen, known=each)) for each in ([], known))
    assert unknown
    assert told
    assert "Sentence translated" in unknown.detailed
    assert "11 April" not in unknown.detailed
    assert (told.topic, "11 April" in told.detailed) == ("Salt Road", True)


def summary_about(done: str, *said: str) -> str:
    answer = {"topic": "t", "wanted": "", "done": f"it was done\n{done}", "open": "", "next": "", "decisions": [],
              "todos": []}  # fmt: skip
    summary = summary_of(answer, SummaryInput(seen=[Seen(kind="user", content=text) for text in said]))
    assert summary
    return summary.detailed


@pytest.mark.parametrize(
    ("done", "said"),
    [
        ("The staging box moved to heron-stg-02", "move staging to heron-stg-02"),
        ("Ana raised the limit to 12,000", "ana: please raise it to 12k"),
        ("把三个节点迁到 k8s", "3个节点都放到 K8S"),
        ("moved it on 2026-03-02", "on 2026-03-02 we move"),
    ],
)
def test_a_summary_keeps_what_was_said(done: str, said: str) -> None:
    assert done in summary_about(done, said)


@pytest.mark.parametrize(
    ("done", "said"),
    [
        ("The staging box moved from heron-stg-01 to heron-stg-02", "move staging to heron-stg-02"),
        ("The limit was raised to 13,000", "please raise it to 12k"),
        ("It was agreed with Viktor", "it was agreed"),
        ("把五个节点迁到 k8s", "3个节点都放到 K8S"),
        ("moved it on 2026-03-03", "on 2026-03-02 we move"),
    ],
)
def test_a_summary_leaves_out_names_and_numbers_that_nobody_said(done: str, said: str) -> None:
    assert done not in summary_about(done, said)
    assert "it was done" in summary_about(done, said)


def test_a_long_session_keeps_its_beginning_and_its_end() -> None:
    seen = [Seen(kind="user", content=f"step {number} " + "x" * 500) for number in range(500)]
    message = summary_message(SummaryInput(seen=seen))
    assert "step 0 " in message
    assert "step 499 " in message
    assert len(message) < LONGEST * 1.5


def test_a_line_that_is_cut_keeps_the_note_of_its_days() -> None:
    note = " (14–20 December 2026; until Saturday 19 December 2026)"
    fact = f"We don't have the car next week, my brother is borrowing it until Saturday, and we walk to school{note}"
    summary = summarize(SummaryInput(seen=[Seen(kind="todo", content=fact)], facts=["I have a cat called Momo"]))
    assert summary
    (line,) = [line for line in summary.brief.split("\n") if "the car" in line]
    assert line.endswith(note)

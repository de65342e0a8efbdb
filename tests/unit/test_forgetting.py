"""What "forget that …" names, in both languages."""

from dataclasses import replace

import pytest

from gateway_memory.capture.requests import memories_meant, object_of
from recall import Entry, Near, Stored


def near(*texts: str, file: str = "MEMORY.md") -> list[Near]:
    return [
        Near(
            stored=Stored(entry=Entry(id=f"m{number}", text=text, at=0.0), scope="owner", file=file, sequence=number),
            cosine=None,
            overlap=0.0,
        )
        for number, text in enumerate(texts)
    ]


@pytest.mark.parametrize(
    ("request_", "what"),
    [
        ("Forget that I like green tea", "I like green tea"),
        ("please forget about my trip to Oslo, thanks", "my trip Oslo"),
        ("Can you delete the memory about my old job", "the my old job"),
        ("forget what i said about the killarney job", "i the killarney job"),
        ("忘掉我喜欢喝茶", "我喜欢喝茶"),
        ("请忘记关于奥斯陆的旅行吧", "奥斯陆 旅行"),
        ("把我住在柏林这条忘掉", "我住在柏林"),
        ("把我喜欢喝茶从记忆里删掉", "我喜欢喝茶"),
        ("那个缺铁的事忘了吧", "缺铁"),
        ("請把我對花生過敏這件事忘掉吧", "我对花生过敏"),
        ("scratch the last thing I said", "the I"),
    ],
)
def test_the_words_that_are_left_of_a_request_name_what_it_is_about(request_: str, what: str) -> None:
    assert object_of(request_) == what


def test_one_memory_is_certain_when_it_stands_out() -> None:
    found = memories_meant("I like green tea", near("I like green tea", "I live in Rome"))
    assert found.certain is not None
    assert found.certain.entry.text == "I like green tea"


@pytest.mark.parametrize(
    ("what", "text"),
    [
        ("I like tea", "I don't like tea"),
        ("I'm not a nurse", "I'm a nurse"),
        ("I don't live in Leeds", "I live in Leeds"),
        ("我不喜欢喝茶", "我喜欢喝茶"),
    ],
)
def test_what_says_the_contrary_is_never_certain(what: str, text: str) -> None:
    assert memories_meant(what, near(text)).certain is None
    assert memories_meant(text, near(text, what)).certain is not None


@pytest.mark.parametrize(
    ("what", "text"),
    [
        ("I went to the market on Monday", "I went to the market on Tuesday"),
        ("周一我去菜市场买菜", "周二我去菜市场买菜"),
    ],
)
def test_what_tells_of_another_day_is_never_certain(what: str, text: str) -> None:
    assert memories_meant(what, near(text)).certain is None
    assert memories_meant(text, near(text, what)).certain is not None


def test_two_that_are_alike_are_shown() -> None:
    found = memories_meant("I like tea", near("I like green tea", "I like black tea"))
    assert found.certain is None
    assert len(found.possible) == 2


def test_its_twin_in_the_other_language_is_shown_and_never_certain() -> None:
    (twin,) = near("I like tea")
    found = memories_meant("我喜欢喝茶", [replace(twin, cosine=0.9)])
    assert found.certain is None
    assert [stored.entry.text for stored in found.possible] == ["I like tea"]
    assert memories_meant("我喜欢喝茶", [replace(twin, cosine=0.3)]).possible == ()


def test_nothing_near_is_nothing() -> None:
    assert memories_meant("my bicycle", near("I like green tea")).possible == ()


def test_a_persons_own_note_is_not_ours_to_forget() -> None:
    assert memories_meant("I like green tea", near("I like green tea", file="memory/notes.md")).possible == ()

"""Which day people mean, in English and Chinese, and how a line says it."""

import json
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway_memory.context.coming import ahead_of
from gateway_memory.ground.calendar import Every, Span, day_span
from gateway_memory.ground.dates import mentions
from gateway_memory.ground.holds import Holds, dated, holds_of, noted_days, plain_of, with_note
from gateway_memory.ground.holds import given as given_by_a_caller
from gateway_memory.ground.tense import time_of
from gateway_memory.store.memory_record import MemoryRecord

SATURDAY, WEDNESDAY = date(2026, 11, 28), date(2026, 11, 25)
HANDS = sorted((Path(__file__).parents[1] / "data" / "days").glob("*.jsonl"))
"""Phrases with the days that they mean, each file by another hand that had seen neither the code nor the others."""
LEAST_RIGHT, MOST_FALSE = 0.92, 0.04


def rows(hand: Path) -> Iterator[dict[str, Any]]:
    yield from (json.loads(line) for line in hand.read_text("utf-8").splitlines())


def read(text: str, day: date) -> tuple[str, str, str]:
    """Return what is read as a hand labels it: the kind, the first day and the last one."""
    holds = holds_of(text, day)
    if holds.every:
        following = str(holds.every.after(day) or "")
        return "every", following, following
    if holds.until:
        return "until", "", holds.until.isoformat()
    if holds.on:
        return "on", holds.on[0].first.isoformat(), holds.on[-1].last.isoformat()
    return "none", "", ""


@pytest.mark.parametrize("hand", HANDS, ids=lambda hand: hand.stem)
def test_the_days_that_other_people_wrote_are_read(hand: Path) -> None:
    right, dates, false, innocent = 0, 0, 0, 0
    for row in rows(hand):
        found = read(row["text"], date.fromisoformat(row["said"]))
        if row["kind"] in ("none", "unsure"):
            innocent += 1
            false += bool(found[2])
        else:
            dates += 1
            right += found == (row["kind"], row["first"], row["last"])
    assert right / dates >= LEAST_RIGHT
    assert false / innocent <= MOST_FALSE


@pytest.mark.parametrize(
    ("said", "text", "first", "last"),
    [
        (WEDNESDAY, "my flight is on Monday at 9", "2026-11-30", "2026-11-30"),
        (WEDNESDAY, "周一飞成都", "2026-11-30", "2026-11-30"),
        (SATURDAY, "new one Tuesday at 5", "2026-12-01", "2026-12-01"),
        (SATURDAY, "the christening is Sunday week", "2026-12-06", "2026-12-06"),
        (SATURDAY, "I'm back tomorrow week", "2026-12-06", "2026-12-06"),
        (SATURDAY, "the inspection is tomorrow fortnight", "2026-12-13", "2026-12-13"),
        (SATURDAY, "the plumber comes the day after tomorrow", "2026-11-30", "2026-11-30"),
        (SATURDAY, "a week today we move the office", "2026-12-05", "2026-12-05"),
        (SATURDAY, "the match is Saturday next", "2026-12-05", "2026-12-05"),
        (SATURDAY, "the fair is the first Saturday of March", "2027-03-06", "2027-03-06"),
        (SATURDAY, "lifts are out from Friday week", "2026-12-11", "2026-12-11"),
        (SATURDAY, "in a fortnight I get my results", "2026-12-12", "2026-12-12"),
        (SATURDAY, "in 3 weeks' time I have surgery", "2026-12-19", "2026-12-19"),
        (SATURDAY, "we're away from the 3rd to the 12th of april", "2027-04-03", "2027-04-12"),
        (SATURDAY, "月底交房租", "2026-11-25", "2026-11-30"),
        (SATURDAY, "下个月5号去上海", "2026-12-05", "2026-12-05"),
        (SATURDAY, "the report is due by the end of March", "2027-03-31", "2027-03-31"),
        (SATURDAY, "12月10日到14日在成都", "2026-12-10", "2026-12-14"),
        (SATURDAY, "中秋去奶奶家", "2027-09-15", "2027-09-15"),
        (SATURDAY, "除夕排我值班", "2027-02-05", "2027-02-05"),
        (SATURDAY, "立春那天吃春饼", "2027-02-04", "2027-02-04"),
        (SATURDAY, "整个八月都在兰州", "2027-08-01", "2027-08-31"),
        (SATURDAY, "cooking for the 4th of july first time ever", "2027-07-04", "2027-07-04"),
        (SATURDAY, "car boot a week tmrw!!", "2026-12-06", "2026-12-06"),
        (SATURDAY, "back in work jan 4 after 5 months off", "2027-01-04", "2027-01-04"),
        (WEDNESDAY, "choir got bumped from wed to thurs", "2026-11-26", "2026-11-26"),
        (SATURDAY, "体检从下周三改到下周五", "2026-12-04", "2026-12-04"),
        (SATURDAY, "ate dodgy prawns the night before last", "2026-11-26", "2026-11-26"),
        (SATURDAY, "root canal day after tomoro 4 oclock", "2026-11-30", "2026-11-30"),
        (SATURDAY, "thanksgiving dinner is at his mum's", "2027-11-25", "2027-11-25"),
        (SATURDAY, "the quote runs out 30/12 and nobody answers", "2026-12-30", "2026-12-30"),
        (SATURDAY, "12.27到12.30在成都盯展台", "2026-12-27", "2026-12-30"),
        (SATURDAY, "两周前的今天戒的烟", "2026-11-14", "2026-11-14"),
        (date(2027, 1, 28), "初七开工", "2027-02-12", "2027-02-12"),
        (SATURDAY, "Jo's wedding is the saturday before xmas", "2026-12-19", "2026-12-19"),
        (date(2027, 1, 28), "初二到初四住丈母娘家", "2027-02-07", "2027-02-09"),
    ],
)
def test_a_day_is_the_one_that_a_listener_hears(said: date, text: str, first: str, last: str) -> None:
    assert holds_of(text, said).on == (Span(date.fromisoformat(first), date.fromisoformat(last)),)


@pytest.mark.parametrize(
    "text",
    [
        "I married my man Friday",
        "We like June, April and Wednesday",
        "I own a share in a horse called Tomorrow's Hope",
        "I grew up in March",
        "do we march in step",
        "you need to march in step",
        "Groundhog Day is my favourite film",
        "the talk is on the 2nd or 3rd Sunday",
        "1/2杯牛奶",
        "黄金周一般放几天",
        "现在跟今天的年轻人一样",
        "大概十天半个月后回老家",
        "我叔叫李五一",
        "清明上河图在哪",
        "国庆这名字土不土",
        "doc has me on under 1500mg sodium a day now",
        "I've been off sugar a month now",
        "the water still tests at 8.2. How much acid is that",
        "our landlord at 19 November Road says so",
        "遥控器用五号还是七号电池",
        "a 9/16 spanner is near enough a 14mm",
        "I could eat that dal 24/7",
        "my brother calls his labrador Friday",
        "baby is on the 2nd percentile but the doctor isn't worried",
        "Salary comes on the last working day of every month",
        "闺女叫夏至 儿子叫谷雨",
        "我室友网名叫九月 别存岔了",
        "儿子上初三了，作业多",
    ],
)
def test_a_name_a_measure_or_a_guess_is_no_day(text: str) -> None:
    assert holds_of(text, SATURDAY).on == ()


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "I have a dentist appointment tomorrow at 3pm",
            "I have a dentist appointment tomorrow at 3pm (Sunday 29 November 2026)",
        ),
        ("I'm on antibiotics until Tuesday", "I'm on antibiotics until Tuesday (until Tuesday 1 December 2026)"),
        ("my dad passed away two days ago", "my dad passed away two days ago (Thursday 26 November 2026)"),
        ("明早八点半开家长会", "明早八点半开家长会（2026年11月29日星期日）"),
        ("我弟下周六结婚", "我弟下周六结婚（2026年12月5日星期六）"),
        ("物业费交到明年6月", "物业费交到明年6月（至2027年6月30日星期三）"),
        ("花呗欠着一万一，分到明年八月清完", "花呗欠着一万一，分到明年八月清完（至2027年8月31日星期二）"),
        ("We fly on 12 December 2026", "We fly on 12 December 2026"),
        ("My birthday is 14 March", "My birthday is 14 March"),
        ("Choir is every Tuesday at 7", "Choir is every Tuesday at 7"),
        ("I like Sunday roasts", "I like Sunday roasts"),
        ("I prefer calls on Friday", "I prefer calls on Friday"),
    ],
)
def test_a_line_says_its_day_in_its_own_language(text: str, line: str) -> None:
    assert dated(text, SATURDAY) == line
    assert dated(line, date(2027, 5, 1)) == line, "the note counts, on whichever day the line is read"
    assert plain_of(line) == text


@pytest.mark.parametrize(
    ("text", "last"),
    [
        ("I have a dentist appointment tomorrow", "2026-11-29"),
        ("I'm on antibiotics until Tuesday", "2026-12-01"),
        ("my dad passed away two days ago", None),
        ("we got a dog today", None),
        ("I start my new job on Monday", None),
        ("Choir is every Tuesday", None),
        ("我昨天入职了", None),
        ("下周三体检", "2026-12-02"),
    ],
)
def test_what_lies_ahead_is_over_after_its_last_day(text: str, last: str | None) -> None:
    for line in (text, dated(text, SATURDAY)):
        assert holds_of(line, SATURDAY).last == (date.fromisoformat(last) if last else None)


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("Over the weekend, Bart watched his favourite cartoon", "2026-11-21"),
        ("he left on Monday", "2026-11-23"),
        ("At the New Year's Eve party, Bart and his classmates made coloured lanterns", "2025-12-31"),
        ("在元旦晚会上，小明和同学们一起制作了彩纸灯笼", "2026-01-01"),
        ("On Monday, we went to the museum", "2026-11-23"),
        ("周日晚上，我和老公去听了音乐会", "2026-11-22"),
        ("I'm down 14 pounds since Christmas", "2025-12-25"),
        ("sober since New Year's", "2026-01-01"),
        ("圣诞节以来瘦了14斤", "2025-12-25"),
        ("the septic guy did it this February", "2026-02-01"),
        ("the roof was done this spring", "2026-03-01"),
    ],
)
def test_a_day_in_front_of_a_past_verb_is_the_last_one_and_is_never_over(text: str, first: str) -> None:
    holds = holds_of(text, WEDNESDAY)
    assert (str(holds.on[0].first), holds.last) == (first, None)


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("On Monday, we go to the museum", "2026-11-30"),
        ("Dentist Monday, it was moved", "2026-11-30"),
        ("周日晚上，我和老公去听音乐会", "2026-11-29"),
        ("周一体检，早饭买了", "2026-11-30"),
        ("我爸妈周日来不了了，改到十月十号", "2026-11-29"),
        ("On Saturday Maisie is going to Ella's party at 2", "2026-11-28"),
        ("on Monday Tom plays in the cup", "2026-11-30"),
        ("my mother is having her hip operated on on the 18th", "2026-12-18"),
        ("蛋糕订好了，二十九号取", "2026-11-29"),
        ("蛋糕订好了，29号取", "2026-11-29"),
    ],
)
def test_a_day_that_is_ahead_is_the_next_one(text: str, first: str) -> None:
    assert str(holds_of(text, WEDNESDAY).on[0].first) == first


@pytest.mark.parametrize(
    "text",
    [
        'We talked about the character "Friday" of the book',
        "他们讨论了角色“星期五”的故事",
        "书里的「星期五」很有趣",
        "We live in unit 29, and the cat sleeps on the Easter Bunny",
        "我们住在二十九号楼",
    ],
)
def test_a_name_is_no_day(text: str) -> None:
    assert not mentions(text, WEDNESDAY)


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("Tom's off to Leeds on Thursday, back on Tuesday", "Thursday 26 November 2026; Tuesday 1 December 2026"),
        ("老公周四去深圳，周二回来", "2026年11月26日星期四；2026年12月1日星期二"),
        (
            "My parents can't come on Sunday, they're coming the Sunday after instead",
            "Sunday 29 November 2026; Sunday 6 December 2026",
        ),
        ("We're in Rome next week, and at home the week after", "30 November – 6 December 2026; 7–13 December 2026"),
        ("Swimming moves to Tuesdays from next week", "30 November – 6 December 2026; every Tuesday"),
        ("I start Pilates this week, every Wednesday at 7", "23–29 November 2026; every Wednesday"),
        ("我从今天开始每周三晚上七点半练瑜伽", "2026年11月25日星期三；每周三"),
        ("The bins are emptied every Thursday, the next time is tomorrow", "Thursday 26 November 2026; every Thursday"),
        ("The recycling goes every other Thursday, the next time is tomorrow", "Thursday 26 November 2026"),
    ],
)
def test_a_line_with_two_days_says_both(text: str, note: str) -> None:
    line = dated(text, WEDNESDAY)
    assert plain_of(line) == text
    assert line[len(text) :].strip(" ()（）") == note
    again = holds_of(line, WEDNESDAY)
    assert dated(text, WEDNESDAY) == with_note(text, again)


@pytest.mark.parametrize(
    "text",
    ["舞蹈课从下周起改到周六上午", "Swimming moves to Tuesdays from next week", "Starting tomorrow I work in Riga"],
)
def test_what_is_so_from_a_day_on_is_never_over(text: str) -> None:
    assert holds_of(text, WEDNESDAY).last is None


def test_what_comes_again_from_a_day_on_does_not_come_before() -> None:
    holds = holds_of("Swimming moves to Thursdays from next week", WEDNESDAY)
    span = holds.coming(WEDNESDAY)
    assert span is not None
    assert str(span.first) == "2026-12-03"


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("明天公司聚餐，六点", "18:00"),
        ("明天下午看电影，六点集合", "18:00"),
        ("今晚八点的飞机", "20:00"),
        ("明早六点出发", "06:00"),
        ("明天三点剪头发", "15:00"),
        ("明天六点出发", ""),
        ("明天十点开会", "10:00"),
        ("周一到周五九点上班", "09:00"),
        ("周二十点开会", "10:00"),
        ("Finn has a haircut tomorrow at 3:30", "15:30"),
        ("we meet tomorrow at 09:30", "09:30"),
        ("dinner tomorrow at 7:15", "19:15"),
        ("the train leaves tomorrow at 6:40", ""),
        ("中午一点吃饭", "13:00"),
        ("check-in is tomorrow at 5:45 a.m.", "05:45"),
    ],
)
def test_a_clock_without_a_half_of_the_day_is_read_by_what_is_done(text: str, time: str) -> None:
    assert time_of(text) == time


@pytest.mark.parametrize(
    ("text", "day", "meant"),
    [
        ("我哥今年腊月二十三从东莞回来", date(2026, 9, 8), "2027-01-30"),
        ("今年腊月二十三我们杀猪", date(2026, 1, 20), "2026-02-10"),
        ("今年农历八月十五回家", date(2026, 9, 8), "2026-09-25"),
        ("明年大年初三回娘家", date(2026, 9, 8), "2027-02-08"),
        ("去年腊月十八结的婚", date(2026, 9, 8), "2026-02-05"),
        ("今年除夕我值班", date(2026, 9, 8), "2027-02-05"),
        ("今年春节去了三亚", date(2026, 9, 8), "2026-02-17"),
        ("今年春节去三亚", date(2026, 1, 8), "2026-02-17"),
    ],
)
def test_a_year_named_beside_a_day_of_the_moon_is_the_moons(text: str, day: date, meant: str) -> None:
    assert [str(span.first) for span in holds_of(text, day).on] == [meant]


def test_what_comes_again_has_a_next_day() -> None:
    def coming(text: str) -> str:
        span = holds_of(text, SATURDAY).coming(SATURDAY)
        return str(span.first) if span else ""

    assert coming("Choir is every Tuesday") == "2026-12-01"
    assert coming("每月5号还信用卡") == "2026-12-05"
    assert coming("My birthday is 14 March") == "2027-03-14"
    assert coming("我老伴生日是腊月初八") == "2027-01-15"
    assert coming("Bins go out on Saturdays") == "2026-11-28", "today is not over"
    assert coming("He rings twice a week") == ""


@pytest.mark.parametrize(
    "text",
    [
        "next Friday I have my test",  # on a Wednesday: that of this week, or of the next one
        "It's down as Thursday the 27th",  # which is a Friday
        "过两天去办手续",
    ],
)
def test_what_nobody_could_tell_has_no_day(text: str) -> None:
    holds = holds_of(text, WEDNESDAY)
    assert holds.unsure
    assert not holds.on
    assert dated(text, WEDNESDAY) == text


days = st.dates(date(2020, 1, 1), date(2060, 12, 31))
spans = st.tuples(days, st.integers(0, 90)).map(lambda pair: Span(pair[0], pair[0] + timedelta(days=pair[1])))
words = st.sampled_from(["The boiler is serviced", "锅炉检修", "I see Dr Lima 王医生 about it"])


@given(words, st.lists(spans, max_size=3, unique=True), st.none() | days)
def test_a_note_is_read_as_it_was_written(text: str, on: list[Span], until: date | None) -> None:
    holds = Holds(on=tuple(sorted(on)), until=until)
    line = with_note(text, holds)
    again = holds_of(line, date(2020, 1, 1))
    assert (again.on, again.until) == (holds.on, holds.until)
    assert plain_of(line) == text
    assert with_note(line, holds) == line
    assert noted_days(line) == (*holds.on, *((day_span(until),) if until else ()))


@given(st.text(alphabet="0123456789/-.:日月年周一二三至到for in on the tomorrowmayJansun ", max_size=60), days)
def test_no_text_breaks_the_reader(text: str, day: date) -> None:
    for mention in mentions(text, day):
        assert 0 <= mention.start < mention.end <= len(text)
    holds_of(text, day)


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ({"on": "2026-11-29"}, "The boiler is serviced (Sunday 29 November 2026)"),
        ({"on": "2026-11-29 15:00"}, "The boiler is serviced (Sunday 29 November 2026, 15:00)"),
        ({"on": "2026-11-29/2026-12-03"}, "The boiler is serviced (29 November – 3 December 2026)"),
        ({"until": "2026-12-01"}, "The boiler is serviced (until Tuesday 1 December 2026)"),
        ({"every": "tuesday"}, "The boiler is serviced (every Tuesday)"),
        ({"every": "5"}, "The boiler is serviced (on the 5th of every month)"),
        ({"every": "03-14"}, "The boiler is serviced (every 14 March)"),
    ],
)
def test_a_caller_may_say_when_it_holds(values: dict[str, str], line: str) -> None:
    holds = given_by_a_caller(**values)
    assert with_note("The boiler is serviced", holds) == line
    again = holds_of(line, SATURDAY)
    assert (again.on, again.until, again.every, again.time) == (holds.on, holds.until, holds.every, holds.time)
    assert plain_of(line) == "The boiler is serviced"


@pytest.mark.parametrize(
    ("text", "category", "day"),
    [
        ("明天下午三点看牙", "fact", "2026-11-29 15:00"),
        ("12月去三亚", "fact", "2026-12"),
        ("每周二晚上练琴", "fact", "2026-12-01"),
        ("我从不在周五加班", "fact", ""),
        ("I never work on Fridays", "fact", ""),
        ("别在周一给我排事情", "instruction", ""),
        ("我每天晚上十一点前睡", "fact", ""),
        ("预算不超过三千", "fact", ""),
    ],
)
def test_what_is_ahead_is_no_habit_and_no_wish_and_a_month_has_no_day(text: str, category: str, day: str) -> None:
    memory = MemoryRecord(id="a", file="f", text=text, at=0.0, category=category)
    ahead = ahead_of([memory], SATURDAY, date(2027, 1, 31), lambda _: SATURDAY.isoformat())
    assert [each.day for each in ahead] == ([day] if day else [])


@pytest.mark.parametrize(
    "values",
    [{"on": "tomorrow"}, {"on": "2026-12-03/2026-11-29"}, {"on": "2026-11-29 25:00"}, {"until": "2026-02-30"},
     {"every": "13-01"}, {"every": "soon"}],
)  # fmt: skip
def test_a_time_that_is_none_is_refused_with_what_is_expected(values: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=f"^{next(iter(values))}: expected"):
        given_by_a_caller(**values)


def test_the_twenty_ninth_of_february_comes_in_leap_years() -> None:
    assert Every(day=29, month=2).after(SATURDAY) == date(2028, 2, 29)

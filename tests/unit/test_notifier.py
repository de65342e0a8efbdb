"""The bus and the inbox: who is told what, once, within bounds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notifier import Bus, Event, Inbox, MemoryChange, NotifierError, decode, encode


def change(identity: str, source: str = "") -> MemoryChange:
    return MemoryChange(id=identity, text=f"text of {identity}", at=1.0, source=source)


def event(*changes: MemoryChange, scope: str = "owner") -> Event:
    return Event(scope=scope, at=1.0, changes=changes)


def test_others_hear_it_and_the_speaker_does_not() -> None:
    bus, speaker, listener = Bus(), Inbox(10), Inbox(10)
    bus.subscribe("1", "speaker", ["owner"], speaker)
    bus.subscribe("2", "listener", ["owner"], listener)
    bus.publish(event(change("a", "speaker")))
    assert speaker.take() == ()
    assert [found.id for found in listener.take()] == ["a"]
    assert listener.take() == (), "told once"


def test_only_scopes_that_a_session_may_read_reach_it() -> None:
    bus, zoe = Bus(), Inbox(10)
    bus.subscribe("1", "zoe", ["user:zoe"], zoe)
    bus.publish(event(change("a")))
    bus.publish(event(change("b"), scope="user:zoe"))
    assert [found.id for found in zoe.take()] == ["b"]


def test_after_unsubscribing_nothing_comes() -> None:
    bus, inbox = Bus(), Inbox(10)
    bus.subscribe("1", "one", ["owner", "user:zoe"], inbox)
    bus.unsubscribe("1")
    bus.unsubscribe("never there")
    bus.publish(event(change("a")))
    assert len(inbox) == 0


def test_one_event_may_tell_each_session_something_else() -> None:
    bus, one, two = Bus(), Inbox(10), Inbox(10)
    bus.subscribe("1", "one", ["owner"], one)
    bus.subscribe("2", "two", ["owner"], two)
    bus.publish(event(change("a", "one"), change("b", "two")))
    assert [found.id for found in one.take()] == ["b"]
    assert [found.id for found in two.take()] == ["a"]


@given(st.integers(1, 10), st.lists(st.sampled_from("abcdefghij"), max_size=60))
def test_an_inbox_keeps_the_newest_and_counts_what_it_drops(limit: int, ids: list[str]) -> None:
    inbox = Inbox(limit)
    for identity in ids:
        inbox.put(change(identity))
        assert len(inbox) <= limit
    expected = list(dict.fromkeys(reversed(ids)))[:limit][::-1]
    dropped = inbox.dropped
    assert [found.id for found in inbox.take()] == expected
    assert dropped >= len(set(ids)) - len(expected)
    assert (dropped == 0) == (len(set(ids)) <= limit) or dropped > 0


@given(st.text(), st.text(), st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(["added", "removed"]))
def test_events_survive_the_wire(text: str, source: str, at: float, action: str) -> None:
    sent = event(MemoryChange(id="abcdefgh", text=text, at=at, source=source, action=action))  # type: ignore[arg-type]
    assert decode(encode(sent)) == sent
    assert "\n" not in encode(sent)


@pytest.mark.parametrize(
    "body", ["", "null", "[]", "{}", '{"scope":"a","at":"x","changes":[]}', '{"scope":"a","at":1,"changes":[{}]}']
)
def test_what_is_no_event_is_refused(body: str) -> None:
    with pytest.raises(NotifierError, match="no event"):
        decode(body)

"""Messages between gateways: what is signed comes through, and nothing else does."""

import json
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notifier import Event, MemoryChange
from notifier.events import MAX_CHANGES, split
from notifier.messages import Ask, DroppedError, EventMessage, Gone, Hello
from notifier.wire import MAX_PAYLOAD_BYTES, SKEW_SECONDS, Wire, canonical, read_secrets, scope_hash

NOW = 1_800_000_000.0
KEEPS = 86400
HERE, THERE = "aaaaaaaaaaaaaaaa.0", "bbbbbbbbbbbbbbbb.0"
NEW, OLD = b"a secret that is new", b"a secret that is old"


def wire(instance: str = HERE, secrets: dict[str, bytes] | None = None, *, trust: bool = False, **kw: Any) -> Wire:
    values: dict[str, Any] = {"workspace": "team", "oldest_seconds": KEEPS, "trust_broker": trust} | kw
    return Wire(instance=instance, secrets={"new": NEW} if secrets is None else secrets, **values)


def event(text: str = "喜欢用 Python", **values: Any) -> Event:
    change = MemoryChange(id="k7f3q2a1", text=text, at=NOW)
    defaults: dict[str, Any] = {"scope": "user:zoe", "at": NOW, "changes": (change,), "origin": THERE, "number": 7}
    return Event(**defaults | values)


def reason(reader: Wire, topic: str, payload: bytes, now: float = NOW) -> str:
    with pytest.raises(DroppedError) as dropped:
        reader.read(topic, payload, now)
    return dropped.value.reason


printable = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=200)


@given(printable, printable, st.sampled_from(["added", "removed"]), st.integers(1, 2**50))
def test_a_signed_event_arrives_as_it_left(text: str, name: str, action: Any, number: int) -> None:
    told = text if action == "added" else ""
    changes = (MemoryChange(id="k7f3q2a1", text=told, at=NOW, action=action, replaces="k7f3q2a2"),)
    sent = Event(scope=f"user:{name}", at=NOW, changes=changes, origin=THERE, number=number)
    topic, payload = wire(THERE).changed(sent, NOW)
    read = wire().read(topic, payload, NOW + 1)
    assert isinstance(read, EventMessage)
    assert read.event == sent
    assert name not in topic.removeprefix("gateway-memory/1/team/").removesuffix("/changed") or len(name) < 5


def test_a_removal_says_no_text_and_is_valid_for_who_demands_one() -> None:
    removed = MemoryChange(id="k7f3q2a1", text="a private thing", at=NOW, action="removed")
    topic, payload = wire(THERE).changed(event(changes=(removed,)), NOW)
    assert json.loads(payload)["changes"][0]["text"] == "…", "earlier versions drop an event with an empty text"
    read = wire().read(topic, payload, NOW)
    assert isinstance(read, EventMessage)
    assert read.event
    assert read.event.changes == (replace(removed, text=""),)


def test_the_other_messages_arrive_as_they_left() -> None:
    there, here = wire(THERE), wire()
    assert here.read(*there.hello({THERE: 5}, NOW, want=True), NOW) == Hello(
        sender=THERE, heads={THERE: 5}, want=True, trusted=True
    )
    assert here.read(*there.ask(HERE, 2, 4, NOW), NOW) == Ask(sender=THERE, origin=HERE, first=2, last=4, trusted=True)
    assert here.read(*there.gone(THERE, 9, NOW, to=HERE), NOW) == Gone(sender=THERE, origin=THERE, upto=9, trusted=True)
    again = here.read(*there.changed(event(), NOW, to=HERE), NOW)
    assert isinstance(again, EventMessage)
    assert again.number == 7


def test_the_largest_event_fits_into_a_message() -> None:
    longest = "\U0001f9e0" * 2000
    changes = tuple(
        MemoryChange(id=f"k{number:07d}", text=longest, at=NOW, replaces="k7f3q2a1") for number in range(100)
    )
    parts = list(split(event(changes=changes)))
    assert [len(part.changes) for part in parts] == [16, 16, 16, 16, 16, 16, 4]
    assert max(len(wire(THERE).changed(part, NOW)[1]) for part in parts) < MAX_PAYLOAD_BYTES
    assert MAX_CHANGES == 16


def test_without_a_secret_only_ids_leave() -> None:
    topic, payload = wire(THERE, {}).changed(event("a private thing"), NOW)
    assert b"private" not in payload
    assert b"zoe" not in payload
    read = wire(HERE, {}).read(topic, payload, NOW)
    assert isinstance(read, EventMessage)
    assert read.event is None
    assert read.count == 1


def test_without_a_secret_a_text_is_not_believed_unless_the_broker_is() -> None:
    topic, payload = wire(THERE, {}, trust=True).changed(event(), NOW)
    unsure, sure = wire(HERE, {}).read(topic, payload, NOW), wire(HERE, {}, trust=True).read(topic, payload, NOW)
    assert isinstance(unsure, EventMessage)
    assert isinstance(sure, EventMessage)
    assert unsure.event is None
    assert sure.event is not None


def test_keys_are_rotated_one_gateway_at_a_time() -> None:
    both, only_old, only_new = {"new": NEW, "old": OLD}, {"old": OLD}, {"new": NEW}
    for sender, reader in ((only_old, both), (both, only_new), (both, both)):
        assert isinstance(wire(HERE, reader).read(*wire(THERE, sender).changed(event(), NOW), NOW), EventMessage)
    assert reason(wire(HERE, only_new), *wire(THERE, only_old).changed(event(), NOW)) == "forged"


def test_what_is_not_signed_by_us_is_dropped() -> None:
    here = wire()
    topic, payload = wire(THERE).changed(event(), NOW)
    assert reason(here, *wire(THERE, {}).changed(event(), NOW)) == "unsigned"
    assert reason(here, *wire(THERE, {"new": OLD}).changed(event(), NOW)) == "forged"
    fields = json.loads(payload)
    for key, value in (("number", 8), ("sent", 0), ("extra", 1), ("mac", "é"), ("mac", 7), ("key", "none")):
        assert reason(here, topic, canonical(fields | {key: value})) == "forged", key


def test_the_window_against_replay() -> None:
    here = wire()
    topic, payload = wire(THERE).changed(event(), NOW)
    assert isinstance(here.read(topic, payload, NOW + KEEPS - 1), EventMessage)
    assert reason(here, topic, payload, NOW + KEEPS + 1) == "stale"
    assert reason(here, topic, payload, NOW - SKEW_SECONDS - 1) == "stale"
    hello = wire(THERE).hello({}, NOW, want=True)
    assert reason(here, *hello, NOW + SKEW_SECONDS + 1) == "stale"
    old = here.read(*wire(THERE).changed(event(at=NOW - KEEPS - 1), NOW, to=HERE), NOW)
    assert isinstance(old, EventMessage)
    assert old.stale
    assert old.event is None, "an expired event keeps its place in the row, and is told to nobody"


def test_another_workspace_another_place_and_ourselves() -> None:
    here = wire()
    topic, payload = wire(THERE).changed(event(), NOW)
    other_topic, other_payload = wire(THERE, workspace="other").changed(event(), NOW)
    assert reason(here, other_topic, other_payload) == "workspace"
    assert reason(here, topic, other_payload) == "workspace"
    assert reason(here, "gateway-memory/2/team/x/changed", payload) == "workspace"
    assert reason(here, topic.replace("changed", "hello"), payload) == "malformed"
    wrong = topic.replace(scope_hash("team", "user:zoe"), scope_hash("team", "owner"))
    assert reason(here, wrong, payload) == "malformed"
    assert reason(wire(THERE), topic, payload) == "echo"


def test_a_newer_versions_unknown_fields_are_ignored() -> None:
    there = wire(THERE)
    topic, payload = there.changed(event(), NOW)
    fields = json.loads(payload) | {"v": 2, "mood": {"of": ["the", "day"]}}
    del fields["mac"]
    fields["changes"][0]["colour"] = "blue"
    fields["mac"] = there._mac("new", fields)
    read = wire().read(topic, canonical(fields), NOW)
    assert isinstance(read, EventMessage)
    assert read.event == event()


@pytest.mark.parametrize(
    "payload",
    [
        b"", b"null", b"[]", b"7", b'{"v":1', b"\x00\xff\xfe", b'{"v":1,"v":1}', b'{"v":1.5}', b'{"v":NaN}',
        b"[" * 100_000, b'{"v":' + b"9" * 5000 + b"}",
    ],
)  # fmt: skip
def test_what_is_no_message_is_malformed(payload: bytes) -> None:
    topic, _ = wire(THERE).changed(event(), NOW)
    assert reason(wire(), topic, payload) == "malformed"
    assert reason(wire(HERE, {}, trust=True), topic, payload) == "malformed"


def test_what_is_too_large_is_not_even_parsed() -> None:
    topic, payload = wire(THERE).changed(event(), NOW)
    assert reason(wire(), topic, payload + b" " * MAX_PAYLOAD_BYTES) == "oversized"


BAD_FIELDS = [
    ("v", 0), ("v", "1"), ("v", True), ("sender", "me"), ("sender", 7), ("sent", -1), ("sent", 2**60),
    ("origin", "x" * 99), ("number", 0), ("number", None), ("scope", ["x"]), ("changes", []), ("changes", {}),
    ("changes", [7]),
    ("changes", [{"id": "UPPER", "action": "added"}]), ("changes", [{"id": "k7f3q2a1"}]), ("kind", "party"),
    ("name", 7), ("name", "line\nbreak"), ("name", ""),
]  # fmt: skip


@pytest.mark.parametrize(("key", "value"), BAD_FIELDS)
def test_a_field_of_the_wrong_kind_is_malformed_also_where_it_is_signed(key: str, value: Any) -> None:
    there = wire(THERE)
    topic, payload = there.changed(event(), NOW)
    fields = json.loads(payload) | {key: value}
    del fields["mac"]
    fields["mac"] = there._mac("new", fields)
    assert reason(wire(), topic, canonical(fields)) == "malformed"


@pytest.mark.parametrize("text", ["two\nlines", "\x00", "", "   ", "x" * 5000, "\u2028"])
def test_a_text_that_no_memory_can_have_is_malformed(text: str) -> None:
    assert reason(wire(), *wire(THERE).changed(event(text), NOW)) == "malformed"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
KEYS = "v kind workspace sender sent origin number at scope name changes heads want first last upto key mac".split()


@given(
    st.sampled_from(["changed", "hello", "ask", "again"]),
    st.binary(max_size=400) | st.dictionaries(st.sampled_from(KEYS), json_values).map(lambda x: json.dumps(x).encode()),
)
def test_nothing_but_a_drop_comes_of_anything_else(kind: str, payload: bytes) -> None:
    for reader in (wire(), wire(HERE, {}), wire(HERE, {}, trust=True)):
        reason(reader, f"gateway-memory/1/team/all/{kind}", payload)
        reason(reader, payload.decode("latin-1"), payload)


@given(st.data())
def test_a_message_with_one_field_replaced_says_nothing_it_should_not(data: st.DataObject) -> None:
    topic, payload = wire(THERE, {}, trust=True).changed(event(), NOW)
    fields = json.loads(payload)
    fields[data.draw(st.sampled_from(KEYS))] = data.draw(json_values)
    with suppress(DroppedError):
        read = wire(HERE, {}, trust=True).read(topic, json.dumps(fields).encode(), NOW)
        assert isinstance(read, EventMessage)
        assert read.event is None or all(isinstance(change.text, str) for change in read.event.changes)


@pytest.mark.parametrize(
    "text", ["", "short", "a:short,b:short", "k:0123456789abcdef,k:0123456789abcdef", "ü:0123456789abcdef"]
)
def test_secrets_that_protect_nothing_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        read_secrets(text)


def test_secrets_are_read_in_their_order() -> None:
    assert list(read_secrets("new:0123456789abcdef, old:fedcba9876543210")) == ["new", "old"]
    assert read_secrets("0123456789 abcdef") == {"0": b"0123456789 abcdef"}

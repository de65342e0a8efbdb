"""Who is speaking: whoever is not verified is refused, and nobody becomes the owner or somebody else by accident."""

import json
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway_memory import OWNER, Facts, Refused, Speaker, UsageError
from gateway_memory.config.identity import IdentitySettings, channel_name, normalize
from gateway_memory.config.load import check_config
from gateway_memory.config.mistakes import ConfigFileError
from gateway_memory.identity import who
from gateway_memory.scope import KINDS, OWNER_KEY, Whose, is_name
from gateway_memory.serving.models import SpeakerFacts
from gateway_memory.transfer.link_codes import digest_of, new_code

MAIN = "agent:main:main"
NOBODY = IdentitySettings()
RULES = IdentitySettings(
    owner=("telegram:1", "slack/work:U1", "peter"),
    people={"zoe": ("telegram:2", "discord:7"), "max": ("whatsapp:+4915112345678",)},
    channels={"webchat": "owner", "socketed": "verified"},
)


def direct(channel: str = "telegram", sender: str = "3", **more: Any) -> Facts:
    return replace(Facts(key=MAIN, channel=channel, chat_type="direct", sender_id=sender), **more)


def told(facts: Facts, settings: IdentitySettings = RULES) -> object:
    """The user or the room, or the reason of a refusal as a list."""
    found = who(facts, settings)
    if isinstance(found, Refused):
        return [found.reason]
    return found.user if found.room is None else {found.room}


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (direct(sender="1"), OWNER),
        (direct("Telegram", "1"), OWNER),
        (direct(sender="1", account_id="bot2"), OWNER),
        (direct("slack", "U1", account_id="work"), OWNER),
        (direct("slack", "U1", account_id="play"), "slack:play:U1"),
        (direct("slack", "U1"), "slack::U1"),
        (direct(sender="2"), "zoe"),
        (direct("discord", "7", chat_id="990"), "zoe"),
        (direct("discord", "7", chat_id="channel:990"), "zoe"),
        (direct("whatsapp", "+4915112345678", chat_id="4915112345678@s.whatsapp.net"), "max"),
        (
            direct("matrix", "@eve:example.org", key="agent:main:matrix:direct:@eve:example.org"),
            "matrix::@eve%3Aexample.org",
        ),
        (direct("slack", "U9", key="agent:main:slack:direct:u9:thread:12"), "slack::U9"),
        (direct(sender="", person="peter"), OWNER),
        (direct(sender="", person="zoe"), "zoe"),
        (direct(sender="", person="eve"), "eve"),
        (direct(sender="", person="tele:gram"), "tele%3Agram"),
        (direct(sender="2", person="zoe", key="agent:main:direct:zoe"), "zoe"),
        (direct(), "telegram::3"),
        (direct(chat_id="telegram:3"), "telegram::3"),
        (direct(key="telegram:3"), "telegram::3"),
        (direct(key="telegram:9"), "telegram::3"),
        (direct(key="telegram:FriendMessage:1001"), "telegram::3"),
        (direct("proxy", "anna", key="proxy:anna:c1"), "proxy::anna"),
        (direct("proxy", "anna", key="proxy:zoe:c1"), "proxy::anna"),
        (direct(key="agent:main:telegram:direct:3"), "telegram::3"),
        (direct(key="agent:main:telegram:bot2:direct:3"), "telegram::3"),
        (direct("webchat", ""), OWNER),
        (direct("webchat", "", chat_type=""), OWNER),
        (direct("socketed", "abc", chat_id="x1"), "socketed::abc"),
        (direct(is_owner=True), "telegram::3"),
        (direct(chat_type="group", chat_id="-100", sender_id="1"), {"telegram::-100"}),
        (direct(chat_type="channel", chat_id="c", account_id="a", sender_id=""), {"telegram:a:c"}),
        (direct(chat_type="thread", chat_id="-100:7"), {"telegram::-100%3A7"}),
        (direct(chat_type="group", chat_id="-100", key="telegram:-100"), {"telegram::-100"}),
    ],
)
def test_who_is_verified_is_told(facts: Facts, expected: object) -> None:
    assert told(facts) == expected


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        (Facts(key="agent:main:telegram:direct:1"), "chat_type is not given"),
        (direct(chat_type="broadcast"), "chat_type is 'broadcast'"),
        (direct(sender=""), "must give channel and sender_id, or person"),
        (direct("", "1"), "must give channel and sender_id, or person"),
        (direct("websocket", "1"), 'channels: {"websocket": "owner"}'),
        (direct("websocket", "1", is_owner=True), "chooses its own id"),
        (direct("webchat", "", person="zoe"), 'says "zoe"'),
        (direct(sender="1", person="zoe"), "is not one person"),
        (direct(sender="2", person="max"), "is not one person"),
        (direct(sender="1", chat_id="3"), "an operator"),
        (direct(sender="1", chat_id="user:3"), "an operator"),
        (direct("discord", "7", chat_id="user:3"), "an operator"),
        (direct(sender="1", key="agent:main:telegram:direct:3"), "an operator"),
        (direct(sender="1", key="agent:main:telegram:default:dm:3"), "an operator"),
        (direct("webchat", "", key="agent:main:telegram:direct:3"), "an operator"),
        (direct("webchat", "3", key="agent:main:telegram:direct:3"), "an operator"),
        (direct("webchat", "", chat_id="telegram:3"), "an operator"),
        (direct("webchat", "", chat_id="discord:990"), "another channel"),
        (direct("homemade", "3", chat_id="x1"), 'channels: {"homemade": "verified"}'),
        (direct(sender="1", key="agent:main:telegram:group:-100"), "names a group"),
        (direct(chat_type="group", chat_id="-100", key="agent:main:telegram:direct:3"), "names a direct chat"),
        (direct(chat_type="group"), "channel and chat_id"),
    ],
)
def test_whoever_is_not_verified_is_refused_in_words(facts: Facts, why: str) -> None:
    found = who(facts, RULES)
    assert isinstance(found, Refused)
    assert why in found.reason


def test_the_hosts_own_flag_makes_the_owner_only_where_the_config_trusts_it() -> None:
    trusting = IdentitySettings(trust_owner_flag=True, people={"zoe": ("telegram:2",)})
    assert told(direct(is_owner=True), trusting) is OWNER
    assert told(direct(is_owner=True), NOBODY) == "telegram::3"
    assert isinstance(told(direct(sender="2", is_owner=True), trusting), list), "zoe, or the owner?"
    assert isinstance(told(direct("websocket", "x", is_owner=True), trusting), list), "a connection's flag"
    assert isinstance(told(direct("webchat", "", is_owner=True, person="zoe"), trusting), list)


@pytest.mark.parametrize(
    "wrong", [{"sender_id": 5}, {"key": ""}, {"chat_id": "a\nb"}, {"is_owner": "yes"}, {"person": " "}]
)
def test_a_fact_of_another_form_is_the_hosts_mistake(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        who(direct(**wrong), RULES)
    with pytest.raises(UsageError):
        who(None, RULES)  # type: ignore[arg-type]


# The config

CONTRADICTIONS = [
    ('owner: ["telegram:1"],\npeople: {zoe: ["Telegram:1"]}', "identity.owner[0]", 2, 'for "zoe" and for the owner'),
    ('people: {zoe: ["telegram:1"],\nmax: ["discord:1", "telegram/bot:1"]}', "identity.people.max[1]", 3, 'for "max"'),
    ('people: {zoe: []},\nowner: ["zoe"]', "identity.owner[0]", 3, "the same identity"),
    ('people: {zoe: ["max"],\nmax: []}', "identity.people.zoe[0]", 2, "the same identity"),
    ('channels: {webchat: "owner"},\npeople: {zoe: ["webchat:1"]}', "identity.people.zoe[0]", 3, "only the owner uses"),
    ('owner: ["websocket:alice"]', "identity.owner[0]", 2, "chooses its own id"),
    ('channels: {webchat: "owner", WebChat: "verified"}', "identity.channels.WebChat", 2, "each channel once"),
    ('owner: ["telegram:"]', "identity.owner[0]", 2, 'expected "channel:sender"'),
    ('people: {"": []}', 'identity.people[""]', 2, "expected a name"),
    ("people: {zoe: [5]}", "identity.people.zoe[0]", 2, "expected a string, got 5"),
    ('channels: {webchat: "all"}', "identity.channels.webchat", 2, 'expected "owner" or "verified"'),
    ('people: ["zoe"]', "identity.people", 2, "expected an object of lists"),
]


@pytest.mark.parametrize(("text", "path", "line", "said"), CONTRADICTIONS)
def test_a_config_that_contradicts_itself_is_an_error_with_its_place(
    text: str, path: str, line: int, said: str
) -> None:
    document = f"{{agents: {{defaults: {{memorySync: {{identity: {{\n{text}\n}}}}}}}}}}"
    with pytest.raises(ConfigFileError) as caught:
        check_config(document, "x")
    (problem,) = caught.value.problems
    assert (problem.path, problem.line) == (f"agents.defaults.memorySync.{path}", line)
    assert said in problem.message


def test_an_agents_own_people_are_laid_over_the_defaults() -> None:
    document = {
        "agents": {
            "defaults": {"memorySync": {"identity": {"people": {"zoe": ["telegram:1"]}}}},
            "list": [{"id": "work", "memorySync": {"identity": {"people": {"max": ["telegram:2"]}}}}],
        }
    }
    config = check_config(json.dumps(document), "x")
    assert config.for_agent("work").identity.people == {"zoe": ("telegram:1",), "max": ("telegram:2",)}
    document["agents"]["list"][0]["memorySync"]["identity"]["people"]["max"] = ["telegram:1"]  # type: ignore[index]
    with pytest.raises(ConfigFileError, match="the same identity"):
        check_config(json.dumps(document), "x")


# Properties

ids = st.text(alphabet="aA1:/%+-é\u0301", min_size=1, max_size=4).filter(
    lambda text: is_name(text) and text.strip() == text
)
maybe = st.one_of(st.just(""), ids)
real = st.sampled_from(["telegram", "Telegram", "discord", "home:made", "home", "é", "e\u0301"])
channels = st.one_of(real, st.sampled_from(["webchat", "websocket"]))
anything = st.builds(
    Facts,
    key=st.sampled_from([MAIN, "x", "telegram:1", "agent:main:telegram:direct:1", "agent:main:discord:group:1"]),
    channel=st.one_of(st.just(""), channels, ids),
    chat_type=st.sampled_from(["", "direct", "group", "channel", "thread", "odd"]),
    chat_id=st.one_of(st.just(""), ids),
    sender_id=st.one_of(st.just(""), ids),
    account_id=st.one_of(st.just(""), ids),
    is_owner=st.booleans(),
    person=st.one_of(st.just(""), ids),
)


@given(anything, st.dictionaries(ids, st.just(()), max_size=2))
def test_without_a_rule_nobody_is_the_owner(facts: Facts, people: dict[str, tuple[str, ...]]) -> None:
    found = who(facts, IdentitySettings(people=people))
    assert isinstance(found, Refused) or (found.user is not OWNER and (found.user is None) != (found.room is None))


@given(anything, st.builds(IdentitySettings, owner=st.just(("telegram:1",)), trust_owner_flag=st.booleans()))
def test_only_the_verified_sender_of_a_rule_is_the_owner(facts: Facts, settings: IdentitySettings) -> None:
    found = who(facts, settings)
    if isinstance(found, Speaker) and found.user is OWNER:
        assert facts.chat_type == "direct"
        named = channel_name(facts.channel or "") == "telegram" and facts.sender_id == "1"
        assert named or (settings.trust_owner_flag and facts.is_owner and (facts.sender_id or facts.person))


def whom(facts: Facts) -> tuple[object, ...]:
    """What distinguishes the one who is speaking, in the form in which ids are compared."""
    place = channel_name(facts.channel or ""), normalize(facts.account_id or "")
    if facts.chat_type != "direct":
        return ("room", *place, normalize(facts.chat_id or ""))
    return ("person", normalize(facts.person)) if facts.person else ("sender", *place, normalize(facts.sender_id or ""))


verified = st.one_of(
    st.builds(Facts, key=st.just(MAIN), channel=real, chat_type=st.just("direct"), sender_id=ids, account_id=maybe),
    st.builds(Facts, key=st.just(MAIN), channel=real, chat_type=st.just("group"), chat_id=ids, account_id=maybe),
    st.builds(Facts, key=st.just(MAIN), chat_type=st.just("direct"), person=ids),
)


@given(verified, verified)
def test_two_who_are_different_never_share_a_scope(one: Facts, two: Facts) -> None:
    scopes = [found.scope for facts in (one, two) if isinstance(found := who(facts, NOBODY), Speaker)]
    assert len(scopes) == 2
    assert (scopes[0] == scopes[1]) == (whom(one) == whom(two))
    assert (scopes[0].folder == scopes[1].folder) == (whom(one) == whom(two))


def test_a_code_is_read_as_people_write_it() -> None:
    code = new_code()
    assert digest_of(code, "j") == digest_of(f" {code.lower().replace('-', ' ')} ", "j")
    assert digest_of("O1L", "j") == digest_of("011", "j") != digest_of("011", "k")
    assert len({new_code() for _ in range(100)}) == 100


def test_the_table_of_kinds_is_complete_and_tells_kinds_apart() -> None:
    named = [kind for kind in KINDS.values() if kind.name != OWNER_KEY]
    assert set(Whose.__annotations__) == {kind.name for kind in named}
    for name in ("folder", "title", "possessive"):
        values = [getattr(kind, name) for kind in KINDS.values()]
        assert len(set(values)) == len(values), f"two kinds have one {name}"
    for kind in named:
        assert kind.folder not in {"", "memory"}, "a folder of the workspace's own"
        assert kind.is_shared or not kind.may_be_joined, "who joins a scope shares it with others"


def test_a_host_may_state_over_http_whatever_it_may_state_in_python() -> None:
    assert set(SpeakerFacts.model_fields) == {field.name for field in fields(Facts)}
    assert set(Speaker(user="zoe").whose) == set(Whose.__annotations__)

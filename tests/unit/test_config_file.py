"""A value is set in a person's config file: nothing else of the file changes, and nothing is lost."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pyjson5
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gateway_memory import ConfigError, load_config
from gateway_memory.config.keys import TUNED
from gateway_memory.config.load import check_config
from gateway_memory.config.mistakes import ConfigFileError
from gateway_memory.edge.config_file import NotSavedError, SettingsFile, with_values
from gateway_memory.edge.config_reference import reference_text
from gateway_memory.store.disk.workspace import own_config

LEAST, QUOTED = TUNED
BOTH = {LEAST: 0.65, QUOTED: 0.3}


def scores(text: str, agent: str = "main") -> tuple[float, float]:
    recall = check_config(text, "test").for_agent(agent).auto_recall
    return recall.min_score, recall.episodes.min_score


def document(inner: str) -> str:
    return "{ agents: { defaults: { memorySync: " + inner + " } } }"


def test_the_shipped_file_differs_in_the_two_numbers_alone() -> None:
    before = reference_text()
    after = with_values(before, BOTH)
    differing = [pair for pair in zip(before.splitlines(), after.splitlines(), strict=True) if pair[0] != pair[1]]
    assert [new.strip() for _, new in differing] == ["minScore: 0.65,", "minScore: 0.3,"]
    assert [old.strip() for old, _ in differing] == ["minScore: 0.5,"] * 2


@pytest.mark.parametrize(
    ("inner", "expected"),
    [
        ("{}", "{ autoRecall: { minScore: 0.65 } }"),
        ("{ }", "{ autoRecall: { minScore: 0.65 } }"),
        ("{ timeZone: 'UTC' }", "{ timeZone: 'UTC', autoRecall: { minScore: 0.65 } }"),
        ("{ timeZone: 'UTC', }", "{ timeZone: 'UTC', autoRecall: { minScore: 0.65 } }"),
        ("{timeZone:'UTC'}", "{timeZone:'UTC', autoRecall: { minScore: 0.65 }}"),
        ("{ autoRecall: { minScore: .5/* half */ } }", "{ autoRecall: { minScore: 0.65/* half */ } }"),
        ("{ 'autoRecall': { \"minScore\": +5e-1 } }", "{ 'autoRecall': { \"minScore\": 0.65 } }"),
        ("{ autoRecall: {} /* , */ }", "{ autoRecall: { minScore: 0.65 } /* , */ }"),
        (
            "{\n  timeZone: 'UTC' // home, mostly\n  // more to come: {\n}",
            "{\n  timeZone: 'UTC', // home, mostly\n  // more to come: {\n  autoRecall: { minScore: 0.65 }\n}",
        ),
        (
            "{\r\n\ttimeZone: 'UTC', // home\r\n}",
            "{\r\n\ttimeZone: 'UTC', // home\r\n\tautoRecall: { minScore: 0.65 },\r\n}",
        ),
        ("{ // nothing yet\n}", "{ // nothing yet\n  autoRecall: { minScore: 0.65 },\n}"),
    ],
)
def test_a_value_is_added_in_the_layout_of_its_object(inner: str, expected: str) -> None:
    after = with_values(document(inner), {LEAST: 0.65})
    assert after == document(expected)
    assert scores(after)[0] == 0.65


def test_plain_json_stays_plain_json() -> None:
    for indent in (None, 2):
        before = json.dumps({"agents": {"defaults": {"memorySync": {"timeZone": "UTC"}}, "list": []}}, indent=indent)
        after = with_values(before, BOTH)
        assert json.loads(after)["agents"]["defaults"]["memorySync"]["autoRecall"]["episodes"]["minScore"] == 0.3
    assert json.loads(with_values(json.dumps({}, indent=2), BOTH))["agents"]


def test_the_value_of_an_agent_is_set_where_it_stands() -> None:
    text = (
        '{ agents: { defaults: { memorySync: { autoRecall: { minScore: 0.4 } } }, list: [{ id: "other" },'
        ' { id: "Work", memorySync: { autoRecall: { minScore: 0.7 } } }] } }'
    )
    after = with_values(text, BOTH, agent="work")
    assert scores(after, "work") == (0.65, 0.3)
    assert scores(after) == (0.4, 0.3), "what the entry leaves out, it inherits"
    assert scores(with_values(text, BOTH)) == (0.65, 0.3)
    assert scores(with_values(text, BOTH), "work")[0] == 0.7


COMMENTS = st.sampled_from(
    ["", " ", "\n", '// a: { }, "\n', "/* ,} // */", "\n\t// 注释：{\n", "\r\n  ", "/* a\n b */ "]
)
KEYS = st.sampled_from(
    ["agents", "defaults", "memorySync", "autoRecall", "episodes", "minScore", "x", "y z", "键", "a'b"]
)
SCALARS = st.sampled_from(
    ["1", "-.5", "'it''s'".replace("''", "\\'"), '"a, {b}: // c"', "true", "null", "0x1F", "[1, {a: 2}]"]
)


@st.composite
def objects(draw: Any, depth: int = 0) -> str:
    def space() -> str:
        text: str = draw(COMMENTS)
        return text

    names = draw(st.lists(KEYS, unique=True, max_size=4))
    if depth < 5 and draw(st.booleans()):  # often on the way to the value
        way = ("agents", "defaults", "memorySync", "autoRecall", "episodes")[depth]
        names = [way, *(name for name in names if name != way)]
    parts = []
    for name in names:
        is_way = depth < 5 and name == ("agents", "defaults", "memorySync", "autoRecall", "episodes")[depth]
        value = draw(objects(depth=depth + 1)) if is_way else draw(SCALARS)
        quote = draw(st.sampled_from(['"', "'", ""]))
        key = json.dumps(name, ensure_ascii=False) if quote != "" or not re.fullmatch(r"[A-Za-z]+", name) else name
        parts.append(f"{space()}{key}{space()}:{space()}{value}{space()}")
    tail = "," + space() if parts and draw(st.booleans()) else ""
    return "{" + (",".join(parts) or space()) + tail + "}"


def _set(value: Any, path: tuple[str | int, ...], number: float) -> None:
    for step in path[:-1]:
        value = value.setdefault(step, {})
    value[path[-1]] = number


def _is_subsequence(short: str, long: str) -> bool:
    rest = iter(long)
    return all(character in rest for character in short)


@given(text=objects(), key=st.sampled_from(TUNED), value=st.integers(0, 100).map(lambda each: each / 100))
def test_any_document_gets_the_value_and_nothing_else(text: str, key: Any, value: float) -> None:
    before = pyjson5.decode(text)
    after = with_values(text, {key: value})
    path = ("agents", "defaults", "memorySync", *key)
    held: Any = before
    for step in path:
        assume(isinstance(held, dict))
        held = held.get(step, {})
    _set(before, path, value)
    assert pyjson5.decode(after) == before
    if held == {}:
        assert _is_subsequence(text, after), "everything that stood there is still there"
    again = with_values(after, {key: value})
    assert again == after


# The file


def settings(path: Path) -> SettingsFile:
    return SettingsFile(path=path, agent="main")


def test_a_file_that_is_missing_is_made_for_this_user_alone(tmp_path: Path) -> None:
    file = settings(own_config(tmp_path))
    config = file.save(BOTH, digest=file.digest())
    assert config == load_config(own=own_config(tmp_path))
    assert (config.defaults.auto_recall.min_score, config.defaults.auto_recall.episodes.min_score) == (0.65, 0.3)
    assert file.path.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in file.path.parent.iterdir()] == ["config.json5"]


def test_mode_byte_order_mark_and_bytes_stay(tmp_path: Path) -> None:
    path = tmp_path / "config.json5"
    inner = "agents: { defaults: { memorySync: { autoRecall: { minScore: 0.5 } } } }"
    before = f"\ufeff{{ // 我的设置\r\n  {inner},\r\n}}".encode()
    path.write_bytes(before)
    path.chmod(0o640)
    file = settings(path)
    file.save({LEAST: 0.7}, digest=file.digest())
    assert path.read_bytes() == before.replace(b"0.5", b"0.7")
    assert path.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("why", ["broken", "unknown", "bytes", "changed", "made", "link", "read-only", "folder"])
def test_what_can_not_be_saved_loses_nothing(tmp_path: Path, why: str) -> None:
    path = tmp_path / "config.json5"
    texts = {"broken": b"{ agents: ", "unknown": b"{ agens: {} }", "bytes": b"{ /* \xff */ }"}
    file = settings(path)
    if why in ("folder", "made"):
        digest = file.digest()
        path.mkdir() if why == "folder" else path.write_text("{}")
    elif why == "link":
        (tmp_path / "other").write_text("{}")
        path.symlink_to(tmp_path / "other")
        digest = ""
    else:
        path.write_bytes(texts.get(why, b"{}"))
        digest = file.digest()
        if why == "changed":
            path.write_text("{ /* by hand */ }")
        if why == "read-only":
            path.chmod(0o400)
    before = {each.name: each.is_file() and each.read_bytes() for each in tmp_path.iterdir()}
    with pytest.raises(NotSavedError) as raised:
        file.save(BOTH, digest=digest)
    expected = {
        "read-only": "unwritable",
        "folder": "unwritable",
        "unknown": "broken",
        "bytes": "broken",
        "made": "changed",
    }
    assert raised.value.why == expected.get(why, why)
    assert {each.name: each.is_file() and each.read_bytes() for each in tmp_path.iterdir()} == before
    if why == "unknown":
        assert "config.json5:1" in raised.value.detail


def test_a_save_between_reading_and_writing_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "config.json5"
    path.write_text("{}")
    file = settings(path)
    digest, sync = file.digest(), os.fsync

    def edited(descriptor: int) -> None:
        sync(descriptor)
        path.write_text("{ /* saved by an editor just now */ }")

    monkeypatch.setattr(os, "fsync", edited)
    with pytest.raises(NotSavedError) as raised:
        file.save(BOTH, digest=digest)
    assert raised.value.why == "changed"
    assert path.read_text() == "{ /* saved by an editor just now */ }"
    assert [each.name for each in tmp_path.iterdir()] == ["config.json5"]


# What a workspace's own file may say


def test_a_workspace_of_somebody_else_names_no_server(tmp_path: Path) -> None:
    own = own_config(tmp_path)
    own.parent.mkdir()
    own.write_text(document('{ autoExtract: { baseUrl: "https://evil.example/v1", apiKeyEnv: "OPENAI_API_KEY" } }'))
    with pytest.raises(ConfigFileError, match=r"only autoRecall\.minScore and autoRecall\.episodes\.minScore"):
        load_config(own=own_config(tmp_path))
    own.write_text("{ serve: { host: '0.0.0.0', hosts: ['x'] } }")
    with pytest.raises(ConfigError):
        load_config(own=own_config(tmp_path))
    own.write_text(document("{ autoRecall: { minScore: 0.9 } }"))
    assert load_config(own=own_config(tmp_path)).defaults.auto_recall.min_score == 0.9
    other = tmp_path / "other.json5"
    other.write_text("{}")
    assert load_config(other, own=own_config(tmp_path)).defaults.auto_recall.min_score == 0.5, (
        "a named file is all there is"
    )

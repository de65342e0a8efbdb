"""load_config, check_config, render_config and config_schema."""

import json
import pkgutil
import re
import string
import subprocess
import sys
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractor.settings import ExtractorSettings, provider_of
from gateway_memory.config.keys import expected, known_paths, slot
from gateway_memory.config.load import check_config, load_config, read_text, value_in_message
from gateway_memory.config.mistakes import ConfigFileError, ConfigProblem
from gateway_memory.config.scan import dotted, scan
from gateway_memory.config.settings import Config, MemorySync
from gateway_memory.edge.config_reference import config_schema, reference_text, render_config
from gateway_memory.edge.phrases import translated
from gateway_memory.errors import ConfigError
from recall.settings import _PROVIDERS

FIVE_MISTAKES = """\
{
  agents: {
    defaults: {
      memorySync: {
        autoExtract: { enabled: "true" },
        autoRecall: {
          minScore: 7,
          maxResult: 3,
        },
        timeZone: "Asia/Beijing",
      },
    },
    list: [
      { id: "work", memorySync: { notify: { maxPendingUpdates: 0 } } },
    ],
  },
}
"""

NEVER_IMPORTED_FOR_DEFAULTS = """\
import sys
import gateway_memory.config.load, gateway_memory.config.settings
gateway_memory.config.load.load_config()
assert "pydantic" not in sys.modules, "pydantic was imported"
"""


def problems(text: str) -> tuple[ConfigProblem, ...]:
    with pytest.raises(ConfigFileError) as caught:
        check_config(text, "config.json5")
    return caught.value.problems


def messages(text: str) -> list[str]:
    return [problem.message for problem in problems(text)]


def section(body: str) -> str:
    return f"{{agents: {{defaults: {{memorySync: {{{body}}}}}}}}}"


def test_five_mistakes_are_five_messages_with_path_line_and_what_was_expected() -> None:
    with pytest.raises(ConfigError) as caught:
        check_config(FIVE_MISTAKES, "config.json5")
    assert str(caught.value).splitlines() == [
        'config.json5:5: agents.defaults.memorySync.autoExtract.enabled: expected true or false, got "true"',
        "config.json5:7: agents.defaults.memorySync.autoRecall.minScore: expected a number from 0 to 1, got 7",
        'config.json5:8: agents.defaults.memorySync.autoRecall.maxResult: unknown key; did you mean "maxResults"?',
        (
            'config.json5:10: agents.defaults.memorySync.timeZone: expected "local" or the IANA name of a time zone '
            'such as "Asia/Shanghai", got "Asia/Beijing"'
        ),
        (
            "config.json5:14: agents.list[0].memorySync.notify.maxPendingUpdates: expected a whole number above 0 and "
            "of at most 1000000000, got 0"
        ),
    ]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("autoRecall: {timeoutMs: 2.5}", "expected a whole number above 0 and of at most 86400000, got 2.5"),
        ("autoRecall: {timeoutMs: true}", "expected a whole number above 0 and of at most 86400000, got true"),
        ("autoRecall: {minScore: NaN}", "expected a number from 0 to 1, got NaN"),
        ("autoRecall: null", "expected an object, got null"),
        ("autoRecall: []", "expected an object, got a list"),
        ("autoExtract: {debounceSeconds: -1}", "expected a number from 0 to 31536000, got -1"),
        ("autoExtract: {debounceSeconds: Infinity}", "expected a number from 0 to 31536000, got Infinity"),
        ("autoExtract: {model: ''}", 'expected a string that is not empty, got ""'),
        ("sessions: {idleHours: 1000000000000}", "expected a number above 0 and of at most 876000, got 1000000000000"),
        ("observations: {keepDays: 40000}", "expected a whole number above 0 and of at most 36500, got 40000"),
        (
            "autoExtract: {baseUrl: 'localhost:11434/v1'}",
            'such as "http://127.0.0.1:11434/v1", got "localhost:11434/v1"',
        ),
        ("autoExtract: {baseUrl: 'ftp://host/v1'}", 'expected "", or an address such as'),
        ("autoExtract: {baseUrl: 'http://'}", 'expected "", or an address such as'),
        ("autoExtract: {baseUrl: 'https:///v1'}", 'expected "", or an address such as'),
        ("autoExtract: {baseUrl: 'http://host:99999'}", 'expected "", or an address such as'),
        ("autoExtract: {baseUrl: 'http://[::1'}", 'expected "", or an address such as'),
        ("autoExtract: {baseUrl: 'http://a b'}", 'expected "", or an address such as'),
        ("autoExtract: {baseUrl: ' http://host'}", 'expected "", or an address such as'),
        ("autoRecall: {embedder: {baseUrl: 'me:hunter2@host'}}", "got a string of 15 characters"),
        ("autoExtract: {model: 'gemini-flash'}", '"gemini-flash" does not say whose model it is; expected "openai/…"'),
        ("autoExtract: {model: 'foo/bar'}", '"foo/bar" does not say whose model it is'),
        ("autoExtract: {model: 'openai/'}", 'expected the name of a model behind "openai/"'),
        ("autoExtract: {excludeSessionTypes: 'group'}", 'expected a list, got "group"'),
        ("autoExtract: {excludeSessionTypes: ['group', 1]}", "expected a string, got 1"),
        ("autoExtract: {memoryMdThreshold: 'low'}", 'expected "high" or "normal", got "low"'),
        ("timeZone: 'Europe'", 'such as "Asia/Shanghai", got "Europe"'),
        ("timeZone: '../../etc/passwd'", 'such as "Asia/Shanghai", got "../../etc/passwd"'),
        ("timeZone: '\\0'", 'such as "Asia/Shanghai", got "\\u0000"'),
        ("min_score: 1", "unknown key; it belongs at agents.defaults.memorySync.autoRecall.minScore"),
        ("autoRecall: {min_score: 1}", 'unknown key; did you mean "minScore"?'),
        ("autoRecall: {MINSCORE: 1}", 'unknown key; did you mean "minScore"?'),
        ("minScore: 1", "unknown key; it belongs at agents.defaults.memorySync.autoRecall.minScore"),
        ("notify: {frobnicate: 1}", "unknown key; known here: enabled, broker, injectSummary"),
    ],
)
def test_a_mistake_says_what_was_expected(body: str, message: str) -> None:
    (said,) = messages(section(body))
    assert message in said


@pytest.mark.parametrize(
    "model", ["gemini-flash", "foo/bar", "deepseek-chat", "gptx", "claudette", "oops", " gpt-4o", "🦙"]
)
def test_a_model_of_nobody_we_know_is_refused_at_its_line_unless_a_server_is_named(model: str) -> None:
    (problem,) = problems(
        f"{{agents: {{defaults: {{memorySync: {{\n  autoExtract: {{\n    model: '{model}',\n  }}}}}}}}}}"
    )
    assert problem.path == "agents.defaults.memorySync.autoExtract.model"
    assert problem.line == 3
    with pytest.raises(ValueError, match="does not say whose model it is"):
        ExtractorSettings(model=model)
    config = check_config(
        section(f"autoExtract: {{model: '{model}', baseUrl: 'http://127.0.0.1:1/v1'}}"), "config.json5"
    )
    assert config.defaults.auto_extract.model == model


@pytest.mark.parametrize(
    ("model", "provider"),
    [
        ("gpt-4o-mini", "openai"), ("gpt-5.2", "openai"), ("o4-mini", "openai"), ("chatgpt-4o-latest", "openai"),
        ("ft:gpt-4o-mini:acme::abc", "openai"), ("openai/gpt-4o", "openai"), ("openai/deepseek-chat", "openai"),
        ("claude-haiku-4-5", "anthropic"), ("anthropic/claude-haiku", "anthropic"), ("anthropic/next", "anthropic"),
        ("rules", None),
    ],
)  # fmt: skip
def test_models_of_openai_and_anthropic_are_known_by_their_names(model: str, provider: str | None) -> None:
    found = provider_of(check_config(section(f"autoExtract: {{model: '{model}'}}"), "x").defaults.auto_extract.model)
    assert (found[0] if found else None) == provider


def test_every_number_has_a_range_and_is_refused_beyond_it() -> None:
    """What no program can use is told by the file's check, and not by whatever overflows a month later."""
    numbers = [path for path in known_paths() if re.match(r"a (whole )?number", expected(path))]
    assert len(numbers) > 30
    for path in numbers:
        assert re.search(r"from [\d.]+ to \d+|of at most \d+", expected(path)), path
        for value in (
            "1e12",
            "1000000000001",
            "-1",
            "NaN",
            "Infinity",
            "-Infinity",
            "9" * 400,
            "'5'",
            "null",
            "[]",
        ):
            above = path[:-1]
            body = "".join(f"{key}: {{" for key in above) + f"{path[-1]}: {value}" + "}" * len(above)
            (problem,) = problems(f"{{{body}}}")
            assert problem.path == dotted(path)
            assert problem.line == 1
            assert f"expected {expected(path)}, got " in problem.message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{agent: {}}", 'unknown key; did you mean "agents"?'),
        ("{agents: {default: {}}}", 'unknown key; did you mean "defaults"?'),
        ("{agents: {defaults: {memorysync: {}}}}", 'unknown key; did you mean "memorySync"?'),
        ("{memorySync: {}}", "unknown key; it belongs at agents.defaults.memorySync"),
        ("{agents: {list: [{memorySync: {}}]}}", "missing; expected a string that is not empty"),
        ("{agents: {defaults: {memorySync: {}}, list: 'abc'}}", 'expected a list, got "abc"'),
        ("{agents: {defaults: {memorySync: {}}, list: {a: 1}}}", "expected a list, got an object"),
        ("{agents: {list: [5]}}", "expected an object, got 5"),
        ("[]", "expected an object, got a list"),
        ("null", "expected an object, got null"),
    ],
)
def test_a_typo_outside_our_section_cannot_switch_it_off_unnoticed(text: str, message: str) -> None:
    assert messages(text) == [message]


def test_a_key_given_twice_is_a_mistake_that_names_both_lines() -> None:
    (problem,) = problems("{agents: {\n  list: [],\n  'list': [],\n}}")
    assert problem == ConfigProblem(path="agents.list", line=3, message="the key is given twice, first on line 2")


def test_an_agent_given_twice_is_a_mistake_whatever_the_case() -> None:
    (problem,) = problems("{agents: {list: [\n  {id: 'Work'},\n  {id: 'work'},\n]}}")
    assert problem.path == "agents.list[1].id"
    assert problem.line == 3
    assert problem.message == 'the agent "work" is given twice, first on line 2'


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("{\n  agents: {\n    defaults }\n}", 3, 14),
        ("", 1, 1),
        ("{\r\n  a: 1,,}", 2, 8),
        ("{'记忆':\n'😀', b: @}", 2, 9),
    ],
)
def test_a_syntax_error_has_line_and_column(text: str, line: int, column: int) -> None:
    (problem,) = problems(text)
    assert problem.line == line
    assert problem.message.startswith(f"no valid JSON5 at column {column}: ")


@pytest.mark.parametrize(
    ("text", "line", "column", "found"),
    [
        ("{\n  agents： {}\n}", 2, 9, "："),
        ("{agents: {}，\n serve: {}}", 1, 12, "，"),
        ("｛agents: {}}", 1, 1, "｛"),
        ("{agents: {}｝", 1, 12, "｝"),
        ("{agents: {list: [］}}", 1, 18, "］"),
        ("{serve: {\n  host: “127.0.0.1”\n}}", 2, 9, "“"),
        ("{serve: {host: ＂127.0.0.1＂}}", 1, 16, "＂"),
        ("{serve: {\n  host: '127.0.0.1’,\n}}", 2, 19, "’"),
        ('{serve: {\n  host: "127.0.0.1”,\n}}', 2, 19, "”"),
        ('{serve: {host: "127.0.0.1”, socket: ""}}', 1, 26, "”"),
        ("／／ 我的配置\n{}", 1, 1, "／"),
    ],
)
def test_full_width_punctuation_is_named_at_its_place(text: str, line: int, column: int, found: str) -> None:
    (problem,) = problems(text)
    assert problem.line == line
    assert problem.message == (
        f"no valid JSON5 at column {column}: full-width punctuation '{found}'; write it in half width"
        "（全角标点，请改成半角）"
    )
    assert translated("zh", problem.message) == (f"第 {column} 列不是有效的 JSON5：'{found}'（全角标点，请改成半角）")


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("{agents: {}, // 说“好”，就好。\n serve {}}", "expected ':', found '{'"),
        ("{serve: {host: '“好”，' port: 1}}", "expected ',' or '}', found 'p'"),
        ("{serve: {host: “}}", "full-width punctuation '“'"),
    ],
)
def test_full_width_punctuation_in_a_text_is_no_mistake(text: str, mistake: str) -> None:
    (problem,) = problems(text)
    assert mistake in problem.message


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("", "第 1 列不是有效的 JSON5：文件是空的"),
        ("{a: 1", "第 1 列不是有效的 JSON5：对象没有结束"),
        ("[1", "第 1 列不是有效的 JSON5：列表没有结束"),
        ("{a: 'x", "第 5 列不是有效的 JSON5：字符串没有结束"),
        ("/* x", "第 2 列不是有效的 JSON5：注释没有结束"),
        ("{a: 0x}", "第 5 列不是有效的 JSON5：数没有结束"),
        ("{} {}", "第 2 列不是有效的 JSON5：末尾多出 '{'"),
        ("{a: @}", "第 5 列不是有效的 JSON5：应为一个值，却是 '@'"),
        ("{1: 2}", "第 2 列不是有效的 JSON5：应为一个键，却是 '1'"),
        ("{a: 1 b: 2}", "第 7 列不是有效的 JSON5：应为 ',' 或 '}'，却是 'b'"),
        ("{a: '\\u12'}", '第 7 列不是有效的 JSON5：应为十六进制数字，却是 "\'"'),
        ("[" * 5000, "第 33 列不是有效的 JSON5：嵌套太深"),
    ],
)
def test_each_mistake_of_syntax_can_be_read_in_chinese(text: str, mistake: str) -> None:
    (problem,) = problems(text)
    assert translated("zh", problem.message) == mistake


def test_each_mistake_can_be_read_in_chinese() -> None:
    with pytest.raises(ConfigError) as caught:
        check_config(FIVE_MISTAKES, "config.json5")
    assert translated("zh", str(caught.value)).splitlines() == [
        'config.json5:5: agents.defaults.memorySync.autoExtract.enabled: 应为 true 或 false；现在是 "true"',
        "config.json5:7: agents.defaults.memorySync.autoRecall.minScore: 应为数，0 到 1；现在是 7",
        'config.json5:8: agents.defaults.memorySync.autoRecall.maxResult: 没有这个键；是不是想写 "maxResults"？',
        (
            'config.json5:10: agents.defaults.memorySync.timeZone: 应为 "local" 或 IANA 时区名，如 "Asia/Shanghai"；'
            '现在是 "Asia/Beijing"'
        ),
        (
            "config.json5:14: agents.list[0].memorySync.notify.maxPendingUpdates: "
            "应为整数，大于 0，不超过 1000000000；现在是 0"
        ),
    ]


@pytest.mark.parametrize("text", ["[" * 100_000, section("store: {maxMemoryMdBytes: " + "9" * 5000 + "}")])
def test_an_absurd_document_is_a_plain_mistake(text: str) -> None:
    assert len(problems(text)) == 1


def test_a_long_value_is_not_printed_since_it_may_be_a_secret() -> None:
    secret = "sk-proj-" + "a1" * 30
    with pytest.raises(ConfigFileError) as caught:
        check_config(section(f"timeZone: '{secret}'"), "config.json5")
    assert "got a string of 68 characters" in str(caught.value)
    assert secret not in str(caught.value)


def test_a_secret_in_the_place_of_a_variable_name_is_not_printed() -> None:
    assert value_in_message(("notify", "passwordEnv"), "hunter2") == "a string of 7 characters"


def test_an_override_changes_only_the_keys_that_it_gives() -> None:
    config = check_config(
        """{agents: {
            defaults: {memorySync: {autoRecall: {maxResults: 7, minScore: 1}, timeZone: "Asia/Shanghai"}},
            list: [
              {id: "Work", memorySync: {autoRecall: {minScore: 0.25}, autoExtract: {excludeSessionTypes: []}}},
              {id: "plain"},
            ],
        }}""",
        "config.json5",
    )
    work = config.for_agent("work")
    assert work.auto_recall.max_results == 7
    assert work.auto_recall.min_score == 0.25
    assert work.time_zone == "Asia/Shanghai"
    assert work.auto_extract.exclude_session_types == ()
    assert config.for_agent("WORK") is work
    assert config.for_agent("plain") == config.for_agent("someone else") == config.defaults


def test_a_mistake_in_the_defaults_is_told_once_and_not_for_each_agent() -> None:
    text = (
        "{agents: {defaults: {memorySync: {notify: 3}}, list: [{id: 'a'}, {id: 'b', memorySync: {timeZone: 'UTC'}}]}}"
    )
    (problem,) = problems(text)
    assert problem.path == "agents.defaults.memorySync.notify"


def test_the_shipped_file_equals_the_built_in_defaults() -> None:
    assert check_config(reference_text(), "config.json5") == load_config() == Config()


def test_the_shipped_file_holds_every_key_with_a_comment() -> None:
    shipped = scan(reference_text())
    known = set(known_paths())
    keys = {path for path in shipped.lines if path and isinstance(path[-1], str)}
    assert {dotted(path) for path in keys} == {dotted(path) for path in known}
    frame = {"agents", "agents.defaults", "agents.defaults.memorySync"}
    assert {dotted(path) for path in known if not shipped.comments[path]} == frame


def test_every_key_can_say_what_it_expects() -> None:
    assert all(expected(path) for path in known_paths())
    english = {expected(path) for path in known_paths()}
    assert {each for each in english if re.search("[a-z]{3} ", each) and translated("zh", each) == each} == set()


def test_the_defaults_need_no_pydantic() -> None:
    subprocess.run([sys.executable, "-c", NEVER_IMPORTED_FOR_DEFAULTS], check=True)


def test_a_file_is_read_with_its_byte_order_mark_and_from_any_kind_of_path(tmp_path: Path) -> None:
    path = tmp_path / "配置.json5"
    path.write_bytes("\ufeff{agents: {}} // 好".encode())
    assert load_config(path) == load_config(str(path)) == Config()


def test_a_file_that_cannot_be_read_is_a_config_error_in_words(tmp_path: Path) -> None:
    with pytest.raises(ConfigFileError, match=r"no-such\.json5: there is no such file"):
        load_config(tmp_path / "no-such.json5")
    with pytest.raises(ConfigFileError, match="the file can't be read: Is a directory"):
        load_config(tmp_path)
    latin = tmp_path / "latin.json5"
    latin.write_bytes(b"{\n// caf\xe9\n}")
    with pytest.raises(ConfigFileError, match=r"latin\.json5:2: expected UTF-8, found the byte 0xe9"):
        read_text(latin)


def test_a_time_zone_is_what_astimezone_takes() -> None:
    noon = datetime(2026, 7, 1, 12, tzinfo=UTC)
    assert noon.astimezone(MemorySync(time_zone="Asia/Shanghai").zone()).hour == 20
    assert noon.astimezone(MemorySync().zone()) == noon


def test_the_schema_names_every_key_and_describes_it() -> None:
    schema = config_schema()
    recall = schema["$defs"]["RecallSettings"]["properties"]["minScore"]
    assert recall["default"] == 0.5
    assert recall["description"].startswith("From 0 to 1")
    named = {key for definition in schema["$defs"].values() for key in definition["properties"]}
    assert {str(path[-1]) for path in known_paths()} <= named | {"agents", "serve"}
    assert json.loads(json.dumps(schema)) == schema


def test_the_schema_describes_each_key_in_chinese_too() -> None:
    english, chinese = config_schema(), config_schema("zh")
    told = 0
    for name, definition in english["$defs"].items():
        for key, described in definition["properties"].items():
            if "description" in described:
                assert re.search("[一-鿿]", chinese["$defs"][name]["properties"][key]["description"]), key
                told += 1
    assert told > 80


sections = st.builds(
    MemorySync,
    time_zone=st.sampled_from(["local", "UTC", "Asia/Shanghai"]),
    auto_extract=st.builds(
        ExtractorSettings,
        debounce_seconds=st.floats(0, 1e6),
        max_wait_seconds=st.floats(0, 1e6),
    ),
)


@given(
    st.builds(Config, defaults=sections, agents=st.dictionaries(st.text(string.ascii_lowercase, min_size=1), sections))
)
@pytest.mark.lengthy
def test_shown_settings_load_as_the_same_settings(config: Config) -> None:
    assert check_config(render_config(config), "shown") == config


@given(st.data())
def test_a_mangled_file_loads_or_is_a_config_error(data: st.DataObject) -> None:
    text = reference_text()
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(start + 40, len(text))))
        text = (
            text[:start]
            + data.draw(st.sampled_from(["", text[start:end] * 2, "{", "]", '"', "null,", "\\", "5"]))
            + text[end:]
        )
    with suppress(ConfigFileError):
        check_config(text, "mangled")


@pytest.mark.parametrize(
    ("text", "path", "message"),
    [
        ("tls: {certificate: 'a.pem'}", "serve.tls", "expected both certificate and key"),
        ("agents: {main: {workspace: 'a'}, Main: {workspace: 'b'}}", "serve.agents", "expected each agent once"),
        ("agents: {main: {workspace: ''}}", "serve.agents.main.workspace", "a string that is not empty"),
        (
            "agents: {main: {workspace: 'a', workspaces: 'a'}}",
            "serve.agents.main.workspaces",
            'did you mean "workspace"',
        ),
        ("agents: {main: {}}", "serve.agents.main.workspace", "missing"),
        ("agents: []", "serve.agents", "expected an object, such as"),
        ("prot: 1", "serve.prot", 'did you mean "port"'),
    ],
)
def test_mistakes_in_the_settings_of_the_service_are_named(text: str, path: str, message: str) -> None:
    (problem,) = problems(f"{{serve: {{{text}}}}}")
    assert problem.path == path
    assert message in problem.message


def test_the_settings_of_the_service_come_back_from_what_is_shown() -> None:
    config = check_config("{serve: {agents: {main: {workspace: '/m'}}, hosts: ['memory.lan']}}", "x")
    assert config.serve.agents["main"].workspace == "/m"
    assert check_config(render_config(config), "x") == config


def test_each_provider_of_encoders_is_a_row_of_one_table() -> None:
    said = expected(("agents", "defaults", "memorySync", "autoRecall", "embedder", "provider"))
    for name, provider in _PROVIDERS.items():  # what a provider is made from
        assert json.dumps(name) in said
        assert not provider.load or callable(pkgutil.resolve_name(provider.load))


def test_each_number_has_a_test_that_fails_when_it_has_no_effect() -> None:
    """`benchmarks/keys.py` tries them; here each key has a row, and each row a test."""
    tests = Path(__file__).parents[1]
    lines = (tests / "data/keys.txt").read_text("utf-8").splitlines()
    rows = dict(line.split() for line in lines if not line.startswith("#"))
    keys = {dotted(path): slot(path).type for path in known_paths()}
    numbers = {key.removeprefix("agents.defaults.memorySync.") for key, kind in keys.items() if kind in (int, float)}
    assert rows.keys() == numbers
    for row in rows.values():
        file, _, name = row.partition("::")
        assert f"def {name}(" in (tests.parent / file).read_text("utf-8"), row

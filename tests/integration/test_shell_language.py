"""The shell speaks the language of its locale: help, what commands answer, and what is wrong."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from chinese import english

from gateway_memory.cli.main import main, make_parser
from gateway_memory.cli.options import language_of_shell
from gateway_memory.cli.table import COMMANDS
from gateway_memory.edge.phrases import SHELL_LANGUAGE, columns

HAN = re.compile("[一-鿿]")


@pytest.fixture
def chinese(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")


@pytest.fixture
def in_chinese() -> Iterator[None]:
    before = SHELL_LANGUAGE.set("zh")
    yield
    SHELL_LANGUAGE.reset(before)


@pytest.mark.parametrize(
    ("arguments", "environment", "language"),
    [
        ([], {}, "en"),
        ([], {"LANG": "zh_CN.UTF-8"}, "zh"),
        ([], {"LANG": "zh_TW"}, "zh"),
        ([], {"LANG": "de_DE.UTF-8"}, "en"),
        ([], {"LANG": "en_US.UTF-8", "LC_MESSAGES": "zh_CN.UTF-8"}, "zh"),
        ([], {"LANG": "zh_CN.UTF-8", "LC_ALL": "C.UTF-8"}, "en"),
        ([], {"LANG": "zh_CN.UTF-8", "LC_ALL": ""}, "zh"),
        (["--lang", "zh", "status"], {}, "zh"),
        (["status", "--lang=zh"], {}, "zh"),
        (["status", "--lang", "en"], {"LANG": "zh_CN.UTF-8"}, "en"),
        (["search", "--", "--lang", "zh"], {}, "en"),
    ],
)
def test_the_language_is_that_of_the_locale_unless_it_is_given(
    arguments: list[str], environment: dict[str, str], language: str
) -> None:
    assert language_of_shell(arguments, environment) == language


@pytest.mark.usefixtures("in_chinese")
@pytest.mark.parametrize("name", [command.name for command in COMMANDS])
def test_the_help_of_each_command_and_option_is_chinese(name: str) -> None:
    (command,) = (each for each in COMMANDS if each.name == name)
    assert HAN.search(command.help["zh"])
    told = command.parser().format_help()
    assert told.startswith(f"用法：gateway-memory {name}")
    assert not re.search("usage|show this|options:|positional", told)
    for action in command.parser()._actions:
        assert action.help is None or HAN.search(action.help) or re.fullmatch(r"[\w, 、]+", action.help), action.dest


@pytest.mark.usefixtures("in_chinese")
def test_what_stands_for_a_value_is_chinese_and_the_help_begins_at_one_column() -> None:
    (command,) = (each for each in COMMANDS if each.name == "search")
    told = command.parser().format_help()
    assert not re.search(r"\b(QUERY|FOLDER|FILE|AGENT|NAME|DAY|KEY)\b", told)
    rows = [line for line in told.splitlines() if re.match(r"  --\S+ [\u3400-\u9fff]", line)]
    assert len(rows) > 5
    assert len({columns(re.match(r"  --\S+ \S+ +", line)[0]) for line in rows}) == 1  # type: ignore[index]


@pytest.mark.usefixtures("in_chinese")
def test_the_help_of_the_whole_names_each_command_in_chinese() -> None:
    told = make_parser().format_help()
    assert "聊天网关的长期记忆" in told
    assert all(HAN.search(line) for line in told.splitlines() if re.match(r"    \w", line))


@pytest.mark.usefixtures("chinese")
@pytest.mark.parametrize(
    ("arguments", "mistake"),
    [
        (["doctor", "x"], "gateway-memory doctor：错误：参数 part：没有 'x'（可选："),
        (["nothing"], "没有 'nothing'（可选："),
        (["statsu"], "命令：没有 'statsu'，是不是 'status'？"),
        (["connect"], "请写明连接哪个程序"),
        (["chat", "--nothing"], "不认识的参数：--nothing"),
        (["wiki"], "缺少参数：--output"),
        (["serve", "--port", "x"], "参数 --port：'x' 无效，应为整数"),
        (["serve", "--port"], "参数 --port：后面要写一个值"),
        (["status", "--user", "a", "--room", "b"], "参数 --room：不能与 --user 一起用"),
        (["save-fact", "--content", "x", "--session", "s", "--confidence", "7"], "7：应为 0 到 1 的数"),
        (["read", "--since", "monday"], "'monday' 不是日期"),
    ],
)
def test_a_mistake_in_the_arguments_is_told_in_chinese(
    arguments: list[str], mistake: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert mistake in capsys.readouterr().err


@pytest.mark.usefixtures("chinese")
def test_what_is_wrong_is_told_in_chinese(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", "--workspace", str(tmp_path / "none")]) == 1
    assert capsys.readouterr().err == f"{tmp_path / 'none'}：没有这个文件夹；请用 --workspace 指定记忆所在的文件夹\n"
    file = tmp_path / "config.json5"
    file.write_text("{serve: {port： 1}}", "utf-8")
    assert main(["config", "check", str(file)]) == 1
    assert capsys.readouterr().err.splitlines() == [
        f"{file}:1: 第 14 列不是有效的 JSON5：'：'（全角标点，请改成半角）",
        f"{file}: 后面的还没有读：改好这一处后请再检查一次",
    ]
    file.write_text("{serve: {prot: 1}, agents: {defaults: {memorySync: {store: {schema: 'A'}}}}}", "utf-8")
    assert main(["config", "check", str(file)]) == 1
    assert capsys.readouterr().err.splitlines() == [
        f'{file}:1: agents.defaults.memorySync.store.schema: 应为最多 48 个小写字母、数字和 _，以字母开头；现在是 "A"',
        f'{file}:1: serve.prot: 没有这个键；是不是想写 "port"？',
    ]
    file.write_text("{}", "utf-8")
    assert main(["config", "check", str(file)]) == 0
    assert capsys.readouterr().out == f"{file}：没有错误\n"
    assert main(["config", "check", str(file), "--lang", "en"]) == 0
    assert capsys.readouterr().out == f"{file}: no mistakes\n"


def begin(workspace: Path) -> None:
    """Give a folder a memory, as a person who writes the file has one."""
    (workspace / "MEMORY.md").write_text("# Memory\n", "utf-8")


READING = (
    "status",
    "list",
    "search x",
    "forget k7f3q2a1",
    "export",
    "retry",
    "page",
    "doctor files",
    "doctor episodes",
)


@pytest.mark.parametrize(
    ("language", "told"),
    [
        ("en", "there is no memory here; name its folder with --workspace"),
        ("zh", "这里没有记忆；请用 --workspace 指定所在的文件夹"),
    ],
)
@pytest.mark.parametrize("command", READING)
def test_what_reads_begins_no_memory_in_a_wrong_folder(
    command: str, language: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command.split(), "--workspace", str(tmp_path), "--lang", language]) == 1
    assert told in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_the_doctor_names_a_journal_that_was_set_aside(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    begin(tmp_path)
    assert main(["status", "--workspace", str(tmp_path)]) == 0
    aside = tmp_path / "journal.sqlite.damaged-20260101-000000"
    aside.write_bytes(b"broken")
    capsys.readouterr()
    assert main(["doctor", "episodes", "--workspace", str(tmp_path)]) == 1
    assert aside.name in capsys.readouterr().out


@pytest.mark.usefixtures("chinese")
def test_what_commands_answer_is_chinese_and_json_is_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    begin(tmp_path)
    assert main(["status", "--workspace", str(tmp_path)]) == 0
    told = capsys.readouterr().out
    assert HAN.search(told.splitlines()[0])
    assert main(["status", "--workspace", str(tmp_path), "--json"]) == 0
    assert not HAN.search(json.dumps(json.loads(capsys.readouterr().out), ensure_ascii=False))
    assert main(["forget", "k7f3q2a1", "--workspace", str(tmp_path)]) == 1
    assert "没有编号或内容为“k7f3q2a1”的记忆" in capsys.readouterr().err
    assert main(["status", "--workspace", str(tmp_path), "--lang=en"]) == 0
    assert not HAN.search(capsys.readouterr().out)
    assert not HAN.search("".join(path.read_text("utf-8") for path in (tmp_path / "logs").glob("*")))


@pytest.mark.usefixtures("chinese")
def test_the_doctor_speaks_chinese(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    begin(tmp_path)
    assert main(["status", "--workspace", str(tmp_path)]) == 0
    capsys.readouterr()
    for part in ("files", "journal", "sessions", "episodes"):
        assert main(["doctor", part, "--workspace", str(tmp_path)]) == 0
        assert all(HAN.search(line) for line in capsys.readouterr().out.splitlines())
    file = tmp_path / "config.json5"
    file.write_text("{agents: {defaults: {memorySync: {autoExtract: {model: 'rules'}}}}}", "utf-8")
    assert main(["doctor", "model", "--workspace", str(tmp_path), "--config", str(file)]) == 1
    assert capsys.readouterr().out.startswith("✗ 没有配置模型")


@pytest.mark.usefixtures("chinese")
def test_the_chat_begins_in_chinese(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = iter(["/help", "/nothing", None])
    monkeypatch.setattr("gateway_memory.cli.chat._read", lambda _: next(lines))
    assert main(["chat", "--workspace", str(tmp_path)]) == 0
    told = capsys.readouterr().out
    assert told.startswith("没接模型，所以会打印本该交给模型的上下文。")
    assert "切换到另一个会话" in told
    assert "没有 /nothing 这个命令。" in told


@pytest.mark.usefixtures("chinese")
def test_the_config_that_is_shown_has_its_comments_in_chinese(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "show"]) == 0
    assert capsys.readouterr().out == (Path(__file__).parents[2] / "config.zh.json5").read_text("utf-8")


TURNS = ("记住：我爱人叫王芳", "我喜欢喝绿茶")
WALK = """
replay {d}/none.jsonl --workspace {w}
replay {d}/bad.jsonl --workspace {w}
replay {d}/t.jsonl --workspace {w} --turns {d}/turns.jsonl
status --workspace {w}
status --workspace {w} --user wang
list --workspace {w}
search 绿茶 --workspace {w}
search 火星 --workspace {w}
review --workspace {w}
undo --workspace {w}
forget k7f3q2a1 --workspace {w}
export --workspace {w} --format markdown
export --workspace {w} --format markdown --output {d}/md
export --workspace {w} --format markdown --output {d}/md
export --workspace {w} --output {d}/e.jsonl
import auto {d}/e.jsonl --workspace {d}/second
import auto {d}/e.jsonl --workspace {d}/second --dry-run
import jsonl {d}/bad.jsonl --workspace {d}/second
import auto {d}/none --workspace {d}/second
import claude {d}/md --workspace {d}/second
read --workspace {d}/second
retry --workspace {w}
distill --workspace {w}
wiki --workspace {w} --output {d}/wiki
wiki --workspace {w} --output {d}
checkout {d}/out --workspace {w} --scope owner
checkout {d}/out --workspace {w} --scope owner
commit {d}/out --workspace {w}
commit {d}/md --workspace {w}
edit MEMORY.md --workspace {w}
edit other --workspace {w}
token add --workspace {w} --user wang
token list --workspace {w}
token revoke nobody --workspace {w}
page --workspace {w} --url http://127.0.0.1:1
serve --workspace {w} --host 0.0.0.0
hooks status --project {d} --workspace {w}
hooks undo cursor --project {d}
hooks status --project {d}/none
connect openclaw --workspace {w}
connect hermes --workspace {w} --file {d}/host/config.yaml
connect nanobot --workspace {w} --file {d}/host/config.json --dry-run
connect proxy --workspace {w} --file {d}/p.json5
connect proxy --workspace {w} --file {d}/p.json5 --upstream http://127.0.0.1:1/v1
disconnect hermes --file {d}/host/config.yaml
db check --config {d}/postgres.json5
move --workspace {w} --config {d}/files.json5 --to-config {d}/files.json5
move --workspace {w} --config {d}/files.json5 --to-config {d}/postgres.json5
doctor files --workspace {w}
config check {d}/none
chat --workspace {w} --model other
delete --workspace {w} --scope user:nobody
delete --workspace {w} --scope owner
delete --workspace {w} --scope owner --yes
"""
"""Commands that end by themselves within moments, with what usually goes wrong."""


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ("没有保存，others have changed it", {"others", "have", "changed", "it"}),
        ("D/x/MEMORY.md：已保存，见 `token list` 和 --workspace，用 PostgreSQL", set()),
        ("nothing was changed", {"nothing", "was", "changed"}),
    ],
)
def test_english_is_noticed(told: str, words: set[str]) -> None:
    assert english(told) == words


@pytest.mark.usefixtures("chinese")
def test_no_command_answers_in_english(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = tmp_path / "w"
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("EDITOR", "true")
    monkeypatch.delenv("GATEWAY_MEMORY_DSN", raising=False)
    for folder in (workspace, tmp_path / "host"):
        folder.mkdir()
    files = {
        "t.jsonl": "".join(json.dumps({"session": "s", "user": each, "reply": "好"}) + "\n" for each in TURNS),
        "bad.jsonl": '{"session": "s"}\nx\n',
        "host/config.yaml": "memory:\n",
        "host/config.json": "{}",
        "files.json5": "{}",
        "postgres.json5": "{agents: {defaults: {memorySync: {store: {backend: 'postgres'}}}}}",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, "utf-8")
    left: dict[str, set[str]] = {}
    ids: set[str] = set()  # of memories, some of which are letters alone
    for line in WALK.strip().splitlines():
        arguments = line.format(d=tmp_path, w=workspace).split()
        try:
            main(arguments)
        except SystemExit as ended:
            pytest.fail(f"{line} was not understood: {ended}")
        told = "".join(capfd.readouterr())
        ids |= {
            each for file in workspace.rglob("*.md") for each in re.findall("gm:([a-z0-9]+)", file.read_text("utf-8"))
        }
        if words := english(told.replace(str(tmp_path), "/")) - ids - {*arguments}:
            left[line] = words
    assert not left

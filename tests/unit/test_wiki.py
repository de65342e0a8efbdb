"""A wiki of memories: its links, its files' names, its text, and the folder that it replaces."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hostile import HOSTILE

from gateway_memory.browsing.sections import line_of, sections_of
from gateway_memory.browsing.wiki import write_wiki
from gateway_memory.browsing.wiki_pages import MANIFEST, escaped, file_names, pages_of, without_secrets
from gateway_memory.errors import UsageError
from gateway_memory.store.memory_record import MemoryRecord

NOW = datetime(2026, 11, 27, 12, tzinfo=UTC)
LINK = re.compile(r"(?<!\\)\[\[([^\[\]|#^]+)(?:#\^([a-z0-9]+))?\|([^\[\]|]+)\]\]")


def day_of(at: float) -> object:
    return datetime.fromtimestamp(at, UTC).date()


def pages(*texts: str) -> dict[str, str]:
    memories = [
        MemoryRecord(id=f"m{number:03}", text=text, file="f", at=NOW.timestamp() - 86400 * 9 * number, category="fact")
        for number, text in enumerate(texts)
    ]
    sections = sections_of(memories, today=NOW.date(), day_of=day_of)  # type: ignore[arg-type]
    return pages_of(sections, [line_of(each) for each in memories], language=None, day_of=day_of)  # type: ignore[arg-type]


TOLD = {
    "en": ("My name is Sam", "My sister Marta lives in Lisbon", "Marta and I fly to Lisbon on 9 December 2026",
           "I prefer tea", "We decided to ship Wrenbox on a Pi", "My cat Ana/Bob sleeps"),
    "zh": ("我叫林晓", "我妹妹小雨在成都当护士", "小雨12月20日来看我", "用户喜欢喝茶", "项目“苗圃日记”用 Flutter 做"),
}  # fmt: skip


@pytest.mark.parametrize("language", TOLD)
def test_each_link_leads_to_a_page_or_to_a_line_of_one(language: str) -> None:
    made = pages(*TOLD[language])
    links = [(name, link) for name, text in made.items() for link in LINK.findall(text)]
    assert len(links) > 10
    for name, (target, anchor, _) in links:
        assert f"{target}.md" in made, (name, target)
        if anchor:
            assert f" ^{anchor}\n" in made[f"{target}.md"]
    assert len(links) == sum(text.count("[[") for text in made.values())


def test_the_words_are_of_the_language_of_the_memories() -> None:
    assert "Names/Marta.md" in pages(*TOLD["en"])
    assert "# Sam\n\n## Coming up\n" in pages(*TOLD["en"])["What I know.md"]
    assert "名字/小雨.md" in pages(*TOLD["zh"])
    assert "# 林晓\n\n## 接下来\n" in pages(*TOLD["zh"])["关于我.md"]


@pytest.mark.parametrize(
    "text",
    [
        "# a heading", "## two", "- a list", "1. a list", "> a quotation", "[[Names/Ana]]", "![[secret]]",
        "[a](http://b.example)", "see http://b.example/x and www.b.example", "mail a@b.example",
        "<script>alert(1)</script>", "<img src=x>", "#tag", "`code`", "```", "~~~", "---", "===", "***", "$x$", ": a",
        "%%hidden%%", "==marked==", "&#91;&#91;x]]", "a ^anchor", "| a | b |", "a\n# b\n\n- c", "a\u2028# b", "\u202ea",
        "{{template}}", "+ a", "[ ] task", "1) a", "https:// x", *HOSTILE,
    ],
)  # fmt: skip
def test_the_text_of_a_memory_makes_nothing_but_text(text: str) -> None:
    line = escaped(text)
    assert "\n" not in line
    assert "\u202e" not in line
    bare = re.sub(r"\\.", "", line)
    assert not re.search(r"[\[\]<>`#|$%^*_~=@&{}!]", bare), line
    assert not re.match(r"[-+](\s|$)|\d+[.)]|:\s", bare), line
    assert "://" not in bare
    assert "www." not in bare
    assert all(each.startswith(("- ", "#", "\n")) or not each for each in f"- {line}\n".splitlines())


def test_names_of_files_are_taken_by_each_system_and_are_never_the_same() -> None:
    names = [
        "Ana", "ana", "ANA", "CON", "con.txt", "nul", "COM1", "a/b", "a\\b", "..", ".", "", "  ", "a:b", 'a*?"<>|b',
        "x#^[[y]]", "é", "e\u0301", "名" * 90, "名" * 91, "a\u0000b", "a\nb", "end.", "end ", "\u202egnp.exe",
        ".hidden", "%2e%2e", *HOSTILE,
    ]  # fmt: skip
    files = file_names(names)
    assert files.keys() == set(names)
    for name in files.values():
        assert re.fullmatch(r'[^<>:"/\\|?*#^\[\]%\x00-\x1f\u202e]+', name), name
        assert len(f"{name}.md".encode()) <= 100
        assert name.strip(". ") == name
        assert name.split(".")[0].casefold() not in {"con", "nul", "com1"}
    assert len({name.casefold() for name in files.values()}) == len(files)


def test_no_secret_and_nothing_private_leaves() -> None:
    assert "hunter2" not in without_secrets("the password is hunter2-hunter2, and the owl is called Hedwig")
    assert without_secrets("<private>my salary is 4711</private>") == ""
    assert without_secrets("I like tea") == "I like tea"


def test_a_second_run_replaces_the_pages_of_the_first_and_nothing_else(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "vault"
    assert write_wiki(folder, {"Portrait.md": "1", "Names/Ana.md": "2", "Names/Bob.md": "3"}) == 3
    (folder / ".obsidian").mkdir()
    (folder / "Names" / "mine.md").write_text("mine")
    write_wiki(folder, {"Portrait.md": "4", "Names/Ana.md": "5"})
    found = {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*.md")}
    assert found == {"Portrait.md": "4", "Names/Ana.md": "5", "Names/mine.md": "mine"}
    assert (folder / ".obsidian").is_dir()
    assert folder.stat().st_mode & 0o077 == 0
    (folder / "Names" / "mine.md").unlink()
    write_wiki(folder, {})
    assert [path.name for path in folder.iterdir() if path.name != ".obsidian"] == [MANIFEST]


def test_a_folder_that_is_no_wiki_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("mine")
    with pytest.raises(UsageError, match="expected an empty folder"):
        write_wiki(tmp_path, {"Portrait.md": "1"})
    assert [path.name for path in tmp_path.iterdir()] == ["notes.md"]


def test_a_file_of_somebody_is_never_replaced(tmp_path: Path) -> None:
    write_wiki(tmp_path, {"Portrait.md": "1"})
    (tmp_path / "Names").mkdir()
    (tmp_path / "Names" / "Ana.md").write_text("mine")
    with pytest.raises(UsageError, match=r"Ana\.md"):
        write_wiki(tmp_path, {"Portrait.md": "2", "Names/Ana.md": "3"})
    assert (tmp_path / "Names" / "Ana.md").read_text() == "mine"
    assert (tmp_path / "Portrait.md").read_text() == "1"


def test_no_page_is_written_or_removed_through_a_link(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "Ana.md").write_text("mine")
    folder = tmp_path / "vault"
    write_wiki(folder, {"Names/Ana.md": "1"})
    (folder / "Names" / "Ana.md").unlink()
    (folder / "Names").rmdir()
    (folder / "Names").symlink_to(other)
    with pytest.raises(UsageError):
        write_wiki(folder, {"Names/Ana.md": "2"})
    write_wiki(folder, {})
    assert (other / "Ana.md").read_text() == "mine"


@pytest.mark.parametrize(
    "names", [["../x.md"], ["/etc/x.md"], ["a/b/c.md"], ["x.txt"], ["..\\x.md"], "x", [3], {"a": 1}]
)
def test_a_list_that_names_other_files_is_refused(tmp_path: Path, names: object) -> None:
    folder = tmp_path / "vault"
    folder.mkdir()
    (tmp_path / "x.md").write_text("mine")
    (folder / MANIFEST).write_text(json.dumps({"pages": names}))
    with pytest.raises(UsageError):
        write_wiki(folder, {"Portrait.md": "1"})
    assert (tmp_path / "x.md").read_text() == "mine"

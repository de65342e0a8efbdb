"""The docs agree with the code: tables made from it are up to date, links and module names exist, snippets run."""

import re
import subprocess
import sys
from collections import Counter
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from typing import Final

import pyjson5
import pytest
from chinese import english_in_prose

from gateway_memory.config.load import check_config
from gateway_memory.config.scan import scan
from gateway_memory.config.settings import Config
from gateway_memory.edge.config_reference import meanings, named, reference_text
from gateway_memory.edge.phrases import texts

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
READMES = ["README.md", "README.zh.md"]
TWINS = sorted((ROOT / "docs").rglob("*.zh.md"))
CHINESE = [page for page in PAGES if page.name.endswith(".zh.md")]
PACKAGES = ("gateway_memory", "extractor", "recall", "notifier")
UNITS: Final = {"万": 10**4, "亿": 10**8, "million": 10**6, "billion": 10**9}


@pytest.mark.lengthy
def test_the_tables_are_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "docs" / "generate.py"), "--check"], check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"


def test_every_key_of_the_config_has_a_chinese_meaning() -> None:
    english, chinese = meanings("en"), meanings("zh")
    assert chinese.keys() == english.keys()
    assert all(re.search("[一-鿿]", meaning) for meaning in chinese.values())
    assert texts("config_meanings_zh").keys() == {"config.json5", *map(named, chinese)}


def test_the_chinese_config_is_the_english_one_with_its_comments_in_chinese() -> None:
    text = (ROOT / "config.zh.json5").read_text("utf-8")
    assert check_config(text, "config.zh.json5") == Config()
    of_english, of_chinese = (
        [line for line in each.splitlines() if not re.match(" *//", line)] for each in (reference_text(), text)
    )
    assert of_chinese == of_english
    shipped = scan(text)
    for path, meaning in meanings("zh").items():
        assert re.sub(r"\s", "", shipped.comments[path]) == re.sub(r"\s", "", meaning)
    assert all(len(line) <= 120 for line in text.splitlines())


def test_every_call_type_and_error_has_a_chinese_meaning() -> None:
    page = (ROOT / "docs" / "reference.md").read_text("utf-8")
    names = set(re.findall(r"^(?:#{3,4} |\| )`(\w+)`", page, re.MULTILINE))
    meanings = pyjson5.decode((ROOT / "docs" / "reference.zh.json5").read_text("utf-8"))
    assert meanings.keys() == names
    assert all(meanings.values())


def exists(path: Path) -> bool:
    """Tell whether a file of the project exists; one of our packages may come from an installed wheel."""
    package, *rest = path.parts
    if package in PACKAGES:
        return Path(str(import_module(package).__file__)).parent.joinpath(*rest).exists()
    return (ROOT / path).exists()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_and_named_files_exist(page: Path) -> None:
    text = page.read_text("utf-8")
    links = re.findall(r"\]\((?!https?:)([^)#\s]+)", text)
    named = re.findall(rf"`((?:{'|'.join(PACKAGES)}|tests|benchmarks|docs)/[\w./-]*)`", text)
    targets = [(page.parent / link).resolve().relative_to(ROOT) for link in links]
    assert [str(path) for path in (*targets, *map(Path, named)) if not exists(path)] == []


def anchors(page: Path) -> set[str]:
    """Return the names by which a link reaches the headings of a page."""
    text = re.sub(r"^ *```.*?^ *```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_parts_that_links_name_exist(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#\s]*)#([^)\s]+)\)", page.read_text("utf-8"))
    assert [(file, part) for file, part in links if part not in anchors(page.parent / file if file else page)] == []


@pytest.mark.parametrize("name", READMES)
def test_the_readme_is_short(name: str) -> None:
    assert len((ROOT / name).read_text("utf-8").splitlines()) <= 110


def prose(page: Path) -> str:
    """Return the text of a page without its fenced blocks and what is made from the code."""
    made = r"^ *```.*?^ *```|<!-- generated:.*?<!-- end -->"
    return re.sub(made, "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)


def headings(page: Path) -> list[int]:
    return [len(each) for each in re.findall(r"^(#+) ", prose(page), re.MULTILINE)]


def tables(page: Path) -> list[int]:
    """Return how many rows each table of a page has."""
    return [each.count("\n") for each in re.findall(r"(?:^\|.*\n)+", prose(page), re.MULTILINE)]


def blocks(page: Path) -> list[str]:
    """Return the languages of the fenced blocks of a page."""
    return re.findall(r"^ *```(\w+)", page.read_text("utf-8"), re.MULTILINE)


def fenced(page: Path) -> list[str]:
    """Return the fenced blocks of a page."""
    return re.findall(r"^ *```.*?^ *```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)


def figures(page: Path) -> Counter[str]:
    """Count the numbers of a page by their value, whatever they are written with: 150 万 is 1.5 million."""
    text = re.sub(r"\]\([^)]*\)|`[^`]*`", "", prose(page))
    numbers = re.findall(rf"(\.?\d+(?:[.,]\d+)*)(?: ?({'|'.join(UNITS)}))?", text)
    return Counter(value(number.replace(",", ""), unit) for number, unit in numbers)


def value(number: str, unit: str) -> str:
    return number if number.count(".") > 1 else str((Decimal(number) * UNITS.get(unit, 1)).normalize())


@pytest.mark.parametrize("twin", CHINESE, ids=lambda page: page.name)
def test_a_chinese_page_has_the_parts_of_its_english_one(twin: Path) -> None:
    page = twin.with_name(twin.name.replace(".zh.md", ".md"))
    assert headings(twin) == headings(page)
    assert f"]({twin.name})" in page.read_text("utf-8")
    assert f"[English]({page.name})" in twin.read_text("utf-8")


@pytest.mark.parametrize("twin", [*TWINS, ROOT / "CONTRIBUTING.zh.md"], ids=lambda page: page.name)
def test_a_chinese_page_has_the_tables_the_blocks_and_the_figures_of_its_english_one(twin: Path) -> None:
    page = twin.with_name(twin.name.replace(".zh.md", ".md"))
    assert tables(twin) == tables(page)
    assert blocks(twin) == blocks(page)
    assert figures(twin) == figures(page)


@pytest.mark.parametrize("twin", CHINESE, ids=lambda page: page.name)
def test_what_the_shell_prints_is_chinese_on_a_chinese_page(twin: Path) -> None:
    """Our shell speaks the language of its reader, so the English lines that it prints stand on English pages alone."""
    forms = {line for each in texts("doctor").values() for line in [each["en"]] if "{" not in line and " " in line}
    printed = re.findall(r"^ *[✓✗] (.*)$", "".join(fenced(twin)), re.MULTILINE)
    assert [line for line in printed if not re.search("[一-鿿]", line)] == []
    assert [form for form in forms if form in twin.read_text("utf-8")] == []


@pytest.mark.parametrize("twin", CHINESE, ids=lambda page: page.name)
def test_a_chinese_page_links_to_chinese_pages(twin: Path) -> None:
    links = {twin.parent / link for link in re.findall(r"\]\((?!https?:)([^)#\s]+\.md)", twin.read_text("utf-8"))}
    own = twin.with_name(twin.name.replace(".zh.md", ".md"))  # for what it alone has
    assert [link.name for link in sorted(links - {own}) if link.with_name(f"{link.stem}.zh.md").exists()] == []


@pytest.mark.parametrize("twin", [*CHINESE, ROOT / "CONTRIBUTING.zh.md"], ids=lambda page: page.name)
def test_a_chinese_page_has_no_english_word_that_the_glossary_has_in_chinese(twin: Path) -> None:
    assert english_in_prose(twin.read_text("utf-8")) == set()


@pytest.mark.parametrize(
    ("prose", "words"),
    [
        ("每个 session 都有开场白。", {"session"}),
        ("每个会话（session）都有 `session.opening`，见 [session.md](session.md)。", set()),
        ("咖啡 recall", {"recall"}),
    ],
)
def test_english_in_prose_is_noticed(prose: str, words: set[str]) -> None:
    assert english_in_prose(prose) == words


@pytest.mark.parametrize("twin", [*CHINESE, ROOT / "CONTRIBUTING.zh.md"], ids=lambda page: page.name)
def test_a_link_into_english_is_called_so(twin: Path) -> None:
    for line in twin.read_text("utf-8").splitlines():
        pages = re.findall(r"\]\((?!https?:)([^)#\s]+(?<!\.zh)\.(?:md|json5))", line)
        if [page for page in pages if "glossary" not in page and not page.endswith(".zh.json5")]:
            assert re.search("英文|\\[English\\]", line), line


def test_chinese_texts_use_the_words_of_the_glossary() -> None:
    """A 频道 is a place within a platform, as Discord has them; the platform itself is a 渠道."""
    other = re.compile(
        r"词元|会话开头|开场内容|频道(?!或话题|和房间)|过目|代理人|(?<=[一-鿿] )(?:hooks?|agents?)(?= ?[一-鿿])"
    )
    texts = [*CHINESE, ROOT / "config.zh.json5", *(ROOT / "gateway_memory" / "edge" / "texts").glob("*.json")]
    found = {path.name: other.findall(path.read_text("utf-8")) for path in texts}
    assert {name: words for name, words in found.items() if words} == {}


@pytest.mark.parametrize("name", READMES)
def test_the_readme_names_every_page_in_its_language(name: str) -> None:
    linked = set(re.findall(r"\]\((docs/[^)#]+\.md)", (ROOT / name).read_text("utf-8")))
    twins = {str(each.relative_to(ROOT)) for each in TWINS}
    pages = {str(each.relative_to(ROOT)) for each in (ROOT / "docs").rglob("*.md")} - twins
    translated = {twin.replace(".zh.md", ".md") for twin in twins}
    assert linked == (pages - translated | twins if name == "README.zh.md" else pages)


def test_no_page_and_no_message_installs_by_a_name_that_a_stranger_could_take() -> None:
    folders = (ROOT / name for name in ("deploy", "integrations", *PACKAGES))
    told = [*PAGES, *(path for folder in folders for path in folder.rglob("*"))]
    kinds = {".md", ".py", ".js", ".json", ".service", ""}
    texts = {path: path.read_text("utf-8") for path in told if path.suffix in kinds and path.is_file()}
    named = re.compile(r"(?:\binstall (?:-\S+ )*|\buvx |\buv tool run |\bpipx run )['\"]?gateway[-_]memory\b(?!-)")
    assert [str(path.relative_to(ROOT)) for path, text in texts.items() if named.search(text)] == []


def test_the_tests_that_the_docs_name_exist() -> None:
    tests = {path.name for path in (ROOT / "tests").rglob("test_*.py")}
    for page in PAGES:
        assert set(re.findall(r"`(test_\w+\.py)`", page.read_text("utf-8"))) <= tests, page.name

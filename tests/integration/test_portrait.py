"""The portrait as the first page, the page of a name, and the wiki that a command writes."""

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from urllib.parse import quote

import httpx2
import pytest
from hostile import HOSTILE
from served import OWNER, Served, facts, service, written

from gateway_memory.cli.main import main

pytestmark = pytest.mark.xdist_group("service")

ZOE = facts("7")
SAID = (
    "My name is Sam and I live in Leith.",
    "My sister Marta lives in Lisbon.",
    "Remember that Marta visits on 9 December 2099.",
    "I prefer short answers.",
    "From now on answer in British spelling.",
    "I live in Porto.",
    "I moved to Ghent, I no longer live in Porto.",
    "我妹妹小雨在成都当护士。",
)


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("portrait")
    return {"main": folder / "main", "new": folder / "new"}


@pytest.fixture(scope="module")
def served(places: dict[str, Path]) -> Iterator[Served]:
    agents = {name: {"workspace": str(place)} for name, place in places.items()}
    config = written(places["main"].parent, agents=agents, port=0)
    with service(config, workspaces=places) as running:
        for number, text in enumerate(SAID):
            say(running, {**OWNER, "key": f"{OWNER['key']}:{number}"}, text)
        say(running, ZOE, "My brother Felix lives in Oslo.")
        say(running, facts("9"), "Remember that the owner lends me the boat until May.")
        yield running
        assert "Traceback" not in running.log.read_text("utf-8")


def say(served: Served, speaker: dict[str, str], text: str) -> None:
    served.answer("before_reply", {"speaker": speaker, "message": text})
    number = re.sub(r"\W", "", text)[:50]
    served.answer("after_reply", {"id": number, "speaker": speaker, "user": text, "reply": "OK, noted."})
    served.answer("flush", {})


@pytest.fixture
def browser(served: Served) -> Iterator[httpx2.Client]:
    yield from signed_in(served, "main")


def signed_in(served: Served, agent: str) -> Iterator[httpx2.Client]:
    with served.client(served.tokens[agent]) as host, served.client("", follow_redirects=True) as client:
        assert str(client.get(host.post("/page/link").json()["path"]).url).endswith("/"), (
            "signing in leads to the portrait"
        )
        yield client


def section(page: str, name: str) -> str:
    """Return the box of a page that a heading begins, "" without it."""
    found = re.search(rf'<section class="card" aria-labelledby="{name}">(.*?)</section>', page, re.DOTALL)
    return unescape(found[1]) if found else ""


def test_each_box_has_its_memories(browser: httpx2.Client) -> None:
    page = browser.get("/").text
    assert "<h1><bdi>Sam</bdi></h1>" in page
    assert "Marta visits on 9 December" in section(page, "ahead")
    assert "9 December 2099" in section(page, "ahead")
    people = section(page, "people-around")
    assert 'href="/about/Marta"' in people
    assert "sister" in people
    assert f'href="/about/{quote("小雨")}"' in people
    assert "short answers" in section(page, "wishes")
    assert "British spelling" in section(page, "wishes")
    changed = section(page, "changed-lately")
    assert re.search(r"<del>.*I live in Porto.*</del>.*moved to Ghent", changed, re.DOTALL)
    assert "1 memory waits for your yes" in page
    assert 'href="/review"' in page
    assert "Felix" not in page, "it is somebody else's"


def test_the_source_of_each_line_is_one_click_away(browser: httpx2.Client) -> None:
    addresses = set(re.findall(r'href="(/memories/[^"]+)"', browser.get("/").text))
    assert len(addresses) >= 6
    for address in addresses:
        assert browser.get(address).status_code == 200
    told = next(each for each in addresses if "short answers" in browser.get(each).text)
    assert 'id="turn-' in browser.get(told).text, "the exchange that it is from"


def test_the_page_of_a_name_tells_what_names_it_and_who_else_occurs(browser: httpx2.Client) -> None:
    page = browser.get("/about/Marta").text
    listed = section(page, "facts")
    assert listed.index("Marta visits on") < listed.index("Marta lives in Lisbon"), "the newest first"
    assert 'href="/about/Lisbon"' in section(page, "others")
    assert "sister" in page
    assert "2 memories" in page
    assert "成都" in browser.get(f"/about/{quote('小雨')}").text


@pytest.mark.parametrize("name", ["Felix", "Nobody", "lives", "a", "%00", "x" * 3000, *map(quote, HOSTILE)])
def test_a_name_that_no_memory_tells_is_not_found(browser: httpx2.Client, name: str) -> None:
    answer = browser.get(f"/about/{name}")
    assert answer.status_code == 404
    assert "<script>alert" not in answer.text


def test_each_scope_has_its_own_portrait(browser: httpx2.Client) -> None:
    of = {"of": next(each for each in re.findall(r"of=([^\"&]+)", browser.get("/people").text) if each.endswith("7"))}
    of["of"] = of["of"].replace("%3A", ":")
    page = browser.get("/", params=of).text
    assert "Felix" in page
    assert "Marta" not in page
    assert browser.get("/about/Felix", params=of).status_code == 200
    assert browser.get("/about/Marta", params=of).status_code == 404
    assert browser.get("/", params={"of": "user:nobody"}).status_code == 404


def test_without_memories_the_page_says_what_to_do(served: Served) -> None:
    for client in signed_in(served, "new"):
        assert "Tell your assistant something about yourself" in client.get("/").text
        assert "在聊天里告诉助手" in client.get("/", headers={"Accept-Language": "zh"}).text


def test_a_chinese_page_has_no_english_word_of_ours(browser: httpx2.Client) -> None:
    page = browser.get("/", headers={"Accept-Language": "zh"}).text
    for word in ("since", "memories", "People", "Coming", "exchange", "yes"):
        assert word not in re.sub(r"<[^>]+>", " ", page)


def test_today_has_moved_and_each_page_leads_to_both(browser: httpx2.Client) -> None:
    page = browser.get("/today").text
    assert "What changed today" in page
    assert 'href="/"' in page
    assert 'href="/today"' in browser.get("/").text


# The wiki


def test_the_wiki_has_what_stands_and_nothing_of_what_was_forgotten(
    served: Served, places: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    workspace, folder = str(places["main"]), tmp_path / "vault"

    def wiki(*whose: str) -> dict[str, str]:
        assert main(["wiki", "--workspace", workspace, "--output", str(folder), *whose]) == 0
        return {str(path.relative_to(folder)): path.read_text("utf-8") for path in folder.rglob("*.md")}

    pages = wiki()
    assert "[[Names/Lisbon|Lisbon]]" in pages["Names/Marta.md"]
    assert "Names/小雨.md" in pages
    assert "Felix" not in "".join(pages.values()), "it is somebody else's"
    for page in pages.values():
        for target in re.findall(r"\[\[([^\]|#]+)", page):
            assert f"{target}.md" in pages
    told = [
        identity for text in pages.values() for identity in re.findall(r"Marta.* \^([a-z2-7]{8})$", text, re.MULTILINE)
    ]
    assert len(told) == 2
    for identity in told:
        assert main(["forget", "--workspace", workspace, identity]) == 0
    again = wiki()
    assert "Marta" not in "".join([*again, *again.values()])
    assert "Names/小雨.md" in again
    theirs = wiki("--user", "telegram::7")
    assert "Names/Felix.md" in theirs
    assert "小雨" not in "".join(theirs.values())
    assert list(wiki("--user", "telegram::none")) == ["What I know.md"]
    assert "1 page written" in capsys.readouterr().err
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.md").write_text("mine")
    assert main(["wiki", "--workspace", workspace, "--output", str(tmp_path / "other")]) == 1
    assert [path.name for path in (tmp_path / "other").iterdir()] == ["mine.md"]

"""A message is tried on the page, without script, and the least scores are tuned and saved there."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx2
import pyjson5
import pytest
from hostile import HOSTILE
from patience import seconds
from served import OWNER, Served, facts, service, written

from gateway_memory.cli.main import main
from gateway_memory.hooks.state import settings_of
from gateway_memory.store.disk.workspace import own_config

pytestmark = pytest.mark.xdist_group("service")

ZOE = facts("7")
WORDS_ALONE: Mapping[str, Any] = {"embedder": {"provider": "none"}}
ASKED = {"en": "Where does my sister Nora live?", "zh": "小雨什么时候学钢琴？"}
LATIN = re.compile(r"[A-Za-z]{3,}")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("trial")


@pytest.fixture(scope="module")
def served(folder: Path) -> Iterator[Served]:
    places = {"main": folder / "main", "work": folder / "work"}
    agents = {name: {"workspace": str(place)} for name, place in places.items()}
    config = written(folder, agents=agents, port=0, memory={"opening": {"enabled": False}})
    with service(config, workspaces=places) as running:
        say(running, OWNER, "Remember that my sister Nora lives in Leeds.")
        say(running, OWNER, "请记住：我的女儿小雨每周三下午学钢琴。")
        (folder / "main" / "memory").mkdir(exist_ok=True)
        (folder / "main" / "memory" / "2026-11-20.md").write_text("- I run along the river before breakfast\n", "utf-8")
        say(running, ZOE, "Remember that my sister Nora lives in York.")
        yield running
        log = running.log.read_text("utf-8")
        assert "Traceback" not in log
        assert "Leeds" not in log


@pytest.fixture
def config(served: Served, folder: Path) -> Iterator[Path]:
    """Yield the config in force. Afterwards, the defaults are in force again."""
    path = folder / "config.json5"
    before = path.read_bytes()
    yield path
    path.unlink()
    path.write_bytes(before)
    with signed_in(served) as browser:
        for field in ("least", "quoted"):
            tune(browser, **{field: "0.49"})
            tune(browser, **{field: "0.5"})
    path.write_bytes(before)


def say(served: Served, speaker: Mapping[str, str], text: str) -> None:
    body = {"id": f"{speaker['key']} {text}", "speaker": speaker, "user": text, "reply": "OK, noted."}
    served.answer("after_reply", body)
    served.answer("flush", {})


@contextmanager
def signed_in(served: Served, language: str = "en") -> Iterator[httpx2.Client]:
    """Yield a browser that has opened a link."""
    with served.client() as host, served.client("", follow_redirects=True) as browser:
        browser.headers["Accept-Language"] = language
        assert browser.get(host.post("/page/link").json()["path"]).status_code == 200
        yield browser


@pytest.fixture
def browser(served: Served) -> Iterator[httpx2.Client]:
    with signed_in(served) as client:
        yield client


def tried(browser: httpx2.Client, message: str, **values: str) -> str:
    answer = browser.get(f"/try?{urlencode({'q': message, **values})}")
    assert answer.status_code == 200
    return answer.text


def given(page: str) -> list[str]:
    return [unescape(each) for each in re.findall(r'<pre class="given"[^>]*>(.*?)</pre>', page, re.DOTALL)]


def field_of(page: str, name: str) -> str:
    found = re.search(rf'name="{name}" value="([^"]*)"', page)
    assert found, name
    return unescape(found[1])


def tune(browser: httpx2.Client, *, was: str = "", **values: str) -> httpx2.Response:
    """Move the sliders, and save."""
    page = tried(browser, ASKED["en"], **values)
    data = {"form_token": field_of(page, "form_token"), "back": "/try?q=back", **values}
    return browser.post("/try", data={**data, "was": was or field_of(page, "was")})


def scores(path: Path) -> dict[str, Any]:
    recall: dict[str, Any] = pyjson5.decode(path.read_text("utf-8"))["agents"]["defaults"]["memorySync"]["autoRecall"]
    return recall


def context_of(served: Served, key: str, message: str) -> str:
    speaker = {**OWNER, "key": f"agent:main:{key}"}
    text: str = served.answer("before_reply", {"speaker": speaker, "message": message})["context"]
    return text


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_page_shows_what_a_reply_is_given(served: Served, language: str) -> None:
    with signed_in(served, language) as browser:
        for path in ("/", "/today", "/replies"):
            box = browser.get(path).text
            assert 'action="/try"' in box
            assert 'name="q"' in box
        before = browser.get("/replies").text
        page = tried(browser, ASKED[language])
        assert "\n\n".join(given(page)) == context_of(served, f"real {language}", ASKED[language])
        assert {"en": "Leeds", "zh": "钢琴"}[language] in given(page)[0]
        assert {"en": "Given", "zh": "已用到"}[language] in page
        assert {"en": "at least 0.50 is needed", "zh": "至少要 0.50"}[language] in page
        assert 'value="forget"' in page
        assert re.search(r"\d+ (tokens|个 token)", page)
        assert 'type="range"' in page
        again = browser.get("/replies").text
        assert re.sub(r'value="[0-9a-f]{64}"', "", again) == re.sub(r'value="[0-9a-f]{64}"', "", before)


def test_the_chinese_page_is_chinese(served: Served, folder: Path) -> None:
    with signed_in(served, "zh") as browser:
        for values in ({}, {"least": "0.9"}):
            page = tried(browser, ASKED["zh"], **values).replace(str(folder), "")
            page = re.sub(r"<(code|script|svg)\b.*?</\1>", " ", page, flags=re.DOTALL)
            page = re.sub(r'<(\w+)\b[^>]*dir="auto"[^>]*>.*?</\1>', " ", page, flags=re.DOTALL)
            words = set(LATIN.findall(re.sub(r"<[^>]*>", " ", page[page.index("<main") :])))
            assert words - {"token", "config", "json", "MEMORY"} == set()


def test_what_is_beside_a_memory_fits_it(browser: httpx2.Client) -> None:
    for message, in_log in (("When do I run along the river?", True), (ASKED["en"], False)):
        row = tried(browser, message).partition('class="considered"')[2].partition("</li>")[0]
        assert ("river" in row) == in_log
        assert [name for name in ("correct", "forget", "pin") if f'name="command" value="{name}"' in row] == [
            "correct", "forget", *(["pin"] if in_log else [])
        ]  # fmt: skip


def test_another_least_score_shows_what_it_would_change(browser: httpx2.Client) -> None:
    page = tried(browser, ASKED["en"], least="1", quoted="1")
    assert given(page) == []
    assert "Nothing would be given." in page
    assert "Leeds" in page, "the near miss is shown"
    assert "Too weak" in page
    assert "Save 1.00 and 1.00" in page
    assert "Save " not in tried(browser, ASKED["en"])
    assert "Leeds" in given(tried(browser, ASKED["en"]))[0], "nothing was changed"


@pytest.mark.parametrize("value", ["2", "-0.1", "nan", "inf", "x", "0,5", "1e9"])
def test_what_is_no_score_is_nothing_here(browser: httpx2.Client, value: str) -> None:
    for field in ("least", "quoted"):
        assert browser.get(f"/try?q=x&{field}={value}").status_code == 404
        token = field_of(tried(browser, "x"), "form_token")
        assert browser.post("/try", data={"form_token": token, field: value}).status_code == 404


def test_a_saved_score_applies_at_once_and_goes_back(served: Served, browser: httpx2.Client, config: Path) -> None:
    text = "{\n  // mine\n  agents: {defaults: {memorySync: MEMORY}}, serve: SERVE, // end\n}\n"
    settings = json.loads(config.read_text("utf-8"))
    memory = settings["agents"]["defaults"]["memorySync"]
    memory["autoRecall"]["minScore"] = 0.5
    text = text.replace("MEMORY", json.dumps(memory)).replace("SERVE", json.dumps(settings["serve"]))
    config.write_text(text, "utf-8")
    config.chmod(0o640)
    answer = tune(browser, least="1", quoted="0.97")
    assert f"Saved in {config}" in answer.text
    assert answer.url.query == b"q=back"
    saved = config.read_text("utf-8")
    assert scores(config) == {**WORDS_ALONE, "minScore": 1, "episodes": {"minScore": 0.97}}
    assert saved.startswith("{\n  // mine\n")
    assert saved.endswith("// end\n}\n")
    assert config.stat().st_mode & 0o777 == 0o640
    assert context_of(served, "after saving", ASKED["en"]) == ""
    assert given(tried(browser, ASKED["en"])) == []
    with served.client(served.tokens["work"]) as host, served.client("", follow_redirects=True) as other:
        other.get(host.post("/page/link").json()["path"])
        assert re.search(r'value="0\.97"[^>]*>\s*<output', other.get("/try").text), "it holds for every agent"
    page = tried(browser, ASKED["en"])
    assert page.count('<button class="primary">') == 1
    whole = re.search(r'<form method="post" action="/try" class="actions">.*?</form>', page, re.DOTALL)
    assert whole, "the defaults are put back where they were changed"
    fields = {name: unescape(value) for name, value in re.findall(r'name="(\w+)" value="([^"]*)"', whole[0])}
    assert (fields["least"], fields["quoted"]) == ("0.50", "0.50")
    assert b"least" not in browser.post("/try", data=fields).url.query, "the sliders stand at what is saved"
    assert scores(config) == {**WORDS_ALONE, "minScore": 0.5, "episodes": {"minScore": 0.5}}
    assert "Put the defaults back" not in tried(browser, ASKED["en"])
    tune(browser, least="1", quoted="0.97")
    page = browser.get("/settings").text
    button = re.search(r'<form method="post" action="/try">(?:(?!</form>).)*name="least".*?</form>', page, re.DOTALL)
    assert button
    fields = {name: unescape(value) for name, value in re.findall(r'name="(\w+)" value="([^"]*)"', button[0])}
    assert fields["least"] == "0.5"
    assert browser.post("/try", data=fields).url.path == "/settings"
    assert scores(config)["minScore"] == 0.5
    assert "Leeds" in given(tried(browser, ASKED["en"]))[0]
    assert 'name="least"' not in browser.get("/settings").text


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("why", ["changed", "broken", "link", "read-only"])
def test_what_can_not_be_saved_is_said(served: Served, config: Path, language: str, why: str) -> None:
    said = {
        "changed": ("has changed since this page was opened", "已被改动"),
        "broken": ("has a mistake", "有错误"),
        "link": ("is a link to another file", "是指向其他文件的链接"),
        "read-only": ("can&#39;t be changed", "无法改动"),
    }[why][language == "zh"]
    with signed_in(served, language) as browser:
        was = field_of(tried(browser, "x", least="0.8"), "was")
        if why == "changed":
            config.write_text(config.read_text("utf-8") + "\n", "utf-8")
        elif why == "broken":
            config.write_text("{ agens: {} }", "utf-8")
            was = field_of(tried(browser, "x", least="0.8"), "was")
        elif why == "read-only":
            config.chmod(0o400)
        else:
            config.rename(config.with_name("elsewhere"))
            config.symlink_to(config.with_name("elsewhere"))
            assert said in tried(browser, "x", least="0.8"), "it is said before anything is lost"
        before = config.read_bytes()
        answer = browser.post(
            "/try", data={"form_token": field_of(tried(browser, "x"), "form_token"), "least": "0.8", "was": was}
        )
        assert said in answer.text
        assert config.read_bytes() == before
        assert config.is_symlink() == (why == "link")
        assert "Leeds" in given(tried(browser, ASKED["en"]))[0], "the service goes on with what it had"


def test_a_forged_form_saves_nothing(browser: httpx2.Client, config: Path) -> None:
    before = config.read_bytes()
    page = tried(browser, "x", least="0.9")
    for fields in ({"form_token": "0" * 64}, {}):
        assert browser.post("/try", data={"least": "0.9", "was": field_of(page, "was"), **fields}).status_code == 403
    data = {"least": "0.9", "was": field_of(page, "was"), "form_token": field_of(page, "form_token")}
    assert browser.post("/try", data=data, headers={"Origin": "http://evil.example"}).status_code == 403
    assert config.read_bytes() == before


def test_a_long_message_is_refused_in_words(served: Served, browser: httpx2.Client) -> None:
    page = tried(browser, "a" * 1001)
    assert "at most 1000 characters can be tried; this one has 1001" in page
    assert not given(page)
    assert "Too weak" not in page
    with signed_in(served, "zh") as chinese:
        assert "最多可以试 1000 个字符" in tried(chinese, "记" * 1001)
        longest = tried(chinese, f"{ASKED['zh']}{'记' * (1000 - len(ASKED['zh']))}", least="0")
        link = unescape(re.findall(r'href="(/memories/[^"]+back=[^"]+)"', longest)[0])
        memory = chinese.get(link)
        assert memory.status_code == 200
        back = unescape(re.findall(r'href="(/try[?]q[^"]+)"', memory.text)[0])
        assert chinese.get(back).status_code == 200


def elements(page: str) -> set[tuple[str, tuple[str, ...]]]:
    """Return the elements of a page, each with the names of its attributes."""
    found: set[tuple[str, tuple[str, ...]]] = set()

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            found.add((tag, tuple(name for name, _ in attrs)))

    Reader().feed(page)
    return found


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_message_stays_text(browser: httpx2.Client, text: str) -> None:
    page = tried(browser, f"Where does Nora live? {text}")
    assert elements(page) <= elements(tried(browser, ASKED["en"]))
    assert "Leeds" in page


def test_one_comes_back_to_the_same_trial_and_only_to_our_pages(browser: httpx2.Client) -> None:
    page = tried(browser, ASKED["en"])
    here = f"/try?{urlencode({'q': ASKED['en']})}"
    link = next(each for each in re.findall(r'href="(/memories/[^"]+)"', page) if "back=" in each)
    memory = browser.get(unescape(link)).text
    assert f'href="{here}"' in unescape(memory)
    assert "Back to the tried message" in memory
    for foreign in ("//evil.example", "https://evil.example", "/\\evil.example", "javascript:alert(1)", "/\t/evil"):
        address = unescape(link).partition("?")[0] + "?" + urlencode({"back": foreign})
        assert "evil" not in re.sub(r'name="back" value="[^"]*"', "", browser.get(address).text)
        assert "javascript:" not in re.sub(r'name="back" value="[^"]*"', "", browser.get(address).text)
    forms = re.findall(r'<form method="post" action="/act".*?</form>', page, re.DOTALL)
    fields = {name: unescape(value) for name, value in re.findall(r'name="(\w+)" value="([^"]*)"', forms[0])}
    assert fields["back"] == here
    identity = fields["id"]
    forgotten = browser.post("/act", data={**fields, "command": "forget"})
    assert str(forgotten.url).endswith(here.replace("?q=", "?q="))
    assert identity not in "".join(given(forgotten.text))
    token = field_of(forgotten.text, "form_token")
    browser.post("/act", data={"form_token": token, "command": "undo", "id": identity, "back": here})
    assert "Leeds" in "".join(given(tried(browser, ASKED["en"])))


def test_another_persons_trial_sees_only_theirs(browser: httpx2.Client) -> None:
    people = unescape(browser.get("/people").text)
    of = next(each for each in re.findall(r"of=([^\"&]+)", people) if "7" in each)
    page = browser.get(f"/try?q=Where+does+my+sister+Nora+live%3F&of={of}").text
    assert "York" in page
    assert "Leeds" not in page
    assert f'name="of" value="{unescape(of).replace("%3A", ":")}"' in unescape(page)
    assert browser.get("/try?q=x&of=user:nobody").status_code == 404


@pytest.mark.slow
def test_recall_that_is_off_is_said_with_its_place(tmp_path: Path) -> None:
    memory = {"autoRecall": {**WORDS_ALONE, "enabled": False}}
    config = written(tmp_path, agents={"main": {"workspace": str(tmp_path / "main")}}, port=0, memory=memory)
    with service(config, workspaces={"main": tmp_path / "main"}) as running:
        say(running, OWNER, "Remember that my sister Nora lives in Leeds.")
        with signed_in(running) as browser:
            page = tried(browser, ASKED["en"])
            assert f"Recall is switched off: autoRecall.enabled is false in {config}" in page
            assert "Leeds" in given(page)[0], "the opening is given all the same"


@pytest.mark.slow
def test_without_a_config_the_workspaces_own_file_is_made_and_read(tmp_path: Path) -> None:
    workspace = tmp_path / "memory"
    workspace.mkdir()
    (workspace / "MEMORY.md").write_text("- My sister Nora lives in Leeds\n", "utf-8")
    own = own_config(workspace)
    for time_around in range(2):
        with without_config(workspace) as url, httpx2.Client(base_url=url, timeout=seconds(30)) as host:
            token = {"Authorization": f"Bearer {(own.parent / 'token').read_text().strip()}"}
            path = host.post("/page/link", headers=token).json()["path"]
            with httpx2.Client(base_url=url, timeout=seconds(30), follow_redirects=True) as browser:
                browser.get(path)
                if not time_around:
                    assert not own.exists()
                    assert f"Saved in {own}" in tune(browser, least="0.83").text
                assert re.search(r'value="0\.83"[^>]*>\s*<output', browser.get("/try").text)
                assert '"least"' in browser.get("/settings").text
    assert own.stat().st_mode & 0o777 == 0o600
    assert settings_of(workspace, None)["autoRecall"]["minScore"] == 0.83
    other = tmp_path / "other.json5"
    other.write_text("{}")
    assert settings_of(workspace, other)["autoRecall"]["minScore"] == 0.5
    own.write_text("{ agents: { defaults: { memorySync: { autoExtract: { baseUrl: 'http://evil.example' } } } } }")
    assert main(["status", "--workspace", str(workspace)]) == 1


@contextmanager
def without_config(workspace: Path) -> Iterator[str]:
    """Serve a workspace meanwhile as `gateway-memory serve` does that gets no config; yields the address."""
    log = workspace.with_suffix(".output")
    start = [sys.executable, "-m", "gateway_memory.cli.entry", "serve", "--workspace", str(workspace), "--port", "0"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with log.open("w", encoding="utf-8") as file:
        process = subprocess.Popen(start, stdout=file, stderr=subprocess.STDOUT, env=environment)
    try:
        until = time.monotonic() + seconds(30)
        while not (found := re.search(r"serves at (\S+)\n", log.read_text("utf-8"))):
            assert process.poll() is None, log.read_text("utf-8")
            assert time.monotonic() < until
            time.sleep(0.02)
        yield found[1]
        process.send_signal(signal.SIGTERM)
        assert process.wait(seconds(20)) == 0
    finally:
        process.kill()
        process.wait()

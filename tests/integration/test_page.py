"""The page over HTTP: who is let in, what each page shows, what its forms change, and whom it refuses."""

import asyncio
import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, date, datetime, timedelta
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import httpx2
import pytest
from anyio.from_thread import start_blocking_portal
from hostile import HOSTILE, wrapped
from patience import seconds
from scripted_provider import Say, entry, found, serving
from served import OWNER, Served, facts, service, written

from gateway_memory import GatewayMemory, load_config
from gateway_memory.cli.main import main
from gateway_memory.config.keys import known_keys
from gateway_memory.edge.phrases import Language, texts
from gateway_memory.serving.page import views
from gateway_memory.serving.page.views import VIEWS
from gateway_memory.serving.page.words import noted, sides_of

pytestmark = pytest.mark.xdist_group("service")

ZOE = facts("7")
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
DAY = "2026-11-20"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("page")
    places = {"main": folder / "main", "work": folder / "work"}
    agents = {name: {"workspace": str(place)} for name, place in places.items()}
    config = written(folder, agents=agents, port=0, origins=["http://other.example"])
    with service(config, workspaces=places) as running:
        say(running, OWNER, "Remember that my locker is number 4711.", f"{DAY}T09:00:00+00:00")
        say(running, ZOE, "Remember that the owl is called Hedwig.", f"{DAY}T10:00:00+00:00")
        yield running
        log = running.log.read_text("utf-8")
        assert "Traceback" not in log
        assert "4711" not in log


def say(served: Served, speaker: dict[str, str], text: str, at: str | None = None) -> None:
    number = re.sub(r"\W", "", text)[:60] + str(at)[:13]
    body = {"id": number, "speaker": speaker, "user": text, "reply": "OK, noted.", **({"at": at} if at else {})}
    served.answer("before_reply", {"speaker": speaker, "message": text})
    served.answer("after_reply", body)
    served.answer("flush", {})


@contextmanager
def signed_in(served: Served, agent: str = "main") -> Iterator[httpx2.Client]:
    """Yield a browser that has opened a link."""
    with served.client(served.tokens[agent]) as host, served.client("", follow_redirects=True) as browser:
        assert browser.get(host.post("/page/link").json()["path"]).status_code == 200
        yield browser


@pytest.fixture
def browser(served: Served) -> Iterator[httpx2.Client]:
    with signed_in(served) as client:
        yield client


def form_token(browser: httpx2.Client) -> str:
    found = re.search(r'name="form_token" value="([0-9a-f]+)"', browser.get("/").text)
    assert found
    return found[1]


def act(browser: httpx2.Client, command: str, **fields: str) -> httpx2.Response:
    return browser.post("/act", data={"form_token": form_token(browser), "command": command, "back": "/", **fields})


def ids(browser: httpx2.Client, path: str = "/memories") -> list[str]:
    return list(dict.fromkeys(re.findall(r'href="/memories/([a-z2-7]{8})', browser.get(path).text)))


# Who is let in


@pytest.mark.slow
def test_a_link_signs_in_once(served: Served) -> None:
    with served.client() as host:
        path = host.post("/page/link").json()["path"]
    with served.client("") as one, served.client("") as two:
        first = one.get(path)
        assert first.status_code == 303
        cookie = first.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert two.get(path).status_code == 401
        assert one.get("/").status_code == 200
        assert one.post("/leave", data={"form_token": form_token(one)}).status_code == 303
        assert one.get("/").status_code == 401


@pytest.mark.parametrize(
    ("method", "headers"),
    [
        ("HEAD", {}),
        ("GET", {"Sec-Purpose": "prefetch"}),
        ("GET", {"Sec-Purpose": "prefetch;prerender"}),
        ("GET", {"Purpose": "prefetch"}),
        ("GET", {"X-Purpose": "preview"}),
        ("GET", {"X-Moz": "prefetch"}),
    ],
)
def test_a_link_is_not_used_up_before_a_person_opens_it(served: Served, method: str, headers: dict[str, str]) -> None:
    with served.client() as host, served.client("") as browser:
        path = host.post("/page/link").json()["path"]
        for _ in range(2):
            ahead = browser.request(method, path, headers=headers)
            assert "set-cookie" not in ahead.headers
            assert 400 <= ahead.status_code < 500, "a browser must not show it in place of the page"
        assert browser.get(path).status_code == 303
        assert browser.get("/").status_code == 200


@pytest.mark.slow
@pytest.mark.parametrize("path", [*VIEWS, "/act", "/language", "/leave"])
def test_without_a_cookie_nothing_is_shown(served: Served, path: str) -> None:
    address = path.format(id="aaaaaaaa", turn=1, day=DAY, name="Ana")
    with served.client("") as nobody, served.client() as host, signed_in(served) as browser:
        name, value = next(iter(browser.cookies.items()))
        forged = [value[:-1] + "x", "0" * 64 + value[64:], value.replace(".main", ".work"), "", "a.b.c.d", "...."]
        for client in (nobody, host):
            answer = client.post(address) if path in ("/act", "/language", "/leave") else client.get(address)
            assert answer.status_code == 401
            assert "4711" not in answer.text
        for cookie in forged:
            answer = nobody.get("/memories", headers={"Cookie": f"{name}={cookie}"})
            assert answer.status_code == 401


def test_a_link_needs_the_token_of_a_host(served: Served) -> None:
    for token in ("", "wrong"):
        with served.client(token) as client:
            assert client.post("/page/link").status_code == 401


def test_each_agent_has_a_page_of_its_own(served: Served) -> None:
    with signed_in(served, "work") as browser:
        assert "4711" not in browser.get("/memories").text
        assert "zoe" not in browser.get("/people").text


@pytest.mark.parametrize(
    "fake",
    [
        {"form_token": ""},
        {"form_token": "0" * 64},
        {"header": ("Origin", "http://other.example")},
        {"header": ("Origin", "null")},
        {"header": ("Host", "other.example")},
        {"header": ("Content-Type", "text/plain")},
        {"header": ("Content-Type", "multipart/form-data; boundary=x")},
        {"command": "off"},
        {"command": "status"},
        {"of": "user:nobody"},
        {"of": "../.."},
    ],
)
def test_a_forged_form_changes_nothing(browser: httpx2.Client, fake: dict[str, str | tuple[str, str]]) -> None:
    (identity, *_) = ids(browser)
    header = fake.pop("header", None)
    fields = {"form_token": form_token(browser), "command": "forget", "id": identity, **fake}
    body = "&".join(f"{name}={value}" for name, value in fields.items())
    headers = {**FORM, **(dict([header]) if isinstance(header, tuple) else {})}
    answer = browser.post("/act", content=body, headers=headers, follow_redirects=False)
    assert answer.status_code in (400, 403, 404), answer.status_code
    assert identity in ids(browser)


def test_the_token_of_another_browser_is_not_good_here(served: Served, browser: httpx2.Client) -> None:
    with signed_in(served) as other:
        assert browser.post("/act", data={"form_token": form_token(other), "command": "undo"}).status_code == 403


def test_a_form_returns_to_our_pages_alone(browser: httpx2.Client) -> None:
    for back in ("//evil.example/", "https://evil.example/", "/\\evil.example", "/\r\nX: y", ""):
        data = {"form_token": form_token(browser), "to": "en", "back": back}
        answer = browser.post("/language", data=data, follow_redirects=False)
        assert answer.headers["location"] == "/"


def test_every_answer_forbids_foreign_code(browser: httpx2.Client) -> None:
    for path in ("/", "/memories", "/nowhere-at-all", "/memories/zzzzzzzz", "/static/page.css"):
        answer = browser.get(path)
        if path != "/nowhere-at-all":
            policy = answer.headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "unsafe" not in policy
        assert "style=" not in answer.text
        assert not re.search(r"<script(?! src=\"/static/)|\son\w+=", answer.text)


# What is shown


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("path", [path for path in VIEWS if "{name}" not in path])  # that one: test_portrait.py
def test_each_page_is_shown_in_both_languages(browser: httpx2.Client, path: str, language: str) -> None:
    address = path.format(id=ids(browser)[0], turn=1, day=DAY)
    answer = browser.get(address, headers={"Accept-Language": f"{language};q=0.9, fr"})
    assert answer.status_code == 200, answer.text
    assert f'<html lang="{language}">' in answer.text
    assert ("记忆" in answer.text) == (language == "zh")


def test_the_language_is_switched_and_stays(browser: httpx2.Client) -> None:
    data = {"form_token": form_token(browser), "to": "zh", "back": "/settings"}
    answer = browser.post("/language", data=data)
    assert answer.url.path == "/settings"
    assert '<html lang="zh">' in browser.get("/", headers={"Accept-Language": "en"}).text


@pytest.mark.parametrize(
    "path", ["/memories/zzzzzzzz", "/conversations/2026-02-31", "/conversations/exchange/999999",
             "/conversations/exchange/x", "/replies?before=x", "/memories?before=x", "/memories?of=user:nobody",
             "/memories?of=room:", "/conversations/0001-01-01", "/conversations/9999-12-31",
             "/memories?skip=-1&before=nan", "/memories?before=inf&until=2026-13-01", f"/memories?skip={'9' * 35}",
             f"/memories?skip={2**63 - 1}", "/memories?since=0001-01-01", "/memories?until=9999-12-31",
             f"/replies?before={'9' * 5_000}", f"/replies/{'9' * 5_000}", "/memories?since=soon"],
)  # fmt: skip
def test_an_address_that_names_nothing_says_so(browser: httpx2.Client, path: str) -> None:
    answer = browser.get(path)
    assert answer.status_code in (200, 404)
    assert "<h1>" in answer.text


def test_a_search_that_is_not_understood_says_why(browser: httpx2.Client) -> None:
    answer = browser.get("/memories?q=locker&since=soon")
    assert answer.status_code == 200
    assert "soon" in answer.text


def test_what_hardly_fits_a_search_is_folded(served: Served, browser: httpx2.Client) -> None:
    say(served, OWNER, "Remember that the canoe lies under the tarpaulin.")
    say(served, OWNER, "Remember that a kettle stands in the shed, beside a lamp and a chair that nobody needs.")
    fitting = browser.get("/memories", params={"q": "the canoe lies under the tarpaulin"}).text
    assert "canoe" in fitting.partition('<details class="card">')[0]
    folded = browser.get("/memories", params={"q": "kettle helicopter insurance umbrella", "kind": "memory"}).text
    head, fold, _ = folded.partition('<details class="card">')
    assert fold
    assert "Nothing fits well." in head
    assert "kettle stands" not in head
    assert (
        "kettle stands"
        in browser.get("/memories", params={"q": "Kettle  stands"}).text.partition('<details class="card">')[0]
    )


def test_answers_are_worded_for_people(served: Served, browser: httpx2.Client) -> None:
    say(served, OWNER, "Remember that the sledge hangs in the attic.")
    identity = ids(browser, "/memories?q=sledge")[0]
    act(browser, "forget", id=identity)
    answer = act(browser, "undo", id=identity)
    told = re.search(r'role="status"[^>]*>([^<]*)', answer.text)
    assert told
    assert told[1] == "Undone.\nBack again: the sledge hangs in the attic"
    answer = act(browser, "forget", id=identity, back=f"/memories/{identity}")
    assert "Bring it back" not in answer.text, "the note has that button"
    assert "Bring it back" in browser.get(f"/memories/{identity}").text


@pytest.mark.parametrize(
    ("language", "answer", "told"),
    [
        ("zh", "已记住：租金每月 4500 元（abcd2345）", "已记住：租金每月 4500 元"),
        ("zh", "已撤销 2026-11-27 03:08:31 的改动：\n- 移回 abcd2345 到 memory/2026-11-12.md · 我住在上海",
         "已撤销。\n已移回 memory/2026-11-12.md。"),
        ("en", "Undone, of 2026-11-27 03:08:31:\n- waits for review again: abcd2345 · I live in Bern",
         "Undone.\nIt waits for review again."),
        ("en", "Restored in the conversation of 2026-11-12: e33 2026-11-12", "What was said is kept again."),
        ("en", "Forgotten: Kept: x (abcd2345)", "Forgotten: Kept: x (abcd2345)"),
        ("en", "Now: my rent is 1500 (abcd2345)", "Now: my rent is 1500"),
        ("zh", "没有编号或内容为“abcd2345”的记忆。编号见 /memory 列出。", "这条记忆已经不在了。"),
        ("en", "Nothing with the id “abcd2345” waits for review. The ids stand in /memory review.",
         "That no longer waits: it was decided before."),
        ("zh", "改写哪一条？改成什么？/memory 更正 <编号> <内容>；编号见 /memory 列出。",
         "没有改动：新内容是空的。"),
    ],
)  # fmt: skip
def test_an_answer_needs_no_ids_on_the_page(language: Language, answer: str, told: str) -> None:
    assert noted(language, answer) == told


def test_an_exchange_that_is_found_is_told_in_the_language_of_the_page() -> None:
    assert sides_of("User: where is 阿豪? Assistant: here") == [("user", "where is 阿豪?"), ("assistant", "here")]
    assert sides_of("用户：他在哪？ 助手：在家") == [("user", "他在哪？"), ("assistant", "在家")]
    assert sides_of("User: only that") == [("user", "only that")]
    assert sides_of("Assistant: only this") == [("assistant", "only this")]
    assert sides_of("something else") == []


def test_a_memory_tells_where_it_came_from_and_what_became_of_it(browser: httpx2.Client) -> None:
    (identity, *_) = ids(browser, "/memories?q=locker&kind=memory")
    shown = browser.get(f"/memories/{identity}").text
    assert "Remember that <mark>my locker is number 4711</mark>." in shown
    assert len(re.findall("my locker is number 4711", shown)) == 3, (
        "once, in its source, and in the form that is folded"
    )
    assert re.search(r'<p class="text">Learnt</p>', shown)
    assert f'name="back" value="/memories/{identity}"' in shown, "as the address was"
    day = browser.get(f"/conversations/{DAY}").text
    assert "OK, noted." in day
    assert "Hedwig" not in day
    assert f"/conversations/{DAY}" in browser.get("/conversations").text


def test_a_reply_tells_what_it_was_given_and_why(served: Served, browser: httpx2.Client) -> None:
    of, speaker = "user:telegram::41", facts("41")
    say(served, speaker, "Remember that my canoe is called Nessie.")
    only = browser.get("/conversations", params={"of": of}).text
    assert "my canoe is called Nessie" in only, "a calendar with one day shows it"
    other = {**speaker, "key": "agent:main:telegram:direct:41:thread:2"}
    asked = {"speaker": other, "message": "What is my canoe called?", "opening": False, "ephemeral": True}
    told = served.answer("before_reply", asked)
    assert "Nessie" in told["context"]
    body = {"id": "canoe-2", "speaker": other, "user": asked["message"], "reply": "Nessie.", "ephemeral": True}
    served.answer("after_reply", body)
    served.answer("flush", {})
    listed = browser.get("/replies", params={"of": of}).text
    assert "Nessie" in listed
    path = re.search(r'href="(/replies/\d+\?of=[^"]+)"', listed)
    assert path
    shown = browser.get(unescape(path[1])).text
    assert "Shared words" in shown
    assert re.search(r'<span class="tag tag-told">Given</span> <span>Score 0\.', shown)
    assert "Total" in shown
    turn = re.search(r"/replies/(\d+)", unescape(path[1]))
    told_id = re.search(r'id="row-([a-z2-7]{8})"', shown)
    assert turn
    assert told_id
    for verdict, other_one in (("useful", "wrong"), ("wrong", "useful")):
        act(browser, verdict, of=of, id=told_id[1], text=f"#{turn[1]}")
        act(browser, other_one, of=of, id="", text=f"#{turn[1]}")
        pressed = re.findall(r'aria-pressed="true"><svg.*?</svg>(\w+)<', browser.get(unescape(path[1])).text)
        assert pressed == [other_one.capitalize(), verdict.capitalize()], "the reply's first, and one of each"
    assert "No memory was given to this reply." not in shown
    weak = {**other, "key": "agent:main:telegram:direct:41:thread:3"}
    message = "The plumber called about that kitchen sink, and my invoice is on your table"
    served.answer("before_reply", {**asked, "speaker": weak, "message": message})
    served.answer("after_reply", {**body, "id": "canoe-3", "speaker": weak, "user": message, "reply": "Nobody."})
    served.answer("flush", {})
    newest = re.search(r'href="(/replies/\d+\?of=[^"]+)"', browser.get("/replies", params={"of": of}).text)
    assert newest
    shown = browser.get(unescape(newest[1])).text
    assert "tag-weak" in shown
    assert "No memory was given to this reply." in shown
    assert re.search(r'<p class="said" dir="auto"><a href="/conversations/exchange/\d+', shown)
    for wrong in ("/replies/0", "/replies/x", "/replies/999999"):
        assert browser.get(wrong).status_code == 404


def test_a_person_is_chosen_by_the_address(browser: httpx2.Client) -> None:
    assert "user:telegram::7" in browser.get("/people").text or "telegram" in browser.get("/people").text
    shown = browser.get("/memories", params={"of": "user:telegram::7"}).text
    assert "Hedwig" in shown
    assert "4711" not in shown
    assert "of=user%3Atelegram%3A%3A7" in shown, "its links stay there"


def test_people_whose_memories_are_linked_are_shown(served: Served, browser: httpx2.Client) -> None:
    one, other = facts("31"), facts("32")
    for speaker in (one, other):
        say(served, speaker, f"Remember that my number is {speaker['sender_id']}.")
    offered = served.answer("command", {"id": "link-1", "speaker": one, "text": "/memory link"})["answer"]
    code = re.search(r"link (\S+)", offered)
    assert code
    served.answer("command", {"id": "link-2", "speaker": other, "text": f"/memory link {code[1]}"})
    shown = re.sub(r"<[^>]+>|\s+", " ", browser.get("/people").text)
    assert re.search(r"Telegram · 3[12] +Person · one memory with +Telegram · 3[12]", shown), shown


@pytest.mark.slow
def test_one_of_many_people_is_found_by_name(tmp_path: Path) -> None:
    places = {"main": tmp_path / "main"}
    config = written(tmp_path, agents={"main": {"workspace": str(places["main"])}}, port=0)
    with service(config, workspaces=places) as running, signed_in(running) as browser:
        assert 'name="q"' not in browser.get("/people").text, "nobody searches among a few"
        for number in range(35):
            speaker = facts(str(100 + number))
            running.answer("save_fact", {"id": f"p{number}", "speaker": speaker, "content": f"Box {number} is green"})
        say(running, facts("135", sender_name="Čeněk 🐙"), "Remember that the lid is red.")
        cards = r'<article class="card somebody">'
        shown = browser.get("/people").text
        assert len(re.findall(cards, shown)) == 30
        found = browser.get("/people", params={"q": " čeněk"}).text
        assert len(re.findall(cards, found)) == 1
        assert "Čeněk 🐙" in found
        assert len(re.findall(cards, browser.get("/people", params={"q": "134"}).text)) == 1, "by a number"
        assert "Nobody is called that." in browser.get("/people", params={"q": "Zdeněk"}).text


def test_pages_of_memories_show_each_one_once(served: Served) -> None:
    speaker = facts("8")
    for number in range(107):
        content = f"Box {number} is on shelf {number * 7 % 101}"
        served.answer("save_fact", {"id": f"box-{number}", "speaker": speaker, "content": content})
    with signed_in(served) as browser:
        path, seen = "/memories?of=user%3Atelegram%3A%3A8", []
        while path:
            page = browser.get(path).text
            seen += re.findall(r"Box (\d+) is on shelf", page)
            older = re.search(r'<a href="([^"]+)">Older</a>', page)
            path = older[1].replace("&amp;", "&") if older else ""
        assert len(seen) == len(set(seen))
        assert {int(each) for each in seen} == set(range(107))


# What is changed


def test_a_form_does_what_chat_and_shell_do(tmp_path: Path) -> None:
    places = {"main": tmp_path / "main"}
    config = written(tmp_path, agents={"main": {"workspace": str(places["main"])}}, port=0)
    told: dict[str, list[str]] = {}
    with service(config, workspaces=places) as running, signed_in(running) as browser:
        for number, way in enumerate(("chat", "page")):
            said = []
            speaker = facts(str(70 + number))
            scope = f"user:telegram::{70 + number}"
            say(running, speaker, "Remember that my boat is called Wilma.")

            def tell(command: str, identity: str, text: str = "", way: str = way, scope: str = scope,
                     speaker: dict[str, str] = speaker) -> None:  # fmt: skip
                if way == "chat":
                    asked = f"/memory {command} {identity} {text}".rstrip()
                    key = f"{command}-{identity}-{text}-{scope}".replace(" ", "-")
                    running.answer("command", {"id": key, "speaker": speaker, "text": asked})
                else:
                    act(browser, command, of=scope, id=identity, text=text)

            (identity, *_) = ids(browser, f"/memories?of={scope}")
            tell("correct", identity, "My boat is called Erna.")
            (identity, *_) = ids(browser, f"/memories?of={scope}")
            tell("pin", identity)
            tell("forget", identity)
            assert not ids(browser, f"/memories?of={scope}")
            tell("undo", "")
            (identity, *_) = ids(browser, f"/memories?of={scope}")
            history = browser.get(f"/memories/{identity}?of={scope}").text
            said = re.findall(r'<p class="text">([^<]+?)(?: <a|<)', history)
            answer = running.answer(
                "command", {"id": f"receipts-{way}", "speaker": speaker, "text": "/memory receipts"}
            )
            said += re.findall(r"- (?:turn \d+: )?(\w+ \(\w+\))", answer["answer"])
            told[way] = said
    assert told["chat"] == told["page"]
    assert len(told["chat"]) > 6


def test_what_a_form_did_is_told_once(served: Served, browser: httpx2.Client) -> None:
    say(served, OWNER, "Remember that the lamp is green.")
    (identity, *_) = ids(browser, "/memories?q=lamp&kind=memory")
    answer = act(browser, "forget", id=identity)
    assert "Forgotten: the lamp is green" in answer.text
    assert 'role="status"' not in browser.get("/").text
    assert "the lamp is green" in act(browser, "undo").text
    again = act(browser, "forget", id="zzzzzzzz").text
    assert "That memory is no longer there." in again


def test_a_button_that_takes_back_works_once(served: Served, browser: httpx2.Client) -> None:
    say(served, OWNER, "Remember that the kettle is made of copper.")
    identity = re.findall(r'href="/memories/([a-z2-7]{8})[^>]*>[^<]*kettle', browser.get("/memories").text)[0]
    page = act(browser, "forget", id=identity, back="/memories").text
    form = page[page.index('class="take-back"') :]
    fields = dict(re.findall(r'name="(\w+)" value="([^"]*)"', form[: form.index("</form>")]))
    assert fields["command"] == "undo"
    assert "kettle" in browser.post("/act", data=fields).text
    again = browser.post("/act", data=fields).text
    assert "That was taken back already." in again
    assert "kettle" in browser.get("/memories").text


def test_several_are_forgotten_at_once(served: Served, browser: httpx2.Client) -> None:
    for name in ("Anna", "Berta", "Clara"):
        say(served, OWNER, f"Remember that the hen {name} lays eggs.")
    found = ids(browser, "/memories?q=hen&kind=memory")[:3]
    data = {"form_token": form_token(browser), "command": "forget", "back": "/memories", "id": found}
    assert browser.post("/act", data=data).status_code == 200
    assert not set(found) & set(ids(browser))


def test_each_of_several_is_moved_and_taken_back_alone(served: Served, browser: httpx2.Client) -> None:
    of, speaker = "user:telegram::51", facts("51")
    for number, name in enumerate(("Anna", "Berta", "Clara")):
        content = f"The goat {name} gives milk"
        served.answer("save_fact", {"id": f"goat-{number}", "speaker": speaker, "content": content})
    shown = browser.get("/memories", params={"of": of}).text
    assert re.findall(r'<button name="command" value="(\w+)"', shown) == ["pin", "forget"]
    assert 'name="command" value=""' not in shown
    found = ids(browser, f"/memories?of={of}")
    data = {"form_token": form_token(browser), "of": of, "back": f"/memories?of={of}", "id": found}
    answer = browser.post("/act", data=data | {"command": "pin"})
    assert all(f"The goat {name}" in document(browser, of)[0] for name in ("Anna", "Berta", "Clara"))
    buttons = re.findall(r'name="id" value="([a-z2-7]{8})">\s*<button aria-describedby="(note-\d)"', answer.text)
    assert buttons == [(each, f"note-{number}") for number, each in enumerate(found, 1)]
    again = act(browser, "undo", of=of, id=found[1])
    assert 'aria-describedby="note' not in again.text, "what is taken back has no such button"
    assert document(browser, of)[0].count("The goat") == 2


def test_an_exchange_is_forgotten_where_it_stands(served: Served, browser: httpx2.Client) -> None:
    say(served, OWNER, "Remember that the tortoise is called Ada.", "2026-11-18T08:00:00+00:00")
    shown = browser.get("/conversations/2026-11-18").text
    found = re.search(r'name="id" value="(e\d+u0)"', shown)
    assert found
    answer = act(browser, "forget", id=found[1]).text
    assert "Ada" not in browser.get("/conversations/2026-11-18").text
    assert "Ada" not in browser.get("/memories?q=tortoise").text
    undo = re.search(r'name="id" value="(e\d+u0)">\s*<button aria-describedby="note-1">', answer)
    assert undo, "it can be taken back where it was forgotten"
    act(browser, "undo", id=undo[1])
    assert "Ada" in browser.get("/conversations/2026-11-18").text
    assert "Ada" in browser.get("/memories?q=tortoise").text


def document(browser: httpx2.Client, of: str) -> tuple[str, str]:
    """Return MEMORY.md as its page has it, and the digest of it."""
    shown = browser.get("/document", params={"of": of}).text
    text = re.search(r"<textarea[^>]*>\n(.*?)</textarea>", shown, re.DOTALL)
    was = re.search(r'name="was" value="([0-9a-f]+)"', shown)
    assert text
    assert was
    return unescape(text[1]), was[1]


def test_memory_md_is_edited_in_place(served: Served, browser: httpx2.Client) -> None:
    of, speaker = "user:telegram::21", facts("21")
    say(served, speaker, "Remember that my desk is white.")
    (identity,) = ids(browser, f"/memories?of={of}")
    text, was = document(browser, of)
    assert "- my desk is white\n" in text, "without the mark that holds its id"
    data = {"form_token": form_token(browser), "of": of, "was": was, "text": text.replace("white", "black") + "- new\n"}
    answer = browser.post("/document", data=data)
    assert "is saved" in answer.text
    assert document(browser, of)[0].endswith("- new\n")
    assert "\r" not in document(browser, of)[0]
    found = served.answer("search", {"speaker": speaker, "query": "desk", "kinds": ["memory"]})["hits"]
    assert found[0]["text"] == "my desk is black"
    assert found[0]["id"] == identity, "a changed line is the same memory"
    history = browser.get(f"/memories/{identity}", params={"of": of}).text
    assert "Edited in the file" in history


def test_what_changed_meanwhile_is_shown_and_not_lost(served: Served, browser: httpx2.Client) -> None:
    of, speaker = "user:telegram::22", facts("22")
    say(served, speaker, "Remember that my chair is white.")
    text, was = document(browser, of)
    say(served, speaker, "Remember that my lamp is <b>tall</b>.")
    data = {"form_token": form_token(browser), "of": of, "was": was, "text": text + "- mine\n"}
    answer = browser.post("/document", data=data)
    assert answer.status_code == 409
    assert "- mine" in answer.text
    assert "my lamp is &lt;b&gt;tall" in answer.text
    assert "- mine" not in document(browser, of)[0]
    again = re.search(r'name="was" value="([0-9a-f]+)"', answer.text)
    assert again
    merged = document(browser, of)[0] + "- mine\n"
    assert browser.post("/document", data=data | {"was": again[1], "text": merged}).status_code == 200
    assert document(browser, of)[0] == merged


# Hostile texts


class Tags(HTMLParser):
    """Every tag and the names of its attributes, and addresses that leave the machine."""

    def __init__(self) -> None:
        super().__init__()
        self.found: set[tuple[str, tuple[str, ...]]] = set()
        self.addresses: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.add((tag, tuple(sorted(name for name, _ in attrs))))
        self.addresses |= {value or "" for name, value in attrs if name in ("href", "src", "action", "hx-get")}


def tags_of(text: str) -> Tags:
    tags = Tags()
    tags.feed(text)
    return tags


def of_template(name: str) -> set[tuple[str, tuple[str, ...]]]:
    """Return the tags that a template writes."""
    templates = Path(views.__file__).with_name("templates")
    return tags_of((templates / f"{name}.html").read_text("utf-8")).found


@pytest.mark.slow
def test_hostile_texts_stay_texts(tmp_path: Path) -> None:
    places = {"main": tmp_path / "main"}
    config = written(tmp_path, agents={"main": {"workspace": str(places["main"])}}, port=0)
    with service(config, workspaces=places) as running, signed_in(running) as browser:
        speaker = facts("5")
        scope = "user:telegram::5"
        say(running, speaker, "Remember that my boat is called Wilma.", f"{DAY}T08:00:00+00:00")
        paths = ["/today", "/memories", f"/conversations/{DAY}", "/replies", "/people"]
        (identity, *_) = ids(browser, f"/memories?of={scope}")
        paths.append(f"/memories/{identity}")
        harmless = [tags_of(browser.get(path, params={"of": scope}).text) for path in paths]
        for number, text in enumerate(HOSTILE):
            say(running, speaker, f"Remember that snippet {number} is {text}", f"{DAY}T09:{number:02}:00+00:00")
            running.answer("save_fact", {"id": f"f{number}", "speaker": speaker, "content": f"Fact {number}: {text}"})
        (folder,) = (places["main"] / "people").iterdir()
        lines = [f"- Line {number}: {text}\n" for number, text in enumerate(wrapped()) if "\n" not in text]
        (folder / "memory/2026-11-19.md").write_text("".join(lines), "utf-8")
        path, seen = "/memories?of=user%3Atelegram%3A%3A5&until=2026-11-19", 0
        while path:
            page = browser.get(path).text
            assert tags_of(page).found <= harmless[1].found | MORE
            seen += len(re.findall(r"Line \d+: ", page))
            older = re.search(r'<a href="([^"]+)">Older</a>', page)
            path = unescape(older[1]) if older else ""
        assert seen >= 300
        for number, text in enumerate(HOSTILE):
            name = "".join(each for each in text if each.isprintable() or each in "\u202e\u2066").replace("/", "⁄")[:60]
            (folder / f"memory/{number} {name}.md").write_text(f"- Filed {number}: the zebra\n", "utf-8")
            key = f"agent:main:telegram:direct:5:thread:{text}"[:200]
            body = {"id": f"k{number}", "user": f"Remember that key {number} has an owl", "reply": "Noted."}
            if key.isprintable():
                running.answer("after_reply", {**body, "speaker": {**speaker, "key": key}})
        running.answer("flush", {})
        filed = ids(browser, f"/memories?of={scope}&q=zebra&kind=note") + ids(browser, f"/memories?of={scope}&q=zebra")
        for identity in filed[:20]:
            shown = browser.get(f"/memories/{identity}", params={"of": scope}).text
            assert tags_of(shown).found <= harmless[5].found | MORE | {
                ("p", ("class",)),
                ("form", ("action", "method")),
            }
        assert filed
        long = "Remember that the long line is " + "x" * 1_000_000
        say(running, speaker, long, f"{DAY}T10:00:00+00:00")
        for path, before in zip(paths, harmless, strict=True):
            answer = browser.get(path, params={"of": scope})
            assert answer.status_code == 200
            after = tags_of(answer.text)
            assert after.found <= before.found | MORE, path
            assert all(address.startswith(("/", "#")) for address in after.addresses)
            assert not any(address.startswith("//") for address in after.addresses)
        portrait = tags_of(browser.get("/", params={"of": scope}).text)
        assert portrait.found <= harmless[0].found | of_template("portrait") | MORE
        assert all(address.startswith(("/", "#")) and address[:2] != "//" for address in portrait.addresses)
        found = browser.get("/memories", params={"of": scope, "q": "<script>alert(1)</script>"}).text
        assert tags_of(found).found <= harmless[1].found | MORE
        day = browser.get(f"/conversations/{DAY}", params={"of": scope}).text
        assert "{{ 7 * 7 }}" in day


@pytest.mark.slow
def test_hostile_names_stay_texts(tmp_path: Path) -> None:
    """Names of files, people, rooms and session keys come from outside as texts do."""
    places = {"main": tmp_path / "main"}
    config = written(tmp_path, agents={"main": {"workspace": str(places["main"])}}, port=0)
    with service(config, workspaces=places) as running, signed_in(running) as browser:
        fixed = ["/today", "/digest", "/memories", f"/conversations/{DAY}", "/replies", "/settings", "/document"]
        people = ["5", *(text for text in HOSTILE if "\x1b" not in text)]
        refused = running.post("before_reply", {"speaker": facts("\x1b[31mred\x1b[0m"), "message": "x"})
        assert refused.status_code == 400, "a name with a terminal's codes is none"
        for number, sender in enumerate(people):
            say(
                running,
                facts(sender),
                f"Remember that my boat {number} is called Wilma.",
                f"{DAY}T09:{number:02}:00+00:00",
            )
        scopes = re.findall(r'<a href="/\?of=([^"&]+)"', browser.get("/people").text)
        assert len(scopes) == len(people), "nobody is left out"
        files = [places["main"] / "memory" / f"{text.replace('/', '∕')}.md" for text in HOSTILE]
        files[0].parent.mkdir(parents=True, exist_ok=True)
        for number, file in enumerate(files):
            file.write_text(f"- Note {number} of a file with a hostile name\n", "utf-8")
        harmless: dict[str, Tags] = {}
        for scope in ["user%3Atelegram%3A%3A5", *scopes, "owner"]:
            own = ids(browser, f"/memories?of={scope}")
            assert len(own) == (scope != "owner")
            for path in [*fixed, *(f"/memories/{each}" for each in own)]:
                answer = browser.get(f"{path}?of={scope}")
                assert answer.status_code == 200, (path, scope)
                kind = path if path in fixed else "/memories/…"
                after = tags_of(answer.text)
                if kind not in harmless:
                    harmless[kind] = after
                else:
                    assert after.found <= harmless[kind].found | MORE, (path, scope)
                assert "\x1b" not in answer.text, "no terminal's codes"
                assert all(each.startswith(("/", "#")) and each[:2] != "//" for each in after.addresses)
            portrait = tags_of(browser.get(f"/?of={scope}").text)
            assert portrait.found <= harmless["/today"].found | of_template("portrait") | MORE, scope
        deleting = tags_of(browser.get("/people/delete?of=user%3Atelegram%3A%3A5").text).found
        for scope in scopes:
            assert tags_of(browser.get(f"/people/delete?of={scope}").text).found <= deleting | MORE
        notes = browser.get("/memories?q=note+of+a+file+with+a+hostile+name&kind=note").text
        assert "Note 1 of" in notes
        chosen = {("option", ("selected", "value"))}
        assert tags_of(notes).found <= harmless["/memories"].found | MORE | chosen


MORE = {
    ("li", ()),
    ("details", ("class", "open")),
    ("ul", ("class",)),
    ("a", ("dir", "href")),
    ("a", ("href",)),
    ("p", ()),
}
"""Tags of lists that are longer, and links to the next page."""


# Today, over time, settings


def test_today_says_what_replaced_what_and_takes_each_change_back(served: Served, browser: httpx2.Client) -> None:
    of, speaker = "user:telegram::81", facts("81")
    say(served, speaker, "Remember that the cellar is damp.")
    say(served, speaker, "My rent is 1450 euros a month.")
    say(served, speaker, "Actually my rent is 1500 euros a month.")
    shown = browser.get("/today", params={"of": of}).text
    assert re.search(r">Replaced</span>\s*<a [^>]+>my rent is 1500 euros a month</a>\s*<span class=\"was\">instead of "
                     r"<s dir=\"auto\">My rent is 1450 euros a month</s>", shown), shown  # fmt: skip
    undo = re.findall(
        r'name="id" value="([a-z2-7]{8})">\s*<button class="quiet" aria-describedby="(change-\d+)"', shown
    )
    lines = dict(re.findall(r'dir="auto" id="(change-\d+)">([^<]+)<', shown))
    assert [lines[place] for _, place in undo] == [
        "my rent is 1500 euros a month", "My rent is 1450 euros a month", "the cellar is damp"]  # fmt: skip
    act(browser, "undo", of=of, id=undo[0][0])
    now = browser.get("/memories", params={"of": of}).text
    assert "My rent is 1450 euros a month" in now
    assert "1500" not in now
    assert "the cellar is damp" in now
    shown = browser.get("/today", params={"of": of}).text
    assert ">Restored</span>" in shown
    assert shown.count('aria-describedby="change-') == 1, "what was undone has nothing to undo"


def date_of(day: date) -> str:
    """Return how the page writes a day: "3 Nov", with its year where that is another one."""
    year = "" if day.year == datetime.now(UTC).year else f" {day.year}"
    return f"{day.day} {day:%b}{year}"


def test_a_model_that_agrees_with_the_rules_changes_nothing(tmp_path: Path) -> None:
    said = "My sister Marta lives in Lisbon"
    agreed = Say(text=found(entry(said, said)))
    places = {"main": tmp_path / "main"}
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(serving()) as provider,
    ):
        provider.always = lambda _: agreed
        model = {"autoExtract": {"model": "openai/m", "baseUrl": f"{provider.url}/v1"}}
        config = written(tmp_path, agents={"main": {"workspace": str(places["main"])}}, port=0, memory=model)
        with service(config, workspaces=places) as running, signed_in(running) as browser:
            say(running, OWNER, f"{said}.")
            assert provider.asked
            for path in ("/today", "/digest", "/over-time"):
                shown = browser.get(path).text
                main = shown.partition("<main")[2]
                assert main.count(said) == 1, path
                assert "instead of" not in main
                assert "replaced by" not in main
            assert ">Learnt</span>" in browser.get("/today").text


def test_today_names_a_forgotten_exchange_by_its_day(served: Served, browser: httpx2.Client) -> None:
    of, speaker = "user:telegram::83", facts("83")
    say(served, speaker, "Remember that the shed is green.", "2026-11-17T08:00:00+00:00")
    turn = re.search(r'name="id" value="(e\d+u0)"', browser.get("/conversations/2026-11-17", params={"of": of}).text)
    assert turn
    act(browser, "forget", of=of, id=turn[1])
    shown = browser.get("/today", params={"of": of}).text
    assert "an exchange of 17 Nov" in shown
    assert "2026-11-17</a>" not in shown, "no internal name"
    assert not re.search(r">Learnt</span>\s*<a [^>]+>A removed memory<", shown), "that says nothing"
    undo = re.search(r'name="id" value="(e\d+)"', shown)
    assert undo
    act(browser, "undo", of=of, id=undo[1])
    assert "the shed is green" in browser.get("/memories", params={"of": of}).text, "with what was learnt from it"
    assert "shed is green" in browser.get("/conversations/2026-11-17", params={"of": of}).text


def test_a_failure_of_late_stands_above_what_changed(tmp_path: Path) -> None:
    places = {"main": tmp_path / "main"}
    config = written(tmp_path, agents={"main": {"workspace": str(places["main"])}}, port=0)
    with service(config, workspaces=places) as running, signed_in(running) as browser:
        assert 'href="#failure"' not in browser.get("/today").text
        for days, is_told in ((2, False), (0, True)):
            at = datetime.now(UTC).timestamp() - days * 86400
            with closing(sqlite3.connect(places["main"] / "journal.sqlite")) as journal, journal:
                journal.execute("INSERT OR REPLACE INTO failures VALUES (?, ?, ?, ?)", ("journal", "OSError", at, 1))
            shown = browser.get("/today").text
            assert ('href="#failure"' in shown.partition('id="changes"')[0]) == is_told
            assert "Nothing has failed" not in shown


def test_what_a_week_cost_is_told(tmp_path: Path) -> None:
    places = {"main": tmp_path / "main"}
    config = written(tmp_path, agents={"main": {"workspace": str(places["main"])}}, port=0)
    with service(config, workspaces=places) as running, signed_in(running) as browser:
        assert "No model was asked" in browser.get("/over-time").text
        today = datetime.now(UTC).date()
        with closing(sqlite3.connect(places["main"] / "journal.sqlite")) as journal, journal:
            journal.executemany(
                "INSERT INTO usage (day, extractions, input_tokens, output_tokens) VALUES (?, ?, ?, ?)",
                [(str(today - timedelta(days=ago)), ago + 1, 1_000_000, 100_000) for ago in (1, 3, 9, 40)],
            )
        shown = re.sub(r"<[^>]+>|\s+", " ", browser.get("/over-time").text)
        assert re.search(r"Cost, last 7 days +\$0\.42 +\$0\.21 the week before", shown), shown
        assert re.search(r"Tokens, last 7 days +2,200,000 +1,100,000 the week before", shown)
        assert re.search(r"Calls, last 7 days +6 +10 the week before", shown)
        assert "2,000,000" in shown, "the top of the axis"
        assert len(re.findall(r"1,100,000 +0\.21 ", shown)) == 4, (
            "a row for each day of four weeks that had any, and a week"
        )
        first, last = (date_of(today - timedelta(days=ago)) for ago in (13, 7))
        assert re.search(rf"{first} – {last} +10 +1,100,000 +0\.21", shown), "each week has a row"


def test_settings_tell_first_what_differs(browser: httpx2.Client) -> None:
    shown = browser.get("/settings").text
    differing, _, every = shown.partition("All settings")
    plain = re.sub(r"<[^>]+>|\s+", " ", differing)
    assert re.search(r"Change it in \S+config\.json5, and start", plain), "the file is named"
    assert "autoExtract. model" in plain.replace(".model", ". model")
    assert re.search(r'"?rules"? *instead of', unescape(plain)) or "rules" in plain
    assert "timeoutMs" not in differing
    assert "timeoutMs" in every
    for section in (*known_keys(("agents", "defaults", "memorySync")), "serve"):
        assert texts("page")[f"section_{section}"]["en"] in every


def test_after_wrong_a_memory_can_be_mended(served: Served, browser: httpx2.Client) -> None:
    of, speaker = "user:telegram::82", facts("82")
    say(served, speaker, "Remember that my canoe is called Nessie.")
    other = {**speaker, "key": "agent:main:telegram:direct:82:thread:2"}
    asked = {"speaker": other, "message": "What is my canoe called?", "opening": False, "ephemeral": True}
    served.answer("before_reply", asked)
    said = {"id": "canoe", "speaker": other, "user": asked["message"], "reply": "Nessie.", "ephemeral": True}
    served.answer("after_reply", said)
    served.answer("flush", {})
    path = re.search(r'href="(/replies/(\d+)\?of=[^"]+)"', browser.get("/replies", params={"of": of}).text)
    assert path
    shown = browser.get(unescape(path[1])).text
    assert 'value="correct"' not in shown
    (identity,) = re.findall(r'id="row-([a-z2-7]{8})"', shown)
    answer = act(browser, "wrong", of=of, id=identity, text=f"#{path[2]}")
    assert "The memory itself stays" in answer.text
    assert "/memory" not in re.findall(r'role="status"[^>]*>([^<]+)<', answer.text)[0], "a page names no commands"
    shown = browser.get(unescape(path[1])).text
    assert 'value="correct"' in shown
    assert "Is the memory wrong, too?" in shown
    act(browser, "correct", of=of, id=identity, text="my canoe is called Loch")
    assert "my canoe is called Loch" in browser.get("/memories", params={"of": of}).text


def test_the_chinese_page_has_no_english_word_of_ours(tmp_path: Path) -> None:
    places = {"main": tmp_path / "main"}
    config = written(tmp_path, agents={"main": {"workspace": str(places["main"])}}, port=0)
    with service(config, workspaces=places) as running, signed_in(running) as browser:
        browser.headers["Accept-Language"] = "zh"
        say(running, OWNER, "我的房租是每月1450元", f"{DAY}T09:00:00+00:00")
        say(running, OWNER, "我的房租现在是每月1500元")
        say(running, ZOE, "记住主人把船借给我到五月")
        (identity, *_) = ids(browser)
        act(browser, "pin", id=identity)
        act(browser, "wrong", text="#2")
        paths = [
            path.format(id=identity, turn=2, day=DAY) for path in VIEWS if not path.startswith(("/people", "/about"))
        ]
        for path in [*paths, "/review?of=user:telegram::7", "/memories?q=房租&since=soon", "/memories/zzzzzzzz"]:
            page = browser.get(path).text.partition("<body")[2]
            page = re.sub(r"<svg.*?</svg>|<code[^>]*>.*?</code>|<bdi>.*?</bdi>", " ", page, flags=re.DOTALL)
            shown = [
                unescape(re.sub(r"<[^>]+>", " ", page)),
                *re.findall(r'(?:aria-label|placeholder)="([^"]*)"', page),
            ]
            if path != "/settings":  # the meaning of a key names values
                left = {word for text in shown for word in re.findall(r"[A-Za-z]{2,}", text)} - OUR_NAMES
                assert not left, (path, left)


OUR_NAMES = {
    "Memory",
    "MEMORY",
    "md",
    "English",
    "OK",
    "token",  # as people say it in Chinese
    "noted",
    "agent",
    "main",
    "telegram",
    "direct",
    "user",
    "soon",
    "Remember",
}
"""Names, what was said in the test, and keys of sessions."""


# Review, people, news


def test_what_waits_is_decided_on_the_page(served: Served, browser: httpx2.Client) -> None:
    of, speaker = "user:telegram::61", facts("61")
    say(served, speaker, "Remember that the owner keeps a parrot.")
    assert "parrot" not in browser.get("/memories", params={"of": of}).text
    shown = browser.get("/review", params={"of": of}).text
    assert "the owner keeps a parrot" in shown
    assert "Somebody else says it about the owner" in shown
    assert "Remember that <mark>the owner keeps a parrot</mark>." in shown
    assert "1 memory waits for your approval" in browser.get("/today", params={"of": of}).text
    assert "parrot" in browser.get("/review").text, "the owner is asked about what concerns the owner"
    (identity,) = re.findall(r'id="review-([a-z2-7]{8})"', shown)
    act(browser, "reject", of=of, id=identity, text="never")
    assert "Nothing waits" in browser.get("/review", params={"of": of}).text
    act(browser, "undo", of=of)
    answer = act(browser, "approve", of=of, id=identity, text="The owner keeps a macaw")
    assert "Kept: The owner keeps a macaw" in unescape(answer.text)
    assert "macaw" in browser.get("/memories", params={"of": of}).text


def test_people_are_linked_and_parted_on_the_page(served: Served, browser: httpx2.Client) -> None:
    one, two = "user:telegram::62", "user:telegram::63"
    say(served, facts("62"), "Remember that the gate code is on the fridge.")
    say(served, facts("63"), "Remember that the piano was tuned in May.")
    chosen = re.search(
        r'<select name="id" required>(<option value="">.*?)</select>', browser.get("/people").text, re.DOTALL
    )
    assert chosen, "nobody is chosen before a person chooses"
    assert f'<option value="{one}">' in chosen[1] or f'<option value="{two}">' in chosen[1]
    answer = act(browser, "link", whose=two, id=one)
    assert "share one memory" in answer.text
    assert "piano" in browser.get("/memories", params={"of": one}).text
    assert "one memory with" in browser.get("/people").text
    act(browser, "unlink", whose=two, id=two)
    assert "piano" not in browser.get("/memories", params={"of": one}).text
    assert "piano" in browser.get("/memories", params={"of": two}).text


def test_a_person_is_deleted_with_proof_while_the_service_runs(served: Served, browser: httpx2.Client) -> None:
    of = "user:telegram::64"
    say(served, facts("64"), "Remember that my kayak is called Selkie.")
    shown = browser.get("/people/delete", params={"of": of}).text
    assert "1 memory, 1 exchange and 1 conversation will be deleted" in re.sub(r"\s+", " ", shown)
    assert "Selkie" in shown, "what was said last tells who it is"
    assert "last: today" in shown
    assert "It stays there until" in shown, "what stays is told"
    token = form_token(browser)
    mistyped = browser.post("/people/delete", data={"form_token": token, "of": of, "typed": "Telegram · 65"})
    assert "That is something else" in mistyped.text
    assert "Selkie" in browser.get("/memories", params={"of": of}).text
    assert browser.post("/people/delete", data={"of": of, "typed": "Telegram · 64"}).status_code == 403
    proof = browser.post("/people/delete", data={"form_token": token, "of": of, "typed": " telegram  · 64 "})
    assert "Nothing is left." in proof.text
    assert "telegram%3A%3A64" not in proof.text, "no link leads to what is gone"
    assert "Whose memory" not in proof.text
    assert re.search(r"Conversations</th><td>[1-9]\d*</td><td>0</td>", proof.text)
    assert re.search(r"[1-9]\d* files were searched for [1-9]\d* of the deleted texts; 0 contain one", proof.text)
    assert browser.get("/memories", params={"of": of}).status_code == 404
    assert "4711" in browser.get("/memories").text, "the others' memories are open again"
    say(served, facts("64"), "Remember that my raft is called Otter.")
    assert "Otter" in browser.get("/memories", params={"of": of}).text


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_deletion_says_which_programs_are_in_its_way(tmp_path: Path, language: str) -> None:
    folder, of = tmp_path / "main", "user:telegram::64"
    config = written(tmp_path, agents={"main": {"workspace": str(folder)}}, port=0)
    with service(config, workspaces={"main": folder}) as served, signed_in(served) as browser:
        say(served, facts("64"), "Remember that my kayak is called Selkie.")
        browser.headers["Accept-Language"] = language
        form = {"form_token": form_token(browser), "of": of, "typed": "Telegram · 64"}

        async def beside_another() -> httpx2.Response:
            async with GatewayMemory(load_config(), folder):
                return await asyncio.to_thread(browser.post, "/people/delete", data=form)

        refused = asyncio.run(beside_another())
        assert texts("page")["delete_not_alone"][language] in unescape(refused.text)
        assert "Selkie" in browser.get("/memories", params={"of": of}).text


def test_the_page_is_told_that_something_is_new(served: Served, browser: httpx2.Client) -> None:
    with served.client("") as nobody:
        assert nobody.get("/news").status_code == 401
    with browser.stream("GET", "/news", timeout=seconds(20)) as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        lines = stream.iter_lines()
        assert next(lines) == "retry: 2000"
        say(served, facts("65"), "Remember that the ladder is in the shed.")
        told = next(line for line in lines if line.startswith("event:"))
        assert told == "event: news"
        assert "ladder" not in next(lines)


def test_open_pages_leave_the_gateway_its_changes(served: Served, browser: httpx2.Client) -> None:
    with ExitStack() as tabs, served.client() as host:
        for _ in range(16):
            assert tabs.enter_context(browser.stream("GET", "/news", timeout=seconds(20))).status_code == 200
        assert browser.get("/news").status_code == 503, "the tabs have their own limit"
        with host.stream("GET", "/v1/changes") as stream:
            assert stream.status_code == 200
            assert next(stream.iter_lines()) == ": listening"


def test_chat_shell_and_page_make_the_same_calls(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    places = {"main": tmp_path / "main"}
    config = written(tmp_path, agents={"main": {"workspace": str(places["main"])}}, port=0)
    with service(config, workspaces=places) as running, signed_in(running) as browser:

        def chat(command: str, *words: str) -> None:
            answer = running.answer(
                "command", {"id": command + words[0], "speaker": OWNER, "text": f"/memory {command} {' '.join(words)}"}
            )
            assert answer["done"], answer

        def shell(command: str, *words: str) -> None:
            assert main([command, *words, "--workspace", str(places["main"])]) == 0, capsys.readouterr()

        def page(command: str, *words: str) -> None:
            act(browser, command, id=words[0], text=" ".join(words[1:]))

        left: list[list[tuple[str, str, str]]] = []
        for number, (call, thing) in enumerate(((chat, "kite"), (shell, "canoe"), (page, "accordion"))):
            body = {"speaker": OWNER, "content": f"The user owns a {thing}"}
            kept = running.answer("save_fact", {"id": f"s{number}", **body})["memory"]
            call("correct", kept, f"The user owns a very old {thing}")
            (now,) = [each for each in ids(browser) if thing in browser.get(f"/memories/{each}").text]
            call("pin", now)
            call("forget", now)
            call("undo", now)
            newest = json.loads(
                _printed(capsys, ["receipts", "--limit", "4", "--json", "--workspace", str(places["main"])])
            )
            left.append(
                [
                    (receipt["stage"], outcome["action"], outcome["reason"])
                    for receipt in newest["receipts"]
                    for outcome in receipt["outcomes"]
                ]
            )
        assert left[0] == left[1] == left[2]
        assert [action for _, action, _ in left[0]] == ["restored", "forgotten", "moved", "update"]


def _printed(capsys: pytest.CaptureFixture[str], command: list[str]) -> str:
    capsys.readouterr()
    assert main(command) == 0
    return capsys.readouterr().out

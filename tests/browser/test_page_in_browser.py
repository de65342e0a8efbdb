"""The page in a real browser: what a person sees and does there, with and without JavaScript."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hostile import HOSTILE, wrapped
from loopback import free_port
from npm import installed
from playwright.sync_api import Browser, BrowserContext, Dialog, Locator, Page
from served import OWNER, Served, facts, service, written

DAY = "2026-11-20"
GUEST = "of=user%3Atelegram%3A%3A9"
PATHS = ("/", "/today", "/memories", "/memories?q=locker", "/conversations", f"/conversations/{DAY}", "/replies",
         "/people", "/settings", "/digest", "/document", "/replies/2", "/review", "/over-time",
         f"/people/delete?{GUEST}", f"/review?{GUEST}", f"/people?{GUEST}", "/try",
         "/try?q=Which+number+has+my+locker%3F&least=0.7")  # fmt: skip
SAID = (
    "Remember that my locker is number 4711.",
    "记住我的自行车是红色的",
    "I prefer tea to coffee in the morning.",
    "Remember that the hostile text is <img src=//evil.example/x onerror=alert(1)><script>alert(2)</script>",
    "Remember that the \u202ereversed\u202c boat is " + "very " * 200 + "long",
)


@pytest.fixture(scope="session")
def axe() -> str:
    """The source of axe, which finds what people with a screen reader or a keyboard can't use."""
    return (installed("axe", "axe-core@4.14.1", runs=False) / "node_modules/axe-core/axe.min.js").read_text("utf-8")


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    return written(folder, agents={"main": {"workspace": str(folder / "main")}}, port=free_port())


@pytest.fixture(scope="module")
def served(config: Path) -> Iterator[Served]:
    with running(config) as service_:
        for number, text in enumerate(SAID):
            say(service_, text, number)
        say(service_, "Remember that the owner collects stamps.", 50, facts("9"))
        yield service_


@contextmanager
def running(config: Path) -> Iterator[Served]:
    with service(config, workspaces={"main": config.parent / "main"}) as served:
        yield served


def say(served: Served, text: str, number: int, speaker: dict[str, str] = OWNER) -> None:
    served.answer("before_reply", {"speaker": speaker, "message": text})
    at = f"{DAY}T09:{number % 60:02}:00+00:00"
    served.answer("after_reply", {"id": f"t{number}", "speaker": speaker, "user": text, "reply": "Noted.", "at": at})
    served.answer("flush", {})


def link(served: Served) -> str:
    with served.client() as host:
        return served.url + str(host.post("/page/link").json()["path"])


class Watched:
    """A browser window. seen: what it asked of other hosts, what it wrote to its console, and its dialogs."""

    def __init__(self, context: BrowserContext, served: Served) -> None:
        self.url = served.url
        self.seen: list[str] = []
        self.page = self.tab(context)
        self.page.goto(link(served))

    def tab(self, context: BrowserContext) -> Page:
        page = context.new_page()
        page.on("request", lambda request: self.seen.extend([request.url] * (not request.url.startswith(self.url))))
        page.on("console", lambda message: self.seen.append(message.text))
        page.on("pageerror", lambda error: self.seen.append(str(error)))
        page.on("dialog", self._dismiss)
        return page

    def _dismiss(self, dialog: Dialog) -> None:
        self.seen.append("a dialog")
        dialog.dismiss()

    def open(self, path: str) -> Page:
        self.page.goto(self.url + path)
        return self.page


@contextmanager
def window(chromium: Browser, served: Served, **values: Any) -> Iterator[Watched]:
    context = chromium.new_context(**{"viewport": {"width": 1280, "height": 800}, "locale": "en-US", **values})
    watched = Watched(context, served)
    yield watched
    context.close()
    assert watched.seen == []


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("language", ["en-US", "zh-CN"])
def test_each_page_fits_and_can_be_used_by_everybody(
    chromium: Browser, served: Served, axe: str, language: str, scheme: str, width: int
) -> None:
    size = {"width": width, "height": 844}
    with window(chromium, served, locale=language, color_scheme=scheme, viewport=size) as shown:
        first = shown.open("/memories").locator("#found a").first.get_attribute("href")
        for path in (*PATHS, str(first)):
            page = shown.open(path)
            assert page.locator("h1").is_visible()
            assert page.evaluate("document.documentElement.scrollWidth") <= width, path
            page.evaluate(axe)
            found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
            bad = [(each["id"], each["nodes"][0]["html"]) for each in found["violations"]
                   if each["impact"] in ("serious", "critical")]  # fmt: skip
            assert bad == [], path
            page.evaluate("document.querySelectorAll('main details').forEach(each => each.open = true)")
            assert page.evaluate("document.documentElement.scrollWidth") <= width, f"{path} with its folded parts"
            found = page.evaluate("axe.run('main', {resultTypes: ['violations']})")
            assert [each["id"] for each in found["violations"] if each["impact"] in ("serious", "critical")] == [], path


@pytest.mark.parametrize("javascript", [True, False])
def test_on_a_phone_the_tabs_are_in_a_menu(chromium: Browser, served: Served, *, javascript: bool) -> None:
    with window(chromium, served, java_script_enabled=javascript, viewport={"width": 390, "height": 844}) as shown:
        page = shown.open("/")
        box = page.locator("header").bounding_box()
        assert box
        assert box["height"] < 70, "one line"
        assert page.get_by_role("link", name="Settings").count() == 0
        page.get_by_label("Menu").first.click()
        page.get_by_role("link", name="Settings").click()
        assert page.url.endswith("/settings")
        page.get_by_label("Menu").first.click()
        page.get_by_role("button", name="中文").click()
        assert page.locator("h1").inner_text() == "设置"
    with window(chromium, served) as shown:
        page = shown.open("/")
        box = page.locator("header").bounding_box()
        assert box
        assert box["height"] < 70, "one line"
        assert page.get_by_role("link", name="Settings").is_visible()
        assert not page.locator(".menu").is_visible()


def test_no_word_of_the_settings_is_broken_on_a_phone(chromium: Browser, served: Served) -> None:
    """A name of a key stays whole, or is broken at a dot."""
    with window(chromium, served, viewport={"width": 390, "height": 844}) as shown:
        page = shown.open("/settings")
        page.evaluate("document.querySelectorAll('main details').forEach(each => each.open = true)")
        broken = page.evaluate("""[...document.querySelectorAll('.setting .text code')].flatMap(code =>
            [...code.childNodes].filter(part => part.nodeType === 3).filter(part => {
                const range = document.createRange();
                range.selectNodeContents(part);
                return range.getClientRects().length > 1;
            }).map(part => part.data))""")
        assert broken == []


def test_a_search_as_you_type_has_an_address(chromium: Browser, served: Served) -> None:
    with window(chromium, served) as shown:
        page = shown.open("/memories")
        page.get_by_label("Search the memories").press_sequentially("locker", delay=20)
        page.wait_for_url("**/memories?q=locker**")
        page.locator("#found").get_by_text("4711").first.wait_for()
        page.reload()
        assert page.get_by_label("Search the memories").input_value() == "locker"
        assert page.locator("#found").get_by_text("4711").first.is_visible()
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.tagName") == "A", "the keyboard reaches everything"


@pytest.mark.parametrize("javascript", [True, False])
def test_a_message_is_tried_and_tuned_until_it_tells_nothing(
    chromium: Browser, served: Served, config: Path, *, javascript: bool
) -> None:
    before = config.read_text("utf-8")
    with window(chromium, served, java_script_enabled=javascript) as shown:
        page = shown.open("/")
        page.get_by_label("What would the assistant be told for this message?").fill("Which number has my locker?")
        page.get_by_role("button", name="Try it").click()
        page.wait_for_url("**/try?q=Which**")
        page.locator(".considered .text").first.get_by_text("4711").wait_for()
        slider = page.get_by_label("Least score of memories")
        slider.focus()
        page.keyboard.press("End")
        if javascript:
            assert page.locator("output").first.inner_text() == "1.00"
        else:
            page.get_by_role("button", name="Try it").click()
        save = page.get_by_role("button", name="Save 1.00 and 0.50")
        save.wait_for()
        assert "least=1" in page.url
        assert page.locator("#scale-least .in").count() == 0, "the marks below the slider are new, too"
        assert page.locator("#scale-least .out").count() > 0
        save.click()
        page.get_by_role("status").filter(has_text="Saved in").wait_for()
        shown.open("/settings")
        page.get_by_role("button", name="Put the default back").click()
        page.get_by_role("status").filter(has_text="Saved in").wait_for()
        assert page.get_by_role("button", name="Put the default back").count() == 0
    config.write_text(before, "utf-8")


@pytest.mark.parametrize("javascript", [True, False])
def test_a_memory_is_corrected_forgotten_and_brought_back(
    chromium: Browser, served: Served, *, javascript: bool
) -> None:
    name = "Wilma" if javascript else "Erna"
    say(served, f"Remember that my boat is called {name}.", 100 + javascript)
    with window(chromium, served, java_script_enabled=javascript) as shown:
        page = shown.open("/memories")
        page.get_by_label("Search the memories").fill(f"boat called {name}")
        page.get_by_role("button", name="Search").click()
        page.get_by_role("link", name=f"my boat is called {name}", exact=True).click()
        assert page.locator(".exchange").inner_text().count(f"Remember that my boat is called {name}.") == 1
        assert page.locator("mark").inner_text() == f"my boat is called {name}"
        page.get_by_text("Correct", exact=True).click()
        page.get_by_label("Text").fill(f"my boat is called {name} the Second")
        page.get_by_role("button", name="Save").click()
        assert "the Second" in page.get_by_role("status").inner_text()
        page = shown.open(f"/memories?q=boat+{name}&kind=memory")
        page.get_by_role("link", name=f"{name} the Second").click()
        page.get_by_role("button", name="Forget", exact=True).click()
        assert "Forgotten" in page.get_by_role("status").inner_text()
        assert page.get_by_role("button", name="Bring it back").count() == 0, "the note has that button"
        page.reload()
        page.get_by_role("button", name="Bring it back").click()
        assert page.get_by_label("Text").input_value() == f"my boat is called {name} the Second"


def test_what_another_tab_changed_is_said(chromium: Browser, served: Served) -> None:
    say(served, "Remember that the ladder stands in the barn.", 110)
    with window(chromium, served) as shown:
        page = shown.open("/memories?q=ladder&kind=memory")
        page.get_by_role("link", name="the ladder stands in the barn").click()
        other = shown.tab(page.context)
        other.goto(page.url)
        other.get_by_text("Correct", exact=True).click()
        other.get_by_label("Text").fill("the ladder stands in the yard")
        other.get_by_role("button", name="Save").click()
        page.get_by_text("Correct", exact=True).click()
        page.get_by_label("Text").fill("the ladder stands in the attic")
        page.get_by_role("button", name="Save").click()
        assert "That memory is no longer there." in page.get_by_role("status").inner_text()
        page = shown.open("/memories?q=ladder&kind=memory")
        assert page.get_by_role("link", name="the ladder stands in the yard").is_visible()
        assert page.get_by_text("attic").count() == 0


@pytest.mark.parametrize(("path", "told"), [("/today", "gate code is blue"), ("/", "gate code is green")])
def test_what_is_told_shows_at_once(chromium: Browser, served: Served, path: str, told: str) -> None:
    with window(chromium, served) as shown:
        page = shown.open(path)
        said = {"id": told, "speaker": OWNER, "user": f"Remember that the {told}.", "reply": "Noted."}
        served.answer("after_reply", said)
        served.answer("flush", {})
        page.get_by_text(told).first.wait_for(timeout=15_000)


@pytest.mark.parametrize("path", ["/", "/today"])
def test_what_is_typed_stays_while_the_page_renews_itself(chromium: Browser, served: Served, path: str) -> None:
    with window(chromium, served) as shown:
        page = shown.open(path)
        page.get_by_label("What would the assistant be told for this message?").fill("Where is the")
        text = f"Remember that the harpsichord of {path[1:] or 'home'} stands in the attic."
        say(served, text, 270 + len(path))
        page.get_by_text(f"harpsichord of {path[1:] or 'home'}").first.wait_for()
        assert page.get_by_label("What would the assistant be told for this message?").input_value() == "Where is the"
        if path == "/":
            number = page.locator("#hero").get_by_role("link", name="memories").inner_text()
            assert number == shown.open("/").locator("#hero").get_by_role("link", name="memories").inner_text()


def test_texts_of_users_run_nowhere(chromium: Browser, served: Served) -> None:
    zoe = facts("<script>alert(3)</script>", key="agent:main:telegram:direct:<script>alert(3)</script>")
    say(served, "Remember that I like <svg onload=alert(4)>", 120, zoe)
    with window(chromium, served) as shown:
        for path in PATHS:
            shown.open(path).wait_for_timeout(100)
        page = shown.open("/people")
        for number in range(page.locator("main .said a").count()):
            page.locator("main .said a").nth(number).click()
            page.wait_for_timeout(100)
            page = shown.open("/people")


def test_hundreds_of_hostile_texts_run_nowhere(chromium: Browser, tmp_path: Path) -> None:
    config = written(tmp_path, agents={"main": {"workspace": str(tmp_path / "main")}}, port=free_port())
    with running(config) as served:
        say(served, "Remember that the kite is yellow.", 1)
        lines = [f"- Line {number}: {text}\n" for number, text in enumerate(wrapped())]
        (tmp_path / "main/memory").mkdir(exist_ok=True)
        (tmp_path / f"main/memory/{DAY}.md").write_text("".join(lines), "utf-8")
        for number, text in enumerate(HOSTILE):
            say(served, f"Remember that thing {number} is {text}", 10 + number)
            say(served, f"Remember that the owner is {text}", 100 + number, facts("9"))
        with window(chromium, served) as shown:
            page, seen = shown.open("/memories"), 0
            while page.get_by_role("link", name="Older").count():
                seen += page.locator("#found li").count()
                page.get_by_role("link", name="Older").click()
            assert seen >= len(lines) - 50
            for path in (
                "/",
                "/today",
                "/review",
                f"/conversations/{DAY}",
                "/replies",
                "/over-time",
                "/people",
                "/document",
            ):
                assert shown.open(path).locator("h1").is_visible()
            shown.page.wait_for_timeout(500)


def test_an_open_page_lives_on_when_the_service_starts_again(chromium: Browser, tmp_path: Path) -> None:
    config = written(tmp_path, agents={"main": {"workspace": str(tmp_path / "main")}}, port=free_port())
    with running(config) as served:
        say(served, "Remember that the kite is yellow.", 1)
        context = chromium.new_context(locale="en-US")
        page = Watched(context, served).page
        page.goto(f"{served.url}/memories")
        page.get_by_role("link", name="the kite is yellow").click()
    with running(config):
        page.get_by_role("button", name="Forget", exact=True).click()
        assert "Forgotten: the kite is yellow" in page.get_by_role("status").inner_text()
        context.close()


@pytest.mark.parametrize("javascript", [True, False])
def test_what_waits_is_approved_and_rejected(chromium: Browser, served: Served, *, javascript: bool) -> None:
    speaker = facts("71" if javascript else "72")
    of = f"user%3Atelegram%3A%3A{speaker['sender_id']}"
    for number, text in enumerate(("the owner sings", "the owner paints", "the owner fences")):
        say(served, f"Remember that {text}.", 200 + 10 * javascript + number, speaker)
    with window(chromium, served, java_script_enabled=javascript) as shown:
        page = shown.open(f"/review?of={of}")
        sings = page.locator("article", has_text="the owner sings")
        sings.get_by_role("button", name="Keep it", exact=True).first.click()
        assert "Kept: the owner sings" in page.get_by_role("status").inner_text()
        paints = page.locator("article", has_text="the owner paints")
        paints.get_by_role("button", name="Never ask again").click()
        assert "not asked about again" in page.get_by_role("status").inner_text()
        fences = page.locator("article", has_text="the owner fences")
        fences.get_by_text("In other words").click()
        page.reload()  # in the middle of it: nothing was sent, and nothing is lost
        fences.get_by_text("In other words").click()
        fences.get_by_label("Text").fill("the owner learns to fence")
        fences.get_by_role("button", name="Keep it", exact=True).last.click()
        assert "Nothing waits for you" in page.locator("main").inner_text()
        page = shown.open(f"/memories?of={of}")
        told = page.locator("#found").inner_text()
        assert "the owner sings" in told
        assert "the owner learns to fence" in told
        assert "paints" not in told


@pytest.mark.parametrize("javascript", [True, False])
def test_a_reply_is_judged(chromium: Browser, served: Served, *, javascript: bool) -> None:
    say(served, "Where is my locker, and what is its number?", 230 + javascript)
    with window(chromium, served, java_script_enabled=javascript) as shown:
        page = shown.open("/replies")
        page.get_by_role("link", name="Why").first.click()
        whole = page.locator("section", has=page.get_by_role("heading", name="Was it right?"))
        whole.get_by_role("button", name="Useful").click()
        assert whole.get_by_role("button", name="Useful").get_attribute("aria-pressed") == "true"
        whole.get_by_role("button", name="Wrong").click()
        assert whole.get_by_role("button", name="Useful").get_attribute("aria-pressed") == "false"
        row = page.locator("article[id^=row]").first
        row.get_by_text("Why").click()
        assert row.locator("meter").first.is_visible()
        row.get_by_role("button", name="Wrong").click()
        assert "The memory itself stays" in page.get_by_role("status").inner_text()
        told = row.locator("p.said").inner_text()
        row.get_by_role("button", name="Forget").click()
        assert "Forgotten" in page.get_by_role("status").inner_text()
        assert told not in shown.open("/memories").locator("#found").inner_text()


@pytest.mark.parametrize("javascript", [True, False])
def test_people_are_linked_parted_and_deleted(chromium: Browser, served: Served, *, javascript: bool) -> None:
    one, two = ("81", "82") if javascript else ("83", "84")
    say(served, "Remember that the gate code is on the fridge.", 240 + javascript, facts(one))
    say(served, "Remember that the piano was tuned in May.", 250 + javascript, facts(two))
    with window(chromium, served, java_script_enabled=javascript) as shown:
        page = shown.open("/people")

        def card(name: str) -> Locator:
            """Return somebody's card, unfolded."""
            found = page.locator("article", has=page.get_by_role("link", name=name, exact=True))
            found.locator("summary").click()
            return found

        card(f"Telegram · {two}").get_by_label("Is the same person as").select_option(f"user:telegram::{one}")
        card_of_two = page.locator("article", has=page.get_by_role("link", name=f"Telegram · {two}", exact=True))
        card_of_two.get_by_role("button", name="Join both memories").click()
        assert "share one memory" in page.get_by_role("status").inner_text()
        page = shown.open(f"/memories?of=user%3Atelegram%3A%3A{one}")
        assert "piano" in page.locator("#found").inner_text()
        page = shown.open("/people")
        card(f"Telegram · {two}").get_by_role("button", name="Take the link apart").click()
        assert "Apart again" in page.get_by_role("status").inner_text()
        named = card(f"Telegram · {two}")
        named.get_by_label("Name on this page").fill("Zoë the tuner")
        named.get_by_role("button", name="Save").click()
        assert "Zoë the tuner" in page.get_by_role("status").inner_text()
        card("Zoë the tuner").get_by_role("link", name="Delete everything of Zoë the tuner").click()
        page.get_by_label("to confirm").fill("somebody else")
        page.get_by_role("button", name="Delete for good").click()
        assert "Nothing was deleted" in page.get_by_role("status").inner_text()
        page.get_by_label("to confirm").fill("Zoë the tuner")
        page.get_by_role("button", name="Delete for good").click()
        assert "Nothing is left." in page.get_by_role("status").inner_text()
        assert "; 0 contain one" in page.locator("main").inner_text()
        everybody = shown.open("/people").locator("main").inner_text()
        assert "Zoë the tuner" not in everybody
        assert f"Telegram · {two}" not in everybody


def test_several_are_moved_and_forgotten_at_once(chromium: Browser, served: Served) -> None:
    for number, text in enumerate(("the yellow bucket leaks", "the brass key sticks", "the oak door squeaks")):
        say(served, f"Remember that {text}.", 260 + number)
    with window(chromium, served) as shown:
        page = shown.open("/memories?category=fact")
        for text in ("the brass key sticks", "the oak door squeaks"):
            page.locator("li", has_text=text).get_by_role("checkbox").check()
        page.get_by_role("button", name="Forget the chosen ones").click()
        assert page.get_by_role("status").count() == 2
        left = page.locator("#found").inner_text()
        assert "the yellow bucket leaks" in left
        assert "the brass key sticks" not in left
        served.answer("save_fact", {"id": "hums", "speaker": OWNER, "content": "The user hums while cooking"})
        page = shown.open("/memories?category=fact")
        page.locator("li", has_text="hums while cooking").get_by_role("checkbox").check()
        page.get_by_role("button", name="Move the chosen ones to MEMORY.md").click()
        assert "Moved to MEMORY.md: The user hums" in page.get_by_role("status").inner_text()

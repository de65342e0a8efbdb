"""Every route of the page with every hostile value in every place: it answers with a page, and never fails."""

import re
from collections.abc import Iterator, Mapping
from typing import Final
from urllib.parse import quote

import httpx2
import pytest
from hostile import ODD, ODD_BYTES
from served import OWNER, Served, service, written

from gateway_memory.serving.page.views import VIEWS

pytestmark = pytest.mark.xdist_group("service")

READ: Final[Mapping[str, str]] = {
    "/memories": "q kind category type since until session before skip",
    "/replies": "before",
    "/try": "q least quoted back",
    "/digest": "time",
    "/review": "q",
    "/enter": "code",
}
"""The names that pages read in a query, besides `of`."""
LISTING: Final = "category type since until before skip time code"
FORMS: Final = ("/act", "/document", "/people/delete", "/language", "/try")
FIELDS: Final = ("command", "of", "whose", "text", "id", "was", "typed", "to", "back", "form_token", "least", "quoted")
KNOWN: Final[Mapping[str, str]] = {"id": "aaaaaaaa", "turn": "1", "day": "2026-11-20"}
HEADERS: Final = {"Content-Type": "application/x-www-form-urlencoded"}
VALUES: Final = (*(quote(value, safe="") for value in ODD), *ODD_BYTES)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("hostile")
    places = {"main": folder / "main"}
    config = written(folder, agents={"main": {"workspace": str(places["main"])}}, port=0)
    with service(config, workspaces=places) as running:
        body = {"id": "1", "speaker": OWNER, "user": "Remember that my locker is number 4711.", "reply": "OK."}
        running.answer("after_reply", body)
        running.answer("flush", {})
        yield running
        log = running.log.read_text("utf-8")
        assert "Traceback" not in log
        assert "service.failed" not in log


@pytest.fixture
def browser(served: Served) -> Iterator[httpx2.Client]:
    with served.client() as host, served.client("", follow_redirects=True) as client:
        assert client.get(host.post("/page/link").json()["path"]).status_code == 200
        yield client


def form_token(browser: httpx2.Client) -> str:
    found = re.search(r'name="form_token" value="([0-9a-f]+)"', browser.get("/").text)
    assert found
    return found[1]


def failed(answers: Iterator[tuple[str, httpx2.Response]]) -> list[str]:
    """Return the requests that were answered with an error of the service's own."""
    return [f"{answer.status_code} {where[:120]}" for where, answer in answers if answer.status_code >= 500]


@pytest.mark.slow
@pytest.mark.parametrize("path", [*VIEWS, "/enter", "/static/{name}"])
def test_no_value_in_an_address_makes_a_page_fail(browser: httpx2.Client, path: str) -> None:
    known = path.format(**KNOWN, name="page.css")

    def addresses() -> Iterator[str]:
        for value in VALUES:
            if known != path:
                yield path.format(**dict.fromkeys([*KNOWN, "name"], value))
            yield f"{known}?{'&'.join(f'{name}={value}' for name in LISTING.split())}"
            for name in ("of", *READ.get(path, "").split()):
                yield f"{known}?{name}={value}"
                yield f"{known}?{name}={value}&{name}={value}"
                if path == "/memories":
                    yield f"{known}?q=locker&{name}={value}"

    assert failed((address, browser.get(address)) for address in addresses()) == []


@pytest.mark.slow
@pytest.mark.parametrize("path", FORMS)
def test_no_value_in_a_form_makes_it_fail(browser: httpx2.Client, path: str) -> None:
    token = form_token(browser)

    def bodies() -> Iterator[str]:
        for value in VALUES:
            for name in FIELDS:
                for given in (f"{name}={value}", f"{name}={value}&{name}={value}", f"{name}=x&{name}="):
                    yield "&".join([f"form_token={token}", "command=forget" * (name != "command"), given])

    def asked() -> Iterator[tuple[str, httpx2.Response]]:
        for body in bodies():
            yield f"{path} {body[75:]}", browser.post(path, content=body, headers=HEADERS, follow_redirects=False)

    assert failed(asked()) == []


def test_a_field_that_is_doubled_is_refused_and_changes_nothing(browser: httpx2.Client) -> None:
    identity = re.findall(r'href="/memories/([a-z2-7]{8})', browser.get("/memories").text)[0]
    fields = f"form_token={form_token(browser)}&id={identity}&of=owner"
    answer = browser.post("/act", content=f"{fields}&command=forget&command=forget", headers=HEADERS)
    assert answer.status_code == 400
    assert identity in browser.get("/memories").text

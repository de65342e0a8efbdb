"""Pictures of the main pages, with invented talk: `make screenshots` puts them into docs/images."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlencode

import pytest
from loopback import free_port
from playwright.sync_api import Browser
from served import OWNER, Served, facts, service, written

TOLD = {
    "en": [
        ("My name is Nora.", "Nice to meet you, Nora."),
        ("Remember that I am allergic to peanuts.", "I'll keep that in mind."),
        ("I prefer short answers, without bullet points.", "Will do."),
        ("My sister Marta lives in Lisbon, she moved there for a job at the aquarium.", "How lovely!"),
        ("I usually run along the river before breakfast.", "Enjoy the morning air."),
        ("Remember that the car goes to the garage on Friday.", "Noted."),
        ("Where does Marta live?", "In Lisbon. She works at the aquarium."),
        ("Can you suggest a snack for the flight?", "Roasted chickpeas: crunchy, and no peanuts."),
    ],
    "zh": [
        ("我叫林晓", "你好，林晓。"),
        ("记住我对花生过敏", "记下了。"),
        ("我喜欢简短的回答", "好的。"),
        ("我妹妹小雨上个月搬到成都了，在水族馆上班", "成都很舒服。"),
        ("我每天早上六点去江边跑步", "真自律！"),
        ("记住车周五要送去保养", "好。"),
        ("小雨现在住在哪里？", "在成都，她在水族馆上班。"),
        ("飞机上带什么零食好？", "烤鹰嘴豆吧，脆，而且不含花生。"),
    ],
}
ABOUT_OWNER = {"en": "Remember that the owner lends me the boat until May.", "zh": "记住主人把船借给我到五月"}
GUEST = {"en": "Tomás", "zh": "小敏"}
PAGES = {
    "portrait": "/",
    "try": "/try",
    "people": "/people",
    "today": "/today",
    "memories": "/memories",
    "reply": "/replies",
    "review": "/review",
    "over-time": "/over-time",
}


@pytest.fixture(scope="module", params=["en", "zh"])
def told(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Served]]:
    language: str = request.param
    folder = tmp_path_factory.mktemp("pictures")
    config = written(folder, agents={"main": {"workspace": str(folder / "main")}}, port=free_port())
    start = datetime.now(UTC) - timedelta(days=len(TOLD[language]) - 1)
    with service(config, workspaces={"main": folder / "main"}) as served:
        for day, (user, reply) in enumerate(TOLD[language]):
            at = (start + timedelta(days=day)).isoformat()
            speaker = {**OWNER, "key": f"{OWNER['key']}:{day}"}
            served.answer("before_reply", {"speaker": speaker, "message": user, "opening": False, "ephemeral": True})
            body = {"id": f"t{day}", "speaker": speaker, "user": user, "reply": reply, "at": at, "ephemeral": True}
            served.answer("after_reply", body)
            served.answer("flush", {})
        with closing(sqlite3.connect(folder / "main/journal.sqlite")) as journal, journal:
            used = [(3 + day % 5, 9000 + 1700 * (day * 7 % 11), 700 + 90 * (day % 6)) for day in range(23)]
            journal.executemany(
                "INSERT INTO usage (extractions, input_tokens, output_tokens, day) VALUES (?, ?, ?, ?)",
                [(*each, f"{start + timedelta(days=day - 16):%Y-%m-%d}") for day, each in enumerate(used)],
            )
        body = {
            "id": "guest",
            "speaker": facts("9", sender_name=GUEST[language]),
            "user": ABOUT_OWNER[language],
            "reply": "OK",
        }
        served.answer("after_reply", body)
        served.answer("flush", {})
        yield language, served


@pytest.mark.parametrize("name", PAGES)
def test_a_picture_of_a_page(chromium: Browser, told: tuple[str, Served], tmp_path: Path, name: str) -> None:
    language, served = told
    folder = Path(os.environ.get("GATEWAY_MEMORY_SCREENSHOTS") or tmp_path)
    context = chromium.new_context(
        locale="zh-CN" if language == "zh" else "en-US",
        color_scheme="dark" if name == "reply" else "light",
        viewport={"width": 1120, "height": 720},
    )
    page = context.new_page()
    with served.client() as host:
        page.goto(served.url + str(host.post("/page/link").json()["path"]))
    page.goto(served.url + PAGES[name])
    if name == "try":
        page.goto(f"{served.url}/try?{urlencode({'q': TOLD[language][-2][0]})}")
    if name == "reply":
        page.locator("article .facts a").first.click()
        page.locator("article[id^=row] summary").first.click()
    path = folder / f"page-{name}.{language}.png"
    page.screenshot(path=path)
    context.close()
    assert 5_000 < path.stat().st_size < 200_000

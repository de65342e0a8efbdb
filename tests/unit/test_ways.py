"""The page of the architecture shows the ways of a message as a run of them is measured."""

import re
import sys

import pytest
from ways import PAGE, WAYS, measured, modules, purpose, written


@pytest.mark.skipif(sys.getprofile() is not None, reason="it sets the profile function, which a profiler has set")
@pytest.mark.lengthy
async def test_a_message_enters_what_the_page_shows() -> None:
    page = PAGE.read_text("utf-8")
    always, ever = await measured()
    for name in WAYS:
        table = re.search(rf"<!-- measured: {name} -->(.*?)<!-- end -->", page, re.DOTALL)
        assert table is not None
        shown = re.findall(r"^\| `([\w./]+)` \|", table[1], re.MULTILINE)
        assert sorted(set(always[name]) - set(shown)) == [], f"{name}: run `make docs`"
        assert len(set(shown) - ever[name]) <= 1, f"{name}: run `make docs`; some parts are only entered when due"


@pytest.mark.lengthy
def test_the_page_says_of_each_module_what_it_says_of_itself() -> None:
    page = PAGE.read_text("utf-8")
    tables = {name: re.search(rf"<!-- measured: {name} -->(.*?)<!-- end -->", page, re.DOTALL) for name in WAYS}
    shown = {name: re.findall(r"^\| `([\w./]+)` \|", match[1], re.MULTILINE) for name, match in tables.items() if match}
    assert written(page, shown) == page, "run `make docs`"
    assert all(purpose(path) for path in modules().values() if path.name != "__init__.py")

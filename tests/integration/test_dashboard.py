"""The dashboard of deploy/ is one that Grafana takes, and shows what a service serves."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from gateway_memory import OWNER, Config, GatewayMemory
from gateway_memory.config.settings import MemorySync
from gateway_memory.observability.prometheus import MetricsCollector, exposition
from recall import EmbedderSettings, RecallSettings

pytestmark = pytest.mark.of_postgres

DASHBOARD = Path(__file__).parents[2] / "deploy" / "grafana.json"
WORDS = RecallSettings(embedder=EmbedderSettings(provider="none"))
ON_POSTGRES_ALONE = {"gateway_memory_spool_waiting", "gateway_memory_spool_refused"}


@pytest.fixture(scope="module")
def dashboard() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(DASHBOARD.read_text("utf-8"))
    return found


def expressions(dashboard: dict[str, Any]) -> list[str]:
    variables = [each["query"]["query"] for each in dashboard["templating"]["list"] if each["type"] == "query"]
    return variables + [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]


def test_it_has_the_parts_that_grafana_asks_for(dashboard: dict[str, Any]) -> None:
    assert dashboard["schemaVersion"] >= 36, "since then a data source is an object"
    assert {"title", "uid", "panels", "templating", "time"} <= dashboard.keys()
    source = {"type": "prometheus", "uid": "${datasource}"}
    (first, *others) = dashboard["templating"]["list"]
    assert (first["name"], first["type"], first["query"]) == ("datasource", "datasource", "prometheus")
    assert all(each["datasource"] == source for each in others)
    panels = dashboard["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        assert panel["type"] in ("stat", "timeseries")
        assert panel["title"]
        assert panel["description"]
        assert panel["datasource"] == source
        assert panel["fieldConfig"]["defaults"]["unit"]
        assert [target["refId"] for target in panel["targets"]] == list("ABC"[: len(panel["targets"])])
        assert all(target["datasource"] == source for target in panel["targets"])
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24, "Grafana has 24 columns"
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, f"{panel['title']} lies over another panel"
        taken |= cells


def test_each_expression_is_closed_and_uses_known_variables(dashboard: dict[str, Any]) -> None:
    known = {each["name"] for each in dashboard["templating"]["list"]} | {"__rate_interval"}
    for expression in expressions(dashboard):
        assert set(re.findall(r"\$\{?(\w+)", expression)) <= known, expression
        for opening, closing in ("()", "{}", "[]"):
            bare = re.sub(r'"[^"]*"', '""', expression)
            assert bare.count(opening) == bare.count(closing), expression


async def test_each_metric_is_one_that_a_service_serves(
    dashboard: dict[str, Any], tmp_path: Path, on_postgres: object
) -> None:
    async with GatewayMemory(Config(defaults=MemorySync(auto_recall=WORDS)), tmp_path) as memory:
        session = await memory.start_session("chat", user=OWNER)
        await memory.before_reply(session, "Which bell is broken?")
        await memory.after_reply(session, user="Remember that the bell is broken.", reply="OK")
        await memory.flush()
        text = exposition({"main": MetricsCollector(memory.metrics, memory.now)}).decode()
    served = set(re.findall(r"^(gateway_memory_\w+)[{ ]", text, re.MULTILINE))
    stages = set(re.findall(r'stage="([^"]*)"', text))
    shown = {name for each in expressions(dashboard) for name in re.findall(r"gateway_memory_\w+", each)}
    named = {stage for each in expressions(dashboard) for stage in re.findall(r'stage="([^"]*)"', each)}
    if on_postgres is None:
        shown -= ON_POSTGRES_ALONE
        named -= {"postgres"}
    assert shown <= served
    assert named <= stages
    events = set(re.findall(r'gateway_memory_events_total\{.*?name="([^"]*)"', text))
    patterns = [name for each in expressions(dashboard) for name in re.findall(r'name=~"([^"]*)"', each)]
    when_it_goes_wrong = {"failures[.].*", "model[.].*"}
    unseen = {each for each in patterns if not any(re.fullmatch(each, event) for event in events)}
    assert unseen <= when_it_goes_wrong

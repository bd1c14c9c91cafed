"""Prometheus' rules and Grafana's dashboard: valid, about metrics that exist, and firing when they should."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from support_agent.watch.metrics import METRICS, MetricType
from tests.servers.postgres import skip_or_fail
from tests.unit.deploy.files import DEPLOY, documents

RULES = DEPLOY / "prometheus" / "support-agent.rules.yml"
TESTS = DEPLOY / "prometheus" / "support-agent.test.yml"
DASHBOARD: dict[str, Any] = json.loads((DEPLOY / "grafana" / "support-agent.json").read_text("utf-8"))
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
ALERTS = [rule for group in documents(RULES)[0]["groups"] for rule in group["rules"]]
EXPORTED = {
    f"{metric.name}{suffix}": metric
    for metric in METRICS
    for suffix in (("_bucket", "_sum", "_count") if metric.kind is MetricType.HISTOGRAM else ("",))
}


def expressions() -> Iterator[str]:
    """Every question to Prometheus: of the rules, of the panels, of the dashboard's list of mailboxes."""
    yield from (rule["expr"] for rule in ALERTS)
    yield from (target["expr"] for panel in PANELS for target in panel["targets"])
    for variable in DASHBOARD["templating"]["list"]:
        if variable["type"] == "query":
            yield variable["query"]["query"]


def metrics_in(asked: Iterable[str]) -> set[str]:
    """The program's metrics that expressions name."""
    return {name for one in asked for name in re.findall(r"\bsupport_agent_\w+", one)}


def promtool(*arguments: str | Path, folder: Path) -> None:
    """Run promtool, which must have no complaint."""
    if shutil.which("promtool") is None:
        skip_or_fail("promtool is not installed: deploy/ has the script that installs it")
    done = subprocess.run(["promtool", *arguments], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_each_metric_that_is_asked_for_is_exported() -> None:
    """A renamed metric would leave an alert that never fires, and a panel that stays empty."""
    asked = {name for expression in expressions() for name in re.findall(r"\bsupport_agent_\w+", expression)}
    assert asked <= set(EXPORTED)
    shown = {
        name for panel in PANELS for one in panel["targets"] for name in re.findall(r"\bsupport_agent_\w+", one["expr"])
    }
    assert {metric.name for metric in METRICS} == {EXPORTED[name].name for name in shown}


@pytest.mark.parametrize("expression", sorted(set(expressions())))
def test_each_label_that_is_asked_for_is_one_of_the_metric(expression: str) -> None:
    """With one of its values, where one is named."""
    for name, selector in re.findall(r"\b(support_agent_\w+)\{([^}]*)\}", expression):
        for label, operator, value in re.findall(r'(\w+)(=~|!=|=)"([^"]*)"', selector):
            if label != "brand":
                assert operator in ("=", "!=")
                assert value in EXPORTED[name].labels[label]


def test_the_rules_fire_in_trouble_and_are_silent_without() -> None:
    promtool("check", "rules", RULES.name, folder=RULES.parent)
    promtool("test", "rules", TESTS.name, folder=TESTS.parent)


def test_each_alert_is_tried_and_says_what_to_do() -> None:
    tried = TESTS.read_text("utf-8")
    for rule in ALERTS:
        assert f'alertname="{rule["alert"]}"' in tried
        assert {"summary", "description"} <= set(rule["annotations"])
        assert rule["labels"]["severity"] in ("critical", "warning", "info")


def test_prometheus_understands_the_panels(tmp_path: Path) -> None:
    """Their expressions, with the variables as Grafana fills them in."""
    asked = [target["expr"] for panel in PANELS for target in panel["targets"]]
    filled = [one.replace("$__rate_interval", "5m").replace("$brand", ".*") for one in asked]
    rules = [{"record": f"panel:{number}", "expr": one} for number, one in enumerate(filled)]
    (tmp_path / "rules.yml").write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    promtool("check", "rules", "rules.yml", folder=tmp_path)


def test_the_panels_lie_beside_each_other_and_have_ids_of_their_own() -> None:
    """Grafana would shift them, and save a dashboard that nobody reviewed."""
    panels = DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    places = [
        (x, y)
        for panel in panels
        for x in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
    ]
    assert len(set(places)) == len(places)
    assert max(x for x, _ in places) < 24

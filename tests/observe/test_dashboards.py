"""What we ship for Grafana and Prometheus names metrics that exist, with labels that they have."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped] # has no types, and needs none here

from holdfast.observe.metrics import NAMES, WORKER_NAMES

DOCS = Path(__file__).resolve().parents[2] / "docs"
KNOWN = NAMES | WORKER_NAMES
SERIES = {name for name, said in KNOWN.items() if said.kind != "histogram"} | {
    f"{name}{suffix}"
    for name, said in KNOWN.items()
    if said.kind == "histogram"
    for suffix in ("_bucket", "_sum", "_count")
}
WORD = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
FUNCTIONS = {
    *("sum", "max", "min", "by", "without", "rate", "increase", "histogram_quantile", "clamp_min", "absent"),
    *("and", "or", "unless", "on", "ignoring", "bool"),
}
EVERYWHERE = {"instance", "job", "le"}
"""Labels that Prometheus or the histogram adds."""


def rules(file: str) -> list[dict[str, Any]]:
    data = yaml.safe_load((DOCS / "prometheus" / file).read_text())
    assert set(data) == {"groups"}
    return [rule for group in data["groups"] for rule in group["rules"]]


RECORDED = {rule["record"] for rule in rules("rules.yml")}
DASHBOARD = json.loads((DOCS / "grafana" / "holdfast.json").read_text())


def expressions() -> Iterator[tuple[str, str]]:
    for panel in DASHBOARD["panels"]:
        for target in panel["targets"]:
            yield f"panel {panel['title']}", target["expr"]
    for file in ("rules.yml", "alerts.yml"):
        for rule in rules(file):
            yield f"{file} {rule.get('alert') or rule['record']}", rule["expr"]


@pytest.mark.parametrize(("where", "expression"), list(expressions()))
def test_an_expression_names_what_exists(where: str, expression: str) -> None:
    assert expression.count("(") == expression.count(")")
    groupings = re.findall(r"\b(?:by|without|on|ignoring) *\(([^)]*)\)", expression)
    labels = {label for group in groupings for label in WORD.findall(group)}
    bare = re.sub(r"\[\d+[smhd]\]|\b\d[\d.]*\b|\{[^}]*\}", " ", expression)
    for group in groupings:
        bare = bare.replace(f"({group})", " ")
    names = set(WORD.findall(bare)) - FUNCTIONS
    assert names, where
    assert names <= SERIES | RECORDED, where
    had = {label for name in names & SERIES for label in _labels(name)} | EVERYWHERE
    assert labels <= had, where
    for name in names & {name for name, said in KNOWN.items() if said.kind == "counter"}:
        assert re.search(rf"\b(?:rate|increase)\({name}\[", expression), f"{where}: {name} without a rate"


def _labels(series: str) -> tuple[str, ...]:
    name = series if series in KNOWN else re.sub("_(bucket|sum|count)$", "", series)
    return KNOWN[name].labels


def test_a_name_that_does_not_exist_is_found() -> None:
    with pytest.raises(AssertionError):
        test_an_expression_names_what_exists("a test", "max(rate(no_such_total[5m]))")
    with pytest.raises(AssertionError):
        test_an_expression_names_what_exists("a test", "max by (queue) (rate(claims_total[5m]))")


def test_alerts_say_what_to_do() -> None:
    alerts = rules("alerts.yml")
    names = [rule["alert"] for rule in alerts]
    assert len(names) == len(set(names))
    for rule in alerts:
        assert set(rule) <= {"alert", "expr", "for", "labels", "annotations"}
        assert rule["labels"]["severity"] in ("warning", "critical")
        assert rule["annotations"]["summary"]
        assert rule["annotations"]["description"].endswith(".")
        assert re.fullmatch(r"\d+[smh]", rule.get("for", "1m"))


def test_recording_rules_are_well_formed() -> None:
    for rule in rules("rules.yml"):
        assert set(rule) == {"record", "expr"}
        assert re.fullmatch(r"[a-z_]+(:[a-z0-9_]+)+", rule["record"])


def test_the_dashboard_is_one() -> None:
    panels = DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        place = panel["gridPos"]
        cells = {(place["x"] + dx, place["y"] + dy) for dx in range(place["w"]) for dy in range(place["h"])}
        assert not cells & taken, f"{panel['title']} lies on another"
        assert place["x"] + place["w"] <= 24
        taken |= cells
        assert [target["refId"] for target in panel["targets"]] == [chr(65 + n) for n in range(len(panel["targets"]))]
        assert panel["datasource"]["uid"] == "${datasource}"
    shown = " ".join(expression for where, expression in expressions() if where.startswith("panel"))
    unseen = [
        name for name, said in NAMES.items() if name not in shown and said.kind != "histogram" and "_p" not in name
    ]
    assert unseen == [], "every metric is on the dashboard"


def test_every_metric_is_in_the_guide() -> None:
    guide = (DOCS / "how-to" / "observe.md").read_text()
    assert [name for name in KNOWN if f"`{name}" not in guide] == []


def test_what_the_guide_shows_runs() -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", (DOCS / "how-to" / "observe.md").read_text(), re.M | re.S)
    assert len(blocks) == 3
    for block in blocks:
        subprocess.run([sys.executable, "-W", "error", "-c", block], check=True, timeout=60)

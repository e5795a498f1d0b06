"""A strict look at what is exposed: what `promtool check metrics` looks for, and what both parsers have to say."""

import re
from collections import Counter

from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text
from prometheus_client.samples import Sample

NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
SUFFIXES = {"histogram": ("_bucket", "_sum", "_count"), "counter": ("_total",), "gauge": ("",)}


def problems(text: str) -> list[str]:
    """What is wrong with a page of Prometheus text; nothing, it should be."""
    found = [] if text.endswith("\n") else ["the last line does not end"]
    heads: dict[str, set[str]] = {}
    for line in text.splitlines():
        if line.startswith("# "):
            _, kind, name, *rest = line.split(" ", 3)
            if kind in heads.setdefault(name, set()):
                found.append(f"{name} has two lines of {kind}")
            heads[name].add(kind)
            if not rest or not rest[0].strip():
                found.append(f"{name} has an empty {kind}")
    found += [f"{name} lacks {kind}" for name, kinds in heads.items() for kind in {"HELP", "TYPE"} - kinds]
    families = list(parse_text(text))
    names = [family.name for family in families]
    found += [f"{name} stands twice" for name, times in Counter(names).items() if times > 1]
    series = Counter((sample.name, tuple(sorted(sample.labels.items()))) for f in families for sample in f.samples)
    found += [f"{key} stands twice" for key, times in series.items() if times > 1]
    for family in families:
        suffixes = SUFFIXES.get(family.type)
        if suffixes is None:
            found.append(f"{family.name} is {family.type}")
            continue
        for sample in family.samples:
            if sample.name not in [f"{family.name}{suffix}" for suffix in suffixes]:
                found.append(f"{sample.name} does not belong to the {family.type} {family.name}")
            if not NAME.fullmatch(sample.name) or not all(LABEL.fullmatch(label) for label in sample.labels):
                found.append(f"{sample.name} or a label of it is badly named")
            if family.type == "counter" and sample.value < 0:
                found.append(f"{sample.name} is negative")
        if family.type != "counter" and family.name.endswith("_total"):
            found.append(f"{family.name} is no counter and is called _total")
        if family.type == "histogram":
            found += _histogram_problems(family.name, family.samples)
    return found


def _histogram_problems(name: str, samples: list[Sample]) -> list[str]:
    found = []
    kinds = {tuple(sorted((k, v) for k, v in sample.labels.items() if k != "le")) for sample in samples}
    for kind in kinds:
        own = [s for s in samples if set(kind) <= set(s.labels.items())]
        buckets = [(float(s.labels["le"]), s.value) for s in own if s.name == f"{name}_bucket"]
        [count] = [s.value for s in own if s.name == f"{name}_count"]
        if buckets != sorted(buckets) or [v for _, v in buckets] != sorted(v for _, v in buckets):
            found.append(f"buckets of {name}{dict(kind)} do not grow")
        if buckets[-1] != (float("inf"), count):
            found.append(f"{name}{dict(kind)} does not end with +Inf and its count")
    return found


def open_problems(text: str) -> list[str]:
    """OpenMetrics is stricter; its parser raises for what is wrong."""
    families = list(parse_openmetrics(text))
    return [] if families and text.endswith("# EOF\n") else ["it does not end"]


def values(text: str) -> dict[tuple[str, ...], float]:
    """Every sample by its name and the values of its labels, in the order of their names."""
    return {
        (s.name, *(v for _, v in sorted(s.labels.items()))): s.value
        for family in parse_text(text)
        for s in family.samples
    }

"""A graph as a Mermaid flowchart, in the colours of its nodes' states."""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.kernel.graph.condition_document import words
from holdfast.kernel.graph.dag import Branch, Graph, Join, Judged, Node, Predicate
from holdfast.kernel.state import Canonical

COLOURS = {
    "waiting": "fill:#eee,stroke:#999,color:#333",
    "running": "fill:#cfe4ff,stroke:#1f6feb,color:#0a3069",
    "good": "fill:#d2f4d3,stroke:#1a7f37,color:#0b3d17",
    "skipped": "fill:#fff,stroke:#999,color:#777,stroke-dasharray:4 3",
    "cancelled": "fill:#f0e6d6,stroke:#9a6700,color:#5c3d00",
    "bad": "fill:#ffdcd7,stroke:#cf222e,color:#82071e",
}
CLASSES = {
    Canonical.WAITING: "waiting",
    Canonical.QUEUED: "waiting",
    Canonical.RETRY_PENDING: "waiting",
    Canonical.ASSIGNED: "running",
    Canonical.RUNNING: "running",
    Canonical.SUCCEEDED: "good",
    Canonical.PARTIAL: "good",
    Canonical.SKIPPED: "skipped",
    Canonical.CANCELLED: "cancelled",
}
LONGEST_WORDS = 40


def mermaid(graph: Graph, states: Mapping[str, str] | None = None) -> str:
    """A `flowchart TD`. `states` gives canonical states by node name; nodes without one stay plain."""
    ids = {node.name: f"n{number}" for number, node in enumerate(graph.nodes)}
    known = {name: Canonical(state) for name, state in (states or {}).items() if name in ids}
    lines = ["flowchart TD"]
    lines += [f"    {ids[node.name]}{_box(node, known.get(node.name))}" for node in graph.nodes]
    for node in graph.nodes:
        for parent in node.after:
            branch = graph.by_name[parent].branch
            dead = known.get(parent) is Canonical.SKIPPED or known.get(node.name) is Canonical.SKIPPED
            arrow = "-.->" if dead else "-->"
            lines.append(f"    {ids[parent]} {arrow}{_why(branch, node.name)} {ids[node.name]}")
    classes = {name: CLASSES.get(state, "bad") for name, state in known.items()}
    for look, style in COLOURS.items():
        members = [ids[name] for name, looks in classes.items() if looks == look]
        if members:
            lines += [f"    classDef {look} {style}", f"    class {','.join(members)} {look}"]
    return "\n".join(lines) + "\n"


def _box(node: Node, state: Canonical | None) -> str:
    lines = [node.name]
    if node.join != Join():
        lines.append(f"{node.join} {len(node.after)}" if node.join.n else str(node.join).replace("_", " "))
    if node.map is not None:
        lines.append(f"each of {node.map}")
    if node.when is not None:
        lines.append(f"when {_condition(node.when)}")
    if state is not None:
        lines.append(state.value)
    label = "<br/>".join(map(_plain, lines))
    if node.branch is not None:
        return f'{{"{label}"}}'
    return f'[["{label}"]]' if node.map is not None else f'["{label}"]'


def _why(branch: Branch | None, child: str) -> str:
    """The words on an edge: the case that takes it."""
    if branch is None or child not in branch.named:
        return ""
    reasons = [_condition(case.when) for case in branch.cases if child in case.then]
    reasons += ["otherwise"] if child in branch.default else []
    return f'|"{_plain(" or ".join(reasons))}"|'


def _condition(judged: Judged) -> str:
    return judged.name if isinstance(judged, Predicate) else words(judged)


def _plain(text: str) -> str:
    """Without what ends a label in Mermaid, or means something in HTML."""
    short = text if len(text) <= LONGEST_WORDS else f"{text[:LONGEST_WORDS]}…"
    for character, name in (("#", "#35;"), ("&", "#amp;"), ('"', "#quot;"), ("<", "#lt;"), (">", "#gt;")):
        short = short.replace(character, name)
    return short.replace("\n", " ")

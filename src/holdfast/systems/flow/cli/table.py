"""Flows and their nodes on a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from holdfast.cli.job.follow import STATE
from holdfast.cli.render import COLOURS, Column, View, listed, long_time, pairs, state_text
from holdfast.systems.flow.views.flow import flow_view
from holdfast.systems.flow.views.run import run_of

if TYPE_CHECKING:
    from holdfast.store.port import Store

MOST = 60
"""Of more nodes than fit on a page, those come first that are of interest."""
DULL = ("succeeded", "skipped", "waiting")


async def view_of(store: Store, flow_id: str) -> dict[str, Any]:
    """A flow with its nodes; NotFoundError when there is none."""
    return await flow_view(store, await run_of(store, flow_id))


def counts_words(view: View) -> str:
    """How far a flow is, and what went wrong."""
    counts = view["counts"]
    if counts is None:
        return ""
    parts = [f"{counts['nodes'] - counts['open']} of {counts['nodes']} ended"]
    parts += [f"{counts[name]} {name}" for name in ("failed", "cancelled") if counts[name]]
    return ", ".join(parts)


def nodes_table(view: View, *, everything: bool = False) -> Group:
    head = pairs(
        {
            "id": view["id"],
            "flow": view["task"],
            "state": state_text(view["state"], view["canonical_state"], beside=False),
            "nodes": counts_words(view),
            "created": long_time(view["created_at"]),
            "finished": long_time(view["finished_at"]),
            "goes on with": view["retry_of"],
            "goes on as": view["retried_as"],
        }
    )
    nodes = view["nodes"]
    items = Counter(node["name"] for node in nodes if node["item"] is not None)
    shown = nodes if everything or len(nodes) <= MOST else _of_interest(nodes)
    parts: list[Any] = [head, Text(), listed([*NODES, Column("why", lambda node: _remark(node, items))], shown)]
    if rest := Counter(node["state"] for node in nodes) - Counter(node["state"] for node in shown):
        words = ", ".join(f"{count:,} {state}" for state, count in rest.items())
        parts.append(Text(f"and {words}: --all shows them", "dim"))
    return Group(*parts)


def _of_interest(nodes: Sequence[View]) -> list[View]:
    lively = [node for node in nodes if node["canonical_state"] not in DULL][:MOST]
    ids = {node["job_id"] for node in [*lively, *nodes][:MOST]}
    return [node for node in nodes if node["job_id"] in ids]


def title(node: View) -> str:
    return node["name"] if node["item"] is None else f"{node['name']}[{node['item']}]"


def _remark(node: View, items: Mapping[str, int]) -> str:
    if node["kept"]:
        return "kept from the flow before"
    if node["item"] is None and node["name"] in items:
        return f"runs over a list of {items[node['name']]}"
    return node["why"] or ""


def _took(node: View) -> str:
    if node["started_at"] is None or node["ended_at"] is None:
        return ""
    began, ended = (datetime.fromisoformat(node[name]) for name in ("started_at", "ended_at"))
    return f"{(ended - began).total_seconds():.2f} s"


def graph_table(nodes: Sequence[Mapping[str, Any]], states: Mapping[str, str]) -> Table:
    """A line for each node, parents first: what it runs, what it waits for, what decides."""
    columns = [Column("node", "name", whole=True), Column("task", cut=True), *GRAPH]
    if states:
        texts = {name: Text(state, COLOURS.get(state, "")) for name, state in states.items()}
        columns.append(Column("state", lambda node: texts.get(node["name"], ""), whole=True))
    return listed(columns, nodes)


def _after(node: Mapping[str, Any]) -> str:
    join = node.get("join", "all")
    manner = f" ({join['n']} of them)" if isinstance(join, Mapping) else "" if join == "all" else f" ({join})"
    return ", ".join(node.get("after", ())) + manner


def _decides(node: Mapping[str, Any]) -> str:
    parts = [f"each of {node['map']}"] if node.get("map") else []
    if node.get("when"):
        parts.append(f"runs when {_words(node['when'])}")
    branch = node.get("branch")
    if branch:
        parts += [f"{_words(case['when'])} → {', '.join(case['then'])}" for case in branch["cases"]]
        parts += [f"else → {', '.join(branch['default'])}"] if branch["default"] else []
    return "; ".join(parts)


def _words(judged: Mapping[str, Any]) -> str:
    from holdfast.kernel.graph.condition_document import parse, words

    return str(judged["predicate"]) if "predicate" in judged else words(parse(judged))


FLOWS = (
    Column("id", whole=True),
    STATE,
    Column("flow", "task", cut=True),
    Column("nodes", counts_words, cut=True),
    Column("created", "created_at", whole=True),
)
NODES = (
    Column("node", title, whole=True),
    STATE,
    Column("attempt", right=True),
    Column("took", _took, right=True, whole=True),
)
GRAPH = (Column("after", _after), Column("decides", _decides))

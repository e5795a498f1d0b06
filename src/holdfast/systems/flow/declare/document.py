"""DAGs that are sent as data: read, checked, and wired to the tasks that they name."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.graph.dag import Graph, Join, Node
from holdfast.kernel.payload.encoding import encode
from holdfast.kernel.strictly import DocumentError, shown
from holdfast.runtime.task import Options
from holdfast.systems.flow.commands import submit as flow_submit
from holdfast.systems.flow.declare.inputs import bind, input_signature
from holdfast.tasks.registry import Registry
from holdfast.tasks.signature import Signature

if TYPE_CHECKING:
    from holdfast.runtime.inside import Inside
    from holdfast.systems.flow.handle import FlowHandle

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TIMES = {"start_after": "start_after_ms", "keep_until": "keep_until_ms"}


class Sent(NamedTuple):
    """A DAG as it was sent. `signature` is what its input is checked against; None where a task is not known here."""

    graph: Graph
    signature: Signature | None


def read(document: object, registry: Registry) -> Sent:
    """A DAG from its document; DocumentError or HoldfastError names what is wrong, and the remedy.

    The parameters of tasks that are declared here are bound as those of a flow in Python are: to parents by name, else
    in the order of `after`, else to the input; what `args` and `inputs` say goes first.
    """
    graph = Graph.from_dict(_timed(document))
    names = frozenset(graph.by_name)
    free: dict[str, list[inspect.Parameter]] = {}
    nodes = []
    for number, node in enumerate(graph.nodes):
        task = registry.find(node.task)
        if task is None:
            nodes.append(node)
            continue
        try:
            what, given = f"nodes[{number}]", node.inputs
            bound = bind(
                task.work.parameters, what, node.after, nodes=names, given=given, constants=node.args, mapped=node.map
            )
        except HoldfastError as wrong:
            raise _placed(wrong, f"nodes[{number}].inputs") from None
        free[node.name] = bound.free
        nodes.append(replace(node, inputs=bound.inputs, args={**fallbacks(node, bound.needs), **node.args}))
    try:
        signature = input_signature(graph.name, free) if len(free) == len(nodes) else None
    except HoldfastError as wrong:
        raise _placed(wrong, "input") from None
    return Sent(replace(graph, nodes=tuple(nodes)), signature)


def _placed(wrong: HoldfastError, at: str) -> HoldfastError:
    """The same about a parameter, with where in the document that is."""
    return HoldfastError(wrong.message, field=f"{at}.{wrong.field}", remedy=wrong.remedy)


async def submit_document(
    engine: Inside, document: object, given: Mapping[str, Any], options: Mapping[str, Any]
) -> FlowHandle:
    """Store a DAG that is sent, as all of it or nothing. Only inside the engine's own loop."""
    graph, signature = read(document, engine.registry)
    return await flow_submit.submit(engine, graph, packed(signature, given), Options(**options))


def packed(signature: Signature | None, given: Mapping[str, Any]) -> str:
    """What a flow is submitted with, checked; unchecked where a task is not known, which a submit refuses."""
    return encode(given, what="args") if signature is None else signature.pack_named(given)


def fallbacks(node: Node, needs: list[str]) -> dict[str, Any]:
    """None for what a parent may leave out: a parent alone is there whenever its child runs, one of several is not."""
    return {} if len(node.after) == 1 and node.join == Join() else dict.fromkeys(needs)


def _timed(document: object) -> object:
    """Times in ISO 8601 as the kernel keeps them: in milliseconds."""
    if not isinstance(document, Mapping) or not isinstance(document.get("nodes"), list):
        return document
    return {**document, "nodes": [_node(node, f"nodes[{n}]") for n, node in enumerate(document["nodes"])]}


def _node(node: object, at: str) -> object:
    if not isinstance(node, Mapping) or not TIMES.keys() & node.keys():
        return node
    rest = {name: value for name, value in node.items() if name not in TIMES}
    return rest | {TIMES[name]: _ms(node[name], f"{at}.{name}") for name in TIMES if node.get(name) is not None}


def _ms(value: object, at: str) -> int:
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
        if moment is not None and moment.tzinfo is not None and moment >= EPOCH:
            return round(moment.timestamp() * 1_000)
    except (ValueError, OverflowError):
        pass
    raise DocumentError(at, f"is {shown(value)}", "write a time since 1970 with its zone: 2030-01-31T09:00:00Z")

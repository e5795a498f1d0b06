"""What a node is run with: its constants, overlaid by what is found in the flow's input and its parents' results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.kernel.graph.conditions import ABSENT, find
from holdfast.kernel.graph.dag import INDEX, INPUT, ITEM, PARENTS, Each, Node, Source
from holdfast.kernel.strictly import DocumentError, shown

MAX_ITEMS = 10_000


def scope(flow_input: Mapping[str, Any], results: Mapping[str, Any]) -> dict[str, Any]:
    """The document in which a node's paths are looked up.

    `results` holds the results of those parents whose edge was taken, by name: one that was skipped, or chose another
    way, is not in it, while one that returned nothing is, as None.
    """
    return {**results, PARENTS: dict(results), INPUT: flow_input}


def arguments(node: Node, document: Mapping[str, Any]) -> dict[str, Any]:
    """A node's arguments by name, from its `scope`; for a run over one item, from the `scope` of `item_scope`."""
    found = dict(node.args)
    for parameter, source in node.inputs.items():
        value = pick(source, document)
        if value is not ABSENT:
            found[parameter] = value
    return found


def pick(source: Source, document: Mapping[str, Any]) -> Any:
    """What a source gives, or ABSENT."""
    if isinstance(source, Each):
        return [value for path in source.paths if (value := find(path, document)) is not ABSENT]
    return find(source, document)


def items(node: Node, results: Mapping[str, Any]) -> list[Any]:
    """What a mapped node runs over; nothing, when the parent that it maps did not run."""
    if node.map is None:
        raise ValueError(f"{node.name} is not mapped")
    found = results.get(node.map, ())
    if not isinstance(found, list | tuple):
        raise DocumentError(f"{node.name}.map", f"found {shown(found)}", f"{node.map} must return a list")
    if len(found) > MAX_ITEMS:
        raise DocumentError(f"{node.name}.map", f"found {len(found)} items", f"at most {MAX_ITEMS}: return batches")
    return list(found)


def item_scope(document: Mapping[str, Any], item: Any, index: int) -> dict[str, Any]:
    return {**document, ITEM: item, INDEX: index}

"""DAGs of no-op nodes, in the shapes that cost an engine most."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from holdfast.kernel.graph.dag import Graph, Node

TASK = "noop"
BEFORE = 3
"""How many nodes of the layer before one of a layered DAG waits for."""
NARROW = 100


@dataclass(frozen=True)
class Shape:
    """A DAG of `nodes` nodes."""

    name: str
    nodes: int
    make: Callable[[int], Graph]

    def graph(self) -> Graph:
        return self.make(self.nodes)


def wide(nodes: int) -> Graph:
    """One node, all others but one after it, and one that waits for all of these."""
    middle = [_node(f"n{number}", ("first",)) for number in range(nodes - 2)]
    return Graph("wide", (_node("first"), *middle, _node("last", tuple(node.name for node in middle))))


def layered(nodes: int, layers: int = 20) -> Graph:
    """Each node waits for some of the layer before it."""
    width = -(-nodes // layers)
    made = []
    for number in range(nodes):
        layer, place = divmod(number, width)
        after = dict.fromkeys(f"n{(layer - 1) * width + (place + step) % width}" for step in range(BEFORE) if layer)
        made.append(_node(f"n{number}", tuple(after)))
    return Graph("layered", tuple(made))


def narrow(nodes: int) -> Graph:
    """Layers so small that a worker holds all that can run at once: nothing is claimed while a layer ends."""
    return layered(nodes, nodes // NARROW)


def chain(nodes: int) -> Graph:
    """One after the other."""
    return Graph("chain", tuple(_node(f"n{n}", (f"n{n - 1}",) if n else ()) for n in range(nodes)))


def _node(name: str, after: tuple[str, ...] = ()) -> Node:
    return Node(name=name, task=TASK, after=after)

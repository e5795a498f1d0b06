"""A flow played in this process, by the same parts that a worker uses and without a store."""

from __future__ import annotations

import asyncio
from typing import Any

from holdfast import Skip
from holdfast.kernel.graph.dag import Node
from holdfast.kernel.graph.inputs import arguments, item_scope, items, scope
from holdfast.kernel.graph.readiness import Tally, Verdict, decide, edge_of, not_taken
from holdfast.systems.flow.declare.flow import Flow
from holdfast.tasks.work import Python


class Player:
    """Runs the nodes of a flow one after another, and tells each end to the children."""

    def __init__(self, flow: Flow, **given: Any) -> None:
        self.flow, self.graph, self.given = flow, flow.graph(), given
        flow.signature.pack_named(given)
        self.tallies = {node.name: Tally(len(node.after)) for node in self.graph.nodes}
        self.taken: dict[str, dict[str, Any]] = {node.name: {} for node in self.graph.nodes}
        self.ends: dict[str, str] = {}
        self.results: dict[str, Any] = {}

    def play(self) -> dict[str, str]:
        for name in self.graph.order:
            node = self.graph.by_name[name]
            match decide(node.join, self.tallies[name]):
                case Verdict.RELEASE:
                    self._end(node, self._run(node))
                case Verdict.SKIP:
                    self._end(node, "skipped")
                case Verdict.BLOCK:
                    self._end(node, "cancelled")
                case Verdict.WAIT:
                    raise AssertionError(f"{name} waits although all before it ended")
        return self.ends

    def _run(self, node: Node) -> str:
        around = scope(self.given, self.taken[node.name])
        try:
            if node.when is not None and not self.flow.judge(node.when, around):
                return "skipped"
            if node.map is None:
                self.results[node.name] = self._call(node, around)
            else:
                each = enumerate(items(node, self.taken[node.name]))
                self.results[node.name] = [self._call(node, item_scope(around, item, i)) for i, item in each]
        except Skip:
            return "skipped"
        except ZeroDivisionError:
            return "failed"
        return "succeeded"

    def _call(self, node: Node, around: dict[str, Any]) -> Any:
        task = self.flow.engine.registry.get(node.task)
        work = task.work
        assert isinstance(work, Python)
        args, kwargs = work.unpack(arguments(node, around))
        value = work.function(*args, **kwargs)
        return asyncio.run(value) if work.executor == "loop" else value

    def _end(self, node: Node, end: str) -> None:
        self.ends[node.name] = end
        dead: frozenset[str] = frozenset()
        if node.branch is not None and end == "succeeded":
            dead = not_taken(node.branch, self.results[node.name], self.flow.judge)
        for child in self.graph.children[node.name]:
            edge = edge_of(end, chosen=child not in dead)
            self.tallies[child] = self.tallies[child].plus(edge)
            if edge == "taken":
                self.taken[child][node.name] = self.results[node.name]

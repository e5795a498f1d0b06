"""A flow as the engine runs it: each end is told to the children, one edge at a time, in whatever order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping

from holdfast.kernel.graph.conditions import holds
from holdfast.kernel.graph.dag import Graph, OnFailure, Predicate
from holdfast.kernel.graph.readiness import Tally, Verdict, decide, edge_of, not_taken
from tests.kernel.graph.reference import Script


class Run:
    """`pick` chooses which of the nodes that run ends next, and which edge is told next."""

    def __init__(self, graph: Graph, scripts: Mapping[str, Script], pick: Callable[[int], int]) -> None:
        self.graph, self.scripts, self.pick = graph, scripts, pick
        self.tallies = {node.name: Tally(len(node.after)) for node in graph.nodes}
        self.ends: dict[str, str] = {}
        self.decided: dict[str, Verdict] = {}
        self.running: list[str] = []
        self.edges: deque[tuple[str, str, bool]] = deque()
        self.first_bad: str | None = None

    def play(self) -> dict[str, str]:
        for node in self.graph.nodes:
            self._judge(node.name)
        while self.edges or self.running:
            ended = self.running and (not self.edges or self.pick(2))
            if ended:
                name = self.running.pop(self.pick(len(self.running)))
                self._end(name, self.scripts[name].end)
            else:
                self.edges.rotate(self.pick(len(self.edges)))
                self._tell(*self.edges.popleft())
        return self.ends

    def _end(self, name: str, end: str) -> None:
        self.ends[name] = end
        branch = self.graph.by_name[name].branch
        left_out: frozenset[str] = frozenset()
        if branch is not None and end in ("succeeded", "partial"):
            left_out = not_taken(branch, self.scripts[name].result, _evaluate)
        self.edges += [(name, child, child not in left_out) for child in self.graph.children[name]]
        if end in ("failed", "expired") and self.graph.on_failure is OnFailure.FAIL_FAST:
            self.first_bad = self.first_bad or name
            self.running.clear()
            self.edges.clear()
            for other in self.graph.nodes:
                self.ends.setdefault(other.name, "cancelled")

    def _tell(self, parent: str, child: str, chosen: bool) -> None:
        self.tallies[child] = self.tallies[child].plus(edge_of(self.ends[parent], chosen=chosen))
        self._judge(child)

    def _judge(self, name: str) -> None:
        verdict = decide(self.graph.by_name[name].join, self.tallies[name])
        before = self.decided.get(name, Verdict.WAIT)
        assert before in (Verdict.WAIT, verdict), f"{name} was {before}, is {verdict}: {self.tallies[name]}"
        if before is verdict:
            return
        self.decided[name] = verdict
        if verdict is Verdict.RELEASE:
            self.running.append(name)
        else:
            self._end(name, "skipped" if verdict is Verdict.SKIP else "cancelled")


def _evaluate(judged: object, result: object) -> bool:
    assert not isinstance(judged, Predicate)
    return holds(judged, result)  # type: ignore[arg-type] # a condition: these graphs have no predicates

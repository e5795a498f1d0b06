"""When a node of a flow may run: what its parents' ends say together. One rule per kind of join."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Any, NamedTuple, assert_never

from holdfast.kernel.graph.dag import Branch, Case, Join, JoinKind, Judged, Mode
from holdfast.kernel.state import SUCCESSFUL, TERMINAL, Canonical

FLOW_FAILED = "flow_failed"
BRANCH_NOT_TAKEN = "branch_not_taken"
UPSTREAM_FAILED = "upstream_failed"


class Verdict(StrEnum):
    """BLOCK: it will never run, because something before it went wrong. SKIP: because nobody wants it to."""

    WAIT = "wait"
    RELEASE = "release"
    SKIP = "skip"
    BLOCK = "block"


class Edge(StrEnum):
    """What a parent's end makes of one edge."""

    TAKEN = "taken"
    DEAD = "dead"
    BROKEN = "broken"


class Tally(NamedTuple):
    """How the edges into a node stand. Edges that are in none of the three are pending."""

    parents: int
    taken: int = 0
    dead: int = 0
    broken: int = 0

    @property
    def pending(self) -> int:
        return self.parents - self.taken - self.dead - self.broken

    def plus(self, edge: Edge) -> Tally:
        match edge:
            case Edge.TAKEN:
                return self._replace(taken=self.taken + 1)
            case Edge.DEAD:
                return self._replace(dead=self.dead + 1)
            case Edge.BROKEN:
                return self._replace(broken=self.broken + 1)
            case _:
                assert_never(edge)


def edge_of(end: str, *, chosen: bool = True) -> Edge:
    """The edge behind a parent that ended in a canonical state; `chosen` unless its branch left this child out."""
    if end not in SUCCESSFUL:
        return Edge.BROKEN
    return Edge.TAKEN if chosen and end != Canonical.SKIPPED else Edge.DEAD


def decide(join: Join, tally: Tally) -> Verdict:
    """What becomes of a node. Whatever is decided stays true as further edges arrive, in whatever order."""
    if not tally.parents:
        return Verdict.RELEASE
    # Whether something went wrong is known when all edges are: before that, only a release or a block is sure.
    over = not tally.pending
    amiss = Verdict.BLOCK if tally.broken else Verdict.SKIP
    match join.kind:
        case JoinKind.ALL:
            if not over:
                return Verdict.WAIT
            return Verdict.RELEASE if tally.taken and not tally.broken else amiss
        case JoinKind.ANY | JoinKind.N:
            wanted = 1 if join.kind is JoinKind.ANY else join.n
            if tally.taken >= wanted:
                return Verdict.RELEASE
            lost = tally.taken + tally.pending < wanted
            return amiss if over or (lost and tally.broken) else Verdict.WAIT
        case JoinKind.ALL_DONE:
            if not over:
                return Verdict.WAIT
            return Verdict.BLOCK if tally.broken else Verdict.RELEASE
        case _:
            assert_never(join.kind)


def taken(branch: Branch, result: Any, evaluate: Callable[[Judged, Any], bool]) -> frozenset[str]:
    """Of the children that the branch names, those that a result takes. Children it does not name are always taken."""
    matching: list[Case] = []
    for case in branch.cases:
        if evaluate(case.when, result):
            matching.append(case)
            if branch.mode is Mode.FIRST:
                break
    if not matching:
        return frozenset(branch.default)
    match branch.mode:
        case Mode.FIRST | Mode.ALL:
            chosen = matching
        case Mode.PRIORITY:
            chosen = [max(matching, key=lambda case: case.priority)]  # the first of equals
        case _:
            assert_never(branch.mode)
    return frozenset(name for case in chosen for name in case.then)


def not_taken(branch: Branch, result: Any, evaluate: Callable[[Judged, Any], bool]) -> frozenset[str]:
    """The children whose edge from this node is dead."""
    return branch.named - taken(branch, result, evaluate)


def overall(states: Iterable[str]) -> Canonical | None:
    """How a flow ended, from the canonical states of its nodes; None while one of them has not."""
    seen = {Canonical(state) for state in states}
    if not seen <= TERMINAL:
        return None
    if seen <= SUCCESSFUL:
        return Canonical.SUCCEEDED
    return Canonical.CANCELLED if seen <= SUCCESSFUL | {Canonical.CANCELLED} else Canonical.FAILED

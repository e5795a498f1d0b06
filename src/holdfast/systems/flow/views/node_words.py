"""Why a node of a flow is where it is, in words: what it waits for, what left it out, what went wrong before it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from holdfast.kernel.graph.dag import Join, JoinKind
from holdfast.kernel.graph.readiness import BRANCH_NOT_TAKEN, FLOW_FAILED, UPSTREAM_FAILED
from holdfast.kernel.graph.workflow_lifecycle import WORKFLOW
from holdfast.kernel.state import OVER, RANK, SUCCESSFUL, Canonical
from holdfast.store.port import NodeRow

NAMED = 5
"""Of many no more are named."""
EXPLAINED = (Canonical.WAITING, Canonical.SKIPPED, Canonical.CANCELLED)
"""The states that a node is in because of others."""


class Before(NamedTuple):
    """One that a node comes after. `chose` are the ways that its branch took, where it left this node out."""

    name: str
    item: int | None
    state: str
    was_not_taken: bool = False
    chose: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        return title(self.name, self.item)


class Beside(NamedTuple):
    """What a node's words go by: those before it, how it joins them, and the reason that its end was given."""

    before: tuple[Before, ...]
    join: Join
    reason: str | None = None
    has_run: bool = False
    failed: tuple[str, ...] = ()
    """Of a node that was cancelled with its flow: the nodes that failed."""


def went_wrong(row: NodeRow) -> bool:
    return RANK[row.state] >= OVER and row.state not in SUCCESSFUL and row.state != Canonical.CANCELLED


def title(name: str, item: int | None) -> str:
    return name if item is None else f"{name}[{item}]"


def why(state: str, node: Beside) -> str | None:
    """The words for a node that waits, was skipped or was cancelled; None for all others."""
    return because(state, node) or (node.reason if state in (Canonical.SKIPPED, Canonical.CANCELLED) else None)


def because(state: str, node: Beside) -> str | None:
    """The same where others are behind it; None where it is its own handler's word, or a person's."""
    match state:
        case Canonical.WAITING:
            return waits(node)
        case Canonical.SKIPPED | Canonical.CANCELLED if cause := _cause(node):
            return f"{state} because {cause} ({node.reason})"
        case _:
            return None


def waits(node: Beside) -> str:
    pending = [each for each in node.before if RANK[each.state] < OVER]
    if not pending:
        return "waits for those before it"
    names = listed(f"{each.title} ({WORKFLOW.state(each.state)})" for each in pending)
    return f"waits for {names}{_manner(node.join, len(node.before))}"


def _manner(join: Join, parents: int) -> str:
    if parents == 1:
        return ""
    match join.kind:
        case JoinKind.ALL:
            return ", all of them"
        case JoinKind.ANY:
            return ", any of them"
        case JoinKind.N:
            return f", {join.n} of {parents}"
        case JoinKind.ALL_DONE:
            return ", until all have ended"


def _cause(node: Beside) -> str:
    """What was behind an end that the engine gave a node."""
    if node.reason == BRANCH_NOT_TAKEN and node.has_run:
        return "its own condition did not hold"
    if node.reason == BRANCH_NOT_TAKEN:
        causes = [f"{each.title} chose {listed(each.chose) or 'none'}" for each in node.before if each.was_not_taken]
        gone = [each.title for each in node.before if each.state == Canonical.SKIPPED]
        return listed([*causes, f"{listed(gone)} {_were(gone)} skipped"] if gone else causes)
    if node.reason == UPSTREAM_FAILED:
        bad = [each for each in node.before if RANK[each.state] >= OVER and each.state not in SUCCESSFUL]
        return listed(f"{each.title} {_ended(each.state)}" for each in bad)
    if node.reason == FLOW_FAILED and node.failed:
        return f"{listed(node.failed)} failed"
    return ""


def _were(names: Sequence[str]) -> str:
    return "was" if len(names) == 1 else "were"


def _ended(state: str) -> str:
    return {Canonical.CANCELLED: "was cancelled", Canonical.TIMED_OUT: "timed out"}.get(Canonical(state), state)


def listed(names: Iterable[str]) -> str:
    """a, b and c; of more than five the rest as a number."""
    found = list(names)
    if len(found) > NAMED:
        return f"{', '.join(found[:NAMED])} and {len(found) - NAMED} more"
    return " and ".join([", ".join(found[:-1]), found[-1]]) if len(found) > 1 else "".join(found)

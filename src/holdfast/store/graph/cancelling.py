"""A flow is cancelled as a whole."""

from __future__ import annotations

from holdfast.kernel.graph.workflow_lifecycle import WORKFLOW
from holdfast.kernel.move import Change
from holdfast.store.dialect import Dialect
from holdfast.store.graph.advancing import end_flow
from holdfast.store.graph.stopping import cancel_rest
from holdfast.store.script import Query, Script


def cancel_flow(
    dialect: Dialect, flow_id: str, reason: str, followed: list[Change], *, actor: str, hard: bool
) -> Script[int]:
    """Every node that has not ended, at once or by asking its worker; how many at once. The flow ends with the last."""
    yield Query("lock_flow", {"id": flow_id})
    rest = yield from cancel_rest(dialect, WORKFLOW, flow_id, reason, followed, actor=actor, hard=hard)
    if not rest.flow.open:
        yield from end_flow(dialect, rest.flow, followed, reason=reason)
    return rest.cancelled

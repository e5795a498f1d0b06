"""Flows as they are looked at: their counts, the ways between their nodes, and why some of them did not run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.kernel.graph.dag import Join, JoinKind
from holdfast.kernel.job import Job
from holdfast.store.dialect import FlowRow
from holdfast.store.graph.flows import NodeRow
from holdfast.store.read.listing import LAST_ID, walk
from holdfast.store.reads import Filter
from holdfast.store.script import Query, Script

if TYPE_CHECKING:
    from holdfast.store.sql_store import SqlStore

FEW = 100


class Way(NamedTuple):
    """An edge, by job ids; `cut` when the parent's branch left the child out."""

    parent: str
    child: str
    cut: bool


class FlowReads:
    """Reads of flows in one store."""

    def __init__(self, store: SqlStore) -> None:
        self._store = store

    async def counts(self, flow_ids: Sequence[str]) -> dict[str, FlowRow]:
        """The counts of several flows, by id."""

        def script() -> Script[dict[str, FlowRow]]:
            found = {}
            for flow_id in flow_ids:
                for row in (yield Query("flow", {"id": flow_id})):
                    found[flow_id] = FlowRow(*row)
            return found

        return await self._store.driver.read(script())

    async def kept(self, flow_id: str) -> list[NodeRow]:
        """The nodes of earlier flows that nodes of this one come after."""
        return [NodeRow(*row) for row in await self._rows("flow_kept", flow_id=flow_id)]

    async def ways(self, flow_id: str) -> list[Way]:
        """The edges into the nodes of a flow."""
        return [Way(parent, child, bool(cut)) for parent, child, cut in await self._rows("flow_edges", flow_id=flow_id)]

    async def reasons(self, flow_id: str) -> dict[str, str | None]:
        """Why nodes were skipped or cancelled, by job id."""
        return dict(await self._rows("flow_reasons", flow_id=flow_id))

    async def queued(self, flow_id: str) -> dict[str, int]:
        """When nodes became ready to run, by job id; those that never did are not in it."""
        return dict(await self._rows("flow_queued", flow_id=flow_id))

    async def join(self, job_id: str) -> Join:
        """How a node joins those that it comes after."""
        [(kind, need)] = await self._rows("node_join", job_id=job_id)
        return Join(JoinKind(kind), need)

    async def children(self, job_id: str) -> list[tuple[str, bool]]:
        """Of each node that waits for this one, its name, and whether it was left out."""
        return [(name, bool(cut)) for name, cut in await self._rows("node_ways", job_id=job_id)]

    async def retried_as(self, flow: Job) -> Job | None:
        """The flow that was made to go on with this one; None when there is none."""
        return await self._store.driver.read(retry_of(flow))

    async def _rows(self, name: str, **params: Any) -> list[Any]:
        def script() -> Script[list[Any]]:
            rows = yield Query(name, params)
            return rows

        return await self._store.driver.read(script())


def retry_key(flow_id: str) -> str:
    """The key of the flow that goes on with this one."""
    return f"retry:{flow_id}"


def retry_of(flow: Job) -> Script[Job | None]:
    walked = yield from walk(Filter(key_scope=flow.task, key=retry_key(flow.id)), 1, LAST_ID, FEW)
    return walked.jobs[0] if walked.jobs else None


def earlier(flow: Job) -> str | None:
    """The flow that this one goes on with; None for one that began anew."""
    return flow.parent_id if flow.parent_id and flow.key == retry_key(flow.parent_id) else None

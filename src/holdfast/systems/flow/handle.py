"""A flow as its submitter holds it: a job whose result is what came out at its ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.kernel.graph.dag import Graph
from holdfast.kernel.graph.mermaid import mermaid
from holdfast.kernel.state import State
from holdfast.runtime.handle import JobHandle
from holdfast.store.port import NodeRow
from holdfast.systems.flow.commands.retry import retry
from holdfast.systems.flow.views.flow import flow_view
from holdfast.systems.flow.views.run import graph_of, results_at_ends, run_of

if TYPE_CHECKING:
    from holdfast.runtime.inside import Inside


class FlowHandle(JobHandle[dict[str, Any]]):
    """`result()` is a dict: of each node that nothing waits for, and that ran, its result.

    `cancel` stops its nodes, and with the last of them the flow itself. `created` is False when a flow with the same
    key was there before: then this is that one.
    """

    def __init__(self, engine: Inside, job_id: str, created: bool = True) -> None:
        super().__init__(engine, job_id)
        self.created = created

    def __repr__(self) -> str:
        return f"<flow {self.id}>"

    def nodes(self) -> list[NodeRow]:
        """Its nodes, and where they stand."""
        return self._call(self._nodes())

    def show(self) -> dict[str, Any]:
        """The flow as the command line and the API show it: its counts, its nodes and why each stands where it does."""
        return self._call(self._show())

    async def ashow(self) -> dict[str, Any]:
        return await self.engine.portal.hop(self._show())

    def graph(self) -> Graph:
        """What it runs, as far as the store knows it: nodes that ran over a list are one."""
        return self._call(self._graph())[0]

    def mermaid(self) -> str:
        """The same as a Mermaid flowchart, in the colours of the nodes' states."""
        return mermaid(*self._call(self._graph()))

    def resume(self, reason: str = "resumed") -> State:
        """Bring it back after a cancel: its cancelled nodes run, or wait, anew."""
        return self._call(self.engine.resume_job(self.id, reason))

    async def aresume(self, reason: str = "resumed") -> State:
        return await self.engine.portal.hop(self.engine.resume_job(self.id, reason))

    def retry(self, reason: str = "retried") -> FlowHandle:
        """The flow that goes on where this one failed or was cancelled: what ended well is not run again.

        Twice gives the same flow. NotAllowedError while this one is under way, or when it ended well.
        """
        return self._call(self._retry(reason))

    async def aretry(self, reason: str = "retried") -> FlowHandle:
        return await self.engine.portal.hop(self._retry(reason))

    async def _nodes(self) -> list[NodeRow]:
        return await (await self.engine.opened()).graph.nodes(self.id)

    async def _show(self) -> dict[str, Any]:
        return await flow_view(store := await self.engine.opened(), await run_of(store, self.id))

    async def _graph(self) -> tuple[Graph, dict[str, str]]:
        return await graph_of(store := await self.engine.opened(), await run_of(store, self.id))

    async def _retry(self, reason: str) -> FlowHandle:
        answer = await retry(await self.engine.opened(), self.id, reason)
        self.engine.woken()
        return FlowHandle(self.engine, answer.job_id, answer.created)

    async def _result(self, timeout: float | None) -> dict[str, Any]:
        await super()._result(timeout)
        return await results_at_ends(await self.engine.opened(), self.id)

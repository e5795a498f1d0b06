"""A flow that runs where the API's workers are: submitted by its name, followed and changed from here."""

from __future__ import annotations

import json
from collections.abc import Coroutine, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from holdfast.client.shapes import ms_of, row_of
from holdfast.client.task import sent
from holdfast.kernel.graph.dag import JoinKind
from holdfast.kernel.payload.encoding import encode
from holdfast.runtime.handle import JobHandle
from holdfast.runtime.task import Options
from holdfast.store.port import FlowRow, NodeRow, Way
from holdfast.systems.flow.declare.flow import Flow
from holdfast.systems.flow.handle import FlowHandle
from holdfast.systems.flow.views.run import Drawn, Run, drawn
from holdfast.tasks.signature import ArgumentsError

if TYPE_CHECKING:
    from holdfast.client.inside import RemoteInside

View = Mapping[str, Any]


class RemoteFlow(Flow):
    """Without nodes it is a name alone, and its input is checked by the API."""

    engine: RemoteInside

    def start(self, args: tuple[Any, ...], input: dict[str, Any], options: Options) -> Coroutine[Any, Any, FlowHandle]:
        if self._nodes:
            payload = self.signature.pack(args, input)
        elif args:
            remedy = "name each of them, or declare its nodes here too"
            raise ArgumentsError(f"{self.name}: its inputs are not known here by their order", remedy=remedy)
        else:
            payload = encode(input, what="input")
        options_sent, trace = sent(options)
        return self._post({"input": json.loads(payload), **options_sent}, trace)

    async def _post(self, body: View, trace: Mapping[str, str]) -> FlowHandle:
        view = await self.engine.connection.post(f"/flows/{quote(self.name, safe='')}", body, trace)
        return RemoteFlowHandle(self.engine, view["id"], view["created"])


class RemoteFlowHandle(FlowHandle):
    """The same calls, sent to an API."""

    engine: RemoteInside

    async def _nodes(self) -> list[NodeRow]:
        return list((await self._run()).nodes)

    async def _graph(self) -> Drawn:
        return drawn(await self._run(), {})

    def mermaid(self) -> str:
        return self.engine.portal.call(self._mermaid())

    async def _mermaid(self) -> str:
        """As the API draws it, with what decides about its ways; of one that is too large for a picture, nothing."""
        view = await self.engine.connection.get(f"/jobs/{self.id}/graph")
        return view["mermaid"] or ""

    async def _show(self) -> dict[str, Any]:
        view: dict[str, Any] = await self.engine.connection.get(f"/flows/{self.id}")
        return view

    async def _run(self) -> Run:
        view = await self._show()
        rows = [(node["kept"], _row(node)) for node in view["nodes"]]
        counts = view["counts"]
        return Run(
            self.engine.seen(view),
            FlowRow(self.id, view["on_failure"], *(counts[name] for name in ("nodes", "open", "failed", "cancelled"))),
            tuple(row for kept, row in rows if not kept),
            tuple(row for kept, row in rows if kept),
            tuple(Way(edge["from"], edge["to"], edge["taken"] is False) for edge in view["edges"]),
        )

    async def _retry(self, reason: str) -> FlowHandle:
        view = await self.engine.connection.post(f"/flows/{self.id}/retry", {"reason": reason})
        return RemoteFlowHandle(self.engine, view["id"], view["created"])

    async def _result(self, timeout: float | None) -> dict[str, Any]:
        await JobHandle._result(self, timeout)
        found: dict[str, Any] = (await self.engine.connection.get(f"/jobs/{self.id}/result"))["result"]
        return found


def _row(node: View) -> NodeRow:
    """A node as an API shows it, back as a row. How it joins those before it is not shown."""
    return row_of(
        NodeRow,
        node,
        join_kind=JoinKind.ALL.value,
        **dict.fromkeys(("need", "parents", "taken", "dead", "broken", "created_at_ms", "due_at_ms", "tries"), 0),
        state=node["canonical_state"],
        finished_at_ms=ms_of(node["ended_at"]),
    )

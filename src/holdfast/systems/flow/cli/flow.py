"""`holdfast flow`: flows, node by node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from holdfast.cli.invocation import Call, Output

if TYPE_CHECKING:
    from holdfast.systems.flow.views.run import Drawn

app = App(name="flow", help="Flows: list, show, graph, run, watch, cancel, resume, retry.")
FlowId = Annotated[str, Parameter(name="ID", help="The flow's id.")]

# Each by its import path: only the command that is run is imported.
for _name, _path, _help in (
    ("run", "run:run", "Start a flow; with --wait, follow it to its end."),
    ("watch", "run:watch", "Follow a flow's nodes until it is over."),
    ("cancel", "change:cancel", "Cancel flows with all their nodes."),
    ("resume", "change:resume", "Bring a cancelled flow back."),
    ("retry", "change:retry", "Go on where a flow failed or was cancelled."),
):
    app.command(f"holdfast.systems.flow.cli.{_path}", name=_name, help=_help)


@app.command(name="list")
async def list_(
    name: Annotated[str | None, Parameter(name="NAME")] = None,
    /,
    *,
    state: Annotated[list[str] | None, Parameter(name=["--state", "-s"])] = None,
    limit: Annotated[int, Parameter(name=["--limit", "-n"])] = 20,
    cursor: str | None = None,
    call: Call,
) -> None:
    """List flows, newest first, with how many of their nodes have ended.

    Args:
        name: Only flows of this name.
        state: Only flows in this state: ACTIVE, COMPLETED, FAILED, CANCELLED. May be given several times.
        limit: How many at most, up to 500.
        cursor: Go on where another list ended.
    """
    from holdfast.kernel.graph.flow_lifecycle import FLOW
    from holdfast.systems.flow.cli.table import FLOWS
    from holdfast.systems.flow.views.flow import flow_views
    from holdfast.views.listing import list_jobs

    async with call.store() as store:
        wanted: dict[str, Any] = {"states": state or (), "task": name, "lifecycle": FLOW.name, "limit": limit}
        page = await list_jobs(store.reads, store.tables, **wanted, cursor=cursor)
        views = await flow_views(store, page.items)
    call.print_page(views, page.next_cursor, "id", FLOWS, "no flows: holdfast flow run NAME")


@app.command
async def show(
    flow_id: FlowId, /, *, everything: Annotated[bool, Parameter(name=["--all", "-a"])] = False, call: Call
) -> None:
    """Show a flow and its nodes: where each stands, and why.

    Args:
        everything: Every node, however many they are.
    """
    from holdfast.systems.flow.cli.table import nodes_table, view_of

    async with call.store() as store:
        view = await view_of(store, flow_id)
    call.print_record(view, nodes_table(view, everything=everything), view["id"])


@app.command
async def graph(which: Annotated[str, Parameter(name="NAME|ID")], /, *, mermaid: bool = False, call: Call) -> None:
    """Show what waits for what: of a declared flow by its name, before it runs, or of one that was started by its id.

    Args:
        which: A flow's id; or the name of one that the app declares, which needs --app.
        mermaid: As a Mermaid flowchart, in the colours of the nodes' states.
    """
    from holdfast.kernel.graph.mermaid import mermaid as flowchart
    from holdfast.systems.flow.cli.table import graph_table

    drawn = await _drawn(call, which)
    if mermaid:
        print(flowchart(*drawn), end="")
        return
    names = drawn.graph.order
    nodes = {node["name"]: node for node in drawn.graph.to_dict()["nodes"]}
    if call.output is Output.IDS:
        call.print_ids(names)
    elif call.is_json:
        whole = drawn.graph.to_dict()
        call.print_json(whole | {"nodes": [nodes[name] | {"state": drawn.states.get(name)} for name in names]})
    else:
        call.print(graph_table([nodes[name] for name in names], drawn.states))


async def _drawn(call: Call, which: str) -> Drawn:
    from holdfast.kernel.job import is_id
    from holdfast.systems.flow.declare.flow import flow_named
    from holdfast.systems.flow.views.run import Drawn, graph_of, run_of

    if not is_id(which.strip().lower()):
        return Drawn(flow_named(call.engine(), which).graph(), {})
    async with call.store() as store:
        return await graph_of(store, await run_of(store, which))

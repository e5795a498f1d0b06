"""`holdfast flow cancel`, `resume`, `retry`: what is done to flows as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from holdfast.cli.exits import Exit
from holdfast.cli.invocation import Call
from holdfast.cli.job.bulk import DryRun, Ids, Yes, is_dry, tell
from holdfast.commands import cancel as cancel_command
from holdfast.commands import resume as resume_command
from holdfast.kernel.graph.flow_lifecycle import FLOW
from holdfast.kernel.state import Canonical
from holdfast.systems.flow.cli.flow import FlowId
from holdfast.systems.flow.cli.table import counts_words, view_of
from holdfast.systems.flow.commands.retry import flow_job
from holdfast.views.job import label
from holdfast.views.living import living_jobs

if TYPE_CHECKING:
    from holdfast.store.port import Store
    from holdfast.systems.flow.views.flow import View

ACTOR = "cli"
Reason = Annotated[str, Parameter(name=["--reason", "-r"], help="Why, as the events will say.")]


async def cancel(
    *ids: Ids,
    name: str | None = None,
    mode: Literal["soft", "hard"] = "soft",
    reason: Reason = "cancelled from the command line",
    dry_run: DryRun = False,
    yes: Yes = False,
    call: Call,
) -> int:
    """Cancel flows: their nodes at once where no worker holds them, else by asking. A flow ends with its last node.

    Several flows, and those that a name chooses, are only shown until --yes is said.

    Args:
        ids: The flows' ids.
        name: All flows of this name that are under way.
        mode: soft asks the workers of running nodes to stop; hard takes the nodes from them.
        dry_run: Only show which.
        yes: Do it, however many they are.
    """
    dry = is_dry(ids, {"name": name}, dry_run=dry_run, yes=yes)
    async with call.store() as store:
        if ids:
            flows = [await flow_job(store, flow_id) for flow_id in ids]
        else:
            flows, _ = await living_jobs(store.reads, store.tables, task=name, lifecycle=FLOW.name)
        if dry:
            done = [flow.id for flow in flows if flow.state == Canonical.WAITING]
            left = {flow.id: f"it is {label(FLOW, flow.state)}" for flow in flows if flow.id not in done}
        elif len(ids) == 1:
            done, left = [(await cancel_command.cancel(store, flows[0].id, reason, mode, ACTOR)).id], {}
        else:
            done, left = await cancel_command.cancel_many(store, flows, reason, mode, ACTOR)
        items = [_item(await view_of(store, flow_id)) for flow_id in done]
    asked = not dry and any(item["state"] != "CANCELLED" for item in items)
    tell(call, "cancel", "cancelled, or asked to stop" if asked else "cancelled", items, left, dry)
    return Exit.CONFLICT if left and not dry else Exit.OK


def _item(view: View) -> dict[str, Any]:
    return {"id": view["id"], "flow": view["task"], "state": view["state"], "nodes": counts_words(view)}


async def resume(flow_id: FlowId, /, *, reason: Reason = "resumed from the command line", call: Call) -> None:
    """Bring a cancelled flow back: its cancelled nodes run, or wait, anew. Exit 5 when it is not cancelled."""
    async with call.store() as store:
        flow = await resume_command.resume(store, (await flow_job(store, flow_id)).id, reason, ACTOR)
        await _show(call, store, flow.id)


async def retry(flow_id: FlowId, /, *, reason: Reason = "retried from the command line", call: Call) -> None:
    """Go on where a flow failed or was cancelled: a new flow, printed in its place, runs what did not end well.

    Twice gives the same flow. Exit 5 while it is under way, or when it ended well.
    """
    from holdfast.systems.flow.commands.retry import retry as go_on

    async with call.store() as store:
        old = await flow_job(store, flow_id)
        answer = await go_on(store, old.id, reason, ACTOR)
        await _show(call, store, answer.job_id)
    call.say(f"it goes on with {old.id}" if answer.created else f"{old.id} was retried before")


async def _show(call: Call, store: Store, flow_id: str) -> None:
    store.wakeups.ring()
    view = await view_of(store, flow_id)
    call.print_record(view, f"{view['id']}  {view['state']}  {counts_words(view)}", flow_id)

"""`holdfast flow run` and `flow watch`: a flow from its start to its end."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from holdfast.cli.exits import Exit, UsageError
from holdfast.cli.invocation import Call
from holdfast.cli.job.follow import Followed
from holdfast.cli.job.waiting import seconds_of
from holdfast.cli.opened import plainly
from holdfast.cli.pairs import named_values
from holdfast.kernel.state import SUCCESSFUL
from holdfast.systems.flow.cli.flow import FlowId
from holdfast.systems.flow.cli.table import counts_words, nodes_table, title, view_of
from holdfast.systems.flow.views.run import results_at_ends

if TYPE_CHECKING:
    from holdfast.runtime.inside import Inside
    from holdfast.store.port import Store
    from holdfast.systems.flow.handle import FlowHandle
    from holdfast.systems.flow.views.flow import View

Timeout = Annotated[str | None, Parameter(name=["--timeout", "-t"])]


def run(
    name: Annotated[str, Parameter(name="NAME")],
    /,
    *,
    values: Annotated[list[str] | None, Parameter(name=["--input", "-i"])] = None,
    file: Annotated[Path | None, Parameter(name=["--file", "-f"])] = None,
    wait: Annotated[bool, Parameter(name=["--wait", "-w"])] = False,
    timeout: Timeout = None,
    key: str | None = None,
    delay: str | None = None,
    queue: str | None = None,
    priority: int | None = None,
    call: Call,
) -> int:
    """Start a flow and print its id; with --wait, its nodes as they end, and its result.

    Args:
        name: The flow's name, as the app declares it; with --file, what to call this one.
        values: An input as name=value: JSON where the value reads as JSON, else text. May be given several times.
        file: A DAG as data: a JSON file with its `nodes`, of tasks that the app declares, and perhaps `on_failure`.
        wait: Follow the flow until it is over. Exit 10 when it failed, 11 when it was cancelled.
        timeout: Stop waiting after this long ("90", "90s", "5m"): exit 124. The flow goes on.
        key: An idempotency key: the same key gives the same flow.
        delay: Start no sooner than this ("30s", "5m", "2h").
        queue: Another queue for nodes that name none.
        priority: Another priority for nodes that name none; higher is sooner.
    """
    inputs = named_values(values, "--input")
    limit_s = seconds_of(timeout)
    given = {"key": key, "delay": delay, "queue": queue, "priority": priority}
    options = {each: value for each, value in given.items() if value is not None}
    engine = call.engine()
    with plainly(engine.url):
        try:
            handle = _started(engine, name, file, inputs, options)
            if not handle.created:
                call.say(f"a flow has this key: {handle.id}")
            if wait or timeout is not None:
                return FOLLOWED.wait(call, engine, handle.id, limit_s)
            view = handle.show()
        finally:
            engine.close()
    call.print_record(view, handle.id, handle.id)
    call.say(f"{view['state']}, {view['counts']['nodes']} nodes; `holdfast flow watch {handle.id}`")
    return Exit.OK


def _started(
    engine: Inside, name: str, file: Path | None, inputs: dict[str, Any], options: dict[str, Any]
) -> FlowHandle:
    from holdfast.systems.flow.declare.document import submit_document
    from holdfast.systems.flow.declare.flow import flow_named

    if file is None:
        return flow_named(engine, name).options(**options).submit(**inputs)
    document = _read(file)
    return engine.portal.call(submit_document(engine, {**document, "name": name}, inputs, options))


def _read(file: Path) -> dict[str, Any]:
    try:
        document = json.loads(file.read_text())
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}", field="--file") from error
    except ValueError as error:
        raise UsageError(f"{file} is no JSON: {error}", field="--file") from error
    if not isinstance(document, dict):
        raise UsageError(f"{file} is no object", field="--file", remedy='write {"nodes": […]}')
    return document


async def watch(flow_id: FlowId, /, *, timeout: Timeout = None, call: Call) -> int:
    """Follow a flow's nodes until it is over. Exit codes as of `flow run --wait`.

    Args:
        timeout: Stop after this long ("90", "90s", "5m"): exit 124. The flow goes on.
    """
    return await FOLLOWED.watch(call, flow_id, timeout)


def _parts(view: View) -> Iterator[tuple[str, str, str]]:
    for node in view["nodes"]:
        if node["canonical_state"] not in ("waiting", "queued"):
            why = f", {node['why']}" if node["why"] else ""
            yield node["job_id"], node["canonical_state"], f"{title(node)}: {node['state']}{why}"


async def _result(store: Store, view: View) -> Any:
    return await results_at_ends(store, view["id"]) if view["canonical_state"] in SUCCESSFUL else None


def _ending(view: View) -> str:
    why = "" if view["canonical_state"] in SUCCESSFUL else f"\nwhy: holdfast flow show {view['id']}"
    return f"{view['id']} {view['state']}, {counts_words(view)}{why}"


FOLLOWED = Followed(view_of, nodes_table, _parts, _result, _ending)

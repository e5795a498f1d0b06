"""`holdfast flow run` and `flow watch`: a flow from its start to its end."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from holdfast.cli.exits import Exit, UsageError
from holdfast.cli.invocation import Call, Output
from holdfast.cli.job.waiting import detached, exit_of_job, seconds_of
from holdfast.cli.opened import plainly
from holdfast.cli.pairs import named_values
from holdfast.kernel.state import SUCCESSFUL
from holdfast.systems.flow.cli.table import counts_words, nodes_table, title, view_of
from holdfast.systems.flow.views.run import results_at_ends

if TYPE_CHECKING:
    from holdfast.runtime.inside import Inside
    from holdfast.store.port import Store
    from holdfast.systems.flow.handle import FlowHandle
    from holdfast.systems.flow.views.flow import View

LOOK_EVERY_S = 0.2
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
                return _wait(call, engine, handle.id, limit_s)
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


def _wait(call: Call, engine: Inside, flow_id: str, limit_s: float | None) -> int:
    async def followed() -> int:
        return await follow(call, await engine.opened(), flow_id, limit_s)

    try:
        return engine.portal.call(followed())
    except KeyboardInterrupt:
        return detached(call, [flow_id])


async def watch(flow_id: Annotated[str, Parameter(name="ID")], /, *, timeout: Timeout = None, call: Call) -> int:
    """Follow a flow's nodes until it is over. Exit codes as of `flow run --wait`.

    Args:
        flow_id: The flow's id.
        timeout: Stop after this long ("90", "90s", "5m"): exit 124. The flow goes on.
    """
    async with call.store() as store:
        return await follow(call, store, (await view_of(store, flow_id))["id"], seconds_of(timeout))


async def follow(call: Call, store: Store, flow_id: str, limit_s: float | None) -> int:
    """Show a flow's nodes until it is over: live on a terminal, a line for each that ends elsewhere."""
    try:
        async with asyncio.timeout(limit_s):
            view = await (_live if call.err.is_terminal else _lines)(call, store, flow_id)
    except TimeoutError:
        call.say(f"{flow_id} has not ended after {limit_s:g} s; it goes on")
        return Exit.WAIT_TIMED_OUT
    except asyncio.CancelledError:
        return detached(call, [flow_id])
    await _tell(call, store, view)
    job = await store.reads.get(flow_id)
    return Exit.NOT_FOUND if job is None else exit_of_job(job)


async def _live(call: Call, store: Store, flow_id: str) -> View:
    from rich.live import Live

    with Live(console=call.err, refresh_per_second=8) as live:
        async for view in _looks(store, flow_id):
            live.update(nodes_table(view))
    return view


async def _lines(call: Call, store: Store, flow_id: str) -> View:
    last: dict[str, str] = {}
    async for view in _looks(store, flow_id):
        for node in view["nodes"]:
            if node["canonical_state"] not in ("waiting", "queued", last.get(node["job_id"])):
                last[node["job_id"]] = node["canonical_state"]
                call.say(f"{title(node)}: {node['state']}{f', {why}' if (why := node['why']) else ''}")
    return view


async def _looks(store: Store, flow_id: str) -> AsyncIterator[View]:
    """The flow again and again until it is over; a large one less often, so that looking does not slow it down."""
    while True:
        since_s = time.monotonic()
        view = await view_of(store, flow_id)
        yield view
        if view["finished_at"] is not None:
            return
        await asyncio.sleep(max(LOOK_EVERY_S, 4 * (time.monotonic() - since_s)))


async def _tell(call: Call, store: Store, view: View) -> None:
    """The result on stdout, how it ended on stderr; the whole flow as JSON."""
    if call.is_json:
        call.print_json(view)
    elif call.output is Output.IDS:
        call.print_ids([view["id"]])
    elif view["canonical_state"] in SUCCESSFUL:
        print(json.dumps(await results_at_ends(store, view["id"]), ensure_ascii=False))
    call.say(f"{view['id']} {view['state']}, {counts_words(view)}")
    if view["canonical_state"] not in SUCCESSFUL:
        call.say(f"why: holdfast flow show {view['id']}")

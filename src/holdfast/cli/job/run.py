"""`holdfast run`: submit a task by its name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from holdfast.cli.exits import Exit
from holdfast.cli.invocation import Call
from holdfast.cli.job.waiting import Timeout, detached, seconds_of, wait_for
from holdfast.cli.opened import plainly
from holdfast.cli.pairs import named_values
from holdfast.views.job import job_view

if TYPE_CHECKING:
    from holdfast.runtime.inside import Inside


def run(
    task: Annotated[str, Parameter(name="TASK")],
    /,
    *,
    arg: Annotated[list[str] | None, Parameter(name=["--arg", "-a"])] = None,
    wait: Annotated[bool, Parameter(name=["--wait", "-w"])] = False,
    timeout: Timeout = None,
    key: str | None = None,
    delay: str | None = None,
    queue: str | None = None,
    priority: int | None = None,
    call: Call,
) -> int:
    """Submit a task and print the job's id; with --wait, its result.

    Args:
        task: The task's name, as the app declares it.
        arg: An argument as name=value: JSON where the value reads as JSON, unless the task takes text. May be given
            several times.
        wait: Wait until the job is over. Exit 10 when it failed, 11 when it was cancelled.
        timeout: Stop waiting after this long ("90", "90s", "5m"): exit 124. The job goes on.
        key: An idempotency key: the same key gives the same job.
        delay: Start no sooner than this ("30s", "5m", "2h").
        queue: Another queue than the task's.
        priority: Another priority than the task's; higher is sooner.
    """
    limit_s = seconds_of(timeout)
    given = {"key": key, "delay": delay, "queue": queue, "priority": priority}
    engine = call.engine()
    known = engine.registry.find(task)
    args = named_values(arg, "--arg", known.work.texts if known else ())
    with plainly(engine.url):
        try:
            job = engine.submit(task, args, **{name: value for name, value in given.items() if value is not None})
            if wait or timeout is not None:
                return _wait(call, engine, job.id, limit_s)
            view = job_view(row := job.job(), engine.tables.get(row.lifecycle))
        finally:
            engine.close()
    call.print_record(view, job.id, job.id)
    call.say(f"{view['state']} in {view['queue']}; `holdfast job wait {job.id}`")
    return Exit.OK


def _wait(call: Call, engine: Inside, job_id: str, limit_s: float | None) -> int:
    async def waited() -> Any:
        return await wait_for(call, await engine.opened(), [job_id], limit_s)

    try:
        return int(engine.portal.call(waited()))
    except KeyboardInterrupt:
        return detached(call, [job_id])

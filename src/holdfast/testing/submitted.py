"""Was it submitted?"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from holdfast.kernel.job import Job
from holdfast.runtime.engine import Engine
from holdfast.runtime.task import Task
from holdfast.store.port import Filter, Page

PAGE = 500
SHOWN = 10


def assert_submitted(
    engine: Engine,
    task: Task[..., Any] | str,
    *,
    args: Mapping[str, Any] | None = None,
    queue: str | None = None,
    count: int | None = None,
) -> list[Job]:
    """The jobs of a task, whatever became of them; AssertionError, with what there is instead, when there is none.

    `args` names those arguments that matter, and a job must have each of them with this value. `count` says how
    many jobs there must be; 0 that there must be none.
    """
    name = task if isinstance(task, str) else task.name
    jobs = engine._inside.portal.call(_jobs(engine, name))
    found = [job for job in jobs if (queue is None or job.queue == queue) and _has(job, args or {})]
    if len(found) == count or (count is None and found):
        return found
    wanted = [f"{key}={value!r}" for key, value in (("args", args), ("queue", queue)) if value is not None]
    what = f"{name}({', '.join(wanted)})"
    many = "was not submitted" if count is None else f"was submitted {len(found)} times, not {count}"
    seen = [f"\n  {job.task} args={job.payload} queue={job.queue!r} {job.state}" for job in jobs[:SHOWN]]
    raise AssertionError(f"{what} {many}; of this task there is:{''.join(seen) or ' nothing'}")


async def _jobs(engine: Engine, task: str) -> list[Job]:
    reads = (await engine._inside.opened()).reads
    page = Page([], "")
    jobs: list[Job] = []
    while page.next_cursor is not None:
        page = await reads.list(Filter(task=task), limit=PAGE, cursor=page.next_cursor or None)
        jobs += page.items
    return jobs


def _has(job: Job, args: Mapping[str, Any]) -> bool:
    payload = json.loads(job.payload) if job.payload else {}
    # Compared as what was stored: a tuple is a list there, and an enum its value.
    wanted = json.loads(json.dumps(dict(args), default=_plain))
    return all(key in payload and payload[key] == value for key, value in wanted.items())


def _plain(value: Any) -> Any:
    import msgspec

    return msgspec.to_builtins(value, str_keys=True)

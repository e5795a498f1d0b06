"""`holdfast job wait` and `job watch`: until a job is over."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from holdfast.cli.exits import Exit, UsageError
from holdfast.cli.invocation import Call
from holdfast.cli.job.bulk import Ids
from holdfast.cli.job.table import progress_words
from holdfast.cli.job.waiting import JobId, Timeout, detached, exit_of_job, get, seconds_of, wait_for
from holdfast.cli.render import state_text
from holdfast.kernel.state import OVER, RANK
from holdfast.views.job import job_view

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from holdfast.kernel.job import Job
    from holdfast.store.port import Store

LOOK_EVERY_S = 0.25
Seen = tuple["Job", dict[str, Any], str]


async def wait(*ids: Ids, timeout: Timeout = None, call: Call) -> int:
    """Wait until jobs are over and print their results. Exit 10 when one failed, 11 when one was cancelled.

    Args:
        ids: The jobs' ids.
        timeout: Stop waiting after this long ("90", "90s", "5m"): exit 124. The jobs go on.
    """
    if not ids:
        raise UsageError("no job was named", remedy="give an ID")
    limit_s = seconds_of(timeout)
    async with call.store() as store:
        jobs = [await get(store, job_id) for job_id in ids]
        return await wait_for(call, store, [job.id for job in jobs], limit_s)


async def watch(job_id: JobId, /, *, timeout: Timeout = None, call: Call) -> int:
    """Follow a job's state and progress until it is over. Exit codes as of `job wait`.

    Args:
        timeout: Stop after this long ("90", "90s", "5m"): exit 124. The job goes on.
    """
    from holdfast.views.find import see_job

    limit_s = seconds_of(timeout)
    began_s = time.monotonic()
    async with call.store() as store:
        job = await get(store, job_id)
        try:
            show = _live if call.err.is_terminal else _lines
            async with asyncio.timeout(limit_s):
                await show(call, _seen(store, job.id))
        except TimeoutError:
            call.say(f"{job.id} has not ended after {time.monotonic() - began_s:.0f} s; it goes on")
            return Exit.WAIT_TIMED_OUT
        except asyncio.CancelledError:
            return detached(call, [job.id])
        job = await get(store, job.id)
        if call.is_json:
            call.print_json(job_view(*await see_job(store, job.id)))
    return exit_of_job(job)


async def _seen(store: Store, job_id: str) -> AsyncIterator[Seen]:
    """The job, its view and why it is where it is, again and again; the last time when it is over."""
    from holdfast.views.explain import explain
    from holdfast.views.situation import situation_of

    while True:
        job = await get(store, job_id)
        about = await situation_of(store, job)
        view = job_view(job, about.table, await store.reads.signals(job_id))
        yield job, view, explain(about).sentence
        if RANK[job.state] >= OVER:
            return
        await asyncio.sleep(LOOK_EVERY_S)


async def _live(call: Call, seen: AsyncIterator[Seen]) -> None:
    from rich.live import Live

    with Live(console=call.err, refresh_per_second=8) as live:
        async for _, view, sentence in seen:
            live.update(_picture(view, sentence))


def _picture(view: dict[str, Any], sentence: str) -> Table:
    made = Table.grid(padding=(0, 2))
    made.add_row(Text(view["id"], "bold"), Text(view["task"]))
    why = sentence.partition(": ")[2]
    made.add_row(state_text(view["state"], view["canonical_state"]), Text(why, "dim"))
    progress = view["progress"]
    if progress and view["finished_at"] is None:
        total, done = progress["total"], progress["done"] or 0
        made.add_row(
            ProgressBar(total=total, completed=done, width=36) if total else Text(),
            Text(progress_words(progress), "dim"),
        )
    return made


async def _lines(call: Call, seen: AsyncIterator[Seen]) -> None:
    """Without a terminal: a line whenever something changed."""
    last: tuple[Any, ...] | None = None
    async for job, view, sentence in seen:
        progress = progress_words(view["progress"]) if view["progress"] else ""
        now = (job.state, job.attempt, progress, job.cancel_requested)
        if now != last:
            call.say(sentence)
            last = now

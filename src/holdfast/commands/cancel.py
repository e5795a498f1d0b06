"""Cancel: at once what no worker holds; the worker is asked (soft), or the job is taken from it (hard)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from holdfast.kernel import decisions
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.graph.flow_lifecycle import FLOW
from holdfast.kernel.job import Job
from holdfast.store.port import Ask, Store

AT_ONCE = 500


class ManyCancelled(NamedTuple):
    """The ids of jobs that were cancelled, or asked to stop, and why others were left as they are."""

    done: list[str]
    left: dict[str, str]


async def cancel(store: Store, job_id: str, reason: str, mode: str = "soft", actor: str = "client") -> Job:
    done = await store.jobs.change([job_id], decisions.cancel(reason, mode), Ask(actor))
    [job] = done.jobs.values()
    return job


async def cancel_many(
    store: Store, jobs: Sequence[Job], reason: str, mode: str = "soft", actor: str = "client"
) -> ManyCancelled:
    """In batches, each in one transaction; flows, which have many jobs of their own, one by one."""
    done: list[str] = []
    left: dict[str, str] = {}
    decide = decisions.cancel(reason, mode)
    for some in _batches(jobs):
        try:
            answer = await store.jobs.change(some, decide, Ask(actor))
        except HoldfastError as refused:
            left[some[0]] = refused.message
            continue
        left |= {job_id: refused.message for job_id, refused in answer.refused.items()}
        done += [job_id for job_id in some if job_id not in answer.refused]
    return ManyCancelled(done, left)


def _batches(jobs: Sequence[Job]) -> Iterator[list[str]]:
    flows = [job.id for job in jobs if job.lifecycle == FLOW.name]
    others = [job.id for job in jobs if job.lifecycle != FLOW.name]
    yield from (others[start : start + AT_ONCE] for start in range(0, len(others), AT_ONCE))
    yield from ([flow_id] for flow_id in flows)

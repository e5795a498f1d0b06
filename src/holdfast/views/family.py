"""A job's family: what it came from, and what came from it."""

from __future__ import annotations

from typing import Any, NamedTuple

from holdfast.kernel.job import Job
from holdfast.store.port import Filter, Store
from holdfast.views.job import label

MOST = 500
"""A family is shown up to so many jobs."""


class Family(NamedTuple):
    """Jobs by id, each with the parent that it names; `more` when not all are here."""

    jobs: dict[str, Job]
    more: bool


async def family_of(store: Store, job: Job) -> Family:
    """The job, its parents up to the first, and its children down to the last, as far as they still exist."""
    jobs = {job.id: job}
    above = job
    while above.parent_id is not None and above.parent_id not in jobs and len(jobs) < MOST:
        parent = await store.reads.get(above.parent_id)
        if parent is None:
            break
        jobs[parent.id] = above = parent
    more = False
    waiting = [job.id]
    while waiting:
        room = MOST - len(jobs)
        if room <= 0:
            return Family(jobs, True)
        page = await store.reads.list(Filter(parent_id=waiting.pop(0)), limit=room)
        more = more or page.next_cursor is not None
        born = [child for child in page.items if child.id not in jobs]
        jobs |= {child.id: child for child in born}
        waiting += [child.id for child in born]
    return Family(jobs, more)


async def graph_view(store: Store, job: Job) -> dict[str, Any]:
    """Nodes and edges, a parent before its children; an edge says that one submitted the other."""
    family = await family_of(store, job)
    tables = await store.reads.lifecycles()
    nodes = [
        {
            "id": each.id,
            "task": each.task,
            "lifecycle": each.lifecycle,
            "state": label(tables.get(each.lifecycle), each.state),
            "canonical_state": each.state,
        }
        for each in sorted(family.jobs.values(), key=lambda each: each.id)
    ]
    edges = [
        {"from": each.parent_id, "to": each.id, "kind": "parent"}
        for each in family.jobs.values()
        if each.parent_id in family.jobs
    ]
    return {"id": job.id, "nodes": nodes, "edges": edges, "truncated": family.more}

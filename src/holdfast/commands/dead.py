"""Dead letters as people handle them: by id, by group, by filter; edited and replayed, or discarded.

A dead-lettered job stays dead. A replay is a new job under the key `dlq:<job id>` that names the old one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from uuid_utils import uuid4, uuid7

from holdfast.kernel.errors import HoldfastError, NotFoundError
from holdfast.kernel.job import Job, Spec, correlation_of
from holdfast.kernel.lifecycle import Lifecycle
from holdfast.kernel.payload.encoding import encode
from holdfast.kernel.policy import Duplicates
from holdfast.kernel.state import Canonical
from holdfast.store.port import Group, Letter, Store, Submitted, Wanted
from holdfast.views.job import iso

if TYPE_CHECKING:
    from holdfast.tasks.registry import Registry

Check = Callable[[str, Mapping[str, Any]], str]
"""From a task's name and its arguments to the payload, or an error that names the argument that is wrong."""

AT_ONCE = 200


def checker(registry: Registry) -> Check:
    """Arguments are checked against the signature of a task that is declared here; all others go as they are."""

    def check(task: str, args: Mapping[str, Any]) -> str:
        known = registry.find(task)
        return encode(dict(args), what="args") if known is None else known.work.pack_named(args)

    return check


async def matching(store: Store, wanted: Wanted, most: int | None = None) -> list[Letter]:
    """Every letter that a filter chooses, the newest first; `most` bounds how many."""
    letters = store.admin.dead
    found: list[Letter] = []
    cursor: str | None = None
    while True:
        page = await letters.page(wanted, limit=AT_ONCE, cursor=cursor)
        found += page.items
        cursor = page.next_cursor
        if cursor is None or (most is not None and len(found) >= most):
            return found[:most]


async def replay(
    store: Store,
    job_ids: Sequence[str],
    *,
    edits: Mapping[str, Any] | None = None,
    check: Check | None = None,
    actor: str = "client",
    reason: str | None = None,
) -> dict[str, Submitted]:
    """Submit dead-lettered jobs once more, their arguments edited or not; dead job's id → the new job.

    One that was replayed before is answered with the job that it became then. NotFoundError for a job without a
    dead letter: nothing is replayed then.
    """
    letters = store.admin.dead
    known = {letter.job_id for letter in await letters.of(job_ids)}
    for job_id in job_ids:
        if job_id not in known:
            raise NotFoundError("dead letter of job", job_id, f"holdfast job explain {job_id}")
    now_ms = await store.now_ms()
    tables = await store.reads.lifecycles()
    answers: dict[str, Submitted] = {}
    for start in range(0, len(job_ids), AT_ONCE):
        some = list(dict.fromkeys(job_ids[start : start + AT_ONCE]))
        specs = {
            job.id: again(
                job,
                tables[job.lifecycle],
                now_ms,
                key=f"dlq:{job.id}",
                actor=actor,
                reason=reason or "replayed",
                edits=edits,
                check=check,
            )
            for job in await store.reads.get_many(some)
        }
        answers |= await letters.replay(specs)
    return answers


def again(
    job: Job,
    table: Lifecycle,
    now_ms: int,
    *,
    key: str,
    actor: str,
    reason: str,
    edits: Mapping[str, Any] | None = None,
    check: Check | None = None,
) -> Spec:
    """The job that does what another was to do: a new life, a new trace, the same correlation, the old as parent."""
    lived_ms = now_ms - job.created_at_ms
    return Spec(
        id=str(uuid7()),
        lifecycle=job.lifecycle,
        task=job.task,
        payload=edited(job, edits or {}, check),
        queue=job.queue,
        priority=job.priority,
        state=(Canonical.QUEUED if Canonical.QUEUED in table.initial else table.initial[0]).value,
        max_tries=job.max_tries,
        lease_ms=job.lease_ms,
        expire_after_ms=_lasting(job, table),
        keep_until_ms=None if job.keep_until_ms is None else job.keep_until_ms + lived_ms,
        key=key,
        duplicates=Duplicates.RETURN.value,
        correlation_id=correlation_of(job),
        trace_id=uuid4().hex,
        parent_id=job.id,
        tags=job.tags,
        options=job.options,
        actor=actor,
        reason=reason,
        cause=job.id,
    )


def _lasting(job: Job, table: Lifecycle) -> int | None:
    """How long a job may last, or stand still: the limit that it was given."""
    if job.expires_at_ms is None:
        return None
    since_ms = job.created_at_ms if table.policies.stale_after_ms is None else job.changed_at_ms
    return max(job.expires_at_ms - since_ms, 0)


def edited(job: Job, edits: Mapping[str, Any], check: Check | None) -> str | None:
    """A job's payload with some arguments changed, checked where the task is known."""
    if job.payload is None and job.payload_digest is not None:
        raise HoldfastError(f"the payload of job {job.id} was purged", remedy="submit the task anew")
    args = json.loads(job.payload) if job.payload else {}
    if not isinstance(args, dict):
        if edits:
            raise HoldfastError(f"the payload of job {job.id} has no named arguments to edit", field="edit")
        return job.payload
    if not edits and check is None:
        return job.payload
    changed = args | dict(edits)
    return encode(changed, what="args") if check is None else check(job.task, changed)


def letter_view(letter: Letter) -> dict[str, Any]:
    """A dead letter's public shape."""
    return {
        "job_id": letter.job_id,
        "task": letter.task,
        "queue": letter.queue,
        "at": iso(letter.at_ms),
        "reason_code": letter.reason_code,
        "stage": letter.stage,
        "attempts": letter.attempts,
        "last_error": _error(letter),
        "last_owner": letter.last_owner,
        "last_lease_expires_at": iso(letter.last_lease_expires_at_ms),
        "correlation_id": letter.correlation_id,
        "group": letter.fingerprint,
        "resolution": letter.resolution,
        "replayed_as": letter.replayed_as,
    }


def group_view(group: Group) -> dict[str, Any]:
    return {
        "group": group.fingerprint,
        "count": group.letters,
        "exact": group.is_exact,
        "first_at": iso(group.first_at_ms),
        "last_at": iso(group.last_at_ms),
        "example": letter_view(group.example),
    }


def _error(letter: Letter) -> Any:
    """What went wrong last, as the job's own error says it."""
    if letter.last_error is None:
        return None
    try:
        said = json.loads(letter.last_error)
    except ValueError:
        return {"message": letter.last_error}
    return said.get("error", said) if isinstance(said, dict) else {"message": said}

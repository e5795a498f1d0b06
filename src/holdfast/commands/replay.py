"""Dead-lettered jobs are run once more. Each stays dead: a replay is a new job under the key `dlq:<job id>`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from holdfast.commands.anew import Check, again
from holdfast.kernel.decisions import Anew, Decide, Decision, NotNowError, Stands
from holdfast.kernel.errors import NotFoundError
from holdfast.kernel.state import Canonical
from holdfast.store.port import Store, Submitted

AT_ONCE = 200


def replaying(edits: Mapping[str, Any] | None, check: Check | None, actor: str, reason: str | None) -> Decide:
    """What is decided about one job: refused where there is no dead letter."""

    def decide(stands: Stands) -> Decision:
        job = stands.job
        if job.state != Canonical.DEAD_LETTERED:
            raise NotNowError(job, stands.table, "replay", "it has no dead letter; retry runs it again")
        key, why = f"dlq:{job.id}", reason or "replayed"
        anew = partial(again, job, stands.table, stands.now_ms, key=key, actor=actor, reason=why)
        return Anew(anew(edits=edits, check=check))

    return decide


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

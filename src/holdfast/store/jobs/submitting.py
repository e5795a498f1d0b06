"""Submit: specs become jobs with their first events, and keys decide whether they do."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.kernel.errors import DuplicateKeyError
from holdfast.kernel.graph.flow_lifecycle import FLOW
from holdfast.kernel.graph.workflow_lifecycle import WORKFLOW
from holdfast.kernel.job import Spec
from holdfast.kernel.lifecycle import Command
from holdfast.kernel.move import Change, Move, effect_of
from holdfast.kernel.policy import Duplicates
from holdfast.store.dialect import Dialect, NewJob
from holdfast.store.graph.advancing import end_flow
from holdfast.store.graph.stopping import cancel_rest
from holdfast.store.jobs.admission import Admission, Tables
from holdfast.store.port import Submitted
from holdfast.store.script import Query, Script

REPLACED = "replaced"


def submit(
    dialect: Dialect, admission: Admission, specs: Sequence[Spec], replaced: list[Change] | None = None
) -> Script[list[Submitted]]:
    """Create what is new, in rounds: a round holds each key at most once. `replaced` gets what had to give way."""
    tables = admission.tables
    replaced = [] if replaced is None else replaced
    made = [admission.admit(spec) for spec in specs]
    answers: list[Submitted] = [Submitted(job.id, True) for job in made]
    if all(job.key_scope is None for job in made):
        yield from dialect.create(made)
        return answers
    left = list(range(len(made)))
    while left:
        seen: set[tuple[str | None, str | None]] = set()
        now: list[int] = []
        later: list[int] = []
        for i in left:
            name = (made[i].key_scope, made[i].key)
            (later if made[i].key_scope is not None and name in seen else now).append(i)
            seen.add(name)
        held = yield from _hold(dialect, tables, [(specs[i], made[i]) for i in now])
        fresh = []
        for i in now:
            holder = held.get((made[i].key_scope, made[i].key), made[i].id)
            if holder != made[i].id and not (yield from _take(dialect, tables, specs[i], made[i], holder, replaced)):
                answers[i] = Submitted(holder, False)
            else:
                fresh.append(made[i])
        if fresh:
            yield from dialect.create(fresh)
        left = later
    return answers


def _hold(
    dialect: Dialect, tables: Tables, pairs: Sequence[tuple[Spec, NewJob]]
) -> Script[dict[tuple[str | None, str | None], str]]:
    """Who holds the keys of these jobs, after each has asked for its own."""
    groups: dict[tuple[str, int | None], list[tuple[str, str, str]]] = {}
    for spec, job in pairs:
        if job.key_scope is not None and job.key is not None:
            policies = tables[job.lifecycle].policies
            window = spec.key_window_ms or policies.key_window_ms
            groups.setdefault((policies.key_hold.value, window), []).append((job.key_scope, job.key, job.id))
    held: dict[tuple[str | None, str | None], str] = {}
    for (hold, window), keys in sorted(groups.items(), key=str):
        found = yield from dialect.hold_keys(sorted(keys), hold, window)
        held.update((name, holder) for name, holder in found.items())
    return held


def _take(
    dialect: Dialect, tables: Tables, spec: Spec, job: NewJob, holder: str, replaced: list[Change]
) -> Script[bool]:
    """Whether a job takes its key from the holder, as the duplicates policy says."""
    policy = Duplicates(spec.duplicates or tables[job.lifecycle].policies.duplicates)
    if policy is Duplicates.RETURN:
        return False
    if policy is Duplicates.REJECT:
        raise DuplicateKeyError(job.key_scope or "", job.key or "", holder)
    [(lifecycle, state, attempt)] = yield Query("where_stands", {"id": holder})
    table = tables[lifecycle]
    if lifecycle == FLOW.name:
        yield from _stop_flow(dialect, job, holder, replaced)
    elif table.state(state).is_terminal() is False:
        path = (table.row(state, Command.CANCEL),)
        change = Change(table, path, job.actor, [Move(holder, attempt, reason=REPLACED, cause=job.id)])
        if (yield from dialect.apply(change, effect_of(table, path))):
            replaced.append(change)
    yield Query("pass_key", {"scope": job.key_scope, "key": job.key, "job_id": job.id})
    return True


def _stop_flow(dialect: Dialect, job: NewJob, flow_id: str, replaced: list[Change]) -> Script[None]:
    """A flow that is replaced ends at once, with all its nodes."""
    yield Query("lock_flow", {"id": flow_id})
    rest = yield from cancel_rest(
        dialect, WORKFLOW, flow_id, REPLACED, replaced, actor=job.actor, hard=True, cause=job.id
    )
    if not rest.flow.open:
        yield from end_flow(dialect, rest.flow, replaced, reason=REPLACED, cause=job.id)

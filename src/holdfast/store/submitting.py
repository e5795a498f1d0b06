"""Submit: specs become jobs with their first events, and keys decide whether they do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from holdfast.kernel.errors import PayloadError
from holdfast.kernel.job import Spec, spec_digest
from holdfast.kernel.lifecycle import Command, Lifecycle
from holdfast.kernel.move import Change, Move, effect_of
from holdfast.kernel.payload import digest
from holdfast.kernel.policy import Duplicates
from holdfast.kernel.refused import DuplicateKeyError, NotAllowedError, NotFoundError
from holdfast.store.dialect import Dialect, NewJob
from holdfast.store.port import Submitted
from holdfast.store.script import Query, Script

TEXTS = ("task", "queue", "key_scope", "key", "correlation_id", "trace_id", "actor", "reason", "cause", "tags", "options")
INT32 = range(-(2**31), 2**31)
Tables = Mapping[str, Lifecycle]


def prepare(spec: Spec, tables: Tables) -> NewJob:
    """Check a spec at the door and work out what its first event binds."""
    table = tables.get(spec.lifecycle)
    if table is None:
        raise NotFoundError("lifecycle", spec.lifecycle, f"known here: {', '.join(sorted(tables))}")
    if spec.state not in table.initial:
        allowed = tuple(f"submit as {state}" for state in table.initial)
        raise NotAllowedError(table.name, "nothing", f"submit as {spec.state}", allowed)
    if spec.priority not in INT32:
        raise PayloadError(field="priority", problem="is out of range", remedy="use a whole number of 32 bits")
    for name in TEXTS:
        text = getattr(spec, name)
        if text is not None:
            _plain(name, text)
    body = None if spec.payload is None else _plain("payload", spec.payload)
    expire_after = table.policies.stale_after_ms or spec.expire_after_ms
    allow = spec.duplicates == Duplicates.ALLOW
    scope = None if spec.key is None or allow else spec.key_scope or spec.task
    spec = spec._replace(key_scope=scope)
    said = None
    if spec.due_at_ms is not None:
        said = f'{{"due_at_ms":{spec.due_at_ms}}}'
    elif spec.delay_ms:
        said = f'{{"delay_ms":{spec.delay_ms}}}'
    return NewJob(
        id=spec.id,
        lifecycle=spec.lifecycle,
        task=spec.task,
        queue=spec.queue,
        priority=spec.priority,
        state=spec.state,
        ready=spec.state in table.claimable,
        max_tries=spec.max_tries,
        lease_ms=spec.lease_ms,
        delay_ms=spec.delay_ms,
        due_at_ms=spec.due_at_ms,
        expire_after_ms=expire_after,
        keep_until_ms=spec.keep_until_ms,
        key_scope=scope,
        key=spec.key,
        correlation_id=spec.correlation_id,
        trace_id=spec.trace_id,
        parent_id=spec.parent_id,
        tags=spec.tags,
        options=spec.options,
        payload=spec.payload,
        event_type=table.submit_event,
        actor=spec.actor,
        reason=spec.reason,
        cause=spec.cause,
        event_payload=said,
        digest=spec_digest(spec, expire_after_ms=expire_after, payload=body),
    )


def _plain(name: str, text: str) -> bytes:
    """The digest of a text that both databases can hold; PayloadError for one that one of them cannot."""
    if "\x00" in text:
        raise PayloadError(field=name, problem="contains a NUL character", remedy="remove it")
    try:
        return digest(text)
    except UnicodeEncodeError:
        raise PayloadError(
            field=name, problem="contains a lone surrogate", remedy="use text that UTF-8 can hold"
        ) from None


def submit(dialect: Dialect, tables: Tables, specs: Sequence[Spec]) -> Script[list[Submitted]]:
    """Create what is new, in rounds: a round holds each key at most once."""
    made = [prepare(spec, tables) for spec in specs]
    answers: list[Submitted] = [Submitted(job.id, True) for job in made]
    if all(job.key_scope is None for job in made):
        yield from dialect.create(made)
        return answers
    left = list(range(len(made)))
    while left:
        seen: set[tuple[str | None, str | None]] = set()
        now, later = [], []
        for i in left:
            name = (made[i].key_scope, made[i].key)
            (later if made[i].key_scope and name in seen else now).append(i)
            seen.add(name)
        held = yield from _hold(dialect, tables, [(specs[i], made[i]) for i in now])
        fresh = []
        for i in now:
            holder = held.get((made[i].key_scope or "", made[i].key or ""), made[i].id)
            if holder != made[i].id and not (yield from _take(dialect, tables, specs[i], made[i], holder)):
                answers[i] = Submitted(holder, False)
            else:
                fresh.append(made[i])
        if fresh:
            yield from dialect.create(fresh)
        left = later
    return answers


def _hold(
    dialect: Dialect, tables: Tables, pairs: Sequence[tuple[Spec, NewJob]]
) -> Script[dict[tuple[str, str], str]]:
    """Who holds the keys of these jobs, after each has asked for its own."""
    groups: dict[tuple[str, int | None], list[tuple[str, str, str]]] = {}
    for spec, job in pairs:
        if job.key_scope is not None and job.key is not None:
            policies = tables[job.lifecycle].policies
            window = spec.key_window_ms or policies.key_window_ms
            groups.setdefault((policies.key_hold.value, window), []).append((job.key_scope, job.key, job.id))
    held: dict[tuple[str, str], str] = {}
    for (hold, window), keys in sorted(groups.items(), key=str):
        held.update((yield from dialect.hold_keys(sorted(keys), hold, window)))
    return held


def _take(dialect: Dialect, tables: Tables, spec: Spec, job: NewJob, holder: str) -> Script[bool]:
    """Whether a job takes its key from the holder, as the duplicates policy says."""
    policy = Duplicates(spec.duplicates or tables[job.lifecycle].policies.duplicates)
    if policy is Duplicates.RETURN:
        return False
    if policy is Duplicates.REJECT:
        raise DuplicateKeyError(job.key_scope or "", job.key or "", holder)
    [(lifecycle, state, attempt)] = yield Query("where_stands", {"id": holder})
    table = tables[lifecycle]
    if table.state(state).is_terminal() is False:
        path = (table.row(state, Command.CANCEL),)
        change = Change(table, path, job.actor, [Move(holder, attempt, reason="replaced", cause=job.id)])
        yield from dialect.apply(change, effect_of(table, path))
    yield Query("pass_key", {"scope": job.key_scope, "key": job.key, "job_id": job.id})
    return True

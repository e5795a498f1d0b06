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
from holdfast.store.reading import is_id
from holdfast.store.script import Query, Script

TEXTS = ("task", "queue", "key_scope", "key", "correlation_id", "trace_id", "actor", "reason", "cause", "tags", "options")
NUMBERS = ("priority", "max_tries", "lease_ms")
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
    if not (spec.priority in INT32 and spec.max_tries in INT32 and spec.lease_ms in INT32):
        name = next(name for name in NUMBERS if getattr(spec, name) not in INT32)
        raise PayloadError(field=name, problem="is out of range", remedy="use a whole number of 32 bits")
    if not (is_id(spec.id) and (spec.parent_id is None or is_id(spec.parent_id))):
        name = "parent_id" if is_id(spec.id) else "id"
        raise PayloadError(field=name, problem="is no job id", remedy="use a UUID in lower case with hyphens")
    _check_texts(spec)
    body = None if spec.payload is None else _plain("payload", spec.payload)
    expire_after = table.policies.stale_after_ms or spec.expire_after_ms
    allow = spec.duplicates == Duplicates.ALLOW
    scope = None if spec.key is None or allow else spec.key_scope or spec.task
    if scope is not spec.key_scope:
        spec = spec._replace(key_scope=scope)
    said = None
    if spec.due_at_ms is not None:
        said = f'{{"due_at_ms":{spec.due_at_ms}}}'
    elif spec.delay_ms:
        said = f'{{"delay_ms":{spec.delay_ms}}}'
    return NewJob(
        spec.id,
        spec.lifecycle,
        spec.task,
        spec.queue,
        spec.priority,
        spec.state,
        spec.state in table.claimable,
        spec.max_tries,
        spec.lease_ms,
        spec.delay_ms,
        spec.due_at_ms,
        expire_after,
        spec.keep_until_ms,
        scope,
        spec.key,
        spec.correlation_id,
        spec.trace_id,
        spec.parent_id,
        spec.tags,
        spec.options,
        spec.payload,
        table.submit_event,
        spec.actor,
        spec.reason,
        spec.cause,
        said,
        spec_digest(spec, expire_after_ms=expire_after, payload=body),
    )


def _check_texts(spec: Spec) -> None:
    """Names and ids that both databases can hold. All at once: a bad one is looked for only when there is one."""
    texts = spec.task + spec.queue + spec.actor
    for text in (spec.key_scope, spec.key, spec.correlation_id, spec.trace_id, spec.reason, spec.cause, spec.tags):
        if text is not None:
            texts += text
    if spec.options is not None:
        texts += spec.options
    if texts.isascii() and "\x00" not in texts:
        return
    for name in TEXTS:
        if (text := getattr(spec, name)) is not None:
            _plain(name, text)


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

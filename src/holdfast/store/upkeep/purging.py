"""Retention: jobs go with everything that belongs to them, or only their bodies do; both are on record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from holdfast.kernel.job import text_digest
from holdfast.kernel.lifecycle import Lifecycle, is_over
from holdfast.kernel.proof.purge import JOBS, PAYLOADS, pack_ranges, purge_digest
from holdfast.kernel.proof.seal import NOTHING
from holdfast.store.dialect import Dialect
from holdfast.store.port import PurgeRow
from holdfast.store.read.rows import histories
from holdfast.store.script import Many, Query, Row, Script
from holdfast.store.upkeep.erasing import blank, forget

Tables = Mapping[str, Lifecycle]
BELONGINGS = (
    *("drop@signal.job_id", "drop@step.job_id", "drop@checkpoint.job_id", "drop@artifact.job_id", "drop@dead.job_id"),
    *("drop@key.job_id", "drop@deadline.job_id", "drop_edges", "drop@node.job_id", "drop@flow.id"),
    *("drop@rest.id", "drop@job.id"),
)


def prune(dialect: Dialect, tables: Tables, job_ids: Sequence[str], now_ms: int) -> Script[PurgeRow | None]:
    """Remove those of these jobs that are over and sealed to their last event, but for nodes of flows under way."""
    number, digest = yield from _begin()
    jobs = yield from _unneeded(dialect, job_ids)
    over = [row[0] for row in jobs if is_over(tables.get(row[1]), row[2])]
    [(sealed_pos,)] = yield Query("sealed_pos")
    found = yield from histories(dialect, over)
    positions = {job_id: [event.pos for event in events] for job_id, events in found.items()}
    gone = [job_id for job_id in over if job_id in positions and max(positions[job_id]) <= sealed_pos]
    if not gone:
        return None
    yield from forget(dialect, gone)
    for name in BELONGINGS:
        yield Query(name, {"ids": dialect.array(gone)})
    return (yield from _record(number, digest, now_ms, JOBS, len(gone), [positions[i] for i in gone]))


def purge_payloads(dialect: Dialect, job_ids: Sequence[str], now_ms: int) -> Script[PurgeRow | None]:
    """Remove the bodies of those of these jobs that are finished and that no flow needs; digests take their place."""
    number, digest = yield from _begin()
    jobs = {row[0]: row for row in (yield from _unneeded(dialect, job_ids))}
    found = yield from histories(dialect, list(jobs))
    bodies = {job_id for job_id, row in jobs.items() if row[3] is not None or row[5] is not None}
    bodies |= {job_id for job_id, events in found.items() if any(event.payload is not None for event in events)}
    positions = {job_id: [event.pos for event in found[job_id]] for job_id in bodies if found.get(job_id)}
    bodies = set(positions)
    if not bodies:
        return None
    own = [row for job_id, row in jobs.items() if job_id in bodies]
    yield Many("blank_job", [(text_digest(row[3], row[4]), row[0]) for row in own])
    yield Many("blank_outcome", [(text_digest(row[5], row[6]), row[0]) for row in own])
    yield from blank(dialect, sorted(bodies))
    for name in ("blank_signals", "blank_dead"):
        yield Query(name, {"ids": dialect.array(sorted(bodies))})
    held = [positions[job_id] for job_id in bodies]
    return (yield from _record(number, digest, now_ms, PAYLOADS, len(bodies), held))


def drop_expired(now_ms: int, limit: int) -> Script[tuple[int, int]]:
    """Remove signals and remembered answers whose time is over; how many of each."""
    params = {"now_ms": now_ms, "limit": limit}
    signals = yield Query("drop_expired_signals", params)
    ops = yield Query("drop_expired_ops", params)
    return len(signals), len(ops)


def _unneeded(dialect: Dialect, job_ids: Sequence[str]) -> Script[list[Row]]:
    """Finished jobs, locked, but for those whose results a flow that is under way may still ask for."""
    ids = {"ids": dialect.array(job_ids)}
    yield Query("lock_their_flows", ids)
    jobs = yield Query("purge_jobs", ids)
    needed = {row[0] for row in (yield Query("needed_nodes", ids))}
    return [row for row in jobs if row[0] not in needed]


def _begin() -> Script[tuple[int, bytes]]:
    yield Query("purge_lock")
    rows = yield Query("last_purge")
    return (rows[0][0], bytes(rows[0][1])) if rows else (0, NOTHING)


def _record(
    last: int, digest: bytes, now_ms: int, kind: str, jobs: int, positions: Sequence[Sequence[int]]
) -> Script[PurgeRow]:
    flat = sorted(pos for some in positions for pos in some)
    facts = (last + 1, now_ms, kind, jobs, len(flat), flat[0], flat[-1], pack_ranges(flat))
    row = PurgeRow(*facts, purge_digest(digest, *facts))
    yield Query("add_purge", row._asdict())
    return row

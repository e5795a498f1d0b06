"""What is removed of the log: a row stands for many jobs, and only what is said of these goes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from holdfast.kernel.job import text_digest
from holdfast.kernel.log import LogRow
from holdfast.store.dialect import Dialect
from holdfast.store.script import Many, Query, Script

OF_EACH = ("reasons", "causes", "payloads", "payload_digests", "digests")


def forget(dialect: Dialect, job_ids: Sequence[str]) -> Script[None]:
    """Take jobs out of the rows that they are in; a row without jobs goes."""
    gone = set(job_ids)
    for row in (yield from _rows(dialect, job_ids)):
        kept = [None if job_id in gone else job_id for job_id in row.ids]
        if not any(kept):
            yield Query("drop_row", {"pos": row.pos})
            continue
        columns: dict[str, Any] = {name: _where(kept, getattr(row, name)) for name in OF_EACH}
        yield Query("rewrite_row", dialect.erased(row._replace(ids=kept, **columns)))


def blank(dialect: Dialect, job_ids: Sequence[str]) -> Script[None]:
    """Remove what the events of jobs have to say; digests take its place."""
    gone = set(job_ids)
    for row in (yield from _rows(dialect, job_ids)):
        if row.payloads is None:
            continue
        bodies = list(row.payloads)
        digests = list(row.payload_digests or [None] * len(bodies))
        for i, job_id in enumerate(row.ids):
            if job_id in gone and bodies[i] is not None:
                digests[i], bodies[i] = text_digest(bodies[i]), None
        yield Query("rewrite_row", dialect.erased(row._replace(payloads=bodies, payload_digests=digests)))
    first = yield Query("first_words", {"ids": dialect.array(job_ids)})
    if first:
        yield Many("blank_first", [(text_digest(payload), job_id) for job_id, payload in first])


def _rows(dialect: Dialect, job_ids: Sequence[str]) -> Script[list[LogRow]]:
    """The rows of the log that jobs are in."""
    rows = yield Query("rows_of_jobs", {"ids": dialect.array(job_ids)})
    return [dialect.row(row) for row in rows]


def _where(kept: Sequence[str | None], values: Sequence[Any] | None) -> list[Any] | None:
    return None if values is None else [value if kept[i] else None for i, value in enumerate(values)]

"""What is asked for from outside is done once: facts are kept in the transaction that makes them.

A repeat within a day is told the same. Killed before the commit there is neither effect nor answer, killed after it
there are both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from holdfast.kernel.event import PROGRESS
from holdfast.kernel.job import Job
from holdfast.store.dialect import Dialect
from holdfast.store.port import Ask, Facts, FlowRow, MismatchError, SignalRow
from holdfast.store.script import Query, Script, rows_of

if TYPE_CHECKING:
    from holdfast.store.database import Driver

KEPT_MS = 86_400_000


class _Kept(NamedTuple):
    digest: str
    done: Facts


def remembered(dialect: Dialect, ask: Ask, script: Script[Facts]) -> Script[Facts]:
    """Run a script, unless it was run under this op_id before: then what it came to is the answer."""
    if ask.op_id is None:
        return (yield from script)
    # Waits for a rival that is still at it.
    if not (yield Query("op_take", {"op_id": ask.op_id, "now_ms": dialect.now(), "ttl_ms": KEPT_MS})):
        script.close()
        [(text,)] = yield Query("op_answer", {"op_id": ask.op_id})
        return _answer(ask, text)
    done = (yield from script).with_(note=ask.note)
    yield Query("op_keep", {"op_id": ask.op_id, "answer": msgspec.json.encode(_Kept(ask.digest, done)).decode()})
    return done


def facts(dialect: Dialect, done: Facts, job_ids: list[str]) -> Script[Facts]:
    """These jobs as they stand now, with all that is shown of them."""
    ids = dialect.array(job_ids)
    # SQLite has numbers where a job has yes and no: what is remembered is read back as what it is.
    rows = [Job._make(row) for row in (yield Query("get_many", {"ids": ids}))]
    jobs = {job.id: job._replace(ready=bool(job.ready)) for job in rows}
    progress = [SignalRow._make(row) for row in (yield Query("last_signals", {"ids": ids, "type": PROGRESS}))]
    flows: dict[str, FlowRow] = {}
    for job in jobs.values():
        if job.lifecycle == "flow":
            flows |= {row[0]: FlowRow(*row) for row in (yield Query("flow", {"id": job.id}))}
    return done.with_(jobs=jobs, progress=progress, flows=flows)


class SqlAnswers:
    """See `holdfast.store.port.Answers`."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    async def find(self, ask: Ask) -> Facts | None:
        params = {"op_id": ask.op_id, "now_ms": self._driver.dialect.now()}
        rows = await self._driver.read(rows_of("request_answer", params))
        return _answer(ask, rows[0][0]) if rows else None

    async def keep(self, ask: Ask, done: Facts) -> Facts:
        return await self._driver.write(remembered(self._driver.dialect, ask, _made(done)))


def _made(done: Facts) -> Script[Facts]:
    yield from ()
    return done


def _answer(ask: Ask, text: str) -> Facts:
    try:
        kept = msgspec.json.decode(text, type=_Kept)
    except msgspec.MsgspecError:
        raise MismatchError(
            "the key was used with another version of Holdfast, whose answers this one cannot read",
            field="Idempotency-Key",
            remedy="look whether it was done, and use a new key",
        ) from None
    if kept.digest != ask.digest:
        raise MismatchError(field="Idempotency-Key", remedy="use a new key for a new request")
    return kept.done.with_(again=True)

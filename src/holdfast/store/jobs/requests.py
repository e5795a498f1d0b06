"""Requests that are answered once: what the first was answered is kept in the transaction that did what it asked.

A repeat within a day gets that answer, to the byte. Killed before the commit there is neither effect nor answer, killed
after it there are both.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from holdfast.kernel.errors import BusyError, HoldfastError
from holdfast.kernel.job import Job
from holdfast.store.port import SignalRow
from holdfast.store.script import Query, Script

if TYPE_CHECKING:
    from holdfast.store.dialect import Dialect
    from holdfast.store.store import SqlStore

T = TypeVar("T")
KEPT_MS = 86_400_000


class Asked(NamedTuple):
    """A request: under which id it is kept, and the digest of what it says."""

    op_id: str
    digest: str


class Reply(NamedTuple):
    """What a request is answered. `again` is true of a repeat: nothing was done for it."""

    status: int
    body: str
    headers: Mapping[str, str] = {}
    again: bool = False


class MismatchError(HoldfastError):
    """The idempotency key was used for another request."""


class AnsweredError(HoldfastError):
    """The request was answered before. What it did a second time is taken back."""

    def __init__(self, reply: Reply) -> None:
        super().__init__()
        self.reply = reply


class VersionError(HoldfastError):
    """The job has changed since it was looked at."""

    def __init__(self, job: Job) -> None:
        super().__init__(f"job {job.id} is at version {job.version}", field="If-Match", remedy="look at it again")


class Expected(NamedTuple):
    """A job that must still be at one of these versions."""

    job_id: str
    versions: frozenset[int]


Telling = Callable[[Any], Script[Reply | None]]
"""From what a write returned to the answer; None when it did nothing worth one."""


class Answering:
    """Drives `store`, a twin of the given one whose first write with an effect keeps the answer too."""

    def __init__(self, store: SqlStore, asked: Asked | None, tell: Telling, expects: Expected | None = None):
        self._driver = store.driver
        self.announce, self.listen = store.driver.announce, store.driver.listen
        self._asked, self._tell, self._expects = asked, tell, expects
        self.dialect: Dialect = store.driver.dialect
        self.reply: Reply | None = None
        self.store = type(store)(self)
        self.store.know(store.tables.values())

    async def write(self, script: Script[T], *, single: bool = False, urgent: bool = False) -> T:
        if self.reply is not None:
            return await self._driver.write(script, single=single, urgent=urgent)
        result, self.reply = await self._driver.write(self._answered(script))
        return result

    def _answered(self, script: Script[T]) -> Script[tuple[T, Reply | None]]:
        if self._expects is not None:
            yield from is_expected(self._expects)
        result = yield from script
        reply = yield from self._tell(result)
        if reply is not None and self._asked is not None:
            yield from _keep(self.dialect, self._asked, reply)
        return result, reply

    async def read(self, script: Script[T]) -> T:
        return await self._driver.read(script)

    async def run_ddl(self, text: str, name: str) -> bool:
        return await self._driver.run_ddl(text, name)

    async def close(self) -> None:
        """The store that this one is a twin of is somebody else's."""


async def answered(store: SqlStore, asked: Asked) -> Reply | None:
    """What a request was answered, if it was; MismatchError when the key stands for another one."""
    return await store.driver.read(_answer(store.driver.dialect, asked))


async def keep(store: SqlStore, asked: Asked, reply: Reply) -> None:
    """Keep an answer by itself. AnsweredError when there is one by now."""
    await store.driver.write(_keep(store.driver.dialect, asked, reply))


def job_now(job_id: str) -> Script[Job | None]:
    """A job as this transaction sees it."""
    rows = yield Query("get", {"id": job_id})
    return Job._make(rows[0]) if rows else None


def is_expected(expects: Expected) -> Script[None]:
    """VersionError when the job is at another version."""
    job = yield from job_now(expects.job_id)
    if job is not None and job.version not in expects.versions:
        raise VersionError(job)


def signals_now(job_id: str) -> Script[list[SignalRow]]:
    rows = yield Query("signals", {"job_id": job_id})
    return [SignalRow._make(row) for row in rows]


def _answer(dialect: Dialect, asked: Asked) -> Script[Reply | None]:
    rows = yield Query("request_answer", {"op_id": asked.op_id, "now_ms": dialect.now()})
    if not rows:
        return None
    kept = json.loads(rows[0][0])
    if kept["digest"] != asked.digest:
        raise MismatchError(field="Idempotency-Key", remedy="use a new key for a new request")
    return Reply(kept["status"], kept["body"], kept["headers"], again=True)


def _keep(dialect: Dialect, asked: Asked, reply: Reply) -> Script[None]:
    said = {"digest": asked.digest, "status": reply.status, "body": reply.body, "headers": dict(reply.headers)}
    params = {"op_id": asked.op_id, "answer": json.dumps(said), "now_ms": dialect.now(), "ttl_ms": KEPT_MS}
    # Waits for a rival that is about to commit: its answer is the last thing that it writes.
    if (yield Query("request_keep", params)):
        return
    first = yield from _answer(dialect, asked)
    if first is None:
        raise BusyError("the request is being answered elsewhere")
    raise AnsweredError(first)

"""What an engine is made of that speaks to an API: the calls of one on a database, each sent there."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncGenerator, Collection, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from holdfast import config
from holdfast.client.connection import Connection
from holdfast.client.shapes import event_of, job_of, letter_of
from holdfast.client.task import sent
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.event import Event
from holdfast.kernel.job import Job, Spec
from holdfast.kernel.payload.encoding import encode
from holdfast.kernel.state import State
from holdfast.runtime.handle import JobHandle
from holdfast.runtime.inside import Inside
from holdfast.runtime.task import Options
from holdfast.store.port import DeadLetter, Store
from holdfast.tasks.durations import Duration
from holdfast.views.shown import ShownJob, labelled

BATCH = 1_000
BATCH_BYTES = 512 * 1024
PAGE = 500


class HereOnlyError(HoldfastError):
    """That needs the database itself."""


class RemoteInside(Inside):
    """Nothing runs here: tasks are declared for their names and types."""

    first_look_s = 0.05

    def __init__(self, url: str | None, *, key: str | None, wait: Duration | None) -> None:
        super().__init__(url, wait=wait)
        self._key = config.load({"key": key}).key
        self._connection: Connection | None = None
        self._labels: dict[tuple[str, str], State] = {}

    @property
    def connection(self) -> Connection:
        """Only inside the engine's own loop."""
        if self._connection is None:
            self._connection = Connection(self.url, self._key)
        return self._connection

    def submit(self, task: str, args: Mapping[str, Any] | None = None, **options: Any) -> JobHandle[Any]:
        """Submit a task by its name, with its arguments by theirs. It need not be declared here."""
        return self.portal.call(self.asubmit(task, args, **options))

    async def asubmit(self, task: str, args: Mapping[str, Any] | None = None, **options: Any) -> JobHandle[Any]:
        definition = self.registry.find(task)
        if unknown := sorted(options.keys() - Options.__dataclass_fields__.keys()):
            known = ", ".join(Options.__dataclass_fields__)
            raise HoldfastError(f"unknown option {unknown[0]!r}", field=unknown[0], remedy=f"known: {known}")
        options_sent, trace = sent(Options(**options))
        named = args or {}
        payload = encode(named, what="args") if definition is None else definition.work.pack_named(named)
        create = self.acreate([{"task": task, "args": json.loads(payload), **options_sent}], trace)
        [job_id] = await self.portal.hop(create)
        return JobHandle(self, job_id, definition)

    async def acreate(self, bodies: Sequence[Mapping[str, Any]], trace: Mapping[str, str] | None = None) -> list[str]:
        """Create jobs, each exactly once, in one transaction for every thousand."""
        if len(bodies) == 1:
            return [(await self.connection.post("/jobs", bodies[0], trace))["id"]]
        ids: list[str] = []
        for some in _portions(bodies):
            answer = await self.connection.post("/jobs/batch", {"jobs": some}, trace)
            ids += [item["id"] for item in answer["items"]]
        return ids

    async def ajob(self, job_id: str) -> Job:
        return self.seen(await self.connection.get(_path(job_id)))

    async def aevents(self, job_id: str) -> list[Event]:
        return [event_of(view) for view in (await self.connection.get(_path(job_id, "events")))["items"]]

    async def follow_batches(
        self, after: int | None, where: Mapping[str, Collection[str]]
    ) -> AsyncGenerator[list[Event]]:
        params = {name.removesuffix("s"): list(values) for name, values in where.items()}
        stream = self.connection.stream("/events", None if after is None else str(after), **params)
        async for message in stream:
            yield [event_of(message.data)]

    def label(self, job: Job) -> State:
        return self._labels.get((job.lifecycle, job.state)) or super().label(job)

    async def get_job(self, job_id: str) -> ShownJob:
        job = await self.ajob(job_id)
        return labelled(job, self.label(job))

    async def list_jobs(self, state: str | None, limit: int, where: dict[str, Any]) -> list[ShownJob]:
        views = [view async for view in self._pages("/jobs", limit, state=state, **where)]
        return [labelled(job, self.label(job)) for job in map(self.seen, views)]

    async def cancel_job(self, job_id: str, reason: str, mode: str) -> State:
        return self.label(self.seen(await self._post(_path(job_id, "cancel"), reason=reason, mode=mode)))

    async def resume_job(self, job_id: str, reason: str) -> State:
        return self.label(self.seen(await self._post(_path(job_id, "resume"), reason=reason)))

    async def retry_job(self, job_id: str, reason: str) -> JobHandle[Any]:
        return JobHandle(self, (await self._post(_path(job_id, "retry"), reason=reason))["id"])

    async def replay(self, job_id: str, edits: Mapping[str, Any] | None, reason: str) -> JobHandle[Any]:
        view = await self._post(_path(job_id, "replay"), reason=reason, edits=dict(edits or {}))
        return JobHandle(self, view["id"])

    async def dead_letters(self, wanted: Mapping[str, Any]) -> list[DeadLetter]:
        where = {"group" if name == "fingerprint" else name: value for name, value in wanted.items()}
        if where.get("resolved", False) is None:  # all of them: an API shows one kind at a time
            return [each for is_so in (False, True) for each in await self.dead_letters({**where, "resolved": is_so})]
        return [letter_of(view) async for view in self._pages("/dead", sys.maxsize, **where)]

    async def _pages(self, path: str, most: int, **where: Any) -> AsyncGenerator[Mapping[str, Any]]:
        """A list, page by page."""
        cursor: str | None = None
        while most > 0:
            page = await self.connection.get(path, limit=min(most, PAGE), cursor=cursor, **where)
            for view in page["items"]:
                yield view
            cursor, most = page["next_cursor"], most - len(page["items"])
            if cursor is None:
                return

    async def pause_queue(self, queue: str, reason: str | None) -> None:
        body = {} if reason is None else {"reason": reason}
        await self._post(f"/queues/{quote(queue, safe='')}/pause", **body)

    async def resume_queue(self, queue: str) -> bool:
        return bool((await self._post(f"/queues/{quote(queue, safe='')}/resume"))["was_paused"])

    async def _post(self, path: str, **body: Any) -> Any:
        return await self.connection.post(path, body)

    def seen(self, view: Mapping[str, Any]) -> Job:
        """A job, and what its lifecycle calls the state that it is in: that lifecycle need not be known here."""
        job = job_of(view)
        self._labels[job.lifecycle, job.state] = State(view["state"], job.state)
        return job

    async def opened(self) -> Store:
        raise HereOnlyError(f"{self.url} is an API, and this needs the database itself", remedy=ELSEWHERE)

    async def asubmit_specs(self, specs: Sequence[Spec]) -> list[str]:
        if not specs:
            return []
        raise HereOnlyError(f"{self.url} is an API, and takes tasks by their names", remedy="submit the task itself")

    def close(self) -> None:
        if self._connection is not None:
            connection, self._connection = self._connection, None
            self.portal.call(connection.close())
        super().close()


ELSEWHERE = "run it where HOLDFAST_DB is the database's own address"


def _path(job_id: str, part: str = "") -> str:
    return f"/jobs/{quote(job_id, safe='')}" + (f"/{part}" if part else "")


def _portions(bodies: Sequence[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    """As many at a time as an API takes."""
    some: list[Mapping[str, Any]] = []
    size = 0
    for body in bodies:
        more = len(json.dumps(body))
        if some and (len(some) == BATCH or size + more > BATCH_BYTES):
            yield some
            some, size = [], 0
        some.append(body)
        size += more
    if some:
        yield some

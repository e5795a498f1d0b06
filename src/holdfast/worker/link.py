"""What a run keeps with its job: how an executor reaches the store."""

from __future__ import annotations

from holdfast.kernel.errors import LeaseConflictError
from holdfast.kernel.job import Job
from holdfast.kernel.payload.encoding import encode
from holdfast.store.port import Signal, Store

STEP_UNDONE = "job_step_compensated"


class StoreLink:
    """Every write carries the fence: a job that was lost keeps nothing more."""

    def __init__(self, store: Store, owner: str, job: Job) -> None:
        self._store = store
        self._kept = store.kept
        self._owner = owner
        self._job = job

    async def load_step(self, name: str) -> str | None:
        return await self._kept.step(self._job.id, name)

    async def save_step(self, name: str, result: str) -> None:
        self._ours(await self._kept.keep_step(self._job.id, self._job.attempt, self._owner, name, result))

    async def load_checkpoint(self) -> str | None:
        return await self._kept.checkpoint(self._job.id)

    async def save_checkpoint(self, data: str) -> None:
        self._ours(await self._kept.keep_checkpoint(self._job.id, self._job.attempt, self._owner, data))

    async def save_artifact(self, name: str, data: bytes) -> None:
        self._ours(await self._kept.keep_artifact(self._job.id, self._job.attempt, self._owner, name, data))

    async def steps(self) -> list[str]:
        return [name for name, _ in await self._kept.steps(self._job.id)]

    async def step_undone(self, name: str) -> None:
        payload = encode({"step": name}, what="signal")
        await self._store.jobs.signal([Signal(self._job.id, self._job.attempt, STEP_UNDONE, self._owner, payload)])

    def _ours(self, kept: bool) -> None:
        if not kept:
            raise LeaseConflictError(f"job {self._job.id} is no longer ours", context={"attempt": self._job.attempt})

"""What a running job keeps, in its tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.files.pieces import whole
from holdfast.files.port import Files
from holdfast.store.port import Artifact
from holdfast.store.script import rows_of

if TYPE_CHECKING:
    from holdfast.store.database import Driver


class SqlKept:
    """See `holdfast.store.port.Kept`."""

    def __init__(self, driver: Driver, files: Files) -> None:
        self._driver = driver
        self._files = files

    async def _get(self, statement: str, /, **params: Any) -> list[Any]:
        return await self._driver.read(rows_of(statement, params))

    async def _keep(self, statement: str, /, **params: Any) -> bool:
        params["now_ms"] = self._driver.dialect.now()
        return bool(await self._driver.write(rows_of(statement, params), single=True))

    async def step(self, job_id: str, name: str) -> str | None:
        rows = await self._get("step", job_id=job_id, name=name)
        return rows[0][0] if rows else None

    async def steps(self, job_id: str) -> list[tuple[str, int]]:
        return [(row[0], row[1]) for row in await self._get("steps", job_id=job_id)]

    async def keep_step(self, job_id: str, attempt: int, owner: str, name: str, result: str) -> bool:
        return await self._keep("keep_step", job_id=job_id, attempt=attempt, owner=owner, name=name, result=result)

    async def checkpoint(self, job_id: str) -> str | None:
        rows = await self._get("checkpoint", job_id=job_id)
        return rows[0][0] if rows else None

    async def keep_checkpoint(self, job_id: str, attempt: int, owner: str, data: str) -> bool:
        return await self._keep("keep_checkpoint", job_id=job_id, attempt=attempt, owner=owner, data=data)

    async def artifacts(self, job_id: str) -> list[Artifact]:
        return [Artifact(*row) for row in await self._get("artifacts", job_id=job_id)]

    async def artifact(self, job_id: str, name: str) -> Artifact | None:
        rows = await self._get("artifact", job_id=job_id, name=name)
        return Artifact(*rows[0]) if rows else None

    async def keep_artifact(self, job_id: str, attempt: int, owner: str, name: str, data: bytes) -> bool:
        blob = (await self._files.put(whole(data)))._asdict()
        return await self._keep("keep_artifact", job_id=job_id, attempt=attempt, owner=owner, name=name, **blob)

    async def discard_artifacts(self, job_id: str, attempt: int) -> None:
        await self._driver.write(rows_of("discard_artifacts", {"job_id": job_id, "attempt": attempt}), single=True)

"""What a running job keeps: memoised steps, its last checkpoint, artifacts. Every write is under its fence."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from holdfast.files.port import Blob


class Artifact(NamedTuple):
    """A job's name for a blob."""

    name: str
    size: int
    at_ms: int
    digest: str

    @property
    def blob(self) -> Blob:
        return Blob(self.digest, self.size)


class Kept(Protocol):
    """Reads and fenced writes. A write answers whether the job was still the writer's."""

    async def step(self, job_id: str, name: str) -> str | None: ...

    async def steps(self, job_id: str) -> list[tuple[str, int]]:
        """(name, attempt) of the steps that were done, in the order in which they were."""
        ...

    async def keep_step(self, job_id: str, attempt: int, owner: str, name: str, result: str) -> bool: ...

    async def checkpoint(self, job_id: str) -> str | None: ...

    async def keep_checkpoint(self, job_id: str, attempt: int, owner: str, data: str) -> bool: ...

    async def artifacts(self, job_id: str) -> list[Artifact]: ...

    async def artifact(self, job_id: str, name: str) -> Artifact | None: ...

    async def keep_artifact(self, job_id: str, attempt: int, owner: str, name: str, data: bytes) -> bool: ...

    async def discard_artifacts(self, job_id: str, attempt: int) -> None:
        """Forget what one attempt kept. Needs no fence: the attempt is over, and can keep nothing more."""
        ...

"""What a running job keeps: memoised steps, its last checkpoint, artifacts. Every write is under its fence."""

from __future__ import annotations

from typing import NamedTuple, Protocol


class Artifact(NamedTuple):
    """An artifact's name and size; its bytes are read apart."""

    name: str
    size: int
    at_ms: int


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

    async def artifact(self, job_id: str, name: str) -> bytes | None: ...

    async def keep_artifact(self, job_id: str, attempt: int, owner: str, name: str, data: bytes) -> bool: ...

    async def discard_artifacts(self, job_id: str, attempt: int) -> None:
        """Forget what one attempt kept. Needs no fence: the attempt is over, and can keep nothing more."""
        ...

"""The worker's side of its heart: tells it of leases, hears what is lost."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import cast

import structlog

from holdfast.kernel.job import Job

log = structlog.get_logger("holdfast.heartbeat")


class Heartbeat:
    """Owns the side process; starts it again when it dies."""

    def __init__(self, url: str, owner: str, lost: Callable[[str], None]) -> None:
        self._url = url
        self._owner = owner
        self._lost = lost
        self._process: asyncio.subprocess.Process | None = None
        self._reader: asyncio.Task[None] | None = None
        self._leases: dict[str, tuple[int, int]] = {}
        self._stopping = False
        self.renewals = 0
        self.last_word_s = time.monotonic()

    async def start(self) -> None:
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "holdfast.runtime.heart",
            self._url,
            self._owner,
            str(os.getpid()),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        self._reader = asyncio.create_task(self._listen(self._process), name="holdfast-heartbeat")
        for job_id, (attempt, lease_ms) in self._leases.items():
            self._send(["+", lease_ms, [[job_id, attempt]]])

    def hold(self, jobs: Sequence[Job]) -> None:
        """Told before the handlers start: from then on they may keep the interpreter to themselves."""
        by_lease: dict[int, list[tuple[str, int]]] = {}
        for job in jobs:
            self._leases[job.id] = (job.attempt, job.lease_ms)
            by_lease.setdefault(job.lease_ms, []).append((job.id, job.attempt))
        for lease_ms, pairs in by_lease.items():
            self._send(["+", lease_ms, pairs])

    def release(self, job_ids: Iterable[str]) -> None:
        gone = [job_id for job_id in job_ids if self._leases.pop(job_id, None)]
        if gone:
            self._send(["-", gone])

    def _send(self, message: list[object]) -> None:
        process = self._process
        if process is not None and process.stdin is not None and process.returncode is None:
            process.stdin.write(json.dumps(message).encode() + b"\n")

    async def _listen(self, process: asyncio.subprocess.Process) -> None:
        stdout = cast(asyncio.StreamReader, process.stdout)  # asked for when it was started
        while line := await stdout.readline():
            said = json.loads(line)
            self.last_word_s = time.monotonic()
            if "error" in said:
                log.warning("renewal_failed", error=said["error"])
                continue
            self.renewals += said["kept"]
            for job_id in said["lost"]:
                self._leases.pop(job_id, None)
                self._lost(job_id)
        await process.wait()
        if not self._stopping:
            log.error("heart_died", code=process.returncode)
            await self.start()

    async def stop(self) -> None:
        self._stopping = True
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            await self._process.wait()
        if self._reader is not None:
            await asyncio.gather(self._reader, return_exceptions=True)

"""The worker's side of its heart: tells it of leases, hears what is lost, and stops what is not renewed in time."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple, cast

import msgspec

from holdfast.kernel.job import Job
from holdfast.observe.logs import get_logger
from holdfast.store.port import Lease
from holdfast.tasks.registry import TaskDef
from holdfast.worker.renewer_process import AHEAD_S

RENEW_AT = 0.5
"""The share of a lease after which it is renewed."""
GIVE_UP_AT = 0.8
"""The share of a lease after which a job that was not renewed is stopped here: before others may have it."""
LOOK_EVERY_S = 0.1
AGAIN_S = 0.5
STOP_S = 10.0
LONGEST_LINE = 1 << 24

log = get_logger("holdfast.heartbeat")

encode = msgspec.json.encode


def every_ms(lease_ms: int, heartbeat_ms: int) -> int:
    """How often a lease is renewed: when half of it is gone, or as often as its lifecycle says."""
    return min(int(lease_ms * RENEW_AT), heartbeat_ms)


def renewed_soon(tasks: Iterable[TaskDef]) -> bool:
    """Whether one of these tasks is renewed so soon after its start that the heart must be ready before."""
    return any(every_ms(task.lease_ms, task.lifecycle.policies.heartbeat_ms) < AHEAD_S * 1_000 for task in tasks)


class Hold(NamedTuple):
    """One lease: how long it is, how often it is renewed, and when that was last asked for with success."""

    lease_s: float
    every_ms: int
    renewed_s: float
    until_s: float | None = None
    """From here on it is renewed no more: its run has taken longer than it may, and nobody has ended it."""


Renew = Callable[[list[Lease]], Awaitable[list[str]]]
"""Renews leases from here, and says which are lost: for as long as the heart is still starting."""


class Renewer:
    """Owns the side process; starts it again when it dies. With `at_once` it is ready before it has to be."""

    def __init__(
        self, url: str, owner: str, lost: Callable[[str, int, str], None], renew: Renew, *, at_once: bool = True
    ) -> None:
        self._url = url
        self._owner = owner
        self._lost = lost
        self._renew = renew
        self._at_once = at_once
        self.ready = False
        self._process: asyncio.subprocess.Process | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._holds: dict[tuple[str, int], Hold] = {}
        self._gone: list[tuple[str, int]] = []
        self._stopping = False
        self.renewals = 0
        self.starts = 0

    async def start(self) -> None:
        await self._begin()
        self._tasks = [
            asyncio.create_task(self._keep(), name="holdfast-heartbeat"),
            asyncio.create_task(self._guard(), name="holdfast-guard"),
        ]

    async def _begin(self) -> None:
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "holdfast.worker.renewer_process",
            self._url,
            self._owner,
            str(os.getpid()),
            "now" if self._at_once else "later",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=LONGEST_LINE,
        )
        self.starts += 1
        self._gone.clear()
        for lease, hold in self._holds.items():
            self._send([hold.every_ms, hold.renewed_s, [lease], [], hold.until_s])

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    def hold(self, jobs: Sequence[Job], heartbeat_ms: int, since_s: float, run_ms: int | None = None) -> None:
        """Told before the handlers start: from then on they may keep the interpreter to themselves.

        A run that may take `run_ms` is ended by the worker; one that keeps even that from happening is not kept alive
        for longer than a lease more.
        """
        by_lease: dict[int, list[tuple[str, int]]] = {}
        for job in jobs:
            by_lease.setdefault(job.lease_ms, []).append((job.id, job.attempt))
        for lease_ms, leases in by_lease.items():
            until_s = None if run_ms is None else since_s + (run_ms + lease_ms) / 1_000
            hold = Hold(lease_ms / 1_000, every_ms(lease_ms, heartbeat_ms), since_s, until_s)
            self._holds.update(dict.fromkeys(leases, hold))
            gone, self._gone = self._gone, []
            self._send([hold.every_ms, since_s, leases, gone, until_s])

    def release(self, leases: Iterable[tuple[str, int]]) -> None:
        """Told with the next leases, or in a moment: a renewal that comes in between finds nothing and is ignored."""
        self._gone += [lease for lease in leases if self._holds.pop(lease, None)]

    def _send(self, message: list[object]) -> None:
        process = self._process
        if process is not None and process.stdin is not None and process.returncode is None:
            process.stdin.write(encode(message) + b"\n")

    async def _keep(self) -> None:
        while True:
            process = cast(asyncio.subprocess.Process, self._process)
            await self._listen(cast(asyncio.StreamReader, process.stdout))  # asked for when it was started
            await process.wait()
            if self._stopping:
                return
            self.ready = False
            log.error("heart_died", code=process.returncode)
            with suppress(OSError):  # out of processes or files for the moment: the guard stops what that costs
                await self._begin()
                continue
            await asyncio.sleep(AGAIN_S)

    async def _listen(self, stdout: asyncio.StreamReader) -> None:
        while line := await stdout.readline():
            answer = msgspec.json.decode(line)
            if "error" in answer:
                log.warning("renewal_failed", error=answer["error"])
                continue
            if not self.ready:
                self.ready = True
                log.debug("heart_ready", pid=self.pid)
            if "kept" in answer:
                self._renewed(map(tuple, answer["kept"]), map(tuple, answer["lost"]), answer["at_s"])

    def _renewed(self, kept: Iterable[tuple[str, int]], lost: Iterable[tuple[str, int]], at_s: float) -> None:
        for lease in kept:
            self.renewals += 1
            if hold := self._holds.get(lease):
                self._holds[lease] = hold._replace(renewed_s=at_s)
        for lease in lost:
            if self._holds.pop(lease, None):
                self._lost(*lease, "lease_lost")

    async def _renew_from_here(self, now_s: float) -> None:
        """While there is no heart yet, or none any more, this loop does for one."""
        due = [
            Lease(*lease)
            for lease, hold in self._holds.items()
            if now_s - hold.renewed_s >= hold.every_ms / 1_000 and (hold.until_s is None or now_s < hold.until_s)
        ]
        if not due:
            return
        try:
            lost = set(await self._renew(due))
        except Exception as error:  # tried again at the next look, for as long as the leases last
            log.warning("renewal_failed", error=str(error))
            return
        self._renewed(
            [lease for lease in due if lease.job_id not in lost],
            [lease for lease in due if lease.job_id in lost],
            now_s,
        )

    async def _guard(self) -> None:
        """Stop what has not been renewed when its lease is nearly over: it may be another's in a moment."""
        while True:
            planned_s = time.monotonic() + LOOK_EVERY_S
            await asyncio.sleep(LOOK_EVERY_S)
            if self._gone:
                gone, self._gone = self._gone, []
                self._send([0, 0, [], gone, None])
            now_s = time.monotonic()
            if now_s - planned_s > LOOK_EVERY_S:
                continue  # the loop was held up: what the heart has said meanwhile is read first
            if not self.ready:
                await self._renew_from_here(now_s)
            late = [lease for lease, hold in self._holds.items() if now_s - hold.renewed_s > hold.lease_s * GIVE_UP_AT]
            for lease in late:
                self._lost(*lease, "not_renewed")
            self.release(late)

    async def stop(self) -> None:
        self._stopping = True
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            try:
                async with asyncio.timeout(STOP_S):
                    await self._process.wait()
            except TimeoutError:  # a database that does not answer keeps it: nothing is lost with it
                self._process.kill()
                await self._process.wait()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

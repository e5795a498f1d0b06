"""Group commit: what is finished is written together, as soon as the last write has returned."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from holdfast.kernel.lifecycle import Lifecycle, Transition
from holdfast.kernel.move import Change, Move
from holdfast.store.port import Applied, Store

RETRY_FIRST_S = 0.1
RETRY_SLOWEST_S = 5.0

log = structlog.get_logger("holdfast.writer")


class Writer:
    """Gathers moves by row of the table; a refused one is a lost lease, and is counted."""

    def __init__(self, store: Store, owner: str, wrote: Callable[[Applied], Awaitable[None]] | None = None) -> None:
        self._store = store
        self._owner = owner
        self._wrote = wrote
        self._changes: dict[tuple[str, tuple[Transition, ...]], Change] = {}
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._task: asyncio.Task[None] | None = None
        self.pending = 0
        self.written = 0
        self.refused = 0

    def add(self, lifecycle: Lifecycle, path: tuple[Transition, ...], move: Move) -> None:
        key = (lifecycle.name, path)
        change = self._changes.get(key)
        if change is None:
            change = self._changes[key] = Change(lifecycle, path, self._owner, [], self._owner)
        change.moves.append(move)
        self.pending += 1
        self._idle.clear()
        self._wake.set()

    def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name="holdfast-writer")

    async def _run(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            changes, self._changes = list(self._changes.values()), {}
            if changes:
                await self._write(changes)
            if not self._changes:
                self._idle.set()

    async def _write(self, changes: list[Change]) -> None:
        """Until it is written: a database that is away keeps its workers waiting, it does not cost them their work."""
        count = sum(len(change.moves) for change in changes)
        pause = RETRY_FIRST_S
        applied: Applied | None = None
        while applied is None:
            try:
                applied = await self._store.apply(changes)
            except Exception as error:
                if not _passing(error):
                    raise
                log.warning("write_failed", error=str(error), jobs=count, retry_in_s=pause)
                await asyncio.sleep(pause)
                pause = min(pause * 2, RETRY_SLOWEST_S)
        self.pending -= count
        self.written += len(applied.versions)
        for refusal in applied.refused:
            # After a lost answer the repeat is refused although the first was written.
            self.refused += 1
            log.warning("move_refused", job_id=refusal.job_id, why=refusal.why, state=refusal.state)
        if self._wrote is not None:
            await self._wrote(applied)

    async def flush(self) -> None:
        """Wait until everything that was added is written."""
        await self._idle.wait()

    async def stop(self) -> None:
        await self.flush()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)


def _passing(error: Exception) -> bool:
    """Whether a database error may pass: the server is away, shutting down, or out of something."""
    if isinstance(error, OSError):  # ConnectionError, TimeoutError and StoreLostError among them
        return True
    code = getattr(error, "sqlstate", None)
    if isinstance(code, str):
        return code[:2] in ("08", "53", "57", "40")
    return "locked" in str(error) or "busy" in str(error) or "closed" in str(error)

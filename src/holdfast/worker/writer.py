"""Group commit: what is finished is written together, as soon as the last write has returned."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Iterable

from holdfast.kernel.lifecycle import Lifecycle, Transition
from holdfast.kernel.move import Change, Move
from holdfast.observe.logs import get_logger
from holdfast.store.port import Applied, Refusal, Signal, Store

RETRY_FIRST_S = 0.1
RETRY_SLOWEST_S = 5.0

log = get_logger("holdfast.writer")

Wrote = Callable[[list[Change]], None]


class Writer:
    """Gathers moves by row of the table; a refused one is a lost lease, and is counted."""

    def __init__(self, store: Store, owner: str, wrote: Wrote | None = None) -> None:
        self._store = store
        self._owner = owner
        self._wrote = wrote
        self._changes: dict[tuple[int, ...], Change] = {}
        self._signals: list[Signal] = []
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._task: asyncio.Task[None] | None = None
        self.pending = 0
        self.written = 0
        self.refused = 0

    def add(
        self, lifecycle: Lifecycle, path: tuple[Transition, ...], move: Move, signals: Iterable[Signal] = ()
    ) -> None:
        """A move, and what is to be on record before it: a job's last words are there when its end is."""
        # By identity: rows are the objects of their table, and hashing one costs more than all else here.
        key = tuple(map(id, path))
        change = self._changes.get(key)
        if change is None:
            change = self._changes[key] = Change(lifecycle, path, self._owner, [], self._owner)
        change.moves.append(move)
        self._signals += signals
        if not self.pending:
            self._idle.clear()
        self.pending += 1
        self._wake.set()

    def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name="holdfast-writer")

    async def _run(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            changes, self._changes = list(self._changes.values()), {}
            signals, self._signals = self._signals, []
            if changes:
                await self._write(changes, signals)
                self.pending -= sum(len(change.moves) for change in changes)
                if self._wrote is not None:
                    self._wrote(changes)
            if not self.pending:
                self._idle.set()

    async def _write(self, changes: list[Change], signals: list[Signal]) -> None:
        """Until it is written: a database that is away keeps its workers waiting, it does not cost them their work."""
        pause = RETRY_FIRST_S
        in_doubt = False
        while True:
            try:
                applied = await self._store.jobs.apply(changes, signals)
            except Exception as error:
                if not passing(error):
                    await self._write_one_by_one(changes, signals, error)
                    return
                in_doubt = True
                log.warning("write_failed", error=str(error), changes=len(changes), retry_in_s=pause)
                await asyncio.sleep(pause)
                pause = min(pause * 2, RETRY_SLOWEST_S)
            else:
                self._count(changes, applied, in_doubt)
                return

    async def _write_one_by_one(self, changes: list[Change], signals: list[Signal], error: Exception) -> None:
        """The database will not have these together: one of them is at fault, and the others need not suffer."""
        if signals:
            log.error("signals_refused", signals=len(signals), error=str(error))  # words, not work
            await self._write(changes, [])
            return
        moves = [(change, move) for change in changes for move in change.moves]
        if len(moves) == 1:
            log.error("move_impossible", job_id=moves[0][1].job_id, error=str(error))
            return
        for change, move in moves:
            await self._write([change._replace(moves=[move])], [])

    def _count(self, changes: list[Change], applied: Applied, in_doubt: bool) -> None:
        self.written += len(applied.versions)
        for refusal in applied.refused:
            if in_doubt and _was_written(changes, refusal):
                self.written += 1  # the answer was lost, not the write
                continue
            self.refused += 1
            log.warning("move_refused", job_id=refusal.job_id, why=refusal.why, state=refusal.state)

    async def flush(self) -> None:
        """Wait until everything that was added is written."""
        await self._idle.wait()

    async def stop(self, timeout_s: float | None = None) -> None:
        """Write what is left, for as long as that may take, and end."""
        try:
            async with asyncio.timeout(timeout_s):
                await self.flush()
        except TimeoutError:
            log.error("not_written", jobs=self.pending)
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)


def _was_written(changes: list[Change], refusal: Refusal) -> bool:
    """Whether the job stands exactly where our move would have put it."""
    for change in changes:
        opens = sum(row.opens_attempt for row in change.path)
        for move in change.moves:
            if move.job_id == refusal.job_id:
                return refusal.state == change.path[-1].target and refusal.attempt == move.attempt + opens
    return False


def passing(error: Exception) -> bool:
    """Whether a database error may pass: the server is away, shutting down, or out of something."""
    if isinstance(error, OSError):  # ConnectionError, TimeoutError and StoreLostError among them
        return True
    code = getattr(error, "sqlstate", None)
    if isinstance(code, str):
        return code[:2] in ("08", "53", "57", "40", "55")
    return isinstance(error, sqlite3.OperationalError)

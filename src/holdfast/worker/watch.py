"""Looks after jobs that run for longer than a moment: progress goes out, requests to stop come in."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping

from holdfast.executors.port import QUIET
from holdfast.kernel.event import PROGRESS
from holdfast.kernel.state import LEASED, Canonical
from holdfast.observe.logs import get_logger
from holdfast.store.port import Signal, Store
from holdfast.tasks.job_log import LOG
from holdfast.worker.held import Held
from holdfast.worker.writer import passing

WATCH_S = 0.4
YOUNGEST_S = 0.2
SAY_EVERY_S = 1.0
MOST_WORDS = 10_000
"""More than this is not kept for a database that is away."""

log = get_logger("holdfast.watch")


class Watch:
    """One look at all of them, every WATCH_S: a request to stop is heard within a second."""

    def __init__(
        self, store: Store, owner: str, running: Mapping[str, Held], lose: Callable[[str, int, str], None]
    ) -> None:
        self._store = store
        self._owner = owner
        self._running = running
        self._lose = lose
        self._last_words: list[Signal] = []

    async def run(self) -> None:
        while True:
            await asyncio.sleep(WATCH_S)
            try:
                await self.look()
            except Exception as error:  # the database is away: nothing to hear, the leases are watched elsewhere
                log.warning("watch_failed", error=str(error))

    async def look(self) -> None:
        now_s = time.monotonic()
        await self.say_progress(now_s)
        ids = [job_id for job_id, held in self._running.items() if now_s - held.since_s >= YOUNGEST_S]
        if not ids:
            return
        found = await self._store.jobs.stand(ids)
        for job_id, state, attempt, cancel_requested in found:
            held = self._running.get(job_id)
            if held is None or held.job.attempt > attempt:
                continue  # read before it was claimed again
            if attempt != held.job.attempt or state not in LEASED:
                self._lose(job_id, held.job.attempt, "cancelled" if state == Canonical.CANCELLED else "lease_lost")
            elif cancel_requested is not None:
                held.ask_to_stop(cancel_requested)

    def ended(self, held: Held) -> None:
        """A handler that was stopped: what it said last goes out with the next look."""
        self._last_words += self.words(held)

    def words(self, held: Held) -> list[Signal]:
        """What a job has said since it was last asked: its progress, and the lines of its log."""
        words = QUIET if held.handle is None else held.handle.poll()
        if words is QUIET:
            return []
        found = [(LOG, line) for line in words.lines]
        if words.progress is not None:
            found.append((PROGRESS, words.progress))
        return [Signal(held.job.id, held.job.attempt, kind, self._owner, payload) for kind, payload in found]

    async def say_progress(self, now_s: float) -> None:
        """What was said, at most once a second for each job."""
        signals, self._last_words = self._last_words, []
        for held in self._running.values():
            if now_s - held.words_sent_s >= SAY_EVERY_S and (words := self.words(held)):
                held.words_sent_s = now_s
                signals += words
        try:
            await self._store.jobs.signal(signals)
        except Exception as error:
            if passing(error) and len(signals) < MOST_WORDS:
                self._last_words = signals + self._last_words
            raise

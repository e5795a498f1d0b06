"""What `holdfast worker module:app` runs: a worker and the chores, until a signal says stop.

SIGTERM and SIGINT: no more claims, what runs may end within the grace, the rest is handed back at once, exit 0. A
second signal ends the grace.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

from holdfast.chores.runner import Chores
from holdfast.observe.logs import get_logger
from holdfast.worker.weights import Queues
from holdfast.worker.worker import Worker

if TYPE_CHECKING:
    from holdfast.runtime.inside import Inside

SIGNALS = (signal.SIGTERM, signal.SIGINT)

USUAL_LEASE_MS = range(30_000, 120_001)

log = get_logger("holdfast.serving")


class StopSignal:
    """Counts signals. Nothing but that happens in a signal's handler: whoever waits does the rest."""

    def __init__(self) -> None:
        self._came = threading.Semaphore(0)

    def __call__(self, number: int, frame: FrameType | None) -> None:
        self._came.release()

    def wait(self, timeout_s: float | None = None) -> bool:
        return self._came.acquire(timeout=timeout_s)

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Only from the main thread: signals go nowhere else."""
        before = {number: signal.signal(number, self) for number in SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def serve_worker(
    engine: Inside,
    queues: Queues | None = None,
    concurrency: int = 10,
    grace_s: float = 30.0,
    *,
    chores: bool = True,
    metrics_port: int | None = None,
) -> int:
    """Work until told to stop; the exit code. Call it from the main thread.

    With a `metrics_port` the worker's own metrics are shown there, on this machine only.
    """
    stop = StopSignal()
    with stop.listening():
        worker = engine.portal.call(engine.start_worker(queues, concurrency))
        keeping = engine.portal.call(engine.start_chores()) if chores else None
        log.info("worker_started", owner=worker.owner, queues=worker.queues, concurrency=concurrency)
        warn_of_leases(engine)
        hide = None if metrics_port is None else show_metrics(worker, metrics_port)
        stop.wait()
        log.info("worker_stopping", running=len(worker.running), grace_s=grace_s)
        ending = asyncio.run_coroutine_threadsafe(_end(worker, keeping, grace_s), engine.portal.loop)
        # Looks at both in turn: a signal's handler cannot run while this thread waits for a future alone.
        while not ending.done():
            if stop.wait(0.05):
                engine.portal.loop.call_soon_threadsafe(worker.hurry)
        ending.result()
        log.info("worker_stopped", **worker.stats())
        if hide is not None:
            hide()
        engine.close()
    return 0


def warn_of_leases(engine: Inside) -> None:
    """Shorter, and a busy database costs runs; longer, and a dead worker's jobs wait for it."""
    for task in engine.registry:
        if task.lease_ms not in USUAL_LEASE_MS:
            log.warning("unusual_lease", task=task.name, lease_s=task.lease_ms / 1_000, recommended="30 to 120 s")


def show_metrics(worker: Worker, port: int) -> Callable[[], None]:
    """Show a worker's own metrics; the function that ends it. Without the port it works on, and says so."""
    from holdfast.observe import worker_metrics

    try:
        url, stop = worker_metrics.serve(worker.stats, port)
    except OSError as error:
        log.error("metrics_not_shown", port=port, error=str(error))
        return lambda: None
    log.info("metrics_shown", url=url)
    return stop


async def _end(worker: Worker, keeping: Chores | None, grace_s: float) -> None:
    await worker.stop(grace_s)
    if keeping is not None:
        await keeping.stop()

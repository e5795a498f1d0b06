"""`holdfast worker`: a worker process, until it is told to stop."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from holdfast.cli.exits import UsageError
from holdfast.cli.invocation import Here
from holdfast.cli.opened import plainly
from holdfast.config import without_password
from holdfast.runtime.durations import duration_ms
from holdfast.runtime.weights import weights

if TYPE_CHECKING:
    from holdfast.runtime.engine import Engine


def worker(
    place: Annotated[str | None, Parameter(name="module:app")] = None,
    /,
    *,
    queue: Annotated[list[str] | None, Parameter(name=["--queue", "-q"])] = None,
    concurrency: Annotated[int, Parameter(name=["--concurrency", "-c"])] = 10,
    grace: str = "30s",
    here: Here,
) -> int:
    """Run a worker until SIGTERM or Ctrl-C: it then lets its jobs end, and hands back what does not end in time.

    Parameters
    ----------
    place
        The module, a colon, and the engine's name in it; else --app, HOLDFAST_APP or app of holdfast.toml.
    queue
        A queue to claim from, as name or name:weight; may be given several times. Else those of the app's tasks.
    concurrency
        How many jobs at once.
    grace
        How long jobs may take to end once it was told to stop.
    """
    if concurrency < 1:
        raise UsageError(f"concurrency is {concurrency}", field="--concurrency", remedy="use 1 or more")
    grace_s = duration_ms(grace, "grace") / 1_000
    engine = here.engine(place)
    queues = weights(queue) if queue else _queues_of(engine)
    names = ", ".join(f"{name}:{weight}" if weight > 1 else name for name, weight in queues.items())
    here.say(f"worker on {without_password(engine.url)}, queues {names}, {concurrency} at once; Ctrl-C stops it")
    _log_to_stderr()
    from holdfast.runtime.serving import serve_worker

    with plainly(engine.url):
        return serve_worker(engine, queues, concurrency, grace_s)


def _queues_of(engine: Engine) -> dict[str, int]:
    """Every queue that a task of the app goes to."""
    return dict.fromkeys(sorted({task.queue for task in engine.registry} | {"default"}), 1)


def _log_to_stderr() -> None:
    """Unless the app has said where its log goes: stdout is for data."""
    import logging

    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")

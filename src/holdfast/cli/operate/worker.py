"""`holdfast worker`: a worker process, until it is told to stop."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from holdfast.cli.exits import UsageError
from holdfast.cli.invocation import Call
from holdfast.cli.opened import plainly
from holdfast.config import without_password
from holdfast.extras import needs
from holdfast.tasks.durations import duration_ms
from holdfast.worker.weights import weights


def worker(
    place: Annotated[str | None, Parameter(name="module:app")] = None,
    /,
    *,
    queue: Annotated[list[str] | None, Parameter(name=["--queue", "-q"])] = None,
    concurrency: Annotated[int, Parameter(name=["--concurrency", "-c"])] = 10,
    grace: str = "30s",
    metrics_port: int | None = None,
    call: Call,
) -> int:
    """Run a worker until SIGTERM or Ctrl-C: it then lets its jobs end, and hands back what does not end in time.

    Args:
        place: The module, a colon, and the engine's name in it; else --app, HOLDFAST_APP or app of holdfast.toml.
        queue: A queue to claim from, as name or name:weight; may be given several times. Else those of the app's tasks.
        concurrency: How many jobs at once.
        grace: How long jobs may take to end once it was told to stop.
        metrics_port:
            Show this worker's own metrics at http://127.0.0.1:PORT/metrics; 0 takes any port that is free, and logs it.
    """
    if concurrency < 1:
        raise UsageError(f"concurrency is {concurrency}", field="--concurrency", remedy="use 1 or more")
    if metrics_port is not None and not 0 <= metrics_port <= 65_535:
        raise UsageError(f"the port is {metrics_port}", field="--metrics-port", remedy="use 0 to 65535")
    if metrics_port is not None:
        with needs("metrics", "--metrics-port", "--metrics-port"):
            import holdfast.observe.worker_metrics  # noqa: F401 - before there is a worker that it would end
    grace_s = duration_ms(grace, "grace") / 1_000
    engine = call.engine(place)
    queues = weights(queue) if queue else engine.registry.queues()
    names = ", ".join(f"{name}:{weight}" if weight > 1 else name for name, weight in queues.items())
    from holdfast.observe.logs import get_logger, set_up
    from holdfast.runtime.serving import serve_worker

    # Where lines are JSON, each of them is.
    say = get_logger("holdfast.cli").info if set_up() == "json" else call.say
    say(f"worker on {without_password(engine.url)}, queues {names}, {concurrency} at once; Ctrl-C stops it")
    with plainly(engine.url):
        return serve_worker(engine, queues, concurrency, grace_s, metrics_port=metrics_port)

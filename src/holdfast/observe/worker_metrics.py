"""A worker's own metrics on a port of its own: what it counts itself, whether the database is there or not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from prometheus_client import start_http_server
from prometheus_client.core import Metric
from prometheus_client.registry import Collector, CollectorRegistry

from holdfast.observe.metrics import WORKER_NAMES, family

HOST = "127.0.0.1"
Stats = Callable[[], Mapping[str, int]]


class WorkerMetrics(Collector):
    """What a worker says of itself, asked at each scrape."""

    def __init__(self, stats: Stats) -> None:
        self._stats = stats

    def collect(self) -> Iterable[Metric]:
        stats = self._stats()
        values = {
            "worker_claims_total": stats["claimed"],
            "worker_claim_conflicts_total": conflicts(stats),
            "worker_lease_renewals_total": stats["renewed"],
            "worker_moves_written_total": stats["written"],
            "worker_jobs_running": stats["running"],
        }
        for name, value in values.items():
            yield family(name, WORKER_NAMES[name], {(): value})


def conflicts(stats: Mapping[str, int]) -> int:
    """How often a worker found a job to be no longer its own: as it wrote, or as it renewed."""
    return stats.get("refused", 0) + stats.get("lost", 0)


def serve(stats: Stats, port: int) -> tuple[str, Callable[[], None]]:
    """Answer scrapes from a thread of its own: where, and how to end that. OSError when the port is taken."""
    registry = CollectorRegistry()
    registry.register(WorkerMetrics(stats))
    server, thread = start_http_server(port, HOST, registry)

    def stop() -> None:
        server.shutdown()
        server.server_close()
        thread.join()

    return f"http://{HOST}:{server.server_port}/metrics", stop

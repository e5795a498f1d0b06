"""The names of the metrics, and the counting behind them: plain numbers, made into Prometheus text when asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

BUCKETS_S = (1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)
MOST_LABELS = 200
"""So many values of a label have series of their own; what comes after shares one."""
OTHER = "other"


class Name(NamedTuple):
    """One metric: what it is, what it says, and its labels."""

    kind: str
    help: str
    labels: tuple[str, ...] = ()


NAMES: dict[str, Name] = {
    "jobs_submitted_total": Name("counter", "Jobs that were created."),
    "jobs_finished_total": Name("counter", "Jobs that are over, by type and final state.", ("type", "state")),
    "job_duration_seconds": Name("histogram", "Run time of jobs that are over: their last run, by type.", ("type",)),
    "job_duration_p50_seconds": Name("gauge", "Median of job_duration_seconds since this process started.", ("type",)),
    "job_duration_p95_seconds": Name("gauge", "95th percentile of it since this process started.", ("type",)),
    "job_failures_total": Name("counter", "Jobs that are over and failed, by the code of their error.", ("code",)),
    "failures_total": Name("counter", "Runs that failed, tried again or not."),
    "retries_total": Name("counter", "Retries that were scheduled after a failure."),
    "retry_attempts_total": Name("counter", "Attempts that were begun after the first of their job."),
    "claims_total": Name("counter", "Jobs that a worker took, lost ones that it took over included."),
    "claim_conflicts_total": Name("counter", "Jobs that a worker found to be no longer its own, told by workers."),
    "lease_renewals_total": Name("counter", "Leases that were renewed, told by workers."),
    "lease_expiries_total": Name("counter", "Leases that ran out and were taken back."),
    "dead_lettered_total": Name("counter", "Jobs that were dead-lettered."),
    "dead_letters": Name("gauge", "Dead letters that wait for somebody."),
    "jobs_inflight": Name("gauge", "Jobs that a worker holds, by type.", ("type",)),
    "queue_depth": Name("gauge", "Jobs that wait in a queue, due or not; counted up to 10000 a lane.", ("queue",)),
    "queue_due": Name("gauge", "Jobs of it that are due; counted up to 10000 a lane.", ("queue",)),
    "queue_oldest_due_age_seconds": Name("gauge", "How long the job that is due longest has waited.", ("queue",)),
    "workers_alive": Name("gauge", "Workers that were seen within the last 30 s."),
    "database_up": Name("gauge", "Whether the database answered this scrape."),
}

WORKER_NAMES: dict[str, Name] = {
    "worker_claims_total": Name("counter", "Jobs that this worker took."),
    "worker_claim_conflicts_total": Name("counter", "Jobs that this worker found to be no longer its own."),
    "worker_lease_renewals_total": Name("counter", "Leases that this worker renewed."),
    "worker_moves_written_total": Name("counter", "Ends of runs that this worker wrote."),
    "worker_jobs_running": Name("gauge", "Jobs that this worker runs."),
}

Series = Mapping[tuple[str, ...], float]


class Bounded:
    """The values of a label: the first so many are themselves, all others are one."""

    def __init__(self) -> None:
        self.known: dict[str, None] = {}

    def __call__(self, value: str) -> str:
        if value not in self.known:
            if len(self.known) >= MOST_LABELS:
                return OTHER
            self.known[value] = None
        return value


class Histogram:
    """Observations by bucket, not summed up yet."""

    def __init__(self) -> None:
        self.buckets = [0] * (len(BUCKETS_S) + 1)
        self.sum_s = 0.0

    def observe(self, seconds: float) -> None:
        place = next((i for i, bound in enumerate(BUCKETS_S) if seconds <= bound), len(BUCKETS_S))
        self.buckets[place] += 1
        self.sum_s += seconds

    def quantile(self, q: float) -> float | None:
        """As `histogram_quantile` tells it: evenly spread within a bucket, and no further than the last bound."""
        rank = q * sum(self.buckets)
        if not rank:
            return None
        low, seen = 0.0, 0
        for bound, count in zip(BUCKETS_S, self.buckets, strict=False):
            if count and seen + count >= rank:
                return low + (bound - low) * (rank - seen) / count
            low, seen = bound, seen + count
        return BUCKETS_S[-1]


class Counts:
    """Everything that is counted since this process started."""

    def __init__(self) -> None:
        self.counters: dict[str, Counter[tuple[str, ...]]] = {}
        self.durations: dict[str, Histogram] = {}
        self.types, self.codes, self.queues = Bounded(), Bounded(), Bounded()
        for name, about in NAMES.items():
            if about.kind == "counter":
                # One without labels shows from the start: a rate needs a zero to begin from.
                self.counters[name] = Counter({} if about.labels else {(): 0})

    def count(self, name: str, *labels: str, by: int = 1) -> None:
        self.counters[name][labels] += by

    def duration(self, kind: str, seconds: float) -> None:
        self.durations.setdefault(kind, Histogram()).observe(seconds)

    def families(self, gauges: Mapping[str, Series]) -> Iterable[Metric]:
        """All of it in the order of NAMES; `gauges` are what was read just now."""
        for name, about in NAMES.items():
            if about.kind == "histogram":
                yield self._histogram(name, about)
            elif name in ("job_duration_p50_seconds", "job_duration_p95_seconds"):
                q = 0.5 if "p50" in name else 0.95
                found = {(kind,): kept.quantile(q) for kind, kept in self.durations.items()}
                yield family(name, about, {labels: value for labels, value in found.items() if value is not None})
            elif about.kind == "counter":
                yield family(name, about, self.counters[name])
            elif name in gauges:
                yield family(name, about, gauges[name])

    def _histogram(self, name: str, about: Name) -> Metric:
        made = HistogramMetricFamily(name, about.help, labels=about.labels)
        for kind, kept in self.durations.items():
            total, buckets = 0, []
            for bound, count in zip((*map(str, BUCKETS_S), "+Inf"), kept.buckets, strict=True):
                total += count
                buckets.append((bound, float(total)))
            made.add_metric([kind], buckets, kept.sum_s)
        return made


def family(name: str, about: Name, series: Series) -> Metric:
    maker = CounterMetricFamily if about.kind == "counter" else GaugeMetricFamily
    made = maker(name, about.help, labels=about.labels)
    for labels, value in series.items():
        made.add_metric(labels, value)
    return made

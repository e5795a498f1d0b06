"""Who takes part in the comparison of workers, where, and with which settings."""

from __future__ import annotations

from dataclasses import dataclass

OURS = "holdfast"


@dataclass(frozen=True)
class Entrant:
    """A contender: bench/peers/NAME.py is its script, NAME.lock what its environment holds."""

    name: str
    stores: tuple[str, ...]
    setting: str
    python: tuple[int, int] | None = None
    """The oldest Python that runs it, where ours is not enough."""


ROSTER = (
    Entrant(OURS, ("postgres", "sqlite"), "async task, concurrency 100"),
    Entrant("pgqueuer", ("postgres",), "asyncpg, batch_size 100"),
    Entrant("oban", ("postgres",), "limit 100", python=(3, 12)),
    Entrant("procrastinate", ("postgres",), "concurrency 30, pool 30"),
    Entrant("dbos", ("postgres", "sqlite"), "polling_interval_sec 0.1"),
    Entrant("awa", ("postgres",), "500 workers, 2 claimers"),
    Entrant("huey", ("sqlite",), "1 thread"),
)


def chosen(only: tuple[str, ...]) -> list[Entrant]:
    """Those named, or all. Holdfast always runs: a ratio needs both sides."""
    unknown = sorted(set(only) - {entrant.name for entrant in ROSTER})
    if unknown:
        raise SystemExit(f"no contender {unknown[0]}; known: {', '.join(entrant.name for entrant in ROSTER)}")
    return [entrant for entrant in ROSTER if not only or entrant.name in (*only, OURS)]

"""`python -m bench store` (the default), `peers`, `flows`, `lists` and `audit`."""

from __future__ import annotations

from typing import Literal

from cyclopts import App

from bench import store as stores_bench
from bench.audit import main as audit_main
from bench.contest import main as peers_main
from bench.flows import main as flows_main
from bench.lists import main as lists_main
from bench.races import races
from bench.roster import chosen
from bench.scenario import QUICK_ROUNDS, ROUNDS, scenarios

app = App(name="bench", help="Measure Holdfast on this machine, against the limit of its own tables.")


@app.default
@app.command
def store(
    *,
    quick: bool = False,
    store: Literal["sqlite", "postgres"] | None = None,
    million: bool = False,
    million_held: bool = False,
    rounds: int | None = None,
    limit_s: float = 120,
) -> None:
    """Submit, claim and finish on both stores, beside raw SQL on the same tables.

    Parameters
    ----------
    quick
        Fewer scenarios and rounds, SQLite with synchronous=FULL only: under a minute.
    store
        Only this store.
    million
        Also with a million jobs that were loaded a moment ago: minutes for each round, and 2 GB of disk.
    million_held
        The same with a reader that holds a snapshot open.
    rounds
        How often each measurement is repeated; 5, or 3 with --quick.
    limit_s
        A load or a drain that takes longer is cut off here; rates are of what was done.
    """
    stores_bench.main(
        (store,) if store else ("postgres", "sqlite"),
        ("FULL",) if quick else ("FULL", "NORMAL"),
        scenarios(quick=quick, million=million, million_held=million_held),
        rounds=rounds or (QUICK_ROUNDS if quick else ROUNDS),
        limit_s=limit_s,
    )


@app.command
def peers(
    *,
    quick: bool = False,
    store: Literal["sqlite", "postgres"] | None = None,
    only: tuple[str, ...] = (),
    million: bool = True,
) -> None:
    """Our worker against those of other queues: each in an environment of its own, all on one database server.

    Parameters
    ----------
    quick
        10,000 jobs at most, one round, little time for each: under three minutes.
    store
        Only this store.
    only
        Only these contenders, and Holdfast: pgqueuer, oban, procrastinate, dbos, awa, huey.
    million
        Also a million jobs, loaded at once and drained right away.
    """
    stores = (store,) if store else ("postgres", "sqlite")
    print(peers_main(stores, chosen(only), races(quick=quick, million=million)))


@app.command
def audit(*, jobs: int = 1_000_000, store: Literal["sqlite", "postgres"] | None = None) -> None:
    """Every invariant over every job: how long it takes, and how much memory.

    Parameters
    ----------
    jobs
        How many jobs, each with its four events.
    store
        Only this store.
    """
    audit_main((store,) if store else ("postgres", "sqlite"), jobs)


@app.command
def flows(
    *, quick: bool = False, store: Literal["sqlite", "postgres"] | None = None, rounds: int | None = None
) -> None:
    """Nodes of flows (wide, layered, narrow, a chain) against plain jobs: one worker, nothing but no-ops.

    Parameters
    ----------
    quick
        2,000 nodes and a chain of 250, once: under a minute.
    store
        Only this store.
    rounds
        How often each measurement is repeated; 3, or 1 with --quick.
    """
    flows_main((store,) if store else ("postgres", "sqlite"), quick=quick, rounds=rounds or (1 if quick else 3))


@app.command
def lists(*, jobs: int = 1_000_000, store: Literal["sqlite", "postgres"] | None = None) -> None:
    """Pages of every list over HTTP, with every filter: how long each takes.

    Parameters
    ----------
    jobs
        How many jobs the database has.
    store
        Only this store.
    """
    lists_main((store,) if store else ("postgres", "sqlite"), jobs)


if __name__ == "__main__":
    app()

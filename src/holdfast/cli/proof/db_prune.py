"""`holdfast db prune`: remove what was kept long enough, now instead of when the chore comes to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from holdfast.cli.exits import UsageError
from holdfast.cli.invocation import Call

if TYPE_CHECKING:
    from holdfast.store.port import Store

PAGE = 1000


async def prune(
    *, dry_run: bool = False, yes: Annotated[bool, Parameter(name=["--yes", "-y"])] = False, call: Call
) -> None:
    """Remove finished jobs that were kept long enough, with all that belongs to them.

    How long is up to the job's keep_until, else to its lifecycle. The log is sealed first: only what is sealed goes,
    and what went is on record. Without --yes the jobs are only counted.

    Args:
        dry_run: Only count them.
        yes: Do it.
    """
    from holdfast.chores.pruner import Pruner
    from holdfast.chores.sealer import Sealer
    from holdfast.chores.sweeper import Sweeper

    if dry_run and yes:
        raise UsageError("--dry-run and --yes contradict each other", remedy="give one of them")
    async with call.store() as store:
        jobs, events = await _due(store), 0
        if yes:
            await Sealer(store).seal_all()
            pruner, jobs, swept = Pruner(store), 0, False
            while not swept:
                pruned = await pruner.run_once()
                jobs, events, swept = jobs + pruned.jobs, events + pruned.events, pruned.swept
            sweeper = Sweeper(store)
            while not (await sweeper.run_once()).done:
                pass
    count = f"{jobs:,} job{'' if jobs == 1 else 's'}"
    words = f"{count} and {events:,} events removed" if yes else f"{count} would be removed"
    call.print_record({"dry_run": not yes, "jobs": jobs, "events": events}, words, jobs)
    if jobs and not yes:
        call.say(f"dry run: say --yes to remove {'it' if jobs == 1 else 'them'}")


async def _due(store: Store) -> int:
    """How many jobs have been kept long enough; a node that its flow still needs is counted, and stays."""
    from holdfast.chores.pruner import is_due

    now_ms, tables = await store.now_ms(), await store.reads.lifecycles()
    found, after = 0, ""
    while page := await store.reads.retention_page(after, PAGE):
        found += sum(is_due(tables, row, now_ms) for row in page)
        after = page[-1].job_id
    return found

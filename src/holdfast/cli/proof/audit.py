"""`holdfast audit`: every invariant over every job and every seal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.text import Text

from holdfast.cli.exits import Exit
from holdfast.cli.invocation import Call, Output
from holdfast.cli.opened import plainly
from holdfast.cli.render import Column, listed
from holdfast.config import without_password

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console

    from holdfast.audit.auditor import Progress, Report


async def audit(*, call: Call) -> int:
    """Check every invariant over every job and every seal. Exit 1 and the counterexamples when one fails."""
    from holdfast.audit.auditor import audit as audit_of

    url = call.settings.db
    async with call.store():
        pass  # It is there, and it is ours: said in the same words as by every other command.
    with plainly(url), _bars(call.err) as tick:
        report = await audit_of(url, on_progress=tick)
    match call.output:
        case Output.TABLE:
            _print(call, report)
        case Output.IDS:
            call.print_ids(dict.fromkeys(each.job_id for each in report.violations if each.job_id))
        case _:
            call.print_json(_data(url, report))
    return Exit.ERROR if report.total_violations else Exit.OK


def _print(call: Call, report: Report) -> None:
    if report.violations:
        columns = (
            Column("invariant", whole=True),
            Column("job", lambda each: each["job_id"] or "the log", whole=True),
            Column("event", lambda each: str(each["event"] or ""), right=True, whole=True),
            Column("what was found", "message"),
        )
        call.print(listed(columns, _violations(report)), "")
    if (more := report.total_violations - len(report.violations)) > 0:
        call.say(f"{more:,} more are not shown")
    verdict = Text(
        _count(report.total_violations, "violation"), "bold red" if report.total_violations else "bold green"
    )
    seen = ", ".join(_count(getattr(report, thing), thing[:-1]) for thing in ("jobs", "events", "seals"))
    call.print(verdict.append(f" in {seen}", "default"))
    unsealed = f", {report.unsealed:,} not sealed yet" if report.unsealed else ""
    rate = report.events / report.seconds if report.seconds else 0
    call.say(f"{report.seconds:.1f} s, {rate:,.0f} events/s{unsealed}")


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def _data(url: str, report: Report) -> dict[str, Any]:
    return {
        "ok": report.total_violations == 0,
        "db": without_password(url),
        "jobs": report.jobs,
        "events": report.events,
        "seals": report.seals,
        "unsealed": report.unsealed,
        "total_violations": report.total_violations,
        "violations": _violations(report),
        "seconds": round(report.seconds, 3),
    }


def _violations(report: Report) -> list[dict[str, Any]]:
    return [
        {"invariant": each.invariant, "job_id": each.job_id, "event": each.seq, "message": each.message}
        for each in report.violations
    ]


@contextmanager
def _bars(err: Console) -> Iterator[Callable[[Progress], None] | None]:
    """A bar for each pass of the audit, where there is a terminal to draw it on."""
    if not err.is_terminal:
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    names = {"jobs": "jobs", "seals": "sealed events"}
    columns = (TextColumn("{task.description:13}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Bars(*columns, console=err, transient=True) as bars:
        tasks = {what: bars.add_task(words, total=None) for what, words in names.items()}
        yield lambda progress: bars.update(tasks[progress.what], completed=progress.done, total=progress.total or None)

"""`holdfast dead`: letters from jobs that only somebody can help."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter
from rich.text import Text

from holdfast.cli.exits import UsageError
from holdfast.cli.invocation import Call, Output
from holdfast.cli.render import rows, short_time, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.store.port import Wanted

app = App(name="dead", help="Dead letters: jobs that only somebody can help.")
for _name, _help in (("replay", "Submit dead-lettered jobs again."), ("discard", "Resolve letters without a replay.")):
    app.command(f"holdfast.cli.job.dead_change:{_name}", name=_name, help=_help)

LARGEST = 500
LONGEST = 48
Reason = Annotated[str | None, Parameter(name="--reason-code")]


@app.command(name="list")
async def list_(
    *,
    reason_code: Reason = None,
    stage: str | None = None,
    task: str | None = None,
    group: str | None = None,
    everything: Annotated[bool, Parameter(name=["--all", "-a"])] = False,
    limit: int = 50,
    cursor: str | None = None,
    call: Call,
) -> None:
    """List dead letters that wait for somebody, newest first.

    Args:
        reason_code: Only those with this reason, such as exhausted_retries.
        stage: Only those that failed in this stage: fetch, input, exec, output or commit.
        task: Only those of this task.
        group: Only those of this group: see `holdfast dead groups`.
        everything: Those too that were replayed or discarded.
        limit: How many at most, up to 500.
        cursor: Go on where another list ended.
    """
    from holdfast.views.letters import letter_view

    if not 1 <= limit <= LARGEST:
        raise UsageError(f"limit is {limit}", field="limit", remedy=f"use 1 to {LARGEST}")
    wanted = wanted_of(reason_code, stage, task, group)._replace(resolved=None if everything else False)
    async with call.store() as store:
        page = await store.admin.dead.page(wanted, limit=limit, cursor=cursor)
    views = [letter_view(letter) for letter in page.items]
    match call.output:
        case Output.JSON:
            call.print_json({"items": views, "next_cursor": page.next_cursor})
            return
        case Output.JSONL:
            call.print_json(views)
        case Output.IDS:
            call.print_ids(view["job_id"] for view in views)
        case Output.TABLE:
            if views:
                call.print(_letters(views, everything))
                call.say("`holdfast dead replay ID` submits one again, with --edit name=value changed")
            else:
                call.say("no dead letters" if everything else "no dead letters wait")
    if page.next_cursor:
        call.say(f"more: --cursor {page.next_cursor}")


def _letters(views: Sequence[dict[str, Any]], everything: bool) -> Any:
    last = ["resolution"] if everything else []
    made = table(
        "job",
        "task",
        "reason",
        "stage",
        "tries",
        "at",
        *last,
        "last error",
        right=["tries"],
        whole=["job", "reason", "stage", "tries", "at", *last],
        cut=["task", "last error"],
    )
    return rows(
        made,
        (
            [
                view["job_id"],
                view["task"],
                Text(view["reason_code"], "red" if view["resolution"] is None else "dim"),
                view["stage"],
                str(view["attempts"]),
                short_time(view["at"]),
                *([_became(view)] if everything else []),
                _error(view),
            ]
            for view in views
        ),
    )


def _became(view: dict[str, Any]) -> str:
    if view["replayed_as"]:
        return f"replayed as {view['replayed_as']}"
    words = view["resolution"] or "waits"
    return words if len(words) <= LONGEST else f"{words[: LONGEST - 1]}…"


def _error(view: dict[str, Any]) -> str:
    error = view["last_error"] or {}
    return " ".join(f"{error.get('code', '')}: {error.get('message', '')}".split()) if error else ""


@app.command
async def groups(*, limit: int = 50, call: Call) -> None:
    """Group the letters that wait by what went wrong, the largest group first.

    Args:
        limit: How many groups at most, up to 500.
    """
    from holdfast.views.letters import group_view

    if not 1 <= limit <= LARGEST:
        raise UsageError(f"limit is {limit}", field="limit", remedy=f"use 1 to {LARGEST}")
    async with call.store() as store:
        views = [group_view(group) for group in await store.admin.dead.groups(limit=limit)]
    if call.is_json:
        call.print_json(views)
    elif call.output is Output.IDS:
        call.print_ids(view["group"] for view in views)
    elif not views:
        call.say("no dead letters wait")
    else:
        made = table(
            "group",
            "letters",
            "first",
            "last",
            "task",
            "reason",
            "error, of the newest",
            right=["letters"],
            whole=["group", "letters", "first", "last", "reason"],
            cut=["task", "error, of the newest"],
        )
        call.print(
            rows(
                made,
                (
                    [
                        view["group"],
                        f"{view['count']:,}{'' if view['exact'] else '+'}",
                        short_time(view["first_at"]),
                        short_time(view["last_at"]),
                        view["example"]["task"],
                        Text(view["example"]["reason_code"], "red"),
                        _error(view["example"]),
                    ]
                    for view in views
                ),
            )
        )
        call.say("`holdfast dead replay --group GROUP` shows what would be submitted again")


def wanted_of(reason_code: str | None, stage: str | None, task: str | None, group: str | None) -> Wanted:
    from holdfast.kernel.job import DLQ_REASONS, DLQ_STAGES
    from holdfast.store.port import Wanted

    for option, value, known in (("--reason-code", reason_code, DLQ_REASONS), ("--stage", stage, DLQ_STAGES)):
        if value is not None and value not in known:
            there = ", ".join(sorted(known))
            raise UsageError(f"there is no {option[2:]} {value!r}", field=option, remedy=f"there are: {there}")
    return Wanted(reason_code, stage, task, group)

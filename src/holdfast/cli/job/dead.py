"""`holdfast dead`: letters from jobs that only somebody can help."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter
from rich.text import Text

from holdfast.cli.exits import UsageError, refuse_limit
from holdfast.cli.invocation import Call
from holdfast.cli.render import Column, View

if TYPE_CHECKING:
    from collections.abc import Iterator

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

    refuse_limit(limit, LARGEST)
    wanted = wanted_of(reason_code, stage, task, group)._replace(resolved=None if everything else False)
    async with call.store() as store:
        page = await store.admin.dead.page(wanted, limit=limit, cursor=cursor)
    views = [letter_view(letter) for letter in page.items]
    hint = "`holdfast dead replay ID` submits one again, with --edit name=value changed"
    nothing = "no dead letters" if everything else "no dead letters wait"
    call.print_page(views, page.next_cursor, "job_id", _columns(everything), nothing, hint)


def _columns(everything: bool) -> Iterator[Column]:
    yield Column("job", "job_id", whole=True)
    yield Column("task", cut=True)
    yield Column("reason", _reason, whole=True)
    yield Column("stage", whole=True)
    yield Column("tries", "attempts", right=True, whole=True)
    yield Column("at", whole=True)
    if everything:
        yield Column("resolution", _became, whole=True)
    yield Column("last error", _error, cut=True)


def _reason(view: View) -> Text:
    return Text(view["reason_code"], "red" if view["resolution"] is None else "dim")


def _became(view: View) -> str:
    if view["replayed_as"]:
        return f"replayed as {view['replayed_as']}"
    words = view["resolution"] or "waits"
    return words if len(words) <= LONGEST else f"{words[: LONGEST - 1]}…"


def _error(view: View) -> str:
    error = view["last_error"] or {}
    return " ".join(f"{error.get('code', '')}: {error.get('message', '')}".split()) if error else ""


@app.command
async def groups(*, limit: int = 50, call: Call) -> None:
    """Group the letters that wait by what went wrong, the largest group first.

    Args:
        limit: How many groups at most, up to 500.
    """
    from holdfast.views.letters import group_view

    refuse_limit(limit, LARGEST)
    async with call.store() as store:
        views = [group_view(group) for group in await store.admin.dead.groups(limit=limit)]
    hint = "`holdfast dead replay --group GROUP` shows what would be submitted again"
    call.print_list(views, "group", GROUPS, "no dead letters wait", hint)


GROUPS = (
    Column("group", whole=True),
    Column("letters", lambda view: f"{view['count']:,}{'' if view['exact'] else '+'}", right=True, whole=True),
    Column("first", "first_at", whole=True),
    Column("last", "last_at", whole=True),
    Column("task", lambda view: view["example"]["task"], cut=True),
    Column("reason", lambda view: _reason(view["example"]), whole=True),
    Column("error, of the newest", lambda view: _error(view["example"]), cut=True),
)


def wanted_of(reason_code: str | None, stage: str | None, task: str | None, group: str | None) -> Wanted:
    from holdfast.kernel.job import DLQ_REASONS, DLQ_STAGES
    from holdfast.store.port import Wanted

    for option, value, known in (("--reason-code", reason_code, DLQ_REASONS), ("--stage", stage, DLQ_STAGES)):
        if value is not None and value not in known:
            there = ", ".join(sorted(known))
            raise UsageError(f"there is no {option[2:]} {value!r}", field=option, remedy=f"there are: {there}")
    return Wanted(reason_code, stage, task, group)

"""`holdfast dead`: letters from jobs that only somebody can help."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter
from rich.text import Text

from holdfast.cli.bulk import DryRun, Ids, Yes, is_dry, tell
from holdfast.cli.exits import Exit, UsageError
from holdfast.cli.invocation import Here, Output
from holdfast.cli.pairs import named_values
from holdfast.cli.render import rows, short_time, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.store.dead_letters import Letter, Wanted
    from holdfast.store.sql_store import SqlStore

app = App(name="dead", help="Dead letters: jobs that only somebody can help.")
ACTOR = "cli"
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
    here: Here,
) -> None:
    """List dead letters that wait for somebody, newest first.

    Parameters
    ----------
    reason_code
        Only those with this reason, such as exhausted_retries.
    stage
        Only those that failed in this stage: fetch, input, exec, output or commit.
    task
        Only those of this task.
    group
        Only those of this group: see `holdfast dead groups`.
    everything
        Those too that were replayed or discarded.
    limit
        How many at most, up to 500.
    cursor
        Go on where another list ended.
    """
    from holdfast.runtime.dead import letter_view
    from holdfast.store.dead_letters import DeadLetters

    if not 1 <= limit <= LARGEST:
        raise UsageError(f"limit is {limit}", field="limit", remedy=f"use 1 to {LARGEST}")
    wanted = _wanted(reason_code, stage, task, group)._replace(resolved=None if everything else False)
    async with here.store() as store:
        page = await DeadLetters(store).page(wanted, limit=limit, cursor=cursor)
    views = [letter_view(letter) for letter in page.items]
    match here.output:
        case Output.JSON:
            here.print_json({"items": views, "next_cursor": page.next_cursor})
            return
        case Output.JSONL:
            here.print_json(views)
        case Output.IDS:
            here.print_ids(view["job_id"] for view in views)
        case Output.TABLE:
            if views:
                here.print(_letters(views, everything))
                here.say("`holdfast dead replay ID` submits one again, with --edit name=value changed")
            else:
                here.say("no dead letters" if everything else "no dead letters wait")
    if page.next_cursor:
        here.say(f"more: --cursor {page.next_cursor}")


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
async def groups(*, limit: int = 50, here: Here) -> None:
    """Group the letters that wait by what went wrong, the largest group first.

    Parameters
    ----------
    limit
        How many groups at most, up to 500.
    """
    from holdfast.runtime.dead import group_view
    from holdfast.store.dead_letters import DeadLetters

    if not 1 <= limit <= LARGEST:
        raise UsageError(f"limit is {limit}", field="limit", remedy=f"use 1 to {LARGEST}")
    async with here.store() as store:
        views = [group_view(group) for group in await DeadLetters(store).groups(limit=limit)]
    if here.is_json:
        here.print_json(views)
    elif here.output is Output.IDS:
        here.print_ids(view["group"] for view in views)
    elif not views:
        here.say("no dead letters wait")
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
        here.print(
            rows(
                made,
                (
                    [
                        view["group"],
                        f"{view['count']:,}",
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
        here.say("`holdfast dead replay --group GROUP` shows what would be submitted again")


@app.command
async def replay(
    *ids: Ids,
    reason_code: Reason = None,
    stage: str | None = None,
    task: str | None = None,
    group: str | None = None,
    edit: Annotated[list[str] | None, Parameter(name=["--edit", "-e"])] = None,
    reason: str = "replayed from the command line",
    dry_run: DryRun = False,
    yes: Yes = False,
    here: Here,
) -> None:
    """Submit dead-lettered jobs again, each as a new job that names the old one. Twice gives the same job.

    Several, and those that a filter chooses, are only shown until --yes is said.

    Parameters
    ----------
    ids
        The dead jobs' ids.
    reason_code
        Those with this reason, such as exhausted_retries.
    stage
        Those that failed in this stage.
    task
        Those of this task.
    group
        Those of this group: see `holdfast dead groups`.
    edit
        Change an argument: name=value, JSON where it reads as JSON, else text. May be given several times.
    reason
        Why, as the new jobs' events will say.
    dry_run
        Only show which.
    yes
        Do it, however many they are.
    """
    from holdfast.runtime import dead

    edits = named_values(edit, "--edit")
    wanted = _wanted(reason_code, stage, task, group)
    dry = is_dry(ids, _filters(wanted), dry_run=dry_run, yes=yes)
    # Only --app itself: a replay must not depend on whether some configured module can be imported here.
    check = dead.checker(here.engine().registry) if here.app else None
    async with here.store() as store:
        letters = await _chosen(store, ids, wanted)
        items: list[dict[str, Any]] = []
        if dry:
            for letter in letters:
                again = f"was replayed as {letter.replayed_as}" if letter.replayed_as else ""
                items.append(
                    {"id": letter.job_id, "task": letter.task, "reason_code": letter.reason_code, "note": again}
                )
        else:
            chosen = [letter.job_id for letter in letters]
            answers = await dead.replay(store, chosen, edits=edits, check=check, actor=ACTOR, reason=reason)
            await store.bell.announce()
            items = [
                {"id": new.job_id, "of": old, "created": new.created, "task": letter.task}
                for letter in letters
                for old, new in [(letter.job_id, answers[letter.job_id])]
            ]
    if here.output is Output.TABLE and not dry:
        for item in items:
            here.print(f"{item['id']}  {item['task']}")
            here.say(f"in place of {item['of']}{'' if item['created'] else ': it was replayed before'}")
    else:
        tell(here, "replay", "replayed", items, {}, dry)


@app.command
async def discard(
    *ids: Ids,
    reason_code: Reason = None,
    stage: str | None = None,
    task: str | None = None,
    group: str | None = None,
    reason: str = "not needed",
    dry_run: DryRun = False,
    yes: Yes = False,
    here: Here,
) -> int:
    """Resolve dead letters without a replay. The jobs stay dead_lettered, the letters stay on record.

    Several, and those that a filter chooses, are only shown until --yes is said.

    Parameters
    ----------
    ids
        The dead jobs' ids.
    reason_code
        Those with this reason, such as exhausted_retries.
    stage
        Those that failed in this stage.
    task
        Those of this task.
    group
        Those of this group: see `holdfast dead groups`.
    reason
        Why, as the letter's resolution will say.
    dry_run
        Only show which.
    yes
        Do it, however many they are.
    """
    from holdfast.store.dead_letters import DeadLetters

    wanted = _wanted(reason_code, stage, task, group)
    dry = is_dry(ids, _filters(wanted), dry_run=dry_run, yes=yes)
    async with here.store() as store:
        letters = await _chosen(store, ids, wanted)
        still = [letter.job_id for letter in letters if letter.resolution is None]
        done = still if dry else await DeadLetters(store).discard(still, reason)
    left = {each.job_id: f"it was {each.became}" for each in letters if each.resolution is not None}
    items = [
        {"id": each.job_id, "task": each.task, "reason_code": each.reason_code}
        for each in letters
        if each.job_id in done
    ]
    tell(here, "discard", "discarded", items, left, dry)
    return Exit.CONFLICT if left and not items else Exit.OK


def _wanted(reason_code: str | None, stage: str | None, task: str | None, group: str | None) -> Wanted:
    from holdfast.kernel.job import DLQ_REASONS, DLQ_STAGES
    from holdfast.store.dead_letters import Wanted

    for option, value, known in (("--reason-code", reason_code, DLQ_REASONS), ("--stage", stage, DLQ_STAGES)):
        if value is not None and value not in known:
            there = ", ".join(sorted(known))
            raise UsageError(f"there is no {option[2:]} {value!r}", field=option, remedy=f"there are: {there}")
    return Wanted(reason_code, stage, task, group)


def _filters(wanted: Wanted) -> dict[str, object]:
    code, stage, task, group, _ = wanted
    return {"group": group, "reason-code": code, "stage": stage, "task": task}


async def _chosen(store: SqlStore, ids: Sequence[str], wanted: Wanted) -> list[Letter]:
    from holdfast.kernel.errors import NotFoundError
    from holdfast.runtime.dead import matching
    from holdfast.store.dead_letters import DeadLetters

    if not ids:
        return await matching(store, wanted)
    asked = [job_id.strip().lower() for job_id in ids]
    found = {letter.job_id: letter for letter in await DeadLetters(store).of(asked)}
    for job_id in asked:
        if job_id not in found:
            raise NotFoundError("dead letter of job", job_id, remedy="see `holdfast dead list --all`")
    return [found[job_id] for job_id in dict.fromkeys(asked)]

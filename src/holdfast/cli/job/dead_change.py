"""`holdfast dead replay` and `dead discard`: what is done with letters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from holdfast.cli.exits import Exit
from holdfast.cli.invocation import Call, Output
from holdfast.cli.job.bulk import DryRun, Ids, Yes, is_dry, tell
from holdfast.cli.job.dead import Reason, wanted_of
from holdfast.cli.pairs import named_values
from holdfast.commands import replay as replay_command
from holdfast.commands.anew import checker

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from holdfast.store.port import DeadLetter, Store, Submitted, Wanted
    from holdfast.tasks.registry import Registry

ACTOR = "cli"


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
    call: Call,
) -> None:
    """Submit dead-lettered jobs again, each as a new job that names the old one. Twice gives the same job.

    Several, and those that a filter chooses, are only shown until --yes is said.

    Args:
        ids: The dead jobs' ids.
        reason_code: Those with this reason, such as exhausted_retries.
        stage: Those that failed in this stage.
        task: Those of this task.
        group: Those of this group: see `holdfast dead groups`.
        edit: Change an argument: name=value, JSON where it reads as JSON, else text. May be given several times.
        reason: Why, as the new jobs' events will say.
    """

    wanted = wanted_of(reason_code, stage, task, group)
    dry = is_dry(ids, _filters(wanted), dry_run=dry_run, yes=yes)
    # What is edited is checked wherever an app is configured; else only by --app itself, for a replay must not depend
    # on whether some module can be imported here.
    registry = call.engine().registry if call.app or (edit and call.settings.app) else None
    check = checker(registry) if registry else None
    async with call.store() as store:
        letters = await _chosen(store, ids, wanted)
        edits = named_values(edit, "--edit", _texts(registry, letters))
        if dry:
            items = [_dry(letter) for letter in letters]
        else:
            chosen = [letter.job_id for letter in letters]
            answers = await replay_command.replay(store, chosen, edits=edits, check=check, actor=ACTOR, reason=reason)
            store.wakeups.ring()
            items = [_item(letter, answers[letter.job_id]) for letter in letters]
    if call.output is Output.TABLE and not dry:
        _tell_each(call, items)
    else:
        tell(call, "replay", "replayed", items, {}, dry)


def _dry(letter: DeadLetter) -> dict[str, Any]:
    again = f"was replayed as {letter.replayed_as}" if letter.replayed_as else ""
    return {"id": letter.job_id, "task": letter.task, "reason_code": letter.reason_code, "note": again}


def _item(letter: DeadLetter, again: Submitted) -> dict[str, Any]:
    return {"id": again.job_id, "of": letter.job_id, "created": again.created, "task": letter.task}


def _tell_each(call: Call, items: list[dict[str, Any]]) -> None:
    for item in items:
        call.print(f"{item['id']}  {item['task']}")
        call.say(f"in place of {item['of']}{'' if item['created'] else ': it was replayed before'}")


async def discard(
    *ids: Ids,
    reason_code: Reason = None,
    stage: str | None = None,
    task: str | None = None,
    group: str | None = None,
    reason: str = "not needed",
    dry_run: DryRun = False,
    yes: Yes = False,
    call: Call,
) -> int:
    """Resolve dead letters without a replay. The jobs stay dead_lettered, the letters stay on record.

    Several, and those that a filter chooses, are only shown until --yes is said.

    Args:
        ids: The dead jobs' ids.
        reason_code: Those with this reason, such as exhausted_retries.
        stage: Those that failed in this stage.
        task: Those of this task.
        group: Those of this group: see `holdfast dead groups`.
        reason: Why, as the letter's resolution will say.
    """

    wanted = wanted_of(reason_code, stage, task, group)
    dry = is_dry(ids, _filters(wanted), dry_run=dry_run, yes=yes)
    async with call.store() as store:
        letters = await _chosen(store, ids, wanted)
        still = [letter.job_id for letter in letters if letter.resolution is None]
        done = still if dry else await store.admin.dead.discard(still, reason)
    left = {each.job_id: f"it was {each.became}" for each in letters if each.resolution is not None}
    items = [
        {"id": each.job_id, "task": each.task, "reason_code": each.reason_code}
        for each in letters
        if each.job_id in done
    ]
    tell(call, "discard", "discarded", items, left, dry)
    return Exit.CONFLICT if left and not items else Exit.OK


def _texts(registry: Registry | None, letters: Sequence[DeadLetter]) -> Collection[str]:
    """The arguments that are text in every task that these letters are of."""
    known = [found for task in {letter.task for letter in letters} if registry and (found := registry.find(task))]
    return frozenset.intersection(*(task.work.texts for task in known)) if known else ()


def _filters(wanted: Wanted) -> dict[str, object]:
    code, stage, task, group, _ = wanted
    return {"group": group, "reason-code": code, "stage": stage, "task": task}


async def _chosen(store: Store, ids: Sequence[str], wanted: Wanted) -> list[DeadLetter]:
    from holdfast.kernel.errors import NotFoundError
    from holdfast.views.letters import matching

    if not ids:
        return await matching(store, wanted)
    asked = [job_id.strip().lower() for job_id in ids]
    found = {letter.job_id: letter for letter in await store.admin.dead.of(asked)}
    for job_id in asked:
        if job_id not in found:
            raise NotFoundError("dead letter of job", job_id, remedy="see `holdfast dead list --all`")
    return [found[job_id] for job_id in dict.fromkeys(asked)]

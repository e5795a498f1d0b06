"""Dead letters: listed, grouped, replayed, discarded. Changes are a dry run unless told otherwise."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, Query
from starlette.responses import Response

from holdfast.api.access.keys import Scope
from holdfast.api.access.scopes import needs
from holdfast.api.deps import EngineDep, StoreDep
from holdfast.api.jobs.bulk import MOST, bulk_reply
from holdfast.api.jobs.idempotency import OnceDep, Reply
from holdfast.api.problems.kinds import Problem
from holdfast.api.shapes.bodies import LetterFilter, Letters, ReplayMany, Text
from holdfast.api.shapes.change import Bulk, Letter, LetterGroup
from holdfast.api.shapes.jobs import Items, Page
from holdfast.api.shapes.pages import STEPS, Cursor, before_of, cursor_of, gathered
from holdfast.commands import replay as replaying
from holdfast.commands.anew import checker
from holdfast.kernel.job import DLQ_REASONS, DLQ_STAGES
from holdfast.store.port import DeadLetter as Kept
from holdfast.store.port import DeadPage as Found
from holdfast.store.port import Store, Wanted
from holdfast.views.letters import group_view, letter_view, matching
from holdfast.views.listing import LARGEST_PAGE

router = APIRouter(tags=["dead letters"])
Limit = Annotated[int, Query(ge=1, le=LARGEST_PAGE)]
Named = Annotated[Text | None, Query()]


@router.get("/dead", response_model=Page[Letter])
@needs(Scope.READ)
async def letters(
    store: StoreDep,
    reason_code: Annotated[Text | None, Query(json_schema_extra={"enum": sorted(DLQ_REASONS)})] = None,
    stage: Annotated[Text | None, Query(json_schema_extra={"enum": sorted(DLQ_STAGES)})] = None,
    task: Named = None,
    group: Named = None,
    resolved: bool | None = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> dict[str, Any]:
    """Letters, newest first: those that wait for somebody, or, with `resolved=true`, those that do not any more."""
    filter = LetterFilter(reason_code=reason_code, stage=stage, task=task, group=group)
    wanted = _wanted(filter, "invalid_parameter")._replace(resolved=bool(resolved))

    async def look(most: int, behind: str | None) -> Found:
        return await store.admin.dead.page(wanted, limit=most, cursor=behind, steps=STEPS)

    where = wanted._asdict()
    found, before = await gathered(look, limit, before_of(cursor, where, store.admin.dead.is_place))
    return {"items": [letter_view(letter) for letter in found], "next_cursor": cursor_of(before, where)}


@router.get("/dead/groups", response_model=Items[LetterGroup])
@needs(Scope.READ)
async def groups(store: StoreDep, limit: Limit = 50) -> dict[str, Any]:
    """Letters that wait, by what went wrong: the largest group first, each with its newest letter."""
    found = await store.admin.dead.groups(limit=limit)
    return {"items": [group_view(group) for group in found]}


@router.post("/dead/replay", responses={200: {"model": Bulk}})
@needs(Scope.WRITE)
async def replay(body: ReplayMany, engine: EngineDep, once: OnceDep) -> Response:
    """Submit dead-lettered jobs again, each as a new job that names the old one. Twice gives the same jobs."""
    check = checker(engine.registry)

    async def replay() -> Reply:
        chosen, left, more = await _chosen(once.store, body)
        for letter in chosen:
            if letter.resolution is not None and letter.replayed_as is None:
                left[letter.job_id] = f"it was {letter.became}"
        able = [letter for letter in chosen if letter.job_id not in left]
        if body.dry_run:
            items = [_item(letter, replayed_as=letter.replayed_as) for letter in able]
            return bulk_reply(True, items, left, more=more)
        ids = [letter.job_id for letter in able]
        answers = await replaying.replay(
            once.store, ids, edits=body.edits, check=check, actor=once.actor, reason=body.reason
        )
        items = [
            _item(letter, replayed_as=answers[letter.job_id].job_id, created=answers[letter.job_id].created)
            for letter in able
            if letter.job_id in answers
        ]
        return bulk_reply(False, items, left, more=more)

    return await once.several(replay)


@router.post("/dead/discard", responses={200: {"model": Bulk}})
@needs(Scope.ADMIN)
async def discard(body: Letters, once: OnceDep) -> Response:
    """Resolve letters without a replay. The jobs stay dead-lettered, the letters stay on record."""

    async def discard() -> Reply:
        chosen, left, more = await _chosen(once.store, body)
        left |= {letter.job_id: f"it was {letter.became}" for letter in chosen if letter.resolution is not None}
        done = [letter.job_id for letter in chosen if letter.job_id not in left]
        if not body.dry_run:
            done = await once.store.admin.dead.discard(done, body.reason or "not needed")
        resolved = set(done)
        items = [_item(letter) for letter in chosen if letter.job_id in resolved]
        return bulk_reply(body.dry_run, items, left, more=more)

    return await once.several(discard)


class ChosenLetters(NamedTuple):
    """Letters, why others that were named are left, and whether there are more than one request changes."""

    letters: list[Kept]
    left: dict[str, str]
    more: bool = False


async def _chosen(store: Store, body: Letters) -> ChosenLetters:
    ways = [name for name in ("ids", "group", "filter") if getattr(body, name) is not None]
    if len(ways) != 1:
        detail = "choose letters by one of ids, group and filter"
        raise Problem("invalid_field", detail, field=ways[1] if ways else "ids", allowed=["ids", "group", "filter"])
    if body.ids is None:
        filter = body.filter or LetterFilter(group=body.group)
        found = await matching(store, _wanted(filter, "invalid_field"), MOST + 1)
        return ChosenLetters(found[:MOST], {}, len(found) > MOST)
    wanted = list(dict.fromkeys(job_id.lower() for job_id in body.ids))
    of_ids = {letter.job_id: letter for letter in await store.admin.dead.of(wanted)}
    left = {job_id: "it has no dead letter" for job_id in wanted if job_id not in of_ids}
    return ChosenLetters([letter for job_id in wanted if (letter := of_ids.get(job_id))], left)


def _wanted(filter: LetterFilter, code: str) -> Wanted:
    for name, value, known in (
        ("reason_code", filter.reason_code, DLQ_REASONS),
        ("stage", filter.stage, DLQ_STAGES),
    ):
        if value is not None and value not in known:
            raise Problem(code, f"no {name} {value[:100]!r}", field=name, allowed=sorted(known))
    return Wanted(filter.reason_code, filter.stage, filter.task, filter.group)


def _item(letter: Kept, **more: Any) -> dict[str, Any]:
    return {"id": letter.job_id, "task": letter.task, "reason_code": letter.reason_code, **more}

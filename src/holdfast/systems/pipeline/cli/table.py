"""Runs and their stages on a terminal: a table, or one that lives for as long as the run does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.text import Text

from holdfast.cli.job.follow import STATE, Followed
from holdfast.cli.render import Column, View, listed, long_time, pairs, state_text
from holdfast.systems.pipeline.views import pipeline_job, pipeline_views

if TYPE_CHECKING:
    from holdfast.store.port import Store

COLOURS = {
    "pending": "dim",
    "running": "bold cyan",
    "completed": "green",
    "partial": "yellow",
    "failed": "red",
    "skipped": "dim",
}


async def view_of(store: Store, run_id: str) -> dict[str, Any]:
    """A run with its stages; NotFoundError when there is none."""
    [view] = await pipeline_views(store, [await pipeline_job(store, run_id)])
    return view


def _where(view: View) -> str:
    """The stage that a run is at, and how many are behind it; of one that is over, what went wrong."""
    stages = view["stages"]
    if view["finished_at"] is not None:
        bad = [f"{stage['name']} {stage['status']}" for stage in stages if stage["status"] in ("failed", "partial")]
        return ", ".join(bad)
    at = next((stage["name"] for stage in stages if stage["status"] == "running"), "")
    ended = sum(stage["finished_at"] is not None for stage in stages)
    return f"{at} ({ended} of {len(stages)})" if stages else ""


def stages_table(view: View) -> Group:
    error = view["error"]
    head = pairs(
        {
            "id": view["id"],
            "pipeline": view["task"],
            "state": state_text(view["state"], view["canonical_state"], beside=False),
            "started": long_time(view["started_at"]),
            "finished": long_time(view["finished_at"]),
            "cancel asked": view["cancel_requested"],
            "error": Text(f"{error.get('code')}: {error.get('message')}", "red") if error else None,
        }
    )
    return Group(head, Text(), listed(STAGES, view["stages"]))


def _took(stage: View) -> str:
    took = stage["duration_ms"]
    return f"{took / 1_000:.2f} s" if took is not None and stage["status"] != "skipped" else ""


def _counted(stage: View) -> str:
    return ", ".join(f"{name} {count:g}" for name, count in stage["metrics"].items() if name != "duration_seconds")


def _stage_words(stage: View) -> str:
    if progress := stage["progress"]:
        total = progress["total"]
        return f"{progress['done']:g} of {total:g}" if total else f"{progress['done']:g} done"
    if stage["errors"]:
        first, more = stage["errors"][0], len(stage["errors"]) - 1
        item = f"{first['item']}: " if first.get("item") else ""
        return f"{item}{first['message']}{f' (and {more} more)' if more else ''}"
    return stage["reason"] or ""


def _parts(view: View) -> Iterator[tuple[str, str, str]]:
    for stage in view["stages"]:
        if stage["status"] != "pending":
            words = f", {words}" if (words := _stage_words(stage)) else ""
            yield stage["name"], stage["status"], f"{stage['name']}: {stage['status']}{words}"


async def _result(store: Store, view: View) -> Any:
    return view["result"]


def _ending(view: View) -> str:
    error = view["error"]
    return f"{view['id']} {view['state']}" + (f": {error['code']}: {error['message']}" if error else "")


FOLLOWED = Followed(view_of, stages_table, _parts, _result, _ending)
RUNS = (
    Column("id", whole=True),
    STATE,
    Column("pipeline", "task"),
    Column("stage", _where, cut=True),
    Column("created", "created_at", whole=True),
)
STAGES = (
    Column("stage", "name", whole=True),
    Column("status", lambda stage: Text(stage["status"], COLOURS[stage["status"]]), whole=True),
    Column("took", _took, right=True, whole=True),
    Column("counted", _counted),
    Column("said", _stage_words),
)

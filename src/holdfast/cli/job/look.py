"""`holdfast job explain`, `logs`, `artifacts`: a closer look at one job."""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from rich.text import Text

from holdfast.cli.exits import UsageError
from holdfast.cli.invocation import Call, Invocation, Output
from holdfast.cli.job.table import progress_words
from holdfast.cli.job.waiting import JobId, get
from holdfast.cli.render import COLOURS, Column
from holdfast.kernel.errors import NotFoundError
from holdfast.kernel.event import PROGRESS
from holdfast.kernel.state import OVER, RANK
from holdfast.tasks.job_log import LOG
from holdfast.views.job import fields_of, iso
from holdfast.views.part_views import artifact_view, explanation_view

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from holdfast.store.port import SignalRow

LOOK_EVERY_S = 0.25


async def explain(job_id: JobId, /, *, call: Call) -> None:
    """Say in one sentence why a job is where it is, and the command that helps."""
    from holdfast.views.explain import explain as explained
    from holdfast.views.situation import situation_of

    async with call.store() as store:
        job = await get(store, job_id)
        about = await situation_of(store, job, call.settings.app)
    data = explanation_view(job, about.table, explained(about))
    sentence, command = data["sentence"], data["command"]
    state, _, why = sentence.partition(": ")
    words = Text(state, COLOURS.get(job.state, "")).append(f": {why}", "default")
    if command:
        words.append("\n  → ", "dim").append(command, "bold")
    call.print_record(data, words, job.id)


async def logs(
    job_id: JobId,
    /,
    *,
    follow: Annotated[bool, Parameter(name=["--follow", "-f"])] = False,
    everything: Annotated[bool, Parameter(name=["--all", "-a"])] = False,
    call: Call,
) -> None:
    """Show what a job said: its log lines and its progress, oldest first. They are kept for a day.

    Args:
        follow: Go on until the job is over.
        everything: Its heartbeats too.
    """
    shown = 0
    async with call.store() as store:
        job = await get(store, job_id)
        while True:
            over = RANK[job.state] >= OVER
            signals = [each for each in await store.reads.signals(job.id) if everything or each.type in (LOG, PROGRESS)]
            if call.is_json and not follow:
                call.print_json([_view(signal) for signal in signals])
            else:
                for signal in signals[shown:]:
                    _print(call, signal)
            shown = max(shown, len(signals))
            if over or not follow:
                break
            await asyncio.sleep(LOOK_EVERY_S)
            job = await get(store, job.id)
    if not shown:
        call.say("it said nothing, or longer than a day ago")


def _view(signal: SignalRow) -> dict[str, Any]:
    return fields_of(signal, "id", "at", "type", "attempt", "actor", "payload", payload=_payload(signal))


def _print(call: Call, signal: SignalRow) -> None:
    if call.is_json:
        print(json.dumps(_view(signal), separators=(",", ":"), ensure_ascii=False), flush=True)
        return
    if call.output is Output.IDS:
        print(signal.id, flush=True)
        return
    payload = _payload(signal)
    at_ms = payload.get("time_ms", signal.at_ms) if isinstance(payload, dict) else signal.at_ms
    line = Text((iso(at_ms) or "")[11:23], "dim").append(f"  {signal.attempt}  ", "dim")
    match signal.type, payload:
        case "job_progress", dict():
            line.append(_progress(payload), "cyan")
        case "job_log", dict():
            level = str(payload.get("level", "info"))
            line.append(f"{level:7} ", {"warning": "yellow", "error": "red", "critical": "bold red"}.get(level, "dim"))
            line.append(str(payload.get("event", "")), "default")
            line.append("".join(f"  {name}={value}" for name, value in payload.get("fields", {}).items()), "dim")
        case kind, payload:
            line.append(f"{kind} {'' if payload is None else json.dumps(payload, ensure_ascii=False)}", "dim")
    call.out.print(line, soft_wrap=True)


def _progress(payload: dict[str, Any]) -> str:
    whole = {"done": None, "total": None, "eta_seconds": None, "counters": {}} | payload
    name = f"{payload['label']}: " if payload.get("label") else ""
    return name + progress_words(whole)


def _payload(signal: SignalRow) -> Any:
    return None if signal.payload is None else json.loads(signal.payload)


async def artifacts(
    job_id: JobId,
    name: Annotated[str | None, Parameter(name="NAME")] = None,
    /,
    *,
    out: Annotated[Path | None, Parameter(name=["--out"])] = None,
    call: Call,
) -> None:
    """List the files that a job left, or print one of them.

    Args:
        name: Print this one, as it is.
        out: Write it to this file instead.
    """
    if out is not None and name is None:
        raise UsageError("--out needs the artifact's NAME", field="--out", remedy="give it behind the ID")
    async with call.store() as store:
        job = await get(store, job_id)
        found = await store.kept.artifacts(job.id)
        if name is not None:
            chosen = next((each for each in found if each.name == name), None)
            if chosen is None:
                there = ", ".join(each.name for each in found) or "none"
                raise NotFoundError("artifact", name, remedy=f"job {job.id} has: {there}")
            return await _write(call, store.files.read(chosen.blob), chosen.size, out)
    columns = (
        Column("name", whole=True),
        Column("bytes", lambda each: f"{each['size']:,}", right=True),
        Column("at"),
    )
    call.print_list([artifact_view(each) for each in found], "name", columns, "it left no artifacts")


async def _write(call: Invocation, data: AsyncIterator[bytes], size: int, out: Path | None) -> None:
    if out is None:
        sys.stdout.flush()
    with nullcontext(sys.stdout.buffer) if out is None else out.open("wb") as file:
        async for piece in data:
            file.write(piece)
    if out is not None:
        call.say(f"{size:,} bytes to {out}")

"""Runs one stage's function and stays with it: its time limit, a request to stop, its progress."""

from __future__ import annotations

import asyncio
import contextvars
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from holdfast.executors.threads import Threads
from holdfast.systems.pipeline.declare.stage import Stage
from holdfast.systems.pipeline.declare.stage_context import StageContext
from holdfast.tasks.context import Context, JobStopped

LOOK_S = 0.05
SAY_EVERY_S = 1.0
GRACE_S = 5.0
"""How long a coroutine that was interrupted may take to tidy up."""

TIMED_OUT = "timed out"


@dataclass(frozen=True, slots=True)
class StageEnd:
    """What a stage's function came back with. Either an error or a value."""

    value: Any = None
    error: BaseException | None = None


class StageTimeoutError(TimeoutError):
    """The stage ran longer than it may."""

    code = "stage_timeout"


async def attend(
    stage: Stage,
    ctx: StageContext,
    outer: Context,
    arguments: dict[str, Any],
    say: Callable[[StageContext], Awaitable[None]],
) -> StageEnd:
    """Run the stage to its end, its time limit, or until the job should stop: then JobStopped.

    A coroutine is interrupted where it waits. A thread can only be told: it stops where it asks its context, and one
    that is late is left behind, with nothing of what it still does counting for the job.
    """
    threads = Threads(1)
    work = asyncio.create_task(_call(stage, arguments, threads), name=f"holdfast-stage-{stage.name}")
    deadline_s = time.monotonic() + stage.timeout_ms / 1_000
    try:
        while not work.done():
            now_s = time.monotonic()
            if outer.stop_mode is not None and ctx.stop_mode is None:
                ctx.stop_mode = outer.stop_mode
                if stage.is_async:
                    await _interrupt(work)
                    break
            if now_s >= deadline_s:
                ctx.stop_mode = TIMED_OUT
                await _interrupt(work, GRACE_S if stage.is_async else 0.0)
                return StageEnd(error=StageTimeoutError(f"ran longer than its {stage.timeout_ms / 1_000:g} s"))
            await asyncio.wait({work}, timeout=min(LOOK_S, deadline_s - now_s))
            if ctx.progress_state.changed and now_s - ctx.words_sent_s >= SAY_EVERY_S:
                ctx.words_sent_s = now_s
                await say(ctx)
    except asyncio.CancelledError:
        # The job was taken from this worker: nothing here may go on in its name.
        ctx.stop_mode = "hard"
        work.cancel()
        raise
    finally:
        threads.close()
    if outer.stop_mode is not None and (stage.is_async or ctx.saw_stop) and ctx.stop_mode is not None:
        raise JobStopped(outer.stop_mode)
    return work.result()


async def _call(stage: Stage, arguments: dict[str, Any], threads: Threads) -> StageEnd:
    try:
        if stage.is_async:
            return StageEnd(await stage.function(**arguments))
        # The thread knows whose job it works for, as the coroutine does.
        inside = contextvars.copy_context()
        return StageEnd(await threads.run(partial(inside.run, partial(stage.function, **arguments))))
    except (Exception, JobStopped, SystemExit, KeyboardInterrupt, asyncio.CancelledError) as error:
        return StageEnd(error=error)


async def _interrupt(work: asyncio.Task[StageEnd], grace_s: float = GRACE_S) -> None:
    work.cancel()
    await asyncio.wait({work}, timeout=grace_s)

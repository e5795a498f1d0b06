"""The handler of a pipeline's job: its stages in order, each kept when it is over.

What is kept decides where the next worker goes on: a stage that is over, however it ended, is not run again.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from holdfast.executors.ending import failure_of
from holdfast.executors.links import ThreadLink
from holdfast.kernel.classify import error_class_of
from holdfast.kernel.errors import LeaseConflictError, PermanentError
from holdfast.kernel.job import Job
from holdfast.kernel.payload.encoding import MAX_BYTES, encode, sanitise
from holdfast.kernel.state import Canonical
from holdfast.store.pipeline.stages import PLAN, StageSteps, step_of
from holdfast.store.port import Filter, Signal, Store
from holdfast.systems.pipeline.declare.stage import Stage
from holdfast.systems.pipeline.declare.stage_context import StageContext
from holdfast.systems.pipeline.runner.attending import StageEnd, attend
from holdfast.systems.pipeline.stages import (
    Closed,
    HalfOpen,
    Overall,
    StageRan,
    StageResult,
    StageStatus,
    first_failed,
    judge,
    overall,
)
from holdfast.tasks.answers import Partial, Skip
from holdfast.tasks.context import Context, JobStopped
from holdfast.worker.link import StoreLink

if TYPE_CHECKING:
    from holdfast.systems.pipeline.declare.pipeline import Pipeline

STARTED = "stage_start"
PROGRESSED = "stage_progress"
ROOM = 256 * 1024
"""What a stage's end may need beside its output: metrics and errors."""


class StageFailedError(PermanentError):
    """The pipeline's stages failed."""

    code = "stage_failed"


class StagesRun:
    """One attempt at a pipeline's job."""

    def __init__(self, pipe: Pipeline[Any], store: Store, job: Job, ctx: Context, config: Any) -> None:
        self._pipe = pipe
        self._store = store
        self._job = job
        self._ctx = ctx
        self._owner = job.lease_owner or ""
        self._link = StoreLink(store, self._owner, job)
        self._steps = store.part(StageSteps)
        self._config = config
        self._plain: Mapping[str, Any] = msgspec.to_builtins(config, str_keys=True)
        self._results: list[StageResult] = []
        self._outputs: dict[str, Any] = {}

    async def run(self) -> Any:
        """The outputs by stage; Partial when not all went well, StageFailedError when nothing came of it."""
        stages = self._pipe.stages
        if self._job.attempt == 1:
            await self._refuse_company()
        await self._link.save_step(PLAN, encode([stage.name for stage in stages]))
        over = await self._steps.ends(self._job.id) if self._job.attempt > 1 else {}
        for number, stage in enumerate(stages):
            self._ctx.progress_state.label = stage.name
            self._ctx.progress_state.at(number, len(stages))
            if stage.name in over:
                end = over[stage.name]
                self._keep(StageResult.from_dict(stage.name, end), end.get("output"))
            else:
                await self._heed()
                result, output = await self._decide(stage)
                await self._save(result, output)
                self._keep(result, output)
            if first_failed(self._results):
                break
        self._ctx.progress_state.at(len(self._results), len(stages))
        return self._ending()

    def _keep(self, result: StageResult, output: Any) -> None:
        self._results.append(result)
        if result.status in (StageStatus.COMPLETED, StageStatus.PARTIAL):
            self._outputs[result.name] = output

    async def _save(self, result: StageResult, output: Any) -> None:
        body = result.to_dict() | ({} if output is None else {"output": output})
        await self._link.save_step(step_of(result.name), encode(body, what=result.name, max_bytes=MAX_BYTES + ROOM))

    async def _heed(self) -> None:
        """Look into the database whether the job should stop, and whether it is still ours."""
        job = await self._store.reads.get(self._job.id)
        if job is None or job.attempt != self._job.attempt or job.state != Canonical.RUNNING:
            raise LeaseConflictError(f"job {self._job.id} is no longer ours")
        if job.cancel_requested is not None:
            raise JobStopped(job.cancel_requested)

    async def _refuse_company(self) -> None:
        """Whichever way it was submitted: of a pipeline that runs alone, the run that began first goes on."""
        if not self._pipe.single:
            return
        where = Filter(task=self._job.task, states=(Canonical.RUNNING.value,))
        mine = (self._job.started_at_ms or 0, self._job.id)
        for other in (await self._store.reads.list(where, limit=100)).items:
            if (other.started_at_ms or 0, other.id) < mine:
                raise PermanentError(
                    f"pipeline {self._pipe.name} runs alone, and job {other.id} is under way", code="already_running"
                )

    async def _decide(self, stage: Stage) -> tuple[StageResult, Any]:
        """Run a stage, or say why not."""
        began_s = time.monotonic()
        try:
            if not stage.wanted(self._config, self._plain):
                return _skipped(stage, "not enabled", counts=False), None
        except Exception as error:  # the user's own question about the config
            return self._failed(stage, error, None, began_s), None
        if (missing := stage.lacks(self._outputs)) is not None:
            unwanted = any(r.name == missing and not r.counts for r in self._results)
            return _skipped(stage, f"{missing} has no result", counts=not unwanted), None
        if (why := await self._rests(stage)) is not None:
            return _skipped(stage, why), None
        return await self._perform(stage, began_s)

    async def _rests(self, stage: Stage) -> str | None:
        """Why the stage's breaker lets this run not pass; None when it does."""
        if stage.breaker is None:
            return None
        ends = await self._steps.history(self._job.task, stage.name, stage.breaker.failures)
        history = [StageRan(at_ms, status == StageStatus.FAILED) for at_ms, status in ends]
        verdict = judge(stage.breaker, history, await self._store.now_ms())
        if isinstance(verdict, Closed):
            return None
        if isinstance(verdict, HalfOpen):
            trial = f"trial:{self._job.task}:{stage.name}:{verdict.trial}"
            if await self._steps.tries(trial, self._job.id):
                return None
        return f"breaker open: it failed {stage.breaker.failures} times in a row"

    async def _perform(self, stage: Stage, began_s: float) -> tuple[StageResult, Any]:
        links = (None, self._link) if stage.is_async else (ThreadLink(self._pipe.loop, self._link), None)
        ctx = StageContext(self._job, stage.name, self._outputs, self._ctx, *links)
        await self._tell(STARTED, {"stage": stage.name})
        try:
            arguments = stage.arguments(ctx, self._outputs, self._plain)
        except Exception as error:  # an earlier output or the config is not of the type that this stage names
            return self._failed(stage, error, ctx, began_s), None
        ended = await attend(stage, ctx, self._ctx, arguments, self._say)
        return self._ended(stage, ended, ctx, began_s)

    def _ended(self, stage: Stage, ended: StageEnd, ctx: StageContext, began_s: float) -> tuple[StageResult, Any]:
        if isinstance(ended.error, LeaseConflictError):
            raise ended.error
        if isinstance(ended.error, Skip):
            return _skipped(stage, str(ended.error) or "nothing to do", counts=False), None
        if ended.error is not None:
            return self._failed(stage, ended.error, ctx, began_s), None
        value, reason = ended.value, None
        if isinstance(value, Partial):
            value, reason = value.result, value.reason or "partial"
        try:
            output = msgspec.to_builtins(value, str_keys=True)
            encode(output, what=f"{stage.name}'s result")
        except Exception as error:  # a result that cannot be kept cannot be handed on either
            return self._failed(stage, error, ctx, began_s), None
        status = StageStatus.PARTIAL if ctx.failed_items or reason else StageStatus.COMPLETED
        return self._result(stage, status, ctx, began_s, tuple(ctx.errors), reason), output

    def _failed(self, stage: Stage, error: BaseException, ctx: StageContext | None, began_s: float) -> StageResult:
        kind = error_class_of(error, self._pipe.engine.classifier)
        failure = failure_of(error, kind, self._job, self._owner, stage=stage.name).to_dict()
        entry = {"item": None, **{name: failure[name] for name in ("code", "class", "message", "context")}}
        errors = (entry, *(ctx.errors if ctx else ()))
        return self._result(stage, StageStatus.FAILED, ctx, began_s, errors, str(failure["code"]))

    def _result(
        self,
        stage: Stage,
        status: StageStatus,
        ctx: StageContext | None,
        began_s: float,
        errors: tuple[Mapping[str, Any], ...],
        reason: str | None,
    ) -> StageResult:
        took_ms = round((time.monotonic() - began_s) * 1_000)
        clean = msgspec.json.decode(sanitise({"m": ctx.metrics() if ctx else {}, "e": errors}, max_bytes=ROOM // 2))
        return StageResult(stage.name, status, took_ms, clean["m"], tuple(clean["e"]), reason)

    async def _say(self, ctx: StageContext) -> None:
        ctx.progress_state.changed = False
        if ctx.progress_state.total:
            share = min(ctx.progress_state.done / ctx.progress_state.total, 1.0)
            self._ctx.progress_state.at(round(len(self._results) + share, 2), len(self._pipe.stages))
        await self._tell(PROGRESSED, ctx.progress_payload())

    async def _tell(self, kind: str, what: dict[str, Any]) -> None:
        """For those who watch: what is lost of it is lost to them alone."""
        await self._store.jobs.signal([Signal(self._job.id, self._job.attempt, kind, self._owner, sanitise(what))])

    def _ending(self) -> Any:
        bad = [r for r in self._results if r.counts and r.status is not StageStatus.COMPLETED]
        how = ", ".join(f"{result.name} {result.status}" for result in bad)
        match overall(self._results):
            case Overall.COMPLETED:
                return fitting(self._outputs)
            case Overall.PARTIAL:
                return Partial(fitting(self._outputs), how)
            case Overall.FAILED:
                why = next((str(r.errors[0]["message"]) for r in bad if r.errors), "no stage succeeded")
                statuses: dict[str, Any] = {result.name: result.status.value for result in self._results}
                raise StageFailedError(f"{how}: {why}", context={"stages": statuses})


def _skipped(stage: Stage, reason: str, *, counts: bool = True) -> StageResult:
    return StageResult(stage.name, StageStatus.SKIPPED, reason=reason, counts=counts)


def fitting(outputs: Mapping[str, Any]) -> dict[str, Any]:
    """Outputs for one result: the largest are left out where all together are too large. Each is kept by itself."""
    sizes = {name: len(encode(output, max_bytes=MAX_BYTES + ROOM)) for name, output in outputs.items()}
    chosen = dict(outputs)
    while sum(sizes[name] for name in chosen) > MAX_BYTES // 2 and len(chosen) > 1:
        del chosen[max(chosen, key=lambda name: sizes[name])]
    return chosen

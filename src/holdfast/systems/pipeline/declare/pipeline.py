"""A pipeline as users see it: stages in the order of their declaration, submitted as one job."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

import msgspec

from holdfast.kernel.errors import HoldfastError, LeaseConflictError, NotFoundError
from holdfast.kernel.job import Spec
from holdfast.runtime.handle import JobHandle
from holdfast.runtime.task import Task
from holdfast.systems.pipeline.declare.stage import DEFAULT_TIMEOUT, Enabled, Stage, declare_stage
from holdfast.systems.pipeline.lifecycle import PIPELINE
from holdfast.systems.pipeline.stages import BreakerRule
from holdfast.systems.pipeline.views import pipeline_view
from holdfast.tasks.context import Context
from holdfast.tasks.durations import Duration

if TYPE_CHECKING:
    from holdfast.runtime.inside import Inside

C = TypeVar("C")
F = TypeVar("F", bound=Callable[..., Any])
ALONE = "the only run"
"""The key that the run of a pipeline holds, while it lives, when there may be only one."""


class PipelineHandle(JobHandle[dict[str, Any]]):
    """A job's handle that knows stages. Its result is what each stage returned, by name."""

    created = True
    """Whether this submit made the job. False: a run was under way, and this is its handle."""

    def show(self) -> dict[str, Any]:
        """The job as the outside sees it, with its stages."""
        return self._call(pipeline_view(self.engine, self.id))

    async def ashow(self) -> dict[str, Any]:
        return await self.engine.portal.hop(pipeline_view(self.engine, self.id))

    def stages(self) -> list[dict[str, Any]]:
        """Each stage with its status, duration, metrics and errors."""
        return list(self.show()["stages"])

    def output(self, stage: str) -> Any:
        """What one stage returned, as plain data."""
        return self._call(self._output(stage))

    async def _output(self, stage: str) -> Any:
        from holdfast.store.pipeline.stages import StageSteps

        found = await (await self.engine.opened()).part(StageSteps).ends(self.id)
        if stage not in found:
            raise NotFoundError("stage result", stage, f"there are: {', '.join(found) or 'none yet'}")
        return found[stage].get("output")


class Pipeline(Generic[C]):
    """Stages that run one after the other, as one job of the lifecycle `pipeline`."""

    def __init__(self, engine: Inside, name: str, config: type[C], *, single: bool, options: dict[str, Any]) -> None:
        if engine.registry.find(name) is not None:
            raise HoldfastError(f"two tasks are named {name!r}", field="name", remedy="name the pipeline otherwise")
        self.engine = engine
        self.name = name
        self.single = single
        self.config = config
        self.stages: list[Stage] = []
        definition = engine.registry.declare(self._handler(), PIPELINE, {**options, "name": name})
        engine.registry.wholes(Pipeline)[name] = self
        self.task: Task[[C], dict[str, Any]] = Task(engine, definition)
        """The task behind it: what schedules and commands submit by name."""

    def _handler(self) -> Callable[..., Any]:
        async def run(ctx: Context, config: Any) -> Any:
            from holdfast.systems.pipeline.runner.run import StagesRun

            store = await self.engine.opened()
            job = await store.reads.get(ctx.job_id)
            if job is None or job.attempt != ctx.attempt:
                raise LeaseConflictError(f"job {ctx.job_id} is no longer ours")
            return await StagesRun(self, store, job, ctx, config).run()

        run.__name__ = run.__qualname__ = self.name
        run.__annotations__ = {"ctx": Context, "config": self.config, "return": Any}
        return run

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        return self.engine.portal.loop

    @overload
    def stage(self, function: F, /) -> F: ...
    @overload
    def stage(
        self,
        *,
        name: str | None = None,
        enabled: Enabled = True,
        timeout: Duration = DEFAULT_TIMEOUT,
        breaker: BreakerRule | int | None = None,
    ) -> Callable[[F], F]: ...
    def stage(
        self,
        *function: Callable[..., Any],
        name: str | None = None,
        enabled: Enabled = True,
        timeout: Duration = DEFAULT_TIMEOUT,
        breaker: BreakerRule | int | None = None,
    ) -> Any:
        """Declare the next stage. It stays an ordinary function.

        A parameter named like an earlier stage gets that stage's result, one named `config` the config, one of the
        type Context or StageContext the context. A stage that needs the result of one that has none is skipped.
        """
        if isinstance(enabled, str):
            self._refuse_unknown_field(enabled)

        def add(function: Callable[..., Any]) -> Callable[..., Any]:
            earlier = [stage.name for stage in self.stages]
            stage = declare_stage(
                self.name, function, earlier, name=name, enabled=enabled, timeout=timeout, breaker=breaker
            )
            self.stages.append(stage)
            return function

        return add(*function) if function else add

    def _refuse_unknown_field(self, field: str) -> None:
        fields = getattr(self.config, "__struct_fields__", None) or getattr(self.config, "__annotations__", None)
        if fields and field not in fields:
            remedy = f"its fields: {', '.join(fields)}"
            raise HoldfastError(f"{self.name}: the config has no {field!r}", field="enabled", remedy=remedy)

    def options(self, **given: Any) -> Submitter[C]:
        """The same pipeline with options for what is submitted through it, as for tasks."""
        return Submitter(self, self.task.options(**given))

    def submit(self, config: C | Mapping[str, Any] | None = None, /, **fields: Any) -> PipelineHandle:
        """Store a run and return its handle. The config is given whole or field by field, and checked here."""
        return self.options().submit(config, **fields)

    async def asubmit(self, config: C | Mapping[str, Any] | None = None, /, **fields: Any) -> PipelineHandle:
        return await self.options().asubmit(config, **fields)


class Submitter(Generic[C]):
    """A pipeline with options, ready to submit."""

    def __init__(self, pipe: Pipeline[C], task: Task[..., dict[str, Any]]) -> None:
        self._pipe = pipe
        self._task = task

    def submit(self, config: C | Mapping[str, Any] | None = None, /, **fields: Any) -> PipelineHandle:
        spec = self.spec(config, fields)
        return self._handle(spec, self._task._submit([spec]))

    async def asubmit(self, config: C | Mapping[str, Any] | None = None, /, **fields: Any) -> PipelineHandle:
        spec = self.spec(config, fields)
        return self._handle(spec, await self._task._asubmit([spec]))

    def spec(self, config: C | Mapping[str, Any] | None, fields: Mapping[str, Any]) -> Spec:
        """The job of one run; HoldfastError names what is wrong with its config or its options."""
        pipe = self._pipe
        if not pipe.stages:
            raise HoldfastError(f"pipeline {pipe.name} has no stages", field="stage", remedy="declare one: @pipe.stage")
        plain = {} if config is None else msgspec.to_builtins(config, str_keys=True)
        spec = self._task.spec((), {"config": {**plain, **fields}})
        stale_ms = spec.expire_after_ms or PIPELINE.policies.stale_after_ms
        if stale_ms is not None and spec.delay_ms >= stale_ms:
            remedy = "declare the pipeline with a longer stale_after: its time begins when it is submitted"
            raise HoldfastError("the run would be stale before it is due", field="delay", remedy=remedy)
        if not pipe.single:
            return spec
        if spec.key is not None:
            remedy = "leave the key out: a run that is under way is returned, or rejected as duplicates= says"
            raise HoldfastError(f"pipeline {pipe.name} runs alone: its key is its own", field="key", remedy=remedy)
        return spec._replace(key=ALONE)

    def _handle(self, spec: Spec, handles: list[JobHandle[dict[str, Any]]]) -> PipelineHandle:
        handle = PipelineHandle(self._pipe.engine, handles[0].id)
        handle.created = handle.id == spec.id
        return handle


def pipeline_named(engine: Inside, name: str) -> Pipeline[Any]:
    """A pipeline that the engine declares, or NotFoundError with those that it does."""
    known = engine.registry.wholes(Pipeline)
    if name not in known:
        raise NotFoundError("pipeline", name, f"declared here: {', '.join(sorted(known)) or 'none'}")
    return known[name]

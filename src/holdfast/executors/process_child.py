"""A handler in a process of its own: finds the task, runs it under a context that speaks through the pipe.

Frames in: ["run", {…}], ["answer", value, error], ["stop", mode]. Frames out: ["call", method, arguments…], answered;
["progress", …]; ["log", lines]; ["output", metadata]; ["end", kind, fields…], the outcome.
"""

from __future__ import annotations

import importlib
import json
import os
import queue
import threading
from typing import Any

from holdfast.executors import ending
from holdfast.executors.frames import Channel, Frame
from holdfast.executors.process_main import MAIN, load_main
from holdfast.kernel import outcome as o
from holdfast.kernel.classify import Classifier
from holdfast.kernel.errors import HoldfastError, LeaseConflictError, PermanentError
from holdfast.kernel.job import Failure, Job
from holdfast.kernel.policy import Exhausted
from holdfast.observe import logs, tracing
from holdfast.tasks.context import Context, JobStopped, Link
from holdfast.tasks.registry import TaskDef
from holdfast.tasks.work import Python

ENTRY = "holdfast.executors.process_child:serve"
PROGRESS_EVERY_S = 0.5
KINDS: dict[str, Any] = {
    kind.__name__: kind for kind in (o.Done, o.Partial, o.Skip, o.Retry, o.Fail, o.Cancelled, o.TimedOut)
}


class PipeLink(Link):
    """From here it asks the worker, which writes under the job's fence."""

    def __init__(self, channel: Channel, answers: queue.SimpleQueue[Frame]) -> None:
        self._channel = channel
        self._answers = answers

    def call(self, method: str, *arguments: Any) -> Any:
        self._channel.send(["call", method, *arguments])
        _, value, error = self._answers.get()
        if error is None:
            return value
        kind, message = error
        raise LeaseConflictError(message) if kind == "lease_conflict" else HoldfastError(message)


class Handlers:
    """Runs one job after another. A thread listens meanwhile, so that a request to stop is heard at once."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._runs: queue.SimpleQueue[Frame] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[Frame] = queue.SimpleQueue()
        self._ctx: Context | None = None
        self._stop: str | None = None
        self._saying = threading.Lock()

    def serve(self) -> None:
        threading.Thread(target=self._listen, name="holdfast-pipe", daemon=True).start()
        threading.Thread(target=self._tell, name="holdfast-progress", daemon=True).start()
        while True:
            outcome = self._run(self._runs.get()[1])
            self._ctx = None
            self._channel.send(["end", *pack_outcome(outcome)])

    def _listen(self) -> None:
        while (frame := self._channel.receive()) is not None:
            match frame[0]:
                case "run":
                    self._stop = frame[1]["stop"]
                    self._runs.put(frame)
                case "answer":
                    self._answers.put(frame)
                case "stop":
                    self._stop = frame[1]  # the handler may not have begun: its context is made with it
                    if (ctx := self._ctx) is not None:
                        ctx.stop_mode = frame[1]
        os._exit(0)  # the worker is gone, or wants no more: whatever runs here is nobody's

    def _tell(self) -> None:
        """Progress and log lines, for as long as there are some to tell."""
        pause = threading.Event()
        while not pause.wait(PROGRESS_EVERY_S):
            if (ctx := self._ctx) is not None:
                self._say(ctx)

    def _say(self, ctx: Context) -> None:
        with self._saying:  # two threads come here, and lines keep their order
            if ctx.progress_state.changed:
                ctx.progress_state.changed = False
                self._channel.send(["progress", *ctx.progress_state.values()])
            if lines := ctx.lines.take():
                self._channel.send(["log", lines])

    def _run(self, asked: dict[str, Any]) -> o.Outcome:
        job = Job._make(asked["job"])
        policy = Exhausted(asked["on_exhausted"])
        worker = asked["worker"]
        classifier = Classifier()
        ctx: Context | None = None
        try:
            work, classifier = find(asked["module"], asked["qualname"], asked["main"], job.task)
        except Exception as error:
            return ending.raised(error, policy, job, classifier, worker)
        try:
            args, kwargs = work.unpack(json.loads(job.payload) if job.payload else {})
        except Exception as error:
            return ending.bad_input(error, job, worker)
        if work.context is not None:
            ctx = Context(job, PipeLink(self._channel, self._answers))
            ctx.load(asked["checkpoint"])
            kwargs[work.context] = self._ctx = ctx
            if self._stop is not None:
                ctx.stop_mode = self._stop
        try:
            with tracing.resumed(job, asked["trace"]):
                return ending.returned(work.function(*args, **kwargs), ctx)
        except (Exception, JobStopped, SystemExit, KeyboardInterrupt) as error:
            return ending.raised(error, policy, job, classifier, worker)
        finally:
            if ctx is not None:
                self._say(ctx)
                if ctx.output_metadata:
                    self._channel.send(["output", ctx.output_metadata])


def serve(channel: Channel) -> None:
    logs.follow()
    Handlers(channel).serve()


def find(module: str, qualname: str, main: dict[str, Any], task: str) -> tuple[Python, Classifier]:
    """What a task's function is called, imported, with its engine's classifier; PermanentError says why it is not."""
    where = f"{module}:{qualname}"
    if "<" in qualname:
        raise _unfindable(task, where, "it is defined inside another function")
    try:
        if module == "__main__":
            load_main(main)
        found: Any = importlib.import_module(MAIN if module == "__main__" else module)
        for name in qualname.split("."):
            found = getattr(found, name)
    except Exception as error:
        raise _unfindable(task, where, f"{type(error).__name__}: {error}") from error
    definition = getattr(found, "definition", None)
    if isinstance(definition, TaskDef) and isinstance(definition.work, Python):
        return definition.work, found.engine.classifier
    if not callable(found):
        raise _unfindable(task, where, f"it is a {type(found).__name__}")
    return Python(found, task, "process"), Classifier()


def _unfindable(task: str, where: str, why: str) -> PermanentError:
    return PermanentError(
        f"task {task}: its process cannot load {where} ({why}); define it at the top level of a module",
        code="task_not_importable",
    )


def pack_outcome(outcome: o.Outcome) -> list[Any]:
    return [type(outcome).__name__, *(getattr(outcome, name) for name in outcome.__dataclass_fields__)]


def unpack_outcome(frame: list[Any]) -> o.Outcome:
    kind = KINDS[frame[0]]
    values = dict(zip(kind.__dataclass_fields__, frame[1:], strict=True))
    if "failure" in values:
        values["failure"] = Failure(*values["failure"])
    outcome: o.Outcome = kind(**values)
    return outcome

"""A task is a name, a work and policies. Most works are Python functions; none has to be."""

import inspect
import json
from collections.abc import Mapping
from typing import Any

import pytest

from holdfast import Engine, HoldfastError
from holdfast.kernel.durable import DURABLE
from holdfast.kernel.payload.encoding import encode
from holdfast.runtime.task import Task
from holdfast.tasks.registry import define
from holdfast.tasks.work import NOBODY, Nothing, Python, Work
from holdfast.views.part_views import task_view


class Command(Work):
    """Something to be run that is no function."""

    executor = "command"
    doc = "Run a command.\n\nAs it is."

    def pack(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
        return encode(dict(kwargs), what="args")

    def schema(self) -> dict[str, Any]:
        kinds = {"argv": {"type": "array"}, "cwd": {"type": "string"}}
        return {"type": "object", "properties": kinds, "required": ["argv"]}


def test_a_task_needs_no_function(app: Engine) -> None:
    app._inside.registry.add(define("command", Command(), DURABLE, {"queue": "shells", "retries": 2}))
    job = app.submit("command", {"argv": ["ls"]}).job()
    assert (job.task, job.queue, job.max_tries, json.loads(job.payload or "")) == (
        "command",
        "shells",
        3,
        {"argv": ["ls"]},
    )
    view = task_view(app._inside.registry.get("command"))
    assert (view["doc"], view["parameters"]["required"]) == ("Run a command.", ["argv"])


def test_a_task_without_a_function_is_not_called(app: Engine) -> None:
    task = Task[Any, Any](app._inside, define("command", Command(), DURABLE, {}))
    with pytest.raises(HoldfastError, match="is no function"):
        task(["ls"])


def test_a_work_tells_of_its_arguments_by_their_schema() -> None:
    found = Command().parameters
    assert {name: p.default is inspect.Parameter.empty for name, p in found.items()} == {"argv": True, "cwd": False}
    assert Command().texts == {"cwd"}


def test_its_options_are_checked_as_those_of_a_function_are() -> None:
    with pytest.raises(HoldfastError) as wrong:
        define("command", Command(), DURABLE, {"colour": "red"})
    assert wrong.value.field == "colour"


def test_one_name_is_one_work(app: Engine) -> None:
    def declared(app: Engine) -> Any:
        @app.task
        def once() -> None: ...

        return once

    first, again = declared(app), declared(app)  # as a module that is loaded twice
    assert first.definition.work == again.definition.work != Nothing()
    with pytest.raises(HoldfastError, match="two tasks are named"):
        app._inside.registry.add(define("once", Command(), DURABLE, {}))


def test_nobody_does_nothing() -> None:
    assert Nothing().executor == NOBODY
    assert Nothing().pack((), {"a": 1}) == '{"a":1}'
    assert Nothing().parameters == {}


def test_a_function_says_who_runs_it(app: Engine) -> None:
    @app.task
    async def inline() -> None: ...

    @app.task(executor="process")
    def apart() -> None: ...

    assert isinstance(inline.definition.work, Python)
    assert (inline.definition.work.executor, apart.definition.work.executor) == ("loop", "process")
    with pytest.raises(HoldfastError) as wrong:
        app.task(executor="cloud")(lambda: None)
    assert (wrong.value.field, wrong.value.remedy) == ("executor", "one of auto, loop, thread, process")

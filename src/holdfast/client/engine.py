"""The engine of a service without database access: `Engine("http://host:port", key=…)`."""

from __future__ import annotations

from typing import Any

from holdfast.client.flow import RemoteFlow
from holdfast.client.inside import ELSEWHERE, HereOnlyError, RemoteInside
from holdfast.client.task import RemoteTask
from holdfast.engine import Engine
from holdfast.kernel.errors import HoldfastError
from holdfast.runtime.task import Task
from holdfast.systems.flow.declare.flow import flows_of
from holdfast.tasks.durations import Duration


class RemoteEngine(Engine):
    """Sends what an engine does to an API. Nothing runs here: tasks are declared for their names and types."""

    def __init__(
        self,
        url: str | None = None,
        *,
        key: str | None = None,
        wait: Duration | None = "300s",
        **local: Any,
    ) -> None:
        if given := sorted(name for name, value in local.items() if value is not None):
            raise HoldfastError(f"{given[0]} means nothing to an API", field=given[0], remedy="leave it out")
        self._inside: RemoteInside = RemoteInside(url, key=key, wait=wait)

    def task(self, *function: Any, **options: Any) -> Any:
        """Declare a function as a task: for its name and its types. It runs where the API's workers are."""
        made: Any = super().task(*function, **options)
        if isinstance(made, Task):
            return RemoteTask(self._inside, made.definition)
        return lambda function: RemoteTask(self._inside, made(function).definition)

    def flow(self, name: str, *, on_failure: str = "fail_fast") -> RemoteFlow:
        """A flow of the API's, by its name. It may be declared here too, node by node: for the types of its input."""
        flow = flows_of(self._inside)[name] = RemoteFlow(self._inside, name, on_failure=on_failure)
        return flow

    def worker(self, **options: Any) -> Any:
        raise HereOnlyError(f"a worker cannot work for {self.url}: it needs the database itself", remedy=ELSEWHERE)

    def schedule(self, name: str, *arguments: Any, **options: Any) -> Any:
        raise HereOnlyError(f"schedule {name!r} needs the database itself", remedy="declare it where the workers are")

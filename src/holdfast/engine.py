"""The engine that applications hold: the runtime's, with what is built from jobs on top of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, overload

from holdfast import config
from holdfast.extras import needs
from holdfast.runtime.engine import Engine as Runtime
from holdfast.tasks.durations import Duration

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.kernel.classify import Classifier
    from holdfast.systems.flow.declare.flow import Flow
    from holdfast.systems.pipeline.declare.pipeline import Pipeline

C = TypeVar("C")


class Engine(Runtime):
    __doc__ = Runtime.__doc__

    if not TYPE_CHECKING:

        def __new__(cls, url: str | None = None, **options: Any) -> Engine:
            """ "http://host:port" is the API of another engine: the same calls are sent there, with `key`."""
            if cls is Engine and (config.load().db if url is None else str(url)).startswith(config.REMOTE):
                with needs("client", "an API in place of a database", "url"):
                    from holdfast.client.engine import RemoteEngine
                return object.__new__(RemoteEngine)
            return object.__new__(cls)

    def __init__(
        self,
        url: str | None = None,
        *,
        key: str | None = None,
        classifier: Classifier | None = None,
        clock: Callable[[], int] | None = None,
        wait: Duration | None = "300s",
    ) -> None:
        if key is not None:
            raise config.ConfigError("a database takes no key", field="key", remedy="give it with http://host:port")
        super().__init__(url, classifier=classifier, clock=clock, wait=wait)

    @overload
    def pipeline(
        self,
        name: str,
        *,
        single: bool = False,
        stale_after: Duration | None = None,
        queue: str = "default",
        priority: int = 0,
        lease: Duration | None = None,
    ) -> Pipeline[dict[str, Any]]: ...
    @overload
    def pipeline(
        self,
        name: str,
        config: type[C],
        *,
        single: bool = False,
        stale_after: Duration | None = None,
        queue: str = "default",
        priority: int = 0,
        lease: Duration | None = None,
    ) -> Pipeline[C]: ...
    def pipeline(
        self, name: str, config: Any = dict[str, Any], *, single: bool = False, **options: Any
    ) -> Pipeline[Any]:
        """Declare a pipeline: its stages follow, each by `@pipe.stage`, in the order in which they run.

        `config` is the type of what a run is told, such as a dataclass. With `single` there is one run at a time, over
        all processes. A run that stands in PENDING or RUNNING for longer than `stale_after` fails; 2 h if not said.
        """
        from holdfast.systems.pipeline.declare.pipeline import Pipeline

        given = {"expires" if key == "stale_after" else key: value for key, value in options.items()}
        chosen = {key: value for key, value in given.items() if value is not None}
        return Pipeline(self._inside, name, config, single=single, options=chosen)

    def flow(self, name: str, *, on_failure: str = "fail_fast") -> Flow:
        """Declare a flow: its nodes follow, each by `@flow.task`, and say after which others they come.

        `on_failure` says what a failed node does to the rest: "fail_fast" cancels it, "finish" lets all go on that
        does not need that node.
        """
        from holdfast.systems.flow.declare.flow import declare_flow

        return declare_flow(self._inside, name, on_failure)

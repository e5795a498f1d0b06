"""A node of a flow as it is declared: still an ordinary function, and a task that any worker runs."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeAlias, TypeVar, overload

from holdfast.kernel.graph.conditions import Condition
from holdfast.kernel.graph.dag import Join, NodeOptions, Source
from holdfast.runtime.task import Task
from holdfast.tasks.context import Context
from holdfast.tasks.registry import TaskDef

if TYPE_CHECKING:
    from holdfast.runtime.inside import Inside

P = ParamSpec("P")
R = TypeVar("R")


class FlowNode(Task[P, R]):
    """Name it in `after`, `map_over` and `branch`. Called, it runs here; as part of its flow it runs as a job."""

    def __init__(self, engine: Inside, definition: TaskDef, flow: str, node: str) -> None:
        super().__init__(engine, definition)
        self.flow = flow
        self.node = node

    def __repr__(self) -> str:
        return f"<node {self.node} of flow {self.flow}>"


NodeRef: TypeAlias = FlowNode[..., Any] | str
NodeRefs: TypeAlias = NodeRef | Sequence[Any]
"""One node, or several: nodes of different types have no common one that a type checker would find."""
Judge: TypeAlias = Callable[..., bool] | Condition | Mapping[str, Any]
"""What decides: a Python predicate, a condition, or a condition's document."""


@dataclass(frozen=True)
class Declared:
    """A node as `flow.task` was told of it; `after` grows when a branch names the node."""

    name: str
    task: TaskDef
    after: tuple[str, ...]
    join: Join
    map: str | None
    when: Judge | None
    args: Mapping[str, Any]
    inputs: Mapping[str, Source]
    options: NodeOptions


class NodeDecorator(Protocol):
    """What `flow.task` is when it is given options: from a function to its node, context or not, async or not."""

    @overload
    def __call__(self, function: Callable[Concatenate[Context, P], Coroutine[Any, Any, R]], /) -> FlowNode[P, R]: ...
    @overload
    def __call__(self, function: Callable[Concatenate[Context, P], R], /) -> FlowNode[P, R]: ...
    @overload
    def __call__(self, function: Callable[P, Coroutine[Any, Any, R]], /) -> FlowNode[P, R]: ...
    @overload
    def __call__(self, function: Callable[P, R], /) -> FlowNode[P, R]: ...
    def __call__(self, function: Any, /) -> Any: ...

"""Conditions that are Python: kept by name in the flow that declares them, called where its nodes run."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.graph.condition_document import parse, to_document
from holdfast.kernel.graph.conditions import ABSENT, And, Condition, Not, Or, Path, Test, holds, paths
from holdfast.kernel.graph.dag import INPUT, Judged, Predicate
from holdfast.kernel.graph.inputs import pick
from holdfast.systems.flow.declare.inputs import Bound, bind
from holdfast.systems.flow.declare.node import FlowNode, Judge
from holdfast.tasks.context import Context
from holdfast.tasks.signature import Signature


@dataclass(frozen=True)
class KeptPredicate:
    """A predicate, and where its parameters come from; that of a branch is given the result."""

    function: Callable[..., Any]
    signature: Signature
    bound: Bound | None


class Predicates:
    """The predicates of one flow, by name. `free` says what they take of the flow's input."""

    def __init__(self) -> None:
        self._kept: dict[str, KeptPredicate] = {}
        self.free: dict[str, list[inspect.Parameter]] = {}

    def keep(self, judge: Judge, name: str, after: tuple[str, ...] | None = None) -> Judged:
        """As the graph holds it; a function is kept here. That of a branch takes the node's result.

        That of a `when` takes what its node's own function would: results of the parents `after` which it comes, or
        the input.
        """
        if not callable(judge):
            condition = parse(to_document(judge) if isinstance(judge, Test | And | Or | Not) else judge, name)
            self.free[name] = [] if after is None else [_optional(path[1]) for path in _of_input(condition)]
            return condition
        if isinstance(judge, FlowNode) or inspect.iscoroutinefunction(judge):
            what = "a node" if isinstance(judge, FlowNode) else "async"
            raise HoldfastError(f"{name} is {what}", field=name, remedy="pass a plain function, or a condition")
        try:
            signature = Signature(judge, name, Context)
        except ValueError:
            problem = f"{name} does not say what it takes"
            raise HoldfastError(problem, field=name, remedy="wrap it in a function") from None
        bound = None if after is None else bind(signature.parameters, name, after)
        if bound is not None:
            self.free[name] = bound.free
        else:
            try:
                inspect.signature(judge).bind(None)
            except TypeError:
                raise HoldfastError(
                    f"{name} takes {inspect.signature(judge)}", field=name, remedy="it is called with the node's result"
                ) from None
        self._kept[name] = KeptPredicate(judge, signature, bound)
        return Predicate(name)

    def holds(self, judged: Judged, document: Any) -> bool:
        """Judge a node's result (a branch), or its `scope` (a `when`). What a predicate raises is raised."""
        if not isinstance(judged, Predicate):
            return holds(judged, document)
        kept = self._kept[judged.name]
        if kept.bound is None:
            return bool(kept.function(document))
        found: dict[str, Any] = dict.fromkeys(kept.bound.needs)
        for name, source in kept.bound.inputs.items():
            if (value := pick(source, document)) is not ABSENT:
                found[name] = value
        args, kwargs = kept.signature.unpack(found)
        return bool(kept.function(*args, **kwargs))


def _of_input(condition: Condition) -> Iterator[Path]:
    return (path for path, _ in paths(condition) if len(path) > 1 and path[0] == INPUT)


def _optional(name: str) -> inspect.Parameter:
    """A condition looks at what is there: it demands nothing."""
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Any)

"""From what a flow was told to the graph that it is."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, replace

from holdfast.kernel.graph.check import GraphError
from holdfast.kernel.graph.dag import Branch, Case, Graph, Mode, Node, OnFailure
from holdfast.systems.flow.declare.document import fallbacks
from holdfast.systems.flow.declare.inputs import bind, input_signature
from holdfast.systems.flow.declare.node import Declared, Judge
from holdfast.systems.flow.declare.predicates import Predicates
from holdfast.tasks.signature import Signature


@dataclass(frozen=True)
class Choice:
    """A branch as `flow.branch` was told of it."""

    cases: tuple[tuple[Judge, tuple[str, ...], int], ...]
    default: tuple[str, ...]
    mode: Mode

    def named(self) -> tuple[str, ...]:
        return (*(name for _, then, _ in self.cases for name in then), *self.default)


def built(
    name: str, on_failure: OnFailure, declared: Mapping[str, Declared], choices: Mapping[str, Choice]
) -> tuple[Graph, Predicates, Signature]:
    """The checked graph, the predicates that it names, and what the flow takes as its input."""
    predicates = Predicates()
    nodes = {each.name: each for each in declared.values()}
    for chooser, choice in choices.items():
        for target in choice.named():
            if chooser not in nodes or target not in nodes:
                stranger = target if chooser in nodes else chooser
                raise GraphError("branch", f"names {stranger!r}, which is no node", "name a node of this flow")
            if chooser not in nodes[target].after:
                nodes[target] = replace(nodes[target], after=(*nodes[target].after, chooser))
    free: dict[str, list[inspect.Parameter]] = {}
    made = []
    for each in nodes.values():
        parameters, given = each.task.work.parameters, each.inputs
        bound = bind(parameters, each.name, each.after, nodes=nodes, given=given, constants=each.args, mapped=each.map)
        free[each.name] = bound.free
        node = Node(each.name, each.task.name, each.args, each.after, each.join, map=each.map, inputs=bound.inputs)
        made.append(
            replace(
                node,
                args={**fallbacks(node, bound.needs), **each.args},
                branch=_branch(each.name, choices[each.name], predicates) if each.name in choices else None,
                when=None if each.when is None else predicates.keep(each.when, f"{each.name}.when", each.after),
                options=each.options,
            )
        )
    return Graph(name, tuple(made), on_failure), predicates, input_signature(name, free | predicates.free)


def _branch(name: str, choice: Choice, predicates: Predicates) -> Branch:
    cases = tuple(
        Case(predicates.keep(judge, f"{name}.cases[{number}]"), then, priority)
        for number, (judge, then, priority) in enumerate(choice.cases)
    )
    return Branch(cases, choice.default, choice.mode)

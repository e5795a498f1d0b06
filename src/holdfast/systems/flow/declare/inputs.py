"""Where the parameters of a node's function come from: its parents' results, or the flow's own input.

If a parameter is named like a parent, or `inputs` names one, parents are given by name. Otherwise the positional
parameters take the parents in the order of `after`; beside constants, only those that have no default. What is left
over is the flow's input, and so is a keyword-only parameter, unless it is named like a parent.
"""

from __future__ import annotations

import inspect
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.graph.conditions import Path
from holdfast.kernel.graph.dag import INPUT, ITEM, PARENTS, Each, Source
from holdfast.tasks.context import Context
from holdfast.tasks.signature import Signature

EMPTY = inspect.Parameter.empty
POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
Parameters = dict[str, inspect.Parameter]


@dataclass
class Bound:
    """`inputs` by parameter; `free` are the flow's inputs that it takes; `needs` those that come from a parent and
    have no default."""

    inputs: dict[str, Source] = field(default_factory=dict)
    free: list[inspect.Parameter] = field(default_factory=list)
    needs: list[str] = field(default_factory=list)


def bind(
    parameters: Mapping[str, inspect.Parameter],
    what: str,
    after: tuple[str, ...],
    *,
    nodes: Collection[str] = (),
    given: Mapping[str, Source] | None = None,
    constants: Collection[str] = (),
    mapped: str | None = None,
) -> Bound:
    """Bind what a node takes. `given` says where some come from, `constants` which have a value already."""
    given = given or {}
    for name in (*given, *constants):
        if name not in parameters:
            raise _refused(what, name, "is no parameter of its function", f"it takes {', '.join(parameters) or 'none'}")
    bound = Bound()
    left = {name: p for name, p in parameters.items() if name not in given and name not in constants}
    sources: dict[str, Path] = {parent: (ITEM,) if parent == mapped else (parent,) for parent in after}
    for name, source in given.items():
        bound.inputs[name] = source
        _note_input(bound, parameters[name], source)
    if any(name in sources for name in left) or any(_of_parents(source) for source in given.values()):
        bound.inputs |= {name: sources[name] for name in left if name in sources}
        _gather_rest(bound, left, {}, what)
    else:
        _in_order(bound, left, sources, what, spare_defaults=bool(given or constants))
    for name, p in left.items():
        if name in bound.inputs:
            if p.default is EMPTY and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
                bound.needs.append(name)
            continue
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            continue
        if name in nodes:
            raise _refused(what, name, "is named like a node that it does not come after", f"add {name} to `after`")
        bound.inputs[name] = (INPUT, name)
        bound.free.append(p)
    return bound


def _of_parents(source: Source) -> bool:
    return isinstance(source, Each) or source[:1] != (INPUT,)


def _in_order(bound: Bound, left: Parameters, sources: dict[str, Path], what: str, *, spare_defaults: bool) -> None:
    positional = {name: p for name, p in left.items() if p.kind in POSITIONAL}
    taking = [name for name, p in positional.items() if p.default is EMPTY or not spare_defaults]
    rest = dict(sources)
    for name, parent in zip(taking, sources, strict=False):
        bound.inputs[name] = rest.pop(parent)
    gathers = _gather_rest(bound, left, rest, what)
    if rest and taking and not gathers:
        raise _refused(
            what,
            taking[0],
            f"would take the first of {len(sources)} parents, and nothing the others",
            "name parameters like the parents, or put those of the flow's own input behind a *",
        )


def _gather_rest(bound: Bound, left: Parameters, rest: dict[str, Path], what: str) -> bool:
    """*parts take the results of the parents that are left, **results those of all, by name."""
    for name, p in left.items():
        if p.kind is p.VAR_POSITIONAL and rest:
            bound.inputs[name] = Each(tuple(rest.values()))
            return True
        if p.kind is p.VAR_KEYWORD:
            if bound.inputs:
                raise _refused(what, name, "takes all parents, and others take some", f"leave **{name} alone, or out")
            bound.inputs[name] = (PARENTS,)
            return True
    return False


def _note_input(bound: Bound, parameter: inspect.Parameter, source: Source) -> None:
    """A path that was given may lead into the flow's input: then that is something to submit."""
    for path in source.paths if isinstance(source, Each) else (source,):
        if len(path) > 1 and path[0] == INPUT:
            kind = parameter.annotation if path == source and len(path) == 2 else Any
            bound.free.append(
                inspect.Parameter(path[1], parameter.KEYWORD_ONLY, default=parameter.default, annotation=kind)
            )


def input_signature(flow: str, taken: Mapping[str, list[inspect.Parameter]]) -> Signature:
    """What a flow is submitted with: the union of what its nodes take. HoldfastError when two contradict each other."""
    union: Parameters = {}
    owners: dict[str, str] = {}
    for node, parameters in taken.items():
        for p in parameters:
            known = union.get(p.name)
            if known is None or known.annotation is Any:
                owners[p.name] = node
            elif p.annotation is not Any and p.annotation != known.annotation:
                kinds = f"{_spelt(known.annotation)} in {owners[p.name]} and {_spelt(p.annotation)} in {node}"
                raise _refused(f"flow {flow}", p.name, f"is {kinds}", "give it one type, or two names")
            union[p.name] = _merged(known, p)

    def submitted(**_: Any) -> None: ...

    in_order = sorted(union.values(), key=lambda p: p.default is not EMPTY)  # as Python has it: what is needed first
    vars(submitted)["__signature__"] = inspect.Signature(in_order)
    submitted.__annotations__ = {p.name: p.annotation for p in union.values()}
    return Signature(submitted, flow, Context)


def _merged(known: inspect.Parameter | None, other: inspect.Parameter) -> inspect.Parameter:
    """Needed if one node needs it; each node's own default stands where nothing is submitted."""
    if known is None:
        return other.replace(kind=other.POSITIONAL_OR_KEYWORD)
    kind = other.annotation if known.annotation is Any else known.annotation
    return known.replace(annotation=kind, default=EMPTY if EMPTY in (known.default, other.default) else known.default)


def _spelt(kind: Any) -> str:
    return getattr(kind, "__name__", None) or str(kind)


def _refused(what: str, parameter: str, problem: str, remedy: str) -> HoldfastError:
    return HoldfastError(f"{what}: {parameter} {problem}", field=parameter, remedy=remedy)

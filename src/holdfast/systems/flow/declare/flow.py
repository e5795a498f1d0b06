"""A flow: a DAG of tasks, declared in Python.

flow = app.flow("invoice")

@flow.task
def fetch(doc: str) -> str: ...              # `doc` is the flow's own input

@flow.task(after=fetch, retries=5)
def total(fetch: str) -> int: ...            # a parameter named like a parent is given its result

flow.submit(doc="2024-17")
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, Unpack, overload

from holdfast.kernel.errors import HoldfastError, NotFoundError
from holdfast.kernel.graph.check import NAME
from holdfast.kernel.graph.condition_document import parse_path
from holdfast.kernel.graph.dag import Graph, Judged, Mode, OnFailure
from holdfast.kernel.payload.encoding import encode
from holdfast.runtime.task import OptionNames, Options
from holdfast.systems.flow.commands import submit as flow_submit
from holdfast.systems.flow.declare.build import Choice, built
from holdfast.systems.flow.declare.node import Declared, FlowNode, Judge, NodeDecorator, NodeRef, NodeRefs
from holdfast.systems.flow.declare.options import join_of, split
from holdfast.systems.flow.declare.predicates import Predicates
from holdfast.systems.flow.handle import FlowHandle
from holdfast.tasks.context import Context
from holdfast.tasks.signature import Signature

if TYPE_CHECKING:
    from holdfast.runtime.inside import Inside

P = ParamSpec("P")
R = TypeVar("R")


class Flow:
    """Declare its nodes, then submit it. The graph is checked as a whole when it is first asked for."""

    def __init__(self, engine: Inside, name: str, *, on_failure: str = OnFailure.FAIL_FAST) -> None:
        _check_name("flow", name)
        if on_failure not in set(OnFailure):
            raise HoldfastError(
                f"on_failure is {on_failure!r}", field="on_failure", remedy=f"one of {', '.join(OnFailure)}"
            )
        self.engine = engine
        self.name = name
        self.on_failure = OnFailure(on_failure)
        self._nodes: dict[str, Declared] = {}
        self._choices: dict[str, Choice] = {}
        self._built: tuple[Graph, Predicates, Signature] | None = None

    @overload
    def task(self, function: Callable[Concatenate[Context, P], Coroutine[Any, Any, R]], /) -> FlowNode[P, R]: ...
    @overload
    def task(self, function: Callable[Concatenate[Context, P], R], /) -> FlowNode[P, R]: ...
    @overload
    def task(self, function: Callable[P, Coroutine[Any, Any, R]], /) -> FlowNode[P, R]: ...
    @overload
    def task(self, function: Callable[P, R], /) -> FlowNode[P, R]: ...
    @overload
    def task(
        self,
        *,
        after: NodeRefs = (),
        when: Judge | None = None,
        join: Any = "all",
        map_over: NodeRef | None = None,
        name: str | None = None,
        args: Mapping[str, Any] | None = None,
        inputs: Mapping[str, str] | None = None,
        **options: Any,
    ) -> NodeDecorator: ...
    def task(self, *function: Any, **given: Any) -> Any:
        """Declare a function as a node.

        `after` names its parents; `join` how many of them it waits for; `when` decides, once they have ended, whether
        it runs or is skipped; `map_over` a parent that returns a list: the node runs once for each item, and its
        result is the list of their results. `args` are constants, `inputs` says where parameters come from when their
        names do not: "parent.key", "$input.name". All else is options of its job.
        """

        def wrap(function: Callable[..., Any]) -> FlowNode[Any, Any]:
            return self._declare(function, **given)

        return wrap(*function) if function else wrap

    def _declare(
        self,
        function: Callable[..., Any],
        *,
        after: NodeRefs = (),
        when: Judge | None = None,
        join: Any = "all",
        map_over: NodeRef | None = None,
        name: str | None = None,
        args: Mapping[str, Any] | None = None,
        inputs: Mapping[str, str] | None = None,
        **options: Any,
    ) -> FlowNode[Any, Any]:
        name = name or function.__name__
        _check_name(f"{self.name}: a node", name)
        if name in self._nodes:
            raise HoldfastError(f"{self.name} has a node {name!r}", field="name", remedy="give this one name=…")
        for_task, for_node = split(options, name)
        encode(args or {}, what="args")
        mapped = None if map_over is None else self._names(map_over, "map_over")[0]
        parents = self._names(after, "after")
        declared = Declared(
            name=name,
            task=self.engine.task(lifecycle="workflow", name=f"{self.name}.{name}", **for_task)(function).definition,
            after=parents if mapped is None or mapped in parents else (*parents, mapped),
            join=join_of(join, name),
            map=mapped,
            when=when,
            args=dict(args or {}),
            inputs={each: parse_path(path, f"inputs.{each}") for each, path in (inputs or {}).items()},
            options=for_node,
        )
        self._nodes[name] = declared
        self._built = None
        return FlowNode(self.engine, declared.task, self.name, name)

    def branch(
        self,
        after: NodeRef,
        cases: Sequence[tuple[Judge, NodeRefs] | tuple[Judge, NodeRefs, int]],
        default: NodeRefs = (),
        mode: str = Mode.FIRST,
    ) -> None:
        """Let a node's result choose which of the nodes after it run; those that it does not take are skipped.

        A case is (what decides, the nodes it takes), for mode "priority" with a number behind: the highest that
        matches is taken. "first" takes the first case that matches, "all" all of them; `default` when none does.
        The nodes come after the one that chooses, whether their own `after` says so or not.
        """
        [chooser] = self._names(after, "after")[:1] or [""]
        if chooser in self._choices:
            raise HoldfastError(f"{chooser} has a branch", field="after", remedy="give all its cases in one branch")
        if mode not in set(Mode):
            raise HoldfastError(f"mode is {mode!r}", field="mode", remedy=f"one of {', '.join(Mode)}")
        read = tuple(self._case(case, f"cases[{number}]") for number, case in enumerate(cases))
        self._choices[chooser] = Choice(read, self._names(default, "default"), Mode(mode))
        self._built = None

    def _case(self, case: Any, at: str) -> tuple[Judge, tuple[str, ...], int]:
        if not isinstance(case, tuple | list) or len(case) not in (2, 3):
            raise HoldfastError(f"{at} is {case!r}", field=at, remedy="(what decides, the nodes it takes)")
        judge, then, priority = (*case, 0)[:3]
        if not isinstance(priority, int):
            raise HoldfastError(f"{at} has the priority {priority!r}", field=at, remedy="a whole number")
        return judge, self._names(then, at), priority

    def _names(self, refs: NodeRefs, field: str) -> tuple[str, ...]:
        found = []
        for ref in [refs] if isinstance(refs, FlowNode | str) else refs:
            if isinstance(ref, FlowNode) and ref.flow != self.name:
                raise HoldfastError(f"{field}: {ref!r}", field=field, remedy=f"name nodes of {self.name}")
            if not isinstance(ref, FlowNode | str):
                raise HoldfastError(f"{field}: {ref!r} is no node", field=field, remedy="pass what @flow.task gave")
            found.append(ref.node if isinstance(ref, FlowNode) else ref)
        return tuple(found)

    def _build(self) -> tuple[Graph, Predicates, Signature]:
        if self._built is None:
            self._built = built(self.name, self.on_failure, self._nodes, self._choices)
        return self._built

    def graph(self) -> Graph:
        """The whole, checked: a cycle, an unknown parent, a branch to a stranger raise GraphError that shows it."""
        return self._build()[0]

    @property
    def signature(self) -> Signature:
        """What it is submitted with: the parameters of its nodes that no parent fills."""
        return self._build()[2]

    def judge(self, judged: Judged, document: Any) -> bool:
        """Whether a case holds of its node's result, or a `when` of its node's scope."""
        return self._build()[1].holds(judged, document)

    def options(self, **given: Unpack[OptionNames]) -> Submission:
        """The same flow with options for what is submitted through it."""
        return Submission(self, Options().plus(given))

    def submit(self, *args: Any, **input: Any) -> FlowHandle:
        """Store the flow and all its nodes as jobs. The input is checked here, not when they run.

        Without its name a value goes to the first input that the nodes take, in the order in which they were declared.
        """
        return Submission(self, Options()).submit(*args, **input)

    async def asubmit(self, *args: Any, **input: Any) -> FlowHandle:
        return await Submission(self, Options()).asubmit(*args, **input)

    def start(self, args: tuple[Any, ...], input: dict[str, Any], options: Options) -> Coroutine[Any, Any, FlowHandle]:
        """Check the input now; stored it is inside the engine's own loop."""
        payload = self.signature.pack(args, input)
        return flow_submit.submit(self.engine, self.graph(), payload, options)


class Submission:
    """A flow and the options of one submit."""

    def __init__(self, flow: Flow, options: Options) -> None:
        self.flow = flow
        self._options = options

    def submit(self, *args: Any, **input: Any) -> FlowHandle:
        return self.flow.engine.portal.call(self.flow.start(args, input, self._options))

    async def asubmit(self, *args: Any, **input: Any) -> FlowHandle:
        return await self.flow.engine.portal.hop(self.flow.start(args, input, self._options))


def _check_name(what: str, name: Any) -> None:
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise HoldfastError(f"{what} is named {name!r}", field="name", remedy="1 to 100 letters, digits, _ or -")


def declare_flow(engine: Inside, name: str, on_failure: str = OnFailure.FAIL_FAST) -> Flow:
    """A flow that the engine's workers find again by its name."""
    flows = engine.registry.wholes(Flow)
    if name in flows:
        raise HoldfastError(f"two flows are named {name!r}", field="name", remedy="give one of them another name")
    flow = flows[name] = Flow(engine, name, on_failure=on_failure)
    return flow


def flows_of(engine: Inside) -> dict[str, Flow]:
    """Every flow that the engine declares, by name."""
    return engine.registry.wholes(Flow)


def flow_named(engine: Inside, name: str) -> Flow:
    known = flows_of(engine)
    if name not in known:
        raise NotFoundError("flow", name, f"declared here: {', '.join(sorted(known)) or 'none'}")
    return known[name]

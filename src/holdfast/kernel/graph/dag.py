"""A DAG as data: its nodes, what each waits for, which ways are taken."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from functools import cached_property
from typing import Any, TypeAlias

from holdfast.kernel.graph.conditions import Condition, Path

INPUT, ITEM, INDEX, PARENTS = "$input", "$item", "$index", "$parents"
"""Where a path of `inputs` or `when` may begin, beside a parent's name: the flow's own input, the item and the number
of a mapped run, and the results of all parents by name."""


@dataclass(frozen=True, slots=True)
class Predicate:
    """A condition in Python: the name under which the flow that declared it keeps the function."""

    name: str


@dataclass(frozen=True, slots=True)
class Each:
    """Several paths: the list of what they lead to, without what is not there."""

    paths: tuple[Path, ...]


Judged: TypeAlias = Condition | Predicate
Source: TypeAlias = Path | Each
"""Where a parameter's value comes from."""


class JoinKind(StrEnum):
    ALL = "all"
    ANY = "any"
    N = "n"
    ALL_DONE = "all_done"


@dataclass(frozen=True, slots=True)
class Join:
    """What a node waits for: all parents that are taken, any one, `n` of them, or all, taken or not."""

    kind: JoinKind = JoinKind.ALL
    n: int = 0

    def __str__(self) -> str:
        return f"{self.n} of" if self.kind is JoinKind.N else self.kind.value


class Mode(StrEnum):
    """Which of the cases that match are taken."""

    FIRST = "first"
    ALL = "all"
    PRIORITY = "priority"


@dataclass(frozen=True, slots=True)
class Case:
    when: Judged
    then: tuple[str, ...]
    priority: int = 0


@dataclass(frozen=True, slots=True)
class Branch:
    """How a node's result chooses among its children. A child that is named nowhere in it is always taken."""

    cases: tuple[Case, ...]
    default: tuple[str, ...] = ()
    mode: Mode = Mode.FIRST

    @property
    def named(self) -> frozenset[str]:
        """The children that this branch decides about."""
        return frozenset(name for case in self.cases for name in case.then) | frozenset(self.default)


@dataclass(frozen=True, slots=True)
class NodeOptions:
    """What a node says beyond its task. None leaves what the task or the lifecycle says."""

    queue: str | None = None
    priority: int | None = None
    retry_limit: int | None = None
    retry_delay: float | None = None
    retry_backoff: bool | None = None
    start_after_ms: int | None = None
    expire_in_seconds: float | None = None
    run_ttl_seconds: float | None = None
    keep_until_ms: int | None = None
    sla_soft_seconds: float | None = None
    sla_hard_seconds: float | None = None

    def given(self) -> dict[str, Any]:
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: value for name, value in values.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Node:
    """One job of a flow.

    Its arguments are `args`, overlaid by what `inputs` finds: a parent that did not run gives nothing, and the
    constant stands in. `map` names the parent whose result, a list, the node runs over, once for each item.
    """

    name: str
    task: str
    args: Mapping[str, Any] = field(default_factory=dict)
    after: tuple[str, ...] = ()
    join: Join = Join()
    branch: Branch | None = None
    map: str | None = None
    when: Judged | None = None
    inputs: Mapping[str, Source] = field(default_factory=dict)
    options: NodeOptions = NodeOptions()


class OnFailure(StrEnum):
    """What a failed node does to the rest: all of it is cancelled, or all that does not need the node goes on."""

    FAIL_FAST = "fail_fast"
    FINISH = "finish"


@dataclass(frozen=True)
class Graph:
    """A checked DAG: building one that is not sound raises GraphError."""

    name: str
    nodes: tuple[Node, ...]
    on_failure: OnFailure = OnFailure.FAIL_FAST

    def __post_init__(self) -> None:
        from holdfast.kernel.graph.check import check

        check(self)

    @cached_property
    def by_name(self) -> Mapping[str, Node]:
        return {node.name: node for node in self.nodes}

    @cached_property
    def children(self) -> Mapping[str, tuple[str, ...]]:
        """Of each node, who waits for it, in the order of declaration."""
        found: dict[str, list[str]] = {node.name: [] for node in self.nodes}
        for node in self.nodes:
            for parent in node.after:
                found[parent].append(node.name)
        return {name: tuple(children) for name, children in found.items()}

    @cached_property
    def order(self) -> tuple[str, ...]:
        """Names so that every parent stands before its children."""
        from holdfast.kernel.graph.check import order

        return order(self)

    @cached_property
    def depths(self) -> Mapping[str, int]:
        """Of each node, the length of the longest way to it. Roots have 0."""
        depths: dict[str, int] = {}
        for name in self.order:
            depths[name] = max((depths[parent] + 1 for parent in self.by_name[name].after), default=0)
        return depths

    @classmethod
    def from_dict(cls, data: object, *, predicates: frozenset[str] | None = frozenset()) -> Graph:
        """A graph from its document; DocumentError names the path of what is wrong, and the remedy.

        Predicates, which are Python, are refused but for those in `predicates`; None allows all.
        """
        from holdfast.kernel.graph.document import read

        return read(data, predicates)

    def to_dict(self) -> dict[str, Any]:
        """The document that `from_dict` reads as this graph."""
        from holdfast.kernel.graph.document import write

        return write(self)

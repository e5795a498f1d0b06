"""What a task does, and who does it: a Python function, or whatever else an executor knows how to carry out."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from holdfast.kernel.payload.encoding import encode
from holdfast.tasks.context import Context
from holdfast.tasks.signature import Signature

NOBODY = "none"
KEYWORD = inspect.Parameter.KEYWORD_ONLY
EMPTY = inspect.Parameter.empty


class Work(Protocol):
    """What a task does. A subclass says `executor`, `pack` and `schema`; the rest follows from them, or is none."""

    executor: str
    """By its name, who carries it out; NOBODY for what is not carried out itself, as a flow as a whole."""
    doc: str | None = None
    """What it is for."""

    def pack(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
        """The arguments as JSON text by name, or ArgumentsError that names the one that is wrong."""

    def schema(self) -> dict[str, Any]:
        """The arguments by name, as JSON Schema."""

    def pack_named(self, named: Mapping[str, Any]) -> str:
        """As `pack`, for arguments that came by name, as JSON does."""
        return self.pack((), named)

    def result(self, value: Any) -> Any:
        """A stored result as its submitter is given it."""
        return value

    @property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """The arguments as a node of a flow binds them."""
        schema = self.schema()
        needed = schema.get("required", ())
        return {
            name: inspect.Parameter(name, KEYWORD, default=EMPTY if name in needed else None, annotation=Any)
            for name in schema.get("properties", {})
        }

    @property
    def texts(self) -> frozenset[str]:
        """The names of what can only be text."""
        kinds = self.schema().get("properties", {})
        return frozenset(name for name, kind in kinds.items() if kind == {"type": "string"})

    @property
    def defaults(self) -> Mapping[str, Any]:
        """What those arguments are that are not submitted."""
        return {}


class Python(Signature):
    """A function of this process, or of one that can import it. Loaded twice it is still the same work."""

    def __init__(self, function: Callable[..., Any], name: str, executor: str) -> None:
        super().__init__(function, name, Context)
        self.function = function
        self.executor = executor
        self.doc = function.__doc__

    @property
    def signature(self) -> Signature:
        """Itself, by the name under which executors of other packages ask for it."""
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Python) and other.function.__qualname__ == self.function.__qualname__

    def __hash__(self) -> int:
        return hash(self.function.__qualname__)


class Nothing(Work):
    """The work of what nobody carries out: its job stands for others, and ends with them."""

    executor = NOBODY

    def pack(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
        return encode(dict(kwargs), what="args")

    def schema(self) -> dict[str, Any]:
        return {"type": "object"}

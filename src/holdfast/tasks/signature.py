"""A task's arguments: checked against its signature when they are submitted, typed again when it runs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import msgspec

from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.payload.encoding import encode
from holdfast.tasks.answers import Partial

EMPTY = inspect.Parameter.empty
POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class ArgumentsError(HoldfastError, TypeError):
    """The arguments do not fit the task's signature."""


class Signature:
    """What a task takes. A parameter of the context's type is filled in when it runs, never submitted."""

    def __init__(self, function: Callable[..., Any], name: str, context_type: type) -> None:
        self.name = name
        hints = _hints(function)
        signature = inspect.signature(function)
        contexts = [p for p in signature.parameters if hints.get(p) is context_type]
        self.context = contexts[0] if contexts else None
        kept = [p for n, p in signature.parameters.items() if n != self.context]
        self._signature = signature.replace(parameters=kept)
        self.parameters = {p.name: p.replace(annotation=hints.get(p.name, Any)) for p in kept}
        """What is submitted, by name, its types resolved where they can be."""
        self._types = {p.name: _usable(hints.get(p.name, Any), p.kind) for p in kept}
        self._all = kept
        named = all(p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY) for p in kept)
        self._named = frozenset(p.name for p in kept) if named else frozenset()
        self._positional = tuple(p.name for p in kept if p.kind is p.POSITIONAL_OR_KEYWORD)
        self._required = {p.name for p in kept if p.default is EMPTY}
        self.defaults = {p.name: p.default for p in kept if p.default is not EMPTY}
        self.returns = _usable(_kept(hints.get("return", Any)), POSITIONAL[0])

    @property
    def texts(self) -> frozenset[str]:
        """The names of what can only be text."""
        return frozenset(name for name, kind in self._types.items() if kind is str)

    def describe(self) -> str:
        return f"{self.name}{self._signature.replace(return_annotation=EMPTY)}"

    def schema(self) -> dict[str, Any]:
        """The arguments by name, as JSON Schema."""
        found, definitions = _schemas([self._types[p.name] for p in self._all])
        properties = dict(zip((p.name for p in self._all), found, strict=True))
        rest = [properties.pop(p.name) for p in self._all if p.kind is p.VAR_KEYWORD]
        for p in self._all:
            if p.name in properties and p.default is not EMPTY:
                with suppress(TypeError, ValueError, RecursionError):  # no JSON: it is optional all the same
                    properties[p.name] = properties[p.name] | {"default": msgspec.to_builtins(p.default)}
        variadic = {p.name for p in self._all if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}
        schema: dict[str, Any] = {
            "type": "object",
            "properties": properties,
            "required": [p.name for p in self._all if p.name in self._required - variadic],
            "additionalProperties": rest[0].get("additionalProperties", True) if rest else False,
        }
        return schema | ({"$defs": definitions} if definitions else {})

    def pack(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
        """Arguments as JSON text by parameter name, or ArgumentsError that names the one that is wrong."""
        if not kwargs and len(args) == len(self._named) == len(self._positional):
            bound = dict(zip(self._positional, args, strict=True))  # each in its place: there is nothing to sort out
        else:
            bound = self._bound(args, kwargs)
        plain = {name: _plain(f"{self.name}.{name}", value) for name, value in bound.items()}
        for name, value in plain.items():
            self._convert(name, value)
        return encode(plain, what="args")

    def _bound(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        try:
            return self._signature.bind(*args, **kwargs).arguments
        except TypeError as error:
            raise ArgumentsError(f"{self.name}: {error}", remedy=f"it takes {self.describe()}") from None

    def pack_named(self, named: Mapping[str, Any]) -> str:
        """The same for arguments that came by name, as JSON does."""
        args, kwargs = self._by_position(dict(named))
        return self.pack(tuple(args), kwargs)

    def unpack(self, payload: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Typed arguments from stored ones. They are checked again: the code may have changed since."""
        typed = {name: self._convert(name, value) for name, value in payload.items()}
        if self._required <= typed.keys() <= self._named:
            return [], typed  # every argument has a name of its own: there is nothing to sort out
        args, kwargs = self._by_position(typed)
        self._bound(args, kwargs)
        return args, kwargs

    def _by_position(self, named: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Arguments by name as positional and keyword ones: only what must be positional is."""
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        left = dict(named)
        variadic = any(p.kind is p.VAR_POSITIONAL and left.get(p.name) for p in self._all)
        for p in self._all:
            if p.name not in left:
                continue
            value = left.pop(p.name)
            if p.kind is p.VAR_POSITIONAL:
                args.extend(value)
            elif p.kind is p.VAR_KEYWORD:
                kwargs.update(value)
            elif p.kind is p.POSITIONAL_ONLY or (variadic and p.kind is p.POSITIONAL_OR_KEYWORD):
                args.append(value)
            else:
                kwargs[p.name] = value
        return args, kwargs | left

    def _convert(self, name: str, value: Any) -> Any:
        kind = self._types.get(name, Any)
        if kind is Any:
            return value
        try:
            return msgspec.convert(value, kind)
        except msgspec.ValidationError as error:
            raise ArgumentsError(
                f"{self.name}: {name}: {error}", field=name, remedy=f"it takes {self.describe()}"
            ) from None

    def result(self, value: Any) -> Any:
        """A stored result as the type that the task says it returns, where that fits."""
        if self.returns is Any or value is None:
            return value
        try:
            return msgspec.convert(value, self.returns)
        except msgspec.ValidationError:
            return value


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return get_type_hints(function, include_extras=True)
    except Exception:
        written = getattr(function, "__annotations__", {})
        return {name: _evaluated(hint, getattr(function, "__globals__", {})) for name, hint in written.items()}


def _evaluated(hint: Any, names: dict[str, Any]) -> Any:
    """One annotation by itself. What only the type checker knows may be anything: its neighbours are still checked."""
    try:
        return get_type_hints(type("", (), {"__annotations__": {"it": hint}}), names, include_extras=True)["it"]
    except Exception:
        return Any


def _usable(kind: Any, parameter: Any) -> Any:
    """A type that values can be checked against; Any for one that means nothing to JSON."""
    if parameter is inspect.Parameter.VAR_POSITIONAL:
        kind = list[kind]
    elif parameter is inspect.Parameter.VAR_KEYWORD:
        kind = dict[str, kind]
    try:
        msgspec.json.Decoder(kind)
    except TypeError:
        return Any
    return kind


def _kept(kind: Any) -> Any:
    """The type of a result as it is kept: of a Partial, what it holds."""
    kinds = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    return Union[tuple(get_args(one)[0] if get_origin(one) is Partial else one for one in kinds)]  # noqa: UP007 - made of values


def _schemas(kinds: list[Any]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The JSON Schema of each type, and the definitions that they share; all as anything where one has none."""
    try:
        found, definitions = msgspec.json.schema_components(kinds, ref_template="#/$defs/{name}")
    except (TypeError, ValueError):
        return [{} for _ in kinds], {}
    return list(found), definitions


def _plain(field: str, value: Any) -> Any:
    try:
        return msgspec.to_builtins(value, str_keys=True)
    except (TypeError, RecursionError):
        # Left as it is: the payload's door says exactly what is wrong, and where.
        return value

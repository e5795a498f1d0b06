"""Documents from outside, read strictly: what is wrong is named by its path, with what would be right."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from holdfast.kernel.errors import ErrorClass, HoldfastError

SHOWN_CHARS = 60


class DocumentError(HoldfastError):
    """The document is not what it should be.

    `field` is the path of the culprit, such as `nodes[3].after[0]`.
    """

    error_class = ErrorClass.VALIDATION

    field: str
    remedy: str

    def __init__(self, field: str, problem: str, remedy: str) -> None:
        super().__init__(f"{field} {problem}", field=field, remedy=remedy)
        self.problem = problem


def shown(value: object) -> str:
    """A value as a message quotes it: short, whatever it is."""
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list | tuple):
        return "a list"
    if isinstance(value, int) and value.bit_length() > SHOWN_CHARS:
        return "a huge number"
    text = repr(value) if isinstance(value, bool | int | float | str | None) else f"a {type(value).__name__}"
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}…"


def mapping(value: object, path: str, known: Collection[str] | None = None) -> Mapping[str, Any]:
    """An object; with `known`, one that has no other fields."""
    if not isinstance(value, Mapping):
        raise DocumentError(path, f"is {shown(value)}", "write an object")
    for name in value:
        if not isinstance(name, str):
            raise DocumentError(path, f"has the key {shown(name)}", "keys are strings")
        if known is not None and name not in known:
            raise DocumentError(join(path, name[:SHOWN_CHARS]), "is no known field", f"known: {', '.join(known)}")
    return value


def sequence(value: object, path: str) -> list[Any]:
    if not isinstance(value, list | tuple):
        raise DocumentError(path, f"is {shown(value)}", "write a list")
    return list(value)


def text(value: object, path: str, *, longest: int = 200) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= longest:
        raise DocumentError(path, f"is {shown(value)}", f"write a text of 1 to {longest} characters")
    return value


def choice(value: object, path: str, choices: Collection[str]) -> str:
    if not isinstance(value, str) or value not in choices:
        raise DocumentError(path, f"is {shown(value)}", f"one of {', '.join(choices)}")
    return value


def whole(value: object, path: str, *, least: int, most: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise DocumentError(path, f"is {shown(value)}", f"write a whole number from {least} to {most}")
    return value


def number(value: object, path: str, *, least: float, most: float) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not least <= value <= most:
        raise DocumentError(path, f"is {shown(value)}", f"write a number from {least:g} to {most:g}")
    return value


def flag(value: object, path: str) -> bool:
    if not isinstance(value, bool):
        raise DocumentError(path, f"is {shown(value)}", "write true or false")
    return value


def required(data: Mapping[str, Any], name: str, path: str) -> Any:
    if name not in data:
        raise DocumentError(join(path, name), "is missing", "add it")
    return data[name]


def join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name

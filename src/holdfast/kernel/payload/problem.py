"""The exact search for what is wrong with a value that is to become JSON."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

from holdfast.kernel.errors import PayloadError

_Container: TypeAlias = dict[Any, Any] | list[Any] | tuple[Any, ...]

_SURROGATE = re.compile("[\ud800-\udfff]")
_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_CONTAINERS = (dict, list, tuple)
_SHOWN_CHARACTERS = 40


class _Problem(NamedTuple):
    problem: str
    remedy: str


def find_problem(value: object, what: str, max_bytes: int, max_depth: int) -> PayloadError | None:
    """The first problem in document order, as an error ready to raise, or None when there is none.

    Iterative, so depth costs no stack. It gives up at containers of more than `max_bytes` items in all, each
    item being a byte of text or more: shared references could otherwise keep it busy for ever.
    """
    levels = [_entries([value])]
    trail: list[object] = []
    inside: list[int] = []
    room = max_bytes
    while levels:
        keyed, entries = levels[-1]
        for key, item in entries:
            problem = (_problem_of_key(key) if keyed else None) or _problem_of_item(item)
            if problem is None and isinstance(item, _CONTAINERS):
                problem = _problem_of_nesting(id(item), inside, max_depth)
                if problem is None:
                    room -= len(item)
                    if room < 0:
                        return too_many_bytes(what, max_bytes)
                    inside.append(id(item))
                    trail.append(key)
                    levels.append(_entries(item))
                    break
            if problem is not None:
                last = key if isinstance(key, str) or not keyed else type(key)
                path = what + "".join(map(_step, [*trail, last][1:]))
                return PayloadError(field=path, problem=problem.problem, remedy=problem.remedy)
        else:
            levels.pop()
            del inside[-1:], trail[-1:]
    return None


def too_many_bytes(field: str, max_bytes: int, size_bytes: int | None = None) -> PayloadError:
    """The error for JSON that is too long, with its size where that is known."""
    size = f"is {size_bytes:,}" if size_bytes is not None else "has too many"
    return PayloadError(
        field=field,
        problem=f"{size} bytes of JSON, over the limit of {max_bytes:,}",
        remedy="store the data elsewhere and pass a reference to it",
    )


def _entries(container: _Container) -> tuple[bool, Iterator[tuple[object, object]]]:
    if isinstance(container, dict):
        return True, iter(container.items())
    return False, enumerate(container)


def _problem_of_key(key: object) -> _Problem | None:
    if isinstance(key, str):
        return _problem_of_text(key, "has in its key")
    return _Problem(f"has a key of type {_type_name(key)}, where JSON takes strings", "make the key a string")


def _problem_of_item(item: object) -> _Problem | None:
    if isinstance(item, str):
        return _problem_of_text(item, "holds")
    if isinstance(item, float):
        if math.isfinite(item):
            return None
        return _Problem(f"is {float.__repr__(item)}, which JSON does not have", "pass None or leave it out")
    if isinstance(item, int):
        return _problem_of_integer(item)
    if item is None or isinstance(item, _CONTAINERS):
        return None
    return _Problem(f"is of type {_type_name(item)}, which JSON does not have", "convert it to a JSON type")


def _problem_of_nesting(identity: int, inside: list[int], max_depth: int) -> _Problem | None:
    if identity in inside:
        return _Problem("contains itself", "break the cycle, for example by passing an id")
    if len(inside) >= max_depth:
        return _Problem(f"is nested deeper than {max_depth} levels", "flatten the structure")
    return None


def _problem_of_text(text: str, holds: str) -> _Problem | None:
    if "\0" in text:
        return _Problem(f"{holds} a NUL character", "remove it, or send the data as base64")
    if not text.isascii() and _SURROGATE.search(text):
        return _Problem(f"{holds} a lone surrogate", "decode the text correctly, or send the data as base64")
    return None


def _problem_of_integer(number: int) -> _Problem | None:
    try:
        int.__repr__(number)
    except ValueError:  # Python bounds the digits it converts, in both directions
        return _Problem(f"is an integer of {number.bit_length():,} bits, too long to print", "pass a string")
    return None


def _step(key: object) -> str:
    if isinstance(key, type):  # of a key that is no string; an int is always a place in a list
        return f"[<{key.__qualname__}>]"
    if not isinstance(key, str):
        return f"[{key}]"
    if _PLAIN_KEY.fullmatch(key) and len(key) <= _SHOWN_CHARACTERS:
        return f".{key}"
    shown = key if len(key) <= _SHOWN_CHARACTERS else key[:_SHOWN_CHARACTERS] + "…"
    return f"[{json.dumps(shown)}]"  # escaped, so that the message itself is clean


def _type_name(value: object) -> str:
    return type(value).__qualname__

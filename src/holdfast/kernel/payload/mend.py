"""A copy of any value that has only what JSON has, with over-long parts cut."""

from __future__ import annotations

import math
import re
from itertools import islice

# What a foreign object prints is a hint for a human, not data.
_REPR_CHARACTERS = 500

_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


class TooMuch(Exception):
    """The copy grew beyond its bound; try again with a lower limit."""


def mend(value: object, *, limit: int, max_size: int, max_depth: int) -> object:
    """`value` with at most `limit` characters a string, `limit` items a container and `limit` levels.

    What is cut leaves a marker that says how much is missing; of keys that become equal the last stays.
    Raises TooMuch as soon as the copy has over `max_size` items and characters, and whatever a subclass of a
    container raises when it is read.
    """
    return _Mender(limit, max_size).copy(value, min(limit, max_depth))


class _Mender:
    __slots__ = ("_limit", "_room")

    def __init__(self, limit: int, max_size: int) -> None:
        self._limit = limit
        self._room = max_size

    def copy(self, value: object, depth: int) -> object:
        self._spend(1)
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, float):
            return value if math.isfinite(value) else None
        if isinstance(value, int):
            return self._integer(value)
        if isinstance(value, dict | list | tuple):
            if depth == 0:
                return f"…[{len(value)} nested]"
            return self._mapping(value, depth) if isinstance(value, dict) else self._sequence(value, depth)
        return self._text(self._repr(value))

    def _mapping(self, value: dict[object, object], depth: int) -> dict[str, object]:
        copied: dict[str, object] = {}
        for key, item in islice(value.items(), self._limit):
            copied[self._text(key if isinstance(key, str) else self._repr(key))] = self.copy(item, depth - 1)
        if len(value) > self._limit:
            copied["…"] = f"[{len(value) - self._limit} more]"
        return copied

    def _sequence(self, value: list[object] | tuple[object, ...], depth: int) -> list[object]:
        copied = [self.copy(item, depth - 1) for item in value[: self._limit]]
        if len(value) > self._limit:
            copied.append(f"…[{len(value) - self._limit} more]")
        return copied

    def _text(self, text: str) -> str:
        text = str.__str__(text)
        missing = len(text) - self._limit
        kept = text[: self._limit]
        self._spend(len(kept))
        kept = _UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", kept)
        return f"{kept}…[{missing} more]" if missing > 0 else kept

    def _integer(self, number: int) -> int | str:
        try:
            self._spend(len(int.__repr__(number)))
        except ValueError:
            return f"…[integer of {number.bit_length()} bits]"
        return number

    def _repr(self, value: object) -> str:
        # The repr of bytes is up to four times as long; only as much as will be shown is made.
        shown = value[:_REPR_CHARACTERS] if isinstance(value, bytes | bytearray) else value
        try:
            text = repr(shown)
        except Exception:  # an object that cannot even be printed still has a type
            text = f"<{type(value).__qualname__}>"
        return text if len(text) <= _REPR_CHARACTERS else f"{text[:_REPR_CHARACTERS]}…"

    def _spend(self, size: int) -> None:
        self._room -= size
        if self._room < 0:
            raise TooMuch

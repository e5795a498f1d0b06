"""Limits of tasks: `limit=("domain:{host}", 2)` names a gate by a job's arguments, and how many pass it at once."""

from __future__ import annotations

import json
import string
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.limit import NamedLimit, interval_us

LONGEST_GATE = 500
"""Characters of a gate's name: it is part of an index."""


@dataclass(frozen=True, slots=True)
class Limit:
    """So many jobs at once, so many starts in a time, over all workers together, for all jobs with one key.

    `key` is a template over the task's arguments, "domain:{host}", or a function of them. `rate` is "10/s", "30/m",
    "0.5/s"; as many starts as `burst` says may come at once before it holds.
    """

    key: str | Callable[..., str]
    running: int | None = None
    rate: str | None = None
    burst: int = 1

    def named(self, payload: str, defaults: Mapping[str, Any]) -> NamedLimit:
        """The gate that a job with this payload goes through; what it does not say is as the task's defaults say."""
        arguments = {**defaults, **json.loads(payload)}
        name: Any = self.key(**arguments) if callable(self.key) else _filled(self.key, arguments)
        if not isinstance(name, str) or not 0 < len(name) <= LONGEST_GATE:
            raise _wrong(f"the limit's key is {name!r:.80}", f"text of 1 to {LONGEST_GATE} characters")
        return NamedLimit(name, self.running, None if self.rate is None else interval_us(self.rate), self.burst)


def _filled(template: str, arguments: Mapping[str, Any]) -> str:
    try:
        return template.format_map(arguments)
    except (KeyError, IndexError, AttributeError, TypeError, ValueError) as error:
        raise _wrong(
            f"the limit's key {template!r} does not fit the arguments: {error!r}", "name what is in all of them"
        ) from None


def limit_of(value: Any, parameters: Collection[str]) -> Limit | None:
    """What a task says as `limit`, checked against the names of its arguments."""
    if value is None:
        return None
    if isinstance(value, tuple) and len(value) == 2:
        value = Limit(*value)
    if not isinstance(value, Limit) or not (callable(value.key) or isinstance(value.key, str)):
        raise _wrong(
            f"limit is {value!r:.80}", '("domain:{host}", 2), or Limit("domain:{host}", running=2, rate="30/m")'
        )
    if value.running is None and value.rate is None:
        raise _wrong("limit limits nothing", 'say running=2, rate="30/m", or both')
    counts: tuple[tuple[str, Any], ...] = (("running", value.running), ("burst", value.burst))
    for name, number in counts:
        if number is not None and (not isinstance(number, int) or isinstance(number, bool) or number < 1):
            raise _wrong(f"{name} is {number!r}", "a whole number from 1 up")
    if value.rate is not None:
        try:
            interval_us(value.rate)
        except (ValueError, AttributeError):
            raise _wrong(f"rate is {value.rate!r}", '"10/s", "30/m", "0.5/s", "1000/h" or "5000/d"') from None
    if isinstance(value.key, str):
        for _, field, _, _ in string.Formatter().parse(value.key):
            if field is not None and field.split(".")[0].split("[")[0] not in parameters:
                raise _wrong(f"the limit's key names {{{field}}}", f"the task takes {', '.join(sorted(parameters))}")
    return value


def with_limit(options: str | None, limit: Limit | None, payload: str, defaults: Mapping[str, Any]) -> str | None:
    """A job's options, with the gate that it goes through."""
    if limit is None:
        return options
    kept = json.loads(options) if options else {}
    return json.dumps(kept | {"limit": limit.named(payload, defaults).to_dict()}, separators=(",", ":"))


def _wrong(message: str, remedy: str) -> HoldfastError:
    return HoldfastError(message, field="limit", remedy=remedy)

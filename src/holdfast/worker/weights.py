"""Which queues a worker serves, and how often each comes first: "a", "a:3", ["a:3", "b"], {"a": 3, "b": 1}."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from holdfast.kernel.errors import HoldfastError

Queues = str | Iterable[str] | Mapping[str, int]


def weights(queues: Queues) -> dict[str, int]:
    """Names and weights; HoldfastError names the queue whose weight is none."""
    if isinstance(queues, Mapping):
        found = dict(queues)
    else:
        found = dict(map(_parse, [queues] if isinstance(queues, str) else queues))
    for name, weight in found.items():
        if not isinstance(weight, int) or isinstance(weight, bool) or weight < 1:
            raise _bad(name, weight)
    if not found:
        raise HoldfastError("a worker without queues", field="queues", remedy='name at least one, such as "default"')
    return found


def _parse(text: str) -> tuple[str, int]:
    name, colon, weight = text.rpartition(":")
    if not colon:
        return text, 1
    if not name or not weight.isascii() or not weight.isdigit():
        raise _bad(name or text, weight)
    return name, int(weight)


def _bad(name: str, weight: object) -> HoldfastError:
    return HoldfastError(
        f"queue {name!r} has weight {weight!r}", field="queues", remedy="a whole number from 1 up, as in a:3"
    )

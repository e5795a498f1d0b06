"""The log's events, from the engine's loop to whoever iterates over them outside."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterator

from holdfast.kernel.event import Event
from holdfast.runtime.portal import Portal


def one_by_one(portal: Portal, batches: AsyncGenerator[list[Event]]) -> Iterator[Event]:
    """Batches that come inside, for who takes single events outside."""
    try:
        while (events := portal.call(_next(batches))) is not None:
            yield from events
    finally:
        portal.call(_close(batches))


async def aone_by_one(portal: Portal, batches: AsyncGenerator[list[Event]]) -> AsyncIterator[Event]:
    try:
        while (events := await portal.hop(_next(batches))) is not None:
            for event in events:
                yield event
    finally:
        await portal.hop(_close(batches))


async def _next(batches: AsyncGenerator[list[Event]]) -> list[Event] | None:
    return await anext(batches, None)


async def _close(batches: AsyncGenerator[list[Event]]) -> None:
    await batches.aclose()

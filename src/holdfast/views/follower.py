"""One reader of the log per process, however many follow it.

The reader starts with the first follower and fills a ring. A follower holds nothing but its position: behind the
ring it reads from the store until it meets it; one that takes its events too slowly is sent away, to resume.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from enum import StrEnum
from typing import Any, NamedTuple

from holdfast.kernel.event import Event
from holdfast.kernel.lifecycle import Lifecycle
from holdfast.observe.logs import get_logger
from holdfast.store.port import Feed, Origin, Store, Wakeups
from holdfast.views.following import Origins, WantedEvents
from holdfast.views.job import event_view
from holdfast.views.ring import Ring, RingEntry

BATCH = 1_000
CHUNK = 64
"""Events that go out together: what one client has in flight is bounded by it."""
SLOW_S = 1.0
"""Who had met the ring, takes longer than this over a chunk and falls out of the ring is too slow. Who was there
when more was written at once than the ring holds is not, and reads that from the store."""
PING_EVERY_S = 15.0
LOOK_EVERY_S = 0.1
"""Who moves a job in another process tells nobody: this is how late its event may be noticed on PostgreSQL."""
GATHER_S = 0.01
AGAIN_S = 1.0
LINGER_S = 30.0
"""A reader without followers goes on for this long: who was cut off comes back, and finds the ring."""

log = get_logger("holdfast.streams")


class Note(StrEnum):
    """What a follower is told beside events."""

    PING = "ping"
    SLOW = "slow"
    DOWN = "down"


class Piece(NamedTuple):
    """What goes out next: events as text, or a note; and how far a follower is by then."""

    position: int
    text: bytes = b""
    note: Note | None = None


class Follower:
    """Only inside the loop in which `opened` gives the store. `write` is how an event looks where it is sent."""

    def __init__(
        self,
        opened: Callable[[], Awaitable[Store]],
        write: Callable[[int, dict[str, Any]], bytes],
        *,
        ring_events: int | None = None,
    ) -> None:
        self._opened = opened
        self._write = write
        self.followers = 0
        self.closing = False
        self.news = asyncio.Event()
        self._ring_events = ring_events
        self._ring: Ring | None = None
        self._feed: Feed | None = None
        self._origins: Origins | None = None
        self._tables: Mapping[str, Lifecycle] = {}
        self._reading = asyncio.Lock()
        self._asked_s = 0.0
        self._task: asyncio.Task[None] | None = None

    @contextmanager
    def follower(self) -> Iterator[None]:
        self.followers += 1
        try:
            yield
        finally:
            self.followers -= 1
            self._asked_s = time.monotonic()

    async def now(self) -> int:
        """The position up to which everything has been seen: where a follower of what is to come begins."""
        self._asked_s = time.monotonic()
        while await self._read_on():
            pass
        return self._open_ring.position

    async def follow(self, after: int, wanted: WantedEvents) -> AsyncGenerator[Piece]:
        """What is wanted of the log behind a position, until this closes or the follower is cut."""
        if self._task is None:
            await self.now()
        position, slowest_s, met = after, 0.0, False
        while not self.closing:
            news = self.news
            entries = self._open_ring.after(position, CHUNK)
            if entries is None:
                if slowest_s > SLOW_S:
                    yield Piece(position, note=Note.SLOW)
                    return
                position, entries = await self._from_store(position, wanted)
            elif entries:
                met, position = True, entries[-1].event.pos
                entries = [each for each in entries if wanted.wants(each.event, each.origin)]
            else:
                met, slowest_s = True, 0.0
                if not await self._heard(news, PING_EVERY_S):
                    yield Piece(position, note=Note.PING)
            for start in range(0, len(entries), CHUNK):
                began_s = time.monotonic()
                yield Piece(position, b"".join(each.text for each in entries[start : start + CHUNK]))
                slowest_s = max(slowest_s, time.monotonic() - began_s) if met else 0.0
        yield Piece(position, note=Note.DOWN)

    async def until_moved(self, job_id: str, position: int, timeout_s: float) -> tuple[bool, int]:
        """Wait for an event of a job behind a position: whether there may be one, and where to go on from."""
        end_s = time.monotonic() + timeout_s
        while not self.closing:
            news = self.news
            while entries := self._open_ring.after(position, BATCH):
                position = entries[-1].event.pos
                if any(each.event.job_id == job_id for each in entries):
                    return True, position
            if entries is None:
                return True, self._open_ring.position
            if not await self._heard(news, end_s - time.monotonic()):
                return False, position
        return True, position

    @staticmethod
    async def _heard(news: asyncio.Event, timeout_s: float) -> bool:
        with suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, timeout_s)):
                await news.wait()
        return news.is_set()

    @property
    def _open_ring(self) -> Ring:
        assert self._ring is not None, "asked before `now`"  # noqa: S101 - an order of calls, not an input
        return self._ring

    async def _from_store(self, position: int, wanted: WantedEvents) -> tuple[int, list[RingEntry]]:
        """What the ring no longer has, and how far that goes. All of it was followed before: no gap is under way."""
        store = await self._opened()
        events = [event for event in await store.reads.log(position, BATCH) if event.pos <= self._open_ring.position]
        if not events:
            return self._open_ring.begins_behind, []  # retention has taken the rest
        found = [(event, origin) for event, origin in await self._of(events) if wanted.wants(event, origin)]
        return events[-1].pos, self._entries(found)

    async def _read_on(self) -> bool:
        """Take the next events into the ring; whether there may be more at once."""
        async with self._reading:
            store = await self._opened()
            if self._feed is None or self._ring is None:
                start = await store.log.end()
                options = {} if self._ring_events is None else {"events": self._ring_events}
                self._feed, self._ring = store.log.feed(start), Ring(start, **options)
            if self._task is None and not self.closing:
                self._task = asyncio.create_task(self._run(), name="holdfast-streams")
            events = await self._feed.next(BATCH)
            if events:
                self._ring.add(self._entries(await self._of(events)))
                self.news.set()
                self.news = asyncio.Event()
            return len(events) == BATCH

    async def _of(self, events: Sequence[Event]) -> list[tuple[Event, Origin | None]]:
        store = await self._opened()
        self._origins = self._origins or Origins(store)
        found = await self._origins.of(events)
        if any(origin is not None and origin.lifecycle not in self._tables for _, origin in found):
            self._tables = await store.reads.lifecycles()
        return found

    def _entries(self, found: Sequence[tuple[Event, Origin | None]]) -> list[RingEntry]:
        return [RingEntry(event, origin, self._text(event, origin)) for event, origin in found]

    def _text(self, event: Event, origin: Origin | None) -> bytes:
        table = None if origin is None else self._tables.get(origin.lifecycle)
        about = {} if origin is None else {"task": origin.task, "queue": origin.queue, "lifecycle": origin.lifecycle}
        return self._write(event.pos, event_view(event, table) | about)

    async def _run(self) -> None:
        store = await self._opened()
        listening = asyncio.create_task(store.wakeups.listen(), name="holdfast-streams-listen")
        try:
            while self.followers or time.monotonic() - self._asked_s < LINGER_S:
                await self._look(store.wakeups)
        finally:
            # At once with the last look at who follows: who comes from now on starts another.
            self._feed = self._task = None
            listening.cancel()
            with suppress(Exception, asyncio.CancelledError):
                await listening

    async def _look(self, wakeups: Wakeups) -> None:
        ticket = wakeups.ticket()
        try:
            while await self._read_on():
                pass
        except Exception as error:  # the database is away: followers wait, and go on where they are
            log.warning("stream_read_failed", error=str(error))
            await asyncio.sleep(AGAIN_S)
            return
        # A moment for what is about to come: one look for many events.
        await asyncio.sleep(GATHER_S)
        await wakeups.wait(ticket, LOOK_EVERY_S)

    async def close(self) -> None:
        """End every stream. Call it before the server waits for its connections."""
        self.closing = True
        self.news.set()
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

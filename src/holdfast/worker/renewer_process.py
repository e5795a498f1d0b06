"""The heartbeat's own process: renews a worker's leases while a handler keeps the interpreter to itself.

    python -m holdfast.worker.renewer_process URL OWNER PID now|later

It is told of leases on its standard input, a JSON list a line, before their handlers start: [every_ms, since_s, new,
gone, until_s], new and gone being lists of [id, attempt]. Behind `until_s`, if there is one, it lets them end. It
answers on its standard output after each renewal: {"kept": […], "lost": […], "at_s": …}, or {"error": …}; and
{"ready": true} once it can. That is at once, or, with `later`, when the first renewal comes near: most leases end long
before, and getting ready costs as much as thousands of short jobs. Times are the machine's monotonic clock, which both
sides share. It ends with its input.
A worker that is stopped or dead is not kept alive: its leases run out, as they should.
"""

from __future__ import annotations

import asyncio
import math
import os
import signal
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from holdfast.store.port import Lease, Store

FASTEST_TICK_S = 0.1
SLOWEST_TICK_S = 5.0
AHEAD_S = 2 * SLOWEST_TICK_S
"""A renewal that is due within this time is near: one more look comes before it."""
RENEWAL_S = 10.0
"""A renewal that takes longer is given up: the connection may be half open."""


class Leases:
    """Leases, how often each is renewed, and when it is due next."""

    def __init__(self) -> None:
        self.leases: dict[tuple[str, int], tuple[float, float, float]] = {}
        self.next_s = 0.0
        self.sooner = asyncio.Event()

    def tell(self, message: list[Any]) -> None:
        every_ms, since_s, new, gone, until_s = message
        for job_id, attempt in gone:
            self.leases.pop((job_id, attempt), None)
        when = (every_ms / 1_000, since_s + every_ms / 1_000, math.inf if until_s is None else until_s)
        for job_id, attempt in new:
            self.leases[job_id, attempt] = when
        if new and when[1] < self.next_s:
            self.sooner.set()

    @property
    def soonest_s(self) -> float:
        """When the next renewal is due."""
        return min((due_s for _, due_s, _ in self.leases.values()), default=math.inf)

    def due(self, now_s: float) -> list[Lease]:
        from holdfast.store.port import Lease

        for lease in [lease for lease, (_, _, until_s) in self.leases.items() if until_s <= now_s]:
            del self.leases[lease]
        return [Lease(*lease) for lease, (_, due_s, _) in self.leases.items() if due_s <= now_s]

    def renewed(self, leases: list[Lease], at_s: float) -> None:
        for lease in leases:
            if known := self.leases.get(lease):
                self.leases[lease] = (known[0], at_s + known[0], known[2])

    async def wait(self) -> None:
        """Until the next lease is due, one that comes meanwhile included."""
        now_s = time.monotonic()
        self.next_s = min(max(self.soonest_s, now_s + FASTEST_TICK_S), now_s + SLOWEST_TICK_S)
        self.sooner.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(self.next_s - now_s):
                await self.sooner.wait()


def alive(pid: int) -> bool:
    """Whether a process is running at all: neither gone nor stopped."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            state = file.read().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return not os.path.isdir("/proc/self") and _answers(pid)
    return state not in "TtZX"


def _answers(pid: int) -> bool:
    """The best that can be said without /proc."""
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


async def beat(url: str, owner: str, pid: int, at_once: bool) -> None:
    held = Leases()
    store: Store | None = None
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=1 << 24)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    # Not a blocking write: a worker that does not read for a while must not stop its own heart.
    out, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, sys.stdout)
    ended = False

    def say(**what: Any) -> None:
        out.write(msgspec.json.encode(what) + b"\n")

    async def listen() -> None:
        while line := await reader.readline():
            held.tell(msgspec.json.decode(line))
        nonlocal ended
        ended = True
        held.sooner.set()

    async def opened() -> Store:
        from holdfast.store.open import open_store

        store = open_store(url)
        try:
            await store.now_ms()  # opens the connection that renewals need
            say(ready=True)
        except Exception as error:  # the first renewal tries again
            say(error=f"{type(error).__name__}: {error}")
        return store

    listening = asyncio.create_task(listen())
    while not ended:
        if store is None and (at_once or held.soonest_s < time.monotonic() + AHEAD_S):
            store = await opened()
            continue  # the worker may have ended meanwhile, and a wait would not hear of it
        await held.wait()
        now_s = time.monotonic()
        if store is None or not (due := held.due(now_s)) or not alive(pid):
            continue
        try:
            async with asyncio.timeout(RENEWAL_S):
                lost = set(await store.jobs.renew(owner, due))
        except Exception as error:  # whatever it is, the next tick tries again and the worker watches its leases
            say(error=f"{type(error).__name__}: {error}")
            await asyncio.sleep(FASTEST_TICK_S)
            continue
        kept = [lease for lease in due if lease.job_id not in lost]
        gone = [lease for lease in due if lease.job_id in lost]
        held.renewed(kept, now_s)
        for lease in gone:
            held.leases.pop(lease, None)
        say(kept=kept, lost=gone, at_s=now_s)
    listening.cancel()
    if store is not None:
        await store.close()


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the worker decides when its heart stops
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    url, owner, pid, when = sys.argv[1:5]
    asyncio.run(beat(url, owner, int(pid), when == "now"))


if __name__ == "__main__":
    main()

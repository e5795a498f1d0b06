"""The heartbeat's own process: renews a worker's leases while a handler keeps the interpreter to itself.

    python -m holdfast.runtime.heart URL OWNER PID

It is told of leases on its standard input, a JSON list a line, before their handlers start: ["+", lease_ms, [[id,
attempt], …]] or ["-", [id, …]]. It answers on its standard output: {"kept": n} after each renewal, {"lost": [id, …]}
for what it could not renew. It ends with its input. A worker that is stopped or dead is not kept alive: its leases
run out, as they should.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from contextlib import suppress
from typing import Any

from holdfast.runtime.opening import open_store
from holdfast.store.port import Lease

RENEW_AT = 0.5
FASTEST_TICK_S = 0.1
SLOWEST_TICK_S = 5.0


class Heart:
    """Leases, and when each is due: when half of it is gone."""

    def __init__(self) -> None:
        self.leases: dict[str, tuple[int, float, float]] = {}

    def tell(self, message: list[Any]) -> None:
        if message[0] == "+":
            lease_s = message[1] / 1_000
            due_s = time.monotonic() + lease_s * RENEW_AT
            for job_id, attempt in message[2]:
                self.leases[job_id] = (attempt, lease_s, due_s)
        else:
            for job_id in message[1]:
                self.leases.pop(job_id, None)

    def due(self) -> list[Lease]:
        now_s = time.monotonic()
        return [Lease(job_id, attempt) for job_id, (attempt, _, due_s) in self.leases.items() if due_s <= now_s]

    def renewed(self, leases: list[Lease]) -> None:
        now_s = time.monotonic()
        for lease in leases:
            if known := self.leases.get(lease.job_id):
                self.leases[lease.job_id] = (known[0], known[1], now_s + known[1] * RENEW_AT)

    def tick_s(self) -> float:
        shortest = min((lease_s for _, lease_s, _ in self.leases.values()), default=60.0)
        return min(max(shortest / 10, FASTEST_TICK_S), SLOWEST_TICK_S)


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


def say(**what: Any) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


async def beat(url: str, owner: str, pid: int) -> None:
    heart = Heart()
    store = open_store(url)
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=1 << 24)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    ended = asyncio.Event()
    news = asyncio.Event()

    async def listen() -> None:
        while line := await reader.readline():
            heart.tell(json.loads(line))
            news.set()
        ended.set()
        news.set()

    listening = asyncio.create_task(listen())
    while not ended.is_set():
        with suppress(TimeoutError):
            await asyncio.wait_for(news.wait(), heart.tick_s())
        news.clear()
        due = heart.due()
        if not due or not alive(pid):
            continue
        try:
            lost = await store.renew(owner, due)
        except Exception as error:  # whatever it is, the next tick tries again and the worker watches its leases
            say(error=str(error))
            await asyncio.sleep(FASTEST_TICK_S)
            continue
        heart.renewed(due)
        for job_id in lost:
            heart.leases.pop(job_id, None)
        say(kept=len(due) - len(lost), lost=lost)
    listening.cancel()
    await store.close()


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the worker decides when its heart stops
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    url, owner, pid = sys.argv[1:4]
    asyncio.run(beat(url, owner, int(pid)))


if __name__ == "__main__":
    main()

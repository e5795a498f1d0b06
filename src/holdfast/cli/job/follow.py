"""Following a job that is made of parts, as a flow or a run of a pipeline is, until it is over."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.cli.exits import Exit
from holdfast.cli.invocation import Invocation, Output
from holdfast.cli.job.waiting import detached, exit_of_job, get, seconds_of
from holdfast.cli.render import Column, state_text

if TYPE_CHECKING:
    from rich.console import RenderableType

    from holdfast.runtime.inside import Inside
    from holdfast.store.port import Store

LOOK_EVERY_S = 0.2
View = dict[str, Any]
STATE = Column("state", lambda view: state_text(view["state"], view["canonical_state"], beside=False), whole=True)


class Followed(NamedTuple):
    """How jobs of one kind are followed: by their view, which has their parts."""

    look: Callable[[Store, str], Awaitable[View]]
    table: Callable[[View], RenderableType]
    parts: Callable[[View], Iterable[tuple[str, str, str]]]
    """Of each part that has begun, its name, its state, and the line that says so."""
    result: Callable[[Store, View], Awaitable[Any]]
    """What came out of it; None for nothing that could be shown."""
    ending: Callable[[View], str]

    def wait(self, call: Invocation, engine: Inside, job_id: str, limit_s: float | None) -> int:
        async def waited() -> int:
            return await self.follow(call, await engine.opened(), job_id, limit_s)

        try:
            return engine.portal.call(waited())
        except KeyboardInterrupt:
            return detached(call, [job_id])

    async def watch(self, call: Invocation, job_id: str, timeout: str | None) -> int:
        async with call.store() as store:
            return await self.follow(call, store, (await self.look(store, job_id))["id"], seconds_of(timeout))

    async def follow(self, call: Invocation, store: Store, job_id: str, limit_s: float | None) -> int:
        """Show its parts until it is over: live on a terminal, a line for each change elsewhere."""
        try:
            async with asyncio.timeout(limit_s):
                view = await (self._live if call.err.is_terminal else self._lines)(call, store, job_id)
        except TimeoutError:
            call.say(f"{job_id} has not ended after {limit_s:g} s; it goes on")
            return Exit.WAIT_TIMED_OUT
        except asyncio.CancelledError:
            return detached(call, [job_id])
        # The result on stdout, how it ended on stderr; the whole as JSON.
        if call.is_json:
            call.print_json(view)
        elif call.output is Output.IDS:
            call.print_ids([job_id])
        elif (result := await self.result(store, view)) is not None:
            print(json.dumps(result, ensure_ascii=False))
        call.say(self.ending(view))
        return exit_of_job(await get(store, job_id))

    async def _live(self, call: Invocation, store: Store, job_id: str) -> View:
        from rich.live import Live

        with Live(console=call.err, refresh_per_second=8) as live:
            async for view in self._looks(store, job_id):
                live.update(self.table(view))
        return view

    async def _lines(self, call: Invocation, store: Store, job_id: str) -> View:
        last: dict[str, str] = {}
        async for view in self._looks(store, job_id):
            for part, state, line in self.parts(view):
                if last.get(part) != state:
                    last[part] = state
                    call.say(line)
        return view

    async def _looks(self, store: Store, job_id: str) -> AsyncIterator[View]:
        """Again and again until it is over; at a large one less often, so that looking does not slow it down."""
        while True:
            since_s = time.monotonic()
            view = await self.look(store, job_id)
            yield view
            if view["finished_at"] is not None:
                return
            await asyncio.sleep(max(LOOK_EVERY_S, 4 * (time.monotonic() - since_s)))

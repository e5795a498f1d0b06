"""Two workers without handlers: what they hold ends, is tried again or is lost, as chance and a script have it."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from random import Random

from uuid_utils import uuid7

from holdfast.kernel import decisions
from holdfast.kernel.errors import NotAllowedError
from holdfast.kernel.graph.conditions import holds
from holdfast.kernel.graph.dag import Graph, Predicate
from holdfast.kernel.graph.readiness import not_taken
from holdfast.kernel.graph.workflow_lifecycle import WORKFLOW
from holdfast.kernel.job import Failure, Job, Spec
from holdfast.kernel.lifecycle import Command
from holdfast.kernel.move import Change, Follow, Move
from holdfast.kernel.outcome import Cancelled, Done, Fail, Outcome, Retry, Skip
from holdfast.kernel.settle import lost, settle
from holdfast.store.port import Ask, NodeRow, Store
from tests.kernel.graph import reference
from tests.kernel.graph.reference import Script

FAILURE = Failure("broken", "permanent", "as it was told", {})
LOSSES = 2
"""A job that takes three workers along is not tried again."""


@dataclass
class Hands:
    """They work on one flow, each through a store of its own, and at the same time."""

    stores: tuple[Store, Store]
    flow_id: str
    queue: str
    graph: Graph
    scripts: dict[str, Script]
    random: Random
    cancel_at: int | None = None
    """After so many turns somebody cancels the flow; when it has stopped, it is brought back."""
    names: dict[str, NodeRow] = field(default_factory=dict)
    resumed: bool = False
    stopping: bool = False

    def __post_init__(self) -> None:
        self.expected = reference.ends(self.graph, self.scripts)

    async def run(self) -> list[NodeRow]:
        """Until nothing is left to claim. The nodes as they ended."""
        held: tuple[list[Job], list[Job]] = ([], [])
        turn = 0
        while True:
            turn += 1
            for number, store in enumerate(self.stores):
                held[number].extend(
                    await store.jobs.claim((self.queue,), self.random.choice((1, 3, 20, 60)), f"w{number}")
                )
            if not any(held) and not await self._back():
                return await self.stores[0].graph.nodes(self.flow_id)
            await self._name([job for jobs in held for job in jobs])
            ending = [self._end(number, jobs) for number, jobs in enumerate(held)]
            if turn == self.cancel_at:
                ending.append(self._cancel())
            await asyncio.gather(*ending)

    async def _cancel(self) -> None:
        self.stopping = True
        how = "hard" if self.random.random() < 0.5 else "soft"
        try:
            await self.stores[0].jobs.change([self.flow_id], decisions.cancel("as it was told", how), Ask())
        except NotAllowedError:
            # Too late: the last node had ended by then.
            flow = await self.stores[0].reads.get(self.flow_id)
            assert flow is not None
            assert flow.finished_at_ms is not None
            self.stopping = False

    async def _back(self) -> bool:
        """Whether the flow goes on: it was cancelled by us, and is brought back once."""
        flow = await self.stores[0].reads.get(self.flow_id)
        assert flow is not None
        assert flow.finished_at_ms is not None, "nobody runs, nobody waits to run, and it has not ended"
        if not self.stopping or self.resumed or flow.state != "cancelled":
            return False
        await self.stores[0].jobs.change([self.flow_id], decisions.resume("after all"), Ask())
        self.resumed, self.stopping = True, False
        return True

    async def _name(self, held: list[Job]) -> None:
        if any(job.id not in self.names for job in held):
            self.names = {node.job_id: node for node in await self.stores[0].graph.nodes(self.flow_id)}

    async def _end(self, number: int, held: list[Job]) -> None:
        """End some of what is held: those that end alike together, as a worker writes them."""
        store = self.stores[number]
        self.random.shuffle(held)
        for _ in range(self.random.randint(0, len(held))):
            job = held.pop()
            for change in self._changes(job):
                applied = await store.jobs.apply([change])
                for refused in applied.refused:
                    # Too late, stopped, or asked to stop before it ran over its list.
                    assert self.stopping or change.actor == "late" or refused.why == "cancelled", refused

    def _changes(self, job: Job) -> list[Change]:
        owner = job.lease_owner or ""
        roll = self.random.random()
        may_run_again = job.tries < job.max_tries and not self.stopping
        if roll < 0.05 and job.losses < LOSSES and may_run_again:
            path, move = lost(WORKFLOW, job)
            # Whoever held it comes back, too late.
            late = settle(WORKFLOW, job, Done("0"))
            return [Change(WORKFLOW, path, "engine", [move]), Change(WORKFLOW, late.path, "late", [late.move], owner)]
        if roll < 0.1 and may_run_again:
            path, move = settle(WORKFLOW, job, Retry(FAILURE, 0))
            return [Change(WORKFLOW, path, owner, [move], owner)]
        return self._last(job, owner)

    def _last(self, job: Job, owner: str) -> list[Change]:
        node = self.names[job.id]
        drawn = self.graph.by_name[node.name]
        script = self.scripts.get(node.name, Script())
        if drawn.map is not None and node.item is None:
            count = reference.items(self.graph, drawn, self.expected, self.scripts)
            path, move = settle(WORKFLOW, job, Done(None if count else "[]"))
            move = move._replace(follow=Follow((), tuple(_item(job, number) for number in range(count))))
            return [Change(WORKFLOW, path, owner, [move], owner)]
        if script.end == "expired":
            # Handed back, and its time is over before anybody takes it again.
            back = (WORKFLOW.row("running", Command.HAND_BACK),)
            over = (WORKFLOW.row("retry_pending", Command.EXPIRE),)
            return [
                Change(WORKFLOW, back, owner, [Move(job.id, job.attempt)], owner),
                Change(WORKFLOW, over, "engine", [Move(job.id, job.attempt + 1)]),
            ]
        path, move = settle(WORKFLOW, job, _outcome(script))
        if drawn.branch is not None and script.end in ("succeeded", "partial"):
            cut = not_taken(
                drawn.branch, script.result, lambda judged, at: not isinstance(judged, Predicate) and holds(judged, at)
            )
            move = move._replace(follow=Follow(tuple(sorted(cut))))
        return [Change(WORKFLOW, path, owner, [move], owner)]


def _outcome(script: Script) -> Outcome:
    outcomes: dict[str, Outcome] = {
        "skipped": Skip("nothing to do"),
        "failed": Fail(FAILURE),
        "cancelled": Cancelled("as it was told"),
    }
    return outcomes.get(script.end, Done(json.dumps(script.result)))


def _item(job: Job, number: int) -> Spec:
    like = {"queue": job.queue, "max_tries": job.max_tries, "lease_ms": job.lease_ms, "parent_id": job.parent_id}
    return Spec(str(uuid7()), WORKFLOW.name, job.task, f'{{"item":{number}}}', actor="engine", **like)  # type: ignore[arg-type] # columns of a job

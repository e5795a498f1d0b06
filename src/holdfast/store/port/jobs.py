"""A job's writes, from its submit to its end."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from holdfast.kernel.job import Job, Spec
from holdfast.kernel.lifecycle import Lifecycle
from holdfast.kernel.move import Change

if TYPE_CHECKING:
    from holdfast.kernel.decisions import Decide
    from holdfast.store.port.ask import Ask, Facts


class Submitted(NamedTuple):
    """The answer to one spec: its job, or the job that already holds its key."""

    job_id: str
    created: bool


class Refusal(NamedTuple):
    """Why one move of a change had no effect.

    `why` is one of: missing (no such job), stale (the attempt is over), state (the job is not where the path
    begins), owner (another owner has it), lease (the owner's lease has run out), key (it would come back to life,
    and another job has its key), cancelled (it was to run over a list, and had been asked to stop).
    """

    job_id: str
    why: str
    state: str | None = None
    attempt: int | None = None


class Applied(NamedTuple):
    """What a set of changes did: the new version of each job that moved, and what was refused."""

    versions: dict[str, int]
    refused: list[Refusal]


class Lease(NamedTuple):
    """A worker's hold on a job: the attempt is the fence."""

    job_id: str
    attempt: int


class Signal(NamedTuple):
    """Something that happened to a job and is no transition: a heartbeat, a renewal, progress."""

    job_id: str
    attempt: int
    type: str
    actor: str
    payload: str | None = None


class Stand(NamedTuple):
    """Where a job that is being worked on stands, and how its worker was asked to stop: "hard" or "soft: why"."""

    job_id: str
    state: str
    attempt: int
    asked: str | None


class Jobs(Protocol):
    """Every call is a batch and one transaction: it takes effect as a whole or not at all."""

    async def submit(
        self, specs: Sequence[Spec], *, op_id: str | None = None, table: Lifecycle | None = None
    ) -> list[Submitted]:
        """Create a job and its first event for each spec, in order.

        A key that is held is answered as its duplicates policy says: with the job that holds it, with
        DuplicateKeyError (then nothing of this call is stored), or by cancelling that job. Two specs with one
        key in one call are treated as if submitted one after the other. With `table` the jobs follow it though
        it was not registered here: this process asks for them, and will not run them.
        """
        ...

    async def make(self, specs: Sequence[Spec], ask: Ask) -> Facts:
        """The same for who asks from outside. Of a single job all that is shown of it is among the facts."""
        ...

    async def change(self, job_ids: Sequence[str], decide: Decide, ask: Ask) -> Facts:
        """Decide what becomes of jobs as they stand, and do it; anew for those that somebody moved meanwhile.

        NotFoundError for one that is not there. What the decision refuses is left as it is: of several jobs, and under
        an `op_id`, the answer says why; else it is raised. Flows are locked before their nodes, nodes before others.
        """
        ...

    async def claim(
        self, queues: Collection[str], limit: int, owner: str, *, start: bool = True, op_id: str | None = None
    ) -> list[Job]:
        """Take up to `limit` due jobs of these queues, highest priority first, then longest due.

        Longest due holds within one queue, lifecycle and state; of several with one priority each has its turn, or,
        when `queues` maps names to weights, comes first as often as its weight says.
        A priority that no waiting job had a moment ago may be noticed a second late, never when all else is
        taken. Jobs of lifecycles that are not registered here are left to others. Each gets its lease, one more
        try, and the claim's event; with `start`, the start's event too. No job is ever given out twice in one
        attempt. Jobs that another transaction holds are passed over. A repeat under the same `op_id` claims
        nothing more: it returns what the first claimed, as far as the owner still holds it.
        """
        ...

    @property
    def opens_in_s(self) -> float | None:
        """In how many seconds there may be something to claim, if time alone brings it; as the last claim saw it."""
        ...

    @property
    def limited(self) -> bool:
        """Whether jobs wait behind limits, as the last claim saw it: then the end of a job may let another through."""
        ...

    async def take_over(self, queues: Collection[str], limit: int, owner: str) -> list[Job]:
        """Take jobs whose lease ran out and whose lifecycle goes on where it stands, as the next attempt."""
        ...

    async def apply(
        self, changes: Sequence[Change], words: Sequence[Signal] = (), *, op_id: str | None = None
    ) -> Applied:
        """Apply each change's path to those of its jobs that stand where it begins, under its fence.

        A job moves exactly when its attempt and state are as the change says and, for a worker's change, the
        worker's lease has not run out. All else is refused, one by one, and changes nothing. A repeat under
        the same `op_id` has no effect and answers as the first did.
        `words` are what these jobs said last: they are kept with the moves, for those of them that took effect.
        """
        ...

    async def renew(self, owner: str, leases: Sequence[Lease], *, beat: bool = True) -> list[str]:
        """Extend the owner's leases from now on and return the ids of those that are lost.

        A lease that has run out is lost even when nobody has taken the job. With `beat`, each renewal leaves a
        signal.
        """
        ...

    async def let_go(self, owner: str, leases: Sequence[Lease]) -> None:
        """End these leases now, so that a job that is taken over rather than requeued need not wait.

        A lease that has run out, or that another has by now, stays as it is.
        """
        ...

    async def request_cancel(self, leases: Sequence[Lease], mode: str) -> list[str]:
        """Ask the owners of these leased jobs to stop, "hard" or "soft: why"; return the ids that were asked."""
        ...

    async def stand(self, job_ids: Sequence[str]) -> list[Stand]:
        """Where these jobs stand: for the worker that has them."""
        ...

    async def signal(self, signals: Sequence[Signal], *, ttl_ms: int = 86_400_000) -> None:
        """Keep signals for `ttl_ms`."""
        ...

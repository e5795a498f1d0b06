"""The read port, apart from the writes: what jobs and their log look like from outside."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from typing import NamedTuple, Protocol

from holdfast.kernel.event import Event
from holdfast.kernel.graph.joins import Joins
from holdfast.kernel.job import Job
from holdfast.kernel.lifecycle import Lifecycle
from holdfast.kernel.proof.chain import BackLink
from holdfast.store.port.upkeep import PurgeRow, SealRow


class Filter(NamedTuple):
    """Which jobs a list shows. None means any."""

    states: tuple[str, ...] | None = None
    task: str | None = None
    queue: str | None = None
    lifecycle: str | None = None
    correlation_id: str | None = None
    parent_id: str | None = None
    key_scope: str | None = None
    key: str | None = None
    """With `key_scope`: a key means nothing without."""
    id_prefix: str | None = None


class Page(NamedTuple):
    """Jobs, newest first, and the cursor of the next page; None at the end."""

    items: list[Job]
    next_cursor: str | None


class Seen(NamedTuple):
    """A job with all that is shown of it: its lifecycle, where that is known, and how far it said it is."""

    job: Job
    table: Lifecycle | None
    progress: list[SignalRow]


class Trail(NamedTuple):
    """A job, its events, and how the log's rows lead from where it stands back to its first event."""

    job: Job
    """Its state is None where it stands nowhere."""
    events: list[Event]
    links: list[BackLink]
    stands_at: int | None
    """The row of the log that the place where it stands names."""
    due_at_ms: int
    """As it was submitted, and so the next."""
    expires_at_ms: int | None


class Attempt(NamedTuple):
    """One attempt of a job, from its events."""

    number: int
    owner: str | None
    started_at_ms: int | None
    ended_at_ms: int | None
    end: str | None
    reason: str | None
    error: str | None


class Dead(NamedTuple):
    """A dead letter, as it is kept."""

    job_id: str
    at_ms: int
    reason_code: str
    stage: str
    last_error: str | None
    attempts: int
    last_owner: str | None
    last_lease_expires_at_ms: int | None
    correlation_id: str
    fingerprint: str
    resolution: str | None


class Retained(NamedTuple):
    """A job, with what retention goes by."""

    job_id: str
    lifecycle: str
    state: str
    finished_at_ms: int | None
    keep_until_ms: int | None


class SignalRow(NamedTuple):
    """A signal, as it is kept."""

    id: int
    job_id: str
    attempt: int
    type: str
    at_ms: int
    actor: str
    payload: str | None
    expires_at_ms: int


class Reads(Protocol):
    """Reading never blocks writing, and never holds a transaction open between calls."""

    async def one(self, job_id: str) -> Seen | None:
        """A job as people see it, in one look."""
        ...

    async def get(self, job_id: str) -> Job | None: ...

    async def get_many(self, job_ids: list[str]) -> list[Job]:
        """Those of these jobs that exist, in no particular order."""
        ...

    async def counts(self, *, cap: int = 10_000) -> dict[tuple[str, str], int]:
        """Jobs per (lifecycle, state) among the newest `cap` of each state: all of them where a state has fewer."""
        ...

    async def events_since(self, types: Collection[str], since_ms: int, *, cap: int = 10_000) -> dict[str, int]:
        """How many events of each of these types there were since a time, counted up to `cap` each."""
        ...

    async def events(self, job_id: str) -> list[Event]:
        """A job's events in order, with its correlation and trace ids."""
        ...

    async def events_by_type(self, type: str, *, since_ms: int = 0, limit: int = 100) -> list[Event]: ...

    async def events_by_correlation(self, correlation_id: str, *, limit: int = 1000) -> list[Event]: ...

    async def attempts(self, job_id: str) -> list[Attempt]: ...

    async def signals(self, job_id: str) -> list[SignalRow]: ...

    async def signals_of_type(self, job_id: str, type: str, *, after: int = 0, limit: int = 1000) -> list[SignalRow]:
        """A job's signals of one type behind the signal `after`, oldest first."""
        ...

    async def words(self, job_id: str, *, after: int, limit: int) -> list[SignalRow]:
        """A job's progress and the lines of its log behind the signal `after`, oldest first."""
        ...

    async def last_signals(self, job_ids: list[str], type: str) -> list[SignalRow]:
        """The last signal of one type of each of these jobs that has one."""
        ...

    async def dead(self, *, limit: int = 50) -> list[Dead]: ...

    async def key_holder(self, scope: str, key: str) -> str | None: ...

    async def lifecycles(self) -> dict[str, Lifecycle]:
        """The built-in lifecycles and those that were registered in this database."""
        ...

    def all_jobs(self, *, after: str = "", batch: int = 2000) -> AsyncIterator[list[Job]]:
        """Every job by id, in batches: for the audit."""
        ...

    def all_events(self, *, after: str = "", batch: int = 5000) -> AsyncIterator[list[Event]]:
        """Every event by (job id, seq), in batches."""
        ...

    def trails(self, *, after: str = "", batch: int = 4000) -> AsyncIterator[list[Trail]]:
        """Every job by id with its events, in batches: for the audit."""
        ...

    async def trails_of(self, job_ids: Collection[str]) -> list[Trail]:
        """Those of these jobs that exist, in no particular order."""
        ...

    async def parts_upto(self, pos: int) -> int:
        """How often the rows of the log up to a position name a job, first events aside."""
        ...

    async def misplaced(self) -> list[tuple[str | None, str]]:
        """(job id, what is wrong) of what stands in several places, or where it does not belong."""
        ...

    async def log(self, after: int, limit: int) -> list[Event]:
        """Events by position, gaps or not: for the audit and for certificates."""
        ...

    async def seals(self, after: int = 0, limit: int = 1000) -> list[SealRow]: ...

    async def seal_headers(self, after: int = 0, limit: int = 5000) -> list[SealRow]:
        """Seals behind a number, without their manifests."""
        ...

    async def last_seal(self) -> SealRow | None: ...

    async def last_pos(self) -> int:
        """The highest position of the log; 0 when it is empty."""
        ...

    async def unsealed(self, after: int) -> int:
        """How many events stand behind a position."""
        ...

    async def seal_of(self, pos: int) -> SealRow | None:
        """The seal that covers a position of the log."""
        ...

    async def purges(self, after: int = 0, limit: int = 10_000) -> list[PurgeRow]:
        """What retention removed, in order, behind a number."""
        ...

    async def last_purge(self) -> tuple[int, bytes] | None:
        """The number of the last purge, and the running digest over all of them."""
        ...

    async def retention_page(self, after: str, limit: int) -> list[Retained]:
        """The next jobs by id, with what retention goes by."""
        ...

    async def live_keys_twice(self) -> list[tuple[str, str, str]]:
        """(scope, key, job id) of live jobs that share a key."""
        ...

    async def dead_mismatches(self) -> list[tuple[str, str]]:
        """(job id, what is wrong) where dead_lettered jobs and dead letters do not match."""
        ...

    async def flow_sizes(self, after: str, limit: int) -> list[tuple[str, int]]:
        """The next flows by id, each with the number of its nodes."""
        ...

    async def joins(self, first: str, last: str) -> Joins:
        """The flows from one id to another, both included: their counts first, then their nodes, then the edges."""
        ...

    async def totals(self) -> tuple[int, int]:
        """How many jobs and how many first events there are."""
        ...

    async def task_names(self, *, limit: int = 500) -> list[str]:
        """The names of tasks that have jobs, in order."""
        ...

    async def key_scopes(self, *, limit: int = 500) -> list[str]:
        """The scopes in which jobs have keys, in order."""
        ...

    # Last of the class: its name hides the type's from annotations that follow.
    async def list(self, *where: Filter, limit: int = 50, cursor: str | None = None, steps: int | None = None) -> Page:
        """One keyset page of the jobs that any of these filters lets pass, newest first.

        A cursor that was not given out by `list` is a StoreError.

        With `steps`, a page passes over about that many jobs at most that do not match, where no index serves all of
        the filter: it may then hold fewer than `limit`, even none, and its cursor leads on.
        """
        ...

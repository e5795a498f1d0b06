"""What stands beside jobs as it is shown: queues, workers, lifecycles, tasks, figures."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from holdfast.api.shapes.jobs import AT, JOB_ID, Shown


class Queue(Shown):
    """A queue and its backlog; figures are counted up to 10,000 for each priority."""

    name: str = Field(examples=["default"])
    queued: int
    due: int
    running: int
    oldest_due_at: str | None
    next_due_at: str | None
    workers: int
    paused: bool
    paused_at: str | None
    reason: str | None


class Worker(Shown):
    """A worker as it last said of itself."""

    owner: str = Field(examples=["host:4711:a1b2"])
    alive: bool
    queues: list[str]
    concurrency: int
    started_at: str | None
    seen_at: str | None = Field(examples=[AT])
    stats: dict[str, Any]


class Lease(Shown):
    """A job that somebody holds."""

    job_id: str = Field(examples=[JOB_ID])
    task: str
    queue: str
    owner: str | None
    attempt: int
    started_at: str | None
    until: str | None
    seconds_left: float
    lost: bool
    cancel_requested: str | None


class LifecycleLine(Shown):
    name: str = Field(examples=["durable"])
    built_in: bool
    states: list[str]
    transitions: int


class LifecycleState(Shown):
    label: str
    canonical: str
    rank: int
    terminal: bool
    successful: bool
    leased: bool


class LifecycleRow(Shown):
    source: str
    command: str
    target: str
    event: str
    opens_attempt: bool
    tries: str
    counts_loss: bool
    source_canonical: str
    target_canonical: str


class Lifecycle(Shown):
    """A lifecycle: the table that jobs follow."""

    name: str = Field(examples=["durable"])
    states: list[LifecycleState]
    transitions: list[LifecycleRow]
    policies: dict[str, Any]
    initial: list[str]
    submit_event: str
    triggers: dict[str, str]


class Task(Shown):
    """A task that this server knows; what it takes is a JSON Schema."""

    name: str = Field(examples=["fetch"])
    lifecycle: str
    queue: str
    priority: int
    max_attempts: int
    lease_seconds: float
    timeout_seconds: float | None
    on_exhausted: str
    doc: str | None
    parameters: dict[str, Any] = Field(
        examples=[{"type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"]}]
    )


class Schedule(Shown):
    """What is submitted by the clock."""

    name: str
    task: str
    args: Any
    cron: str = Field(examples=["0 6 * * *"])
    timezone: str
    missed: str
    paused: bool
    last_at: str | None
    next_at: str | None


class StateCount(Shown):
    state: str
    count: int
    exact: bool = Field(description="false: at least so many.")


class LifecycleCount(Shown):
    lifecycle: str
    state: str
    canonical_state: str
    count: int
    exact: bool


class EventCount(Shown):
    event: str
    count: int
    exact: bool


class Stats(Shown):
    """How much there is, and how fast it goes. No figure is counted beyond 10,000."""

    at: str | None
    states: list[StateCount]
    jobs: list[LifecycleCount]
    queues: list[Queue]
    workers: int
    last_minute: list[EventCount]


class Me(Shown):
    """Who calls, as the server sees it."""

    name: str = Field(examples=["local"])
    scopes: list[str] = Field(examples=[["read", "write", "admin"]])
    key_id: str | None
    loopback: bool

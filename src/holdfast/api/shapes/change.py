"""What changes are answered. A test holds every answer to its model: they are made as text, inside transactions."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from holdfast.api.shapes.jobs import AT, JOB_ID, Job, Shown


class MadeJob(Job):
    """A job that was created, or found by its key."""

    created: bool = Field(description="False when it existed already: then nothing was created.")
    message: str | None = Field(None, description="Why nothing was created.")


class RetriedJob(Job):
    """The job that runs now: the one that was named, or a new one in its place."""

    is_new: bool
    retry_of: str | None = Field(None, description="The job that the new one stands in for.")


class ReplayedJob(Job):
    created: bool = Field(description="False when it was replayed before: this is the job that it became then.")
    replay_of: str = Field(examples=[JOB_ID])


class BatchItem(Shown):
    id: str = Field(examples=[JOB_ID])
    created: bool
    task: str
    queue: str
    key: str | None
    links: dict[str, str]


class BatchAnswer(Shown):
    """The jobs of a batch, in the order in which they were sent."""

    items: list[BatchItem]
    count: int
    created: int = Field(description="How many of them are new.")


class BulkItem(Shown):
    id: str = Field(examples=[JOB_ID])
    task: str
    queue: str | None = None
    reason_code: str | None = None
    replayed_as: str | None = None
    created: bool | None = None


class Bulk(Shown):
    """What was done, or, in a dry run, what would be."""

    dry_run: bool
    count: int
    items: list[BulkItem]
    left: dict[str, str] = Field(description="What was left as it is, and why.")
    more: bool = Field(description="There are more of them than one request changes: send it again.")


class Deleted(Shown):
    """A job that is no more, and the number under which its removal is on record."""

    id: str = Field(examples=[JOB_ID])
    deleted: bool
    purge: int
    events: int


class Letter(Shown):
    """A dead letter: a job that only somebody can help."""

    job_id: str = Field(examples=[JOB_ID])
    task: str
    queue: str
    at: str | None = Field(examples=[AT])
    reason_code: str = Field(examples=["exhausted_retries"])
    stage: str = Field(examples=["exec"])
    attempts: int
    last_error: Any
    last_owner: str | None
    last_lease_expires_at: str | None
    correlation_id: str
    group: str
    resolution: str | None
    replayed_as: str | None


class LetterGroup(Shown):
    """Letters that wait and failed alike."""

    group: str
    count: int
    exact: bool = Field(description="false: at least so many; the newest 10,000 letters are counted.")
    first_at: str | None = Field(examples=[AT])
    last_at: str | None = Field(examples=[AT])
    example: Letter


class QueuePaused(Shown):
    queue: str
    paused: bool
    reason: str | None
    since: str | None = Field(examples=[AT])


class QueueResumed(Shown):
    queue: str
    paused: bool
    was_paused: bool


class ScheduleChanged(Shown):
    name: str
    task: str
    paused: bool
    next_at: str | None = Field(examples=[AT])


class ScheduleDeleted(Shown):
    name: str
    deleted: bool

"""Jobs and their parts as they are shown. A route that answers anything else fails: the document cannot drift."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, create_model

from holdfast import catalog

T = TypeVar("T")
JOB_ID = "018bcfe5-6800-7000-8000-000000000001"
AT = "2026-01-31T09:30:00.000Z"


class Shown(BaseModel):
    """Exactly these fields, no more and no fewer."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)


class Page(Shown, Generic[T]):
    """One page of a list, newest first."""

    items: list[T]
    next_cursor: str | None = Field(
        description="Leads on to the next page; null at the end. A page may be short, even empty, and still lead on: "
        "it has looked through as many as one page may."
    )


class Items(Shown, Generic[T]):
    """A whole list."""

    items: list[T]


class Hold(Shown):
    """Who works on a job, and until when it is theirs."""

    owner: str = Field(examples=["host:4711:a1b2"])
    until: str | None = Field(examples=[AT])


class Progress(Shown):
    """How far a job is, by its own word."""

    done: int | float | None
    total: int | float | None
    eta_seconds: int | float | None
    counters: dict[str, Any]


class Failure(BaseModel):
    """Why a job did not succeed."""

    model_config = ConfigDict(extra="allow", populate_by_name=True)

    code: str | None = Field(None, examples=["network_error"])
    kind: str | None = Field(None, alias="class", examples=["transient"])
    message: str | None = Field(None, examples=["no route to host"])
    context: dict[str, Any] | None = None


class JobOfAll(Shown):
    """A job as it stands. Some lifecycles have names of their own for a few fields; these stand last."""

    id: str = Field(examples=[JOB_ID])
    task: str = Field(examples=["fetch"])
    lifecycle: str = Field(examples=["durable"])
    state: str = Field(description="As its lifecycle calls it.", examples=["running"])
    canonical_state: str = Field(description="As all lifecycles have it.", examples=["running"])
    queue: str = Field(examples=["default"])
    priority: int
    attempt: int = Field(description="Also the fence: only the owner of this attempt may write.")
    max_attempts: int
    tries: int
    created_at: str | None = Field(examples=[AT])
    started_at: str | None
    finished_at: str | None
    updated_at: str | None = Field(description="Its last change, or its worker's last sign of life.")
    due_at: str | None
    expires_at: str | None
    keep_until: str | None
    lease: Hold | None
    cancel_requested: str | None
    progress: Progress | None
    error: Failure | None
    result: Any
    partial: bool
    output_metadata: Any
    payload: Any = Field(description="The task's arguments, by name.", examples=[{"url": "https://example.org"}])
    key: str | None
    tags: list[str] | None
    parent_id: str | None
    correlation_id: str = Field(examples=[JOB_ID])
    trace_id: str | None
    version: int = Field(description="The number of its events, and its ETag.")
    links: dict[str, str] = Field(examples=[{"self": f"/api/jobs/{JOB_ID}"}])


def _with_fields_of_systems() -> type[JobOfAll]:
    fields: dict[str, Any] = {}

    def join(model: type[BaseModel]) -> None:
        if taken := sorted(model.model_fields.keys() & (JobOfAll.model_fields.keys() | fields)):
            raise catalog.SystemRefusedError(f"a field of jobs is called {taken[0]!r} already")
        fields.update({name: (field.annotation, field) for name, field in model.model_fields.items()})

    catalog.brought("fields", join)
    return create_model("Job", __base__=JobOfAll, __module__=__name__, __doc__=JobOfAll.__doc__, **fields)


if TYPE_CHECKING:
    Job = JobOfAll
else:
    Job = _with_fields_of_systems()


class Event(Shown):
    """One transition of a job."""

    seq: int
    type: str = Field(examples=["job_started"])
    source: str | None = Field(alias="from")
    target: str = Field(alias="to")
    from_canonical: str | None
    to_canonical: str
    at: str | None = Field(examples=[AT])
    actor: str = Field(examples=["client"])
    attempt: int
    reason: str | None
    cause: str | None
    payload: Any
    correlation_id: str
    trace_id: str | None
    version: int = Field(description="Of the event's own format.")
    id: int = Field(description="Its position in the log: what Last-Event-ID of the stream means.")
    job_id: str


class Attempt(Shown):
    """One attempt of a job."""

    number: int
    owner: str | None
    started_at: str | None
    ended_at: str | None
    end: str | None = Field(description="The type of the event that ended it.", examples=["job_succeeded"])
    reason: str | None
    detail: Any = Field(description="What that event carried, such as the error.")


class LogLine(Shown):
    """One line of a job's own log."""

    id: int = Field(description="Give it as `after` to read on.")
    at: str | None = Field(examples=[AT])
    level: str = Field(examples=["info"])
    event: str = Field(examples=["page fetched"])
    fields: dict[str, Any]
    attempt: int
    actor: str


class Artifact(Shown):
    """A file that a job left."""

    name: str = Field(examples=["report.pdf"])
    size: int
    at: str | None


class Result(Shown):
    """What a job that ended well returned."""

    id: str = Field(examples=[JOB_ID])
    state: str
    canonical_state: str = Field(examples=["succeeded"])
    result: Any


class Explanation(Shown):
    """Why a job is where it is, and the command that helps."""

    id: str = Field(examples=[JOB_ID])
    state: str
    canonical_state: str
    sentence: str = Field(examples=["running: on host:4711 for 12 s, lease for 48 s more"])
    command: str | None = Field(examples=[f"holdfast job watch {JOB_ID}"])


class GraphNode(Shown):
    id: str = Field(examples=[JOB_ID])
    name: str | None = Field(None, description="In a flow: what the node is called.")
    item: int | None = Field(None, description="In a flow: which item of a list it is.")
    task: str
    lifecycle: str
    state: str
    canonical_state: str


class GraphEdge(Shown):
    source: str = Field(alias="from")
    target: str = Field(alias="to")
    kind: Literal["parent", "after", "not_taken"] = Field(description="Of a family, or of a flow.")


class Graph(Shown):
    """A flow as a graph, or a job's family: its parents and its children."""

    id: str = Field(examples=[JOB_ID])
    nodes: list[GraphNode]
    edges: list[GraphEdge]
    truncated: bool = Field(description="There are more than are shown.")
    mermaid: str | None = Field(None, description="A flow that is not too large for it, as a Mermaid flowchart.")

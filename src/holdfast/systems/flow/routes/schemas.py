"""Flows as they are sent and as they are shown."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, WithJsonSchema

from holdfast.api.shapes.bodies import Args, Terms
from holdfast.api.shapes.jobs import AT, JOB_ID, Job, Shown

NAMES: dict[str, Any] = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
SECONDS: dict[str, Any] = {"type": ["number", "null"], "minimum": 0}
TIME: dict[str, Any] = {"type": ["string", "null"], "format": "date-time"}
CONDITION: dict[str, Any] = {
    "type": "object",
    "description": 'A test {"path", "op", "value"}, or a group {"and": […]}, {"or": […]}, {"not": …}.',
}
CASE: dict[str, Any] = {
    "type": "object",
    "required": ["when", "then"],
    "properties": {"when": CONDITION, "then": NAMES, "priority": {"type": "integer"}},
    "additionalProperties": False,
}
BRANCH: dict[str, Any] = {
    "type": ["object", "null"],
    "description": "How its result chooses among the nodes after it.",
    "required": ["cases"],
    "properties": {
        "cases": {"type": "array", "items": CASE, "minItems": 1},
        "default": NAMES,
        "mode": {"type": "string", "enum": ["first", "all", "priority"]},
    },
    "additionalProperties": False,
}
JOIN: dict[str, Any] = {
    "description": "What it waits for: every parent that is taken, the first, all whether taken or not, or so many.",
    "anyOf": [
        {"type": "string", "enum": ["all", "any", "all_done"]},
        {
            "type": "object",
            "required": ["n"],
            "properties": {"n": {"type": "integer", "minimum": 1}},
            "additionalProperties": False,
        },
    ],
}
NODE: dict[str, Any] = {
    "type": "object",
    "required": ["name", "task"],
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 100},
        "task": {"type": "string", "minLength": 1, "maxLength": 250, "description": "One that is declared here."},
        "args": {"type": "object", "description": "Constants."},
        "inputs": {"type": "object", "description": 'By parameter: "parent.key", "$input.name", "$item".'},
        "after": NAMES,
        "join": JOIN,
        "branch": BRANCH,
        "map": {"type": ["string", "null"], "description": "A parent that returns a list: it runs once for each item."},
        "when": {**CONDITION, "type": ["object", "null"]},
        "queue": {"type": ["string", "null"], "minLength": 1, "maxLength": 100},
        "priority": {"type": ["integer", "null"], "minimum": -32_767, "maximum": 32_767},
        "retry_limit": {"type": ["integer", "null"], "minimum": 0, "maximum": 1_000},
        "retry_delay": SECONDS,
        "retry_backoff": {"type": ["boolean", "null"]},
        "start_after": TIME,
        "expire_in_seconds": SECONDS,
        "run_ttl_seconds": {**SECONDS, "minimum": 0.001},
        "keep_until": TIME,
        "sla_soft_seconds": SECONDS,
        "sla_hard_seconds": SECONDS,
    },
    "additionalProperties": False,
}
DAG: dict[str, Any] = {
    "on_failure": "finish",
    "input": {"url": "https://example.org"},
    "nodes": [
        {"name": "page", "task": "fetch"},
        {"name": "count", "task": "words", "after": ["page"], "inputs": {"html": "page"}, "retry_limit": 5},
    ],
}


class NewFlow(Terms):
    """A flow that is declared here, or, with `nodes`, a DAG as data. Options hold for its nodes, unless they say
    other; `key`, `tags` and `duplicates` are the flow's."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        json_schema_extra={"examples": [{"input": {"doc": "2024-17"}, "key": "2024-17"}, DAG]},
    )

    input: Args = Field(default_factory=dict)
    nodes: Annotated[
        Any, WithJsonSchema({"anyOf": [{"type": "array", "items": NODE, "minItems": 1}, {"type": "null"}]})
    ] = None
    on_failure: Annotated[Literal["fail_fast", "finish"] | None, Field(description="Only with `nodes`.")] = None


class FlowCounts(Shown):
    """How its nodes stand, those that took the place of a list included."""

    nodes: int
    open: int = Field(description="Not ended yet.")
    failed: int
    cancelled: int


class FlowJob(Job):
    """A flow as it stands: its job, and its counts."""

    on_failure: Literal["fail_fast", "finish"] | None
    counts: FlowCounts | None
    retry_of: str | None = Field(description="The flow that it goes on with.")


class MadeFlow(FlowJob):
    created: bool = Field(description="False when it existed already: then nothing was created.")
    message: str | None = Field(None, description="Why nothing was created.")


class FlowNode(Shown):
    """One node, or one item of a node that runs over a list: what a timeline is drawn from."""

    name: str = Field(examples=["check"])
    item: int | None = Field(description="Which item of the list; null for a node that runs over none.")
    job_id: str = Field(examples=[JOB_ID])
    task: str
    state: str = Field(examples=["COMPLETED"])
    canonical_state: str = Field(examples=["succeeded"])
    attempt: int
    queued_at: str | None = Field(description="Since when it could run.", examples=[AT])
    started_at: str | None
    ended_at: str | None
    why: str | None = Field(examples=["waits for fetch (ACTIVE)"])
    kept: bool = Field(description="It ended well in the flow that this one goes on with.")


class FlowEdge(Shown):
    source: str = Field(alias="from", examples=[JOB_ID])
    target: str = Field(alias="to", examples=[JOB_ID])
    taken: bool | None = Field(description="Null while that is open.")


class Flow(FlowJob):
    """A flow with its nodes and the ways between them, by job id."""

    nodes: list[FlowNode]
    edges: list[FlowEdge]
    truncated: bool = Field(description="It has more nodes than are shown.")
    retried_as: str | None = Field(description="The flow that goes on with this one.")

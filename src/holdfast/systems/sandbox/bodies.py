"""A command for the sandbox as it is sent."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, ConfigDict, Field, StrictBool, StrictInt, WithJsonSchema

from holdfast.api.shapes.bodies import INT32, Text, Wait, storable_text
from holdfast.api.shapes.forms import TypedJob


class CommandJob(TypedJob):
    """A command for the sandbox. Its fields are checked by `api.command_jobs`, which knows the codes of its errors."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        json_schema_extra={"examples": [{"type": "worker", "command": "make test", "cpus": 2, "memory_gb": 4}]},
    )

    type: Annotated[Any, WithJsonSchema({"type": "string", "enum": ["worker", "agent"]})]
    command: Annotated[Any, WithJsonSchema({"type": "string", "minLength": 1, "maxLength": 10_000})] = None
    task: Annotated[Any, WithJsonSchema({"type": "string", "minLength": 1, "maxLength": 100_000})] = None
    context: Annotated[str, BeforeValidator(storable_text), Field(max_length=100_000)] | None = None
    client_job_id: Annotated[Any, WithJsonSchema({"type": "string", "format": "uuid", "maxLength": 36})] = None
    files_id: Text | None = None
    image: Text | None = None
    cpus: Annotated[Any, WithJsonSchema({"type": "integer", "minimum": 1})] = None
    memory_gb: Annotated[Any, WithJsonSchema({"type": "integer", "minimum": 1})] = None
    timeout_minutes: Annotated[Any, WithJsonSchema({"type": "integer", "minimum": 1})] = None
    artifacts: Annotated[list[Text], Field(max_length=200)] | None = None
    network: StrictBool = False
    priority: Annotated[StrictInt, Field(ge=-INT32 - 1, le=INT32)] = 0
    tags: Annotated[list[Text], Field(max_length=100)] | None = None
    correlation_id: Text | None = None
    wait: Wait = 0.0

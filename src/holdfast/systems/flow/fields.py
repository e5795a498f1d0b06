"""Fields that nodes have beside those of all jobs, for the API's document."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field


class NodeFields(BaseModel):
    name: str | None = Field(None, description="Workflow jobs only: the task.")
    data: Any = Field(None, description="Workflow jobs only: the payload.")
    retry_limit: int | None = Field(None, description="Workflow jobs only.")
    retry_delay: int | float | None = Field(None, description="Workflow jobs only, in seconds.")
    retry_backoff: bool | None = Field(None, description="Workflow jobs only.")
    start_after: str | None = Field(None, description="Workflow jobs only: when it is due.")
    expire_in_seconds: int | float | None = Field(None, description="Workflow jobs only.")

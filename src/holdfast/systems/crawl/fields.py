"""Fields that crawls have beside those of all jobs, for the API's document."""

from __future__ import annotations

from pydantic import BaseModel, Field


class CrawlFields(BaseModel):
    canceled_at: str | None = Field(None, description="Crawls only.")

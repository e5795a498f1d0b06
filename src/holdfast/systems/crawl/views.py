"""Crawls where all jobs are shown."""

from __future__ import annotations

from typing import Any

from holdfast.kernel.job import Job
from holdfast.kernel.lifecycle import Lifecycle
from holdfast.kernel.state import Canonical
from holdfast.views.job import iso
from holdfast.views.of_systems import Views


class CrawlViews(Views):
    def fields(self, job: Job, table: Lifecycle) -> dict[str, Any]:
        return {"canceled_at": iso(job.finished_at_ms) if job.state == Canonical.CANCELLED else None}


VIEWS = CrawlViews()

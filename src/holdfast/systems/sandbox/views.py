"""Commands where all jobs are shown."""

from __future__ import annotations

from holdfast.kernel.event import Event
from holdfast.kernel.job import Job
from holdfast.store.port import Store
from holdfast.views.of_systems import Views, Words


class SandboxViews(Views):
    async def words(self, store: Store, job: Job, last: Event | None) -> Words:
        return Words(waits_for="its upload to be finalized")


VIEWS = SandboxViews()

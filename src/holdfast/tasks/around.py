"""What a system works out around the runs of its jobs, as for a node of a flow."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from holdfast.kernel.job import Job
from holdfast.kernel.move import Follow
from holdfast.kernel.outcome import Outcome


class Instead(NamedTuple):
    """What a job ends with that is not run at all."""

    outcome: Outcome
    follow: Follow | None = None


class Around(Protocol):
    """Asked for the jobs of its system's lifecycles, and for no others. What it raises is a failure of the run."""

    async def before(self, job: Job) -> Job | Instead:
        """The job as it is to be run, its arguments worked out; or its end, when it is not to be run."""

    async def after(self, job: Job, outcome: Outcome) -> Follow | None:
        """What a run's end says of jobs that wait for it."""

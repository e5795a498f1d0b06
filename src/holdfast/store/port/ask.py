"""Changes that are asked for from outside: made once, however often they are asked for, and told as facts."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import msgspec

from holdfast.kernel.errors import HoldfastError, NotAllowedError
from holdfast.kernel.job import Job
from holdfast.store.port.graph import FlowRow
from holdfast.store.port.jobs import Submitted
from holdfast.store.port.reads import SignalRow
from holdfast.store.port.upkeep import PurgeRow


class Ask(NamedTuple):
    """Who asks. Under an `op_id` a repeat is told what the first was; `digest` says what was asked for.

    With `versions`, a job at another one is left as it is.
    """

    actor: str = "client"
    op_id: str | None = None
    digest: str = ""
    versions: frozenset[int] | None = None
    note: str | None = None
    """Kept beside the facts: what the first request went by."""


class Refused(NamedTuple):
    """Why a job was left as it is."""

    job_id: str | None
    lifecycle: str
    state: str
    command: str
    allowed: tuple[str, ...]
    message: str
    remedy: str | None

    @classmethod
    def by(cls, error: NotAllowedError) -> Refused:
        facts = (error.lifecycle, error.state, error.command, error.allowed, error.message, error.remedy)
        return cls(error.job_id, *facts)

    @property
    def error(self) -> NotAllowedError:
        """What it was refused with."""
        error = NotAllowedError(self.lifecycle, self.state, self.command, self.allowed)
        error.message, error.remedy = self.message, self.remedy
        error.args = (f"{self.message}; {self.remedy}" if self.remedy else self.message,)
        error.job_id = self.job_id
        return error


class Facts(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a change came to: facts, as they stood in the transaction that made it. A repeat is told the same.

    `made` are the new jobs, in the order of what asked for them; `became` says which stands in for which, and `moved`
    are those to which something was done.
    """

    made: list[Submitted] = []
    became: dict[str, Submitted] = {}
    moved: list[str] = []
    jobs: dict[str, Job] = {}
    progress: list[SignalRow] = []
    flows: dict[str, FlowRow] = {}
    purged: PurgeRow | None = None
    refused: dict[str, Refused] = {}
    answer: dict[str, str] = {}
    """What a request of several transactions was answered."""
    note: str | None = None
    again: bool = False

    def with_(self, **facts: Any) -> Facts:
        """The same with these facts."""
        return msgspec.structs.replace(self, **facts)

    @property
    def one(self) -> Submitted:
        """The one job that was made."""
        [made] = self.made
        return made


class MismatchError(HoldfastError):
    """The idempotency key was used for another request."""


class VersionError(HoldfastError):
    """The job has changed since it was looked at."""

    def __init__(self, job_id: str, version: int) -> None:
        super().__init__(f"job {job_id} is at version {version}", field="If-Match", remedy="look at it again")


class Answers(Protocol):
    """What requests came to whose changes do not remember it themselves: they are of several transactions."""

    async def find(self, ask: Ask) -> Facts | None:
        """What a request came to, whoever remembered it. MismatchError when the op_id was another's."""
        ...

    async def keep(self, ask: Ask, done: Facts) -> Facts:
        """Remember what it came to; the one that counts comes back, which may be a rival's."""
        ...

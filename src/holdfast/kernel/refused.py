"""Requests that the engine understands and must refuse."""

from __future__ import annotations

from holdfast.kernel.errors import HoldfastError


class NotAllowedError(HoldfastError):
    """The job's lifecycle has no row for this command from the state that the job is in."""

    def __init__(self, lifecycle: str, state: str, command: str, allowed: tuple[str, ...]) -> None:
        self.lifecycle, self.state, self.command, self.allowed = lifecycle, state, command, allowed
        super().__init__(
            f"{lifecycle}: no {command} from {state}",
            field="command",
            remedy=f"from {state} it may: {', '.join(allowed)}" if allowed else f"nothing leads out of {state}",
        )


class NotFoundError(HoldfastError):
    """There is no such thing."""

    def __init__(self, what: str, name: str, remedy: str | None = None) -> None:
        self.what, self.name = what, name
        super().__init__(f"no {what} {name!r}", field=what, remedy=remedy)


class DuplicateKeyError(HoldfastError):
    """The key belongs to a job that still holds it."""

    def __init__(self, scope: str, key: str, job_id: str) -> None:
        self.scope, self.key, self.job_id = scope, key, job_id
        super().__init__(
            f"key {key!r} in scope {scope!r} is held by job {job_id}",
            field="key",
            remedy="use another key, or submit with duplicates='return' or 'replace'",
        )


class StoreError(HoldfastError):
    """The store cannot be used as it is."""


class StoreLostError(StoreError, ConnectionError):
    """The connection was lost during a call, which took effect as a whole or not at all."""

    def __init__(self, message: str = "") -> None:
        super().__init__(message, remedy="repeat it: under the same op_id it has no second effect")

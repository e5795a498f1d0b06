"""Every error Holdfast raises, as one tree.

HoldfastError
├── PayloadError           a value that cannot be stored as JSON
├── LifecycleError         a lifecycle table that breaks one of its own rules
├── NotAllowedError        the lifecycle has no row for that command from that state
├── NotFoundError          there is no such thing
├── DuplicateKeyError      the key belongs to another job
├── BusyError              not at this moment: the same call may do it a moment later
├── StoreError             the store cannot be used as it is
│   └── StoreLostError     the connection was lost during a call
└── TaskError              what a handler raises to say how its failure is to be treated
    ├── ValidationError    the input is wrong
    ├── TransientError     worth another try
    ├── PermanentError     another try would fail the same way
    └── LeaseConflictError the job belongs to another worker by now
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from holdfast.kernel.payload.encoding import JSON


class ErrorClass(StrEnum):
    """How a failure is treated; each error code belongs to exactly one."""

    TRANSIENT = "transient"
    PERMANENT = "permanent"
    ANTI_BOT = "anti_bot"
    VALIDATION = "validation"
    LEASE_CONFLICT = "lease_conflict"


class HoldfastError(Exception):
    """Something in Holdfast went wrong."""

    def __init__(self, message: str = "", *, field: str | None = None, remedy: str | None = None) -> None:
        self.message = message or _first_line_of_docstring(type(self))
        self.field = field
        self.remedy = remedy
        super().__init__(f"{self.message}; {remedy}" if remedy else self.message)

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...], dict[str, Any]]:
        # Exceptions with keyword-only fields do not unpickle by default, and handlers run in process pools.
        return _rebuild, (type(self), self.args), self.__dict__


class PayloadError(HoldfastError):
    """The value cannot be stored as JSON.

    `field` is the JSON path of the culprit, such as `payload.items[3].name`.
    """

    # A handler that submits a bad payload would submit the same one again.
    error_class: ClassVar[ErrorClass] = ErrorClass.VALIDATION

    field: str
    remedy: str

    def __init__(self, *, field: str, problem: str, remedy: str) -> None:
        super().__init__(f"{field} {problem}", field=field, remedy=remedy)
        self.problem = problem


class LifecycleError(HoldfastError):
    """The lifecycle breaks a rule.

    `rule` is the rule's slug, `path` the counterexample: the states or rows that show the breach, in order.
    """

    def __init__(
        self,
        message: str = "",
        *,
        lifecycle: str,
        rule: str,
        path: tuple[str, ...] = (),
        remedy: str | None = None,
    ) -> None:
        text = f"lifecycle {lifecycle!r} breaks {rule}"
        if message:
            text += f": {message}"
        if path:
            text += f" (counterexample: {' → '.join(path)})"
        super().__init__(text, remedy=remedy)
        self.lifecycle = lifecycle
        self.rule = rule
        self.path = path


class NotAllowedError(HoldfastError):
    """The job's lifecycle has no row for this command from the state that the job is in."""

    job_id: str | None = None

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


class BusyError(HoldfastError):
    """It cannot be done at this moment."""

    def __init__(self, message: str = "") -> None:
        super().__init__(message, remedy="try again")


class StoreError(HoldfastError):
    """The store cannot be used as it is."""


class StoreLostError(StoreError, ConnectionError):
    """The connection was lost during a call, which took effect as a whole or not at all."""

    def __init__(self, message: str = "") -> None:
        super().__init__(message, remedy="repeat it: under the same op_id it has no second effect")


class TaskError(HoldfastError):
    """The task failed.

    A subclass may set `code` and `error_class` for all its instances; the `error_class` wins over the code.
    """

    error_class: ClassVar[ErrorClass | None] = None
    code: str = "task_error"

    def __init__(
        self, message: str = "", *, code: str | None = None, context: Mapping[str, JSON] | None = None
    ) -> None:
        super().__init__(message)
        if code is not None:
            self.code = code
        self.context: Mapping[str, JSON] = dict(context or {})


class ValidationError(TaskError):
    """The task's input is not valid."""

    error_class = ErrorClass.VALIDATION
    code = "validation_error"


class TransientError(TaskError):
    """The task failed for a reason that may pass."""

    error_class = ErrorClass.TRANSIENT
    code = "transient_error"


class PermanentError(TaskError):
    """The task failed for a reason that another try does not change."""

    error_class = ErrorClass.PERMANENT
    code = "permanent_error"


class LeaseConflictError(TaskError):
    """The job is leased to another worker."""

    error_class = ErrorClass.LEASE_CONFLICT
    code = "lease_conflict"


def _first_line_of_docstring(kind: type[BaseException]) -> str:
    return (kind.__doc__ or kind.__name__).strip().partition("\n")[0].rstrip(".")


def _rebuild(kind: type[HoldfastError], args: tuple[object, ...]) -> HoldfastError:
    return kind.__new__(kind, *args)

"""What clients send to change something, field by field. A field that is not known is refused, by its name."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Annotated, Any, Literal

from pydantic import (
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    ValidationInfo,
    WithJsonSchema,
)

from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.job import DLQ_REASONS, DLQ_STAGES
from holdfast.kernel.payload.encoding import encode
from holdfast.tasks.durations import duration_ms

INT32 = 2**31 - 1
LONGEST_WAIT_S = 3600.0
MOST_JOBS = 1_000
WRITTEN = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def _duration(value: Any, info: ValidationInfo) -> Any:
    """A duration as people write it, checked and left as it is."""
    if value is not None:
        _ms(value, info)
    return value


def _ms(value: Any, info: ValidationInfo) -> int:
    try:
        return duration_ms(value if isinstance(value, str | int | float) else repr(value), info.field_name or "")
    except HoldfastError as error:
        raise ValueError(str(error)) from None


def _seconds(value: Any, info: ValidationInfo) -> float | None:
    """How long to wait: not at all, as long as is usual, or a duration."""
    if isinstance(value, bool):
        return None if value else 0.0
    seconds = _ms(value, info) / 1_000
    if seconds > LONGEST_WAIT_S:
        raise ValueError(f"wait at most {LONGEST_WAIT_S:.0f} seconds, then look at the job again")
    return seconds


def storable_text(value: Any) -> Any:
    """Text that both databases can hold: no NUL, no half characters."""
    if isinstance(value, str) and UNSTORABLE.search(value):
        raise ValueError("it contains a character that cannot be stored; remove it")
    return value


def _moment(value: Any) -> Any:
    """A time as it is written down: a bare number would be taken for seconds since 1970."""
    if not isinstance(value, str) or WRITTEN.match(value) is None:
        raise ValueError("write a time with its zone, such as 2030-01-31T09:00:00Z")
    return value


def _storable(value: Any, info: ValidationInfo) -> Any:
    """JSON that can be stored; the path of what cannot is in the message."""
    try:
        encode(value, what=info.field_name or "value")
    except HoldfastError as error:
        raise ValueError(str(error)) from None
    return value


def _one_of(names: Collection[str]) -> WithJsonSchema:
    """For the document: which they are is checked where it can be told by name."""
    return WithJsonSchema({"anyOf": [{"type": "string", "enum": sorted(names)}, {"type": "null"}]})


Duration = Annotated[
    Any,
    BeforeValidator(_duration),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "pattern": r"^\s*(\d{1,9}(\.\d{1,3})?\s*(ms|s|m|h|d))+\s*$"},
                {"type": "number", "minimum": 0, "maximum": 3_000_000_000},
                {"type": "null"},
            ],
            "examples": ["5m"],
        }
    ),
]
"""A duration: "250ms", "5s", "10m", "2h", "1d", or a number of seconds."""

WAIT_SCHEMA = WithJsonSchema(
    {"anyOf": [{"type": "boolean"}, {"type": "number", "minimum": 0, "maximum": LONGEST_WAIT_S}]}
)
Wait = Annotated[float | None, BeforeValidator(_seconds), WAIT_SCHEMA]
"""True waits as long as is usual (None here), False not at all, a number so many seconds."""

Text = Annotated[str, BeforeValidator(storable_text), Field(min_length=1, max_length=200)]
Key = Annotated[str, BeforeValidator(storable_text), Field(min_length=1, max_length=512)]
Moment = Annotated[AwareDatetime, BeforeValidator(_moment)]
Reason = Annotated[str, BeforeValidator(storable_text), Field(min_length=1, max_length=1_000)]
Args = Annotated[dict[str, Any], BeforeValidator(_storable)]
JobId = Annotated[str, Field(min_length=1, max_length=64)]
Duplicates = Literal[
    "return", "reject", "replace", "allow", "allow_all", "allow_duplicate", "reject_duplicate", "reject_all"
]
"""What a second submit under a key gets: by our names, and by those that workflow schedulers use."""


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Terms(Body):
    """What may be said of anything that is submitted."""

    queue: Text | None = None
    priority: Annotated[StrictInt, Field(ge=-INT32 - 1, le=INT32)] | None = None
    delay: Duration = None
    start_after: Moment | None = None
    expires: Duration = None
    keep_until: Moment | None = None
    key: Key | None = None
    key_window: Duration = None
    duplicates: Duplicates | None = None
    timeout: Duration = None
    retry_limit: Annotated[StrictInt, Field(ge=0, le=10_000)] | None = None
    retry_delay: Duration = None
    retry_backoff: StrictBool | None = None
    tags: Annotated[list[Text], Field(max_length=100)] | None = None
    correlation_id: Text | None = None


class TaskJob(Terms):
    """A job of a task that is declared here."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        json_schema_extra={"examples": [{"task": "words", "args": {"html": "a b c"}, "queue": "texts", "key": "w-1"}]},
    )

    task: Text
    args: Args = Field(default_factory=dict)
    wait: Wait = 0.0


class Why(Body):
    reason: Reason | None = None


class Cancel(Why):
    """`soft` asks the worker and lets it end, `hard` takes the job from it."""

    mode: Literal["soft", "hard"] = "soft"


class Replay(Why):
    """`edits` replaces arguments by their names."""

    edits: Args = Field(default_factory=dict)


class Chosen(Why):
    """Which jobs a bulk change is about. Without `dry_run: false` it only says which they are."""

    dry_run: StrictBool = True
    ids: Annotated[list[JobId], Field(min_length=1, max_length=MOST_JOBS)] | None = None


class CancelMany(Chosen):
    mode: Literal["soft", "hard"] = "soft"
    state: Text | None = None
    task: Text | None = None
    queue: Text | None = None
    lifecycle: Text | None = None


class LetterFilter(Body):
    reason_code: Annotated[Text | None, _one_of(DLQ_REASONS)] = None
    stage: Annotated[Text | None, _one_of(DLQ_STAGES)] = None
    task: Text | None = None
    group: Text | None = None


class Letters(Chosen):
    """Dead letters by the ids of their jobs, by group, or by filter."""

    group: Text | None = None
    filter: LetterFilter | None = None


class ReplayMany(Letters):
    edits: Args = Field(default_factory=dict)

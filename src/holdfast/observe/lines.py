"""A log record as a line: JSON for programs, text for people. Both without secrets."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from typing import Any

import msgspec

from holdfast.observe import redact
from holdfast.observe.current import current

FIELDS = "holdfast_fields"
"""Where a record keeps the fields that our loggers were given, already without secrets."""
TRANSITION = "transition"

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", FIELDS, TRANSITION}
_encode = msgspec.json.Encoder(enc_hook=repr).encode


def fields_of(record: logging.LogRecord) -> dict[str, Any]:
    """Everything that a record says, by name, without secrets: its event, its own fields, and on whose behalf."""
    fields: dict[str, Any] | None = getattr(record, TRANSITION, None) or getattr(record, FIELDS, None)
    if fields is None:
        fields = {"event": redact.text(record.getMessage())}
        extra = {name: value for name, value in vars(record).items() if name not in _STANDARD}
        fields |= redact.fields(extra) if extra else {}
    running = current.get()
    if running is not None and fields.get("job_id", running.job_id) == running.job_id:
        fields = running.fields() | fields
    if record.exc_info:
        fields = fields | {"exception": redact.text(_traceback(record))}
    if record.stack_info:
        fields = fields | {"stack": redact.text(record.stack_info)}
    return fields


def _traceback(record: logging.LogRecord) -> str:
    return logging.Formatter().formatException(record.exc_info) if record.exc_info else ""


class JsonLines(logging.Formatter):
    """One JSON object a line: at, level, logger, event, then whatever else is said."""

    def format(self, record: logging.LogRecord) -> str:
        line = {"at": _iso(record.created), "level": record.levelname.lower(), "logger": record.name}
        fields = fields_of(record)
        return _encode(line | {"event": fields.get("event")} | fields).decode()


class TextLines(logging.Formatter):
    """Time, level, event and `key=value`: for eyes."""

    def __init__(self, *, colors: bool = False) -> None:
        import structlog  # for terminals alone: it loads more than a worker is made of

        super().__init__()
        self._render = structlog.dev.ConsoleRenderer(
            colors=colors, pad_event_to=24, exception_formatter=structlog.dev.plain_traceback
        )

    def format(self, record: logging.LogRecord) -> str:
        fields = dict(fields_of(record))
        trace = fields.pop("exception", None)
        head = {"timestamp": _iso(record.created)[11:-1], "level": record.levelname.lower(), "logger": record.name}
        line = str(self._render(None, "", head | fields | {"event": str(fields.get("event"))}))
        return f"{line}\n{trace}" if trace else line


def _iso(at_s: float) -> str:
    return datetime.fromtimestamp(at_s, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

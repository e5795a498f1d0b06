"""Loggers of structlog on top of the standard library's."""

from __future__ import annotations

import logging
from collections.abc import MutableMapping, Sequence
from typing import Any

import structlog

from holdfast.observe import redact
from holdfast.observe.lines import FIELDS

_in_full = structlog.stdlib.PositionalArgumentsFormatter()
_logfmt = structlog.processors.LogfmtRenderer(sort_keys=True, key_order=["event"])


def make(name: str, hearers: Sequence[structlog.typing.Processor]) -> Any:
    """A logger whose lines go to the standard library's logger of this name; `hearers` hear all of them before."""
    first: list[structlog.typing.Processor] = [_in_full, redact.processor]
    filtered = structlog.stdlib.filter_by_level
    return structlog.wrap_logger(
        logging.getLogger(name),
        processors=[*first, *hearers, filtered, _as_record] if hearers else [filtered, *first, _as_record],
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )


def _as_record(logger: Any, method: str, event: MutableMapping[str, Any]) -> tuple[tuple[str], dict[str, Any]]:
    """Text for any handler, and the fields beside it for those of ours."""
    passed = {name: event.pop(name) for name in ("exc_info", "stack_info") if name in event}
    return (str(_logfmt(logger, method, dict(event))),), passed | {"extra": {FIELDS: dict(event)}}

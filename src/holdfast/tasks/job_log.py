"""What a handler logs, on its way to its job: lines of JSON, so many and no more."""

from __future__ import annotations

import logging
import sys
import time
import traceback
from collections import deque
from collections.abc import Iterable, MutableMapping
from contextlib import suppress
from typing import Any

from holdfast.kernel.payload.encoding import sanitise
from holdfast.observe import redact

MOST_LINES = 1_000
MOST_BYTES = 1 << 20
LONGEST_LINE = 16_384
LOG = "job_log"
"""The type of a signal that is a line of the job's own log."""

OWN = frozenset({"job_id", "task", "attempt", "correlation_id", "event", "exc_info", "positional_args"})
"""Fields that every line has, or that are said in other words."""


class JobLog:
    """The lines of one attempt that are not sent yet. Any thread may add; the worker's loop takes."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque()
        self._lines_left = MOST_LINES
        self._bytes_left = MOST_BYTES

    def __bool__(self) -> bool:
        return bool(self._lines)

    def add(self, level: str, event: str, fields: dict[str, Any]) -> None:
        """Keep a line with its time. Beyond the bounds one last line says so, and nothing more is kept."""
        if self._lines_left <= 0:
            return
        line = _line(level, event, fields)
        self._lines_left -= 1
        self._bytes_left -= len(line.encode())
        if self._lines_left and self._bytes_left >= 0:
            self._lines.append(line)
            return
        self._lines_left = 0
        self._lines.append(_line("warning", "log_cut", {"lines": MOST_LINES, "bytes": MOST_BYTES}))

    def extend(self, lines: Iterable[str]) -> None:
        """Lines that another process has counted already."""
        self._lines.extend(lines)

    def take(self) -> list[str]:
        taken = []
        with suppress(IndexError):
            while True:
                taken.append(self._lines.popleft())
        return taken

    def hear(self, logger: logging.Logger, method: str, entry: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        """A structlog processor that listens: what the application does with the line is its own business."""
        level = {"exception": "error", "warn": "warning", "msg": "info"}.get(method, method)
        if level != "debug" or logger.isEnabledFor(logging.DEBUG):
            event = str(entry.get("event", ""))
            if args := entry.get("positional_args"):
                with suppress(TypeError, ValueError):  # the line as it was written, then
                    event %= args
            fields = {name: value for name, value in entry.items() if name not in OWN}
            if trace := _trace(entry.get("exc_info")):
                fields["exception"] = redact.text(trace)
            self.add(level, event, fields)
        return entry


def _line(level: str, event: str, fields: dict[str, Any]) -> str:
    line = {"time_ms": time.time_ns() // 1_000_000, "level": level, "event": event, "fields": fields}
    return sanitise(line, max_bytes=LONGEST_LINE)


def _trace(exc_info: Any) -> str | None:
    if not exc_info:
        return None
    if isinstance(exc_info, BaseException):
        return "".join(traceback.format_exception(exc_info))
    kind, error, trace = exc_info if isinstance(exc_info, tuple) else sys.exc_info()
    return None if kind is None else "".join(traceback.format_exception(kind, error, trace))

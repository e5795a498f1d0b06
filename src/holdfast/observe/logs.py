"""Loggers with fields, on top of the standard library: where lines go is for the application to say."""

from __future__ import annotations

import logging
from typing import Any

import structlog


def get_logger(name: str) -> Any:
    """A logger whose lines are `event=… key=value …`. Unless told otherwise, warnings go to stderr and no more."""
    return structlog.wrap_logger(
        logging.getLogger(name),
        processors=[
            structlog.stdlib.filter_by_level,
            structlog.processors.LogfmtRenderer(sort_keys=True, key_order=["event"]),
        ],
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )

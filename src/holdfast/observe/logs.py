"""Loggers with fields, on top of the standard library: where lines go is for the application to say.

A service (`holdfast serve`, `holdfast worker`) says it here: JSON lines on stderr where nobody watches, lines for
people on a terminal, and secrets in neither.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from types import TracebackType
from typing import TYPE_CHECKING, Any, TextIO

from holdfast.observe import redact
from holdfast.observe.lines import JsonLines, TextLines

if TYPE_CHECKING:
    from structlog.typing import Processor

VARIABLE = "HOLDFAST_LOG"
FORMS = ("json", "text")
LEVELS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "exception": logging.ERROR,
    "critical": logging.CRITICAL,
}


def get_logger(name: str, *hearers: Processor) -> Any:
    """A logger whose lines are `event=… key=value …`. Unless told otherwise, warnings go to stderr and no more.

    `hearers` are processors that hear every line, without secrets, whatever level the application has asked for.
    """
    return _Logger(name, hearers)


class _Logger:
    """structlog's, loaded with the first line that somebody wants: nine megabytes which a quiet worker never needs."""

    def __init__(self, name: str, hearers: tuple[Processor, ...]) -> None:
        self._name, self._hearers = name, hearers
        self._made: Any = None

    def __getattr__(self, method: str) -> Any:
        level = LEVELS.get(method)
        if level is not None and not self._hearers and not logging.getLogger(self._name).isEnabledFor(level):
            return _unheard
        if self._made is None:
            from holdfast.observe.structured import make

            self._made = make(self._name, self._hearers)
        return getattr(self._made, method)


def _unheard(*_: Any, **__: Any) -> None:
    """Nobody wants this line."""


def set_up(form: str | None = None, *, level: int = logging.INFO, stream: TextIO | None = None) -> str | None:
    """Send every log line of this process to stderr, as "json" or "text"; without a form, as HOLDFAST_LOG says.

    Where that says nothing either, a terminal gets text and all else gets JSON. An application that has set up its
    logging keeps it; secrets are then taken out on its handlers, and the answer is None instead of the form.
    Processes that this one starts do as it does.
    """
    redact.register_environment(os.environ)
    root = logging.getLogger()
    if root.handlers:
        for handler in root.handlers:
            if not any(isinstance(known, redact.RecordFilter) for known in handler.filters):
                handler.addFilter(redact.RecordFilter())
        return None
    stream = stream or sys.stderr
    asked = form or os.environ.get(VARIABLE) or ("text" if stream.isatty() else "json")
    handler = logging.StreamHandler(stream)
    handler.setFormatter(TextLines(colors=stream.isatty()) if asked == "text" else JsonLines())
    root.addHandler(handler)
    root.setLevel(level)
    logging.captureWarnings(True)
    if asked not in FORMS:
        get_logger("holdfast.logs").warning("unknown_form", variable=VARIABLE, given=asked, known=FORMS)
    sys.excepthook = _uncaught
    threading.excepthook = _uncaught_in_thread
    os.environ[VARIABLE] = asked = asked if asked in FORMS else "json"
    return asked


def _uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """The end of a process is a line like any other, secrets taken out."""
    if issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)
        return
    logging.getLogger("holdfast").critical("uncaught", exc_info=(kind, error, trace))


def _uncaught_in_thread(args: threading.ExceptHookArgs) -> None:
    if args.exc_value is not None and not isinstance(args.exc_value, SystemExit):
        logging.getLogger("holdfast").critical(
            "uncaught_in_thread", exc_info=(args.exc_type, args.exc_value, args.exc_traceback)
        )


def follow() -> None:
    """Log as the process that started this one, where it said how: the first thing that a handler's process does."""
    if os.environ.get(VARIABLE):
        set_up()

"""What telemetry is about: what is needed of the kernel's jobs and specs, for this package imports nothing of ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol


class Subject(Protocol):
    @property
    def id(self) -> str: ...
    @property
    def task(self) -> str: ...
    @property
    def queue(self) -> str: ...
    @property
    def correlation_id(self) -> str | None: ...
    @property
    def trace_id(self) -> str | None: ...
    @property
    def options(self) -> str | None: ...


class SomeJob(Subject, Protocol):
    @property
    def attempt(self) -> int: ...


class SomeSpec(Subject, Protocol):
    @property
    def state(self) -> str: ...
    @property
    def reason(self) -> str | None: ...
    @property
    def _replace(self) -> Callable[..., Any]: ...

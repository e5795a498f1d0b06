"""One declared stage: its function, when it runs, for how long, and what it is given."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, get_type_hints

from holdfast.kernel.errors import HoldfastError
from holdfast.systems.pipeline.declare.stage_context import StageContext
from holdfast.systems.pipeline.stages import BreakerRule
from holdfast.tasks.context import Context
from holdfast.tasks.durations import Duration, duration_ms
from holdfast.tasks.signature import EMPTY, Signature

CONFIG = "config"
DEFAULT_TIMEOUT = "600s"
DEFAULT_COOLDOWN = "5m"
ENABLED_IS = "True, False, the name of a field of the config, or a function of the config"
Enabled = bool | str | Callable[[Any], bool]
"""Always or never, the name of a field of the config, or a question asked of the config."""


class Breaker(BreakerRule):
    """Leave a stage alone after it failed so often in a row, in whichever runs; try it again after a while."""

    def __init__(self, failures: int, cooldown: Duration = DEFAULT_COOLDOWN) -> None:
        if isinstance(failures, bool) or failures < 1:
            raise HoldfastError(f"failures is {failures!r}", field="failures", remedy="a whole number from 1 up")
        cooldown_ms = duration_ms(cooldown, "cooldown")
        if cooldown_ms < 1:
            raise HoldfastError(f"cooldown is {cooldown!r}", field="cooldown", remedy="more than 0")
        super().__init__(failures, cooldown_ms)


@dataclass(frozen=True)
class Stage:
    """What `@pipe.stage` made of a function. `inputs` are the parameters that earlier stages fill."""

    name: str
    function: Callable[..., Any]
    signature: Signature
    inputs: dict[str, bool]
    """Parameters that earlier stages fill, and whether the stage cannot do without."""
    takes_config: bool
    enabled: Enabled
    timeout_ms: int
    breaker: BreakerRule | None
    is_async: bool

    def wanted(self, config: Any, plain: Mapping[str, Any]) -> bool:
        """Whether it runs under this config, as an object and as plain data."""
        if isinstance(self.enabled, str):
            return bool(plain.get(self.enabled, False))
        return self.enabled if isinstance(self.enabled, bool) else bool(self.enabled(config))

    def lacks(self, results: Mapping[str, Any]) -> str | None:
        """The first input that it cannot do without and that nobody made."""
        return next((name for name, needed in self.inputs.items() if needed and name not in results), None)

    def arguments(self, ctx: StageContext, results: Mapping[str, Any], config: Mapping[str, Any]) -> dict[str, Any]:
        """What its function is called with: values of the types that it names."""
        given = {name: results[name] for name in self.inputs if name in results}
        if self.takes_config:
            given[CONFIG] = config
        _, named = self.signature.unpack(given)
        if self.signature.context is not None:
            named[self.signature.context] = ctx
        return named


def declare_stage(
    pipeline: str,
    function: Callable[..., Any],
    earlier: Collection[str],
    *,
    name: str | None,
    enabled: Enabled,
    timeout: Duration,
    breaker: BreakerRule | int | None,
) -> Stage:
    """A stage from its function and options, each checked; what is wrong is named."""
    name = name or function.__name__
    where = f"{pipeline}.{name}"
    if not name.isidentifier() or name == CONFIG:
        raise HoldfastError(f"a stage cannot be named {name!r}", field="name", remedy="use a Python name, not config")
    if name in earlier:
        raise HoldfastError(f"two stages of {pipeline} are named {name!r}", field="name", remedy="give one name=…")
    signature = Signature(function, where, _context_type(function))
    parameters = [p for p in inspect.signature(function).parameters.values() if p.name != signature.context]
    for parameter in parameters:
        _refuse_unknown(where, parameter, earlier)
    if not isinstance(enabled, bool | str) and not callable(enabled):
        raise HoldfastError(f"{where}: enabled is {enabled!r}", field="enabled", remedy=ENABLED_IS)
    timeout_ms = duration_ms(timeout, "timeout")
    if timeout_ms < 1:
        raise HoldfastError(f"{where}: timeout is {timeout!r}", field="timeout", remedy="more than 0")
    return Stage(
        name=name,
        function=function,
        signature=signature,
        inputs={p.name: p.default is EMPTY for p in parameters if p.name in earlier},
        takes_config=any(p.name == CONFIG for p in parameters),
        enabled=enabled,
        timeout_ms=timeout_ms,
        breaker=Breaker(breaker) if isinstance(breaker, int) else breaker,
        is_async=inspect.iscoroutinefunction(function),
    )


def _context_type(function: Callable[..., Any]) -> type:
    """The type by which it asks for its context; a name that only the type checker knows asks for none."""
    try:
        hints = get_type_hints(function)
    except Exception:
        return StageContext
    return Context if Context in hints.values() else StageContext


def _refuse_unknown(where: str, parameter: inspect.Parameter, earlier: Collection[str]) -> None:
    if parameter.name in earlier or parameter.name == CONFIG:
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise HoldfastError(f"{where}: {parameter} is not given by name", field=parameter.name, remedy="name it")
        return
    if parameter.default is EMPTY:
        known = ", ".join([CONFIG, *earlier])
        raise HoldfastError(
            f"{where}: nothing fills its parameter {parameter.name!r}",
            field=parameter.name,
            remedy=f"name it after an earlier stage ({known}), give it a default, or annotate it as StageContext",
        )

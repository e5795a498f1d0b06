"""What a stage is given: its job's context, with progress, errors and steps that are the stage's own."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, ParamSpec, TypeVar

from holdfast.kernel.job import Job
from holdfast.observe import redact
from holdfast.tasks.context import AsyncLink, Context, Link

P = ParamSpec("P")
T = TypeVar("T")
MOST_ERRORS = 100
"""Of one stage: all are counted, so many are kept."""

LONGEST_CHARS = 2_000


class StageContext(Context):
    """Injected into a stage by its type, or by that of Context.

    `results` has what the stages before it returned. What it counts (`ctx.count(items=1)`) becomes its metrics.
    """

    def __init__(
        self,
        job: Job,
        stage: str,
        results: Mapping[str, Any],
        outer: Context,
        link: Link | None = None,
        alink: AsyncLink | None = None,
    ) -> None:
        super().__init__(job, link, alink)
        self.stage = stage
        self.results = results
        self.lines = outer.lines
        self.output_metadata = outer.output_metadata
        self.errors: list[dict[str, Any]] = []
        self.failed_items = 0
        self.words_sent_s = 0.0
        kept = outer.last_checkpoint
        if isinstance(kept, dict) and kept.get("stage") == stage:
            self.last_checkpoint = kept.get("data")

    def error(self, item: object, why: object) -> None:
        """Note that one item failed. The stage goes on, and ends as partial."""
        self.failed_items += 1
        if len(self.errors) < MOST_ERRORS:
            code = type(why).__name__ if isinstance(why, BaseException) else "item_failed"
            name, message = redact.text(str(item)), redact.text(str(why)) or code
            self.errors.append({"item": name[:LONGEST_CHARS], "code": code, "message": message[:LONGEST_CHARS]})

    def metrics(self) -> dict[str, float]:
        counted = dict(self.progress_state.counters)
        return counted | ({"items_failed": self.failed_items} if self.failed_items else {})

    # Steps and checkpoints carry the stage's name: two stages may call theirs alike.
    def step(self, name: str, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return super().step(f"{self.stage}/{name}", function, *args, **kwargs)

    async def astep(self, name: str, function: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        return await super().astep(f"{self.stage}/{name}", function, *args, **kwargs)

    def checkpoint(self, data: Any) -> None:
        super().checkpoint({"stage": self.stage, "data": data})
        self.last_checkpoint = data

    async def acheckpoint(self, data: Any) -> None:
        await super().acheckpoint({"stage": self.stage, "data": data})
        self.last_checkpoint = data

    def progress_payload(self) -> dict[str, Any]:
        """How far the stage is, as it is told to whoever watches."""
        progress: dict[str, Any] = json.loads(self.progress_state.to_json())
        return {"stage": self.stage, "failed_items": self.failed_items} | progress

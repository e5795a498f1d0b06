"""A pipeline that is killed, and a worker process that runs it: `python -m tests.systems.pipeline.press URL`."""

import asyncio
import logging
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from holdfast import Engine, StageContext
from holdfast.runtime.serving import serve_worker
from holdfast.systems.pipeline.declare.pipeline import Pipeline
from tests.app import note, noted

STAGES = ("collect", "sort", "write", "fold", "send")


@dataclass
class Order:
    file: str
    hold_in: str
    """The stage that waits for the file's neighbour `.go` to be there."""


def press(url: str) -> tuple[Engine, Pipeline[Order]]:
    app = Engine(url)
    pipe = app.pipeline("press", Order, lease="1s")

    def held(order: Order, stage: str) -> bool:
        return stage == order.hold_in and not Path(f"{order.file}.go").exists()

    @pipe.stage
    def collect(config: Order) -> list[int]:
        note(config.file, "collect")
        while held(config, "collect"):
            time.sleep(0.02)
        return [3, 1, 2]

    @pipe.stage
    async def sort(config: Order, collect: list[int]) -> list[int]:
        note(config.file, "sort")
        while held(config, "sort"):  # noqa: ASYNC110 - another process opens it
            await asyncio.sleep(0.02)
        return sorted(collect)

    @pipe.stage
    def write(ctx: StageContext, config: Order, sort: list[int]) -> str:
        for number in sort:
            ctx.step(f"line {number}", note, config.file, f"write {number}")
            ctx.count(lines=1)
            while number == 2 and held(config, "write"):
                time.sleep(0.02)
        return " ".join(map(str, sort))

    @pipe.stage(enabled=False)
    def fold() -> None:
        raise AssertionError("it is not enabled")

    @pipe.stage
    async def send(config: Order, write: str) -> str:
        note(config.file, "send")
        while held(config, "send"):  # noqa: ASYNC110 - as above
            await asyncio.sleep(0.02)
        return f"sent {write}"

    return app, pipe


__all__ = ["STAGES", "Order", "noted", "press"]

if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    sys.exit(serve_worker(press(sys.argv[1])[0]._inside, concurrency=2, grace_s=10.0))

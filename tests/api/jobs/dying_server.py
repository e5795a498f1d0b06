"""A server that kills itself in the middle of creating a job: `python -m tests.api.jobs.dying_server URL PORT WHEN`.

WHEN is before or after the commit, or never.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Generator
from typing import Any

from holdfast import Engine
from holdfast.api.running import serve
from holdfast.api.settings import ApiSettings
from tests.api.tasks import declare
from tests.tables import driver_of


def deadly(write: Callable[..., Any], when: str) -> Callable[..., Any]:
    """A driver's write that ends the process where a request's answer is kept."""

    async def deadly_write(script: Any, **how: Any) -> Any:
        keeps = False

        def watched() -> Generator[Any, Any, Any]:
            nonlocal keeps
            answer: Any = None
            try:
                while True:
                    step = script.send(answer)
                    keeps = keeps or getattr(step, "name", "") == "op_keep"
                    answer = yield step
            except StopIteration as end:
                if keeps and when == "before":
                    os.kill(os.getpid(), signal.SIGKILL)
                return end.value

        result = await write(watched(), **{**how, "single": False})
        if keeps and when == "after":
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    return deadly_write


def main(url: str, port: str, when: str) -> int:
    engine = Engine(url)
    declare(engine)

    async def arm() -> None:
        driver: Any = driver_of(await engine._inside.opened())
        driver.write = deadly(driver.write, when)

    engine._inside.portal.call(arm())
    return serve(
        engine._inside, ApiSettings(port=int(port)), chores=False, ready=lambda address: print(address, flush=True)
    )


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4]))

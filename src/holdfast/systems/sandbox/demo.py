"""A command in the demo."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

from holdfast.runtime.handle import JobHandle
from holdfast.runtime.inside import Inside


def part(app: Inside, queue: str) -> Callable[[], dict[str, JobHandle[str]]]:
    @app.task(lifecycle="sandbox", queue=queue, lease="2s")
    def typeset(headline: str) -> str:
        code = "import sys; print(sys.argv[1].upper())"
        command = [sys.executable, "-I", "-c", code, headline]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()  # noqa: S603 - our own

    return lambda: {"typeset headline": typeset.submit("nothing was lost")}

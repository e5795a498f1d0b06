"""The parent of a crew: forks a process per line of orders, and takes all of them along when it ends."""

import asyncio
import ctypes
import json
import os
import signal
import sys
import traceback
from typing import Any

# Loaded once, here: a fork then costs a millisecond where a fresh interpreter costs a third of a second.
import holdfast.store.postgres.driver
import holdfast.store.sqlite.driver  # noqa: F401
from tests.load.hands import TASKS, Report
from tests.load.sites import Site

PR_SET_PDEATHSIG = 1


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody needs to collect the dead
    parent = os.getpid()
    for line in sys.stdin.buffer:
        order = json.loads(line)
        pid = os.fork()
        if pid == 0:
            _become(order, parent)
        os.write(1, b"%d\n" % pid)


def _become(order: dict[str, Any], parent: int) -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    report = Report(order["report"])
    try:
        arguments = order["arguments"]
        arguments["site"] = Site(*arguments["site"])
        asyncio.run(TASKS[order["task"]](report, **arguments))
        report("end")
    except BaseException:
        report("error", traceback.format_exc())
        os._exit(1)
    os._exit(0)


if __name__ == "__main__":
    main()

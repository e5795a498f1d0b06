"""The first thing that a handler's process runs: `… FD ENTRY`, a socket's number and `module:function` to serve it."""

from __future__ import annotations

import ctypes
import importlib
import os
import runpy
import signal
import socket
import sys
import types
from typing import Any

from holdfast.executors.frames import Channel

PR_SET_PDEATHSIG = 1
MAIN = "__mp_main__"
"""The name that Python's own process pools give to a script that is loaded a second time."""

inside = False
"""Whether this process runs handlers for a worker."""


def main() -> None:
    global inside  # noqa: PLW0603 - it is about the process
    inside = True
    descriptor, entry = int(sys.argv[1]), sys.argv[2]
    _die_with_the_worker()
    # Ctrl-C and service managers signal whole groups: the worker decides when its processes end.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    channel = Channel(socket.socket(fileno=descriptor))
    frame = channel.receive()
    if frame is None:
        return
    sys.path[:] = frame[1]
    module, _, name = entry.partition(":")
    getattr(importlib.import_module(module), name)(channel)


def load_main(main: dict[str, Any]) -> None:
    """Load the worker's script here, under a name that keeps its `if __name__ == "__main__"` shut."""
    if MAIN in sys.modules:
        return
    if "name" in main:
        found = runpy.run_module(main["name"], run_name=MAIN, alter_sys=True)
    elif "path" in main:
        found = runpy.run_path(main["path"], run_name=MAIN)
    else:
        raise ImportError("the worker's script has no file that another process could load")
    module = types.ModuleType(MAIN)
    module.__dict__.update(found)
    sys.modules[MAIN] = sys.modules["__main__"] = module


def _die_with_the_worker() -> None:
    """Even a handler that never gives the interpreter back does not outlive its worker."""
    if sys.platform != "linux":
        return
    parent = os.getppid()
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)

"""`holdfast dev`: everything in one process, started anew whenever a Python file changes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Annotated

from cyclopts import Parameter

from holdfast.cli.exits import Exit
from holdfast.cli.invocation import Call, Invocation
from holdfast.cli.opened import plainly
from holdfast.config import Settings, load, without_password
from holdfast.extras import needs

PLAYGROUND = "holdfast.demo.playground:app"
STOP_WITHIN_S = 15.0
LOOK_EVERY_MS = 250


def dev(
    place: Annotated[str | None, Parameter(name="module:app")] = None,
    /,
    *,
    host: str | None = None,
    port: int | None = None,
    concurrency: Annotated[int, Parameter(name=["--concurrency", "-c"])] = 4,
    no_reload: bool = False,
    watched: Annotated[bool, Parameter(show=False)] = False,
    call: Call,
) -> int:
    """Run the store, the chores, a worker for all queues of the app, and the API, until Ctrl-C.

    Args:
        place:
            The module, a colon, and the engine's name in it; else --app, HOLDFAST_APP or app of holdfast.toml; else a
            few tasks to play with.
        host: The address to listen on; else HOLDFAST_HOST, else 127.0.0.1.
        port: The port; else HOLDFAST_PORT, else 54322. 0 takes any that is free.
        concurrency: How many jobs at once.
        no_reload: Do not start anew when a Python file below this directory changes.
        watched: Started by the process that watches the files: ends with it.
    """
    found = load({"db": call.db, "app": place or call.app, "host": host, "port": port})
    if no_reload or watched:
        if watched:
            _end_with_parent()
        return _run(call, found, concurrency)
    words = ["--concurrency", str(concurrency)]
    for name, value in (("--db", call.db), ("--host", host), ("--port", port)):
        if value is not None:
            words += [name, str(value)]
    place = place or call.app
    command = [sys.executable, "-m", "holdfast.cli", "dev", *([place] if place else []), *words, "--watched"]
    return Watcher(command, call).run(Path.cwd())


def _run(call: Invocation, found: Settings, concurrency: int) -> int:
    engine = call.engine(found.app or PLAYGROUND)
    with needs("server", "the HTTP API"):
        from holdfast.api.running import WorkerSettings, serve
        from holdfast.api.settings import ApiSettings
    from holdfast.observe.logs import set_up

    set_up("text")

    def ready(url: str) -> None:
        call.say(f"listening on {url}")
        call.say(f"  database  {without_password(engine.url)}")
        call.say(f"  worker    queues {', '.join(engine.registry.queues())}, {concurrency} at once")
        call.say(f"  API       {url}/api/docs")
        call.say(f"  tasks     {', '.join(sorted(task.name for task in engine.registry)) or 'none yet'}")
        if found.app is None:
            call.say(f"  try       holdfast --app {PLAYGROUND} run words -a text='a b c' --wait")
        call.say("  look      holdfast job list; Ctrl-C stops it")

    with plainly(engine.url):
        settings = ApiSettings(host=found.host, port=found.port)
        return serve(engine, settings, worker=WorkerSettings(concurrency=concurrency), ready=ready)


def _end_with_parent() -> None:
    """Stop as if told to when the watching process is gone, however it went: our standard input ends with it."""

    def listen() -> None:
        while os.read(0, 1024):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=listen, daemon=True).start()


class Watcher:
    """Runs a command, and runs it anew when a Python file changes."""

    def __init__(self, command: list[str], call: Invocation) -> None:
        self._command = command
        self._call = call
        self._asked_to_stop = threading.Event()
        self._child: subprocess.Popen[bytes] | None = None

    def run(self, folder: Path) -> int:
        """Until told to stop; then the exit code of the command."""
        with needs("cli", "to start anew"):
            from watchfiles import PythonFilter, watch

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._tell)
        self._start()
        looks = watch(
            folder,
            watch_filter=PythonFilter(),
            stop_event=self._asked_to_stop,
            rust_timeout=LOOK_EVERY_MS,
            yield_on_timeout=True,
            raise_interrupt=False,
        )
        reported = False
        for changes in looks:
            if changes:
                names = sorted({str(Path(path).relative_to(folder)) for _, path in changes})
                self._call.say(f"{', '.join(names[:3])} changed: starting anew")
                self._stop()
                self._start()
                reported = False
            elif not reported and self._child is not None and (code := self._child.poll()) is not None:
                if code in (Exit.OK, Exit.USAGE):
                    return code  # somebody stopped it alone, or no change of a file would help
                self._call.say(f"it ended with exit code {code}; waiting for a change")
                reported = True
        return self._stop()

    def _tell(self, number: int, frame: FrameType | None) -> None:
        self._asked_to_stop.set()

    def _start(self) -> None:
        # A group of its own: Ctrl-C reaches it through us, once, and not from the terminal too.
        self._child = subprocess.Popen(self._command, stdin=subprocess.PIPE, process_group=0)  # noqa: S603 - ourselves

    def _stop(self) -> int:
        child = self._child
        if child is None:
            return Exit.OK
        child.terminate()
        try:
            code = child.wait(STOP_WITHIN_S)
        except subprocess.TimeoutExpired:
            child.kill()
            code = child.wait()
        if child.stdin is not None:
            child.stdin.close()
        return code

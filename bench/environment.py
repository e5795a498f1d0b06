"""An environment for each contender, as its lock says: nothing of theirs comes near our own."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from bench.roster import OURS, Entrant

HERE = Path(__file__).parent
LOCKS = HERE / "peers"
ENVIRONMENTS = HERE / ".envs"
TIMEOUT_S = 600


class Unavailable(Exception):
    """A contender that cannot take part here, and why."""


def python_of(entrant: Entrant) -> Path:
    """The Python that runs it, made if it is not there or not what the lock says. Unavailable when it cannot be."""
    if entrant.name == OURS:
        return Path(sys.executable)
    home = ENVIRONMENTS / entrant.name
    python, stamp = home / "bin" / "python", home / ".lock"
    lock = LOCKS / f"{entrant.name}.lock"
    base = base_python(entrant.python) if entrant.python else Path(sys.executable)
    wanted = f"{hashlib.sha256(lock.read_bytes()).hexdigest()} {base}"
    if python.exists() and stamp.exists() and stamp.read_text() == wanted:
        return python
    home.parent.mkdir(exist_ok=True)
    _uv("venv", "--quiet", "--clear", "--python", str(base), str(home))
    _uv("pip", "sync", "--quiet", "--python", str(python), "--require-hashes", str(lock))
    stamp.write_text(wanted)
    return python


def base_python(least: tuple[int, int]) -> Path:
    """A Python of this machine that is new enough. None is fetched: which ones there are is the user's business."""
    if sys.version_info >= least:
        return Path(sys.executable)
    names = [f"python3.{minor}" for minor in range(least[1], least[1] + 4)]
    found = [Path(path) for name in names if (path := shutil.which(name))]
    # What pyenv puts on PATH answers only for versions that are switched on.
    versions = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser() / "versions"
    found += sorted(versions.glob("3.*/bin/python3"))
    for python in found:
        if _version(python) >= least:
            return python
    raise Unavailable("needs Python {}.{} or later, and there is none on this machine".format(*least))


def _version(python: Path) -> tuple[int, ...]:
    question = [str(python), "-c", "import sys; print(*sys.version_info[:2])"]
    answer = subprocess.run(question, capture_output=True, text=True, check=False)
    return tuple(map(int, answer.stdout.split())) if answer.returncode == 0 else ()


def _uv(*arguments: str) -> None:
    beside = Path(sys.executable).with_name("uv")
    uv = str(beside) if beside.exists() else shutil.which("uv")
    if uv is None:
        raise Unavailable("uv is not installed here")
    environment = {**os.environ, "UV_NO_CONFIG": "1", "UV_PYTHON_DOWNLOADS": "never"}
    environment.pop("VIRTUAL_ENV", None)
    try:
        run = subprocess.run(
            [uv, *arguments], env=environment, capture_output=True, text=True, check=False, timeout=TIMEOUT_S
        )
    except subprocess.TimeoutExpired:
        raise Unavailable(f"uv {arguments[0]} took longer than {TIMEOUT_S} s") from None
    if run.returncode:
        lines = run.stderr.strip().splitlines() or ["no reason given"]
        raise Unavailable(f"uv {arguments[0]}: {lines[0].removeprefix('error: ')}")

"""A place that is soon full: a small file system where we may mount one, else a limit on files."""

import contextlib
import os
import resource
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple


class SmallDisk(NamedTuple):
    folder: Path
    free: Callable[[], None]
    """Make room: what a person does who is called because the disk is full."""


@contextlib.contextmanager
def mounted(folder: Path, size_kb: int) -> Iterator[SmallDisk]:
    """Raises CalledProcessError where mounting is not allowed."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size_kb}k", "tmpfs", folder], check=True, capture_output=True)
    try:
        yield SmallDisk(folder, lambda: _remount(folder, size_kb * 8))
    finally:
        subprocess.run(["umount", "-l", folder], check=True, capture_output=True)


def _remount(folder: Path, size_kb: int) -> None:
    subprocess.run(["mount", "-o", f"remount,size={size_kb}k", folder], check=True, capture_output=True)


@contextlib.contextmanager
def limited(folder: Path, size_kb: int) -> Iterator[SmallDisk]:
    """Every file of this process ends at the limit. Python ignores SIGXFSZ: the write fails instead."""
    folder.mkdir(exist_ok=True)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_kb * 1024, before[1]))
    try:
        yield SmallDisk(folder, lambda: resource.setrlimit(resource.RLIMIT_FSIZE, before))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextlib.contextmanager
def small_disk(folder: Path, size_kb: int) -> Iterator[SmallDisk]:
    with contextlib.ExitStack() as stack:
        disk: SmallDisk | None = None
        if os.geteuid() == 0:
            with contextlib.suppress(subprocess.CalledProcessError, FileNotFoundError):
                disk = stack.enter_context(mounted(folder, size_kb))
        yield disk or stack.enter_context(limited(folder, size_kb))

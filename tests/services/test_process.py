"""What the launchers stand on."""

import os
import shutil
import signal
import threading
from pathlib import Path

import pytest

from tests.conftest import skip_if_missing
from tests.services import postgres, process


def test_what_a_killed_run_left_is_removed_and_what_is_in_use_is_not() -> None:
    orphan = process.SCRATCH_ROOT / f"{process.SCRATCH_PREFIX}orphan-{os.getpid()}"
    orphan.mkdir()
    with process.scratch_directory() as used, process.scratch_directory() as other:
        assert not orphan.exists()
        assert used.exists()
        assert other.exists()
    assert not used.exists()


def test_services_start_from_the_main_thread_only(tmp_path: Path) -> None:
    refused = []

    def start() -> None:
        try:
            process.spawn(["/bin/true"], log=tmp_path / "log", death_signal=signal.SIGKILL)
        except RuntimeError as error:
            refused.append(str(error))

    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
    assert refused == ["start services from the main thread"]


def test_a_missing_service_is_skipped_but_never_in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception), skip_if_missing():
        raise process.ServiceMissing("not here")
    monkeypatch.setenv("CI", "true")
    with pytest.raises(process.ServiceMissing), skip_if_missing():
        raise process.ServiceMissing("not here")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root starts PostgreSQL as somebody else")
def test_binaries_that_nobody_can_reach_are_copied(tmp_path: Path) -> None:
    package = postgres.bundled_bin_dir().parents[1]
    closed = tmp_path / "closed"
    for part in (package, package.with_name(f"{package.name}.libs")):
        shutil.copytree(part, closed / part.name, symlinks=True)
    closed.chmod(0o700)
    with postgres.running_postgres(bin_dir=closed / package.name / "pginstall" / "bin") as server:
        assert server.bin_dir.is_relative_to(server.data_dir.parent)

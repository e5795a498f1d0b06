"""`holdfast demo` needs nothing, ends by itself, and shows what it says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from holdfast.demo.story import INVARIANTS
from holdfast.kernel.proof import invariants

SHOWN = [
    "1  Five lifecycles",
    "kill -9 ",
    "lease_expired",
    "dead letter: exhausted_retries after 3 attempts",
    "replayed as a new job",
    "cancelled",
    "exit 0.",
    "sealed head ",
]


@pytest.mark.slow
def test_the_demo_tells_its_story(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HOLDFAST_")}
    environment |= {"TMPDIR": str(tmp_path), "PYTHONWARNINGS": "error"}
    began = time.monotonic()
    command = [sys.executable, "-m", "holdfast.cli", "demo"]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert time.monotonic() - began < 60
    assert done.stderr == ""
    assert "warning" not in done.stdout.lower()
    assert [words for words in SHOWN if words not in done.stdout] == []
    for lifecycle_end in ("COMPLETED", "SKIPPED", "completed", "succeeded", "retry_pending"):
        assert lifecycle_end in done.stdout
    for name, words in INVARIANTS.items():
        assert re.search(rf"{name}  {re.escape(words)} +0 violations", done.stdout)
    audited = re.search(r"  0 violations in (\d+) jobs, \d+ events", done.stdout)
    ended = re.findall(r"(\d+) (?:succeeded|skipped|cancelled|dead_lettered)\b", done.stdout)
    assert audited, done.stdout
    assert int(audited[1]) == sum(map(int, ended)) > 14, "every job has ended, and every one was audited"
    assert list(tmp_path.iterdir()) == [], "the demo leaves nothing behind"


def test_the_demo_names_every_invariant() -> None:
    documented = re.findall(r"\bI\d+\b", (invariants.__doc__ or ""))
    assert list(INVARIANTS) == documented

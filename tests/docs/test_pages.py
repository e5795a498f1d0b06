"""README, quickstart and guides do what they say, and print no warning. So do the examples."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import blocks, commands, pattern, play

ROOT = Path(__file__).resolve().parents[2]
PAGES = {
    "README.md": 2,
    "docs/quickstart.md": 7,
    "docs/how-to/testing.md": 2,
    "docs/how-to/handlers.md": 1,
    "docs/how-to/schedules.md": 5,
    "docs/how-to/pipelines.md": 3,
    "docs/how-to/flows.md": 5,
    "docs/how-to/systems.md": 5,
}
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_a_page_runs_as_it_is_written(page: str, tmp_path: Path) -> None:
    assert play(ROOT / page, tmp_path) == PAGES[page]


def test_every_page_that_can_be_run_is_run() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    with_commands = {
        str(page.relative_to(ROOT)) for page in pages if any(b.kind == "console" for b in blocks(page.read_text()))
    }
    assert with_commands == set(PAGES)


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_an_example_runs(example: Path, tmp_path: Path) -> None:
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    command = [sys.executable, "-W", "error", str(example)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert done.stderr == ""


def test_every_example_is_listed() -> None:
    listed = (ROOT / "examples" / "README.md").read_text()
    assert len(EXAMPLES) >= 4
    assert [path.name for path in EXAMPLES if f"[{path.name}]" not in listed] == []


def test_links_between_pages_lead_somewhere() -> None:
    broken = []
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").glob("*.md")]:
        for link in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
            if "://" not in link and not (page.parent / link).exists():
                broken.append(f"{page.relative_to(ROOT)}: {link}")
    assert broken == []


def test_a_console_is_read_as_commands_and_what_they_print() -> None:
    assert commands("$ a\nx…\n$ b\n") == [("a", ["x…"]), ("b", [])]
    assert pattern(["1.…", "b"]) == "1\\..*\nb"

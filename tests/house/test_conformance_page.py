"""The plugin refuses bad marks, and the committed page is what the suite says."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import conformance

ROOT = Path(__file__).resolve().parents[2]


def test_all_rules_are_there_and_numbered_without_gaps() -> None:
    sizes = {
        "crawl": ("C", 20),
        "durable": ("D", 29),
        "pipeline": ("P", 12),
        "workflow": ("W", 17),
        "sandbox": ("S", 21),
    }
    for lifecycle, (letter, size) in sizes.items():
        numbers = list(conformance.rules_by_lifecycle()[lifecycle])
        assert numbers == [f"{letter}{number:02d}" for number in range(1, size + 1)]
    assert len(conformance.known_rules()) == 99


def test_the_committed_page_is_up_to_date() -> None:
    # In a process of its own: pytest does not collect the suite that it is running.
    result = run([sys.executable, "-m", "tests.conformance", "--check"], environment_without_pytest())
    assert result.returncode == 0, result.stdout + result.stderr


def test_a_rule_lists_its_tests_once_and_in_order() -> None:
    page = conformance.render({"D07": {"tests/b.py::test_b", "tests/a.py::test_a"}})
    line = next(line for line in page.splitlines() if line.startswith("| D07 "))
    assert line.endswith("| `tests/a.py::test_a`<br>`tests/b.py::test_b` |")
    assert "Proven: 1 of 99 rules." in page
    assert page == conformance.render({"D07": ["tests/b.py::test_b", "tests/a.py::test_a"]})


BAD_MARKS = {
    '"D99"': "no such rule in tests/rules.toml: D99",
    '"D07", "X01"': "no such rule in tests/rules.toml: X01",
    "": "write @pytest.mark.rule",
    "7": "write @pytest.mark.rule",
}


@pytest.mark.parametrize("workers", [[], ["-p", "xdist", "-n", "1"]], ids=["alone", "xdist"])
def test_bad_marks_fail_collection(tmp_path: Path, workers: list[str]) -> None:
    for number, mark in enumerate(BAD_MARKS):
        file = tmp_path / f"test_marked_{number}.py"
        file.write_text(
            f"import pytest\n@pytest.mark.rule({mark})\n@pytest.mark.parametrize('n', [1, 2])\ndef test_it(n): pass\n"
        )
    result = run_pytest(tmp_path, *workers)
    assert result.returncode not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
    assert [message for message in BAD_MARKS.values() if message not in result.stdout] == []
    assert f"{len(BAD_MARKS)} errors" in result.stdout


def test_several_rules_on_class_and_function_are_accepted(tmp_path: Path) -> None:
    file = tmp_path / "test_marked.py"
    file.write_text(
        "import pytest\n@pytest.mark.rule('D07', 'D08')\nclass TestIt:\n"
        "    @pytest.mark.rule('C01')\n    def test_it(self): pass\n"
    )
    result = run_pytest(tmp_path)
    assert result.returncode == 0, result.stdout


def run_pytest(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    # Without the other plugins, which take longer to load than these tests to run.
    environment = {**environment_without_pytest(), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    options = [
        "-p",
        "tests.conformance",
        "-p",
        "no:cacheprovider",
        f"--rootdir={directory}",
        "-c",
        os.devnull,
    ]
    return run([sys.executable, "-m", "pytest", *options, *arguments, str(directory)], environment)


def environment_without_pytest() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}


def run(command: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)

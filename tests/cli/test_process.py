"""The installed program, end to end: how fast it answers, its exit codes, its two streams."""

import os
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

import pytest

import holdfast
from tests.cli.conftest import Cli
from tests.cli.seeds import job_id

PROGRAM = Path(sys.executable).with_name("holdfast")


def run(*words: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if name not in {"HOLDFAST_DB", "COLUMNS"}}
    return subprocess.run(
        [PROGRAM, *words],
        cwd=cwd,
        env=kept | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_the_version_comes_at_once(tmp_path: Path) -> None:
    wall_ms, processor_ms = [], []
    for _ in range(5):
        used_s, began_s = children_s(), time.perf_counter()
        answer = run("version", cwd=tmp_path)
        wall_ms.append((time.perf_counter() - began_s) * 1000)
        processor_ms.append((children_s() - used_s) * 1000)
        assert (answer.returncode, answer.stdout) == (0, f"holdfast {holdfast.__version__}\n")
    # It waits for nothing: on a machine with a free processor, what it uses is what it takes.
    assert statistics.median(processor_ms) < 150, processor_ms
    if os.getloadavg()[0] < (os.cpu_count() or 1):
        assert statistics.median(wall_ms) < 150, wall_ms


def children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_the_version_loads_nothing_heavy(tmp_path: Path) -> None:
    code = (
        "import sys; from holdfast.cli import main; main(['version']);"
        "heavy = {'cyclopts', 'rich', 'asyncio', 'sqlite3', 'asyncpg', 'attrs'} & sys.modules.keys();"
        "sys.exit(', '.join(heavy) or 0)"
    )
    done = subprocess.run([sys.executable, "-I", "-c", code], check=False, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_every_way_to_ask_for_the_version(cli: Cli) -> None:
    plain = cli("version").out
    assert cli("--version").out == cli("version", "-o", "table").out == plain
    assert cli("version", "--json").out == cli("--json", "version").out
    assert cli("version", "--json").json == {"name": "holdfast", "version": holdfast.__version__}


WRONG: list[tuple[list[str], int, str]] = [
    (["jbo"], 2, 'Unknown command "jbo". Did you mean "job"?'),
    (["lifecycle", "show", "shop"], 3, "no lifecycle 'shop'"),
    (["job", "list"], 6, "holdfast db migrate"),
    (["job", "lst"], 2, 'Unknown command "lst"'),
    (["lifecycle", "list", "--colour"], 2, "Unknown option: --colour"),
    (["--colour", "lifecycle", "list"], 2, "--colour"),
    (["lifecycle", "list", "more"], 2, "more"),
    (["job", "show"], 2, "ID"),
    (["lifecycle", "list", "--db"], 2, "--db"),
    (["verify", "none.json"], 3, "no file 'none.json'"),
]


@pytest.mark.parametrize(("words", "code", "told"), WRONG[:3], ids=str)
def test_the_program_ends_with_an_exit_code_and_one_line(
    tmp_path: Path, words: list[str], code: int, told: str
) -> None:
    answer = run(*words, cwd=tmp_path)
    assert (answer.returncode, answer.stdout) == (code, "")
    assert told in answer.stderr
    assert answer.stderr.count("\n") == 1


@pytest.mark.parametrize(("words", "code", "told"), WRONG)
def test_what_goes_wrong_is_one_line_on_stderr(
    cli: Cli, tmp_path: Path, words: list[str], code: int, told: str
) -> None:
    answer = cli(*words)
    assert (answer.code, answer.out) == (code, "")
    assert told in answer.err
    assert answer.err.startswith("holdfast: ")
    assert answer.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_data_on_stdout_words_on_stderr(tmp_path: Path, sqlite_db: str) -> None:
    answer = run("job", "list", "--limit", "3", cwd=tmp_path, HOLDFAST_DB=sqlite_db)
    assert answer.returncode == 0
    assert answer.stderr == f"more: --cursor {job_id('pending')}\n"
    # No terminal: no colours, and room enough for a line a job.
    assert "\x1b" not in answer.stdout + answer.stderr
    assert len(answer.stdout.splitlines()) == 2 + 3


def test_help_is_data(cli: Cli) -> None:
    for words in (["--help"], ["job", "--help"], ["job", "list", "-h"], [], ["job"]):
        answer = cli(*words)
        assert (answer.code, answer.err) == (0, "")
        assert "Usage: holdfast" in answer.out
        assert "--db" in answer.out


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [str(PROGRAM), "lifecycle", "show", "workflow", "--json"]
    done = subprocess.run(command, cwd=tmp_path, stdout=writer, stderr=subprocess.PIPE, check=False, timeout=60)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.parametrize("form", ["table", "json", "jsonl", "ids"])
def test_every_form_before_and_after_the_command(cli: Cli, sqlite_db: str, form: str) -> None:
    before = cli("-o", form, "--db", sqlite_db, "job", "show", job_id("done"))
    between = cli("job", "-o", form, "show", "--db", sqlite_db, job_id("done"))
    after = cli("job", "show", job_id("done"), f"--output={form}", "--db", sqlite_db)
    assert before.code == 0
    assert before == between == after
    assert job_id("done") in before.out

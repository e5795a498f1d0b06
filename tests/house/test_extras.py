"""The package alone submits and works on SQLite. Whatever else is asked of it names the extra that brings it."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.docs.pages import blocks
from tests.house.installed import EXTRAS, PROJECT, ROOT, closure, declared, environment

CLI = "import sys; from holdfast.cli import main; sys.exit(main())"
HELP = """
import contextlib, io
from holdfast.cli.app import app, run

def walk(node, words):
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        assert run([*words, "--help"]) == 0, words
    assert "Usage" in shown.getvalue(), words
    return 1 + sum(walk(node[name], [*words, name]) for name in node if not name.startswith("-"))

assert walk(app, []) > 40
"""
AUDIT = """
import asyncio
from holdfast.audit.auditor import audit

if __name__ == "__main__":
    report = asyncio.run(audit("sqlite:///.holdfast/holdfast.db"))
    print(report.jobs, report.total_violations)
"""
MISSING: list[tuple[tuple[str, ...], str, str]] = [
    ((), "from holdfast import Engine; Engine('postgresql://x/y').list_jobs()", "PostgreSQL needs the asyncpg package"),
    ((), "from holdfast import Engine; Engine('http://x:1')", "an API in place of a database needs the httpx package"),
    (("cli",), f"import sys; sys.argv[1:] = ['serve']; {CLI}", "the HTTP API needs the uvicorn package"),
    (("cli",), f"import sys; sys.argv[1:] = ['dev', '--no-reload']; {CLI}", "the HTTP API needs the uvicorn package"),
    (
        ("cli",),
        f"import sys; sys.argv[1:] = ['worker', 'hello:app', '--metrics-port', '0']; {CLI}",
        "--metrics-port needs the prometheus-client package",
    ),
]
REMEDIES = {"asyncpg": "postgres", "httpx": "client", "uvicorn": "server", "prometheus-client": "metrics"}


@pytest.fixture(scope="module")
def pythons(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, ...], Path]:
    folder = tmp_path_factory.mktemp("installed")
    wanted: list[tuple[str, ...]] = [(), ("cli",), ("client",), ("server",)]
    return {extras: environment(folder / "-".join(["core", *extras]), *extras) for extras in wanted}


def run(python: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "HOLDFAST"))}
    words = (str(python), *words)
    return subprocess.run(words, cwd=folder, env=kept, capture_output=True, text=True, timeout=60, check=False)


def hello(folder: Path) -> str:
    """The README's first program, in a file."""
    program = next(block.text for block in blocks((ROOT / "README.md").read_text()) if block.kind == "python")
    (folder / "hello.py").write_text(program)
    return "hello.py"


def test_the_core_alone_runs_the_first_program_and_audits_it(
    pythons: dict[tuple[str, ...], Path], tmp_path: Path
) -> None:
    ran = run(pythons[()], tmp_path, hello(tmp_path))
    assert (ran.stdout, ran.stderr, ran.returncode) == ("8\n", "", 0)
    (tmp_path / "audited.py").write_text(AUDIT)
    audited = run(pythons[()], tmp_path, "audited.py")
    assert (audited.stdout, audited.stderr) == ("1 0\n", "")


def test_the_core_alone_has_every_public_name(pythons: dict[tuple[str, ...], Path], tmp_path: Path) -> None:
    code = "import holdfast, holdfast.testing as t; [getattr(m, name) for m in (holdfast, t) for name in m.__all__]"
    code += "; import holdfast.testing.files_conformance, holdfast.testing.store_conformance"
    assert run(pythons[()], tmp_path, "-c", code).stderr == ""


def test_the_command_without_its_extra_says_so_in_a_line(pythons: dict[tuple[str, ...], Path], tmp_path: Path) -> None:
    ran = run(pythons[()], tmp_path, "-c", CLI)
    said = "holdfast: the command line needs the cyclopts package; pip install 'holdfast[cli]'\n"
    assert (ran.returncode, ran.stdout, ran.stderr) == (1, "", said)
    version = run(pythons[()], tmp_path, "-m", "holdfast.cli", "--version")
    assert (version.returncode, version.stdout.partition(" ")[0]) == (0, "holdfast")


@pytest.mark.parametrize(("extras", "code", "said"), MISSING, ids=[said for _, _, said in MISSING])
def test_what_is_missing_says_which_extra(
    pythons: dict[tuple[str, ...], Path], tmp_path: Path, extras: tuple[str, ...], code: str, said: str
) -> None:
    hello(tmp_path)
    ran = run(pythons[extras], tmp_path, "-c", code)
    extra = REMEDIES[said.split()[-2]]
    assert ran.stderr.splitlines()[-1].endswith(f"{said}; pip install 'holdfast[{extra}]'")
    assert ran.returncode == (2 if extras else 1)
    assert any(line.startswith(said.split()[-2]) for line in EXTRAS[extra]) or extra == "server"


@pytest.mark.slow
def test_the_command_line_needs_no_other_extra(pythons: dict[tuple[str, ...], Path], tmp_path: Path) -> None:
    assert run(pythons[("cli",)], tmp_path, "-c", HELP).stderr == ""
    hello(tmp_path)
    submitted = run(
        pythons[("cli",)], tmp_path, "-c", f"{CLI}", "run", "words", "--app", "hello:app", "--arg", "text=a"
    )
    assert submitted.returncode == 0, submitted.stderr


@pytest.mark.slow
def test_server_and_client_need_no_other_extra(pythons: dict[tuple[str, ...], Path], tmp_path: Path) -> None:
    serves = "import holdfast.api.running, holdfast.api.app"
    asks = "from holdfast import Engine; Engine('http://127.0.0.1:1', key='hf_x').close()"
    assert run(pythons[("server",)], tmp_path, "-c", serves).stderr == ""
    assert run(pythons[("client",)], tmp_path, "-c", asks).stderr == ""


def test_all_brings_every_extra() -> None:
    [everything] = EXTRAS["all"]
    brought = {extra for name in ("all", "server") for line in EXTRAS[name] for extra in _extras_of(line)}
    assert brought == set(EXTRAS) - {"all"}, everything


def _extras_of(line: str) -> list[str]:
    return line.removeprefix("holdfast[").removesuffix("]").split(",") if line.startswith("holdfast[") else []


def test_the_lock_of_the_demo_is_the_core_and_the_command_line() -> None:
    locked = {
        line.partition("==")[0]
        for line in (ROOT / "requirements" / "core.lock").read_text().splitlines()
        if "==" in line and not line.startswith((" ", "#"))
    }
    needed = closure(declared("cli"))
    assert needed <= locked
    assert not locked & (closure(declared("server")) - needed), "what only a server needs"
    assert len(PROJECT["dependencies"]) == 4

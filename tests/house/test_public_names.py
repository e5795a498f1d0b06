"""What users may import is listed: a new public name shows in review, in tests/house/public_names.txt."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import holdfast

PACKAGE = Path(holdfast.__file__).parent
LISTED = Path(__file__).with_name("public_names.txt")
OF_AN_ENGINE = {
    *("close", "flow", "pipeline", "schedule", "submit", "task", "url", "worker"),
    *("cancel_job", "dead_letters", "follow", "get_job", "list_jobs", "pause_queue"),
    *("replay", "resume_job", "resume_queue", "retry_job"),
}


def test_the_public_names_are_the_listed_ones() -> None:
    assert sorted(holdfast.__all__) == LISTED.read_text().split()


def test_every_public_name_can_be_had() -> None:
    assert [name for name in holdfast.__all__ if not hasattr(holdfast, name)] == []


@pytest.mark.parametrize("url", ["sqlite:///never-opened.db", "http://nobody:1"])
def test_an_engine_shows_what_users_may_ask_of_it_and_no_more(url: str) -> None:
    names = {name for name in dir(holdfast.Engine(url)) if not name.startswith("_")}
    twins = {name for name in names if name[0] == "a" and name[1:] in OF_AN_ENGINE}
    assert names - twins == OF_AN_ENGINE


def test_a_package_that_exports_says_what() -> None:
    silent = []
    for file in sorted(PACKAGE.rglob("__init__.py")):
        body = ast.parse(file.read_text()).body
        imports = any(isinstance(node, ast.ImportFrom) and node.module != "__future__" for node in body)
        assigned = {
            target.id
            for node in body
            if isinstance(node, ast.Assign | ast.AnnAssign)
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
            if isinstance(target, ast.Name)
        }
        if imports and "__all__" not in assigned:
            silent.append(str(file.relative_to(PACKAGE)))
    assert silent == []


def test_importing_holdfast_imports_no_metadata() -> None:
    # The version is looked up when it is asked for: importing must stay fast.
    code = "import sys, holdfast; sys.exit('importlib.metadata' in sys.modules)"
    subprocess.run([sys.executable, "-I", "-c", code], check=True)


def test_the_version_is_the_installed_one() -> None:
    from importlib.metadata import version

    assert holdfast.__version__ == version("holdfast")

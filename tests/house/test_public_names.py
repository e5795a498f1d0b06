"""What users may import is listed: a new public name shows in review, in tests/house/public_names.txt."""

import ast
import subprocess
import sys
from pathlib import Path

import holdfast

PACKAGE = Path(holdfast.__file__).parent
LISTED = Path(__file__).with_name("public_names.txt")


def test_the_public_names_are_the_listed_ones() -> None:
    assert sorted(holdfast.__all__) == LISTED.read_text().split()


def test_every_public_name_can_be_had() -> None:
    assert [name for name in holdfast.__all__ if not hasattr(holdfast, name)] == []


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

"""The kernel only decides: no I/O, no clock, no chance, nothing third-party, nothing else of ours."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src"
KERNEL = SOURCE / "holdfast" / "kernel"
PURE_MODULES = {
    "__future__",
    "bisect",
    "collections",
    "collections.abc",
    "dataclasses",
    "enum",
    "functools",
    "hashlib",
    "itertools",
    "json",
    "math",
    "re",
    "typing",
}
IMPURE_BUILTINS = {"open", "input", "print", "eval", "exec", "__import__", "breakpoint"}


def imported_modules(tree: ast.Module, package: list[str]) -> list[str]:
    """Absolute names of all modules that a file imports, wherever in the file."""
    names = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            # `from holdfast import store` names a module in its last word.
            names += [f"{module}.{alias.name}" for alias in node.names] if module == "holdfast" else [module]
    return names


def is_allowed(module: str) -> bool:
    return module in PURE_MODULES or module == "holdfast.kernel" or module.startswith("holdfast.kernel.")


def impurities(source: str, package: list[str]) -> list[str]:
    tree = ast.parse(source)
    found = [f"imports {name}" for name in imported_modules(tree, package) if not is_allowed(name)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in IMPURE_BUILTINS:
            found.append(f"line {node.lineno} calls {node.func.id}")
    return found


def test_every_kernel_file_is_pure() -> None:
    found = {
        str(file.relative_to(SOURCE)): wrong
        for file in sorted(KERNEL.rglob("*.py"))
        if (wrong := impurities(file.read_text(), list(file.relative_to(SOURCE).parent.parts)))
    }
    assert found == {}


@pytest.mark.parametrize(
    "source",
    [
        "import time",
        "import asyncio.events",
        "from datetime import datetime",
        "from ..store import port",
        "from .. import errors",
        "from holdfast import store",
        "def late():\n    import random",
        "open('x')",
    ],
)
def test_the_check_sees(source: str) -> None:
    assert impurities(source, ["holdfast", "kernel"]) != []


@pytest.mark.parametrize("source", ["from . import job", "from .job import Job", "from collections.abc import Mapping"])
def test_the_check_allows(source: str) -> None:
    assert impurities(source, ["holdfast", "kernel"]) == []

"""A name says what it holds: words that only say that somebody spoke, or that it is here, name nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.house import measures

ROOT = Path(__file__).resolve().parents[2]
EMPTY = {"said", "told", "here", "its"}


def test_no_name_says_only_that_something_was_said() -> None:
    found = {
        source.module: sorted(names)
        for source in measures.sources(ROOT)
        if (names := {name for name in _named(source.tree) if name.strip("_").lower() in EMPTY})
    }
    assert found == {}


def _named(tree: ast.Module) -> Iterator[str]:
    """What this file gives a name to."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                yield name
            case ast.Attribute(attr=name, ctx=ast.Store()):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name

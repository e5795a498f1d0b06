"""The outside is on file: the API's document and every command's help. A change shows in review, never by accident.

`python -m tests.house.test_golden` writes the files anew.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

GOLDEN = Path(__file__).with_name("golden")
ROOT = Path(__file__).resolve().parents[2]


def api_document() -> str:
    from holdfast import Engine
    from holdfast.api.app import create_app

    document = create_app(Engine("sqlite:///never-opened.db")._inside).openapi()
    document["info"]["version"] = "any"
    return "".join(f"{name}: {_json(part)}\n" for name, part in _parts(document))


def _parts(document: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """A line for each operation and each shape: what differs between two versions is named by its line."""
    for path, ways in document.pop("paths").items():
        yield from ((f"{method.upper()} {path}", way) for method, way in ways.items())
    yield from sorted(document.pop("components")["schemas"].items())
    yield "document", document


def _json(part: Any) -> str:
    return json.dumps(part, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def help_of_all() -> str:
    """Every command's own page, in the order of its name, a hundred columns wide."""
    from rich.console import Console

    from holdfast.cli.app import app

    pages: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "100")
        # Its own console is as wide as it was when something was first printed.
        patch.setattr(app, "console", Console(width=100))
        for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
            patch.delenv(name, raising=False)
        _pages([], pages)
    return "\n".join(pages)


def _pages(words: list[str], pages: list[str]) -> None:
    from holdfast.cli.app import app, run

    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert run([*words, "--help"]) == 0, words
    pages.append(f"$ holdfast {' '.join([*words, '--help'])}\n{out.getvalue()}")
    command = app
    for word in words:
        command = command[word]
    for name in sorted(name for name in command if not name.startswith("-")):
        _pages([*words, name], pages)


MADE = {"openapi.txt": api_document, "help.txt": help_of_all}


@pytest.mark.parametrize("name", MADE)
def test_what_is_seen_from_outside_is_what_is_on_file(name: str) -> None:
    # In a process of its own: how wide a terminal is, a console asks once.
    environment = {**os.environ, "COLUMNS": "100"}
    command = [sys.executable, "-m", "tests.house.test_golden", name]
    made = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=True)
    assert made.stdout == (GOLDEN / name).read_text(), "if this is meant: python -m tests.house.test_golden"


if __name__ == "__main__":
    os.environ["COLUMNS"] = "100"
    if sys.argv[1:]:
        sys.stdout.write(MADE[sys.argv[1]]())
    else:
        for file, make in MADE.items():
            (GOLDEN / file).write_text(make())

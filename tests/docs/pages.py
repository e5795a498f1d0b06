"""Documentation as it is run: files are written, commands run, and what they print is what the page says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

FENCE = re.compile(r"^```(python|console|toml)\n(.*?)^```$", re.M | re.S)
ANYTHING = "…"


class Block(NamedTuple):
    kind: str
    text: str


def blocks(page: str) -> list[Block]:
    return [Block(kind, text) for kind, text in FENCE.findall(page)]


def commands(text: str) -> list[tuple[str, list[str]]]:
    """The commands of a console, each with the lines that it prints."""
    found: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        else:
            found[-1][1].append(line)
    return found


def pattern(lines: list[str]) -> str:
    """Lines as a pattern: an ellipsis stands for anything within its line."""
    return "\n".join(".*".join(re.escape(part) for part in line.split(ANYTHING)) for line in lines)


def write(block: Block, page: Path, folder: Path) -> None:
    """A python block as the file that its first line names; a package's own pyproject.toml as what installing makes."""
    name = re.match(r"# ([\w/]+\.py|pyproject\.toml)\n", block.text)
    assert name, f"{page.name}: a block starts with the name of its file: {block.text[:40]!r}"
    if block.kind == "toml":
        install(tomllib.loads(block.text), folder)
        return
    file = folder / name[1]
    file.parent.mkdir(exist_ok=True)
    file.write_text(block.text)


def install(pyproject: Mapping[str, Any], folder: Path) -> None:
    """What an installer leaves beside a package: its name, and its entry points."""
    project = pyproject["project"]
    info = folder / f"{project['name']}-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    lines = [
        line
        for group, points in project["entry-points"].items()
        for line in (f"[{group}]", *(f"{name} = {place}" for name, place in points.items()))
    ]
    (info / "entry_points.txt").write_text("\n".join(lines))


def play(page: Path, folder: Path) -> int:
    """Run a page from its top to its end in an empty folder; how many commands that were."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("HOLDFAST_", "PYTEST_"))}
    environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
    # This suite's plugin, not the reader's: it warns where it is not configured.
    # What a page installs lies in the folder itself.
    environment["PYTHONPATH"] = str(folder)
    environment |= {"COLUMNS": "160", "PYTHONDONTWRITEBYTECODE": "1", "PYTEST_ADDOPTS": "-p no:asyncio"}
    ran = 0
    for block in blocks(page.read_text()):
        if block.kind != "console":
            write(block, page, folder)
            continue
        for command, expected in commands(block.text):
            done = subprocess.run(  # noqa: S602 - a page of ours is written for a shell
                command,
                shell=True,
                cwd=folder,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
                timeout=60,
            )
            said = f"{page.name}: $ {command}\n{done.stdout}{done.stderr}"
            assert done.returncode == 0, said
            assert not re.search(r"warning|traceback", done.stdout + done.stderr, re.I), said
            wanted = pattern(expected)
            lines = [line.rstrip() for line in done.stdout.splitlines() if line.strip()]
            assert re.search(rf"(?:^|\n){wanted}$" if wanted else r"^$", "\n".join(lines)), (
                f"{said}\nexpected:\n{wanted}"
            )
            ran += 1
    return ran

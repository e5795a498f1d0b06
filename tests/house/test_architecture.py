"""ARCHITECTURE.md has a paragraph for each room and a contract behind it; what the pages name is there."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "holdfast"
ARCHITECTURE = ROOT / "ARCHITECTURE.md"
PARAGRAPHS = [part for part in ARCHITECTURE.read_text().split("\n\n") if part.startswith("**") and "Contract" in part]
PAGES = [ARCHITECTURE, *sorted((ROOT / "docs" / "explanation").glob("*.md"))]
CONTRACTS = {
    contract["id"]
    for contract in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
}


def test_each_room_has_a_paragraph() -> None:
    rooms = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").is_file()}
    told = {room for part in PARAGRAPHS for room in re.findall(r"\*\*(\w+)/\*\*", part)}
    assert told == rooms


def test_each_paragraph_names_its_contract() -> None:
    named = [set(re.findall(r"`(\w+)`", re.split(r"Contracts?: ", part)[-1])) for part in PARAGRAPHS]
    assert [part for part, names in zip(PARAGRAPHS, named, strict=True) if not names & CONTRACTS] == []
    assert set().union(*named) >= CONTRACTS


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_files_that_a_page_names_are_there(page: Path) -> None:
    named = re.findall(r"`((?:\w+/)+[\w.*]+\.(?:py|sql))`", page.read_text())
    assert [name for name in named if not any([*PACKAGE.glob(name), *ROOT.glob(name)])] == []

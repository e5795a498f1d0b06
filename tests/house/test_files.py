"""Rules of the house about files, as tests."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"
MAX_LINES = 400
# Where packages come from is the business of who installs, not of the repository.
INDEX_HOST = re.compile(rb"\b(?:pypi|pythonhosted|npmjs|yarnpkg)\.(?:org|com)\b", re.IGNORECASE)


def tracked_files() -> list[Path]:
    """Tracked files, and those about to be: untracked and not ignored."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    return sorted(path for name in listing.stdout.split("\0") if name and (path := ROOT / name).is_file())


def test_no_source_file_is_long() -> None:
    sources = [path for path in SOURCE.rglob("*") if path.suffix in {".py", ".sql"}]
    lengths = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in sources}
    assert {name: length for name, length in lengths.items() if length > MAX_LINES} == {}


def test_no_file_names_a_package_index() -> None:
    assert [str(path.relative_to(ROOT)) for path in tracked_files() if INDEX_HOST.search(path.read_bytes())] == []


def test_every_sql_file_says_its_purpose() -> None:
    silent = [
        str(path.relative_to(ROOT))
        for path in sorted((SOURCE / "holdfast" / "store").rglob("*.sql"))
        if not re.match(r"-- *\w+ +\w+", path.read_text())
    ]
    assert silent == []


def test_the_wheel_carries_every_file_of_the_package(tmp_path: Path) -> None:
    import sys
    import zipfile

    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    packed = set(zipfile.ZipFile(wheel).namelist())
    wanted = {str(path.relative_to(SOURCE)) for path in tracked_files() if path.is_relative_to(SOURCE)}
    assert wanted - packed == set()

"""A wrong argument to submit is red in the editor: mypy accepts what is right and names every line that is not."""

import subprocess
import sys
from pathlib import Path

import pytest

PREAMBLE = """
from __future__ import annotations
from holdfast import Context, Engine, JobHandle

app = Engine("sqlite:///unused.db")

@app.task
def fetch(url: str) -> str: return url

@app.task(retries=5, lease="60s")
def words(ctx: Context, html: str) -> int: return len(html)

@app.task
async def crawl(ctx: Context, url: str, depth: int = 1) -> list[str]: return [url] * depth
"""

RIGHT = """
a: JobHandle[str] = fetch.submit("u")
b: int = words.submit("html").result(timeout=3)
c: int = words.options(priority=3, delay="2s", retry_limit=2).submit(html="x").result()
words.options(tags=["a", "b"])
d: list[str] = crawl.submit("u", depth=2).result()

async def caller() -> int:
    return await (await words.asubmit("x")).aresult()
"""

WRONG = """
fetch.submit(3)
fetch.submit()
words.submit("x", "y")
crawl.submit("u", deep=2)
e: str = words.submit("x").result()
words.options(prio=3)
words.options(priority="high")
app.task(retires=3)
app.task(retries="3")
"""


def mypy(folder: Path, text: str) -> list[int]:
    """The lines of what follows the preamble in which mypy finds something."""
    file = folder / "checked.py"
    file.write_text(PREAMBLE + text)
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir", str(folder / "cache")]
    done = subprocess.run([*command, str(file)], capture_output=True, text=True, check=False, cwd=folder)
    assert done.returncode in (0, 1), done.stderr
    before = PREAMBLE.count("\n")
    found = [line.split(":") for line in done.stdout.splitlines() if ": error:" in line]
    assert all(Path(parts[0]).name == "checked.py" for parts in found), done.stdout
    return sorted({int(parts[1]) - before for parts in found})


@pytest.mark.slow
def test_mypy_accepts_what_is_right_and_nothing_else(tmp_path: Path) -> None:
    assert mypy(tmp_path, RIGHT) == []
    assert mypy(tmp_path, WRONG) == [2, 3, 4, 5, 6, 7, 8, 9, 10]

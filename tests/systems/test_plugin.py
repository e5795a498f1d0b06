"""A system of another package joins by its entry point; one that cannot is left out, said to be, and in nobody's way.

The package is that of docs/how-to/systems.md, as it is there after its installation, beside processes of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import blocks, install, write
from tests.engines import STORES, address

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/how-to/systems.md"
JOBS = """
import json
from post import app, deliver

@app.task
def errand() -> None: ...

with app.worker():
    jobs = [deliver.submit("Ada"), deliver.submit("nowhere"), errand.submit()]
    print(json.dumps([[job.id, job.wait(30)] for job in jobs]))
"""
HTTP = """
import json, sys
from holdfast.api.settings import ApiSettings
from tests.api.shell import OPEN_TO_ALL, shell_on

db, paths = sys.argv[1], sys.argv[2:]
with shell_on(db, ApiSettings(host=OPEN_TO_ALL)) as shell:
    key = shell.key("read").token
    asked = [shell.ask("GET", path, key=key, base="http://any") for path in paths]
    asked += [shell.ask("GET", paths[0], base="http://any")]
    print(json.dumps([[answer.status_code, answer.json()] for answer in asked]))
"""


class Site:
    """A folder of packages, and processes that see it."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder = folder
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("HOLDFAST_", "PYTEST_"))}
        self._environment = kept | {"HOLDFAST_DB": url}

    def run(self, *words: str, code: int = 0, plugins: bool = True) -> subprocess.CompletedProcess[str]:
        seen = [str(self.folder)] if plugins else []
        path = os.pathsep.join([*seen, os.environ.get("PYTHONPATH", "")])
        environment = self._environment | {"PYTHONPATH": path}
        done = subprocess.run(
            [sys.executable, *words], cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=60
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done

    def python(self, code: str, *words: str) -> Any:
        return json.loads(self.run("-c", code, *words).stdout)

    def holdfast(self, *words: str, code: int = 0, plugins: bool = True) -> Any:
        return json.loads(self.run("-m", "holdfast.cli", "--json", *words, code=code, plugins=plugins).stdout)


@pytest.fixture(params=STORES)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return address(request, tmp_path)


@pytest.mark.slow
def test_a_system_of_another_package_brings_all_that_ours_bring(url: str, tmp_path: Path) -> None:
    site = Site(tmp_path / "site", url)
    site.folder.mkdir()
    for block in blocks(PAGE.read_text()):
        if block.kind != "console":
            write(block, PAGE, site.folder)
    (good, delivered), (bad, returned), (other, _) = site.python(JOBS)
    assert (delivered, returned) == ("delivered", "returned")

    tracking = f"HF-{good[-6:].upper()}"
    assert [view["id"] for view in site.holdfast("parcel", "list")] == [bad, good]
    shown = site.holdfast("job", "show", good)
    assert (shown["lifecycle"], shown["state"], shown["tracking"]) == ("parcel", "delivered", tracking)
    explained = site.holdfast("job", "explain", bad)
    assert explained["sentence"] == "returned: nobody was at home"
    assert explained["command"] == f"holdfast job retry {bad}"
    # The suite's own PostgreSQL waits for no disk, which is bad.
    found = site.holdfast("doctor", code=0 if url.startswith("sqlite") else 1)
    [look] = [look for look in found["checks"] if look["check"] == "parcels"]
    assert (look["level"], look["detail"]) == ("ok", "0 wait to be collected")
    assert "parcel" in site.run("-m", "holdfast.cli", "--help").stdout

    answer, job, wrong, document, closed = site.python(
        HTTP, url, f"/api/parcels/{good}", f"/api/jobs/{good}", f"/api/parcels/{other}", "/api/openapi.json"
    )
    assert answer == [200, {"id": good, "state": "delivered", "tracking": tracking, "result": "given to Ada, by van"}]
    assert job[1]["tracking"] == tracking
    assert (wrong[0], wrong[1]["code"]) == (404, "no_parcel")
    assert closed[0] == 401
    route = document[1]["paths"]["/api/parcels/{id}"]["get"]
    assert route["x-scope"] == "read"
    assert "no_parcel" in route["x-problems"]

    site.run("-m", "holdfast.cli", "audit")
    # Where it is not installed, its jobs are still known for what they are, and still proven.
    assert site.holdfast("job", "show", good, plugins=False)["state"] == "delivered"
    assert "0 violations in 3 jobs" in site.run("-m", "holdfast.cli", "audit", plugins=False).stdout


def test_a_chore_of_a_plugin_is_done(tmp_path: Path) -> None:
    site = Site(tmp_path / "site", f"sqlite:///{tmp_path}/jobs.db")
    site.folder.mkdir()
    for block in blocks(PAGE.read_text()):
        if block.kind != "console":
            write(block, PAGE, site.folder)
    site.run(
        "-c",
        "import parcels.chores, post, time\n"
        "parcels.chores.WEEK_MS, parcels.chores.Postmaster.every_s = 0, 0.05\n"
        "job = post.deliver.options(queue='nobody').submit('Ada')\n"
        "with post.app.worker():\n"
        "    assert job.wait(20) == 'called_back'\n",
    )


SYSTEM = "from holdfast.catalog import Noun, System\nSYSTEM = System(name='{name}'{more})\n"
LIFECYCLE = "from holdfast import Lifecycle\nTABLE = Lifecycle(name='{name}', states={states}, transitions=())\n"
BROKEN = {
    "import": ("import stamps_that_nobody_has", "ModuleNotFoundError: No module named 'stamps_that_nobody_has'"),
    "kind": ("SYSTEM = 'parcel'", "broken:SYSTEM is a str, not a holdfast.catalog.System"),
    "name": (SYSTEM.format(name="flow", more=""), "a system is named 'flow' already"),
    "lifecycle's name": (
        "from holdfast.systems.crawl.lifecycle import CRAWL\n"
        + SYSTEM.format(name="other", more=", lifecycles=('broken:CRAWL',)"),
        "a lifecycle is named 'crawl' already",
    ),
    "lifecycle": (
        LIFECYCLE.format(name="odd", states="()") + SYSTEM.format(name="odd", more=", lifecycles=('broken:TABLE',)"),
        "lifecycle 'odd'",
    ),
    "command": (
        "app = None\n" + SYSTEM.format(name="other", more=", cli={'job': Noun('broken:app', '')}"),
        "a command is named 'job' already",
    ),
    "executor": (
        "def van(site): ...\n" + SYSTEM.format(name="other", more=", executors={'thread': 'broken:van'}"),
        "an executor is named 'thread' already",
    ),
    "route": (
        "from fastapi import APIRouter\nrouter = APIRouter()\nrouter.get('/jobs/{any}')(print)\n"
        + SYSTEM.format(name="other", more=", routes=('broken:router',)"),
        "GET /api/jobs/{} is served already",
    ),
    "problem": (
        "KINDS = {'not_found': (404, '', '')}\n" + SYSTEM.format(name="other", more=", problems='broken:KINDS'"),
        "a problem is called 'not_found' already",
    ),
    "part": (
        SYSTEM.format(name="other", more=", views='broken:VIEWS'"),
        "AttributeError: module 'broken' has no attribute 'VIEWS'",
    ),
}
WORKS = """
import sys
from holdfast import Engine
from holdfast.api.app import create_app
from holdfast.cli import main

app = Engine()

@app.task
def greet() -> str:
    return "hello"

with app.worker():
    assert greet.submit().result(20) == "hello"
create_app(app._inside).openapi()
app.close()
sys.exit(main(["--json", "doctor"]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("case", BROKEN)
def test_a_plugin_that_cannot_join_is_named_and_in_nobodys_way(case: str, tmp_path: Path) -> None:
    source, why = BROKEN[case]
    site = Site(tmp_path / "site", f"sqlite:///{tmp_path}/jobs.db")
    site.folder.mkdir()
    (site.folder / "broken.py").write_text(source)
    install(
        {
            "project": {
                "name": "strange",
                "version": "2",
                "entry-points": {"holdfast.systems": {"odd": "broken:SYSTEM"}},
            }
        },
        site.folder,
    )
    done = site.run("-c", WORKS, code=1)
    as_a_whole = case in ("import", "kind", "name", "lifecycle's name", "lifecycle")
    named = "odd of strange 2" if as_a_whole else "other"
    [look] = [look for look in json.loads(done.stdout)["checks"] if look["check"] == "system"]
    assert look["level"] == "bad"
    assert look["detail"].startswith(f"{named} is left out: ")
    assert why in look["detail"]
    assert look["remedy"].startswith("upgrade or uninstall the package")
    assert done.stderr.count("\n") == 1, "it is said once"
    assert done.stderr.startswith("event=system_refused ")

"""`make house`: how the house is built, in figures, beside what it was before or what another checkout is.

`--base PATH` measures another checkout for the first column, `--json` prints the figures, `--write` makes the page.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.house import measures
from tests.house.ways import ROOT, WAYS, Figures, walked

WAY_NAMES = {
    "claim": "claim a job",
    "run": "run its function, in a thread",
    "finish": "write its end, with its progress",
    "node": "a node's end to its child's start",
    "submit": "submit a job, blocking",
    "seal": "seal the log's next events",
    "read": "GET /jobs/{id}",
    "change": "POST /jobs/{id}/cancel, with a key",
    "event": "a commit to the client of a stream",
}

BEFORE = Path(__file__).with_name("before.json")
PAGE = ROOT / "docs" / "explanation" / "house.md"
# Everything that belongs to it alone, in this layout and in the one before.
OF_PROCESSES = (
    *("executors.process", "executors.processes", "executors.process_child", "executors.process_main"),
    *("executors.frames", "executors.spawned", "runtime.apart"),
)
OF_FLOWS = ("systems.flow", "store.graph", "kernel.graph")
Table = dict[str, int | str]

HEAD = """# The house in figures

Before the rooms were built, and now; `make house` measures it again, `make house BASE=/another/checkout` compares. What
is counted how is in tests/house: the sizes by reading ([measures](../../tests/house/measures.py)), the ways by walking
them ([ways](../../tests/house/ways.py)). A hop is a function of the product that waits while the next one has the call:
from the one who asks, through every thread, to the statement, to the handler or to the client's socket. A trip is a
call of the database's driver, and a statement what goes to the database, BEGIN and COMMIT among them.

"""


def sizes(checkout: Path) -> Table:
    python = [source.path for source in measures.sources(checkout)]
    statements = measures.statement_files(checkout)
    folders = measures.files_by_folder(checkout, ".py")
    largest = folders.most_common(1)[0]
    return {
        "files of Python": len(python),
        "lines of Python": measures.line_count(python),
        "largest folder": f"{largest[1]} ({largest[0]})",
        "folders of more than 20 files": sum(count > measures.ROOM for count in folders.values()),
        "files of SQL": len(statements),
        "lines of SQL": measures.line_count(statements),
        "lines of Python that stand twice": measures.repeated_lines(python),
        "lines of SQL that stand twice": measures.repeated_lines(statements),
        "imports of the store's inside from outside": len(measures.imports_past_the_door(checkout)),
        "statements put together outside the store": len(measures.statements_outside(checkout)),
        "functions of more than 60 lines": len(measures.long_functions(checkout)),
        "names of classes used twice": len(measures.class_names_used_twice(checkout)),
        'files that name the executor "process"': len(measures.files_that_choose(checkout, "process", OF_PROCESSES)),
        "files that name pipelines, outside their room": len(
            measures.files_that_name(checkout, "pipeline", ("systems.pipeline",))
        ),
        "files that name flows, outside their rooms": len(measures.files_that_name(checkout, "flow", OF_FLOWS)),
    }


def ways(checkout: Path) -> Table:
    """Each way on each database."""
    return {
        f"{way}: {name}, {database}": figure
        for database, url in _databases()
        for way, found in walked(url, checkout).items()
        for name, figure in found._asdict().items()
    }


def _databases() -> Iterator[tuple[str, str]]:
    with tempfile.TemporaryDirectory() as folder:
        yield "SQLite", f"sqlite:///{folder}/jobs.db"
    with contextlib.ExitStack() as stack:
        from tests.services.postgres import running_postgres
        from tests.services.process import ServiceMissing

        try:
            server = stack.enter_context(running_postgres(settings={"fsync": "off"}))
        except ServiceMissing:
            return
        yield "PostgreSQL", server.dsn


def measured(checkout: Path) -> Table:
    return sizes(checkout) | ways(checkout)


def page(before: Table, now: Table) -> str:
    lines = ["| | before | now |", "|---|--:|--:|"]
    lines += [f"| {name} | {before.get(name, '')} | {value} |" for name, value in now.items() if ":" not in name]
    lines += ["", "Ways on SQLite and PostgreSQL, before → now:", ""]
    lines += ["| way | " + " | ".join(Figures._fields) + " |", "|---|" + "--:|" * len(Figures._fields)]
    for database in ("SQLite", "PostgreSQL"):
        for way in WAYS:
            names = [f"{way}: {field}, {database}" for field in Figures._fields]
            if names[0] in now:
                cells = [f"{before.get(name, '')} → {now[name]}" for name in names]
                lines.append(f"| {WAY_NAMES[way]}, {database} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.house", description=__doc__)
    parser.add_argument("--base", type=Path, help="another checkout, for the first column")
    parser.add_argument("--json", action="store_true", help="print the figures of this checkout, or of the base")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.relative_to(ROOT)}")
    options = parser.parse_args()
    if options.json:
        print(json.dumps(measured(options.base or ROOT), indent=1))
        return
    before: Table = measured(options.base) if options.base else json.loads(BEFORE.read_text())
    made = page(before, measured(ROOT))
    print(made)
    if options.write:
        PAGE.write_text(HEAD + made)


if __name__ == "__main__":
    main()

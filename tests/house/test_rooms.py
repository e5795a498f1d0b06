"""What a room keeps to itself, as far as imports alone do not say it. A list of exceptions only shrinks: one that is no
longer needed fails, too.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import pytest

from tests.house import measures

ROOT = Path(__file__).resolve().parents[2]
WRITES = re.compile(r"\b(?:insert (?:or \w+ )?into|update|delete from)\s+(holdfast_\w+)", re.IGNORECASE)

CLASSES_USED_TWICE = 24

AT_HOME = {
    "sqlite3": ("holdfast.store.*",),
    "asyncpg": ("holdfast.store.*",),
    "fastapi": ("holdfast.api.*", "holdfast.systems.*.routes*"),
    "starlette": ("holdfast.api.*", "holdfast.systems.*.routes*"),
    "uvicorn": ("holdfast.api.*",),
    "cyclopts": ("holdfast.cli.*", "holdfast.systems.*.cli*"),
    "rich": ("holdfast.cli.*", "holdfast.demo.*", "holdfast.systems.*.cli*"),
}
"""Which rooms know a package."""

NOT_AT_HOME = {
    "sqlite3": [
        "holdfast.api.problems.handlers",
        "holdfast.cli.opened",
        "holdfast.cli.operate.checkup",
        "holdfast.cli.proof.db_check",
        "holdfast.worker.writer",
    ],
    "asyncpg": ["holdfast.cli.operate.bench", "holdfast.cli.operate.checkup", "holdfast.cli.proof.db_check"],
    "fastapi": [],
    "starlette": [],
    "uvicorn": [],
    "cyclopts": [],
    "rich": [],
}

TIME_AND_CHANCE = {
    *{("time", "time"), ("time", "time_ns"), ("time", "sleep")},
    *{("datetime", "now"), ("datetime", "utcnow"), ("date", "today")},
}
"""What a test could not move. Waits measure themselves with `time.monotonic`."""

OF_THEIR_OWN = {
    "holdfast.chores.runner": "random.uniform",
    "holdfast.cli.operate.bench": "time.sleep",
    "holdfast.cli.operate.checkup": "time.time",
    "holdfast.cli.render": "datetime.now",
    "holdfast.client.connection": "random.uniform",
    "holdfast.commands.triggers": "random.random",
    "holdfast.demo.board": "time.sleep",
    "holdfast.demo.tasks": "time.sleep",
    "holdfast.systems.crawl.demo": "time.sleep",
    "holdfast.systems.flow.demo": "time.sleep",
    "holdfast.systems.pipeline.demo": "time.sleep",
    "holdfast.store.jobs.claiming": "random.random",
    "holdfast.store.sqlite.driver": "time.sleep time.time_ns",
    "holdfast.tasks.cron": "datetime.now",
    "holdfast.tasks.job_log": "time.time_ns",
    "holdfast.worker.worker": "random.random",
}
"""Who asks the time, or chance, by himself."""

WRITTEN_BY = {
    "admin": ["holdfast_api_key", "holdfast_dead", "holdfast_lifecycle", "holdfast_queue", "holdfast_worker"],
    "blobs": ["holdfast_blob", "holdfast_chunk", "holdfast_put"],
    "graph": ["holdfast_deadline", "holdfast_edge", "holdfast_flow", "holdfast_node"],
    "jobs": [
        *("holdfast_artifact", "holdfast_checkpoint", "holdfast_dead", "holdfast_gate", "holdfast_held"),
        *("holdfast_job", "holdfast_key", "holdfast_lease", "holdfast_log", "holdfast_op", "holdfast_ready"),
        *("holdfast_rest", "holdfast_signal", "holdfast_step"),
    ],
    "pipeline": [],
    "read": [],
    "upkeep": [
        *("holdfast_dead", "holdfast_deadline", "holdfast_edge", "holdfast_job", "holdfast_log", "holdfast_op"),
        *("holdfast_purge", "holdfast_rest", "holdfast_schedule", "holdfast_seal", "holdfast_signal"),
    ],
}
"""Which tables the statements of each part of the store write."""


def test_statements_are_put_together_in_the_store() -> None:
    assert measures.statements_outside(ROOT) == []


def test_a_part_of_the_store_writes_its_own_tables() -> None:
    found: dict[str, set[str]] = {part: set() for part in WRITTEN_BY}
    for path in measures.statement_files(ROOT):
        part = path.relative_to(ROOT / "src" / "holdfast" / "store").parts[0]
        if part != "schema":
            text = re.sub(r"--.*", "", path.read_text())
            found.setdefault(part, set()).update(WRITES.findall(text))
    assert {part: sorted(tables) for part, tables in found.items()} == WRITTEN_BY


def test_the_store_is_entered_by_its_door() -> None:
    assert measures.imports_past_the_door(ROOT) == []


def test_a_name_is_one_class() -> None:
    assert len(measures.class_names_used_twice(ROOT)) <= CLASSES_USED_TWICE


def test_a_folder_is_one_room() -> None:
    crowded = {
        folder: count for folder, count in measures.files_by_folder(ROOT, ".py").items() if count > measures.ROOM
    }
    assert crowded == {}


def test_no_function_is_several() -> None:
    assert measures.long_functions(ROOT) == []


@pytest.mark.parametrize("package", AT_HOME)
def test_a_package_is_known_where_it_is_at_home(package: str) -> None:
    strangers = [
        source.module
        for source in measures.sources(ROOT)
        if any(name.partition(".")[0] == package for name in measures.imports(source))
        and not any(fnmatch(source.module, room) for room in AT_HOME[package])
    ]
    assert sorted(strangers) == NOT_AT_HOME[package]


def test_time_and_chance_are_given() -> None:
    found = {source.module: " ".join(sorted(set(_asked(source.tree)))) for source in measures.sources(ROOT)}
    assert {module: asked for module, asked in found.items() if asked} == OF_THEIR_OWN


def _asked(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            name = (node.value.id, node.attr)
            if name in TIME_AND_CHANCE or (name[0] == "random" and name[1] != "Random"):  # one that is seeded is given
                yield ".".join(name)


def test_time_and_chance_are_seen() -> None:
    assert list(_asked(ast.parse("random.random(); time.monotonic(); time.time()"))) == ["random.random", "time.time"]

"""The SQL: one named statement a file, beside the script that uses it.

`claim.sqlite.sql` and `claim.postgres.sql` are the same statement for two stores; `get.sql` is one for both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import NamedTuple

from holdfast.store.macros import expand

PARAMETER = re.compile(r"(?<![:\w]):([a-z_]+)\b")
WRITES = re.compile(r"\b(insert into|update|delete from)\b|\bfor (update|share)\b", re.IGNORECASE)
MIGRATION = re.compile(r"\d{4}_\w+")


class Statement(NamedTuple):
    """A statement's text, and its parameters in order of first appearance."""

    text: str
    names: tuple[str, ...]
    writes: bool
    """Whether it changes or locks rows."""


FILTERS = ("state", "task", "queue", "lifecycle", "correlation_id", "key_scope", "key")
"""What a walk may pass over; what has an index is rather walked along."""
WALKS = {
    "parent_id": ("parent_id",),
    "key": ("key_scope", "key"),
    "correlation_id": ("correlation_id",),
    "state": ("state",),
    "task": ("task",),
    "id": (),
}
"""Ways to go through jobs by id, newest first: the columns that stand before the id in the index of each."""
OF_PLACES = ("queue", "lifecycle")
"""What the places where jobs stand know of them as well."""

INDEXES = {"parent_id": "parent", "correlation_id": "correlation", "task": "task"}
"""What an index of its own tells of a job, without a look at it."""

STANDS = "stands"
"""A filter for jobs of a state wherever they stand; that of `state` is for those at rest alone."""

PARTIAL = ("correlation_id", "parent_id")


MOVES = ("ready+ready", "ready+rest", "lease+ready", "lease+lease", "lease+rest", "rest+ready", "rest+rest")
"""From which place to which jobs move, but for a claim."""


def _variant(dialect: str, words: str) -> dict[str, str]:
    """What `name@words` adds to a statement: texts, never values.

    `list@state+task` is `list` along the states, with a filter; `drop@step.job_id` is `drop` for that table's column.
    """
    if words in MOVES:
        place, goal = words.split("+")
        more = ", tries, losses, starts, dues, expiries, outcomes"
        gathered = (
            ", array_agg(tries), array_agg(losses), array_agg(started_at_ms), array_agg(due_at_ms), "
            "array_agg(expires_at_ms), array_agg(outcome)"
        )
        leases = goal == "lease"
        return {
            "leave": files(dialect)[f"leave_{place}"].read_text(),
            "enter": files(dialect)[f"enter_{goal}"].read_text(),
            "more": more if leases else "",
            "and_more": gathered if leases else "",
        }
    if "." in words:
        table, column = words.split(".")
        return {"table": f"holdfast_{table}", "column": column}
    along, *filters = words.split("+")
    if along == "standing":
        own = " ".join(f"AND {name} = :{name}" for name in OF_PLACES if name in filters)
        indexed = " ".join(_of_index(name) for name in INDEXES if name in filters)
        others = [name for name in FILTERS if name in filters and name not in OF_PLACES and name not in INDEXES]
        return {"own": own, "where": f"{indexed} {_of_job(others)}"}
    walked = "holdfast_rest" if along == "state" else "holdfast_job"
    return {
        "walked": walked,
        "range": _range(dialect, along),
        "order": f"{WALKS[along][0]} DESC, id DESC" if len(WALKS[along]) == 1 else "id DESC",
        "where": " ".join(_passes(walked, f) for f in (*FILTERS, STANDS) if f in filters),
    }


def _passes(walked: str, filter: str) -> str:
    """A filter. In this disguise a column is no invitation to use its index instead, a partial one neither.

    What another table has is looked up: a join that was planned while there was nothing would read all of it.
    """
    if filter == STANDS:
        return "AND (SELECT place.state = :state FROM holdfast_jobs AS place WHERE place.id = stretch.id)"
    if filter == "state":
        return "AND (SELECT rest.state = :state FROM holdfast_rest AS rest WHERE rest.id = stretch.id)"
    if walked == "holdfast_job":
        return f"AND coalesce(stretch.{filter}, '') || '' = :{filter}"
    return _of_job([filter])


def _of_job(filters: Sequence[str]) -> str:
    """Filters that only the job itself can tell, in words that no plan begins at the jobs with."""
    passes = "".join(f" AND coalesce(job.{name}, '') || '' = :{name}" for name in filters)
    return f"AND (SELECT 1 FROM holdfast_job AS job WHERE job.id = stretch.id{passes}) IS NOT NULL" if filters else ""


def _of_index(name: str) -> str:
    index = f"{{hint holdfast_job_{INDEXES[name]}}}"
    look = f"SELECT 1 FROM holdfast_job AS job {index} WHERE job.{name} = :{name} AND job.id = stretch.id"
    return f"AND ({look}) IS NOT NULL"


def _range(dialect: str, along: str) -> str:
    """A stretch of one index, in words that no other index serves, whatever the planner believes of the values."""
    if len(WALKS[along]) != 1:
        return " AND ".join([*(f"{c} = :{c}" for c in WALKS[along]), "id < :before", "id >= :low"])
    [column] = WALKS[along]
    # Where a row ends, PostgreSQL does not stop: it goes on for as long as the first column fits.
    end = f"({column}, id) >= (:{column}, :low)" if dialect == "sqlite" else f"{column} >= :{column}"
    there = f" AND {column} IS NOT NULL" if along in PARTIAL else ""
    return f"({column}, id) < (:{column}, :before) AND {end}{there}"


@cache
def files(dialect: str) -> dict[str, Traversable]:
    """Name → file, of everything that a store has."""
    found: dict[str, Traversable] = {}
    for file in _sql(resources.files("holdfast.store")):
        name, _, store = file.name.removesuffix(".sql").partition(".")
        if store in ("", dialect):
            if name in found:
                raise LookupError(f"two statements {name!r} for {dialect}: {found[name]} and {file}")
            found[name] = file
    return found


def _sql(folder: Traversable) -> Iterator[Traversable]:
    for each in folder.iterdir():
        if each.name.endswith(".sql"):
            yield each
        elif "." not in each.name and each.name != "__pycache__":
            yield from _sql(each)


def _read(dialect: str, name: str) -> str:
    name, _, words = name.partition("@")
    if name not in files(dialect):
        raise LookupError(f"no statement {name!r} for {dialect}")
    return _bare(expand(dialect, files(dialect)[name].read_text(), _variant(dialect, words) if words else {}))


def _bare(text: str) -> str:
    """Without comments and empty lines: what is sent is what is needed."""
    return "\n".join(line.rstrip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("--"))


@cache
def named(dialect: str, name: str) -> Statement:
    """A statement with `:name` parameters, as SQLite takes them."""
    text = _read(dialect, name)
    return Statement(text, tuple(dict.fromkeys(PARAMETER.findall(text))), WRITES.search(text) is not None)


@cache
def numbered(dialect: str, name: str) -> Statement:
    """A statement with numbered parameters: `$1` for PostgreSQL, `?1` for rows of SQLite."""
    text, names, writes = named(dialect, name)
    mark = "?" if dialect == "sqlite" else "$"
    places = {word: f"{mark}{i}" for i, word in enumerate(names, 1)}
    return Statement(PARAMETER.sub(lambda m: places[m[1]], text), names, writes)


def migrations(dialect: str) -> list[tuple[str, str]]:
    """The migrations of a store as (name, text), in order."""
    found = sorted((name, file) for name, file in files(dialect).items() if MIGRATION.fullmatch(name))
    return [(name, expand(dialect, file.read_text())) for name, file in found]

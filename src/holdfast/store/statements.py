"""The SQL: one named statement a file, shared by both stores unless a store has its own."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from typing import NamedTuple

PARAMETER = re.compile(r"(?<![:\w]):([a-z_]+)\b")


class Statement(NamedTuple):
    """A statement's text, and its parameters in order of first appearance."""

    text: str
    names: tuple[str, ...]


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
PARTIAL = ("correlation_id", "parent_id")


def _read(dialect: str, name: str) -> str:
    """The text of a statement. `list@state+task` is `list` along the states, with a filter: texts, never values."""
    name, _, walk = name.partition("@")
    text = _file(dialect, name)
    if not walk:
        return text
    along, *filters = walk.split("+")
    return (
        text.replace("{range}", _range(dialect, along))
        .replace("{order}", f"{WALKS[along][0]} DESC, id DESC" if len(WALKS[along]) == 1 else "id DESC")
        # In this disguise a column is no invitation to use its index instead, a partial one neither.
        .replace("{where}", " ".join(f"AND coalesce({f}, '') || '' = :{f}" for f in FILTERS if f in filters))
    )


def _range(dialect: str, along: str) -> str:
    """A stretch of one index, in words that no other index serves, whatever the planner believes of the values."""
    if len(WALKS[along]) != 1:
        return " AND ".join([*(f"{c} = :{c}" for c in WALKS[along]), "id < :before", "id >= :low"])
    [column] = WALKS[along]
    # Where a row ends, PostgreSQL does not stop: it goes on for as long as the first column fits.
    end = f"({column}, id) >= (:{column}, :low)" if dialect == "sqlite" else f"{column} >= :{column}"
    there = f" AND {column} IS NOT NULL" if along in PARTIAL else ""
    return f"({column}, id) < (:{column}, :before) AND {end}{there}"


def _file(dialect: str, name: str) -> str:
    root = resources.files("holdfast.store") / "sql"
    for folder in (dialect, "shared"):
        file = root / folder / f"{name}.sql"
        if file.is_file():
            return file.read_text()
    raise LookupError(f"no statement {name!r} for {dialect}")


def _bare(text: str) -> str:
    """Without comments: what is sent is what is needed."""
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("--")).strip()


@cache
def named(dialect: str, name: str) -> Statement:
    """A statement with `:name` parameters, as SQLite takes them."""
    text = _bare(_read(dialect, name))
    return Statement(text, tuple(dict.fromkeys(PARAMETER.findall(text))))


@cache
def numbered(dialect: str, name: str) -> Statement:
    """A statement with numbered parameters: `$1` for PostgreSQL, `?1` for rows of SQLite."""
    text, names = named(dialect, name)
    mark = "?" if dialect == "sqlite" else "$"
    places = {word: f"{mark}{i}" for i, word in enumerate(names, 1)}
    return Statement(PARAMETER.sub(lambda m: places[m[1]], text), names)


def migrations(dialect: str) -> list[tuple[str, str]]:
    """The migrations of a store as (name, text), in order."""
    folder = resources.files("holdfast.store") / "sql" / dialect / "migrations"
    files = sorted((f for f in folder.iterdir() if f.name.endswith(".sql")), key=lambda f: f.name)
    return [(f.name.removesuffix(".sql"), f.read_text()) for f in files]

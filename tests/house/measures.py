"""What can be counted in a checkout by reading it: sizes, repetitions, and who reaches into whose room."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

LONG = 60
"""A function of more lines than this is several."""
ROOM = 20
"""A folder of more files than this is several rooms."""
RUN = 6
"""As many lines that stand together in two places are a repetition."""
STORE_INSIDE = re.compile(r"holdfast\.store\.(?!(port|open)$).+")
THIN = re.compile(r"[\s()\[\]{},:;]*(?:(?:else|try|pass|return|finally)\s*:?)?")
LEFT_OUT = re.compile(r"(?:import |from \S+ import |#|--|@overload)")


class Source(NamedTuple):
    """One file of Python, read once."""

    path: Path
    module: str
    text: str
    tree: ast.Module


class Function(NamedTuple):
    module: str
    name: str
    lines: int


@cache
def sources(checkout: Path) -> tuple[Source, ...]:
    package = checkout / "src"
    return tuple(
        Source(path, _module(path.relative_to(package)), text := path.read_text(), ast.parse(text))
        for path in sorted((package / "holdfast").rglob("*.py"))
    )


def _module(path: Path) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def statement_files(checkout: Path) -> list[Path]:
    return sorted((checkout / "src" / "holdfast").rglob("*.sql"))


def line_count(paths: list[Path]) -> int:
    return sum(len(path.read_text().splitlines()) for path in paths)


def files_by_folder(checkout: Path, suffix: str) -> Counter[str]:
    """How many files lie in each folder itself."""
    package = checkout / "src" / "holdfast"
    return Counter(str(path.parent.relative_to(package)) for path in package.rglob(f"*{suffix}"))


def imports(source: Source) -> Iterator[str]:
    """Modules that a file imports, wherever in it: what `from` takes may be one, and is given as well."""
    package = source.module.split(".")
    if source.path.name != "__init__.py":
        package.pop()
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            name = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{name}.{alias.name}" for alias in node.names)
            yield name


def imported_modules(checkout: Path) -> dict[str, set[str]]:
    """Which modules of ours each module imports, by the longest name that is a module."""
    known = {source.module for source in sources(checkout)}
    found: dict[str, set[str]] = {}
    for source in sources(checkout):
        names = set(imports(source)) & known
        found[source.module] = {name for name in names if not any(other.startswith(name + ".") for other in names)}
    return found


def imports_past_the_door(checkout: Path) -> list[tuple[str, str]]:
    """Imports of the store's inside from outside: a system may know its own folder there."""
    return [
        (module, imported)
        for module, names in imported_modules(checkout).items()
        if not f"{module}.".startswith("holdfast.store.")
        for imported in sorted(names)
        if STORE_INSIDE.fullmatch(imported) and not _its_own(module, imported)
    ]


def _its_own(module: str, imported: str) -> bool:
    names = module.split(".")
    return names[1] == "systems" and len(names) > 2 and f"{imported}.".startswith(f"holdfast.store.{names[2]}.")


def statements_outside(checkout: Path) -> list[tuple[str, int]]:
    """Where a statement for the database is put together outside the store."""
    return [
        (source.module, node.lineno)
        for source in sources(checkout)
        if not source.module.startswith("holdfast.store")
        for kinds in [_statement_kinds(source)]
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in kinds
    ]


def _statement_kinds(source: Source) -> set[str]:
    """By which names a file knows the store's statements: FastAPI has a Query, too."""
    return {
        alias.asname or alias.name
        for node in ast.walk(source.tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").endswith("store.script")
        for alias in node.names
        if alias.name in ("Query", "Many")
    }


def long_functions(checkout: Path) -> list[Function]:
    return [
        Function(source.module, node.name, lines)
        for source in sources(checkout)
        for node in ast.walk(source.tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (lines := (node.end_lineno or node.lineno) - node.lineno + 1) > LONG
    ]


def class_names_used_twice(checkout: Path) -> dict[str, list[str]]:
    where: dict[str, list[str]] = defaultdict(list)
    for source in sources(checkout):
        for node in source.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                where[node.name].append(source.module)
    return {name: modules for name, modules in where.items() if len(modules) > 1}


def repeated_lines(paths: list[Path]) -> int:
    """Lines in runs of six or more that stand somewhere else to the letter; imports, comments and brackets aside."""
    runs: dict[tuple[str, ...], list[list[tuple[Path, int]]]] = defaultdict(list)
    for path in paths:
        kept = [
            (number, stripped)
            for number, line in enumerate(path.read_text().splitlines())
            if (stripped := line.strip()) and not THIN.fullmatch(stripped) and not LEFT_OUT.match(stripped)
        ]
        for start in range(len(kept) - RUN + 1):
            window = kept[start : start + RUN]
            runs[tuple(text for _, text in window)].append([(path, number) for number, _ in window])
    return len({place for places in runs.values() if len(places) > 1 for run in places for place in run})


def files_that_name(checkout: Path, word: str, rooms: tuple[str, ...]) -> list[str]:
    """Files outside the rooms of something that say its name in code: in a name, an import or a string."""
    named = re.compile(rf"(?<![a-z]){word}s?(?![a-z])", re.IGNORECASE)
    return [
        source.module
        for source in sources(checkout)
        if not _within(source.module, rooms) and any(named.search(name) for name in _names(source.tree))
    ]


def files_that_choose(checkout: Path, executor: str, rooms: tuple[str, ...]) -> list[str]:
    """Files outside the rooms of an executor that name it, or import of it; telemetry has its own words."""
    imported = imported_modules(checkout)
    return [
        source.module
        for source in sources(checkout)
        if not _within(source.module, (*rooms, "observe"))
        and (any(_within(name, rooms) for name in imported[source.module]) or executor in _strings(source.tree))
    ]


def _strings(tree: ast.Module) -> set[object]:
    """Strings of a file, but for those that say how far an executor reaches."""
    reach = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == "reach"
        for inner in ast.walk(node)
    }
    return {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in reach}


def _within(module: str, rooms: tuple[str, ...]) -> bool:
    return any(f"{module}.".startswith(f"holdfast.{room}.") for room in rooms)


def _names(tree: ast.Module) -> Iterator[str]:
    prose = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name) | ast.keyword(arg=str(name)):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.ImportFrom(module=module, names=aliases):
                yield f"{module or ''}"
                yield from (alias.name for alias in aliases)
            case ast.Import(names=aliases):
                yield from (alias.name for alias in aliases)
            case ast.Constant(value=str(text)) if id(node) not in prose:
                yield text

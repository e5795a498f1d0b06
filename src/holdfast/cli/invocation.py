"""What one run of a command has at hand: its settings, its output form, its two streams."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from holdfast.cli.exits import UsageError
from holdfast.config import DEFAULT_DB, Settings, load

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from holdfast.cli.render import Column, View
    from holdfast.runtime.inside import Inside
    from holdfast.store.port import Store

    Columns = Iterable[Column] | Callable[[int], Iterable[Column]]  # some depend on how wide a table may be

WIDE = 160
"""Columns where there is no terminal to ask: a table in a file or a pipe should not be cut at 80."""


class Output(StrEnum):
    TABLE = "table"
    JSON = "json"
    JSONL = "jsonl"
    IDS = "ids"


@dataclass(frozen=True)
class Invocation:
    """Handed to every command. Settings are read when they are first needed: not every command has a use."""

    db: str | None = None
    output: Output = Output.TABLE
    app: str | None = None

    @cached_property
    def settings(self) -> Settings:
        """File, environment, options; a database that none of them names is the app's, where one is named."""
        found = load({"db": self.db, "app": self.app})
        if self.db is None and found.app is not None and (self.app is not None or found.db == DEFAULT_DB):
            return replace(found, db=self.engine(found.app).url)
        return found

    def engine(self, place: str | None = None) -> Inside:
        """The engine at `module:name`: the one named here, else by --app, HOLDFAST_APP or holdfast.toml."""
        from holdfast.cli.importing import engine_at

        where = place or load({"db": self.db, "app": self.app}).app
        if where is None:
            raise UsageError("no app was named", remedy="say --app module:app, or set HOLDFAST_APP")
        engine = engine_at(where)._inside
        if self.db is not None:
            engine.url = load({"db": self.db}).db
        return engine

    @property
    def is_json(self) -> bool:
        return self.output in (Output.JSON, Output.JSONL)

    @cached_property
    def out(self) -> Console:
        from rich.console import Console

        asked = sys.stdout.isatty() or "COLUMNS" in os.environ
        return Console(width=None if asked else WIDE, highlight=False, emoji=False)

    @cached_property
    def err(self) -> Console:
        from rich.console import Console

        return Console(stderr=True, highlight=False, emoji=False, soft_wrap=True)

    def say(self, words: str) -> None:
        """Words for a person: on stderr, so that they never mix with data."""
        self.err.print(words, markup=False, style="dim")

    def print(self, *what: RenderableType) -> None:
        for part in what:
            self.out.print(part, markup=False)

    def print_json(self, data: object) -> None:
        """As `-o` says: indented, or one line for each item of a list."""
        if self.output is not Output.JSONL:
            print(json.dumps(data, indent=2, ensure_ascii=False))
            return
        for item in data if isinstance(data, list) else [data]:
            print(json.dumps(item, separators=(",", ":"), ensure_ascii=False))

    def print_record(self, data: Mapping[str, Any], table: RenderableType, identity: object) -> None:
        """One thing, in the form that was asked for."""
        match self.output:
            case Output.TABLE:
                self.print(table)
            case Output.IDS:
                print(identity)
            case _:
                self.print_json(data)

    def print_ids(self, ids: Iterable[object]) -> None:
        for identity in ids:
            print(identity)

    def print_list(
        self, views: Sequence[View], identity: str, columns: Columns, nothing: str = "", hint: str = ""
    ) -> None:
        """Many things, in the form that was asked for. Without any `nothing` is said; `hint` behind a table."""
        if self.is_json:
            self.print_json(list(views))
        elif self.output is Output.IDS:
            self.print_ids(view[identity] for view in views)
        elif nothing and not views:
            self.say(nothing)
        else:
            from holdfast.cli.render import listed

            self.print(listed(list(columns(self.out.width) if callable(columns) else columns), views))
            if hint:
                self.say(hint)

    def print_page(
        self,
        views: Sequence[View],
        next_cursor: str | None,
        identity: str,
        columns: Columns,
        nothing: str,
        hint: str = "",
    ) -> None:
        """A part of a list, and how to go on."""
        if self.output is Output.JSON:
            self.print_json({"items": list(views), "next_cursor": next_cursor})
            return
        self.print_list(views, identity, columns, nothing, hint)
        if next_cursor:
            self.say(f"more: --cursor {next_cursor}")

    @asynccontextmanager
    async def store(self) -> AsyncIterator[Store]:
        """The database that the settings name, if it is there and up to date; UnavailableError if not."""
        from holdfast.cli.opened import opened

        async with opened(self.settings.db) as store:
            yield store


Call = Annotated[Invocation, Parameter(parse=False)]
"""A command's last parameter: filled in by the program, never by the command line."""

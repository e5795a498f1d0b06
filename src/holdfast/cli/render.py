"""How things look on a terminal: states in colour, times short, tables quiet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from rich import box
from rich.table import Table
from rich.text import Text

from holdfast.kernel.state import Canonical as S

View = Mapping[str, Any]
"""A thing as the outside sees it."""

COLOURS: dict[str, str] = {
    S.WAITING: "dim",
    S.QUEUED: "blue",
    S.RETRY_PENDING: "yellow",
    S.ASSIGNED: "cyan",
    S.RUNNING: "bold cyan",
    S.SUCCEEDED: "green",
    S.PARTIAL: "yellow",
    S.SKIPPED: "dim green",
    S.FAILED: "red",
    S.CANCELLED: "magenta",
    S.EXPIRED: "magenta",
    S.TIMED_OUT: "red",
    S.DEAD_LETTERED: "bold red",
    S.CLEANING: "dim",
    S.CLEANED: "dim",
}


class Column(NamedTuple):
    """A column of a table, and what it shows of each thing."""

    head: str
    of: str | Callable[[View], str | Text] = ""
    """The name of a field, where it is not the head. A time is made short."""
    right: bool = False
    whole: bool = False
    cut: bool = False

    def cell(self, view: View) -> str | Text:
        if callable(self.of):
            return self.of(view)
        name = self.of or self.head
        value = view[name]
        if name == "at" or name.endswith("_at"):
            return short_time(value)
        return "" if value is None else str(value)


def listed(columns: Sequence[Column], views: Iterable[View]) -> Table:
    """A line for each thing."""
    heads = [column.head for column in columns]
    ways = {way: [each.head for each in columns if getattr(each, way)] for way in ("right", "whole", "cut")}
    return rows(table(*heads, **ways), ([column.cell(view) for column in columns] for view in views))


def table(*columns: str, right: Iterable[str] = (), whole: Iterable[str] = (), cut: Iterable[str] = ()) -> Table:
    """A table without frames. `right` aligns numbers, `whole` is kept on one line, `cut` made to fit it."""
    made = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for column in columns:
        made.add_column(
            column,
            justify="right" if column in right else "left",
            no_wrap=column in whole,
            overflow="ellipsis" if column in cut else "fold",
        )
    return made


def pairs(items: Mapping[str, Any]) -> Table:
    """Names and values, one pair a line; what is None is left out."""
    made = Table.grid(padding=(0, 2))
    made.add_column(style="dim", no_wrap=True)
    made.add_column(overflow="fold")
    for name, value in items.items():
        if value is not None:
            made.add_row(name, value if isinstance(value, Text) else Text(str(value)))
    return made


def state_text(label: str, canonical: str, *, beside: bool = True) -> Text:
    """A state as its lifecycle calls it, and its canonical name `beside` it where that is another."""
    text = Text(label, style=COLOURS.get(canonical, ""))
    if beside and label.lower() != canonical:
        text.append(f" ({canonical})", style="dim")
    return text


def short_time(iso: str | None) -> str:
    """The time of day for today, the day for this year, the date for all else. UTC, as everywhere."""
    if iso is None:
        return ""
    day, _, time = iso.partition("T")
    today = datetime.now(UTC).date().isoformat()
    if day == today:
        return time[:8]
    return f"{day[5:]} {time[:5]}" if day[:4] == today[:4] else day


def long_time(iso: str | None) -> str | None:
    return None if iso is None else iso.replace("T", " ").replace("Z", " UTC")


def duration(ms: int) -> str:
    """A duration in its largest whole unit: 90 s, 2 h, 14 d."""
    for unit, size in (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1_000)):
        if ms >= size and ms % size == 0 and (ms // size > 1 or unit == "s"):
            return f"{ms // size} {unit}"
    return f"{ms} ms" if ms < 1000 else f"{ms / 1000:g} s"


def rows(made: Table, lines: Iterable[Sequence[str | Text]]) -> Table:
    """Fill a table; plain text stays plain, whatever brackets it has."""
    for line in lines:
        cells = [cell if isinstance(cell, Text) else Text(cell) for cell in line]
        for column, cell in zip(made.columns, cells, strict=True):
            if column.no_wrap:
                # Otherwise all columns give way together when room is short.
                column.min_width = max(column.min_width or len(str(column.header)), cell.cell_len)
            elif column.overflow == "ellipsis":
                cell.no_wrap, cell.overflow = True, "ellipsis"
        made.add_row(*cells)
    return made

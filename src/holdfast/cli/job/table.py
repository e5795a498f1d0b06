"""Jobs and events as tables, made from their public shapes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from holdfast.cli.render import long_time, pairs, rows, short_time, state_text, table

View = Mapping[str, Any]


NARROW, SPACIOUS = 100, 140
"""Below the one there is room only for what a job is, from the other on for everything."""


def jobs_table(views: Sequence[View], width: int) -> Table:
    """A line for each job, whatever the width: what there is no room for is left out or cut."""
    more = ["lifecycle", "queue", "attempt"] if width >= SPACIOUS else []
    last = ["last said"] if width >= NARROW else []
    made = table(
        "id",
        "state",
        "task",
        *more,
        "created",
        *last,
        right=["attempt"],
        whole=["id", "state", "created", *more],
        cut=["task", *last],
    )
    return rows(
        made,
        (
            [
                view["id"],
                state_text(view["state"], view["canonical_state"], beside=bool(last)),
                view["task"],
                *(str(view[name]) for name in more),
                short_time(view["created_at"]),
                *([_remark(view)] if last else []),
            ]
            for view in views
        ),
    )


def _remark(view: View) -> str:
    """The one thing worth knowing beside the state: how far it is, or what went wrong."""
    if progress := view["progress"]:
        return progress_words(progress)
    if error := view["error"]:
        return f"{error.get('code')}: {error.get('message')}"
    return ""


def job_table(view: View) -> Table:
    error, lease, progress = view["error"], view["lease"], view["progress"]
    return pairs(
        {
            "id": view["id"],
            "task": view["task"],
            "lifecycle": view["lifecycle"],
            "state": state_text(view["state"], view["canonical_state"]),
            "queue": f"{view['queue']}, priority {view['priority']}",
            "attempt": f"{view['attempt']} ({view['tries']} of {view['max_attempts']} tries used)",
            "created": long_time(view["created_at"]),
            "due": long_time(view["due_at"]) if not (view["started_at"] or view["finished_at"]) else None,
            "started": long_time(view["started_at"]),
            "finished": long_time(view["finished_at"]),
            "expires": long_time(view["expires_at"]) if view["finished_at"] is None else None,
            "lease": f"{lease['owner']}, until {long_time(lease['until'])}" if lease else None,
            "cancel asked": view["cancel_requested"],
            "progress": progress_words(progress) if progress else None,
            "error": Text(f"{error.get('code')} ({error.get('class')}): {error.get('message')}", "red")
            if error
            else None,
            "context": _json(error.get("context")) if error and error.get("context") else None,
            "result": _json(view["result"]) if view["result"] is not None else None,
            "payload": _json(view["payload"]) if view["payload"] is not None else None,
            "key": view["key"],
            "tags": _json(view["tags"]) if view["tags"] is not None else None,
            "parent": view["parent_id"],
            "correlation": view["correlation_id"] if view["correlation_id"] != view["id"] else None,
            "trace": view["trace_id"],
        }
    )


def events_table(views: Sequence[View], width: int) -> Table:
    """A line for each event; a narrow one leaves out where it came from, and the day."""
    wide = width >= NARROW
    more = ["from"] if wide else []
    made = table(
        "seq",
        "at (UTC)",
        "event",
        *more,
        "to",
        "attempt",
        "actor",
        "reason",
        right=["seq", "attempt"],
        whole=["seq", "at (UTC)", "event", "from", "to", "attempt"],
        cut=["actor", "reason"],
    )
    return rows(made, (_event_line(view, wide) for view in views))


def _event_line(view: View, wide: bool) -> list[str | Text]:
    day, _, time = view["at"].removesuffix("Z").partition("T")
    came_from = state_text(view["from"], view["from_canonical"]) if view["from"] else Text()
    return [
        str(view["seq"]),
        f"{day} {time}" if wide else time,
        view["type"],
        *([came_from] if wide else []),
        state_text(view["to"], view["to_canonical"]),
        str(view["attempt"]),
        view["actor"],
        view["reason"] or "",
    ]


def progress_words(progress: View) -> str:
    done, total, eta = progress["done"], progress["total"], progress["eta_seconds"]
    words = [f"{done} of {total} ({done / total:.0%})" if done is not None and total else f"{done or 0} done"]
    if eta is not None:
        words.append(f"about {eta:g} s to go")
    words += [f"{name} {count}" for name, count in progress["counters"].items()]
    return ", ".join(words)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)

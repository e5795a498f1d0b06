"""Jobs and events as tables, made from their public shapes."""

from __future__ import annotations

import json
from collections.abc import Iterator

from rich.table import Table
from rich.text import Text

from holdfast.cli.render import Column, View, long_time, pairs, state_text

NARROW, SPACIOUS = 100, 140
"""Below the one there is room only for what a job is, from the other on for everything."""


def jobs_columns(width: int) -> Iterator[Column]:
    """A line for each job, whatever the width: what there is no room for is left out or cut."""
    wide = width >= NARROW
    yield Column("id", whole=True)
    yield Column("state", lambda job: state_text(job["state"], job["canonical_state"], beside=wide), whole=True)
    yield Column("task", cut=True)
    if width >= SPACIOUS:
        yield from (Column(name, right=name == "attempt", whole=True) for name in ("lifecycle", "queue", "attempt"))
    yield Column("created", "created_at", whole=True)
    if wide:
        yield Column("last said", _remark, cut=True)


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


def events_columns(width: int) -> Iterator[Column]:
    """A line for each event; a narrow one leaves out where it came from, and the day."""
    wide = width >= NARROW
    yield Column("seq", right=True, whole=True)
    yield Column("at (UTC)", lambda event: _at(event["at"]) if wide else _at(event["at"]).partition(" ")[2], whole=True)
    yield Column("event", "type", whole=True)
    if wide:
        yield Column("from", lambda event: _state(event["from"], event["from_canonical"]), whole=True)
    yield Column("to", lambda event: _state(event["to"], event["to_canonical"]), whole=True)
    yield Column("attempt", right=True, whole=True)
    yield Column("actor", cut=True)
    yield Column("reason", cut=True)


def _at(iso: str) -> str:
    return iso.removesuffix("Z").replace("T", " ")


def _state(label: str | None, canonical: str) -> Text:
    return state_text(label, canonical) if label else Text()


def progress_words(progress: View) -> str:
    done, total, eta = progress["done"], progress["total"], progress["eta_seconds"]
    words = [f"{done} of {total} ({done / total:.0%})" if done is not None and total else f"{done or 0} done"]
    if eta is not None:
        words.append(f"about {eta:g} s to go")
    words += [f"{name} {count}" for name, count in progress["counters"].items()]
    return ", ".join(words)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)

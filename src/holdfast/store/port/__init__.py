"""The store's contract, part by part. What is not here, or in `store.open`, is its own."""

from __future__ import annotations

from holdfast.store.port.admin import (
    CAP,
    Admin,
    ApiKeys,
    Depth,
    KeyRow,
    LimitRow,
    Pause,
    Queues,
    ScheduleRow,
    Schedules,
    WorkerRow,
    Workers,
)
from holdfast.store.port.ask import Answers, Ask, Facts, MismatchError, Refused, VersionError
from holdfast.store.port.dead import ALL, REPLAYED, DeadLetter, DeadLetters, DeadPage, Group, Wanted
from holdfast.store.port.graph import FlowRow, Graph, NewNode, NodeRow, Parent, Plan, Stopped, Way
from holdfast.store.port.jobs import Applied, Jobs, Lease, Refusal, Signal, Stand, Submitted
from holdfast.store.port.kept import Artifact, Kept
from holdfast.store.port.log import Feed, Log, Origin
from holdfast.store.port.reads import Attempt, Dead, Filter, Page, Reads, Retained, Seen, SignalRow, Trail
from holdfast.store.port.store import Planned, Schema, Store
from holdfast.store.port.upkeep import PurgeRow, SealRow, Upkeep
from holdfast.store.port.wakeups import Wakeups

__all__ = [
    "ALL",
    "CAP",
    "REPLAYED",
    "Admin",
    "Answers",
    "ApiKeys",
    "Applied",
    "Artifact",
    "Ask",
    "Attempt",
    "Dead",
    "DeadLetter",
    "DeadLetters",
    "DeadPage",
    "Depth",
    "Facts",
    "Feed",
    "Filter",
    "FlowRow",
    "Graph",
    "Group",
    "Jobs",
    "Kept",
    "KeyRow",
    "Lease",
    "LimitRow",
    "Log",
    "MismatchError",
    "NewNode",
    "NodeRow",
    "Origin",
    "Page",
    "Parent",
    "Pause",
    "Plan",
    "Planned",
    "PurgeRow",
    "Queues",
    "Reads",
    "Refusal",
    "Refused",
    "Retained",
    "ScheduleRow",
    "Schedules",
    "Schema",
    "SealRow",
    "Seen",
    "Signal",
    "SignalRow",
    "Stand",
    "Stopped",
    "Store",
    "Submitted",
    "Trail",
    "Upkeep",
    "VersionError",
    "Wakeups",
    "Wanted",
    "Way",
    "WorkerRow",
    "Workers",
]

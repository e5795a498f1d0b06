"""A lifecycle is a table: states, transitions, policies. Data, checked when it is built."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any

from holdfast.kernel.check import check
from holdfast.kernel.errors import NotAllowedError
from holdfast.kernel.policy import Policies
from holdfast.kernel.state import LEASED, RANK, SUCCESSFUL, TERMINAL, Canonical, State

SUBMIT = "submit"


class Command(StrEnum):
    """The commands that the engine itself gives. A lifecycle may declare more of its own."""

    CLAIM = "claim"
    START = "start"
    SUCCEED = "succeed"
    PARTIAL = "partial"
    SKIP = "skip"
    FAIL = "fail"
    COMPENSATE = "compensate"
    RETRY = "retry"
    CANCEL = "cancel"
    EXPIRE = "expire"
    TIME_OUT = "time_out"
    DEAD_LETTER = "dead_letter"
    LOSE = "lose"
    TAKE_OVER = "take_over"
    HAND_BACK = "hand_back"
    HASTEN = "hasten"
    RELEASE = "release"
    RESUME = "resume"
    RESUME_WAITING = "resume_waiting"
    CLEAN = "clean"
    CLEANED = "cleaned"


class Tries(StrEnum):
    """What a row does to the count that is held against the retry budget."""

    KEEP = "keep"
    COUNT = "count"
    REFUND = "refund"
    RESET = "reset"


@dataclass(frozen=True, slots=True)
class Transition:
    """One row: this command, from this state, to that one, recorded as this event."""

    source: Canonical
    command: str
    target: Canonical
    event: str
    opens_attempt: bool = False
    tries: Tries = Tries.KEEP
    counts_loss: bool = False

    def __str__(self) -> str:
        opens = ", next attempt" if self.opens_attempt else ""
        return f"{self.source} --{self.command}--> {self.target} ({self.event}{opens})"


@dataclass(frozen=True)
class Lifecycle:
    """States, transitions and policies under one name. Building one checks it."""

    name: str
    states: tuple[State, ...]
    transitions: tuple[Transition, ...]
    policies: Policies = field(default_factory=Policies)
    initial: tuple[Canonical, ...] = (Canonical.QUEUED,)
    submit_event: str = "job_submitted"
    triggers: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check(self)

    @cached_property
    def _rows(self) -> dict[tuple[str, str], Transition]:
        return {(row.source.value, str(row.command)): row for row in self.transitions}

    @cached_property
    def _states(self) -> dict[str, State]:
        return {state.canonical.value: state for state in self.states}

    def find(self, source: str, command: str) -> Transition | None:
        return self._rows.get((source, command))

    def row(self, source: str, command: str) -> Transition:
        """The row for this command from this state, or an error that lists what is allowed."""
        row = self._rows.get((source, command))
        if row is None:
            raise NotAllowedError(self.name, str(self.state(source)), command, self.commands(source))
        return row

    def commands(self, source: str) -> tuple[str, ...]:
        """What may be done to a job in this state."""
        return tuple(str(row.command) for row in self.transitions if row.source == source)

    def state(self, canonical: str) -> State:
        return self._states[canonical]

    def parse(self, name: str) -> tuple[Canonical, ...]:
        """The canonical states that a label or a canonical name stands for; empty when none does."""
        return tuple(s.canonical for s in self.states if name in (s, s.canonical.value))

    def terminal_states(self) -> list[State]:
        return [state for state in self.states if state.canonical in TERMINAL]

    @cached_property
    def in_graphs(self) -> bool:
        """Whether its jobs can be nodes of flows: they wait for others, and are released or skipped."""
        waiting = Canonical.WAITING
        return self.find(waiting, Command.RELEASE) is not None and self.find(waiting, Command.SKIP) is not None

    @cached_property
    def claimable(self) -> frozenset[str]:
        """The states from which a worker takes a job."""
        return frozenset(row.source.value for row in self.transitions if row.command == Command.CLAIM)

    def claim_path(self, source: str, *, start: bool) -> tuple[Transition, ...]:
        """The rows that a claim applies; with `start`, on to running where that is a row of its own."""
        claim = self.row(source, Command.CLAIM)
        on = self.find(claim.target, Command.START) if start else None
        return (claim, on) if on else (claim,)

    def to_dict(self) -> dict[str, Any]:
        """The table as plain data: what `lifecycle show --json` prints and the database keeps."""
        return {
            "name": self.name,
            "states": [
                {
                    "label": str(s),
                    "canonical": s.canonical.value,
                    "rank": RANK[s.canonical],
                    "terminal": s.canonical in TERMINAL,
                    "successful": s.canonical in SUCCESSFUL,
                    "leased": s.canonical in LEASED,
                }
                for s in self.states
            ],
            "transitions": [
                {
                    "source": str(self.state(row.source)),
                    "command": str(row.command),
                    "target": str(self.state(row.target)),
                    "event": row.event,
                    "opens_attempt": row.opens_attempt,
                    "tries": row.tries.value,
                    "counts_loss": row.counts_loss,
                    "source_canonical": row.source.value,
                    "target_canonical": row.target.value,
                }
                for row in self.transitions
            ],
            "policies": asdict(self.policies),
            "initial": [state.value for state in self.initial],
            "submit_event": self.submit_event,
            "triggers": dict(self.triggers),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Lifecycle:
        """The inverse of `to_dict`: a stored table is checked again when it is read."""
        return cls(
            name=data["name"],
            states=tuple(State(s["label"], s["canonical"]) for s in data["states"]),
            transitions=tuple(
                Transition(
                    source=Canonical(row["source_canonical"]),
                    command=row["command"],
                    target=Canonical(row["target_canonical"]),
                    event=row["event"],
                    opens_attempt=row["opens_attempt"],
                    tries=Tries(row["tries"]),
                    counts_loss=row["counts_loss"],
                )
                for row in data["transitions"]
            ),
            policies=Policies.from_dict(data["policies"]),
            initial=tuple(Canonical(state) for state in data["initial"]),
            submit_event=data["submit_event"],
            triggers=dict(data["triggers"]),
        )


def is_over(table: Lifecycle | None, state: str) -> bool:
    """Whether nothing is left to do for a job: where a lifecycle cleans up, that it has."""
    cleans = table is not None and any(s.canonical is Canonical.CLEANED for s in table.states)
    return state == Canonical.CLEANED if cleans else state in TERMINAL

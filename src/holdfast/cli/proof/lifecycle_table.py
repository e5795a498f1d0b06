"""A lifecycle in words: its states with their rank, its rows, its policies. For terminal and reference."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

from rich.table import Table
from rich.text import Text

from holdfast.cli.render import COLOURS, duration, rows, state_text, table
from holdfast.kernel.lifecycle import Lifecycle, Tries
from holdfast.kernel.retry import RetryPolicy
from holdfast.kernel.state import LEASED, SUCCESSFUL, TERMINAL

TRIES = {
    Tries.KEEP: "",
    Tries.COUNT: "counts a try",
    Tries.REFUND: "gives the try back",
    Tries.RESET: "tries from 0",
}


def lifecycle_tables(lifecycle: Lifecycle) -> Iterator[Table | Text]:
    """What `lifecycle show` prints."""
    yield Text(f"{lifecycle.name}\n", style="bold")
    states = table("state", "canonical", "rank", "", right=["rank"], whole=["state", "canonical"])
    yield rows(
        states,
        (
            [Text(label, style=COLOURS[canonical]), canonical, rank, notes]
            for label, canonical, rank, notes in state_rows(lifecycle)
        ),
    )
    yield Text()
    moves = table("from", "command", "to", "event", "", whole=["from", "command", "to", "event"])
    canonical_of = [(row.source, row.target) for row in lifecycle.transitions]
    yield rows(
        moves,
        (
            [state_text(source, pair[0]), command, state_text(target, pair[1]), event, notes]
            for (source, command, target, event, notes), pair in zip(
                transition_rows(lifecycle), canonical_of, strict=True
            )
        ),
    )
    yield Text()
    yield rows(table("policy", "value", whole=["policy"]), policy_rows(lifecycle))
    if lifecycle.triggers:
        yield Text()
        yield rows(table("trigger", "is the command", whole=["trigger"]), lifecycle.triggers.items())


def state_rows(lifecycle: Lifecycle) -> Iterator[tuple[str, str, str, str]]:
    """Label, canonical name, rank, and what kind of state it is."""
    for state in lifecycle.states:
        kind = state.canonical
        notes = [
            word
            for word, holds in (
                ("initial", kind in lifecycle.initial),
                ("leased", kind in LEASED),
                ("terminal", kind in TERMINAL),
                ("successful", kind in SUCCESSFUL),
            )
            if holds
        ]
        yield str(state), kind.value, str(kind.rank), ", ".join(notes)


def transition_rows(lifecycle: Lifecycle) -> Iterator[tuple[str, str, str, str, str]]:
    """Source, command, target, event, and what else the row does."""
    for row in lifecycle.transitions:
        notes = ["next attempt"] if row.opens_attempt else []
        notes += [TRIES[row.tries]] if TRIES[row.tries] else []
        notes += ["counts a crash"] if row.counts_loss else []
        source, target = lifecycle.state(row.source), lifecycle.state(row.target)
        yield str(source), str(row.command), str(target), row.event, ", ".join(notes)


def policy_rows(lifecycle: Lifecycle) -> Iterator[tuple[str, str]]:
    """Policy and value, units written out."""
    for field in fields(lifecycle.policies):
        value = getattr(lifecycle.policies, field.name)
        name = field.name.removesuffix("_ms")
        if isinstance(value, RetryPolicy):
            yield name, retry_words(value)
        elif value is None:
            yield name, "–"
        elif isinstance(value, bool):
            yield name, "yes" if value else "no"
        elif field.name.endswith("_ms"):
            yield name, duration(value)
        else:
            yield name, str(value)


def retry_words(policy: RetryPolicy) -> str:
    if policy.max_tries == 1:
        return "never: 1 try"
    cap = f", at most {duration(policy.cap_ms)}" if policy.cap_ms is not None else ""
    jitter = f", less up to {policy.jitter:.0%} by chance" if policy.jitter else ""
    return f"{policy.max_tries} tries, {duration(policy.base_ms)} × {policy.factor:g} each time{cap}{jitter}"

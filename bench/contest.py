"""Workers against workers: every contender in every race, in turn, on one server."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
from rich.console import Console

from bench import standings
from bench.arena import Arena, arenas
from bench.environment import Unavailable, python_of
from bench.hand import HandFailed, hand
from bench.race import Lap, Ready, run
from bench.races import Race
from bench.roster import Entrant

SETUP_S = 120.0


@dataclass
class Found:
    """Everything that a contest found on one store."""

    store: str
    version: str
    laps: dict[tuple[Race, str], dict[str, list[Lap]]] = field(default_factory=dict)
    """Race and phase → contender → one lap per round."""

    versions: dict[str, str] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)
    """Contenders that could not run at all, and why."""

    failed: dict[tuple[Race, str], str] = field(default_factory=dict)
    """Race and contender → why it did not come through."""


def contest(arena: Arena, entrants: Sequence[Entrant], chosen: Sequence[Race], say: Callable[[str], None]) -> Found:
    found = Found(arena.store, arena.version)
    ready = [peer for entrant in entrants if arena.store in entrant.stores and (peer := _enter(arena, entrant, found))]
    for race in chosen:
        say(f"{arena.version}: {race.name}")
        for _ in range(race.rounds):
            for peer in ready:
                if (race, peer.name) not in found.failed:
                    _one_trial(arena, peer, race, found, say)
    return found


def _enter(arena: Arena, entrant: Entrant, found: Found) -> Ready | None:
    try:
        python = python_of(entrant)
        said: dict[str, Any] = {}

        def setup(url: str) -> None:
            with hand(python, entrant.name, "setup", url) as process:
                said.update(process.answer(SETUP_S))

        arena.template(entrant.name, setup)
    except (Unavailable, HandFailed, json.JSONDecodeError) as error:
        found.absent[entrant.name] = str(error)
        return None
    found.versions[entrant.name] = said["version"]
    return Ready(entrant.name, python, **said)


def _one_trial(arena: Arena, peer: Ready, race: Race, found: Found, say: Callable[[str], None]) -> None:
    try:
        laps = run(arena, peer, race)
    except (HandFailed, json.JSONDecodeError, sqlite3.Error, psycopg.Error) as error:
        # One contender's trouble must not cost the figures of an hour.
        found.failed[race, peer.name] = str(error)
        say(f"  {peer.name}: {error}")
        return
    for phase, lap in laps.items():
        found.laps.setdefault((race, phase), {}).setdefault(peer.name, []).append(lap)
        say(f"  {peer.name}, {phase}: {standings.short(lap)}")


def main(stores: tuple[str, ...], entrants: Sequence[Entrant], chosen: Sequence[Race]) -> Path:
    err, started_s = Console(stderr=True), time.monotonic()

    def say(what: str) -> None:
        err.print(f"[dim]{time.monotonic() - started_s:5.0f} s[/] {what}", highlight=False, soft_wrap=True)

    with arenas(stores) as open_arenas:
        everything = [contest(arena, entrants, chosen, say) for arena in open_arenas]
    say("done")
    console = Console(width=150)
    for found in everything:
        standings.show(found, entrants, console)
    return standings.write(everything, entrants)

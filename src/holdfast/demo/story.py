"""The story: five lifecycles, a death, a poison, a change of mind, and the proof."""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from holdfast.audit.auditor import Report, audit
from holdfast.chores.sealer import Sealer
from holdfast.demo.board import Board
from holdfast.demo.crew import Crew, crew_of
from holdfast.demo.tasks import QUEUE, Night, named, night, sheets_on_paper
from holdfast.kernel.job import Job
from holdfast.runtime.handle import JobHandle
from holdfast.store.port import SealRow
from holdfast.views.job import job_view
from holdfast.views.letters import letter_view

SHEETS = 12
RUN_S = 1.5
"""How long something runs before it is interrupted: long enough to be seen."""

INVARIANTS = {
    "I1": "every step is a row of its lifecycle's table",
    "I2": "events are dense, one per transition",
    "I3": "every row equals the replay of its events",
    "I4": "(attempt, rank) strictly grows, time never falls",
    "I5": "one owner exactly while leased, no fence granted twice",
    "I6": "a worker writes only under the fence it was granted",
    "I7": "an end is the end, within its attempt",
    "I8": "at most one success per attempt",
    "I9": "no success after a cancel",
    "I10": "tries stay within their budget",
    "I11": "one live job per key",
    "I12": "the log is in order for every job",
    "I13": "dead-lettered exactly where there is a dead letter",
    "I14": "a join of a flow fires exactly once",
    "I19": "every seal verifies, and nothing is missing under them",
}


class Story:
    """Tells it on a console. `run` returns the exit code: 1 when the audit finds anything."""

    def __init__(self, console: Console, db: str | None = None) -> None:
        self._console = console
        self._db = db

    def run(self) -> int:
        began_s = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="holdfast-demo-") as folder:
            url = self._db or f"sqlite:///{folder}/demo.db"
            tonight = night(url)
            try:
                tonight.app.list_jobs(limit=1)  # makes the tables, before two workers want to
                with crew_of(url, Path(folder)) as crew:
                    self._prologue(url, crew)
                    board = Board(self._console, tonight.app, crew)
                    self._five_lifecycles(tonight, board)
                    self._a_death(tonight, board, crew, Path(folder) / "ledger.txt")
                    self._a_poison(tonight, board)
                    self._a_change_of_mind(tonight, board)
                    codes = crew.dismiss()
                    self._say(f"The workers were asked to stop, and did: exit {', '.join(map(str, codes))}.")
                return self._proof(tonight, url, began_s)
            finally:
                tonight.app.close()

    def _act(self, title: str, words: str) -> None:
        self._console.print()
        self._console.print(Text(title, "bold"))
        self._console.print(Text(words, "dim"))

    def _say(self, words: str | Text) -> None:
        self._console.print(Padding(words, (0, 0, 0, 2), expand=False))

    def _prologue(self, url: str, crew: Crew) -> None:
        self._console.print(Text("Holdfast: a newspaper's night", "bold"))
        where = url if self._db else "a fresh SQLite database"
        self._console.print(Text(f"Real worker processes on {where}; no broker, no server.", "dim"))
        crew.hire("A", "B")
        self._say(f"worker A is process {crew.pid('A')}, worker B is process {crew.pid('B')}")

    def _five_lifecycles(self, tonight: Night, board: Board) -> None:
        self._act(
            "1  Five lifecycles, one engine",
            "A crawl, durable functions, a pipeline, nodes of flows and a command: each follows a table of its own.",
        )
        jobs: dict[str, JobHandle[Any]] = {"count words": tonight.words.submit("all the news that fits")}
        for start in tonight.parts:
            jobs |= start()
        board.watch(jobs)

    def _a_death(self, tonight: Night, board: Board, crew: Crew, ledger: Path) -> None:
        self._act(
            "2  A worker dies", "Four print runs on two workers. One worker gets SIGKILL: no goodbye, no clean-up."
        )
        jobs = {f"print run {n}": tonight.print_run.submit(SHEETS, str(ledger)) for n in range(1, 5)}
        began_s = time.monotonic()

        def under_way(found: list[Job]) -> bool:
            held = Counter(crew.name_of(job.lease_owner) for job in found if job.lease_owner)
            return len(held) == 2 and sum(held.values()) == len(found) and time.monotonic() - began_s > RUN_S

        found = board.watch(jobs, under_way)
        holders = Counter(crew.name_of(job.lease_owner) for job in found)
        victim = max(sorted(holders), key=holders.__getitem__).removeprefix("worker ")
        pid = crew.pid(victim)
        crew.kill(victim)
        self._say(
            Text(f"kill -9 {pid}: worker {victim} is dead, with {holders[f'worker {victim}']} runs in hand", "bold red")
        )
        board.watch(jobs, result=lambda pids: by_worker(named(pids, crew.names)))
        sheets = {name: named(handle.result(), crew.names) for name, handle in jobs.items()}
        moved = [by for by in sheets.values() if len(by) > 1]
        kept = sum(by.get(victim, 0) for by in sheets.values())
        self._say(
            f"Its leases ran out, and {len(moved)} runs went on elsewhere, from where they had stopped: the {kept} "
            f"sheets that worker {victim} had recorded were not printed again."
        )
        paper = sheets_on_paper(ledger)
        twice = len(paper) - len(set(paper))
        self._say(
            f"Recorded: {SHEETS * len(jobs)} sheets, each once. On paper: {len(paper)}, for {twice} were in the press "
            "when it died. At-least-once execution, exactly-once recorded effect."
        )

    def _a_poison(self, tonight: Night, board: Board) -> None:
        self._act(
            "3  A poison job",
            "An invoice with a comma where a point belongs fails on every try, and is put aside with its reason.",
        )
        poison = tonight.invoice.submit(7, "12,50")
        board.watch({"invoice 7": poison})
        [letter] = [one for one in tonight.app.dead_letters(task="invoice") if one.job_id == poison.id]
        error = letter_view(letter)["last_error"]
        self._say(f"dead letter: {letter.reason_code} after {letter.attempts} attempts, in stage {letter.stage}:")
        self._say(Text(f"  {error['code']}: {error['message']}", "red"))
        again = tonight.app.replay(poison.id, edits={"amount": "12.50"}, reason="comma")
        self._say('edited to amount="12.50" and replayed as a new job that names the old one:')
        board.watch({"invoice 7, again": again})

    def _a_change_of_mind(self, tonight: Night, board: Board) -> None:
        self._act("4  A change of mind", "The night watch would take hours. It is asked to stop, and ends by itself.")
        watch = tonight.watch.submit(8)
        jobs: dict[str, Any] = {"night watch": watch}
        began_s = time.monotonic()
        board.watch(jobs, lambda found: bool(found[0].lease_owner) and time.monotonic() - began_s > RUN_S)
        watch.cancel("the morning came early")
        [job] = board.watch(jobs)
        self._say(f"Cancelled, and what it had done by then is kept: {job_view(job, None)['result']}.")

    def _proof(self, tonight: Night, url: str, began_s: float) -> int:
        self._act("5  The proof", "The log is sealed, then every job and every event is held against every invariant.")

        async def prove() -> tuple[SealRow | None, Report]:
            store = await tonight.app._inside.opened()
            await Sealer(store).seal_all()
            return await store.reads.last_seal(), await audit(url)

        seal, report = tonight.app._inside.portal.call(prove())
        broken = Counter(violation.invariant for violation in report.violations)
        table = Table(box=None, padding=(0, 0, 0, 2), show_header=False)
        table.add_column(justify="right", style="dim")
        table.add_column()
        table.add_column(justify="right")
        for name, words in INVARIANTS.items():
            table.add_row(name, words, Text(f"{broken[name]} violations", "red" if broken[name] else "green"))
        self._console.print(table)
        for violation in report.violations[:5]:
            self._say(Text(str(violation), "red"))
        mine = QUEUE if self._db else None  # a database of the user's has other jobs too
        ours = Counter(job.state.canonical.value for job in tonight.app.list_jobs(queue=mine, limit=500))
        self._say(", ".join(f"{count} {state}" for state, count in sorted(ours.items())))
        verdict = Text(f"{report.total_violations} violations", "bold red" if report.total_violations else "bold green")
        self._say(verdict.append(f" in {report.jobs} jobs, {report.events} events, {report.seals} seals", "default"))
        if seal is not None:
            self._say(Text.assemble("sealed head ", (seal.head.hex(), "dim")))
        self._console.print()
        took_s = time.monotonic() - began_s
        kept = f"look around: holdfast job list --db {self._db}" if self._db else "Next: docs/quickstart.md"
        self._say(Text(f"{took_s:.0f} s. {kept}", "dim"))
        return 1 if report.total_violations else 0


def by_worker(sheets: dict[str, int]) -> str:
    return ", ".join(f"{count} sheets by worker {name}" for name, count in sheets.items())

"""The program: which commands there are, the options that all of them take, and how a run ends."""

from __future__ import annotations

import asyncio
import inspect
import os
import sys
from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, Any

from cyclopts import App, CycloptsError, Group, Parameter

from holdfast import __version__, catalog
from holdfast.cli.exits import Exit, UsageError, exit_of, one_line
from holdfast.cli.invocation import Invocation, Output
from holdfast.kernel.errors import HoldfastError

EVERYWHERE = Group("Everywhere", sort_key=99)

# Each by its import path: only the command that is run is imported.
COMMANDS = {
    "demo": ("holdfast.demo.command:demo", "See it work: a minute of jobs, crashes and proofs."),
    "run": ("holdfast.cli.job.run:run", "Submit a task, and wait for it if asked to."),
    "worker": ("holdfast.cli.operate.worker:worker", "Run a worker until it is told to stop."),
    "serve": ("holdfast.cli.operate.serve:serve", "Serve the HTTP API."),
    "dev": (
        "holdfast.cli.operate.dev:dev",
        "Everything in one process: store, chores, worker, API. Starts anew on change.",
    ),
    "job": ("holdfast.cli.job.job:app", "Jobs: list, show, wait, watch, cancel, retry, explain and more."),
    "dead": ("holdfast.cli.job.dead:app", "Dead letters: list, groups, replay, discard."),
    "queue": ("holdfast.cli.operate.queue:app", "Queues: list, pause, resume."),
    "workers": ("holdfast.cli.operate.workers:workers", "Who works, on which queues."),
    "leases": ("holdfast.cli.operate.workers:leases", "Who holds which job, and for how long."),
    "lifecycle": ("holdfast.cli.proof.lifecycle:app", "The tables that jobs follow: list, show, check."),
    "schedule": (
        "holdfast.cli.operate.schedule:app",
        "What is submitted by the clock: list, pause, resume, run, remove.",
    ),
    "audit": ("holdfast.cli.proof.audit:audit", "Check every invariant over every job and every seal."),
    "seal": ("holdfast.cli.proof.seal:seal", "Seal the log up to now."),
    "verify": ("holdfast.cli.proof.verify:verify", "Verify a job's certificate, offline."),
    "key": ("holdfast.cli.operate.key:app", "Keys to the HTTP API: create, list, expire, revoke."),
    "api": ("holdfast.cli.operate.api:api", "Call a running server."),
    "db": ("holdfast.cli.proof.db:app", "The database: migrate, check, prune, export."),
    "doctor": ("holdfast.cli.operate.doctor:doctor", "Look whether all is well here, and what helps where it is not."),
    "bench": ("holdfast.cli.operate.bench:bench", "Measure this machine: submit, drain, latency."),
    "completion": ("holdfast.cli.operate.completion:completion", "Print the completion script of a shell."),
    "version": ("holdfast.cli.operate.version:version", "Print the version."),
}

app = App(
    name="holdfast",
    help="A durable job engine: every job follows a declared lifecycle, and the engine can prove it.",
    version=lambda: f"holdfast {__version__}",
    help_format="plaintext",
    default_parameter=Parameter(negative=()),
    result_action="return_value",
)
for _name, (_path, _help) in COMMANDS.items():
    app.command(_path, name=_name, help=_help)
for _system in catalog.built_in():
    for _name, _noun in _system.cli.items():
        app.command(_noun.path, name=_name, help=_noun.help)
VALUED = ("--db", "--output", "-o", "--app")


_plugged: set[str] = set()


def join_plugins(command: str | None = None) -> None:
    """Let systems of other packages bring their commands. Looking for them takes time: only who asks waits."""
    for system in catalog.plugins():
        for name, noun in system.cli.items():
            if noun.path in _plugged:
                continue
            try:
                if name in app:
                    raise catalog.SystemRefusedError(f"a command is named {name!r} already")
                if name == command:
                    catalog.load(noun.path)
            except Exception as error:  # it is then a command that there is not
                catalog.refuse(system.name, error)
            else:
                app.command(noun.path, name=name, help=noun.help)
                _plugged.add(noun.path)


def _command(words: Sequence[str]) -> str | None:
    """The word that says which command it is."""
    return next(
        (word for before, word in pairwise(("", *words)) if not word.startswith("-") and before not in VALUED), None
    )


@app.meta.default
def launch(
    *words: Annotated[str, Parameter(show=False, allow_leading_hyphen=True)],
    db: Annotated[str | None, Parameter(group=EVERYWHERE)] = None,
    output: Annotated[Output | None, Parameter(name=["--output", "-o"], group=EVERYWHERE)] = None,
    json: Annotated[bool, Parameter(group=EVERYWHERE)] = False,
    place: Annotated[str | None, Parameter(name="--app", group=EVERYWHERE)] = None,
) -> int:
    """Run one command.

    Args:
        db: The database: sqlite:///relative.db, sqlite:////absolute.db or postgresql://…
            Else HOLDFAST_DB, else db of holdfast.toml, else ./.holdfast/holdfast.db.
        output: How data is printed; a table if not said.
        json: Short for -o json.
        place: The engine, as module:name, for what needs its tasks. Else HOLDFAST_APP, else app of holdfast.toml.
    """
    if json and output not in (None, Output.JSON):
        raise UsageError(f"--json and -o {output} contradict each other", remedy="give one of them")
    call = Invocation(db=db, output=Output.JSON if json else output or Output.TABLE, app=place)
    command, bound, ignored = app.parse_args(words, print_error=False, exit_on_error=False)
    extra = {"call": call} if "call" in ignored else {}
    answer: Any = command(*bound.args, **bound.kwargs, **extra)
    if inspect.iscoroutine(answer):
        answer = asyncio.run(answer)
    return answer if isinstance(answer, int) else Exit.OK


def run(words: Sequence[str]) -> int:
    """Run one command line; whatever a user can get wrong ends in one line on stderr and an exit code."""
    try:
        if (command := _command(words)) is None or command not in app:
            join_plugins(command)
        code = app.meta(list(words), print_error=False, exit_on_error=False, result_action="return_value")
        sys.stdout.flush()
    except CycloptsError as error:
        error.verbose = False
        place = " ".join(["holdfast", *(error.command_chain or ())])
        return _fail(f"{one_line(error)} (see `{place} --help`)", Exit.USAGE)
    except HoldfastError as error:
        return _fail(one_line(error), exit_of(error))
    except KeyboardInterrupt:
        return _fail("interrupted", Exit.INTERRUPTED)
    except BrokenPipeError:
        # The reader has gone, as `head` does. Nothing may be written to it any more, at exit neither.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.BROKEN_PIPE
    return int(code or Exit.OK)


def _fail(message: str, code: Exit) -> int:
    print(f"holdfast: {message}", file=sys.stderr)
    return int(code)

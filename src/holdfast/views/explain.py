"""Why a job is where it is, in one sentence, and the command that helps. Pure: what it goes by is gathered before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, assert_never

from holdfast.kernel.event import Event
from holdfast.kernel.job import Job
from holdfast.kernel.lifecycle import Command, Lifecycle
from holdfast.kernel.policy import Lost
from holdfast.kernel.state import OVER, RANK
from holdfast.kernel.state import Canonical as S
from holdfast.store.port import CAP, DeadLetter, LimitRow, Pause
from holdfast.views.of_systems import NO_WORDS, Words
from holdfast.views.phrases import count, error_of, span

LATELY_MS = 60_000


class Explanation(NamedTuple):
    """One sentence, and the command that helps; None where there is nothing to do."""

    sentence: str
    command: str | None


@dataclass(slots=True)
class Situation:
    """A job and what is known around it at one moment."""

    job: Job
    table: Lifecycle
    now_ms: int
    last: Event | None = None
    pause: Pause | None = None
    workers: int = 0
    """Living workers that serve its queue."""
    claimed_at_ms: int | None = None
    """When a job of its queue was last started, if that was within LATELY_MS."""
    ahead: int = 0
    beat_at_ms: int | None = None
    done: float | None = None
    total: float | None = None
    letter: DeadLetter | None = None
    limit: LimitRow | None = None
    """The gate that it goes through, and what runs behind it."""
    app: str = "module:app"
    own: Words = NO_WORDS
    """What the system that it belongs to knows of it."""


def explain(about: Situation) -> Explanation:
    state = S(about.job.state)
    if about.own.sentence is not None:
        return Explanation(f"{about.table.state(state)}: {about.own.sentence}{_expiry(about)}", about.own.helps)
    match state:
        case S.WAITING:
            sentence, command = _waiting(about)
        case S.QUEUED | S.RETRY_PENDING:
            sentence, command = _queued(about)
        case S.ASSIGNED | S.RUNNING:
            sentence, command = _leased(about)
        case S.SUCCEEDED | S.PARTIAL | S.SKIPPED:
            sentence, command = _ended_well(about)
        case S.DEAD_LETTERED:
            sentence, command = _dead(about)
        case S.CANCELLED:
            sentence, command = _cancelled(about)
        case S.FAILED | S.EXPIRED | S.TIMED_OUT:
            sentence, command = _ended_badly(about)
        case S.CLEANING:
            sentence, command = "its logs and artifacts are being removed", None
        case S.CLEANED:
            sentence, command = "its logs and artifacts are removed, the record stays", _job(about, "show")
        case _:
            assert_never(state)
    return Explanation(f"{about.table.state(state)}: {sentence}", command)


def _waiting(about: Situation) -> tuple[str, str | None]:
    waits_for = about.own.waits_for or "what it depends on"
    return f"waiting for {waits_for}{_expiry(about)}", _job(about, "cancel")


def _queued(about: Situation) -> tuple[str, str | None]:
    job, pause = about.job, about.pause
    if pause is not None:
        why = f" ({pause.reason})" if pause.reason else ""
        since = span(about.now_ms - pause.at_ms)
        return f"queue {job.queue!r} is paused since {since}{why}", f"holdfast queue resume {job.queue}"
    wait_ms = job.due_at_ms - about.now_ms
    came = _came_back(about)
    if wait_ms > 0:
        after = came or "as it was submitted"
        helps = _worker(about) if _unknown_task(about) else _job(about, "retry")
        return f"due in {span(wait_ms)}{' ' if came else ', '}{after}{_expiry(about)}", helps
    came = f" {came}," if came else ""
    if not about.workers and about.claimed_at_ms is None:
        return f"due{came or ','} but no worker has claimed queue {job.queue!r} in the last minute", _worker(about)
    if about.limit is not None and (shut := about.limit.shut(about.now_ms)):
        return f"due for {span(-wait_ms)},{came} waits for its limit {about.limit.limit.name}: {shut}", None
    before = f"{about.ahead:,}{'+' if about.ahead >= CAP else ''}"
    behind = f"behind {before} other{'' if about.ahead == 1 else 's'}" if about.ahead else "next"
    crew = f", {count(about.workers, 'worker')} on it" if about.workers else ""
    helps = "holdfast workers" if about.ahead else _job(about, "watch")
    return f"due for {span(-wait_ms)},{came} {behind} of queue {job.queue!r}{crew}", helps


def _came_back(about: Situation) -> str:
    """Why a job is in its queue again."""
    job, last = about.job, about.last
    if last is None or last.from_state is None:
        return ""
    tries = f"try {job.tries} of {job.max_tries}"
    if _unknown_task(about):
        return f"after a worker that does not know task {job.task!r} handed it back"
    match last.type:
        case "job_retry_scheduled":
            return f"after {tries} failed with {error_of(last.payload) or last.reason}"
        case "job_lease_expired":
            return f"after {tries} was lost with its worker"
        case "job_handed_back":
            return f"after it was handed back ({last.reason})"
        case "job_hastened":
            return f"after it was made due ({last.reason})"
        case "job_resumed":
            return f"after it was resumed ({last.reason})"
        case _:
            return ""


def _unknown_task(about: Situation) -> bool:
    return about.last is not None and about.last.reason == "unknown_task"


def _leased(about: Situation) -> tuple[str, str | None]:
    job = about.job
    left_ms = (job.lease_until_ms or 0) - about.now_ms
    owner = short_owner(job.lease_owner)
    if left_ms <= 0:
        over = about.table.policies.lost is Lost.TAKE_OVER
        then = "the next free worker takes it over" if over else "the reaper takes it back"
        sentence = f"its lease, held by {owner}, ran out {span(-left_ms)} ago: {then}"
        return (sentence, None) if about.workers else (f"{sentence}, once a worker runs", _worker(about))
    running = f"on {owner}"
    if job.started_at_ms is not None and job.state == S.RUNNING:
        running += f" for {span(about.now_ms - job.started_at_ms)}"
    if job.cancel_requested is not None:
        return (
            f"{running}, asked to stop ({job.cancel_requested}) and not stopped yet",
            f"{_job(about, 'cancel')} --mode hard",
        )
    if about.total:
        running += f", {about.done or 0:g} of {about.total:g} done ({(about.done or 0) / about.total:.0%})"
    beat = "" if about.beat_at_ms is None else f", last heartbeat {span(about.now_ms - about.beat_at_ms)} ago"
    return f"{running}, lease for {span(left_ms)} more{beat}", _job(about, "watch")


def _ended_well(about: Situation) -> tuple[str, str | None]:
    job, last = about.job, about.last
    why = f": {last.reason}" if last is not None and last.reason else ""
    if job.state == S.SKIPPED:
        return f"there was nothing to do{why}", _job(about, "show")
    took = span((job.finished_at_ms or 0) - (job.started_at_ms or job.created_at_ms))
    how = "with a part of its result " if job.state == S.PARTIAL else ""
    return f"ended {how}after {took}, on try {max(job.tries, 1)}{why}", _job(about, "show")


def _ended_badly(about: Situation) -> tuple[str, str | None]:
    job = about.job
    error = error_of(job.outcome) or (about.last.reason if about.last else None) or "no reason was recorded"
    helps = about.own.helps or _job(about, "retry")
    if job.state == S.EXPIRED or not job.tries:
        return error, helps
    return f"try {job.tries} of {job.max_tries} ended with {error}", helps


def _cancelled(about: Situation) -> tuple[str, str | None]:
    last = about.last
    resumable = Command.RESUME in about.table.commands(about.job.state)
    helps = about.own.helps or _job(about, "resume" if resumable else "retry")
    if last is None:
        return "it was stopped", helps
    if last.reason == "expired":
        return f"its time was over before it ran, {span(about.now_ms - last.at_ms)} ago", helps
    why = f" ({last.reason})" if last.reason else ""
    return f"stopped by {short_owner(last.actor)} {span(about.now_ms - last.at_ms)} ago{why}", helps


def _dead(about: Situation) -> tuple[str, str | None]:
    letter = about.letter
    if letter is None:
        return _ended_badly(about)
    error = error_of(letter.last_error)
    sentence = f"{letter.reason_code} after {count(letter.attempts, 'attempt')}{f': {error}' if error else ''}"
    if letter.became:
        sentence = f"{sentence}; {letter.became}"
    if letter.replayed_as:
        return sentence, f"holdfast job explain {letter.replayed_as}"
    return sentence, f"holdfast dead replay {letter.job_id}"


def _expiry(about: Situation) -> str:
    expires = about.job.expires_at_ms
    return "" if expires is None or RANK[about.job.state] >= OVER else f", expires in {span(expires - about.now_ms)}"


def _job(about: Situation, verb: str) -> str:
    return f"holdfast job {verb} {about.job.id}"


def _worker(about: Situation) -> str:
    queue = "" if about.job.queue == "default" else f" -q {about.job.queue}"
    return f"holdfast worker {about.app}{queue}"


def short_owner(owner: str | None) -> str:
    """A worker's host and process; the rest of its name only keeps it apart from its twins."""
    host, _, rest = (owner or "nobody").partition(":")
    pid = rest.partition(":")[0]
    return f"{host}:{pid}" if pid else host

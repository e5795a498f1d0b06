"""The lifecycle semantics once more, as plain dicts and written out by hand: what a store must do, slowly.

It shares no code with the kernel or the stores, and no table either: a row that is wrong there is right here.
"""

from typing import Any

Row = dict[str, Any]

LIVE_LEASE = ("assigned", "running")
OVER = ("succeeded", "failed", "cancelled", "expired", "skipped", "dead_lettered")
CRASHES = 3

# (state, command) → (next state, event, marks).
# + opens an attempt, t counts a try, r refunds one, 0 resets them, l is a loss.
TABLES: dict[str, dict[tuple[str, str], tuple[str, str, str]]] = {
    "durable": {
        ("queued", "claim"): ("assigned", "job_claimed", "t"),
        ("queued", "cancel"): ("cancelled", "job_cancelled", ""),
        ("queued", "expire"): ("cancelled", "job_cancelled", ""),
        ("queued", "dead_letter"): ("dead_lettered", "job_dead_lettered", ""),
        ("assigned", "start"): ("running", "job_started", ""),
        ("assigned", "cancel"): ("cancelled", "job_cancelled", ""),
        ("assigned", "dead_letter"): ("dead_lettered", "job_dead_lettered", ""),
        ("assigned", "lose"): ("queued", "job_lease_expired", "+l"),
        ("assigned", "hand_back"): ("queued", "job_handed_back", "+r"),
        ("running", "succeed"): ("succeeded", "job_succeeded", ""),
        ("running", "fail"): ("failed", "job_failed", ""),
        ("running", "compensate"): ("failed", "job_compensated", ""),
        ("running", "retry"): ("queued", "job_retry_scheduled", "+"),
        ("running", "cancel"): ("cancelled", "job_cancelled", ""),
        ("running", "dead_letter"): ("dead_lettered", "job_dead_lettered", ""),
        ("running", "lose"): ("queued", "job_lease_expired", "+l"),
        ("running", "hand_back"): ("queued", "job_handed_back", "+r"),
    },
    "workflow": {
        ("waiting", "release"): ("queued", "job_released", ""),
        ("waiting", "skip"): ("skipped", "job_skipped", ""),
        ("waiting", "expire"): ("expired", "job_expired", ""),
        ("waiting", "cancel"): ("cancelled", "job_cancelled", ""),
        ("queued", "claim"): ("running", "job_started", "t"),
        ("queued", "skip"): ("skipped", "job_skipped", ""),
        ("queued", "expire"): ("expired", "job_expired", ""),
        ("queued", "cancel"): ("cancelled", "job_cancelled", ""),
        ("retry_pending", "claim"): ("running", "job_started", "t"),
        ("retry_pending", "expire"): ("expired", "job_expired", ""),
        ("retry_pending", "cancel"): ("cancelled", "job_cancelled", ""),
        ("running", "succeed"): ("succeeded", "job_succeeded", ""),
        ("running", "skip"): ("skipped", "job_skipped", ""),
        ("running", "fail"): ("failed", "job_failed", ""),
        ("running", "retry"): ("retry_pending", "job_retry_scheduled", "+"),
        ("running", "lose"): ("retry_pending", "job_lease_expired", "+l"),
        ("running", "hand_back"): ("retry_pending", "job_handed_back", "+r"),
        ("running", "cancel"): ("cancelled", "job_cancelled", ""),
        ("cancelled", "resume"): ("queued", "job_resumed", "+0"),
        ("cancelled", "resume_waiting"): ("waiting", "job_resumed", "+0"),
    },
    "pipeline": {
        ("queued", "claim"): ("running", "job_started", "t"),
        ("queued", "cancel"): ("cancelled", "job_cancelled", ""),
        ("queued", "expire"): ("failed", "job_failed", ""),
        ("running", "succeed"): ("succeeded", "job_succeeded", ""),
        ("running", "fail"): ("failed", "job_failed", ""),
        ("running", "cancel"): ("cancelled", "job_cancelled", ""),
        ("running", "expire"): ("failed", "job_failed", ""),
        ("running", "take_over"): ("running", "job_taken_over", "+l"),
    },
}
ENDS_LOST = {"durable": "dead_letter", "workflow": "fail", "pipeline": "fail"}
STANDS_STILL_MS = {"pipeline": 7_200_000}
SAYS_WHY = ("workflow",)


class Model:
    """Every job as a dict, and for each the events that it must have."""

    def __init__(self) -> None:
        self.jobs: dict[str, Row] = {}
        self.events: dict[str, list[tuple[Any, ...]]] = {}
        self.holders: dict[tuple[str, str], str] = {}
        self.now = 0

    def submit(self, job_id: str, lifecycle: str, **given: Any) -> Row:
        delay_ms = given.pop("delay_ms", 0)
        job: Row = {
            "id": job_id,
            "lifecycle": lifecycle,
            "state": given.pop("state", "queued"),
            "attempt": 1,
            "version": 1,
            "tries": 0,
            "losses": 0,
            "due_at_ms": self.now + delay_ms,
            "lease_owner": None,
            "lease_until_ms": None,
            "created_at_ms": self.now,
            "changed_at_ms": self.now,
            "started_at_ms": None,
            "finished_at_ms": None,
            "expires_at_ms": None,
            "cancel_requested": None,
            "outcome": None,
            **given,
        }
        after = job.pop("expire_after_ms", None) or STANDS_STILL_MS.get(lifecycle)
        if after is not None:
            job["expires_at_ms"] = self.now + after
        job["ready"] = (job["state"], "claim") in TABLES[lifecycle]
        self.jobs[job_id] = job
        payload = f'{{"delay_ms":{delay_ms}}}' if delay_ms else None
        self.events[job_id] = [(1, "job_submitted", None, job["state"], self.now, "client", 1, None, payload)]
        return job

    def holder_of(self, scope: str, key: str) -> str | None:
        """The job that still holds a key: one that is not over."""
        job_id = self.holders.get((scope, key))
        return job_id if job_id and self.jobs[job_id]["finished_at_ms"] is None else None

    def allows(self, lifecycle: str, state: str, command: str) -> bool:
        return (state, command) in TABLES[lifecycle]

    def refuses(self, job_id: str, attempt: int, state: str, owner: str | None) -> str | None:
        """Why a change has no effect; None when it has."""
        job = self.jobs[job_id]
        if job["attempt"] != attempt:
            return "stale"
        if job["state"] != state:
            return "state"
        if owner is not None and job["lease_owner"] != owner:
            return "owner"
        if owner is not None and job["lease_until_ms"] <= self.now:
            return "lease"
        return None

    def move(
        self,
        job_id: str,
        command: str,
        actor: str,
        *,
        delay_ms: int = 0,
        outcome: str | None = None,
        reason: str | None = None,
        payload: str | None = None,
    ) -> None:
        job = self.jobs[job_id]
        source = job["state"]
        target, event, marks = TABLES[job["lifecycle"]][source, command]
        at = max(self.now, job["changed_at_ms"])
        if job["lifecycle"] in STANDS_STILL_MS:
            job["expires_at_ms"] += at - job["changed_at_ms"]
        job["state"], job["changed_at_ms"] = target, at
        job["version"] += 1
        if "+" in marks:
            job["attempt"] += 1
        if "l" in marks:
            job["losses"] += 1
        job["tries"] = 0 if "0" in marks else job["tries"] + ("t" in marks) - ("r" in marks)
        if command in ("claim", "take_over"):
            job["lease_owner"], job["lease_until_ms"] = actor, at + job["lease_ms"]
        elif target not in LIVE_LEASE:
            job["lease_owner"] = job["lease_until_ms"] = job["cancel_requested"] = None
        job["ready"] = (target, "claim") in TABLES[job["lifecycle"]]
        if job["ready"]:
            job["due_at_ms"] = at + delay_ms
        if target == "running":
            job["started_at_ms"] = at
        if target in OVER:
            job["finished_at_ms"], job["outcome"] = at, outcome
        else:
            job["outcome"] = outcome if outcome is not None else job["outcome"]
            if source in OVER:
                if job["expires_at_ms"] is not None:
                    job["expires_at_ms"] += at - job["finished_at_ms"]
                job["finished_at_ms"] = None
        said_of = (job["version"], event, source, target, at, actor, job["attempt"], reason, payload)
        self.events[job_id].append(said_of)

    def holds(self, job_id: str, attempt: int, owner: str | None) -> bool:
        """Whether this owner has the job in this attempt, under a lease that has not run out."""
        job = self.jobs[job_id]
        return (job["attempt"], job["lease_owner"]) == (attempt, owner) and job["lease_until_ms"] > self.now

    def ask_to_stop(self, job_id: str, how: str) -> None:
        job = self.jobs[job_id]
        job["cancel_requested"] = "hard" if job["cancel_requested"] == "hard" else how

    def claimable(self, queues: list[str]) -> list[Row]:
        """What a claim may take now, in the order in which it must: by priority, then by time due."""
        found = [j for j in self.jobs.values() if j["ready"] and j["queue"] in queues and j["due_at_ms"] <= self.now]
        return sorted(found, key=lambda j: (-j["priority"], j["due_at_ms"], j["id"]))

    def held(self) -> list[Row]:
        return [job for job in self.jobs.values() if job["lease_owner"]]

    def lapsed(self, *, taken_over: bool) -> set[str]:
        """Jobs whose lease has run out: those that are taken over where they stand, or those that are lost."""
        lapsed = [job for job in self.held() if job["lease_until_ms"] <= self.now]
        return {job["id"] for job in lapsed if self._goes_on(job) is taken_over}

    def _goes_on(self, job: Row) -> bool:
        return self.allows(job["lifecycle"], job["state"], "take_over") and job["losses"] + 1 < CRASHES

    def end_of_lost(self, job_id: str) -> str:
        """The command that a lost lease means for this job."""
        job = self.jobs[job_id]
        if job["cancel_requested"]:
            return "cancel"
        if job["losses"] + 1 >= CRASHES or job["tries"] >= job["max_tries"]:
            return ENDS_LOST[job["lifecycle"]]
        return "lose"

    def expired(self) -> set[str]:
        return {
            j["id"]
            for j in self.jobs.values()
            if j["expires_at_ms"] is not None
            and j["expires_at_ms"] <= self.now
            and j["finished_at_ms"] is None
            and self.allows(j["lifecycle"], j["state"], "expire")
        }

"""`workflow`: nodes of DAGs and scheduled documents. CREATED both waits for parents and stands ready."""

from holdfast.kernel import retry
from holdfast.kernel.lifecycle import Command as Do
from holdfast.kernel.lifecycle import Lifecycle, Transition, Tries
from holdfast.kernel.policy import DAY_MS, MINUTE_MS, SECOND_MS, Duplicates, Policies
from holdfast.kernel.state import Canonical as S
from holdfast.kernel.state import State

WORKFLOW = Lifecycle(
    name="workflow",
    states=(
        State("CREATED", S.WAITING),
        State("CREATED", S.QUEUED),
        State("RETRY", S.RETRY_PENDING),
        State("ACTIVE", S.RUNNING),
        State("COMPLETED", S.SUCCEEDED),
        State("SKIPPED", S.SKIPPED),
        State("EXPIRED", S.EXPIRED),
        State("CANCELLED", S.CANCELLED),
        State("FAILED", S.FAILED),
    ),
    transitions=(
        Transition(S.WAITING, Do.RELEASE, S.QUEUED, "job_released"),
        Transition(S.QUEUED, Do.CLAIM, S.RUNNING, "job_started", tries=Tries.COUNT),
        Transition(S.RETRY_PENDING, Do.CLAIM, S.RUNNING, "job_started", tries=Tries.COUNT),
        Transition(S.RUNNING, Do.SUCCEED, S.SUCCEEDED, "job_succeeded"),
        Transition(S.RUNNING, Do.SKIP, S.SKIPPED, "job_skipped"),
        Transition(S.RUNNING, Do.FAIL, S.FAILED, "job_failed"),
        Transition(S.RUNNING, Do.RETRY, S.RETRY_PENDING, "job_retry_scheduled", opens_attempt=True),
        Transition(S.RUNNING, Do.LOSE, S.RETRY_PENDING, "job_lease_expired", opens_attempt=True, counts_loss=True),
        Transition(S.QUEUED, Do.HASTEN, S.QUEUED, "job_hastened", opens_attempt=True),
        Transition(S.RETRY_PENDING, Do.HASTEN, S.RETRY_PENDING, "job_hastened", opens_attempt=True),
        Transition(
            S.RUNNING,
            Do.HAND_BACK,
            S.RETRY_PENDING,
            "job_handed_back",
            opens_attempt=True,
            tries=Tries.REFUND,
        ),
        Transition(S.WAITING, Do.SKIP, S.SKIPPED, "job_skipped"),
        Transition(S.QUEUED, Do.SKIP, S.SKIPPED, "job_skipped"),
        Transition(S.WAITING, Do.EXPIRE, S.EXPIRED, "job_expired"),
        Transition(S.QUEUED, Do.EXPIRE, S.EXPIRED, "job_expired"),
        Transition(S.RETRY_PENDING, Do.EXPIRE, S.EXPIRED, "job_expired"),
        Transition(S.WAITING, Do.CANCEL, S.CANCELLED, "job_cancelled"),
        Transition(S.QUEUED, Do.CANCEL, S.CANCELLED, "job_cancelled"),
        Transition(S.RETRY_PENDING, Do.CANCEL, S.CANCELLED, "job_cancelled"),
        Transition(S.RUNNING, Do.CANCEL, S.CANCELLED, "job_cancelled"),
        Transition(S.CANCELLED, Do.RESUME, S.QUEUED, "job_resumed", opens_attempt=True, tries=Tries.RESET),
        Transition(S.CANCELLED, Do.RESUME_WAITING, S.WAITING, "job_resumed", opens_attempt=True, tries=Tries.RESET),
    ),
    policies=Policies(
        lease_ms=60 * SECOND_MS,
        heartbeat_ms=20 * SECOND_MS,
        retry=retry.WORKFLOW,
        run_ttl_ms=60 * SECOND_MS,
        expire_after_ms=15 * MINUTE_MS,
        keeps_terms=True,
        says_why=True,
        resumable=True,
        duplicates=Duplicates.REJECT,
        retention_ms=14 * DAY_MS,
    ),
    initial=(S.QUEUED, S.WAITING),
)

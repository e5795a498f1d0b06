"""`crawl`: crawls and ingestions. A claim starts at once; a transient failure waits in retry_pending."""

from holdfast.kernel import retry
from holdfast.kernel.lifecycle import Command as Do
from holdfast.kernel.lifecycle import Lifecycle, Transition, Tries
from holdfast.kernel.policy import DAY_MS, SECOND_MS, KeyHold, Policies
from holdfast.kernel.state import Canonical as S
from holdfast.kernel.state import State

CRAWL = Lifecycle(
    name="crawl",
    states=(
        State("queued", S.QUEUED),
        State("running", S.RUNNING),
        State("retry_pending", S.RETRY_PENDING),
        State("succeeded", S.SUCCEEDED),
        State("failed", S.FAILED),
        State("canceled", S.CANCELLED),
    ),
    transitions=(
        Transition(S.QUEUED, Do.CLAIM, S.RUNNING, "job_started", tries=Tries.COUNT),
        Transition(S.RETRY_PENDING, Do.CLAIM, S.RUNNING, "job_started", tries=Tries.COUNT),
        Transition(S.RUNNING, Do.SUCCEED, S.SUCCEEDED, "job_succeeded"),
        Transition(S.RUNNING, Do.FAIL, S.FAILED, "job_failed"),
        Transition(S.RUNNING, Do.RETRY, S.RETRY_PENDING, "job_retry_scheduled", opens_attempt=True),
        Transition(S.RUNNING, Do.LOSE, S.RETRY_PENDING, "job_lease_expired", opens_attempt=True, counts_loss=True),
        Transition(S.QUEUED, Do.HASTEN, S.QUEUED, "job_hastened", opens_attempt=True),
        Transition(S.RETRY_PENDING, Do.HASTEN, S.RETRY_PENDING, "job_hastened", opens_attempt=True),
        Transition(S.RUNNING, Do.HAND_BACK, S.RETRY_PENDING, "job_handed_back", opens_attempt=True, tries=Tries.REFUND),
        Transition(S.QUEUED, Do.CANCEL, S.CANCELLED, "job_cancelled"),
        Transition(S.RUNNING, Do.CANCEL, S.CANCELLED, "job_cancelled"),
        Transition(S.RETRY_PENDING, Do.CANCEL, S.CANCELLED, "job_cancelled"),
    ),
    policies=Policies(
        lease_ms=90 * SECOND_MS,
        heartbeat_ms=10 * SECOND_MS,
        retry=retry.CRAWL,
        lost_code="timeout_soft",
        key_hold=KeyHold.WINDOW,
        key_window_ms=DAY_MS,
        retention_ms=90 * DAY_MS,
    ),
    submit_event="job_accepted",
    triggers={
        "accept": "submit",
        "start": "claim",
        "heartbeat": "signal",
        "progress": "signal",
        "complete": "succeed",
        "error": "retry or fail",
        "cancel": "cancel",
    },
)

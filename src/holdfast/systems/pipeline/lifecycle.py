"""`pipeline`: ordered stages. A lost run is taken over where it stands; nothing goes back to PENDING."""

from holdfast.kernel.lifecycle import Command as Do
from holdfast.kernel.lifecycle import Lifecycle, Transition, Tries
from holdfast.kernel.policy import HOUR_MS, SECOND_MS, Lost, Policies
from holdfast.kernel.state import Canonical as S
from holdfast.kernel.state import State

PIPELINE = Lifecycle(
    name="pipeline",
    states=(
        State("PENDING", S.QUEUED),
        State("RUNNING", S.RUNNING),
        State("COMPLETED", S.SUCCEEDED),
        State("PARTIAL", S.PARTIAL),
        State("FAILED", S.FAILED),
        State("CANCELLED", S.CANCELLED),
    ),
    transitions=(
        Transition(S.QUEUED, Do.CLAIM, S.RUNNING, "job_started", tries=Tries.COUNT),
        Transition(S.QUEUED, Do.CANCEL, S.CANCELLED, "job_cancelled"),
        Transition(S.RUNNING, Do.SUCCEED, S.SUCCEEDED, "job_succeeded"),
        Transition(S.RUNNING, Do.PARTIAL, S.PARTIAL, "job_partial"),
        Transition(S.RUNNING, Do.FAIL, S.FAILED, "job_failed"),
        Transition(S.RUNNING, Do.CANCEL, S.CANCELLED, "job_cancelled"),
        Transition(S.RUNNING, Do.TAKE_OVER, S.RUNNING, "job_taken_over", opens_attempt=True, counts_loss=True),
        Transition(S.QUEUED, Do.EXPIRE, S.FAILED, "job_failed"),
        Transition(S.RUNNING, Do.EXPIRE, S.FAILED, "job_failed"),
    ),
    policies=Policies(
        lease_ms=60 * SECOND_MS, heartbeat_ms=20 * SECOND_MS, lost=Lost.TAKE_OVER, stale_after_ms=2 * HOUR_MS
    ),
)

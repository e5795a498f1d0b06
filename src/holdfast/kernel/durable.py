"""`durable`, the default: claimed under a lease, started, ended; what cannot go on is dead-lettered."""

from holdfast.kernel import retry
from holdfast.kernel.lifecycle import Command as Do
from holdfast.kernel.lifecycle import Lifecycle, Transition, Tries
from holdfast.kernel.policy import SECOND_MS, Exhausted, Policies
from holdfast.kernel.state import Canonical as S
from holdfast.kernel.state import State

DURABLE = Lifecycle(
    name="durable",
    states=tuple(
        State(state, state)
        for state in (S.QUEUED, S.ASSIGNED, S.RUNNING, S.SUCCEEDED, S.FAILED, S.CANCELLED, S.DEAD_LETTERED)
    ),
    transitions=(
        Transition(S.QUEUED, Do.CLAIM, S.ASSIGNED, "job_claimed", tries=Tries.COUNT),
        Transition(S.ASSIGNED, Do.START, S.RUNNING, "job_started"),
        Transition(S.RUNNING, Do.SUCCEED, S.SUCCEEDED, "job_succeeded"),
        Transition(S.RUNNING, Do.FAIL, S.FAILED, "job_failed"),
        Transition(S.RUNNING, Do.COMPENSATE, S.FAILED, "job_compensated"),
        Transition(S.RUNNING, Do.RETRY, S.QUEUED, "job_retry_scheduled", opens_attempt=True),
        Transition(S.QUEUED, Do.CANCEL, S.CANCELLED, "job_cancelled"),
        Transition(S.ASSIGNED, Do.CANCEL, S.CANCELLED, "job_cancelled"),
        Transition(S.RUNNING, Do.CANCEL, S.CANCELLED, "job_cancelled"),
        Transition(S.QUEUED, Do.EXPIRE, S.CANCELLED, "job_cancelled"),
        Transition(S.QUEUED, Do.DEAD_LETTER, S.DEAD_LETTERED, "job_dead_lettered"),
        Transition(S.ASSIGNED, Do.DEAD_LETTER, S.DEAD_LETTERED, "job_dead_lettered"),
        Transition(S.RUNNING, Do.DEAD_LETTER, S.DEAD_LETTERED, "job_dead_lettered"),
        Transition(S.ASSIGNED, Do.LOSE, S.QUEUED, "job_lease_expired", opens_attempt=True, counts_loss=True),
        Transition(S.RUNNING, Do.LOSE, S.QUEUED, "job_lease_expired", opens_attempt=True, counts_loss=True),
        Transition(S.QUEUED, Do.HASTEN, S.QUEUED, "job_hastened", opens_attempt=True),
        Transition(S.ASSIGNED, Do.HAND_BACK, S.QUEUED, "job_handed_back", opens_attempt=True, tries=Tries.REFUND),
        Transition(S.RUNNING, Do.HAND_BACK, S.QUEUED, "job_handed_back", opens_attempt=True, tries=Tries.REFUND),
    ),
    policies=Policies(
        lease_ms=60 * SECOND_MS,
        heartbeat_ms=20 * SECOND_MS,
        retry=retry.DURABLE,
        on_lost_exhausted=Exhausted.DEAD_LETTER,
    ),
)

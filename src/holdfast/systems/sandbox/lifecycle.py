"""`sandbox`: commands in a sandbox. Never retried, never resumed; cleaned when its time is over."""

from holdfast.kernel.lifecycle import Command as Do
from holdfast.kernel.lifecycle import Lifecycle, Transition, Tries
from holdfast.kernel.policy import SECOND_MS, KeyHold, Lost, Policies
from holdfast.kernel.state import Canonical as S
from holdfast.kernel.state import State

ENDED = (S.SUCCEEDED, S.FAILED, S.TIMED_OUT, S.CANCELLED)

SANDBOX = Lifecycle(
    name="sandbox",
    states=(
        State("pending", S.WAITING),
        State("pending", S.QUEUED),
        State("starting", S.ASSIGNED),
        State("running", S.RUNNING),
        State("completed", S.SUCCEEDED),
        State("failed", S.FAILED),
        State("timed_out", S.TIMED_OUT),
        State("cancelled", S.CANCELLED),
        State("cleaning", S.CLEANING),
        State("cleaned", S.CLEANED),
    ),
    transitions=(
        Transition(S.WAITING, Do.RELEASE, S.QUEUED, "job_released"),
        Transition(S.QUEUED, Do.CLAIM, S.ASSIGNED, "job_claimed", tries=Tries.COUNT),
        Transition(S.ASSIGNED, Do.START, S.RUNNING, "job_started"),
        Transition(S.RUNNING, Do.SUCCEED, S.SUCCEEDED, "job_succeeded"),
        Transition(S.ASSIGNED, Do.FAIL, S.FAILED, "job_failed"),
        Transition(S.RUNNING, Do.FAIL, S.FAILED, "job_failed"),
        Transition(S.RUNNING, Do.TIME_OUT, S.TIMED_OUT, "job_timed_out"),
        Transition(S.WAITING, Do.CANCEL, S.CANCELLED, "job_cancelled"),
        Transition(S.QUEUED, Do.CANCEL, S.CANCELLED, "job_cancelled"),
        Transition(S.ASSIGNED, Do.CANCEL, S.CANCELLED, "job_cancelled"),
        Transition(S.RUNNING, Do.CANCEL, S.CANCELLED, "job_cancelled"),
        *(
            Transition(state, Do.TAKE_OVER, state, "job_taken_over", opens_attempt=True, counts_loss=True)
            for state in (S.ASSIGNED, S.RUNNING)
        ),
        *(Transition(state, Do.CLEAN, S.CLEANING, "job_cleaning") for state in ENDED),
        Transition(S.CLEANING, Do.CLEANED, S.CLEANED, "job_cleaned"),
    ),
    policies=Policies(
        lease_ms=60 * SECOND_MS, heartbeat_ms=20 * SECOND_MS, lost=Lost.TAKE_OVER, key_hold=KeyHold.UNTIL_CLEANED
    ),
    initial=(S.QUEUED, S.WAITING),
)

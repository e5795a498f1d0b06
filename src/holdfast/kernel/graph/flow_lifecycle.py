"""`flow`: a DAG as a whole. No worker holds it: it is ACTIVE while it waits for its nodes, and ends with the last."""

from holdfast.kernel.lifecycle import Command as Do
from holdfast.kernel.lifecycle import Lifecycle, Transition, Tries
from holdfast.kernel.policy import DAY_MS, Duplicates, Policies
from holdfast.kernel.state import Canonical as S
from holdfast.kernel.state import State

FLOW = Lifecycle(
    name="flow",
    states=(
        State("ACTIVE", S.WAITING),
        State("COMPLETED", S.SUCCEEDED),
        State("FAILED", S.FAILED),
        State("CANCELLED", S.CANCELLED),
    ),
    transitions=(
        Transition(S.WAITING, Do.SUCCEED, S.SUCCEEDED, "job_succeeded"),
        Transition(S.WAITING, Do.FAIL, S.FAILED, "job_failed"),
        Transition(S.WAITING, Do.CANCEL, S.CANCELLED, "job_cancelled"),
        Transition(S.CANCELLED, Do.RESUME, S.WAITING, "job_resumed", opens_attempt=True, tries=Tries.RESET),
    ),
    policies=Policies(resumable=True, duplicates=Duplicates.RETURN, retention_ms=14 * DAY_MS),
    initial=(S.WAITING,),
)

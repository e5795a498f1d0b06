"""All that operators look at and turn."""

from __future__ import annotations

from typing import NamedTuple

from holdfast.store.admin.api_keys import SqlApiKeys
from holdfast.store.admin.dead import SqlDeadLetters
from holdfast.store.admin.queues import SqlQueues, SqlWorkers
from holdfast.store.admin.schedules import SqlSchedules
from holdfast.store.jobs.remembering import SqlAnswers


class SqlAdmin(NamedTuple):
    """See `holdfast.store.port.Admin`."""

    queues: SqlQueues
    workers: SqlWorkers
    schedules: SqlSchedules
    keys: SqlApiKeys
    dead: SqlDeadLetters
    answers: SqlAnswers

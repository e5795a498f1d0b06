"""What is answered to a command that is asked for wrongly."""

from holdfast.api.problems.kind import Kind

KINDS = {
    "invalid_job_type": Kind(400, "The type is wrong", "Commands are of type worker or agent."),
    "missing_command": Kind(400, "The command is missing", "A worker needs a `command`."),
    "missing_task": Kind(400, "The task is missing", "An agent needs a `task` or a `command`."),
    "invalid_client_job_id": Kind(400, "The client_job_id is wrong", "Use a UUID v4 of 36 characters."),
    "invalid_cpus": Kind(400, "The number of CPUs is wrong", "Use a whole number from 1 up."),
    "invalid_memory": Kind(400, "The memory is wrong", "Use a whole number of GB from 1 up."),
    "invalid_timeout": Kind(400, "The time limit is wrong", "Use a whole number of minutes from 1 up."),
    "upload_not_found": Kind(404, "There is no such upload", "Upload the files first, and finalize them."),
}

"""What people see of jobs and of what stands beside them. Nothing here writes."""

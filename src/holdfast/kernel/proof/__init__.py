"""What its events say a job must look like, and the log as a transparency log."""

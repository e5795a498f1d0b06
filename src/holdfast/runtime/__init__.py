"""The runtime: what waits, runs and follows the log. Chores have one file each, with `run_once`."""

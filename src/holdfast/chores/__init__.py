"""What is done again and again, by any process and without a leader: a loop a file, each with `run_once`."""

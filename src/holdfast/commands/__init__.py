"""What people and programs do to jobs that exist: a verb a file."""

"""What can be run, and what it is given when it runs."""

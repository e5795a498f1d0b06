"""The inside of an engine: its tasks and their handles, the loop that it lives in, what a process of it runs."""
